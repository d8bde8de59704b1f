"""Suffix automaton over prompt and committed tokens: the longest suffix seen before, and what followed it.

The automaton (Blumer et al. 1985) grows online. After each token, the suffix link of the newest state is the longest
suffix of the history that also ended earlier, so no separate search is needed. Image placeholders and padding are
barriers: they are never indexed and no match spans one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from recap.jit import jit
from recap.prediction_map import find_place

_EMPTY = np.int64(-1)
_TOKEN_BITS = 21
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


class _Arrays(NamedTuple):
    """States and transitions as flat arrays. `cursor` int64 [6]: states, transitions, last state, length of the string
    since the last barrier, match state, match end."""

    lengths: np.ndarray
    links: np.ndarray
    latest_ends: np.ndarray
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
        self._num_tokens = 0
        self._arrays = _allocate(_INITIAL_TOKENS)
        cursor = self._arrays.cursor
        cursor[_STATES] = 1
        cursor[_MATCH] = _ROOT
        self._arrays.links[_ROOT] = -1

    def extend(self, token_ids: np.ndarray) -> None:
        """Append tokens, int64 [n], to the history."""
        needed = self._num_tokens + len(token_ids)
        if needed > len(self._history):
            self._grow(needed)
        self._history[self._num_tokens : needed] = token_ids
        _extend(self._arrays, self._history, self._num_tokens, needed, self._barrier_ids)
        self._num_tokens = needed

    def match(self) -> Match:
        """The longest repeated suffix of the history and its latest earlier occurrence."""
        cursor = self._arrays.cursor
        length = int(self._arrays.lengths[cursor[_MATCH]])
        return Match(length, int(cursor[_MATCH_END])) if length else Match(0, 0)

    def continuation(self, min_match: int, max_tokens: int) -> np.ndarray:
        """What followed the match, int64 [<= max_tokens]: up to the next barrier or the history's end.

        Empty where the longest repeated suffix has fewer than `min_match` tokens.
        """
        match = self.match()
        if match.length < min_match:
            return np.empty(0, np.int64)
        followers = self._history[match.end : min(match.end + max_tokens, self._num_tokens)]
        barriers = np.flatnonzero(np.isin(followers, self._barrier_ids))
        return followers[: barriers[0]].copy() if len(barriers) else followers.copy()

    def _grow(self, needed: int) -> None:
        capacity = len(self._history)
        while capacity < needed:
            capacity *= 2
        history = np.empty(capacity, np.int64)
        history[: self._num_tokens] = self._history[: self._num_tokens]
        self._history = history
        old, new = self._arrays, _allocate(capacity)
        for name in ("lengths", "links", "latest_ends", "first_edges", "edge_tokens", "edge_places", "next_edges"):
            getattr(new, name)[: len(getattr(old, name))] = getattr(old, name)
        new.cursor[:] = old.cursor
        _rehash(old, new)
        self._arrays = new


def _allocate(num_tokens: int) -> _Arrays:
    # A string of n tokens has at most 2n states and 3n transitions; the table of transitions stays under 3/4 full.
    num_states, num_edges, table = 2 * num_tokens + 1, 3 * num_tokens, 4 * num_tokens
    return _Arrays(
        lengths=np.zeros(num_states, np.int32),
        links=np.zeros(num_states, np.int32),
        latest_ends=np.zeros(num_states, np.int32),
        first_edges=np.full(num_states, -1, np.int32),
        edge_keys=np.full(table, _EMPTY),
        edge_targets=np.zeros(table, np.int32),
        edge_tokens=np.zeros(num_edges, np.int64),
        edge_places=np.zeros(num_edges, np.int32),
        next_edges=np.full(num_edges, -1, np.int32),
        cursor=np.zeros(6, np.int64),
    )


@jit
def _edge_key(state, token):
    return (np.int64(state) << _TOKEN_BITS) | np.int64(token)


@jit
def _target(arrays, state, token):
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
def _new_state(arrays, length, link, latest_end):
    state = arrays.cursor[_STATES]
    arrays.cursor[_STATES] += 1
    arrays.lengths[state] = length
    arrays.links[state] = link
    arrays.latest_ends[state] = latest_end
    return state


@jit
def _split(arrays, state, token, long_state):
    """Give the strings of `long_state` that end in `state`'s strings plus `token` a state of their own."""
    clone = _new_state(arrays, arrays.lengths[state] + 1, arrays.links[long_state], arrays.latest_ends[long_state])
    edge = arrays.first_edges[long_state]
    while edge >= 0:
        _set_target(arrays, clone, arrays.edge_tokens[edge], arrays.edge_targets[arrays.edge_places[edge]])
        edge = arrays.next_edges[edge]
    arrays.links[long_state] = clone
    while state >= 0 and _target(arrays, state, token) == long_state:
        _set_target(arrays, state, token, clone)
        state = arrays.links[state]
    return clone


@jit
def _extend(arrays, history, begin, end, barrier_ids):
    cursor = arrays.cursor
    for position in range(begin, end):
        token = history[position]
        is_barrier = False
        for i in range(len(barrier_ids)):
            is_barrier = is_barrier or barrier_ids[i] == token
        if is_barrier:
            cursor[_LAST] = _ROOT
            cursor[_RUN] = 0
            cursor[_MATCH] = _ROOT
            continue
        cursor[_RUN] += 1
        last = cursor[_LAST]
        existing = _target(arrays, last, token)
        if existing >= 0:
            # After a barrier the string since it may be known already: it is then its own longest repeat.
            if arrays.lengths[existing] != arrays.lengths[last] + 1:
                existing = _split(arrays, last, token, existing)
            newest = existing
            match = existing
        else:
            newest = _new_state(arrays, cursor[_RUN], _ROOT, position + 1)
            state = last
            while state >= 0 and _target(arrays, state, token) < 0:
                _set_target(arrays, state, token, newest)
                state = arrays.links[state]
            if state >= 0:
                longer = _target(arrays, state, token)
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
