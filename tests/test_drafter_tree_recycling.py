"""Tree Recycling: a full binary tree of depth 4 over this request's rows."""

from __future__ import annotations

import itertools

import numpy as np
from scripted_runs import paths_of, rows_of

from recap.drafters.tree_recycling import TreeRecyclingDrafter
from recap.verification import Outcome

NO_OUTCOME = Outcome(np.empty(0, np.int64), None, np.empty(0, np.int64), None)


def begun(
    prompt: list[int], rows: list[list[int]], blocked_ids: tuple[int, ...] = ()
) -> TreeRecyclingDrafter:
    drafter = TreeRecyclingDrafter(100, blocked_ids)
    drafter.begin(np.array(prompt, np.int64), 1, np.array(prompt, np.int64), rows_of(rows))
    return drafter


def test_the_tree_has_30_nodes_where_every_row_is_known() -> None:
    rows = [[(2 * token + k) % 50 for k in range(1, 9)] for token in range(50)]
    drafter = begun(list(range(50)), rows)
    tree = drafter.draft(np.array([3], np.int64))
    assert drafter.max_tree_nodes == len(tree.token_ids) == 31
    expected = set()
    for ranks in itertools.chain.from_iterable(itertools.product((0, 1), repeat=d) for d in range(1, 5)):
        path, token = [], 3
        for rank in ranks:
            token = rows[token][rank]
            path.append(token)
        expected.add(tuple(path))
    assert set(paths_of(tree)) == expected


def test_the_prompts_first_occurrence_seeds_the_matrix() -> None:
    drafter = begun([4, 5, 4], [list(range(10, 18)), list(range(20, 28)), list(range(30, 38))])
    assert drafter.matrix[4].tolist() == [10, 11, 12, 13]
    assert drafter.matrix[5].tolist() == [20, 21, 22, 23]
    assert (drafter.matrix >= 0).sum() == 8


def test_an_unseen_token_drafts_nothing_and_a_blocked_one_is_left_out() -> None:
    drafter = begun([4, 5], [[5, 6, 7, 8, 9, 10, 11, 12], [4, 9, 7, 8, 20, 10, 11, 12]], blocked_ids=(9,))
    assert drafter.draft(np.array([60], np.int64)).token_ids.tolist() == [60]
    assert paths_of(drafter.draft(np.array([4], np.int64))) == [
        (5,), (5, 4), (5, 4, 5), (5, 4, 5, 4), (5, 4, 6), (6,)
    ]  # fmt: skip


def test_rows_live_for_one_request_and_new_ones_replace_them() -> None:
    drafter = begun([4], [[5, 6, 7, 8, 9, 10, 11, 12]])
    history = np.array([4], np.int64)
    tree = drafter.draft(history)
    drafter.observe(history, tree, rows_of([list(range(30 + i, 38 + i)) for i in range(3)]), NO_OUTCOME)
    assert drafter.matrix[[4, 5, 6]].tolist() == [[30, 31, 32, 33], [31, 32, 33, 34], [32, 33, 34, 35]]
    drafter.begin(
        history[:0], 1, history[:0], rows_of([[0] * 8])._replace(token_ids=np.empty((0, 8), np.int32))
    )
    assert (drafter.matrix == -1).all()
