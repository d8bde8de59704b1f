"""The candidate tree: what a drafter proposes and the target verifies in one pass, and its packed order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recap.jit import jit


class DraftTree(NamedTuple):
    """A tree in packed order: depth-first preorder by rank path, node 0 the root.

    In this order the chain of all first choices is contiguous behind the root, so its cache entries need no move.

    Attributes:
        token_ids: int64 [num_nodes]; the root's token is the last committed one.
        parent_indices: int32 [num_nodes], -1 for the root; a parent comes before its children.
        depths: int32 [num_nodes], 0 at the root.
        ranks: int32 [num_nodes], place among the siblings.
        pop_orders: int32 [num_nodes], when the search made the node; suffix nodes come last.
        q: float64 [num_nodes], Eq. 6; NaN where a node has none (suffix nodes, other drafters).
        scores: float64 [num_nodes], phi of Eq. 8; NaN likewise.
        is_suffix: bool [num_nodes].
    """

    token_ids: np.ndarray
    parent_indices: np.ndarray
    depths: np.ndarray
    ranks: np.ndarray
    pop_orders: np.ndarray
    q: np.ndarray
    scores: np.ndarray
    is_suffix: np.ndarray

    @property
    def num_draft_nodes(self) -> int:
        """Nodes beside the root."""
        return len(self.token_ids) - 1


def root_only_tree(root_id: int) -> DraftTree:
    """The tree of a plain decoding step: the root and no draft."""
    return DraftTree(
        token_ids=np.array([root_id], np.int64),
        parent_indices=np.array([-1], np.int32),
        depths=np.zeros(1, np.int32),
        ranks=np.zeros(1, np.int32),
        pop_orders=np.zeros(1, np.int32),
        q=np.array([np.nan]),
        scores=np.array([np.nan]),
        is_suffix=np.zeros(1, np.bool_),
    )


def chain_tree(root_id: int, draft_ids: Sequence[int]) -> DraftTree:
    """The root and one path below it."""
    return pack_tree([root_id, *draft_ids], range(-1, len(draft_ids)))


def pack_tree(
    token_ids: Sequence[int],
    parent_indices: Sequence[int],
    q: Sequence[float] | None = None,
    scores: Sequence[float] | None = None,
    is_suffix: Sequence[bool] | None = None,
) -> DraftTree:
    """Pack nodes given in the order in which they were made; siblings rank by that order.

    Args:
        token_ids: [num_nodes], the root first.
        parent_indices: [num_nodes], indices into the same order, each smaller than its child's; -1 for the root.
        q, scores: [num_nodes], NaN where left out.
        is_suffix: [num_nodes], False where left out.

    Raises:
        ValueError: no root, or a parent that does not come before its child.
    """
    num_nodes = len(token_ids)
    parents = np.array(parent_indices, np.int32)
    if (
        num_nodes == 0
        or parents[0] != -1
        or np.any(parents[1:] >= np.arange(1, num_nodes))
        or np.any(parents[1:] < 0)
    ):
        raise ValueError(
            f"parent_indices must start with -1 and name an earlier node each; got {list(parent_indices)[:8]}"
        )
    unknown = np.full(num_nodes, np.nan)
    return pack(
        np.array(token_ids, np.int64),
        parents,
        unknown if q is None else np.array(q, np.float64),
        unknown if scores is None else np.array(scores, np.float64),
        np.zeros(num_nodes, np.bool_) if is_suffix is None else np.array(is_suffix, np.bool_),
    )


def pack(
    token_ids: np.ndarray, parents: np.ndarray, q: np.ndarray, scores: np.ndarray, is_suffix: np.ndarray
) -> DraftTree:
    """As `pack_tree`, for arrays already known to be sound."""
    return DraftTree(*_pack(token_ids, parents, q, scores, is_suffix))


@jit
def _pack(token_ids, parents, q, scores, is_suffix):
    """The fields of a `DraftTree`. One call: arrays cross into compiled code and back once."""
    order, packed_parents, depths, ranks = _preorder(parents)
    return token_ids[order], packed_parents, depths, ranks, order, q[order], scores[order], is_suffix[order]


@jit
def _preorder(parents):
    """Preorder of a forest with one root. Siblings keep the order in which they were made."""
    num_nodes = len(parents)
    first_child = np.full(num_nodes, -1, np.int32)
    last_child = np.full(num_nodes, -1, np.int32)
    next_sibling = np.full(num_nodes, -1, np.int32)
    rank = np.zeros(num_nodes, np.int32)
    for node in range(1, num_nodes):
        parent = parents[node]
        if first_child[parent] < 0:
            first_child[parent] = node
        else:
            next_sibling[last_child[parent]] = node
            rank[node] = rank[last_child[parent]] + 1
        last_child[parent] = node
    order = np.empty(num_nodes, np.int32)
    packed_parents = np.empty(num_nodes, np.int32)
    depths = np.empty(num_nodes, np.int32)
    packed_index = np.empty(num_nodes, np.int32)
    node = 0
    depth = 0
    for index in range(num_nodes):
        order[index] = node
        packed_index[node] = index
        packed_parents[index] = packed_index[parents[node]] if node > 0 else -1
        depths[index] = depth
        if first_child[node] >= 0:
            node = first_child[node]
            depth += 1
            continue
        while node > 0 and next_sibling[node] < 0:
            node = parents[node]
            depth -= 1
        node = next_sibling[node]
    return order, packed_parents, depths, rank[order]


def history_end(history: np.ndarray) -> tuple[np.int64, np.int64]:
    """The two tokens before the last one; -1 where the history is shorter."""
    u = history[-3] if len(history) > 2 else np.int64(-1)
    v = history[-2] if len(history) > 1 else np.int64(-1)
    return u, v


@jit
def path_contexts(token_ids, parent_indices, u, v):
    """The last three tokens at each node under its own path: int64 [num_nodes, 3].

    `u`, `v` are the two history tokens before the root, -1 where the history is shorter. Parents come before nodes.
    """
    contexts = np.empty((len(token_ids), 3), np.int64)
    contexts[0, 0] = u
    contexts[0, 1] = v
    contexts[0, 2] = token_ids[0]
    for i in range(1, len(token_ids)):
        parent = parent_indices[i]
        contexts[i, 0] = contexts[parent, 1]
        contexts[i, 1] = contexts[parent, 2]
        contexts[i, 2] = token_ids[i]
    return contexts


@jit
def insert_continuation(token_ids, parents, q, scores, is_suffix, continuation, max_new_nodes, max_depth):
    """Walk the copied continuation from the root; where the tree has no such child, add a node of its own."""
    num_nodes = len(token_ids)
    limit = num_nodes + max_new_nodes
    all_tokens = np.empty(limit, np.int64)
    all_parents = np.empty(limit, np.int32)
    all_q = np.full(limit, np.nan)
    all_scores = np.full(limit, np.nan)
    all_suffix = np.ones(limit, np.bool_)
    all_tokens[:num_nodes] = token_ids
    all_parents[:num_nodes] = parents
    all_q[:num_nodes] = q
    all_scores[:num_nodes] = scores
    all_suffix[:num_nodes] = is_suffix
    node = 0
    for depth in range(min(len(continuation), max_depth)):
        token = continuation[depth]
        child = -1
        for i in range(node + 1, num_nodes):
            if all_parents[i] == node and all_tokens[i] == token:
                child = i
                break
        if child < 0:
            if num_nodes == limit:
                break
            child = num_nodes
            all_tokens[child] = token
            all_parents[child] = node
            num_nodes += 1
        node = child
    return (
        all_tokens[:num_nodes],
        all_parents[:num_nodes],
        all_q[:num_nodes],
        all_scores[:num_nodes],
        all_suffix[:num_nodes],
    )
