"""How many nodes a pass is worth: expected tokens against the measured seconds of a pass.

Best-first search makes nodes in falling score, so the best tree of b nodes is the first b, and the budget is one scan
for the largest (1 + expected accepted nodes among the first b) / (seconds of a pass with b nodes), b = 0 being a plain
step. A product score is no probability; how often nodes of a kind were accepted is learned while decoding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recap.events import BudgetChoice

#: Bins of a score, two to a halving; everything below the last shares it.
_NUM_SCORE_BINS = 24
#: Depths 1, 2, ...; deeper nodes share the last.
_NUM_DEPTH_BINS = 6
#: Maps that had a row where a node was proposed: none (a fallback), U alone, two, or all three.
NUM_SOURCES = 4
#: Lengths of a suffix match, each its own, longer ones sharing the last; and places in the copied continuation.
_NUM_MATCH_BINS, _NUM_PLACE_BINS = 12, 14
#: Every evaluated node leaves a row that later passes draft from: worth so many tokens to them, a measured compromise.
ROW_WORTH = 0.02
#: Old observations fade: one that many observations of its kind ago counts 1/e.
_MEMORY = 600.0
#: How many observations the guess for a kind never seen is worth.
_GUESS_WEIGHT = 6.0
#: Node counts at which a choice is recorded, beside the chosen one and the largest.
_RECORDED_COUNTS = (0, 1, 2, 4, 8, 16, 32, 63)


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

    def record(self) -> BudgetChoice:
        """The choice at a few node counts, as a plain record."""
        last = len(self.seconds) - 1
        counts = sorted({self.num_nodes, last, *(count for count in _RECORDED_COUNTS if count < last)})
        return BudgetChoice(
            self.num_nodes,
            tuple(counts),
            tuple(self.expected_tokens[counts].tolist()),
            tuple(self.seconds[counts].tolist()),
        )


def choose_budget(survival: np.ndarray, seconds: np.ndarray, row_worth: float = ROW_WORTH) -> Choice:
    """The number of nodes with the most expected tokens a second; of equal ones the smallest.

    Args:
        survival: float64 [n], probability that each node is accepted, in the order of the search.
        seconds: float64 [>= n + 1], seconds of a pass with 0, 1, ... nodes beside the root.
        row_worth: tokens in later passes that a node is worth by its row, accepted or not.
    """
    expected_tokens = 1.0 + np.concatenate([[0.0], np.cumsum(survival)])
    seconds = seconds[: len(expected_tokens)]
    worth = expected_tokens + row_worth * np.arange(len(expected_tokens))
    return Choice(int(np.argmax(worth / seconds)), expected_tokens, seconds)


class SurvivalTable:
    """How often nodes of each kind were accepted, learned while decoding.

    A searched node's kind is its score, depth and source; what little is known of a kind is filled up by what is known
    of its score and depth from all sources. A copied node's kind is the length of the match and its place.
    """

    def __init__(self) -> None:
        num_coarse = _NUM_DEPTH_BINS * _NUM_SCORE_BINS
        self._coarse = np.zeros((2, num_coarse))  # accepted, seen
        self._fine = np.zeros((2, NUM_SOURCES * num_coarse))
        self._copied = np.zeros((2, _NUM_MATCH_BINS * _NUM_PLACE_BINS))

    def of_searched(self, kinds: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance, float64 [n]; `guess` is what to expect of a kind never seen."""
        coarse = _estimate(self._coarse, kinds % self._coarse.shape[1], guess)
        return _estimate(self._fine, kinds, coarse)

    def of_copied(self, match_length: int, depths: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of copied nodes at these depths, float64 [n]."""
        guess = np.minimum(0.9, 0.15 * match_length) * 0.9 ** (depths - 1)
        return _estimate(self._copied, _copied_kinds(match_length, depths), guess)

    def observe_searched(self, kinds: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's searched nodes were accepted."""
        _learn(self._coarse, kinds % self._coarse.shape[1], is_accepted)
        _learn(self._fine, kinds, is_accepted)

    def observe_copied(self, match_length: int, depths: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's copied nodes were accepted."""
        _learn(self._copied, _copied_kinds(match_length, depths), is_accepted)

    def copy(self) -> SurvivalTable:
        """An independent copy."""
        other = SurvivalTable()
        for name in ("_coarse", "_fine", "_copied"):
            setattr(other, name, getattr(self, name).copy())
        return other


def searched_kinds(scores: np.ndarray, depths: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """The kind of each searched node, int64 [n].

    Args:
        scores: float64 [n], phi.
        depths: int [n], from 1.
        sources: int [n] below `NUM_SOURCES`, how many of the three maps had a row where the node was proposed.
    """
    halvings = (-2.0 * np.log2(np.maximum(scores, 1e-9))).astype(np.int64)
    depth_bins = np.minimum(depths - 1, _NUM_DEPTH_BINS - 1)
    return (sources * _NUM_DEPTH_BINS + depth_bins) * _NUM_SCORE_BINS + np.minimum(
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
