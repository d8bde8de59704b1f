"""Suffix automaton over prompt and committed tokens: the longest suffix seen before, and what followed it.

The automaton (Blumer et al. 1985) grows online. After each token, the suffix link of the newest state is the longest
suffix of the history that also ended earlier, so no separate search is needed. Image placeholders and padding are
barriers: they are never indexed and no match spans one.

A state stands for strings that end at the same places; beside the latest of these it keeps the earliest and their
number, which the methods that RECAP is compared with ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from recap.jit import jit
from recap.prediction_map import FREE, TOKEN_BITS, find_place

_ROOT = 0
_INITIAL_TOKENS = 512


class Match(NamedTuple):
    """The longest suffix of the history that also ended earlier.

    Attributes:
        length: tokens in it; 0 where there is none.
        end: history index just behind its latest earlier occurrence; what followed starts there.
    """

    length: int
    end: int


class AutomatonArrays(NamedTuple):
    """States and transitions as flat arrays, the form compiled functions take.

    Attributes:
        lengths: int32 [num_states], tokens of the longest string of a state; 0 for the root, state 0.
        links: int32 [num_states], the state of its longest suffix that ends at more places; -1 for the root.
        latest_ends, earliest_ends: int32 [num_states], history index just behind its last and first occurrence.
        counts: int32 [num_states], its occurrences; those of the root are not counted.
        first_edges: int32 [num_states], its newest transition, -1 without one; `next_edges` leads to the others.
        edge_keys, edge_targets: a hash table from (state, token) to the next state.
        edge_tokens, edge_places, next_edges: the transitions as lists; places are in the hash table.
        cursor: int64 [6]: states, transitions, last state, length of the string since the last barrier, match state,
            match end.
    """

    lengths: np.ndarray
    links: np.ndarray
    latest_ends: np.ndarray
    earliest_ends: np.ndarray
    counts: np.ndarray
    first_edges: np.ndarray
    edge_keys: np.ndarray
    edge_targets: np.ndarray
    edge_tokens: np.ndarray
    edge_places: np.ndarray
    next_edges: np.ndarray
    cursor: np.ndarray


_STATES, _EDGES, _LAST, _RUN, _MATCH, _MATCH_END = range(6)


class SuffixAutomaton:
    """Grows by amortised O(1) states and transitions a token; the latest ends on the suffix-link path of the newest
    state are refreshed as well, at most one step a token of the present match."""

    def __init__(self, barrier_ids: Iterable[int] = ()) -> None:
        """`barrier_ids`: token ids that are never indexed and that no match may span."""
        self._barrier_ids = np.array(sorted(barrier_ids), np.int64)
        self._history = np.empty(_INITIAL_TOKENS, np.int64)
        self._arrays = _allocate(_INITIAL_TOKENS)
        self.clear()

    def clear(self) -> None:
        """Forget the history, as before the first token; the arrays stay, so that a request starts without new ones."""
        self._num_tokens = 0
        _clear(self._arrays)

    def extend(self, token_ids: np.ndarray) -> None:
        """Append tokens, int64 [n], to the history."""
        needed = self._num_tokens + len(token_ids)
        if needed > len(self._history):
            self._grow(needed)
        self._history[self._num_tokens : needed] = token_ids
        _extend(self._arrays, self._history, self._num_tokens, needed, self._barrier_ids)
        self._num_tokens = needed

    @property
    def arrays(self) -> AutomatonArrays:
        """States and transitions, to be read only, until the next `extend`."""
        return self._arrays

    @property
    def match_state(self) -> int:
        """The state of the longest repeated suffix of the history; 0, the root, where there is none."""
        return int(self._arrays.cursor[_MATCH])

    def match(self) -> Match:
        """The longest repeated suffix of the history and its latest earlier occurrence."""
        cursor = self._arrays.cursor
        length = int(self._arrays.lengths[cursor[_MATCH]])
        return Match(length, int(cursor[_MATCH_END])) if length else Match(0, 0)

    def earliest_match(self) -> Match:
        """The longest repeated suffix of the history and its first occurrence."""
        state = self.match_state
        return Match(int(self._arrays.lengths[state]), int(self._arrays.earliest_ends[state]))

    def continuation(self, min_match: int, max_tokens: int) -> np.ndarray:
        """What followed the match, int64 [<= max_tokens]: up to the next barrier or the history's end.

        Empty where the longest repeated suffix has fewer than `min_match` tokens.
        """
        match = self.match()
        return self.followers(match.end, max_tokens) if match.length >= min_match else np.empty(0, np.int64)

    def followers(self, end: int, max_tokens: int) -> np.ndarray:
        """The tokens from history index `end` on, int64 [<= max_tokens]: up to the next barrier or the text's end."""
        return _copy_to_barrier(
            self._history, end, min(end + max_tokens, self._num_tokens), self._barrier_ids
        )

    def _grow(self, needed: int) -> None:
        capacity = len(self._history)
        while capacity < needed:
            capacity *= 2
        history = np.empty(capacity, np.int64)
        history[: self._num_tokens] = self._history[: self._num_tokens]
        self._history = history
        old, new = self._arrays, _allocate(capacity)
        for name in AutomatonArrays._fields:
            if name not in ("edge_keys", "edge_targets"):
                getattr(new, name)[: len(getattr(old, name))] = getattr(old, name)
        _rehash(old, new)
        self._arrays = new


