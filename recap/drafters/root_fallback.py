"""RECAP with a fallback for roots that no map knows (Appendix H). Neither is on by default.

Only the root is helped, and only where G, C and U all miss; every other node is looked up as usual.

- `recency` takes the newest surviving row of this request, whatever its context was.
- `semantic` takes up to three rows by meaning. The state that predicted the root (the final hidden state at the last
  accepted node) is compared, by cosine, with the states that came right before the nodes of earlier rows.

The rows are fused with the priors by rank and without confidence (c = 1), as in the paper. Rows of the prompt have no
state, as prefill keeps none; so `semantic` knows the rows of passes alone, and has nothing to offer in the first pass.
The hidden states are computed anyway, but copying them from the device is charged to this method.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.config import RecapConfig
from recap.drafters.recap import RecapDrafter, node_contexts
from recap.drafters.row_index import RowIndex
from recap.fusion import MAX_SOURCES, fuse
from recap.memory import NO_CONTEXT, SOURCES, Memories
from recap.rows import PredictionRows
from recap.search import NO_CANDIDATES, RootCandidates
from recap.targets.base import Scores, Want
from recap.tree import DraftTree
from recap.verification import Outcome


class RootFallbackDrafter(RecapDrafter):
    """RECAP and an index of this request's rows; with `semantic` a `ScoreReader` of hidden states."""

    def __init__(self, config: RecapConfig, memories: Memories, blocked_ids: Iterable[int] = ()) -> None:
        """`config.root_fallback` says which of the two it is."""
        super().__init__(config, memories, blocked_ids)
        self._is_semantic = config.root_fallback == "semantic"
        self.wants: tuple[Want, ...] = ("hidden_states",) if self._is_semantic else ()

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> np.ndarray:
        """As RECAP; the index starts with the prompt's rows, or empty where rows need a state."""
        written = super().begin(prompt_ids, first_token_id, prompt_row_ids, prompt_rows)
        self._index = RowIndex()
        self._states: np.ndarray | None = None
        #: Unit state that predicted the next root; None before the first pass.
        self._root_state: np.ndarray | None = None
        if not self._is_semantic:
            contexts = np.full((len(prompt_row_ids), len(SOURCES)), NO_CONTEXT, np.int64)
            contexts[:, -1] = prompt_row_ids
            is_written = np.zeros(contexts.shape, np.bool_)
            is_written[:, -1] = written
            self._index.add(self.memories, contexts, is_written, prompt_rows)
        return written

    def root_candidates(self, history: np.ndarray) -> RootCandidates:
        """The fallback's rows, fused, where no map has a row for the root."""
        u, v, x = [*[NO_CONTEXT] * 2, *history[-3:]][-3:]
        if any(self.memories.lookup(source, (u, v, x)) is not None for source in SOURCES):
            return NO_CANDIDATES
        if not self._is_semantic:
            token_ids, probabilities = self._index.newest()
        elif self._root_state is not None:
            token_ids, probabilities = self._index.nearest(self._root_state, MAX_SOURCES)
        else:
            return NO_CANDIDATES
        if len(token_ids) == 0:
            return NO_CANDIDATES
        confidences = np.ones(len(token_ids))
        fused = fuse(token_ids, probabilities, confidences, "no-confidence", self.config.specificity_priors)
        return fused.token_ids, fused.q

    def read(self, scores: Scores) -> None:
        """Note the pass's states as unit vectors."""
        if scores.hidden_states is not None:
            lengths = np.linalg.norm(scores.hidden_states, axis=1, keepdims=True)
            self._states = scores.hidden_states / np.maximum(lengths, np.finfo(np.float32).tiny)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> np.ndarray:
        """As RECAP; the rows written are indexed, each under the state before its node."""
        written = super().observe(history, tree, rows, outcome)
        contexts = node_contexts(history, tree)
        if not self._is_semantic:
            self._index.add(self.memories, contexts, written, rows)
        elif self._states is not None:
            is_known = np.ones(len(contexts), np.bool_)
            before = self._states[tree.parent_indices]
            if self._root_state is None:
                is_known[0] = False
            else:
                before[0] = self._root_state
            self._index.add(self.memories, contexts, written & is_known[:, None], rows, before)
            last = outcome.accepted_indices[-1] if len(outcome.accepted_indices) else 0
            self._root_state = self._states[last]
        return written
