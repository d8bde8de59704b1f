"""The seam of a target: its requests, and the scores and prompt rows that a scripted one gives."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import oracles
import pytest
from bridges import as_row
from languages import Language, random_language, request_of, row_of, target_of
from oracles import scaled

from recap.targets.base import Request
from recap.targets.scripted import random_scores, table_scores
from recap.tree import root_only_tree


@pytest.mark.parametrize("prompt", [np.zeros(0, np.int64), np.zeros((1, 3), np.int64)])
def test_a_prompt_must_be_one_row_of_ids(prompt: np.ndarray) -> None:
    with pytest.raises(ValueError, match="prompt_ids must be one non-empty row of ids; got shape"):
        Request(prompt, 5)


@pytest.mark.parametrize("cap", [0, -3])
def test_a_request_asks_for_at_least_one_token(cap: int) -> None:
    with pytest.raises(ValueError, match=f"max_new_tokens must be at least 1; got max_new_tokens={cap}"):
        request_of([1], cap)


def test_scripted_scores_depend_on_the_last_tokens_alone() -> None:
    scores = random_scores(20, order=2, seed=4)
    assert np.array_equal(scores([1, 2, 3]), scores([9, 2, 3]))
    assert not np.array_equal(scores([1, 2, 3]), scores([1, 9, 3]))
    assert not np.array_equal(scores([1, 2]), random_scores(20, order=2, seed=5)([1, 2]))
    assert scores([1, 2]).shape == (20,)


def test_a_table_of_next_tokens_prefers_the_longest_suffix_listed() -> None:
    scores = table_scores(10, {(1,): 4, (2, 1): 7}, default_id=3)
    assert [oracles.greedy_id(scores(h).tolist()) for h in ([1], [5, 1], [2, 1], [9])] == [4, 4, 7, 3]


def test_a_scripted_pass_scores_every_node_after_its_own_path() -> None:
    rng = random.Random(79)
    for _ in range(scaled(100, 4)):
        language = random_language(rng)
        target = target_of(language)
        prompt = [rng.randrange(language.vocab_size) for _ in range(4)]
        decoding = target.prefill(request_of(prompt, 9), True, 99)
        parents = oracles.random_parents(rng, 12)
        tokens = [rng.randrange(language.vocab_size) for _ in parents]
        tree = root_only_tree(tokens[0])._replace(
            token_ids=np.array(tokens), parent_indices=np.array(parents, np.int32)
        )
        scores = decoding.verify(tree, want_all_scores=True)
        for node in range(12):
            history = prompt + [tokens[i] for i in oracles.path_to(node, parents)]
            expected = language.next_scores(history)
            assert scores.top_ids[node].tolist() == oracles.top_ids(expected, 8)
            assert scores.all_scores is not None
            assert scores.all_scores[node].tolist() == expected
        path = oracles.path_to(11, parents)
        decoding.keep(np.array(path[1:], int))
        assert decoding.prefix_length == 4 + len(path)
        history = [*prompt, *(tokens[i] for i in path), 0]
        after = decoding.verify(root_only_tree(0))
        assert after.top_ids[0].tolist() == oracles.top_ids(language.next_scores(history), 8)


def test_prompt_rows_are_those_of_eligible_positions_in_prompt_order() -> None:
    language = Language(20, 3, 1)
    prompt = [19, 19, 4, 5, 4]
    decoding = target_of(language, (), [19]).prefill(request_of(prompt, 9, 19), True, 1)
    assert decoding.prompt_row_ids.tolist() == [4, 5, 4]
    assert decoding.prompt_rows is not None
    rows = [as_row(*fields) for fields in zip(*decoding.prompt_rows, strict=True)]
    assert rows == [row_of(language.next_scores(prompt[: i + 1])) for i in (2, 3, 4)]
    without = target_of(language, (), [19]).prefill(request_of(prompt, 9, 19), False, 1)
    assert without.prompt_rows is None
    assert without.first_scores.top_ids.tolist() == decoding.first_scores.top_ids.tolist()


def test_configuration_of_a_request_cannot_change_under_way() -> None:
    request = request_of([1, 2], 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.max_new_tokens = 9  # type: ignore[misc]
