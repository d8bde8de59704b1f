"""The three memories as three dicts from the last tokens of a context to the row predicted after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from oracles.rows import Row
from oracles.trees import path_to

SOURCES = ("G", "C", "U")
#: Tokens of context that each map's key holds.
KEY_LENGTHS = {"G": 3, "C": 2, "U": 1}


@dataclass(frozen=True)
class Write:
    """One row written: the node (or prompt position) that wrote it, and the row it replaced."""

    source: str
    key: tuple[int, ...]
    node: int
    row: Row
    replaced: Row | None


@dataclass
class DictMemories:
    """Three dicts: the last three, two and one tokens of a context, each to the row predicted after it."""

    maps: dict[str, dict[tuple[int, ...], Row]] = field(default_factory=lambda: {s: {} for s in SOURCES})

    def lookup(self, context: Sequence[int]) -> list[tuple[str, Row]]:
        """The rows found under a context, most specific first; none under a key longer than the context."""
        found = []
        for source in SOURCES:
            key = last_tokens(context, KEY_LENGTHS[source])
            if key is not None and key in self.maps[source]:
                found.append((source, self.maps[source][key]))
        return found

    def write_pass(
        self, history: Sequence[int], token_ids: Sequence[int], parents: Sequence[int], rows: Sequence[Row]
    ) -> list[Write]:
        """One target pass: every node writes all maps under its own path.

        Of several nodes with one key the first in packed order counts. `history` ends with the
        root, which is node 0 of the packed tree.
        """
        batch: dict[tuple[str, tuple[int, ...]], int] = {}
        for node in range(len(token_ids)):
            context = list(history[:-1]) + [token_ids[i] for i in path_to(node, parents)]
            for source in SOURCES:
                key = last_tokens(context, KEY_LENGTHS[source])
                if key is not None and (source, key) not in batch:
                    batch[source, key] = node
        writes = [
            Write(source, key, node, rows[node], self.maps[source].get(key))
            for (source, key), node in batch.items()
        ]
        for write in writes:
            self.maps[write.source][write.key] = write.row
        return writes

    def write_prompt(
        self, prompt_ids: Sequence[int], rows: Mapping[int, Row], blocked: Collection[int]
    ) -> None:
        """Prefill seeds U only: the first occurrence of each token that is no placeholder.

        `rows` maps an eligible prompt position to the row predicted there.
        """
        batch: dict[tuple[int, ...], Row] = {}
        for position, token_id in enumerate(prompt_ids):
            if token_id not in blocked and (token_id,) not in batch:
                batch[token_id,] = rows[position]
        self.maps["U"].update(batch)

    def reset_request(self) -> None:
        """G and C live for one request; U lives on."""
        self.maps["G"], self.maps["C"] = {}, {}

    def copy(self) -> DictMemories:
        return DictMemories({source: dict(entries) for source, entries in self.maps.items()})


def last_tokens(context: Sequence[int], count: int) -> tuple[int, ...] | None:
    """The last `count` tokens, or None where there are fewer."""
    return tuple(context[-count:]) if len(context) >= count else None
