"""RECAP with a budget that follows the cost: each pass verifies as many nodes as are worth their time here."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.budget import Choice, CostCurve, choose_budget, row_worth
from recap.config import RecapConfig
from recap.drafters.recap import RecapDrafter
from recap.memory import Memories
from recap.rows import PredictionRows
from recap.survival import SurvivalTable
from recap.tree import DraftTree, pack, root_only_tree
from recap.verification import Outcome

#: Nodes searched beyond the budget of the pass before, so that a budget can grow without searching twice.
_MARGIN = 8


class RecapAutoDrafter(RecapDrafter):
    """Keeps the first b of at most `max_nodes` searched nodes that gain the most over the run's own pace.

    A search costs time by the node, too. It goes little further than the last budget, as what later nodes are worth is
    known from passes before; where a choice falls beyond what was searched, the search goes on to there. The copied
    continuation is inserted where its new nodes are worth their rows, too. Which nodes are accepted is learned over the
    stream and kept with its memories.

    Attributes:
        choice: what the last pass was chosen from; None before the first.
    """

    def __init__(
        self, config: RecapConfig, memories: Memories, blocked_ids: Iterable[int], cost: CostCurve
    ) -> None:
        """`cost`: measured seconds of a pass by its rows, see `RecapDrafter` for the rest."""
        super().__init__(config, memories, blocked_ids)
        self._seconds = cost.up_to(self.max_tree_nodes)
        self.choice: Choice | None = None
        #: Source of each node of the last search, the root first, by the order in which it made them.
        self._sources = np.empty(0, np.int64)
        #: Nodes that the last search was asked for, and those that the next one of this request will be.
        self._num_asked = self._num_to_ask = config.max_nodes
        self._match_length = 0
        # Compiled here, so that no measured pass pays for it.
        one, table = np.ones(1, np.int64), SurvivalTable()
        choose_budget(table.of_pass(one, 1), self._seconds, table.pace, row_worth(0))
        table.of_copied(1, np.ones(1, np.int32))
        table.observe(root_only_tree(0), one, 1, 0, one)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> np.ndarray:
        """As RECAP; the first search goes all the way, so that a request owes nothing to one that was taken back."""
        self._num_to_ask = self.config.max_nodes
        return super().begin(prompt_ids, first_token_id, prompt_row_ids, prompt_rows)

    def draft(self, history: np.ndarray) -> DraftTree:
        """The part of the best-first tree that is worth its time, with the copied continuation where it is."""
        searched = self._search_for_budget(history)
        num_nodes = self.choice.num_nodes
        tree = tuple(part[: num_nodes + 1] for part in searched)
        self._match_length = self.suffix.match().length
        return self._with_worthy_copy(tree, num_nodes) if num_nodes > 0 else pack(*tree)

    def _search_for_budget(self, history: np.ndarray) -> tuple[np.ndarray, ...]:
        """A search that goes at least as far as the budget chosen by it; sets `choice`."""
        memories, most = self.memories, self.config.max_nodes
        while True:
            self._num_asked = self._num_to_ask
            searched, self._sources = self.search_with_sources(history, self._num_asked)
            num_found = len(self._sources) - 1
            survival = memories.survival.of_pass(
                self._sources[1:], most if num_found == self._num_asked else num_found
            )
            worth = row_worth(memories.pass_index)
            self.choice = choose_budget(survival, self._seconds, memories.survival.pace, worth)
            self._num_to_ask = min(self.choice.num_nodes + _MARGIN, most)
            if self.choice.num_nodes <= num_found:
                return searched

    def _with_worthy_copy(self, searched: tuple[np.ndarray, ...], num_nodes: int) -> DraftTree:
        """The packed tree, with the copied continuation if its new nodes raise the expected tokens a second."""
        continuation = self.suffix_continuation()
        if len(continuation) and self.config.suffix_max_nodes:
            tree = pack(*self.builder.with_suffix(searched, continuation))
            survival = self.memories.survival.of_copied(self._match_length, tree.depths[tree.is_suffix])
            expected = self.choice.expected_tokens[num_nodes]
            with_copy = (expected + survival.sum()) / self._seconds[tree.num_draft_nodes]
            if with_copy > expected / self._seconds[num_nodes]:
                return tree
        return pack(*searched)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> np.ndarray:
        """As RECAP, and learn which nodes of which kind were accepted."""
        survival = self.memories.survival
        survival.observe(tree, self._sources, self._num_asked, self._match_length, outcome.accepted_indices)
        survival.pace = survival.pace.after(len(outcome.committed_ids), self._seconds[tree.num_draft_nodes])
        return super().observe(history, tree, rows, outcome)
