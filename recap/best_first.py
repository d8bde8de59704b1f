"""The search for the best paths, compiled: a heap of open paths over flat arrays (Eq. 8)."""

from __future__ import annotations

import numpy as np

from recap.config import ROW_WIDTH
from recap.fusion import MAX_SOURCES, mix_rows, weigh_rows
from recap.jit import jit
from recap.prediction_map import find_row


@jit
def _gather_rows(trigram, bigram, unigram, u, v, x, token_ids, probabilities, confidences):
    """Copy the rows found for the last tokens (u, v, x), most specific first; their number, and whether U's is one."""
    # One call a map: choosing among the maps in a loop makes compiled code count references to all their arrays.
    count = _read_row(trigram, u, v, x, 0, token_ids, probabilities, confidences)
    count = _read_row(bigram, u, v, x, count, token_ids, probabilities, confidences)
    num_specific = count
    count = _read_row(unigram, u, v, x, count, token_ids, probabilities, confidences)
    return count, count > num_specific


@jit
def _read_row(arrays, u, v, x, count, token_ids, probabilities, confidences):
    """Copy the row of one map to place `count`, if there is one; the number of rows is returned."""
    row = find_row(arrays, u, v, x)
    if row < 0:
        return count
    for k in range(ROW_WIDTH):
        token_ids[count, k] = arrays.token_ids[row, k]
        probabilities[count, k] = arrays.probabilities[row, k]
    confidences[count] = arrays.row_confidences[row]
    return count + 1


@jit
def best_first_search(
    trigram,
    bigram,
    unigram,
    u,
    v,
    x,
    max_nodes,
    width,
    depth_priors,
    specificity_priors,
    rule,
    forbid_repeated_edges,
    blocked_ids,
    is_breadth_first,
    root_ids,
    root_q,
):
    """Pop the best open path, make it a node, fuse under its own context and push its children, `max_nodes` times.

    `trigram`, `bigram`, `unigram` are the maps' arrays; `u`, `v`, `x` the last three history tokens, x the root;
    `root_ids`, `root_q` the root's children where no map has a row for it. Returns `TreeBuilder.search`'s arrays, and
    int64 [num_nodes]: how many maps had a row where each node was proposed.
    """
    max_depth = len(depth_priors)
    # Nodes in pop order; the root is node 0.
    token_ids = np.empty(max_nodes + 1, np.int64)
    parents = np.empty(max_nodes + 1, np.int32)
    depths = np.empty(max_nodes + 1, np.int32)
    q = np.empty(max_nodes + 1, np.float64)
    scores = np.empty(max_nodes + 1, np.float64)
    contexts = np.empty((max_nodes + 1, 3), np.int64)
    paths = np.empty((max_nodes + 1, max_depth), np.int32)
    num_sources = np.zeros(max_nodes + 1, np.int64)
    num_rows_at = np.zeros(max_nodes + 1, np.int64)
    # Open paths: a child of a node, waiting in the heap.
    num_open = 0
    open_limit = max_nodes * width + width
    open_token = np.empty(open_limit, np.int64)
    open_parent = np.empty(open_limit, np.int32)
    open_rank = np.empty(open_limit, np.int32)
    open_q = np.empty(open_limit, np.float64)
    open_score = np.empty(open_limit, np.float64)
    open_order = np.empty(open_limit, np.float64)  # the higher, the sooner popped
    open_last = np.empty(open_limit, np.bool_)  # is it the last of its siblings
    heap = np.empty(max_nodes + 1, np.int32)  # of every family of siblings the first one left
    heap_keys = np.empty(
        max_nodes + 1, np.float64
    )  # its order, beside it: through the path it took twice the time
    heap_size = 0

    row_ids = np.empty((MAX_SOURCES, ROW_WIDTH), np.int32)
    row_probabilities = np.empty((MAX_SOURCES, ROW_WIDTH), np.float32)
    row_confidences = np.empty(MAX_SOURCES, np.float32)
    priors = np.empty(MAX_SOURCES, np.float64)
    confidences = np.empty(MAX_SOURCES, np.float64)
    weights = np.empty(MAX_SOURCES, np.float64)
    scratch_ids = np.empty(MAX_SOURCES * ROW_WIDTH, np.int32)
    scratch_mass = np.empty(MAX_SOURCES * ROW_WIDTH, np.float64)
    kept_ids = np.empty(ROW_WIDTH, np.int32)
    kept_q = np.empty(ROW_WIDTH, np.float64)

    token_ids[0], parents[0], depths[0], q[0], scores[0] = x, -1, 0, 1.0, 1.0
    contexts[0, 0], contexts[0, 1], contexts[0, 2] = u, v, x
    num_nodes = 1
    node = 0
    while num_nodes <= max_nodes:
        # Expand the node made last: look up and fuse under its own context, push its children.
        depth = depths[node]
        if depth < max_depth:
            num_rows, is_unigram_found = _gather_rows(
                trigram,
                bigram,
                unigram,
                contexts[node, 0],
                contexts[node, 1],
                contexts[node, 2],
                row_ids,
                row_probabilities,
                row_confidences,
            )
            num_rows_at[node] = num_rows
            kept = 0
            if num_rows > 0:
                weigh_rows(
                    row_confidences,
                    num_rows,
                    is_unigram_found,
                    specificity_priors,
                    rule,
                    priors,
                    confidences,
                    weights,
                )
                kept = mix_rows(
                    row_ids, row_probabilities, weights, num_rows, scratch_ids, scratch_mass, kept_ids, kept_q
                )
            elif node == 0:
                kept = len(root_ids)
                for k in range(kept):  # a copy by slices makes the whole search a third slower
                    kept_ids[k] = root_ids[k]
                    kept_q[k] = root_q[k]
            first_open = num_open
            for k in range(kept):
                if num_open - first_open == width:
                    break
                token = np.int64(kept_ids[k])
                if _is_listed(token, blocked_ids, 0, len(blocked_ids)) or _is_listed(
                    token, open_token, first_open, num_open
                ):
                    continue
                if forbid_repeated_edges and _is_edge_on_path(token, node, token_ids, parents):
                    continue
                open_token[num_open] = token
                open_parent[num_open] = node
                open_rank[num_open] = num_open - first_open
                open_q[num_open] = kept_q[k]
                open_score[num_open] = scores[node] * depth_priors[depth] * kept_q[k]
                open_order[num_open] = -depth if is_breadth_first else open_score[num_open]
                num_open += 1
            open_last[first_open:num_open] = False
            if num_open > first_open:
                open_last[num_open - 1] = True
                heap_size = _push(
                    first_open, heap, heap_keys, heap_size, open_order, open_parent, open_rank, depths, paths
                )
        if heap_size == 0:
            break
        # Pop the best open path and make it a node. Its next sibling takes its place: siblings stand in falling
        # order, so none has to wait in the heap before the one ahead of it is popped.
        best = heap[0]
        if open_last[best]:
            heap_size -= 1
            moved = heap[heap_size]
        else:
            moved = best + 1
        _sift_down(moved, heap, heap_keys, heap_size, open_order, open_parent, open_rank, depths, paths)
        node = num_nodes
        num_nodes += 1
        parent = open_parent[best]
        token_ids[node] = open_token[best]
        parents[node] = parent
        depths[node] = depths[parent] + 1
        q[node] = open_q[best]
        scores[node] = open_score[best]
        num_sources[node] = num_rows_at[parent]
        contexts[node, 0] = contexts[parent, 1]
        contexts[node, 1] = contexts[parent, 2]
        contexts[node, 2] = open_token[best]
        for level in range(depths[parent]):
            paths[node, level] = paths[parent, level]
        paths[node, depths[parent]] = open_rank[best]
    return (
        token_ids[:num_nodes],
        parents[:num_nodes],
        q[:num_nodes],
        scores[:num_nodes],
        np.zeros(num_nodes, np.bool_),
        num_sources[:num_nodes],
    )