def _allocate(num_tokens: int) -> AutomatonArrays:
    # A string of n tokens has at most 2n states and 3n transitions; the table of transitions stays under 3/4 full.
    num_states, num_edges, table = 2 * num_tokens + 1, 3 * num_tokens, 4 * num_tokens
    return AutomatonArrays(
        lengths=np.zeros(num_states, np.int32),
        links=np.zeros(num_states, np.int32),
        latest_ends=np.zeros(num_states, np.int32),
        earliest_ends=np.zeros(num_states, np.int32),
        counts=np.zeros(num_states, np.int32),
        first_edges=np.full(num_states, -1, np.int32),
        edge_keys=np.full(table, FREE),
        edge_targets=np.zeros(table, np.int32),
        edge_tokens=np.zeros(num_edges, np.int64),
        edge_places=np.zeros(num_edges, np.int32),
        next_edges=np.full(num_edges, -1, np.int32),
        cursor=np.zeros(6, np.int64),
    )


@jit
def _clear(arrays):
    arrays.edge_keys[:] = FREE
    arrays.first_edges[:] = -1
    arrays.counts[:] = 0
    arrays.links[_ROOT] = -1
    arrays.cursor[:] = 0
    arrays.cursor[_STATES] = 1  # the root, which is also the last state and the match


@jit
def _edge_key(state, token):
    return (np.int64(state) << TOKEN_BITS) | np.int64(token)


@jit
def next_state(arrays, state, token):
    """The state after one more token, or -1."""
    key = _edge_key(state, token)
    place = find_place(arrays.edge_keys, key)
    return arrays.edge_targets[place] if arrays.edge_keys[place] == key else np.int32(-1)


@jit
def _set_target(arrays, state, token, target):
    key = _edge_key(state, token)
    place = find_place(arrays.edge_keys, key)
    if arrays.edge_keys[place] != key:
        edge = arrays.cursor[_EDGES]
        arrays.cursor[_EDGES] += 1
        arrays.edge_keys[place] = key
        arrays.edge_tokens[edge] = token
        arrays.edge_places[edge] = place
        arrays.next_edges[edge] = arrays.first_edges[state]
        arrays.first_edges[state] = edge
    arrays.edge_targets[place] = target


@jit
def _new_state(arrays, length, link, end):
    state = arrays.cursor[_STATES]
    arrays.cursor[_STATES] += 1
    arrays.lengths[state] = length
    arrays.links[state] = link
    arrays.latest_ends[state] = end
    arrays.earliest_ends[state] = end
    return state


@jit
def _split(arrays, state, token, long_state):
    """Give the strings of `long_state` that end in `state`'s strings plus `token` a state of their own."""
    clone = _new_state(
        arrays, arrays.lengths[state] + 1, arrays.links[long_state], arrays.latest_ends[long_state]
    )
    arrays.earliest_ends[clone] = arrays.earliest_ends[long_state]
    arrays.counts[clone] = arrays.counts[long_state]
    edge = arrays.first_edges[long_state]
    while edge >= 0:
        _set_target(arrays, clone, arrays.edge_tokens[edge], arrays.edge_targets[arrays.edge_places[edge]])
        edge = arrays.next_edges[edge]
    arrays.links[long_state] = clone
    while state >= 0 and next_state(arrays, state, token) == long_state:
        _set_target(arrays, state, token, clone)
        state = arrays.links[state]
    return clone


@jit
def _is_barrier(token, barrier_ids):
    for barrier_id in barrier_ids:  # noqa: SIM110 - numba compiles a plain loop, `any` over a generator it does not
        if barrier_id == token:
            return True
    return False


@jit
def _copy_to_barrier(history, begin, end, barrier_ids):
    """A copy of history[begin:end], up to its first barrier."""
    for position in range(begin, end):
        if _is_barrier(history[position], barrier_ids):
            return history[begin:position].copy()
    return history[begin:end].copy()


@jit
def _extend(arrays, history, begin, end, barrier_ids):
    cursor = arrays.cursor
    for position in range(begin, end):
        token = history[position]
        if _is_barrier(token, barrier_ids):
            cursor[_LAST] = _ROOT
            cursor[_RUN] = 0
            cursor[_MATCH] = _ROOT
            continue
        cursor[_RUN] += 1
        last = cursor[_LAST]
        existing = next_state(arrays, last, token)
        if existing >= 0:
            # After a barrier the string since it may be known already: it is then its own longest repeat.
            if arrays.lengths[existing] != arrays.lengths[last] + 1:
                existing = _split(arrays, last, token, existing)
            newest = existing
            match = existing
        else:
            newest = _new_state(arrays, cursor[_RUN], _ROOT, position + 1)
            state = last
            while state >= 0 and next_state(arrays, state, token) < 0:
                _set_target(arrays, state, token, newest)
                state = arrays.links[state]
            if state >= 0:
                longer = next_state(arrays, state, token)
                if arrays.lengths[longer] != arrays.lengths[state] + 1:
                    longer = _split(arrays, state, token, longer)
                arrays.links[newest] = longer
            match = arrays.links[newest]
        cursor[_LAST] = newest
        cursor[_MATCH] = match
        cursor[_MATCH_END] = arrays.latest_ends[match]
        state = newest
        while state > _ROOT:
            arrays.latest_ends[state] = position + 1
            arrays.counts[state] += 1
            state = arrays.links[state]


@jit
def _rehash(old, new):
    for state in range(old.cursor[_STATES]):
        edge = old.first_edges[state]
        while edge >= 0:
            key = _edge_key(state, old.edge_tokens[edge])
            place = find_place(new.edge_keys, key)
            new.edge_keys[place] = key
            new.edge_targets[place] = old.edge_targets[old.edge_places[edge]]
            new.edge_places[edge] = place
            edge = old.next_edges[edge]
