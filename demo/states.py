"""States that handlers hand to the page's own components; page.js draws them, all text as text."""

from __future__ import annotations

import time
from typing import Any

from demo import texts
from demo.runs import Progress
from recap.errors import RecapError
from recap.pictures import Picture

State = dict[str, Any]


def note(sentence: str) -> State:
    """A calm sentence; empty for none."""
    return {"kind": "idle", "sentence": sentence, "lanes": []}


def refusal(error: RecapError) -> State:
    """An error's sentence. The time makes the same refusal twice in a row a new one."""
    return {"kind": "error", "sentence": str(error), "lanes": [], "at": time.time()}


def describe(picture: Picture) -> str:
    """Size and changes of a picture."""
    return " ".join([texts.picture_size(*picture.original_size), *picture.notes])


def player_source(key: str, kind: str) -> State:
    """What the player is to show: a kept run by its key."""
    return {"sequence": time.time_ns() // 1_000_000, "kind": kind, "url": f"recap/runs/{key}"}


def lanes_of(progress: Progress) -> list[dict[str, str]]:
    """What both methods have decoded so far."""
    return [{"label": lane.label, "text": lane.text, "figures": lane.figures} for lane in progress.lanes]
