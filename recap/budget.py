"""How many nodes a pass is worth: expected tokens against the measured seconds of a pass.

Best-first search makes nodes in falling score, so the best tree of b nodes is the first b, and the budget is one scan
for the largest (1 + expected accepted nodes among the first b) / (seconds of a pass with b nodes), b = 0 being a plain
step. A product score is no probability; how often nodes of a kind were accepted is learned while decoding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Bins of a score, two to a halving; everything below the last shares it.
_NUM_SCORE_BINS = 24
#: Depths 1, 2, ...; deeper nodes share the last.
_NUM_DEPTH_BINS = 6
#: Lengths of a suffix match, each its own, longer ones sharing the last; and places in the copied continuation.
_NUM_MATCH_BINS, _NUM_PLACE_BINS = 12, 14
#: Old observations fade: one that many observations of its kind ago counts 1/e.
_MEMORY = 600.0
#: How many observations the guess for a kind never seen is worth.
_GUESS_WEIGHT = 6.0


class CostCurve(NamedTuple):
    """Measured seconds of a pass by its number of rows, the root included.

    Attributes:
        rows: rising row counts, the first one 1.
        seconds: median seconds of a pass with so many rows.
    """

    rows: tuple[int, ...]
    seconds: tuple[float, ...]

    def up_to(self, num_rows: int) -> np.ndarray:
        """Seconds for 1..num_rows rows, float64 [num_rows]: linear between measured counts, and on beyond the last.

        A curve that falls somewhere is noise; it is taken to stay level there.
        """
        rows, seconds = np.array(self.rows, float), np.maximum.accumulate(np.array(self.seconds))
        wanted = np.arange(1, num_rows + 1)
        slope = (seconds[-1] - seconds[0]) / (rows[-1] - rows[0]) if len(rows) > 1 else 0.0
        return np.interp(wanted, rows, seconds) + slope * np.maximum(0, wanted - rows[-1])


class Choice(NamedTuple):
    """A chosen budget and what it was chosen from.

    Attributes:
        num_nodes: nodes to verify beside the root.
        expected_tokens: float64 [n + 1], tokens a pass with 0..n nodes is expected to commit.
        seconds: float64 [n + 1], what such a pass costs.
    """

    num_nodes: int
    expected_tokens: np.ndarray
    seconds: np.ndarray


def choose_budget(survival: np.ndarray, seconds: np.ndarray) -> Choice:
    """The number of nodes with the most expected tokens a second; of equal ones the smallest.

    Args:
        survival: float64 [n], probability that each node is accepted, in the order of the search.
        seconds: float64 [>= n + 1], seconds of a pass with 0, 1, ... nodes beside the root.
    """
    expected_tokens = 1.0 + np.concatenate([[0.0], np.cumsum(survival)])
    seconds = seconds[: len(expected_tokens)]
    return Choice(int(np.argmax(expected_tokens / seconds)), expected_tokens, seconds)


class SurvivalTable:
    """How often nodes of each kind were accepted: by score and depth, or for copied ones by match length and place."""

    def __init__(self) -> None:
        self._searched = np.zeros((2, _NUM_DEPTH_BINS * _NUM_SCORE_BINS))  # accepted, seen
        self._copied = np.zeros((2, _NUM_MATCH_BINS * _NUM_PLACE_BINS))

    def of_searched(self, scores: np.ndarray, depths: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance, float64 [n]; `guess` is what to expect of a kind never seen."""
        return _estimate(self._searched, _searched_kinds(scores, depths), guess)

    def of_copied(self, match_length: int, depths: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of copied nodes at these depths, float64 [n]."""
        guess = np.minimum(0.9, 0.15 * match_length) * 0.9 ** (depths - 1)
        return _estimate(self._copied, _copied_kinds(match_length, depths), guess)

    def observe_searched(self, scores: np.ndarray, depths: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's searched nodes were accepted."""
        _learn(self._searched, _searched_kinds(scores, depths), is_accepted)

    def observe_copied(self, match_length: int, depths: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's copied nodes were accepted."""
        _learn(self._copied, _copied_kinds(match_length, depths), is_accepted)

    def copy(self) -> SurvivalTable:
        """An independent copy."""
        other = SurvivalTable()
        other._searched, other._copied = self._searched.copy(), self._copied.copy()
        return other


def _searched_kinds(scores: np.ndarray, depths: np.ndarray) -> np.ndarray:
    halvings = (-2.0 * np.log2(np.maximum(scores, 1e-9))).astype(np.int64)
    return np.minimum(depths - 1, _NUM_DEPTH_BINS - 1) * _NUM_SCORE_BINS + np.minimum(
        halvings, _NUM_SCORE_BINS - 1
    )


def _copied_kinds(match_length: int, depths: np.ndarray) -> np.ndarray:
    return min(match_length, _NUM_MATCH_BINS - 1) * _NUM_PLACE_BINS + np.minimum(
        depths - 1, _NUM_PLACE_BINS - 1
    )


def _estimate(table: np.ndarray, kinds: np.ndarray, guess: np.ndarray) -> np.ndarray:
    accepted, seen = table[:, kinds]
    return (accepted + _GUESS_WEIGHT * guess) / (seen + _GUESS_WEIGHT)


def _learn(table: np.ndarray, kinds: np.ndarray, is_accepted: np.ndarray) -> None:
    counts = np.bincount(kinds, minlength=table.shape[1])
    table *= np.exp(-counts / _MEMORY)
    table[0] += np.bincount(kinds, weights=is_accepted, minlength=table.shape[1])
    table[1] += counts
