"""Trees of a fixed shape over a matrix of successors: what Token Recycling and Tree Recycling draft from.

The shape is a list of paths by child rank. The node at (parent p, rank r) drafts `matrix[token of p, r]`; so the same
places are filled in every pass, whatever the tokens are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from recap.jit import jit
from recap.tree import DraftTree, pack


class StaticTree:
    """A shape, filled from a matrix of successors.

    A place whose token is blocked (or missing: -1) is left out with everything below it.
    """

    def __init__(self, paths: Iterable[Sequence[int]], blocked_ids: Iterable[int]) -> None:
        """Note the shape.

        Args:
            paths: child ranks from the root down, one path a node; every path's parent is among them.
            blocked_ids: ids that are never drafted.
        """
        ordered = sorted((tuple(path) for path in paths), key=lambda path: (len(path), path))
        index = {path: i for i, path in enumerate([(), *ordered])}
        self._parents = np.array([-1, *(index[path[:-1]] for path in ordered)], np.int32)
        self._ranks = np.array([0, *(path[-1] for path in ordered)], np.int32)
        self._blocked_ids = np.array(sorted(blocked_ids), np.int64)

    @property
    def num_nodes(self) -> int:
        """Nodes of the shape, the root included."""
        return len(self._parents)

    def fill(self, matrix: np.ndarray, root_id: int) -> DraftTree:
        """The tree below `root_id`; `matrix` int32 [V, K], its nodes made by depth, then by rank path."""
        token_ids, parents = _fill(matrix, root_id, self._parents, self._ranks, self._blocked_ids)
        unknown = np.full(len(token_ids), np.nan)
        return pack(token_ids, parents, unknown, unknown, np.zeros(len(token_ids), np.bool_))


def write_successors(matrix: np.ndarray, tree: DraftTree, row_ids: np.ndarray) -> None:
    """Write every evaluated node's highest-scoring ids under its token, int32 [num_nodes, >= K], into `matrix` [V, K].

    Of several nodes with one token the first by depth, then by rank path, counts; so repeated runs agree.

    Raises:
        ValueError: a token outside the matrix, as where a stream meets a target of another vocabulary.
    """
    if not _write(matrix, tree.token_ids, tree.pop_orders, row_ids):
        raise ValueError(
            f"token ids must be from 0 to {len(matrix) - 1}; "
            f"got {tree.token_ids.min()}..{tree.token_ids.max()} (keys of successors)"
        )


@jit
def _fill(matrix, root_id, parents, ranks, blocked_ids):
    token_ids = np.empty(len(parents), np.int64)
    kept_parents = np.empty(len(parents), np.int32)
    place = np.full(len(parents), -1, np.int32)  # of a node of the shape among those kept
    token_ids[0], kept_parents[0], place[0] = root_id, -1, 0
    count = 1
    for node in range(1, len(parents)):
        parent = place[parents[node]]
        # Rows may name ids that have none, where a stream meets a target of another width.
        if parent < 0 or token_ids[parent] >= len(matrix):
            continue
        token = np.int64(matrix[token_ids[parent], ranks[node]])
        is_dropped = token < 0
        for i in range(len(blocked_ids)):
            is_dropped = is_dropped or blocked_ids[i] == token
        if is_dropped:
            continue
        token_ids[count], kept_parents[count], place[node] = token, parent, count
        count += 1
    return token_ids[:count], kept_parents[:count]


@jit
def _write(matrix, token_ids, pop_orders, row_ids):
    """False, with nothing written, where a token has no row in the matrix."""
    for token in token_ids:
        if not 0 <= token < len(matrix):
            return False
    for node in np.argsort(pop_orders)[::-1]:  # of several nodes with one token, what is written last stays
        for rank in range(matrix.shape[1]):
            matrix[token_ids[node], rank] = row_ids[node, rank]
    return True
