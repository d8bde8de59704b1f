"""SuffixDecoding: counts against recounting, drafts against every path, and the global tree's life."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracles import scaled
from scripted_runs import paths_of

from recap.drafters.suffix_tree import SuffixTreeDrafter, best_draft, follow
from recap.suffix import SuffixAutomaton
from recap.verification import Outcome

NOTHING = np.empty(0, np.int64)


def num_occurrences(texts: list[list[int]], pattern: list[int]) -> int:
    return sum(
        text[start : start + len(pattern)] == pattern
        for text in texts
        for start in range(len(text) - len(pattern) + 1)
    )


def path_probabilities(texts: list[list[int]], pattern: list[int], depth: int) -> list[float]:
    """The product of count ratios of every continuation of at most `depth` tokens that reaches 0.1."""
    found = []
    layer = [(1.0, pattern)]
    for _ in range(depth):
        below = []
        for probability, path in layer:
            whole = num_occurrences(texts, path)
            for token in sorted({token for text in texts for token in text}):
                share = probability * num_occurrences(texts, [*path, token]) / whole
                if share >= 0.1:
                    below.append((share, [*path, token]))
        found += [share for share, _ in below]
        layer = below
    return sorted(found, reverse=True)


def best_sum(texts: list[list[int]], text: list[int], at_least: int) -> float:
    """The largest sum of 4 p path probabilities below any suffix of length p that occurs `at_least` times."""
    best = 0.0
    for length in range(1, min(len(text), 63) + 1):
        if num_occurrences(texts, text[-length:]) < at_least:
            break
        best = max(best, sum(path_probabilities(texts, text[-length:], 64 - length)[: min(4 * length, 64)]))
    return best


def random_text(rng: random.Random, sizes: tuple[int, ...] = (1, 3, 8, 20)) -> list[int]:
    vocab_size = rng.choice((2, 3, 6))
    return [rng.randrange(vocab_size) for _ in range(rng.choice(sizes))]


def test_the_local_draft_has_the_largest_sum_of_all_match_lengths() -> None:
    rng = random.Random(111)
    sums = []
    for _ in range(scaled(1_000, 60)):
        text = random_text(rng)
        tree = SuffixAutomaton()
        tree.extend(np.array(text, np.int64))
        state = tree.match_state
        token_ids, parents, total = best_draft(tree.arrays, state, int(tree.arrays.lengths[state]), True)
        # the suffix itself is one occurrence; one that is repeated has two
        assert total == pytest.approx(best_sum([text], text, at_least=2))
        assert len(token_ids) == len(parents)
        sums.append(total)
    assert max(sums) > 1


def test_the_global_draft_follows_any_text_through_the_answers() -> None:
    rng = random.Random(112)
    lengths = set()
    for _ in range(scaled(1_000, 60)):
        answers = [random_text(rng) for _ in range(rng.choice((1, 2, 4)))]
        drafter = SuffixTreeDrafter()
        drafter.restore_state(tuple(np.array(answer, np.int64) for answer in answers))
        arrays = drafter._global_tree.arrays
        text = random_text(rng)
        state, length = follow(arrays, 0, 0, np.array(text, np.int64))
        known = [n for n in range(len(text) + 1) if n == 0 or num_occurrences(answers, text[-n:]) > 0]
        assert length == max(known)
        assert best_draft(arrays, state, length, True)[-1] == pytest.approx(
            best_sum(answers, text, at_least=1)
        )
        lengths.add(int(length))
    assert {0, 1, 2} <= lengths


def test_counts_of_several_answers_equal_recounting() -> None:
    rng = random.Random(113)
    for _ in range(scaled(1_000, 60)):
        answers = [random_text(rng, (0, 1, 5, 30)) for _ in range(rng.choice((1, 3)))]
        drafter = SuffixTreeDrafter()
        drafter.restore_state(tuple(np.array(answer, np.int64) for answer in answers))
        arrays = drafter._global_tree.arrays
        for answer in answers:
            for _ in range(5):
                start = rng.randrange(len(answer) + 1)
                pattern = answer[start : start + rng.choice((1, 2, 5))]
                if pattern:
                    state, length = follow(arrays, 0, 0, np.array(pattern, np.int64))
                    assert length == len(pattern)
                    assert arrays.counts[state] == num_occurrences(answers, pattern)


def begun(text: list[int], drafter: SuffixTreeDrafter) -> SuffixTreeDrafter:
    history = np.array(text, np.int64)
    drafter.begin(history[:-1], int(history[-1]), NOTHING, None)
    return drafter


def test_a_node_below_a_tenth_is_not_drafted() -> None:
    text = [9, 9, *(token for i in range(11) for token in (9, 9, i % 11 + 20)), 9, 9]
    paths = paths_of(begun(text, SuffixTreeDrafter()).draft(np.array(text, np.int64)))
    # 9 9 occurs 13 times and more, each follower once: nothing reaches 0.1 below it
    assert not [path for path in paths if path[0] >= 20]


def test_a_match_drafts_four_times_its_length_up_to_the_depth() -> None:
    # from 13 on the 64 tokens of depth bind: a suffix of 13 leaves 51, one of 14 only 50
    for length, expected in ((1, 4), (5, 20), (12, 48), (13, 51), (14, 51), (100, 51)):
        repeated = list(range(10, 10 + length))
        text = [1, *repeated, *range(300, 400), 2, *repeated]
        tree = begun(text, SuffixTreeDrafter()).draft(np.array(text, np.int64))
        # its count of 2 holds the end of the text, so the first node has one half and so have all below it
        assert tree.num_draft_nodes == expected
        assert tree.token_ids[1:].tolist() == list(range(300, 300 + expected))


def test_the_path_follows_the_most_frequent_child_alone() -> None:
    text = [5, 6, 1, 5, 6, 2, 8, 5, 6, 2, 7, 5, 6]
    path = paths_of(begun(text, SuffixTreeDrafter(is_tree=False)).draft(np.array(text, np.int64)))
    assert path[0] == (2,)
    assert [len(prefix) for prefix in path] == [1, 2, 3, 4, 5, 6, 7, 8][: len(path)]
    both = paths_of(begun(text, SuffixTreeDrafter()).draft(np.array(text, np.int64)))
    assert both[0] == (2,)
    assert (1,) in both


def test_barriers_are_neither_matched_nor_drafted() -> None:
    text = [4, 5, 0, 6, 4, 5]
    assert begun(text, SuffixTreeDrafter({0})).draft(np.array(text, np.int64)).num_draft_nodes == 0
    text = [4, 0, 5, 6, 7, 4, 0, 5]
    drafted = paths_of(begun(text, SuffixTreeDrafter({0})).draft(np.array(text, np.int64)))
    assert drafted == [(6,), (6, 7), (6, 7, 4)]


def finish(drafter: SuffixTreeDrafter, prompt: list[int], answer: list[int]) -> None:
    begun([*prompt, answer[0]], drafter)
    history = np.array([*prompt, answer[0]], np.int64)
    outcome = Outcome(NOTHING, None, np.array(answer[1:], np.int64), "length")
    drafter.observe(history, drafter.draft(history), None, outcome)


def test_answers_of_earlier_requests_are_drafted_and_prompts_are_not() -> None:
    drafter = SuffixTreeDrafter()
    finish(drafter, [1, 2, 3, 50, 51, 52], [4, 5, 6, 7, 8])
    assert paths_of(begun([9, 4, 5], drafter).draft(np.array([9, 4, 5])))[-1] == (6, 7, 8)
    assert begun([9, 50, 51], drafter).draft(np.array([9, 50, 51])).num_draft_nodes == 0


def test_the_older_half_goes_when_there_are_too_many_answers() -> None:
    drafter = SuffixTreeDrafter(max_global_tokens=10)
    for first in (10, 20, 30, 40):
        finish(drafter, [1], [first, first + 1, first + 2])
    assert [answer.tolist() for answer in drafter.save_state()] == [[40, 41, 42]]
    assert begun([1, 10, 11], drafter).draft(np.array([1, 10, 11])).num_draft_nodes == 0
    assert paths_of(begun([1, 40, 41], drafter).draft(np.array([1, 40, 41]))) == [(42,)]
    # one answer longer than all room stays: it is the newest
    finish(drafter, [1], list(range(100, 130)))
    assert [len(answer) for answer in drafter.save_state()] == [30]
