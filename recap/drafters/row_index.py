"""This request's rows in the order of their writing: where the root fallbacks look (Appendix H)."""

from __future__ import annotations

import numpy as np

from recap.config import ROW_WIDTH
from recap.jit import jit
from recap.memory import Memories
from recap.prediction_map import find_row
from recap.rows import PredictionRows

MAX_ROWS = 2048


class RowIndex:
    """First in, first out: the newest 2,048 rows that survive.

    A row survives while at least one of the maps it was written to still holds it.
    """

    def __init__(self) -> None:
        #: Slots in use, oldest row first.
        self._order = np.empty(0, np.int64)
        self._contexts = np.empty((MAX_ROWS, 3), np.int64)
        self._is_written = np.empty((MAX_ROWS, 3), np.bool_)
        self._batches = np.empty(MAX_ROWS, np.int64)
        self._token_ids = np.empty((MAX_ROWS, ROW_WIDTH), np.int32)
        self._probabilities = np.empty((MAX_ROWS, ROW_WIDTH), np.float32)
        self._states: np.ndarray | None = None

    def add(
        self,
        memories: Memories,
        contexts: np.ndarray,
        is_written: np.ndarray,
        rows: PredictionRows,
        states: np.ndarray | None = None,
    ) -> None:
        """Append the rows that the newest batch wrote; leave out the older ones that it replaced.

        Args:
            memories: after that batch.
            contexts: int64 [n, 3], under which each row was written.
            is_written: bool [n, 3], to which of G, C and U.
            rows: [n].
            states: float32 [n, hidden_size], unit vectors to find the rows by; in all calls or in none.
        """
        maps = memories.trigram, memories.bigram, memories.unigram
        is_alive = _survive(*maps, self._contexts, self._is_written, self._batches, self._order)
        new = np.flatnonzero(is_written.any(axis=1))[-MAX_ROWS:]
        kept = self._order[is_alive]
        kept = kept[max(0, len(kept) + len(new) - MAX_ROWS) :]
        is_free = np.ones(MAX_ROWS, np.bool_)
        is_free[kept] = False
        slots = np.flatnonzero(is_free)[: len(new)]
        self._contexts[slots] = contexts[new]
        self._is_written[slots] = is_written[new]
        self._batches[slots] = memories.batch
        self._token_ids[slots] = rows.token_ids[new]
        self._probabilities[slots] = rows.probabilities[new]
        if states is not None:
            if self._states is None:
                self._states = np.zeros((MAX_ROWS, states.shape[1]), np.float32)
            self._states[slots] = states[new]
        self._order = np.concatenate([kept, slots])

    def newest(self) -> tuple[np.ndarray, np.ndarray]:
        """The row written last: ids [n, K] and probabilities [n, K], n at most 1."""
        return self._rows(self._order[-1:])

    def nearest(self, state: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The `count` rows whose states are the most similar to a unit vector, best first; ties to the newer."""
        if self._states is None:
            return self._rows(self._order[:0])
        newest_first = self._order[::-1]
        similarities = (self._states @ state)[newest_first]
        return self._rows(newest_first[np.argsort(-similarities, kind="stable")[:count]])

    def _rows(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._token_ids[slots], self._probabilities[slots]


@jit
def _survive(trigram, bigram, unigram, contexts, is_written, batches, order):
    is_alive = np.zeros(len(order), np.bool_)
    for i in range(len(order)):
        slot = order[i]
        for source in range(3):
            arrays = trigram if source == 0 else (bigram if source == 1 else unigram)
            if is_written[slot, source]:
                row = find_row(arrays, contexts[slot, 0], contexts[slot, 1], contexts[slot, 2])
                is_alive[i] = is_alive[i] or (row >= 0 and arrays.batches[row] == batches[slot])
    return is_alive