@jit
def _push(added, heap, keys, heap_size, open_order, open_parent, open_rank, depths, paths):
    """Put an open path into the heap; the new size is returned."""
    place = heap_size
    key = open_order[added]
    while place > 0:
        above = (place - 1) // 2
        if key < keys[above] or (
            key == keys[above]
            and not _is_path_smaller(added, heap[above], open_parent, open_rank, depths, paths)
        ):
            break
        heap[place], keys[place] = heap[above], keys[above]
        place = above
    heap[place], keys[place] = added, key
    return heap_size + 1


@jit
def _sift_down(moved, heap, keys, heap_size, open_order, open_parent, open_rank, depths, paths):
    """Replace the heap's first path by `moved`, which goes down to where it belongs."""
    place = 0
    key = open_order[moved]
    while True:
        below = 2 * place + 1
        if below >= heap_size:
            break
        other = below + 1
        if other < heap_size and (
            keys[other] > keys[below]
            or (
                keys[other] == keys[below]
                and _is_path_smaller(heap[other], heap[below], open_parent, open_rank, depths, paths)
            )
        ):
            below = other
        if keys[below] < key or (
            keys[below] == key
            and not _is_path_smaller(heap[below], moved, open_parent, open_rank, depths, paths)
        ):
            break
        heap[place], keys[place] = heap[below], keys[below]
        place = below
    heap[place], keys[place] = moved, key


@jit
def _is_path_smaller(a, b, open_parent, open_rank, depths, paths):
    """Is the rank path of open path `a` lexicographically smaller than that of `b`: the rule among equal orders."""
    parent_a, parent_b = open_parent[a], open_parent[b]
    depth_a, depth_b = depths[parent_a], depths[parent_b]
    for level in range(min(depth_a, depth_b) + 1):
        rank_a = paths[parent_a, level] if level < depth_a else open_rank[a]
        rank_b = paths[parent_b, level] if level < depth_b else open_rank[b]
        if rank_a != rank_b:
            return rank_a < rank_b
    return False  # a and b are one path: a path ahead of another is a node before that one is open


@jit
def _is_listed(token, ids, begin, end):
    for i in range(begin, end):  # noqa: SIM110 - numba compiles a plain loop, `any` over a generator it does not
        if ids[i] == token:
            return True
    return False


@jit
def _is_edge_on_path(token, node, token_ids, parents):
    """Does the edge (token of `node`, token) already lie on the path from the root to `node`?"""
    below = node
    while parents[below] >= 0:
        if token_ids[below] == token and token_ids[parents[below]] == token_ids[node]:
            return True
        below = parents[below]
    return False
