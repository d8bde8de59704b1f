"""Prediction rows: the softmax over the highest scores and its confidence (Eq. 2); ties go to the lower id."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

ROW_WIDTH = 8


@dataclass(frozen=True)
class Row:
    """A prediction row: ids by falling probability, their probabilities, and exp(-entropy)."""

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    confidence: float


def entropy(probabilities: Iterable[float]) -> float:
    """Entropy in nats, with 0 log 0 = 0."""
    return -sum(p * math.log(p) for p in probabilities if p > 0)


def confidence_of(probabilities: Iterable[float]) -> float:
    """The confidence exp(-H), in fp32 as rows keep it."""
    return float(np.float32(math.exp(-entropy(probabilities))))


def sum_in_order(values: Iterable[float]) -> float:
    """A plain left-to-right sum; the built-in one rounds differently from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def top_ids(scores: Sequence[float], count: int) -> list[int]:
    """Ids of the `count` highest scores; of equal scores the lower id comes first."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count]


def greedy_id(scores: Sequence[float]) -> int:
    """Argmax, ties to the lowest id."""
    return max(range(len(scores)), key=lambda i: (scores[i], -i))


def prediction_row(scores: Sequence[float], width: int = ROW_WIDTH) -> Row:
    """Softmax over just the `width` highest scores, in fp32."""
    ids = top_ids(scores, width)
    highest = np.float32(scores[ids[0]])
    exponentials = [np.exp(np.float32(scores[i]) - highest) for i in ids]
    total = np.float32(0)
    for value in exponentials:
        total = np.float32(total + value)
    probabilities = tuple(float(np.float32(value / total)) for value in exponentials)
    return Row(tuple(ids), probabilities, confidence_of(probabilities))
