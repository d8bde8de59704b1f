"""Prediction rows: the target's top-K at evaluated positions, and how concentrated each is (Eq. 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recap.config import ROW_WIDTH
from recap.jit import jit

#: Fills the end of a row when the vocabulary has fewer than K tokens.
NO_TOKEN = -1


class PredictionRows(NamedTuple):
    """A batch of prediction rows.

    Attributes:
        token_ids: int32 [num_rows, K], highest score first, ties to the lower id; -1 fills rows of tiny vocabularies.
        probabilities: float32 [num_rows, K], softmax over the K scores alone; 0 where there is no token.
        confidences: float32 [num_rows], c = exp(-H) in [1/K, 1].
    """

    token_ids: np.ndarray
    probabilities: np.ndarray
    confidences: np.ndarray


def make_rows(top_ids: np.ndarray, top_scores: np.ndarray) -> PredictionRows:
    """Prediction rows from the K highest raw scores at each position (Eq. 2), in fp32.

    Args:
        top_ids: int [num_rows, K'], K' <= K, ordered by falling score, ties to the lower id.
        top_scores: float [num_rows, K'], the raw scores (logits) of those ids.

    Raises:
        ValueError: shapes that differ, or more than K columns.
    """
    if top_ids.shape != top_scores.shape or top_ids.ndim != 2 or top_ids.shape[1] > ROW_WIDTH:
        raise ValueError(
            f"top_ids and top_scores must be two [num_rows, at most {ROW_WIDTH}] arrays; "
            f"got {top_ids.shape} and {top_scores.shape}"
        )
    return PredictionRows(*_rows(top_ids, np.ascontiguousarray(top_scores, np.float32)))


@jit
def _rows(top_ids, top_scores):
    """The fields of `PredictionRows`, allocated here: one call in place of several."""
    num_rows = top_ids.shape[0]
    token_ids = np.full((num_rows, ROW_WIDTH), NO_TOKEN, np.int32)
    probabilities = np.zeros((num_rows, ROW_WIDTH), np.float32)
    confidences = np.zeros(num_rows, np.float32)
    for i in range(num_rows):
        largest = top_scores[i, 0]
        total = np.float32(0.0)
        for k in range(top_ids.shape[1]):
            token_ids[i, k] = top_ids[i, k]
            probabilities[i, k] = np.exp(top_scores[i, k] - largest)
            total += probabilities[i, k]
        entropy = np.float32(0.0)
        for k in range(top_ids.shape[1]):
            probability = probabilities[i, k] / total
            probabilities[i, k] = probability
            if probability > 0:
                entropy -= probability * np.log(probability)
        confidences[i] = np.exp(-entropy)
    return token_ids, probabilities, confidences
