"""Candidate trees from the three memories: best-first search (Eq. 8) and suffix insertion.

Fixed expansion, the ablation, is the same search with another order of the open paths.
"""

from __future__ import annotations

import numpy as np

from recap.best_first import best_first_search
from recap.config import RecapConfig
from recap.fusion import rule_code
from recap.memory import Memories
from recap.tree import DraftTree, history_end, insert_continuation, pack

#: What a root that finds no row may draft instead: ids int32 [n <= K] and their probabilities float64 [n].
RootCandidates = tuple[np.ndarray, np.ndarray]
NO_CANDIDATES: RootCandidates = (np.empty(0, np.int32), np.empty(0, np.float64))


class TreeBuilder:
    """Candidate trees under one configuration."""

    def __init__(self, config: RecapConfig, blocked_ids: frozenset[int]) -> None:
        """`blocked_ids`: ids that are never drafted (image placeholders, padding)."""
        self.config = config
        self._blocked_ids = np.array(sorted(blocked_ids), np.int64)
        self._specificity_priors = np.array(config.specificity_priors, np.float64)
        priors = list(config.depth_priors[: config.max_depth])
        priors += [config.depth_priors[-1]] * (config.max_depth - len(priors))
        self.depth_priors = np.array(priors, np.float64)

    def build(
        self,
        memories: Memories,
        history: np.ndarray,
        continuation: np.ndarray,
        root_candidates: RootCandidates = NO_CANDIDATES,
    ) -> DraftTree:
        """The tree for the next pass.

        Args:
            memories: where rows are looked up; not changed.
            history: int64 [n >= 1], prompt and committed tokens; the last one is the root.
            continuation: int64 [m], tokens that followed the longest repeated suffix; may be empty.
            root_candidates: the root's children where no map has a row for it.
        """
        tree = self.search(memories, history, self.config.max_nodes, root_candidates)
        if len(continuation) and self.config.max_nodes > 0 and self.config.suffix_max_nodes > 0:
            tree = self.with_suffix(tree, continuation)
        return pack(*tree)

    def with_suffix(self, tree: tuple[np.ndarray, ...], continuation: np.ndarray) -> tuple[np.ndarray, ...]:
        """A searched tree with the copied continuation: shared prefixes are walked, the rest becomes new nodes."""
        config = self.config
        max_depth = config.max_depth + config.suffix_max_nodes
        if not config.suffix_inside_budget:
            return insert_continuation(*tree, continuation, config.suffix_max_nodes, max_depth)
        # The first b nodes are the best tree of b nodes: give up the last ones until the copied ones fit.
        max_new_nodes = min(config.suffix_max_nodes, config.max_nodes)
        num_searched = len(tree[0])
        while True:
            searched = (part[:num_searched] for part in tree)
            both = insert_continuation(*searched, continuation, max_new_nodes, max_depth)
            if len(both[0]) <= 1 + config.max_nodes:
                return both
            num_searched -= 1

    def search(
        self,
        memories: Memories,
        history: np.ndarray,
        max_nodes: int,
        root_candidates: RootCandidates = NO_CANDIDATES,
    ) -> tuple[np.ndarray, ...]:
        """The best `max_nodes` paths as nodes in the order they were popped, the root first.

        Returns (token_ids, parents, q, scores, is_suffix), each [num_nodes]. Since no factor of phi exceeds 1, the
        result for b nodes is the first b + 1 entries of the result for any larger number. The same holds for fixed
        expansion, whose order is by depth, then by rank path.
        """
        return self.search_with_sources(memories, history, max_nodes, root_candidates)[0]

    def search_with_sources(
        self,
        memories: Memories,
        history: np.ndarray,
        max_nodes: int,
        root_candidates: RootCandidates = NO_CANDIDATES,
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """`search`, and for each node how many maps had a row where it was proposed, int64 [num_nodes]; the root: 0."""
        *tree, num_sources = best_first_search(
            memories.trigram,
            memories.bigram,
            memories.unigram,
            *history_end(history),
            history[-1],
            max_nodes,
            self.config.width,
            self.depth_priors,
            self._specificity_priors,
            rule_code(self.config.fusion),
            self.config.forbid_repeated_edges,
            self._blocked_ids,
            self.config.expansion == "fixed",
            *root_candidates,
        )
        return tuple(tree), num_sources
