"""Where a text departs from plain decoding's: the first differing token, with the scores that both runs saw there."""

from __future__ import annotations

from typing import Any

from recap import metrics
from recap.events import Run


def exactness_entry(run: Run, reference: Run) -> dict[str, Any]:
    """For the player: number of equal tokens, and both choices with their two highest raw scores where they part.

    `difference` is None for the same text. A run that ended earlier has no token there (None); scores are None where
    the pass was not recorded node by node.
    """
    index = metrics.first_difference(run, reference)
    ours, theirs = metrics.output_ids(run), metrics.output_ids(reference)
    difference = None
    if index is not None:
        difference = {
            "index": index,
            "ours": _choice(run, ours, index),
            "theirs": _choice(reference, theirs, index),
            "gap": metrics.score_gap(run, reference),
        }
    return {
        "num_equal": len(ours) if index is None else index,
        "precisions": [run.environment.dtype, reference.environment.dtype],
        "difference": difference,
    }


def _choice(run: Run, ids: tuple[int, ...], index: int) -> dict[str, Any]:
    if index >= len(ids):
        return {"token": None, "scores": None}
    scores = metrics.top_scores_at(run, index)
    return {"token": ids[index], "scores": None if scores is None else list(scores)}
