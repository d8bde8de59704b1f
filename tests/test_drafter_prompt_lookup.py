"""Prompt lookup copies behind the first earlier occurrence of the longest key."""

from __future__ import annotations

import random

import numpy as np
from oracles import scaled
from scripted_runs import paths_of

from recap.drafters.prompt_lookup import PromptLookupDrafter


def copied_by_brute_force(history: list[int], blocked_ids: set[int]) -> list[int]:
    """Slices of the history, compared as lists."""
    for length in (4, 3, 2, 1):
        key = history[-length:]
        if len(key) < length or blocked_ids & set(key):
            continue
        for start in range(len(history) - length):
            follower = history[start + length]
            if history[start : start + length] == key and follower not in blocked_ids:
                copied = history[start + length : start + length + 10]
                ends = [i for i, token in enumerate(copied) if token in blocked_ids]
                return copied[: ends[0]] if ends else copied
    return []


def test_the_draft_equals_a_search_by_slices() -> None:
    rng = random.Random(81)
    lengths = []
    for _ in range(scaled(20_000, 300)):
        vocab_size = rng.choice((2, 4, 12))
        history = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 2, 5, 30, 80)))]
        blocked_ids = {1} if rng.random() < 0.4 else set()
        tree = PromptLookupDrafter(blocked_ids).draft(np.array(history, np.int64))
        expected = copied_by_brute_force(history, blocked_ids)
        assert tree.token_ids.tolist() == [history[-1], *expected]
        assert tree.parent_indices.tolist() == list(range(-1, len(expected)))
        lengths.append(len(expected))
    assert {0, 1, 10} <= set(lengths)


def test_a_longer_key_goes_before_an_earlier_shorter_one() -> None:
    history = np.array([7, 1, 5, 6, 7, 2, 5, 6, 7], np.int64)
    assert paths_of(PromptLookupDrafter().draft(history))[0] == (2,)


def test_the_first_of_two_occurrences_is_copied() -> None:
    history = np.array([6, 7, 1, 6, 7, 2, 6, 7], np.int64)
    assert paths_of(PromptLookupDrafter().draft(history))[-1] == (1, 6, 7, 2, 6, 7)
