"""The suffix automaton finds what a search through the whole history finds: the longest repeat, its latest place."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import numpy as np
import pytest
from oracles import longest_suffix_match, scaled, suffix_continuation

from recap.suffix import SuffixAutomaton, next_state

ALL = 10**6


def automaton_of(history: list[int], barriers: tuple[int, ...] = ()) -> SuffixAutomaton:
    automaton = SuffixAutomaton(barriers)
    automaton.extend(np.array(history, np.int64))
    return automaton


def continuation_of(history: list[int], barriers: tuple[int, ...] = (), min_match: int = 2) -> list[int]:
    return automaton_of(history, barriers).continuation(min_match, ALL).tolist()


def random_history(rng: random.Random) -> tuple[list[int], tuple[int, ...]]:
    """A history in which suffixes recur: few tokens, copied stretches, runs of one token, barriers; large ids too."""
    tokens = rng.choice(([0, 1], [0, 1, 2, 3], list(range(12)), [2**21 - 2, 0, 151_655, 7]))
    barriers = rng.choice(((), (), (tokens[0],), (tokens[0], tokens[1]), (999,)))
    history: list[int] = []
    length = rng.choice((1, 2, 3, 10, 60, 120))
    while len(history) < length:
        kind = rng.random()
        if kind < 0.3 and history:
            start = rng.randrange(len(history))
            history += history[start : start + rng.randrange(1, 12)]
        elif kind < 0.4:
            history += [rng.choice(tokens)] * rng.randrange(1, 8)
        else:
            history.append(rng.choice(tokens))
    return history[:length], barriers


def fresh_or_cleared(rng: random.Random, barriers: tuple[int, ...]) -> SuffixAutomaton:
    """An empty automaton, one time in two behind another history, of which it must have kept nothing."""
    automaton = SuffixAutomaton(barriers)
    if rng.random() < 0.5:
        automaton.extend(np.array(random_history(rng)[0], np.int64))
        automaton.clear()
    return automaton


def test_match_and_continuation_equal_a_search_through_the_history_after_every_token() -> None:
    rng = random.Random(41)
    for _ in range(scaled(600, 12)):
        history, barriers = random_history(rng)
        automaton = fresh_or_cleared(rng, barriers)
        length = 0
        while length < len(history):
            step = rng.choice((1, 1, 1, 2, 5))  # a pass commits one token or several
            automaton.extend(np.array(history[length : length + step], np.int64))
            length = min(length + step, len(history))
            so_far = history[:length]
            match = automaton.match()
            expected = longest_suffix_match(so_far, barriers, min_match=1)
            assert (match.length, match.end) == (expected or (0, 0)), (so_far, barriers)
            for min_match in (1, 2, 3):
                got = automaton.continuation(min_match, ALL).tolist()
                assert got == list(suffix_continuation(so_far, barriers, min_match)), (so_far, barriers)


def test_continuation_is_that_of_the_longest_suffix_not_of_a_shorter_later_one() -> None:
    # "1 2 3" occurs first with 7 behind it, "2 3" later with 8 behind it
    assert continuation_of([1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3]) == [7, 9, 2, 3, 8, 1, 2, 3]


def test_continuation_is_that_of_the_latest_occurrence() -> None:
    assert continuation_of([1, 2, 7, 0, 1, 2, 8, 1, 2]) == [8, 1, 2]


def test_an_occurrence_may_overlap_the_suffix_itself() -> None:
    assert continuation_of([5, 5, 5, 5]) == [5]
    assert continuation_of([1, 2, 1, 2, 1]) == [2, 1]


@pytest.mark.parametrize(("min_match", "expected"), [(1, [9, 4, 3]), (2, [9, 4, 3]), (3, []), (4, [])])
def test_a_match_shorter_than_the_shortest_allowed_gives_nothing(min_match: int, expected: list[int]) -> None:
    assert continuation_of([4, 3, 9, 4, 3], (), min_match) == expected


def test_nothing_is_copied_from_a_history_without_repeats() -> None:
    assert continuation_of([1, 2, 3, 4, 5]) == []
    assert continuation_of([1]) == []
    assert SuffixAutomaton().continuation(1, ALL).tolist() == []
    assert SuffixAutomaton().match() == (0, 0)


def test_a_barrier_is_never_copied_nor_spanned() -> None:
    image = 9
    # the continuation ends at the barrier
    assert continuation_of([1, 2, 3, image, 4, 1, 2], (image,)) == [3]
    assert continuation_of([1, 2, image, 3, 1, 2], (image,)) == []
    # the suffix does not run over it: only "2" is left of "1 image 2"
    assert continuation_of([1, image, 2, 3, 1, image, 2], (image,)) == []
    assert continuation_of([1, image, 2, 3, 1, image, 2], (image,), 1) == [3, 1]
    # nor does it end in it
    assert automaton_of([1, 2, image, 1, 2, image], (image,)).match() == (0, 0)
    # the same history without barriers
    assert continuation_of([1, image, 2, 3, 1, image, 2]) == [3, 1, image, 2]


def test_what_comes_after_a_barrier_is_found_before_it() -> None:
    pad = 0
    assert continuation_of([1, 2, 3, 4, pad, pad, 2, 3], (pad,)) == [4]
    assert continuation_of([1, 2, pad, 1, 2, pad, 1, 2], (pad,)) == []
    assert automaton_of([1, 2, pad, 1, 2, pad, 1, 2], (pad,)).match() == (2, 5)


def test_at_most_the_tokens_asked_for_are_copied() -> None:
    automaton = automaton_of([1, 2, 3, 4, 5, 6, 1, 2])
    assert [automaton.continuation(2, n).tolist() for n in (0, 1, 3)] == [[], [3], [3, 4, 5]]


def test_reading_a_match_changes_nothing() -> None:
    automaton = automaton_of([1, 2, 3, 1, 2])
    first = automaton.continuation(2, ALL)
    first[:] = 77
    assert automaton.continuation(2, ALL).tolist() == [3, 1, 2]
    automaton.extend(np.array([3], np.int64))
    assert automaton.continuation(2, ALL).tolist() == [1, 2, 3]


def test_extending_by_nothing_changes_nothing() -> None:
    automaton = automaton_of([1, 2, 3, 1, 2])
    automaton.extend(np.empty(0, np.int64))
    assert automaton.match() == (2, 2)


@pytest.mark.parametrize("chunk", [1, 700, 10_000])
def test_matches_survive_growth_through_several_doublings(chunk: int) -> None:
    rng = random.Random(42)
    num_tokens = scaled(40_000, 3_000)
    history = [rng.randrange(40) for _ in range(num_tokens)]
    automaton = SuffixAutomaton((39,))
    for start in range(0, num_tokens, chunk):
        automaton.extend(np.array(history[start : start + chunk], np.int64))
    # long copies of early, middle and late stretches: their continuations must be found whole
    for start in (10, num_tokens // 2, num_tokens - 60):
        copied = history[start : start + 30]
        automaton.extend(np.array([39, *copied], np.int64))
        history += [39, *copied]
        run = copied[::-1].index(39) if 39 in copied else 30
        match = automaton.match()
        assert match.length >= run
        assert history[match.end - match.length : match.end] == history[len(history) - match.length :]


def test_the_automaton_stays_linear_in_its_history() -> None:
    # a string of n tokens has at most 2n - 1 states and 3n - 4 transitions (n >= 3): the bound of the structure
    for history in ([0] * 500, [0, 1] * 300, [i % 7 * (i % 5) for i in range(600)], list(range(500))):
        cursor = automaton_of(history).arrays.cursor
        assert cursor[0] <= 2 * len(history) - 1
        assert cursor[1] <= 3 * len(history) - 4


def test_a_text_known_from_before_a_barrier_adds_no_state() -> None:
    barrier = 0
    once, twice = [1, 2, barrier, 3, 4, 5], [1, 2, barrier, 3, 4, 5, barrier, 3, 4, 5]
    states = [automaton_of(history, (barrier,)).arrays.cursor[0] for history in (once, twice)]
    assert states[0] == states[1]


def test_the_automaton_accepts_exactly_the_substrings_of_its_history() -> None:
    history = [0, 1, 1, 0, 2, 0, 1, 1, 2, 2, 0]
    arrays = automaton_of(history).arrays
    graph = nx.MultiDiGraph()
    for state in range(int(arrays.cursor[0])):
        edge = int(arrays.first_edges[state])
        while edge >= 0:
            target = int(arrays.edge_targets[arrays.edge_places[edge]])
            graph.add_edge(state, target, token=int(arrays.edge_tokens[edge]))
            edge = int(arrays.next_edges[edge])
    assert nx.is_directed_acyclic_graph(graph)
    paths: set[tuple[int, ...]] = set()
    open_paths: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while open_paths:
        state, path = open_paths.pop()
        paths.add(path)
        open_paths += [(t, (*path, data["token"])) for _, t, data in graph.out_edges(state, data=True)]
    substrings = {tuple(history[i:j]) for i in range(len(history) + 1) for j in range(i, len(history) + 1)}
    assert paths == substrings


def occurrences(history: list[int], part: list[int], barriers: tuple[int, ...]) -> list[int]:
    """The history indices just behind each place where `part` occurs; a part with a barrier occurs nowhere."""
    if any(token_id in barriers for token_id in part):
        return []
    return [end for end in range(len(part), len(history) + 1) if history[end - len(part) : end] == part]


def test_every_state_knows_the_first_the_last_and_the_number_of_its_occurrences() -> None:
    rng = random.Random(43)
    for _ in range(scaled(200, 6)):
        history, barriers = random_history(rng)
        automaton = fresh_or_cleared(rng, barriers)
        automaton.extend(np.array(history, np.int64))
        arrays = automaton.arrays
        for _ in range(20):
            start = rng.randrange(len(history))
            part = history[start : start + rng.choice((1, 2, 3, 6))]
            state = 0
            for token_id in part:
                # a barrier has no transition, and what has none cannot be walked on
                state = -1 if state < 0 else int(next_state(arrays, np.int64(state), np.int64(token_id)))
            ends = occurrences(history, part, barriers)
            assert (state >= 0) == bool(ends)
            if ends:
                assert arrays.earliest_ends[state] == ends[0]
                assert arrays.latest_ends[state] == ends[-1]
                assert arrays.counts[state] == len(ends)


def test_the_earliest_match_is_the_first_occurrence_of_the_longest_repeat() -> None:
    assert automaton_of([1, 2, 7, 0, 1, 2, 8, 1, 2]).earliest_match() == (2, 2)
    assert automaton_of([1, 2, 3]).earliest_match() == (0, 0)
    rng = random.Random(44)
    for _ in range(scaled(300, 10)):
        history, barriers = random_history(rng)
        automaton = automaton_of(history, barriers)
        length, end = automaton.earliest_match()
        expected = longest_suffix_match(history, barriers, min_match=1)
        assert length == (expected[0] if expected else 0)
        if expected:
            assert end == occurrences(history, history[-length:], barriers)[0]
            assert automaton.followers(end, 3).tolist() == takewhile_open(history[end : end + 3], barriers)


def takewhile_open(tokens: list[int], barriers: tuple[int, ...]) -> list[int]:
    """Tokens up to the first barrier."""
    return list(itertools.takewhile(lambda token_id: token_id not in barriers, tokens))
