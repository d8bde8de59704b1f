"""Best-first search for the candidate tree over the three memories (Eq. 8), and suffix insertion.

Fixed expansion, the ablation, is the same search with another order of the open paths.
"""

from __future__ import annotations

import numpy as np

from recap.config import ROW_WIDTH, RecapConfig
from recap.fusion import MAX_SOURCES, mix_rows, rule_code, weigh_rows
from recap.jit import jit
from recap.memory import Memories
from recap.prediction_map import find_row
from recap.tree import DraftTree, pack

#: What a root that finds no row may draft instead: ids int32 [n <= K] and their probabilities float64 [n].
RootCandidates = tuple[np.ndarray, np.ndarray]
NO_CANDIDATES: RootCandidates = (np.empty(0, np.int32), np.empty(0, np.float64))


class TreeBuilder:
    """Best-first search under one configuration, with its work space kept between passes."""

    def __init__(self, config: RecapConfig, blocked_ids: frozenset[int]) -> None:
        """`blocked_ids`: ids that are never drafted (image placeholders, padding)."""
        self.config = config
        self._blocked_ids = np.array(sorted(blocked_ids), np.int64)
        self._specificity_priors = np.array(config.specificity_priors, np.float64)
        priors = list(config.depth_priors[: config.max_depth])
        priors += [config.depth_priors[-1]] * (config.max_depth - len(priors))
        self.depth_priors = np.array(priors, np.float64)

    def build(
        self,
        memories: Memories,
        history: np.ndarray,
        continuation: np.ndarray,
        root_candidates: RootCandidates = NO_CANDIDATES,
    ) -> DraftTree:
        """The tree for the next pass.

        Args:
            memories: where rows are looked up; not changed.
            history: int64 [n >= 1], prompt and committed tokens; the last one is the root.
            continuation: int64 [m], tokens that followed the longest repeated suffix; may be empty.
            root_candidates: the root's children where no map has a row for it.
        """
        tree = self.search(memories, history, self.config.max_nodes, root_candidates)
        if len(continuation) and self.config.max_nodes > 0 and self.config.suffix_max_nodes > 0:
            tree = self.with_suffix(tree, continuation)
        return pack(*tree)

    def with_suffix(self, tree: tuple[np.ndarray, ...], continuation: np.ndarray) -> tuple[np.ndarray, ...]:
        """A searched tree with the copied continuation: shared prefixes are walked, the rest becomes new nodes."""
        config = self.config
        max_depth = config.max_depth + config.suffix_max_nodes
        if not config.suffix_inside_budget:
            return _insert_suffix(*tree, continuation, config.suffix_max_nodes, max_depth)
        # The first b nodes are the best tree of b nodes: give up the last ones until the copied ones fit.
        max_new_nodes = min(config.suffix_max_nodes, config.max_nodes)
        num_searched = len(tree[0])
        while True:
            searched = (part[:num_searched] for part in tree)
            both = _insert_suffix(*searched, continuation, max_new_nodes, max_depth)
            if len(both[0]) <= 1 + config.max_nodes:
                return both
            num_searched -= 1

    def search(
        self,
        memories: Memories,
        history: np.ndarray,
        max_nodes: int,
        root_candidates: RootCandidates = NO_CANDIDATES,
    ) -> tuple[np.ndarray, ...]:
        """The best `max_nodes` paths as nodes in the order they were popped, the root first.

        Returns (token_ids, parents, q, scores, is_suffix), each [num_nodes]. Since no factor of phi exceeds 1, the
        result for b nodes is the first b + 1 entries of the result for any larger number. The same holds for fixed
        expansion, whose order is by depth, then by rank path.
        """
        return _search(
            memories.trigram,
            memories.bigram,
            memories.unigram,
            _token_before(history, 2),
            _token_before(history, 1),
            history[-1],
            max_nodes,
            self.config.width,
            self.depth_priors,
            self._specificity_priors,
            rule_code(self.config.fusion),
            self.config.forbid_repeated_edges,
            self._blocked_ids,
            self.config.expansion == "fixed",
            *root_candidates,
        )


def _token_before(history: np.ndarray, distance: int) -> int:
    return history[-1 - distance] if len(history) > distance else np.int64(-1)


