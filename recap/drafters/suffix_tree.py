"""SuffixDecoding (Oliaro et al. 2024): trees of what followed, by how often it followed.

Two counted suffix trees: a LOCAL one over this request's prompt and answer, a GLOBAL one over the answers of earlier
requests. Both are at most 64 tokens deep, match and continuation together. For every suffix of the text that a tree
knows, of length p, a draft of at most 4 p nodes is grown below it: the open node with the highest product of count
ratios comes next (count of the child / count of the parent, along the path), none below 0.1. Of all drafts of both
trees the one with the largest sum of these products is verified.

The counts are kept in suffix automata (`recap.suffix`): a state stands for all strings that end at the same places, so
its count is theirs, and the suffixes of one state differ in p alone. A count includes the occurrence at the very end of
the text, which nothing follows yet.

The original leaves the factor of p to the user; 4 is SAM's slope too, and the limit is 64 nodes. With `is_tree=False`
only the most frequent child is followed: the original's greedy path.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable

import numpy as np

from recap.jit import jit
from recap.rows import PredictionRows
from recap.suffix import SuffixAutomaton, next_state
from recap.tree import DraftTree, pack_tree
from recap.verification import Outcome

MAX_DEPTH = 64
MAX_DRAFT_NODES = 64
NODES_PER_MATCHED_TOKEN = 4
MIN_PROBABILITY = 0.1
#: Tokens of earlier answers that the global tree holds; when there are more, the older half goes.
MAX_GLOBAL_TOKENS = 1 << 17
#: Stands between two answers in the global tree, where nothing may reach across.
_SEPARATOR = -1


class SuffixTreeDrafter:
    """Keeps the answers of earlier requests; the trees follow from them."""

    wants_prompt_rows = False
    wants_rows = False
    memories = None
    max_tree_nodes = 1 + MAX_DRAFT_NODES

    def __init__(
        self,
        blocked_ids: Iterable[int] = (),
        is_tree: bool = True,
        max_global_tokens: int = MAX_GLOBAL_TOKENS,
    ) -> None:
        """`blocked_ids`: barriers of both trees; `is_tree`: a tree rather than one path."""
        self._barrier_ids = frozenset(blocked_ids) | {_SEPARATOR}
        self._is_tree = is_tree
        self._max_global_tokens = max_global_tokens
        self._local_tree = SuffixAutomaton(self._barrier_ids)
        self.restore_state(())

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Start the local tree with prompt and first token, and find both in the global one."""
        text = np.append(prompt_ids, first_token_id)
        self._prompt_length = len(prompt_ids)
        self._local_tree.clear()
        self._local_tree.extend(text)
        self._global_match = (0, 0)
        self._follow(text[-MAX_DEPTH:])

    def draft(self, history: np.ndarray) -> DraftTree:
        """The draft with the largest sum of probabilities; the local tree and the longer match on ties."""
        local_arrays, local_state = self._local_tree.arrays, self._local_tree.match_state
        local_match = (local_state, int(local_arrays.lengths[local_state]))
        local = best_draft(local_arrays, *local_match, self._is_tree)
        other = best_draft(self._global_tree.arrays, *self._global_match, self._is_tree)
        token_ids, parents, _ = other if other[-1] > local[-1] else local
        return pack_tree([history[-1], *token_ids], [-1, *parents])

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Grow the local tree, follow the global one, and give it the answer when the request ends."""
        self._local_tree.extend(outcome.committed_ids)
        self._follow(outcome.committed_ids)
        if outcome.stop_reason is not None:
            self._remember(np.concatenate([history[self._prompt_length :], outcome.committed_ids]))

    def save_state(self) -> tuple[np.ndarray, ...]:
        """The answers that the global tree holds."""
        return tuple(self._answers)

    def restore_state(self, state: tuple[np.ndarray, ...]) -> None:
        """Build the global tree from these answers."""
        self._answers = deque(state)
        self._global_tree = SuffixAutomaton(self._barrier_ids)
        for answer in state:
            self._global_tree.extend(np.append(answer, _SEPARATOR))

    def _remember(self, answer: np.ndarray) -> None:
        self._answers.append(answer)
        if sum(map(len, self._answers)) <= self._max_global_tokens:
            self._global_tree.extend(np.append(answer, _SEPARATOR))
            return
        while len(self._answers) > 1 and sum(map(len, self._answers)) > self._max_global_tokens // 2:
            self._answers.popleft()
        self.restore_state(tuple(self._answers))

    def _follow(self, token_ids: np.ndarray) -> None:
        state, length = follow(self._global_tree.arrays, *self._global_match, token_ids)
        self._global_match = (int(state), int(length))


@jit
def follow(arrays, state, length, token_ids):
    """The longest suffix of a text that the tree knows, after more tokens: its state and its length.

    `state` and `length` are those of the text before. Barriers are in no tree, so nothing reaches across them.
    """
    for i in range(len(token_ids)):
        token = token_ids[i]
        following = next_state(arrays, state, token)
        while following < 0 and state > 0:
            state = arrays.links[state]
            length = arrays.lengths[state]
            following = next_state(arrays, state, token)
        if following >= 0:
            state = following
            length += 1
    return state, length


@jit
def best_draft(arrays, state, length, is_tree):
    """The best draft below any suffix of the match (state, length): token ids, parents and the sum of probabilities.

    Parents are indices into the tree to be, whose root has index 0.
    """
    token_ids = np.empty(0, np.int64)
    parents = np.empty(0, np.int32)
    best = 0.0
    while state > 0:
        shorter = arrays.lengths[arrays.links[state]]
        match_length = min(length, MAX_DEPTH - 1)
        while match_length > shorter:
            draft = _grow_draft(arrays, state, match_length, is_tree)
            if draft[-1] > best:
                token_ids, parents, best = draft
            if match_length + NODES_PER_MATCHED_TOKEN * match_length <= MAX_DEPTH:
                # The depth does not bind: what this state's shorter suffixes draft is a beginning of this draft.
                break
            match_length -= 1
        state = arrays.links[state]
        length = arrays.lengths[state]
    return token_ids, parents, best


@jit
def _grow_draft(arrays, state, length, is_tree):
    max_nodes = min(NODES_PER_MATCHED_TOKEN * length, MAX_DRAFT_NODES)
    token_ids = np.empty(max_nodes, np.int64)
    parents = np.empty(max_nodes, np.int32)
    total = 0.0
    depths = np.zeros(max_nodes + 1, np.int64)
    count = 0
    # Open nodes: negative probability, order of making (which breaks ties), state, token, parent.
    heap = [(0.0, 0, np.int64(state), np.int64(0), 0)]
    heap.pop()  # the list has its type now, and starts empty
    num_opened = 0
    probability = 1.0
    while True:
        if depths[count] < MAX_DEPTH - length:
            edge = arrays.first_edges[state]
            most = 0
            while edge >= 0:
                following = np.int64(arrays.edge_targets[arrays.edge_places[edge]])
                share = probability * arrays.counts[following] / arrays.counts[state]
                if share >= MIN_PROBABILITY and (is_tree or arrays.counts[following] > most):
                    if not is_tree and len(heap) > 0:
                        heap.pop()
                    most = arrays.counts[following]
                    heapq.heappush(heap, (-share, num_opened, following, arrays.edge_tokens[edge], count))
                    num_opened += 1
                edge = arrays.next_edges[edge]
        if len(heap) == 0 or count == max_nodes:
            break
        negative, _, state, token, parent = heapq.heappop(heap)
        probability = -negative
        token_ids[count] = token
        parents[count] = parent
        total += probability
        count += 1
        depths[count] = depths[parent] + 1
    return token_ids[:count], parents[:count], total
