"""How many nodes a pass is worth: expected tokens against the measured seconds of a pass.

Best-first search makes nodes in falling score, so the best tree of b nodes is the first b, and the budget is one scan
over b: tokens expected of a pass with b nodes, and what their rows are worth later, against the tokens that the run
makes anyway in the seconds of such a pass, b = 0 being a plain step. A product score is no probability, but it ranks:
what is learned while decoding is how often the first, second, ... node of a search was accepted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recap.events import BudgetChoice

#: Places in the order of the search where a bin begins; about two bins to a doubling.
_ORDER_BINS = np.array([1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97])
#: Maps that had a row where a node was proposed: none (a fallback), U alone, two, or all three.
NUM_SOURCES = 4
#: Lengths of a suffix match, each its own, longer ones sharing the last; and places in the copied continuation.
_NUM_MATCH_BINS, _NUM_PLACE_BINS = 12, 14
#: Every evaluated node leaves a row that later passes draft from. n rows are worth `ROW_WORTH` sqrt(n) tokens to them:
#: with the rows of 16 and 32 nodes a pass in place of 8 and 16, the same first 8 and 16 nodes had 0.25 and 0.34 more
#: tokens accepted, 0.031 and 0.021 a row.
ROW_WORTH = 0.214
#: Passes that the choice at hand counts beside those made before, when it asks how many tokens a second are made here.
_OWN_PASSES = 2.0
#: What is left of an earlier pass's weight in the pace with each later one.
_PACE_MEMORY = 0.99
#: Old observations fade: one that many observations of its kind ago counts 1/e.
_MEMORY = 2000.0
#: The curve of `prior_survival`: log odds of the first node by source, and what each e-fold of the place takes away.
_PRIOR_ODDS = np.array([0.2, 0.2, 1.0, 1.35])
_PRIOR_FALL = 1.45
#: How many observations the guess for a kind is worth.
_GUESS_WEIGHT = 20.0
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


class Pace(NamedTuple):
    """Tokens committed by earlier passes of a stream and their seconds by the cost curve; old passes fade.

    The most tokens a second over a whole run are not made by the most in each pass: a pass should grow as long as
    another node brings more than the run makes in the same time anyway.
    """

    tokens: float = 0.0
    seconds: float = 0.0

    def after(self, num_tokens: int, seconds: float) -> Pace:
        """The pace with one more pass."""
        return Pace(_PACE_MEMORY * self.tokens + num_tokens, _PACE_MEMORY * self.seconds + seconds)


#: The pace of a stream that has not begun.
NO_PACE = Pace()


def choose_budget(
    survival: np.ndarray, seconds: np.ndarray, pace: Pace = NO_PACE, row_worth: float = ROW_WORTH
) -> Choice:
    """The number of nodes that gains the most over spending the same seconds at the run's pace; of equals the smallest.

    Without earlier passes the pace is the best that this pass can make, so the most expected tokens a second win.

    Args:
        survival: float64 [n], probability that each node is accepted, in the order of the search.
        seconds: float64 [>= n + 1], seconds of a pass with 0, 1, ... nodes beside the root.
        pace: what earlier passes made.
        row_worth: n nodes are worth `row_worth` sqrt(n) tokens in later passes by their rows, accepted or not.
    """
    expected_tokens = 1.0 + np.concatenate([[0.0], np.cumsum(survival)])
    seconds = seconds[: len(expected_tokens)]
    worth = row_worth * np.sqrt(np.arange(len(expected_tokens)))
    best = int(np.argmax(expected_tokens / seconds))
    rate = (pace.tokens + _OWN_PASSES * expected_tokens[best]) / (pace.seconds + _OWN_PASSES * seconds[best])
    return Choice(int(np.argmax(expected_tokens + worth - rate * seconds)), expected_tokens, seconds)


class SurvivalTable:
    """How often nodes of each kind were accepted, learned while decoding.

    A searched node's kind is its place in the order of falling score and its source: knowing both, the score itself and
    the depth tell next to nothing more. A copied node's kind is the length of the match and its place.

    Attributes:
        pace: tokens and seconds of the stream's passes, kept here as they outlive a request like the shares.
    """

    def __init__(self) -> None:
        self._searched = np.zeros((2, NUM_SOURCES * len(_ORDER_BINS)))  # accepted, seen
        self._copied = np.zeros((2, _NUM_MATCH_BINS * _NUM_PLACE_BINS))
        self.pace = NO_PACE

    def of_searched(self, sources: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of the first n nodes of a search, float64 [n].

        Args:
            sources: int [n] below `NUM_SOURCES`, how many of the three maps had a row where each node was proposed.
        """
        orders = np.arange(1, len(sources) + 1)
        return _estimate(self._searched, _searched_kinds(orders, sources), prior_survival(orders, sources))

    def of_copied(self, match_length: int, depths: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of copied nodes at these depths, float64 [n]."""
        guess = np.minimum(0.9, 0.15 * match_length) * 0.9 ** (depths - 1)
        return _estimate(self._copied, _copied_kinds(match_length, depths), guess)

    def observe_searched(self, orders: np.ndarray, sources: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's searched nodes were accepted; `orders` count from 1, see `of_searched`."""
        _learn(self._searched, _searched_kinds(orders, sources), is_accepted)

    def observe_copied(self, match_length: int, depths: np.ndarray, is_accepted: np.ndarray) -> None:
        """Learn which of a pass's copied nodes were accepted."""
        _learn(self._copied, _copied_kinds(match_length, depths), is_accepted)

    def copy(self) -> SurvivalTable:
        """An independent copy."""
        other = SurvivalTable()
        for name in ("_searched", "_copied"):
            setattr(other, name, getattr(self, name).copy())
        other.pace = self.pace
        return other


def prior_survival(orders: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """What to expect before anything was learned, float64 [n]: a curve fitted once to the shipped model's answers.

    The log odds of acceptance fall with the logarithm of the place in the search, and rows under longer contexts know
    more. See `SurvivalTable.of_searched`; `orders` count from 1.
    """
    return 1.0 / (1.0 + np.exp(_PRIOR_FALL * np.log(orders) - _PRIOR_ODDS[sources]))


def _searched_kinds(orders: np.ndarray, sources: np.ndarray) -> np.ndarray:
    return sources * len(_ORDER_BINS) + np.searchsorted(_ORDER_BINS, orders, side="right") - 1


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