@jit
def gather_rows(trigram, bigram, unigram, u, v, x, token_ids, probabilities, confidences):
    """Copy the rows found for the last tokens (u, v, x), most specific first: their number, and is U among them."""
    count = 0
    is_unigram_found = False
    for order in range(3, 0, -1):
        arrays = trigram if order == 3 else (bigram if order == 2 else unigram)
        row = find_row(arrays, u, v, x)
        if row < 0:
            continue
        for k in range(ROW_WIDTH):
            token_ids[count, k] = arrays.token_ids[row, k]
            probabilities[count, k] = arrays.probabilities[row, k]
        confidences[count] = arrays.row_confidences[row]
        is_unigram_found = order == 1
        count += 1
    return count, is_unigram_found


@jit
def _search(
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
    max_depth = len(depth_priors)
    # Nodes in pop order; the root is node 0.
    token_ids = np.empty(max_nodes + 1, np.int64)
    parents = np.empty(max_nodes + 1, np.int32)
    depths = np.empty(max_nodes + 1, np.int32)
    q = np.empty(max_nodes + 1, np.float64)
    scores = np.empty(max_nodes + 1, np.float64)
    contexts = np.empty((max_nodes + 1, 3), np.int64)
    paths = np.empty((max_nodes + 1, max_depth), np.int32)
    # Open paths: a child of a node, waiting in the heap.
    num_open = 0
    open_limit = max_nodes * width + width
    open_token = np.empty(open_limit, np.int64)
    open_parent = np.empty(open_limit, np.int32)
    open_rank = np.empty(open_limit, np.int32)
    open_q = np.empty(open_limit, np.float64)
    open_score = np.empty(open_limit, np.float64)
    open_order = np.empty(open_limit, np.float64)  # the higher, the sooner popped
    heap = np.empty(open_limit, np.int32)
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
            num_rows, is_unigram_found = gather_rows(
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
                if _is_listed(token, blocked_ids) or _is_listed(token, open_token[first_open:num_open]):
                    continue
                if forbid_repeated_edges and _is_edge_on_path(token, node, token_ids, parents):
                    continue
                open_token[num_open] = token
                open_parent[num_open] = node
                open_rank[num_open] = num_open - first_open
                open_q[num_open] = kept_q[k]
                open_score[num_open] = scores[node] * depth_priors[depth] * kept_q[k]
                open_order[num_open] = -depth if is_breadth_first else open_score[num_open]
                # Sift up.
                place = heap_size
                heap_size += 1
                while place > 0:
                    above = (place - 1) // 2
                    if not _precedes(
                        num_open, heap[above], open_order, open_parent, open_rank, depths, paths
                    ):
                        break
                    heap[place] = heap[above]
                    place = above
                heap[place] = num_open
                num_open += 1
        if heap_size == 0:
            break
        # Pop the best open path and make it a node.
        best = heap[0]
        heap_size -= 1
        moved = heap[heap_size]
        place = 0
        while True:
            below = 2 * place + 1
            if below >= heap_size:
                break
            if below + 1 < heap_size and _precedes(
                heap[below + 1], heap[below], open_order, open_parent, open_rank, depths, paths
            ):
                below += 1
            if not _precedes(heap[below], moved, open_order, open_parent, open_rank, depths, paths):
                break
            heap[place] = heap[below]
            place = below
        heap[place] = moved
        node = num_nodes
        num_nodes += 1
        parent = open_parent[best]
        token_ids[node] = open_token[best]
        parents[node] = parent
        depths[node] = depths[parent] + 1
        q[node] = open_q[best]
        scores[node] = open_score[best]
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
    )


@jit
def _precedes(a, b, open_order, open_parent, open_rank, depths, paths):
    """Is open path `a` popped before `b`: higher order, then the lexicographically smaller rank path."""
    if open_order[a] != open_order[b]:
        return open_order[a] > open_order[b]
    parent_a, parent_b = open_parent[a], open_parent[b]
    depth_a, depth_b = depths[parent_a], depths[parent_b]
    for level in range(min(depth_a, depth_b) + 1):
        rank_a = paths[parent_a, level] if level < depth_a else open_rank[a]
        rank_b = paths[parent_b, level] if level < depth_b else open_rank[b]
        if rank_a != rank_b:
            return rank_a < rank_b
    return depth_a < depth_b


@jit
def _is_listed(token, ids):
    for i in range(len(ids)):  # noqa: SIM110 - numba compiles a plain loop, `any` over a generator it does not
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


@jit
def _insert_suffix(token_ids, parents, q, scores, is_suffix, continuation, max_new_nodes, max_depth):
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
