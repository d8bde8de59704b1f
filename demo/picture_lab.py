"""What an answer owes to its picture: where the model would have gone another way with a blank or another picture."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from demo import texts
from demo.limits import HEAVY_WORK
from demo.runs import KeptRun
from demo.zero_gpu import call
from recap.errors import InputError
from recap.events import Run
from recap.metrics import output_ids
from recap.pictures import open_picture
from recap.trace_io import parse_trace

#: The pictures that the answer is read in front of, beside its own, in the order of every root's entries.
OTHERS = ("blank", "other")


def prepare_reading(
    kept: KeptRun | None, pictures: Iterable[Path | None]
) -> Callable[[Any, Callable[[], bool]], dict[str, Any] | None]:
    """What the model's thread is to do, as a function of the target and the stop flag; the files are read here.

    The other picture is the first of `pictures` that is not the run's own and still there.

    Raises:
        InputError: the run is no longer kept or was not made here, or a picture is missing.
    """
    if kept is None or kept.asked is None:
        raise InputError(texts.RUN_NOT_FOUND)
    asked = kept.asked
    if not asked.picture_path.exists():
        raise InputError(texts.PICTURE_GONE)
    others = (path for path in pictures if path is not None and path != asked.picture_path)
    other = next((path for path in others if path.exists()), None)  # uploaded files are deleted in time
    if other is None:
        raise InputError(texts.NO_OTHER_PICTURE)
    with HEAVY_WORK:
        run = parse_trace(gzip.decompress(kept.trace)).runs[-1]
        own, wrong = (open_picture(path).image for path in (asked.picture_path, other))
    asked_there = (run, asked.question, asked.max_new_tokens, own, wrong)
    return lambda target, should_stop: call(target, read_again, *asked_there, should_stop=should_stop)


def read_again(
    target: Any,
    run: Run,
    question: str,
    max_new_tokens: int,
    image: Image.Image,
    other: Image.Image,
    should_stop: Callable[[], bool],
) -> dict[str, Any] | None:
    """Read a run's answer in front of its picture, of the mean colour and of `other`; None where a stop came first.

    Each reading is a prefill and one pass over the answer. Returns, ready for JSON, `sentence` and `roots`: for each
    pass whose root's choice the reading in front of the own picture confirms, `pass`, `position` of the chosen token in
    the answer, and for each of `OTHERS` `[form of the choice, fall]`: the token that would be chosen there, None where
    it is the same, and by how much the log-probability (nats) of the token that was chosen falls.

    Raises:
        InputError: the answer has one token only.
    """
    # torch takes seconds to import, and the page opens before it; whoever has a target has it already.
    from recap.counterfactual.teacher_forcing import fit_picture, force_text, mean_picture
    from recap.tokens import visible_form

    ids = output_ids(run)
    if len(ids) < 2:
        raise InputError(texts.ANSWER_TOO_SHORT)
    states = _root_states(run, len(ids))
    chosen_ids = np.asarray(ids)[states + 1]
    readings = []
    for picture in (image, mean_picture(image), fit_picture(other, image.size)):
        if should_stop():
            return None
        request = target.build_request(picture, question, max_new_tokens=max_new_tokens)
        text = force_text(target, request, ids)
        readings.append((text.greedy_ids[states], text.log_probabilities[states, chosen_ids]))
    if should_stop():
        return None
    (own_ids, own), *others = readings

    def form(token_id: int) -> str:
        data, is_special = target.token_bytes(token_id), target.is_special(token_id)
        return visible_form(data, is_special, data.decode("utf-8", "replace") if is_special else "")

    roots = [
        {
            "pass": place + 1,
            "position": int(states[place]) + 1,
            "others": [
                [
                    None if greedy[place] == chosen_ids[place] else form(int(greedy[place])),
                    float(own[place] - there[place]),
                ]
                for greedy, there in others
            ],
        }
        for place in range(len(states))
        if own_ids[place] == chosen_ids[place]
    ]
    changed = [sum(root["others"][which][0] is not None for root in roots) for which in range(len(OTHERS))]
    return {"sentence": texts.picture_effect(len(roots), *changed), "roots": roots}


def _root_states(run: Run, num_tokens: int) -> np.ndarray:
    """int64 [num_passes], the place of each pass's root in the answer; a root after the last token is left out."""
    lengths = [len(iteration.committed_ids) for iteration in run.iterations]
    states = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    return states[states < num_tokens - 1]
