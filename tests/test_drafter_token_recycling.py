"""Token Recycling: its 80 paths, its matrix, and the longest match among equal siblings."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from oracles import scaled
from scripted_runs import paths_of, random_request, random_target, rows_of, run

from recap.drafters.static_tree import StaticTree
from recap.drafters.token_recycling import PATHS, TokenRecyclingDrafter
from recap.tree import DraftTree
from recap.verification import Outcome, accepted_path

#: The shape told in another way: how many children each node has; nodes that are not named have none.
NUM_CHILDREN = {
    "": 8,
    "0": 8, "1": 4, "2": 3, "3": 2, "4": 1, "5": 1, "6": 1, "7": 1,
    "00": 8, "01": 3, "02": 2, "03": 1, "04": 1, "05": 1, "06": 1, "07": 1,
    "10": 2, "11": 1, "20": 1, "30": 1, "40": 1, "50": 1,
    "000": 5, "001": 2, "002": 1, "003": 1, "004": 1, "010": 1, "020": 1, "100": 1, "200": 1, "300": 1,
    "0000": 3, "0001": 1, "0002": 1, "0010": 1, "0100": 1, "1000": 1,
    "00000": 2, "00010": 1,
}  # fmt: skip
NO_OUTCOME = Outcome(np.empty(0, np.int64), None, np.empty(0, np.int64), None)


def test_the_80_paths_are_those_of_the_table() -> None:
    paths = [f"{node}{rank}" for node, count in NUM_CHILDREN.items() for rank in range(count)]
    assert sorted(paths) == sorted(PATHS)
    assert len(set(PATHS)) == len(PATHS) == 80
    by_depth = [sum(len(path) == depth for path in PATHS) for depth in range(1, 8)]
    assert by_depth == [8, 21, 25, 15, 8, 3, 0]
    assert sum(path not in NUM_CHILDREN for path in PATHS) == 40


def drafted_by_hand(matrix: np.ndarray, root_id: int, blocked_ids: set[int]) -> dict[str, int]:
    """Token of every place, walking each path from the root; no entry where a token on the way is blocked."""
    tokens = {}
    for path in PATHS:
        token = root_id
        for rank in path:
            token = int(matrix[token, int(rank)])
            if token in blocked_ids:
                break
        else:
            tokens[path] = token
    return tokens


def test_every_place_drafts_its_parents_successor() -> None:
    rng = np.random.default_rng(82)
    for blocked_ids in (set(), {0}, {3, 7}, {0, 1, 2}):
        for _ in range(scaled(200, 10)):
            drafter = TokenRecyclingDrafter(30, blocked_ids)
            drafter.matrix[:] = [rng.permutation(30)[:8] for _ in range(30)]
            root_id = int(rng.integers(30))
            tree = drafter.draft(np.array([5, root_id]))
            tokens = drafted_by_hand(drafter.matrix, root_id, blocked_ids)
            expected = [tokens[path] for path in sorted(tokens, key=lambda path: (len(path), path))]
            made = np.argsort(tree.pop_orders)
            assert tree.token_ids[made].tolist() == [root_id, *expected]
            token_paths = {
                tuple(tokens[path[: depth + 1]] for depth in range(len(path))): path for path in tokens
            }
            assert set(paths_of(tree)) == set(token_paths)


def test_an_unseen_row_drafts_id_0_eight_times() -> None:
    tree = TokenRecyclingDrafter(30).draft(np.array([5], np.int64))
    assert tree.token_ids.tolist() == [5] + [0] * 80
    assert TokenRecyclingDrafter(30, {0}).draft(np.array([5], np.int64)).token_ids.tolist() == [5]


def longest_match(tree: DraftTree, greedy_ids: np.ndarray) -> int:
    """Nodes of the longest path on which every node carries its parent's choice, of all paths."""
    best = 0
    for node in range(len(tree.token_ids)):
        path = [node]
        while tree.parent_indices[path[0]] >= 0:
            path.insert(0, int(tree.parent_indices[path[0]]))
        is_match = all(tree.token_ids[b] == greedy_ids[a] for a, b in itertools.pairwise(path))
        best = max(best, len(path) - 1 if is_match else 0)
    return best


