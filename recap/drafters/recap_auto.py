"""RECAP with a budget that follows the cost: each pass verifies as many nodes as are worth their time here."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.budget import Choice, CostCurve, choose_budget
from recap.config import RecapConfig
from recap.drafters.recap import RecapDrafter
from recap.jit import jit
from recap.memory import Memories
from recap.rows import PredictionRows
from recap.tree import DraftTree, pack
from recap.verification import Outcome


class RecapAutoDrafter(RecapDrafter):
    """Searches for `max_nodes` nodes, then keeps the first b with the most expected tokens a second.

    The copied continuation is inserted where its new nodes are worth their rows, too. Which nodes are accepted is
    learned over the stream and kept with its memories.

    Attributes:
        choice: what the last pass was chosen from; None before the first.
    """

    def __init__(
        self, config: RecapConfig, memories: Memories, blocked_ids: Iterable[int], cost: CostCurve
    ) -> None:
        """`cost`: measured seconds of a pass by its rows, see `RecapDrafter` for the rest."""
        super().__init__(config, memories, blocked_ids)
        self._seconds = cost.up_to(self.max_tree_nodes)
        self._depth_products = np.cumprod(self.builder.depth_priors)
        self.choice: Choice | None = None
        self._match_length = 0
        _depths(np.full(1, -1, np.int32))  # compiled here, so that no measured pass pays for it

    def draft(self, history: np.ndarray) -> DraftTree:
        """The part of the best-first tree that is worth its time, with the copied continuation where it is."""
        searched = self.search(history, self.config.max_nodes)
        depths = _depths(searched[1])
        survival = self.memories.survival.of_searched(
            searched[3][1:], depths[1:], self._guess(searched[3][1:], depths[1:])
        )
        self.choice = choose_budget(survival, self._seconds)
        num_nodes = self.choice.num_nodes
        tree = tuple(part[: num_nodes + 1] for part in searched)
        self._match_length = self.suffix.match().length
        if num_nodes > 0:
            tree = self._with_worthy_copy(tree, num_nodes)
        return pack(*tree)

    def _guess(self, scores: np.ndarray, depths: np.ndarray) -> np.ndarray:
        """What to expect of nodes never seen: the product of q along the path, the depth priors taken out of phi."""
        return np.minimum(0.95, 0.8 * scores / self._depth_products[depths - 1])

    def _with_worthy_copy(self, tree: tuple[np.ndarray, ...], num_nodes: int) -> tuple[np.ndarray, ...]:
        continuation = self.suffix_continuation()
        if len(continuation) == 0 or self.config.suffix_max_nodes == 0:
            return tree
        extended = self.builder.with_suffix(tree, continuation)
        num_both = len(extended[0]) - 1
        copied_depths = _depths(extended[1])[num_nodes + 1 :]
        expected = self.choice.expected_tokens[num_nodes]
        gained = self.memories.survival.of_copied(self._match_length, copied_depths).sum()
        is_worthy = (expected + gained) / self._seconds[num_both] > expected / self._seconds[num_nodes]
        return extended if is_worthy else tree

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> np.ndarray:
        """As RECAP, and learn which nodes of which kind were accepted."""
        is_accepted = np.zeros(len(tree.token_ids), np.bool_)
        is_accepted[outcome.accepted_indices] = True
        is_searched = ~tree.is_suffix
        is_searched[0] = False
        self.memories.survival.observe_searched(
            tree.scores[is_searched], tree.depths[is_searched], is_accepted[is_searched]
        )
        if tree.is_suffix.any():
            self.memories.survival.observe_copied(
                self._match_length, tree.depths[tree.is_suffix], is_accepted[tree.is_suffix]
            )
        return super().observe(history, tree, rows, outcome)


@jit
def _depths(parents):
    """Depth of each node, int64 [num_nodes]; parents come before their children, -1 for the root."""
    depths = np.zeros(len(parents), np.int64)
    for node in range(1, len(parents)):
        depths[node] = depths[parents[node]] + 1
    return depths
