"""From the oracles' plain values to the arrays that `recap` works on, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles import KEY_LENGTHS, SOURCES, DictMemories, Row

from recap.memory import Memories
from recap.prediction_map import empty_map
from recap.rows import NO_TOKEN, PredictionRows

ROW_WIDTH = 8
_ATTRIBUTES = {"G": "trigram", "C": "bigram", "U": "unigram"}


def context_of(token_ids: Sequence[int]) -> tuple[int, int, int]:
    """The last three tokens, -1 where there is none."""
    u, v, x = [-1, -1, -1, *token_ids][-3:]
    return u, v, x


def as_arrays(rows: Sequence[Row]) -> PredictionRows:
    """Rows as one batch; narrow rows of tiny vocabularies are filled up with "no token"."""
    missing = [ROW_WIDTH - len(row.token_ids) for row in rows]
    token_ids = [(*row.token_ids, *[NO_TOKEN] * few) for row, few in zip(rows, missing, strict=True)]
    probabilities = [(*row.probabilities, *[0.0] * few) for row, few in zip(rows, missing, strict=True)]
    return PredictionRows(
        np.array(token_ids, np.int32).reshape(-1, ROW_WIDTH),
        np.array(probabilities, np.float32).reshape(-1, ROW_WIDTH),
        np.array([row.confidence for row in rows], np.float32),
    )


def as_row(token_ids: np.ndarray, probabilities: np.ndarray, confidence: float) -> Row:
    """A row of arrays as plain values, without its "no token" places."""
    width = int((token_ids >= 0).sum())
    return Row(tuple(token_ids[:width].tolist()), tuple(probabilities[:width].tolist()), float(confidence))


def found_row(memories: Memories, source: str, context: Sequence[int]) -> Row | None:
    """What one map holds for a context, as plain values."""
    row = memories.lookup(source, context_of(context))
    return None if row is None else as_row(row.token_ids, row.probabilities, row.confidence)


def fill(memories: Memories, contents: DictMemories) -> Memories:
    """Make the maps hold these contents and nothing else, also such as no run would leave behind."""
    pass_index = memories.pass_index
    for source in SOURCES:
        entries = contents.maps[source]
        assert all(len(key) == KEY_LENGTHS[source] for key in entries)
        # a write under long keys also writes the maps of shorter ones, which come later and are emptied first
        setattr(memories, _ATTRIBUTES[source], empty_map(KEY_LENGTHS[source], memories.vocab_size))
        if entries:
            contexts = np.array([context_of(key) for key in entries], np.int64)
            memories.write(contexts, as_arrays(list(entries.values())))
    memories.pass_index = pass_index  # what was filled in is no pass of a request
    return memories


def assert_same_contents(memories: Memories, dicts: DictMemories) -> None:
    """Every key that the dicts hold is found with its row, and the maps hold nothing else."""
    sizes = memories.sizes
    assert (sizes.trigram, sizes.bigram, sizes.unigram) == tuple(len(dicts.maps[s]) for s in SOURCES)
    for source in SOURCES:
        for key, row in dicts.maps[source].items():
            assert found_row(memories, source, key) == row, (source, key)