def test_the_longest_matching_path_wins_among_equal_siblings() -> None:
    rng = np.random.default_rng(83)
    lengths = set()
    for _ in range(scaled(2000, 100)):
        drafter = TokenRecyclingDrafter(6, {4} if rng.random() < 0.3 else ())
        # rows that repeat an id, as unseen rows do; one context's choice is the same wherever it recurs
        drafter.matrix[:] = rng.integers(0, 3, (6, 8)) * rng.integers(0, 2, (6, 1))
        tree = drafter.draft(np.array([int(rng.integers(6))], np.int64))
        choices: dict[tuple[int, ...], int] = {}
        greedy_ids = np.array(
            [choices.setdefault(path, int(rng.integers(3))) for path in [(), *paths_of(tree)]]
        )
        path = accepted_path(tree.token_ids, tree.parent_indices, greedy_ids)
        assert len(path) == longest_match(tree, greedy_ids)
        lengths.add(len(path))
    assert max(lengths) >= 4


def test_the_matrix_after_scripted_passes() -> None:
    rng = random.Random(84)
    for vocab_size in (9, 40):
        drafter = TokenRecyclingDrafter(vocab_size, [vocab_size - 1])
        expected = np.zeros((vocab_size, 8), np.int64)
        observe = drafter.observe

        def check(history, tree, rows, outcome, observe=observe, drafter=drafter, expected=expected) -> None:
            observe(history, tree, rows, outcome)
            first: dict[int, list[int]] = {}
            for node in sorted(range(len(tree.token_ids)), key=lambda i: tree.pop_orders[i]):
                first.setdefault(int(tree.token_ids[node]), rows.token_ids[node].tolist())
            for token, successors in first.items():
                expected[token] = successors
            assert drafter.matrix.tolist() == expected.tolist()

        drafter.observe = check
        for _ in range(scaled(40, 4)):
            run(random_target(rng, vocab_size), drafter, random_request(rng, vocab_size))
        assert (expected > 0).any()


def test_of_equal_tokens_the_first_by_depth_then_rank_is_written() -> None:
    drafter = TokenRecyclingDrafter(100)
    drafter.matrix[7] = [8, 9, 0, 0, 0, 0, 0, 0]
    drafter.matrix[8] = [9, 0, 0, 0, 0, 0, 0, 0]
    tree = drafter.draft(np.array([7], np.int64))
    # token 9 stands below 8, which is packed earlier, and at depth 1, which is made earlier
    rows = rows_of([[20 + k + int(order) for k in range(8)] for order in tree.pop_orders])
    drafter.observe(np.array([7], np.int64), tree, rows, NO_OUTCOME)
    at_depth_1 = [i for i in range(len(tree.token_ids)) if tree.token_ids[i] == 9 and tree.depths[i] == 1]
    assert drafter.matrix[9].tolist() == rows.token_ids[at_depth_1[0]].tolist()
    assert drafter.matrix[50].tolist() == [0] * 8


def test_a_shape_is_filled_in_any_order_of_its_paths() -> None:
    matrix = np.array([[1, 2], [2, 0], [0, 1]], np.int32)
    tree = StaticTree([(0, 1), (0,), (1,), (0, 0)], ()).fill(matrix, 0)
    assert tree.token_ids.tolist() == [0, 1, 2, 0, 2]
    assert tree.parent_indices.tolist() == [-1, 0, 1, 1, 0]


def test_a_stream_that_meets_another_vocabulary_drafts_nothing_and_is_refused() -> None:
    """Compiled code would read and write beyond the matrix."""
    drafter = TokenRecyclingDrafter(30)
    tree = drafter.draft(np.array([1_000_000]))
    assert tree.token_ids.tolist() == [1_000_000]
    with pytest.raises(ValueError, match=r"token ids must be from 0 to 29; got 1000000\.\.1000000"):
        drafter.observe(np.array([1_000_000]), tree, rows_of([[1] * 8]), NO_OUTCOME)
    assert not drafter.matrix.any()
    drafter.matrix[3] = [1_000_000, 4, 5, 6, 7, 8, 9, 10]
    tree = drafter.draft(np.array([3]))
    assert 1_000_000 not in tree.token_ids[tree.parent_indices[1:]]
    assert tree.token_ids[tree.depths == 1].tolist() == [1_000_000, 4, 5, 6, 7, 8, 9, 10]
