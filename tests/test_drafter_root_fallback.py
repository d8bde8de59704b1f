"""Root fallbacks: only where every map misses, the newest surviving row, or the three nearest by state."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import oracles
import pytest
from oracles import scaled
from scripted_runs import known_scores, rows_of, run

from recap.config import RecapConfig
from recap.drafters.recap import RecapDrafter
from recap.drafters.root_fallback import RootFallbackDrafter
from recap.drafters.row_index import MAX_ROWS, RowIndex
from recap.memory import Memories
from recap.targets.base import Request, Scores
from recap.targets.scripted import ScriptedTarget
from recap.tree import DraftTree, chain_tree, pack_tree
from recap.verification import Outcome

V = 50


def outcome_of(accepted: Sequence[int] = ()) -> Outcome:
    return Outcome(np.array(accepted, np.int64), 1, np.array([1], np.int64), None)


def begun(kind: str, prompt: Sequence[int] = (1, 2), **settings: object) -> RootFallbackDrafter:
    drafter = RootFallbackDrafter(RecapConfig(root_fallback=kind, **settings), Memories(V))
    ids = np.array(prompt, np.int64)
    rows = rows_of([[10 + token, *range(20, 27)] for token in prompt])
    drafter.begin(ids, 3, ids, rows)
    return drafter


def observe(
    drafter: RootFallbackDrafter,
    history: Sequence[int],
    tree: DraftTree,
    first_ids: Sequence[int],
    accepted: Sequence[int] = (),
    states: Sequence[Sequence[float]] | None = None,
) -> None:
    """A pass whose node i predicts `first_ids[i]` first."""
    if states is not None:
        nothing = np.zeros((len(states), 1))
        drafter.read(Scores(nothing, nothing, hidden_states=np.array(states, np.float32)))
    rows = rows_of([[first, *range(30, 37)] for first in first_ids])
    drafter.observe(np.array(history, np.int64), tree, rows, outcome_of(accepted))


def root_children(drafter: RecapDrafter, history: Sequence[int]) -> list[int]:
    tree = drafter.draft(np.array(history, np.int64))
    return tree.token_ids[tree.parent_indices == 0].tolist()


def test_without_a_fallback_an_unknown_root_drafts_nothing() -> None:
    drafter = RecapDrafter(RecapConfig(), Memories(V))
    ids = np.array([1, 2], np.int64)
    drafter.begin(ids, 3, ids, rows_of([[11, 12], [13, 14]]))
    assert root_children(drafter, [1, 2, 3]) == []


def test_recency_takes_the_row_written_last() -> None:
    drafter = begun("recency")
    assert root_children(drafter, [1, 2, 3]) == [12, *range(20, 27)], "the prompt's last row"
    observe(drafter, [1, 2, 3], chain_tree(3, [4, 5]), [40, 41, 42])
    assert root_children(drafter, [1, 2, 3, 9])[0] == 42
    # a known root needs no fallback
    assert root_children(drafter, [1, 2, 3, 4])[0] == 41


def test_a_replaced_row_no_longer_survives() -> None:
    drafter = begun("recency", prompt=[1])
    observe(drafter, [1, 3], pack_tree([3], [-1]), [40])
    drafter.memories.write(np.array([[-1, 1, 3], [0, 0, 1]]), rows_of([[41, 42], [43, 44]]))
    nothing = rows_of([[0, 1]])
    drafter._index.add(drafter.memories, np.zeros((1, 3), np.int64), np.zeros((1, 3), np.bool_), nothing)
    # both indexed rows were replaced in every map; the new ones were not indexed
    assert len(drafter._index.newest()[0]) == 0
    assert root_children(drafter, [1, 3, 9]) == []


def test_semantic_takes_up_to_three_rows_by_the_state_before_their_node() -> None:
    drafter = begun("semantic")
    assert root_children(drafter, [1, 2, 3]) == [], "no state is known before the first pass"
    # nodes 1 and 3 stand behind the root, node 2 behind node 1; the last accepted node is node 2
    tree = pack_tree([3, 4, 5, 6], [-1, 0, 1, 0])
    states = [[0.0, 2.0], [3.0, 0.3], [5.0, 0.0], [0.0, -1.0]]
    observe(drafter, [1, 2, 3], tree, [40, 41, 42, 43], accepted=[1, 2], states=states)
    # the root state is node 2's, (1, 0): node 2's row came after (1, 0.1), nodes 1 and 3 after (0, 1)
    expected = oracles.fuse([("G", as_row(42)), ("C", as_row(43)), ("U", as_row(41))], rule="no-confidence")
    tree = drafter.draft(np.array([1, 2, 3, 4, 5, 9], np.int64))
    children = np.flatnonzero(tree.parent_indices == 0)
    assert tree.token_ids[children].tolist() == [token for token, _ in expected]
    assert tree.q[children].tolist() == pytest.approx([q for _, q in expected], rel=1e-6)
    # in the next pass the root's row is known by the state before it as well
    observe(drafter, [1, 2, 3, 4, 5, 9], pack_tree([9], [-1]), [45], states=[[4.0, 0.1]])
    assert root_children(drafter, [1, 2, 3, 4, 5, 9, 8])[0] == 45


def as_row(first_id: int) -> oracles.Row:
    rows = rows_of([[first_id, *range(30, 37)]])
    probabilities = tuple(rows.probabilities[0].tolist())
    return oracles.Row(tuple(rows.token_ids[0].tolist()), probabilities, 1.0)


def test_a_target_without_states_leaves_semantic_without_rows() -> None:
    target = ScriptedTarget(V, known_scores(V, 1, 5))
    request = Request(np.array([1, 2], np.int64), 20)
    drafter = RootFallbackDrafter(RecapConfig(root_fallback="semantic"), Memories(V))
    plain = RecapDrafter(RecapConfig(), Memories(V))
    assert run(target, drafter, request) == run(target, plain, request)


def test_the_index_equals_lists() -> None:
    rng = random.Random(121)
    for _ in range(scaled(100, 8)):
        memories, index = Memories(V), RowIndex()
        memories.begin_request()
        entries: list[tuple[tuple[int, ...], list[str], int, np.ndarray]] = []
        owner: dict[tuple[str, tuple[int, ...]], int] = {}
        for number in range(rng.choice((1, 5, 20))):
            count = rng.choice((1, 3, 10))
            contexts = np.array([[rng.randrange(3) for _ in range(3)] for _ in range(count)], np.int64)
            rows = rows_of([[100 * number + i, 1] for i in range(count)])
            states = np.random.default_rng(number).normal(size=(count, 4)).astype(np.float32)
            written = memories.write(contexts, rows)
            index.add(memories, contexts, written, rows, states)
            for i, context in enumerate(contexts.tolist()):
                keys = [("G", tuple(context)), ("C", tuple(context[1:])), ("U", tuple(context[2:]))]
                held = [key for key, is_written in zip(keys, written[i], strict=True) if is_written]
                owner.update(dict.fromkeys(held, 100 * number + i))
                if held:
                    entries.append((tuple(held), context, 100 * number + i, states[i]))
        alive = [entry for entry in entries if any(owner[key] == entry[2] for key in entry[0])]
        assert index.newest()[0][:, 0].tolist() == [alive[-1][2]]
        state = np.random.default_rng(99).normal(size=4).astype(np.float32)
        by_similarity = sorted(alive, key=lambda entry: -float(entry[3] @ state))
        assert index.nearest(state, 3)[0][:, 0].tolist() == [entry[2] for entry in by_similarity[:3]]


def test_the_index_holds_the_newest_rows_up_to_its_limit() -> None:
    memories, index = Memories(10_000), RowIndex()
    memories.begin_request()
    for start in range(0, 3_000, 100):
        contexts = np.arange(start, start + 100)[:, None].repeat(3, axis=1)
        rows = rows_of([[i, 1] for i in range(start, start + 100)])
        written = memories.write(contexts, rows)
        index.add(memories, contexts, written, rows, np.full((100, 1), -start, np.float32))
    assert index.newest()[0][0, 0] == 2_999
    # the oldest that is left is the nearest to a state whose similarity falls with age
    oldest_first = index.nearest(np.array([1.0], np.float32), MAX_ROWS)[0][:, 0]
    assert len(oldest_first) == MAX_ROWS
    assert oldest_first.min() == 3_000 - MAX_ROWS
    assert len(RowIndex().nearest(np.array([1.0], np.float32), 3)[0]) == 0
