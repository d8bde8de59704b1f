"""A recorded run done again: its memories from what it wrote, its trees from its memories, pass by pass.

If the trace is whole, every tree and every accepted length comes out as it was. U as the run found it is not in the
trace as a table. The rows of it that mattered are: a row is recorded when it is first read or replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recap.config import ROW_WIDTH, RecapConfig
from recap.events import Iteration, MemoryWrite, PredictionRow, Run, Source
from recap.memory import SOURCES
from recap.prediction_map import MapArrays, empty_map, find_row, reserve, write_row
from recap.replay.trajectory import Trajectory, state_nodes
from recap.rows import PredictionRows
from recap.search import TreeBuilder
from recap.suffix import SuffixAutomaton
from recap.tree import DraftTree


class RecordedMemories:
    """G, C and U as a trace's writes leave them; what a `TreeBuilder` reads.

    Attributes:
        trigram, bigram, unigram: the maps.
    """

    def __init__(self, vocab_size: int) -> None:
        self.trigram = empty_map(3, vocab_size)
        self.bigram = empty_map(2, vocab_size)
        self.unigram = empty_map(1, vocab_size)
        self._batch = 0

    def put(self, rows: Iterable[tuple[Source, tuple[int, ...], PredictionRow]]) -> None:
        """Write one batch: (map, key, row), each key once."""
        self._batch += 1
        for source, key_ids, row in rows:
            arrays = reserve(self.map(source), 1)
            self._set(source, arrays)
            ids = np.full((1, ROW_WIDTH), -1, np.int32)
            probabilities = np.zeros((1, ROW_WIDTH), np.float32)
            ids[0, : len(row.token_ids)] = row.token_ids
            probabilities[0, : len(row.token_ids)] = row.probabilities
            context = (*(-1,) * (3 - len(key_ids)), *key_ids)
            u, v, x = (np.int64(token) for token in context)
            confidences = np.array([row.confidence], np.float32)
            write_row(arrays, u, v, x, PredictionRows(ids, probabilities, confidences), 0, 0, 0, self._batch)

    def map(self, source: Source) -> MapArrays:
        """The arrays of one map."""
        return {"G": self.trigram, "C": self.bigram, "U": self.unigram}[source]

    def _set(self, source: Source, arrays: MapArrays) -> None:
        setattr(self, {"G": "trigram", "C": "bigram", "U": "unigram"}[source], arrays)

    def found(self, context: np.ndarray) -> dict[Source, FoundRow]:
        """The rows for the last three tokens [3] of a history, most specific first."""
        rows = {}
        for source in SOURCES:
            arrays = self.map(source)
            row = int(find_row(arrays, *context))
            if row >= 0:
                rows[source] = FoundRow(
                    arrays.token_ids[row].copy(),
                    arrays.probabilities[row].copy(),
                    float(arrays.row_confidences[row]),
                )
        return rows


class FoundRow(NamedTuple):
    """A row in a memory: int32 [K] ids (-1 fills), float32 [K] probabilities, confidence."""

    token_ids: np.ndarray
    probabilities: np.ndarray
    confidence: float


class ReplayedPass(NamedTuple):
    """One pass, done again.

    Attributes:
        iteration: as it was recorded.
        state: index of the root's state.
        memories: as they were before the pass wrote; read them before the next pass is asked for.
        tree: built from them; None where the run's settings are not RECAP's or cannot be replayed.
        num_accepted: how many of its draft tokens the target's text accepts.
    """

    iteration: Iteration
    state: int
    memories: RecordedMemories
    tree: DraftTree | None
    num_accepted: int | None

    def is_same_tree(self) -> bool:
        """Whether the tree is the recorded one, node by node."""
        nodes = self.iteration.detail.nodes
        return (
            self.tree is not None
            and self.tree.token_ids.tolist() == [node.token_id for node in nodes]
            and self.tree.parent_indices.tolist() == [node.parent for node in nodes]
        )


def replay_passes(trajectory: Trajectory, run: Run, config: RecapConfig | None) -> Iterator[ReplayedPass]:
    """All passes of a recorded run, each queried before its own writes."""
    memories = RecordedMemories(trajectory.vocab_size)
    memories.put(carried_rows(run))
    memories.put(rows_of(run, run.prefill.writes))
    # What a fallback takes at an empty root is not in the trace.
    is_replayed = config is not None and config.root_fallback == "none"
    suffix = SuffixAutomaton(trajectory.blocked_ids)
    suffix.extend(trajectory.history_at(0))
    state = 0
    for iteration in run.iterations:
        tree, num_accepted = None, None
        if is_replayed:
            builder = TreeBuilder(_config_of_pass(config, iteration), trajectory.blocked_ids)
            most = config.max_depth + config.suffix_max_nodes
            continuation = suffix.continuation(config.suffix_min_match, most)
            tree = builder.build(memories, trajectory.history_at(state), continuation)
            num_accepted = matched_length(
                tree.token_ids, tree.parent_indices, trajectory.continuation_at(state)
            )
        yield ReplayedPass(iteration, state, memories, tree, num_accepted)
        memories.put(rows_of(run, iteration.detail.writes))
        suffix.extend(np.array(iteration.committed_ids, np.int64))
        state += len(state_nodes(iteration))


def _config_of_pass(config: RecapConfig, iteration: Iteration) -> RecapConfig:
    """The run's own; where it chose each pass's budget by the clock, with the budget that was chosen."""
    if not config.follows_cost:
        return config
    origins = [node.origin for node in iteration.detail.nodes]
    suffix_max_nodes = config.suffix_max_nodes if "suffix" in origins else 0
    return replace(config, max_nodes=origins.count("fusion"), suffix_max_nodes=suffix_max_nodes)


def matched_length(token_ids: np.ndarray, parents: np.ndarray, continuation: np.ndarray) -> int:
    """Draft tokens of the longest path from the root that agrees with `continuation`; the root is node 0."""
    children = {
        (parent, token): node
        for node, (parent, token) in enumerate(zip(parents.tolist(), token_ids.tolist(), strict=True))
    }
    node = 0
    for length, token in enumerate(continuation.tolist()):
        node = children.get((node, token), -1)
        if node < 0:
            return length
    return len(continuation)


def carried_rows(run: Run) -> list[tuple[Source, tuple[int, ...], PredictionRow]]:
    """Rows of U from earlier requests of the stream, as far as this run read or replaced them."""
    first: dict[tuple[int, ...], int | None] = {}
    _note_writes(first, run.prefill.writes)
    for iteration in run.iterations:
        for node in iteration.detail.nodes:
            for found in node.retrieved:
                if found.source == "U":
                    first.setdefault(found.key_ids, found.row)
        _note_writes(first, iteration.detail.writes)
    return [("U", key, run.rows[row]) for key, row in first.items() if row is not None]


def _note_writes(first: dict[tuple[int, ...], int | None], writes: Iterable[MemoryWrite]) -> None:
    for write in writes:
        if write.map == "U":
            first.setdefault(write.key_ids, write.replaced_row)


def rows_of(
    run: Run, writes: Iterable[MemoryWrite]
) -> Iterator[tuple[Source, tuple[int, ...], PredictionRow]]:
    """What `RecordedMemories.put` takes, of one batch of a run's writes."""
    return ((write.map, write.key_ids, run.rows[write.row]) for write in writes)


def pass_contexts(trajectory: Trajectory, replayed: ReplayedPass) -> np.ndarray:
    """int64 [num_states, 3]: the last three tokens at each state of a pass."""
    histories = [
        trajectory.history_at(replayed.state + offset)
        for offset in range(len(state_nodes(replayed.iteration)))
    ]
    return np.array([last_three(history) for history in histories], np.int64)


def last_three(history: np.ndarray) -> np.ndarray:
    """int64 [3], -1 where the history is shorter."""
    return np.concatenate([np.full(3, -1, np.int64), history])[-3:]
