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
from recap.jit import jit

#: Every evaluated node leaves a row that later passes draft from. Where many follow, the rows of n nodes are worth
#: `ROW_WORTH` log(1 + n) tokens to them: with 15 nodes a pass in place of 7 the same first 7 nodes had 0.25 to 0.37
#: more tokens accepted, and with 21 in place of 15 next to nothing more.
ROW_WORTH = 0.5
#: Passes of a request after which half of that counts, see `row_worth`.
_HALF_WORTH_PASSES = 16
#: Passes that the choice at hand counts beside those made before, when it asks how many tokens a second are made here.
_OWN_PASSES = 2.0
#: What is left of an earlier pass's weight in the pace with each later one.
_PACE_MEMORY = 0.99
#: Node counts at which a choice is recorded, beside the chosen one and the largest.
_RECORDED_COUNTS = (0, 1, 2, 4, 8, 16, 32, 63)


class CostCurve(NamedTuple):
    """Measured seconds of a pass by its number of rows, the root included.

    Attributes:
        rows: rising row counts, the first one 1.
        seconds: of a pass with so many rows, undisturbed (the lower quartile of several).
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


def row_worth(num_passes: int) -> float:
    """What log(1 + n) of a pass's n rows is worth to later passes, in tokens, after `num_passes` of its request.

    What has gone on for long will mostly go on for as long again; an answer that has just begun may be a short one,
    over before its rows serve anybody, and slower than plain decoding by what they cost.
    """
    return ROW_WORTH * num_passes / (num_passes + _HALF_WORTH_PASSES)


def choose_budget(
    survival: np.ndarray, seconds: np.ndarray, pace: Pace = NO_PACE, worth: float = 0.0
) -> Choice:
    """The number of nodes that gains the most over spending the same seconds at the run's pace; of equals the smallest.

    Without earlier passes the pace is the best that this pass can make, so the most expected tokens a second win.

    Args:
        survival: float64 [n], probability that each node is accepted, in the order of the search.
        seconds: float64 [>= n + 1], seconds of a pass with 0, 1, ... nodes beside the root.
        pace: what earlier passes made.
        worth: n nodes are worth `worth` log(1 + n) tokens in later passes by their rows, accepted or not.
    """
    num_nodes, expected_tokens = _best_budget(survival, seconds, pace.tokens, pace.seconds, worth)
    return Choice(num_nodes, expected_tokens, seconds[: len(expected_tokens)])


@jit
def _best_budget(survival, seconds, pace_tokens, pace_seconds, worth):
    """The best number of nodes, and the tokens expected of 0..n."""
    expected = np.empty(len(survival) + 1)
    expected[0] = 1.0
    best = 0
    for count in range(1, len(expected)):
        expected[count] = expected[count - 1] + survival[count - 1]
        if expected[count] * seconds[best] > expected[best] * seconds[count]:
            best = count
    rate = (pace_tokens + _OWN_PASSES * expected[best]) / (pace_seconds + _OWN_PASSES * seconds[best])
    chosen, most = 0, -np.inf
    for count in range(len(expected)):
        gain = expected[count] + worth * np.log(1 + count) - rate * seconds[count]
        if gain > most:
            chosen, most = count, gain
    return chosen, expected
