"""RECAP: fused, best-first drafting from three recycled prediction memories, and a suffix match (Section 3)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.config import RecapConfig
from recap.memory import Memories, MemorySnapshot
from recap.rows import PredictionRows
from recap.search import NO_CANDIDATES, RootCandidates, TreeBuilder
from recap.suffix import SuffixAutomaton
from recap.tree import DraftTree, history_end, path_contexts
from recap.verification import Outcome


class RecapDrafter:
    """Drafts from `memories`, which outlive a request in U only.

    Attributes:
        config: the hyperparameters.
        builder: the tree search, also asked by the recorder for the paths that missed the budget.
        suffix: the automaton over this request's prompt and committed tokens.
    """

    wants_prompt_rows = True
    wants_rows = True

    def __init__(
        self,
        config: RecapConfig,
        memories: Memories,
        blocked_ids: Iterable[int] = (),
    ) -> None:
        """`blocked_ids`: image placeholders and padding, never drafted and barriers of the suffix match."""
        self.config = config
        self.memories = memories
        num_suffix_nodes = 0 if config.suffix_inside_budget else config.suffix_max_nodes
        self.max_tree_nodes = 1 + config.max_nodes + num_suffix_nodes
        self._blocked_ids = frozenset(blocked_ids)
        self.builder = TreeBuilder(config, self._blocked_ids)
        self.suffix = SuffixAutomaton(self._blocked_ids)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> np.ndarray:
        """Empty C and G, seed U with the prompt's rows, and index prompt and first token for suffix matches."""
        assert prompt_rows is not None, "RECAP asks for prompt rows"
        self.memories.begin_request()
        written = self.memories.seed_unigram(prompt_row_ids, prompt_rows)
        self.suffix.clear()
        self.suffix.extend(np.append(prompt_ids, first_token_id))
        return written

    def draft(self, history: np.ndarray) -> DraftTree:
        """The best-first tree of at most `max_nodes` nodes, and the suffix continuation inserted into it."""
        return self.builder.build(
            self.memories, history, self.suffix_continuation(), self.root_candidates(history)
        )

    def search(self, history: np.ndarray, max_nodes: int) -> tuple[np.ndarray, ...]:
        """The search alone, for any budget; see `TreeBuilder.search`."""
        return self.search_with_sources(history, max_nodes)[0]

    def search_with_sources(
        self, history: np.ndarray, max_nodes: int
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """The search and where its nodes come from; see `TreeBuilder.search_with_sources`."""
        return self.builder.search_with_sources(
            self.memories, history, max_nodes, self.root_candidates(history)
        )

    def root_candidates(self, history: np.ndarray) -> RootCandidates:
        """What the root drafts where no map has a row for it: nothing."""
        return NO_CANDIDATES

    def suffix_continuation(self) -> np.ndarray:
        """Tokens that followed the longest repeated suffix, int64 [<= max_depth + suffix_max_nodes]."""
        config = self.config
        return self.suffix.continuation(config.suffix_min_match, config.max_depth + config.suffix_max_nodes)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> np.ndarray:
        """Write every evaluated node's row under its own path context; index the committed tokens alone."""
        assert rows is not None, "RECAP asks for rows"
        written = self.memories.write(node_contexts(history, tree), rows)
        self.suffix.extend(outcome.committed_ids)
        return written

    def save_state(self) -> MemorySnapshot:
        """U and the stream's counters."""
        return self.memories.snapshot()

    def restore_state(self, state: MemorySnapshot) -> None:
        """Take back every row this request wrote."""
        self.memories.restore(state)


def node_contexts(history: np.ndarray, tree: DraftTree) -> np.ndarray:
    """int64 [num_nodes, 3]: the last three tokens at each node; -1 where the history is shorter."""
    return path_contexts(tree.token_ids, tree.parent_indices, *history_end(history))
