"""Verification: who sees whom, which path is accepted, where a stop cuts, which cache entries stay (Eq. 1)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pytest
import torch
from oracles import cut_block, gather, positions, random_parents, scaled, walk
from tree_cases import ancestor_mask

from recap.config import RecapConfig
from recap.drafters.recap import RecapDrafter
from recap.memory import Memories
from recap.rows import make_rows
from recap.targets.decoder import layer_devices
from recap.targets.kv_cache import TreeCache
from recap.targets.scoring import score_positions
from recap.tree import DraftTree, pack_tree
from recap.verification import Outcome, accepted_path, verify_path

CASES = Path(__file__).parent / "cases"
STOP_CASES: list[dict[str, Any]] = json.loads((CASES / "toy_stop_cases.json").read_text())
KV_CASES: list[dict[str, Any]] = json.loads((CASES / "toy_kv_cases.json").read_text())
TIE_CASES: list[dict[str, Any]] = json.loads((CASES / "toy_ties.json").read_text())


def random_tree(rng: random.Random) -> DraftTree:
    """A random tree whose siblings carry different tokens; the same tokens recur on other branches."""
    num_nodes = rng.choice((1, 1, 2, 5, 20, 68))
    parents = random_parents(rng, num_nodes)
    tokens: list[int] = [rng.randrange(10)]
    for node in range(1, num_nodes):
        siblings = {tokens[i] for i in range(1, node) if parents[i] == parents[node]}
        tokens.append(rng.choice([i for i in range(10) if i not in siblings]))
    return pack_tree(tokens, parents)


def random_choices(rng: random.Random, tree: DraftTree) -> list[int]:
    """A greedy choice at each node, often one that a child carries."""
    choices = []
    for node in range(len(tree.token_ids)):
        kids = tree.token_ids[tree.parent_indices == node].tolist()
        choices.append(rng.choice(kids) if kids and rng.random() < 0.8 else rng.randrange(12))
    return choices


def test_a_node_sees_itself_and_its_ancestors_alone() -> None:
    rng = random.Random(61)
    for _ in range(scaled(500, 10)):
        parents = random_tree(rng).parent_indices
        mask = ancestor_mask(parents, rng.choice((0, 1, 9)))
        graph = nx.DiGraph([(int(parent), node) for node, parent in enumerate(parents) if parent >= 0])
        graph.add_node(0)
        for node in range(len(parents)):
            assert set(np.flatnonzero(mask[node]).tolist()) == nx.ancestors(graph, node) | {node}
        assert mask.tolist() == oracles.ancestor_mask(parents.tolist())


def test_siblings_and_cousins_do_not_see_each_other() -> None:
    #      0
    #    1   3
    #    2   4
    mask = ancestor_mask(np.array([-1, 0, 1, 0, 3], np.int32))
    assert mask.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 0, 0, 1, 1],
    ]


def test_the_mask_of_a_chain_is_causal() -> None:
    for length in (1, 2, 68, 257):
        mask = ancestor_mask(np.arange(-1, length - 1, dtype=np.int32))
        assert np.array_equal(mask, np.tril(np.ones((length, length), bool)))


def test_positions_are_prefix_length_plus_depth() -> None:
    rng = random.Random(62)
    for _ in range(scaled(300, 10)):
        tree = random_tree(rng)
        assert (tree.depths + 57).tolist() == positions(tree.parent_indices.tolist(), 57)


def test_the_accepted_path_follows_the_greedy_choices_from_the_root() -> None:
    rng = random.Random(63)
    lengths = []
    for _ in range(scaled(20_000, 50)):
        tree = random_tree(rng)
        choices = random_choices(rng, tree)
        accepted, _ = walk(tree.token_ids.tolist(), tree.parent_indices.tolist(), choices)
        path = accepted_path(tree.token_ids, tree.parent_indices, np.array(choices))
        assert path.tolist() == accepted
        lengths.append(len(accepted))
    assert max(lengths) >= 3


def test_acceptance_never_jumps_to_a_branch_with_the_same_token() -> None:
    # both children of the root have a child 5; the target goes 2, then 5: node 4, never node 2
    tree = pack_tree([7, 1, 5, 2, 5], [-1, 0, 1, 0, 3])
    assert accepted_path(tree.token_ids, tree.parent_indices, np.array([2, 5, 0, 5, 0])).tolist() == [3, 4]
    # the target goes 5 at once: no child of the root carries it
    assert accepted_path(tree.token_ids, tree.parent_indices, np.array([5, 5, 0, 5, 0])).tolist() == []


def as_tuple(outcome: Outcome) -> tuple[Any, ...]:
    return (
        tuple(outcome.accepted_indices.tolist()),
        outcome.target_selected_id,
        tuple(outcome.committed_ids.tolist()),
        outcome.stop_reason,
    )


def test_the_block_is_cut_at_the_first_end_token_or_at_the_cap() -> None:
    rng = random.Random(64)
    reasons = []
    for _ in range(scaled(20_000, 50)):
        tree = random_tree(rng)
        choices = random_choices(rng, tree)
        end_ids = frozenset(rng.sample(range(12), rng.choice((0, 1, 3))))
        num_left = rng.choice((1, 1, 2, 3, 4, 200))
        accepted, selected = walk(tree.token_ids.tolist(), tree.parent_indices.tolist(), choices)
        expected = cut_block(tree.token_ids.tolist(), accepted, selected, end_ids, num_left)
        got = verify_path(tree, np.array(choices), end_ids, num_left)
        assert as_tuple(got) == (
            expected.accepted,
            expected.target_selected_id,
            expected.committed_ids,
            expected.stop_reason,
        )
        assert 1 <= len(got.committed_ids) <= num_left
        reasons.append(got.stop_reason)
    assert set(reasons) == {None, "end_token", "length"}


def test_an_end_token_at_the_cap_ends_for_the_end_token() -> None:
    tree = pack_tree([7, 1], [-1, 0])
    assert verify_path(tree, np.array([1, 2]), {2}, 2).stop_reason == "end_token"
    assert verify_path(tree, np.array([1, 2]), {1}, 1).stop_reason == "end_token"
    assert verify_path(tree, np.array([1, 2]), {3}, 2).stop_reason == "length"


def test_without_a_stop_the_target_selected_token_is_committed_last() -> None:
    tree = pack_tree([7, 1], [-1, 0])
    assert as_tuple(verify_path(tree, np.array([1, 4]), (), 3)) == ((1,), 4, (1, 4), None)
    assert as_tuple(verify_path(tree, np.array([3, 4]), (), 3)) == ((), 3, (3,), None)


@pytest.mark.parametrize("num_left", [0, -1])
def test_a_pass_without_a_token_left_is_refused(num_left: int) -> None:
    with pytest.raises(ValueError, match="num_tokens_left must be at least 1; got num_tokens_left="):
        verify_path(pack_tree([7], [-1]), np.array([1]), (), num_left)


# ------------------------------------------------------------------------------------------------- the toy cases


def toy_tree(case: dict[str, Any]) -> tuple[DraftTree, np.ndarray, list[int]]:
    """The packed tree, the target's choice at each packed node, and each packed node's id in the file."""
    nodes = case["tree"]
    tree = pack_tree(
        [node["token"] for node in nodes],
        [-1 if node["parent"] is None else node["parent"] for node in nodes],
    )
    ids = [nodes[made]["id"] for made in tree.pop_orders.tolist()]
    return tree, np.array([case["target_argmax_after_node"][str(i)] for i in ids]), ids


@pytest.mark.parametrize("case", STOP_CASES, ids=[case["name"] for case in STOP_CASES])
def test_a13_nothing_comes_out_behind_a_stop_inside_the_accepted_path(case: dict[str, Any]) -> None:
    tree, choices, ids = toy_tree(case)
    path = accepted_path(tree.token_ids, tree.parent_indices, choices).tolist()
    assert [0, *(ids[node] for node in path)] == case["expect_path_nodes"]
    assert choices[path[-1] if path else 0] == case["expect_bonus"]
    outcome = verify_path(tree, choices, set(case["stop_ids"]), case["remaining_budget"])
    assert outcome.committed_ids.tolist() == case["expect_committed"]
    assert outcome.stop_reason == {"eos": "end_token", "length": "length"}[case["expect_finish"]]
    # what is accepted is the cut block; the selected token is the one behind it, if it was committed
    assert tree.token_ids[outcome.accepted_indices].tolist() == case["expect_committed"][: len(path)]
    has_selected = len(case["expect_committed"]) > len(path)
    assert outcome.target_selected_id == (case["expect_bonus"] if has_selected else None)


@pytest.mark.parametrize("case", STOP_CASES, ids=[case["name"] for case in STOP_CASES])
def test_a13_a_cut_keeps_all_rows_but_only_the_cut_block_enters_the_suffix(case: dict[str, Any]) -> None:
    """Rows of all evaluated nodes are written whatever was accepted; the suffix automaton sees the text alone."""
    tree, choices, _ = toy_tree(case)
    outcome = verify_path(tree, choices, set(case["stop_ids"]), case["remaining_budget"])
    memories = Memories(100)
    drafter = RecapDrafter(RecapConfig(), memories)
    prompt = np.array([60, 61, 62], np.int64)
    drafter.begin(prompt, 71, prompt[:0], make_rows(np.zeros((0, 8), int), np.zeros((0, 8))))
    history = np.append(prompt, 71)
    num_nodes = len(tree.token_ids)
    top_ids = np.stack([(choices + k) % 100 for k in range(8)], axis=1)
    rows = make_rows(top_ids, np.tile(np.arange(8.0, 0, -1), (num_nodes, 1)))
    written = drafter.observe(history, tree, rows, outcome)
    assert written is not None
    assert written[:, 0].all()
    for node in range(num_nodes):
        path = oracles.path_to(node, tree.parent_indices.tolist())
        u, v, x = [*history[:-1].tolist(), *tree.token_ids[path].tolist()][-3:]
        for source in ("G", "C", "U"):
            stored = memories.lookup(source, (u, v, x))
            assert stored is not None
            assert stored.token_ids[0] == choices[node]
    # the longest suffix of "text + last committed token twice" ends where the cut block ends
    committed = outcome.committed_ids
    drafter.suffix.extend(np.concatenate([[99], history[-1:], committed]))
    match = drafter.suffix.match()
    assert (match.length, match.end) == (1 + len(committed), len(history) + len(committed))


@pytest.mark.parametrize("case", KV_CASES, ids=[case["name"] for case in KV_CASES])
def test_a14_entries_of_the_accepted_path_are_gathered_in_path_order(case: dict[str, Any]) -> None:
    tree, choices, ids = toy_tree(case)
    path = [0, *accepted_path(tree.token_ids, tree.parent_indices, choices).tolist()]
    assert [ids[node] for node in path] == case["expect_path_nodes"]
    assert choices[path[-1]] == case["expect_bonus"]
    before = case["cache_len_before"]
    # a cache whose entries are the file's slot numbers, packed as the tree is
    slots = list(range(before)) + [case["packed_slots"][i] for i in ids]
    kept = gather(slots, before, path)
    assert kept[before:] == case["expect_slots_kept_in_order"]
    assert len(kept) == case["expect_cache_len_after"]
    offsets = {str(i): int(depth) for i, depth in zip(ids, tree.depths, strict=True)}
    assert offsets == case["text_position_offset_by_depth"]
    assert int(tree.depths[path[-1]]) + 1 == case["next_root_position_offset"]


def filled_cache(num_prefix: int, num_nodes: int, num_layers: int = 2, num_heads: int = 3) -> TreeCache:
    """A cache with a prefix and one tree behind it; every entry of every layer and head is a number of its own."""
    devices = [torch.device("cpu")] * num_layers
    cache = TreeCache(devices, num_heads, 2, num_prefix + num_nodes + 5, torch.float32)
    for start, count in ((0, num_prefix), (num_prefix, num_nodes)):
        for number, layer in enumerate(cache.layers.layers):
            slots = torch.arange(start, start + count).float()
            keys = (
                slots[None, None, :, None] + torch.arange(num_heads)[None, :, None, None] * 1e3 + number * 1e5
            )
            layer.update(keys.expand(-1, -1, -1, 2), -keys.expand(-1, -1, -1, 2))
        if start == 0:
            cache.append(num_prefix)
    return cache


def kept_slots(cache: TreeCache) -> list[int]:
    """Slot numbers of the kept entries, after a check that all layers, heads, keys and values agree."""
    length = cache.prefix_length
    expected = None
    for number, layer in enumerate(cache.layers.layers):
        for head in range(layer.keys.shape[1]):
            for values in (layer.keys[0, head, :length], -layer.values[0, head, :length]):
                slots = (values - head * 1e3 - number * 1e5).tolist()
                expected = expected or slots
                assert slots == expected
    assert expected is not None
    assert all(pair[0] == pair[1] for pair in expected)
    return [int(pair[0]) for pair in expected]


@pytest.mark.parametrize("case", KV_CASES, ids=[case["name"] for case in KV_CASES])
def test_a14_the_cache_keeps_the_slots_of_the_file_in_every_layer(case: dict[str, Any]) -> None:
    tree, choices, ids = toy_tree(case)
    path = accepted_path(tree.token_ids, tree.parent_indices, choices)
    before = case["cache_len_before"]
    cache = filled_cache(before, len(ids))
    cache.keep(path)
    # the file packs nodes by their number, the tree in preorder: slots are compared through the nodes they belong to
    kept = [ids[slot - before] for slot in kept_slots(cache)[before:]]
    assert kept == case["expect_path_nodes"]
    assert cache.prefix_length == case["expect_cache_len_after"]


@pytest.mark.parametrize("path", [[], [1], [2], [1, 2], [1, 3], [2, 3], [1, 2, 5], [1, 3, 4]])
def test_a_path_is_kept_wherever_its_first_gap_is(path: list[int]) -> None:
    cache = filled_cache(4, 6)
    cache.keep(np.array(path, np.int64))
    assert kept_slots(cache) == [*range(5), *(4 + node for node in path)]


def test_the_cache_keeps_prefix_and_path_of_any_tree() -> None:
    rng = random.Random(66)
    for _ in range(scaled(500, 10)):
        num_prefix = rng.choice((1, 7, 40))
        tree = random_tree(rng)
        num_nodes = len(tree.token_ids)
        path = accepted_path(tree.token_ids, tree.parent_indices, np.array(random_choices(rng, tree)))
        cache = filled_cache(num_prefix, num_nodes)
        cache.keep(path)
        expected = gather(list(range(num_prefix + num_nodes)), num_prefix, [0, *path.tolist()])
        assert kept_slots(cache) == expected


def test_the_entries_of_a_spread_model_lie_where_each_layer_runs_and_are_kept_there() -> None:
    devices = [torch.device(name) for name in ("cpu", "cpu", "meta", "cpu")]  # meta: any other device
    cache = TreeCache(devices, 1, 1, 9, torch.float32)
    for start, count in ((0, 3), (3, 5)):
        for layer, device in enumerate(devices):
            numbers = torch.arange(start, start + count, dtype=torch.float32, device=device).reshape(1, -1, 1)
            keys, values = cache.write(layer, numbers, -numbers)
            assert keys.device == values.device == device
            assert keys.shape == values.shape == (1, 1, start + count, 1)
        if start == 0:
            cache.append(3)
    cache.keep(np.array([2, 4]))
    assert [cache.keys(layer, 6).device for layer in range(4)] == devices
    for layer in (0, 1, 3):
        assert cache.keys(layer, 6).flatten().tolist() == [0, 1, 2, 3, 5, 7]


def test_layers_run_where_their_weights_lie_or_where_those_are_brought() -> None:
    model = torch.nn.Module()
    model.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2, device=name) for name in ("cpu", "meta", "cpu"))
    gpu = torch.device("cuda", 0)
    assert layer_devices(model, 3, gpu) == [torch.device("cpu"), gpu, torch.device("cpu")]
    assert layer_devices(torch.nn.Linear(2, 2), 2, gpu) == [gpu, gpu], (
        "a model that calls its layers otherwise"
    )


@pytest.mark.parametrize("case", TIE_CASES, ids=[case["why"][:24] for case in TIE_CASES])
def test_a16_equal_scores_go_to_the_lowest_id(case: dict[str, Any]) -> None:
    for dtype, name in ((torch.float32, "fp32"), (torch.bfloat16, "bf16")):
        expected = case.get("expect_id", case.get(f"expect_id_{name}"))
        scores = score_positions(torch.tensor([case["logits"]], dtype=dtype))
        assert scores.greedy_ids.tolist() == [expected]
        margin = case.get(f"expect_margin_{name}")
        if margin is not None:
            assert float(scores.top_scores[0, 0] - scores.top_scores[0, 1]) == margin


def test_top_scores_are_ordered_by_score_then_by_lower_id() -> None:
    rng = random.Random(65)
    for _ in range(scaled(1_000, 20)):
        vocab_size = rng.choice((1, 5, 8, 9, 200))
        levels = [0.0, -0.0, 1.0, -1.0, 2.5, float("-inf"), 1e-30] if rng.random() < 0.5 else None
        rows = [
            [rng.choice(levels) if levels else rng.gauss(0, 3) for _ in range(vocab_size)]
            for _ in range(rng.choice((1, 4)))
        ]
        logits = torch.tensor(rows, dtype=torch.float32)
        scores = score_positions(logits, want_all_scores=True)
        assert scores.top_ids.tolist() == [oracles.top_ids(row, 8) for row in logits.tolist()]
        assert scores.top_scores.tolist() == logits.gather(1, torch.tensor(scores.top_ids)).tolist()
        assert scores.all_scores is not None
        assert scores.all_scores.tolist() == logits.tolist()
