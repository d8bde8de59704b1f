"""The prediction rows that a recorded run refers to by number: each is stored once, when first written or read."""

from __future__ import annotations

import numpy as np

from recap.events import PredictionRow, Source
from recap.memory import SOURCES, Memories, StoredRow
from recap.rows import PredictionRows

#: The last three tokens (u, v, x) of a history, -1 where it is shorter.
Context = tuple[int, int, int]


class RowTable:
    """Numbers the rows of one run.

    Attributes:
        rows: the table, by number.
    """

    def __init__(self, memories: Memories | None) -> None:
        """`memories`: the run's stream; a method without one asks nothing of the table."""
        self.rows: list[PredictionRow] = []
        self._memories = memories
        #: Batch and number of the row last seen under each key; the key holds a newer row where the batch is another.
        self._seen: dict[tuple[Source, tuple[int, ...]], tuple[int, int]] = {}

    def find(self, source: Source, context: Context) -> int | None:
        """The number of the row that a map holds for a context now, None where it holds none."""
        stored = self._memories.lookup(source, context)
        return None if stored is None else self.number(source, context, stored)

    def number(self, source: Source, context: Context, stored: StoredRow) -> int:
        """The number of a row just looked up; one carried in from an earlier request gets its number here."""
        key = key_ids(source, context)
        batch, number = self._seen.get((source, key), (-1, -1))
        if batch != stored.batch:
            number = self._append(
                stored.token_ids, stored.probabilities, stored.confidence, stored.request, stored.pass_index
            )
            self._seen[source, key] = (stored.batch, number)
        return number

    def add(self, rows: PredictionRows, index: int) -> int:
        """The number of a row that the newest batch wrote; `note` tells under which keys."""
        memories = self._memories
        return self._append(*(field[index] for field in rows), memories.request, memories.pass_index)

    def note(self, source: Source, key: tuple[int, ...], number: int) -> None:
        """The newest batch wrote this row under this key."""
        self._seen[source, key] = (self._memories.batch, number)

    def _append(
        self,
        token_ids: np.ndarray,
        probabilities: np.ndarray,
        confidence: float,
        request: int,
        pass_index: int,
    ) -> int:
        is_token = token_ids >= 0
        row = PredictionRow(
            token_ids=tuple(token_ids[is_token].tolist()),
            probabilities=tuple(probabilities[is_token].tolist()),
            confidence=float(confidence),
            written_in_request=request,
            written_in_pass=pass_index,
        )
        self.rows.append(row)
        return len(self.rows) - 1


def key_ids(source: Source, context: Context) -> tuple[int, ...]:
    """The tokens of a context that a map is keyed by."""
    return context[SOURCES.index(source) :]
