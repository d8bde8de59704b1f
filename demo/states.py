"""States that handlers hand to the page's own components; page.js draws them, all text as text."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

from PIL import Image

from demo import texts
from demo.runs import Progress
from recap.errors import RecapError
from recap.pictures import Picture

State = dict[str, Any]
MAX_PREVIEW_PIXELS = 2_000_000
#: Numbers of acts, rising also when the page is started again (the browser keeps the last one while it stays open).
_acts = itertools.count(time.time_ns() // 1_000_000)


def note(sentence: str) -> State:
    """A calm sentence; empty for none."""
    return {"kind": "idle", "sentence": sentence, "lanes": []}


def refusal(error: RecapError) -> State:
    """An error's sentence. The number makes the same refusal twice in a row a new one."""
    return {"kind": "error", "sentence": str(error), "lanes": [], "act": next_act()}


def next_act() -> int:
    """A number for something that begins now: of two states the page shows the one whose number is higher.

    Answers may arrive in another order than the acts they belong to.
    """
    return next(_acts)


def preview(picture: Picture) -> Image.Image:
    """What the page shows of a picture: what the model gets, in no more pixels than a screen has.

    Sent whole, the largest ones would take seconds to encode, and 25 MB.
    """
    width, height = picture.image.size
    scale = math.sqrt(MAX_PREVIEW_PIXELS / (width * height))
    if scale >= 1:
        return picture.image
    return picture.image.resize((int(width * scale), int(height * scale)), Image.Resampling.BOX)


def describe(picture: Picture) -> str:
    """Size and changes of a picture."""
    return " ".join([texts.picture_size(*picture.original_size), *picture.notes])


def player_source(key: str, kind: str) -> State:
    """What the player is to show: a kept run by its key."""
    return {"sequence": time.time_ns() // 1_000_000, "kind": kind, "url": f"recap/runs/{key}"}


def lanes_of(progress: Progress) -> list[dict[str, str]]:
    """What both methods have decoded so far."""
    return [{"label": lane.label, "text": lane.text, "figures": lane.figures} for lane in progress.lanes]
