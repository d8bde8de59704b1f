"""The three prediction memories of a stream: G and C for one request, U across requests (Section 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recap.events import MemorySizes, Source
from recap.jit import jit
from recap.prediction_map import (
    MAX_VOCAB_SIZE,
    MapArrays,
    clear_map,
    copy_map,
    empty_map,
    find_row,
    reserve,
    write_row,
)
from recap.rows import PredictionRows
from recap.survival import SurvivalTable

#: Most specific first: three-, two- and one-token keys.
SOURCES: tuple[Source, ...] = ("G", "C", "U")
NO_CONTEXT = -1


class StoredRow(NamedTuple):
    """A row as it lies in memory: K ids, K probabilities, confidence, and who wrote it.

    `request` counts from 1 in the stream, `pass_index` from 1 in that request (0 = prefill); `batch` counts the target
    passes of the whole stream, prefills included.
    """

    token_ids: np.ndarray
    probabilities: np.ndarray
    confidence: float
    request: int
    pass_index: int
    batch: int


class MemorySnapshot(NamedTuple):
    """What `Memories.snapshot` remembers of the stream. C and G never outlive a request."""

    unigram: MapArrays
    request: int
    batch: int
    survival: SurvivalTable


class Memories:
    """G, C and U of one inference stream.

    One row a key; the newest batch replaces it; within a batch the first occurrence in packed order is kept. U holds
    at most `vocab_size` rows.

    Attributes:
        request: number of the current request in this stream, from 1 (0 before the first).
        pass_index: passes of this request whose rows were written; 0 after prefill.
        batch: target passes seen by this stream, prefills included.
        survival: how often drafted nodes were accepted in this stream; filled by drafters with a budget of their own.
    """

    def __init__(self, vocab_size: int) -> None:
        """`vocab_size`: width V of the target's scores, 1..2^21 - 1. Raises ValueError outside."""
        if not 1 <= vocab_size < MAX_VOCAB_SIZE:
            raise ValueError(
                f"vocab_size must be from 1 to {MAX_VOCAB_SIZE - 1}; got vocab_size={vocab_size}"
            )
        self.vocab_size = vocab_size
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new stream."""
        self.request = 0
        self.pass_index = 0
        self.batch = 0
        self.bigram, self.trigram, self.unigram = (empty_map(n, self.vocab_size) for n in (2, 3, 1))
        self.survival = SurvivalTable()

    def begin_request(self) -> None:
        """Start the next request: C and G are emptied, U stays."""
        self.request += 1
        self.pass_index = 0
        self._clear_local()

    def _clear_local(self) -> None:
        clear_map(self.bigram)
        clear_map(self.trigram)

    @property
    def sizes(self) -> MemorySizes:
        """Rows alive in each map."""
        return MemorySizes(*(int(m.num_rows[0]) for m in (self.trigram, self.bigram, self.unigram)))

    @property
    def num_bytes(self) -> int:
        """Bytes allocated by all three maps, spare capacity included."""
        return sum(array.nbytes for m in (self.trigram, self.bigram, self.unigram) for array in m)

    def map(self, source: Source) -> MapArrays:
        """The arrays of one map."""
        return {"G": self.trigram, "C": self.bigram, "U": self.unigram}[source]

    def lookup(self, source: Source, context: tuple[int, int, int]) -> StoredRow | None:
        """The row of one map for the last three tokens (u, v, x) of a history, None where there is none.

        A token is -1 where the history is shorter.
        """
        arrays = self.map(source)
        row = int(find_row(arrays, *(np.int64(token) for token in context)))
        if row < 0:
            return None
        return StoredRow(
            arrays.token_ids[row],
            arrays.probabilities[row],
            float(arrays.row_confidences[row]),
            int(arrays.requests[row]),
            int(arrays.passes[row]),
            int(arrays.batches[row]),
        )

    def seed_unigram(self, token_ids: np.ndarray, rows: PredictionRows) -> np.ndarray:
        """Prefill's batch: write U alone, each token's first occurrence. Returns bool [n], which rows were kept.

        Rows whose scores were not finite are left out: in half precision a prompt's first token can overflow where the
        answer does not. Raises ValueError for a token id outside the vocabulary.
        """
        self._check_ids(token_ids)
        self.batch += 1
        self.unigram = reserve(self.unigram, len(token_ids))
        contexts = np.full((len(token_ids), 3), NO_CONTEXT, np.int64)
        contexts[:, 2] = token_ids
        return _write_unigram(self.unigram, contexts, rows, self.request, self.pass_index, self.batch)

    def write(self, contexts: np.ndarray, rows: PredictionRows) -> np.ndarray:
        """One pass's batch: write every evaluated node's row to G, C and U under its own path context.

        Args:
            contexts: int64 [num_nodes, 3], the last three tokens (u, v, x) at each node in packed order.
            rows: the nodes' prediction rows.

        Returns:
            bool [num_nodes, 3]: which node wrote G, C, U (False: the key's first occurrence came before).

        Raises:
            ValueError: a token id outside the vocabulary.
        """
        self._check_ids(contexts[:, 2])
        self.batch += 1
        self.pass_index += 1
        num_nodes = len(contexts)
        self.trigram = reserve(self.trigram, num_nodes)
        self.bigram = reserve(self.bigram, num_nodes)
        self.unigram = reserve(self.unigram, num_nodes)
        return _write_all(
            self.trigram,
            self.bigram,
            self.unigram,
            contexts,
            rows,
            self.request,
            self.pass_index,
            self.batch,
        )

    def snapshot(self) -> MemorySnapshot:
        """A copy of what outlives a request, to be given back to `restore`."""
        return MemorySnapshot(copy_map(self.unigram), self.request, self.batch, self.survival.copy())

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Return U to a snapshot, and forget C and G: as if the requests since had never been made."""
        self.unigram = copy_map(snapshot.unigram)
        self.request = snapshot.request
        self.pass_index = 0
        self.batch = snapshot.batch
        self.survival = snapshot.survival.copy()
        self._clear_local()

    def _check_ids(self, token_ids: np.ndarray) -> None:
        if not _are_all_below(token_ids, self.vocab_size):
            raise ValueError(
                f"token ids must be from 0 to {self.vocab_size - 1}; "
                f"got {int(token_ids.min())}..{int(token_ids.max())} (keys of prediction rows)"
            )


@jit
def _are_all_below(token_ids, vocab_size):
    for token in token_ids:  # noqa: SIM110 - numba compiles a plain loop, `all` over a generator it does not
        if not 0 <= token < vocab_size:
            return False
    return True


@jit
def _write_unigram(unigram, contexts, rows, request, pass_index, batch):
    written = np.empty(len(contexts), np.bool_)
    for i in range(len(contexts)):
        written[i] = np.isfinite(rows.confidences[i]) and write_row(
            unigram, contexts[i, 0], contexts[i, 1], contexts[i, 2], rows, i, request, pass_index, batch
        )
    return written


@jit
def _write_all(trigram, bigram, unigram, contexts, rows, request, pass_index, batch):
    written = np.empty((len(contexts), 3), np.bool_)
    for i in range(len(contexts)):
        u, v, x = contexts[i, 0], contexts[i, 1], contexts[i, 2]
        written[i, 0] = write_row(trigram, u, v, x, rows, i, request, pass_index, batch)
        written[i, 1] = write_row(bigram, u, v, x, rows, i, request, pass_index, batch)
        written[i, 2] = write_row(unigram, u, v, x, rows, i, request, pass_index, batch)
    return written
