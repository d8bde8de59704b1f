"""A trie of token windows with two counts a node, the memory of `lookahead`.

A path from the root spells tokens that stood side by side; the count of its end says how often. Windows of the present
prompt and of answers are counted apart, as the prompt's weigh far more and live for one request only. Nodes come after
their parents in flat arrays; a hash table leads from (node, token) to the child.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from recap.jit import jit
from recap.prediction_map import TOKEN_BITS, find_place

_ROOT = 0
_INITIAL_NODES = 4096
#: What a window of an answer weighs beside one of the prompt.
OUTPUT_WEIGHT = 1e-4


class TrieArrays(NamedTuple):
    """The trie in the form compiled functions take.

    Attributes:
        size: int64 [1], nodes in use, the root (node 0) included.
        token_ids, parents: int64 [capacity], of each node; -1 for the root's parent.
        first_children, next_siblings: int64 [capacity], the children as a list, newest first; -1 ends it.
        prompt_counts, output_counts: int64 [capacity], windows that pass through the node.
        keys, children: int64 [2 * capacity], the hash table.
    """

    size: np.ndarray
    token_ids: np.ndarray
    parents: np.ndarray
    first_children: np.ndarray
    next_siblings: np.ndarray
    prompt_counts: np.ndarray
    output_counts: np.ndarray
    keys: np.ndarray
    children: np.ndarray


class FrequencyTrie:
    """Windows of at most `window` tokens, counted."""

    def __init__(self, window: int, blocked_ids: frozenset[int]) -> None:
        """`blocked_ids`: tokens that no window holds."""
        self._blocked_ids = np.array(sorted(blocked_ids), np.int64)
        self.arrays = _allocate(_INITIAL_NODES)
        #: Node reached by the open window of 1, 2, ... tokens; -1 where there is none.
        self._open_nodes = np.full(window, -1, np.int64)

    @property
    def num_nodes(self) -> int:
        """Nodes beside the root."""
        return int(self.arrays.size[0]) - 1

    def begin_text(self) -> None:
        """Let no window reach from the text before into the next one."""
        self._open_nodes[:] = -1

    def extend(self, token_ids: np.ndarray, is_prompt: bool) -> None:
        """Continue the text, int64 [n]: every window that a token opens or lengthens is counted there."""
        needed = int(self.arrays.size[0]) + len(token_ids) * len(self._open_nodes)
        if needed > len(self.arrays.token_ids):
            self.arrays = _resized(self.arrays, needed, 0)
        counts = self.arrays.prompt_counts if is_prompt else self.arrays.output_counts
        _extend(self.arrays, counts, token_ids, self._open_nodes, self._blocked_ids)

    def forget_prompt(self, max_nodes: int) -> None:
        """Drop the prompt's counts; while more than `max_nodes` nodes are left, halve the others (rounding down).

        A node without a count goes, so what was seen once goes first. The text so far ends here.
        """
        arrays = self.arrays
        arrays.prompt_counts[:] = 0
        used = arrays.output_counts[: int(arrays.size[0])]
        while np.count_nonzero(used) > max_nodes:
            used //= 2
        self.arrays = _resized(arrays, _INITIAL_NODES, 1)
        self.begin_text()  # the nodes have new numbers

    def find(self, token_ids: np.ndarray) -> int:
        """The node that a path of tokens leads to, or -1."""
        node = _ROOT
        for token in token_ids:
            node = find_child(self.arrays, node, token)
            if node < 0:
                break
        return int(node)

    def best_below(self, node: int, max_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """The most frequent `max_nodes` nodes below `node`: their token ids, and their parents as indices into a tree.

        Index 0 stands for `node` itself; ties go to the node made first.
        """
        return _best_below(self.arrays, node, max_nodes)

    def copy_arrays(self) -> TrieArrays:
        """An independent copy of all windows counted."""
        return TrieArrays(*(array.copy() for array in self.arrays))


def _allocate(capacity: int) -> TrieArrays:
    table = 2 * capacity  # at most half full; a power of two, as capacities are
    arrays = TrieArrays(
        np.ones(1, np.int64),
        *(np.full(capacity, -1, np.int64) for _ in range(4)),
        *(np.zeros(capacity, np.int64) for _ in range(2)),
        *(np.full(table, -1, np.int64) for _ in range(2)),
    )
    return arrays


def _resized(arrays: TrieArrays, num_nodes: int, min_count: int) -> TrieArrays:
    """The nodes counted `min_count` times at least, in arrays with room for `num_nodes` and for themselves."""
    capacity = _INITIAL_NODES
    while capacity < max(num_nodes, int(arrays.size[0])):
        capacity *= 2
    new = _allocate(capacity)
    _copy_nodes(arrays, new, min_count)
    return new


@jit
def find_child(arrays, node, token):
    """The child of `node` that carries `token`, or -1."""
    key = (np.int64(node) << TOKEN_BITS) | np.int64(token)
    return arrays.children[find_place(arrays.keys, key)]


@jit
def _add_child(arrays, node, token):
    child = arrays.size[0]
    arrays.size[0] += 1
    key = (np.int64(node) << TOKEN_BITS) | np.int64(token)
    place = find_place(arrays.keys, key)
    arrays.keys[place] = key
    arrays.children[place] = child
    arrays.token_ids[child] = token
    arrays.parents[child] = node
    arrays.next_siblings[child] = arrays.first_children[node]
    arrays.first_children[node] = child
    return child


@jit
def _extend(arrays, counts, token_ids, open_nodes, blocked_ids):
    for i in range(len(token_ids)):
        token = token_ids[i]
        is_blocked = False
        for j in range(len(blocked_ids)):
            is_blocked = is_blocked or blocked_ids[j] == token
        if is_blocked:
            open_nodes[:] = -1
            continue
        for length in range(len(open_nodes) - 1, -1, -1):
            above = open_nodes[length - 1] if length > 0 else _ROOT
            if above < 0:
                open_nodes[length] = -1
                continue
            child = find_child(arrays, above, token)
            if child < 0:
                child = _add_child(arrays, above, token)
            counts[child] += 1
            open_nodes[length] = child


@jit
def _copy_nodes(old, new, min_count):
    """A child is never counted more often than its parent, so whoever stays has its parent."""
    new_index = np.zeros(old.size[0], np.int64)
    for node in range(1, old.size[0]):
        if old.prompt_counts[node] + old.output_counts[node] < min_count:
            continue
        child = _add_child(new, new_index[old.parents[node]], old.token_ids[node])
        new.prompt_counts[child] = old.prompt_counts[node]
        new.output_counts[child] = old.output_counts[node]
        new_index[node] = child


@jit
def _best_below(arrays, node, max_nodes):
    token_ids = np.empty(max_nodes, np.int64)
    parents = np.empty(max_nodes, np.int32)
    count = 0
    heap = [(0.0, np.int64(node), 0)]
    heap.pop()  # the list has its type now, and starts empty
    expanded = node
    while True:
        child = arrays.first_children[expanded]
        while child >= 0:
            weight = arrays.prompt_counts[child] + OUTPUT_WEIGHT * arrays.output_counts[child]
            heapq.heappush(heap, (-weight, child, count))
            child = arrays.next_siblings[child]
        if len(heap) == 0 or count == max_nodes:
            break
        _, expanded, parent = heapq.heappop(heap)
        token_ids[count] = arrays.token_ids[expanded]
        parents[count] = parent
        count += 1
    return token_ids[:count], parents[:count]
