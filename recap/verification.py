"""The rules of one verification pass: which path is accepted, and where a stop cuts it (Eq. 1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from recap.events import StopReason
from recap.jit import jit
from recap.tree import DraftTree


class Outcome(NamedTuple):
    """What a pass commits.

    Attributes:
        accepted_indices: int64 [num_accepted], packed indices of the accepted draft nodes after the cut, in path order.
        target_selected_id: the greedy choice at the last accepted node; None where the cut came before it.
        committed_ids: int64 [n >= 1], tokens of the accepted nodes, then the target-selected token.
        stop_reason: `end_token` or `length` where this pass ended the run, else None.
    """

    accepted_indices: np.ndarray
    target_selected_id: int | None
    committed_ids: np.ndarray
    stop_reason: StopReason | None


@jit
def accepted_path(token_ids, parent_indices, greedy_ids):
    """Walk from the root while a child carries the node's greedy choice: int64 packed indices, the root left out.

    Where several children carry it, the first in packed order is taken.
    """
    path = np.empty(len(token_ids), np.int64)
    length = 0
    node = 0
    for i in range(1, len(token_ids)):
        # In preorder, the children of `node` come after it, each before the nodes below it.
        if parent_indices[i] == node and token_ids[i] == greedy_ids[node]:
            path[length] = i
            length += 1
            node = i
    return path[:length]


@jit
def _path_and_tokens(token_ids, parent_indices, greedy_ids):
    """The accepted path, and the tokens it commits before any cut: its own and the target-selected one."""
    path = accepted_path(token_ids, parent_indices, greedy_ids)
    committed = np.empty(len(path) + 1, np.int64)
    last = 0
    for count in range(len(path)):
        last = path[count]
        committed[count] = token_ids[last]
    committed[len(path)] = greedy_ids[last]
    return path, committed


def verify_path(
    tree: DraftTree, greedy_ids: np.ndarray, end_ids: Collection[int], num_tokens_left: int
) -> Outcome:
    """The accepted path, cut at the first end token or at the length cap.

    Args:
        tree: the verified tree.
        greedy_ids: int [num_nodes], the target's argmax at each node, ties to the lower id.
        end_ids: ids that end the answer; the end token itself is committed.
        num_tokens_left: tokens the run may still commit, at least 1.

    Raises:
        ValueError: no token left to commit.
    """
    if num_tokens_left < 1:
        raise ValueError(f"num_tokens_left must be at least 1; got num_tokens_left={num_tokens_left}")
    path, committed = _path_and_tokens(tree.token_ids, tree.parent_indices, greedy_ids)
    tokens = committed.tolist()
    stop_reason: StopReason | None = None
    for count, token in enumerate(tokens, start=1):
        if token in end_ids:
            stop_reason = "end_token"
        elif count == num_tokens_left:
            stop_reason = "length"
        if stop_reason:
            committed = committed[:count]
            break
    selected = tokens[-1] if len(committed) == len(tokens) else None
    return Outcome(path[: len(committed)], selected, committed, stop_reason)
