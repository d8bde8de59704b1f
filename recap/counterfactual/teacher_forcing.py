"""The scores of a given text in front of any picture: one prefill, and one pass over the text as a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from recap.events import PredictionRow
from recap.rows import make_rows
from recap.targets.base import Request, Target
from recap.tree import chain_tree


class ForcedText(NamedTuple):
    """A text as the target sees it in front of one picture; state t has read output token t.

    Attributes:
        log_probabilities: float32 [num_states, V], of the next token.
        rows: [num_states], the prediction rows (Eq. 2).
    """

    log_probabilities: np.ndarray
    rows: tuple[PredictionRow, ...]

    @property
    def greedy_ids(self) -> np.ndarray:
        """int64 [num_states], the target's choice, ties to the lower id."""
        return self.log_probabilities.argmax(axis=1)


def force_text(target: Target, request: Request, output_ids: Sequence[int]) -> ForcedText:
    """Read `output_ids` (at least two) after the request's prompt. The last one is nobody's history."""
    tree = chain_tree(output_ids[0], output_ids[1:-1])
    decoding = target.prefill(request, False, len(tree.token_ids))
    try:
        scores = decoding.verify(tree, want_all_scores=True)
    finally:
        decoding.close()
    logits = scores.all_scores
    assert logits is not None, "all scores were asked for"
    highest = logits.max(axis=1, keepdims=True)
    total = np.exp((logits - highest).astype(np.float64)).sum(axis=1, keepdims=True)
    rows = make_rows(scores.top_ids, scores.top_scores)
    records = []
    for ids, probabilities, confidence in zip(*rows, strict=True):
        is_token = ids >= 0
        kept = tuple(ids[is_token].tolist()), tuple(probabilities[is_token].tolist())
        records.append(PredictionRow(*kept, float(confidence), written_in_request=1, written_in_pass=0))
    return ForcedText((logits - highest - np.log(total)).astype(np.float32), tuple(records))


def mean_picture(image: Image.Image) -> Image.Image:
    """A picture of the same size in the mean colour: nothing is left to see."""
    mean = np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0)
    return Image.new("RGB", image.size, tuple(round(float(channel)) for channel in mean))


def fit_picture(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Another picture in the first one's size, so that both prompts have the same tokens."""
    return image.convert("RGB").resize(size, Image.Resampling.BICUBIC)
