"""The candidate tree is the best one: search, suffix insertion and packing against enumeration (Eq. 8)."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Sequence

import networkx as nx
import numpy as np
import oracles
import pytest
from bridges import fill
from oracles import (
    DEPTH_PRIORS,
    RULES,
    SPECIFICITY_PRIORS,
    Case,
    DictMemories,
    PackedTree,
    Row,
    SearchRules,
    best_first_tree,
    brute_force_tree,
    confidence_of,
    is_prefix_closed,
    pack_tree,
    random_case,
    random_parents,
    random_rules,
    scaled,
    walk,
)

from recap.config import RecapConfig
from recap.memory import Memories
from recap.search import TreeBuilder
from recap.tree import DraftTree, path_contexts, root_only_tree
from recap.tree import pack_tree as pack_nodes
from recap.verification import accepted_path, ancestor_mask


def config_of(
    rules: SearchRules, rule: str = "recap", priors: tuple[float, float, float] = SPECIFICITY_PRIORS
) -> RecapConfig:
    return RecapConfig(
        max_nodes=rules.max_nodes,
        max_depth=rules.max_depth,
        width=rules.width,
        specificity_priors=priors,
        depth_priors=rules.depth_priors,
        fusion=rule,  # type: ignore[arg-type]
        forbid_repeated_edges=rules.forbid_repeated_edges,
    )


def built(case: Case, config: RecapConfig, rules: SearchRules, continuation: Sequence[int] = ()) -> DraftTree:
    memories = fill(Memories(case.vocab_size), case.memories)
    builder = TreeBuilder(config, rules.blocked_ids)
    return builder.build(memories, np.array(case.history, np.int64), np.array(continuation, np.int64))


def expander(case: Case, rule: str = "recap", priors: Sequence[float] = SPECIFICITY_PRIORS) -> oracles.Expand:
    """Lookup and fusion of the oracle, each context once."""
    known: dict[tuple[int, ...], oracles.Candidates] = {}

    def expand(context: Sequence[int]) -> oracles.Candidates:
        key = tuple(context[-3:])
        if key not in known:
            known[key] = oracles.fuse(case.memories.lookup(context), rule, priors)
        return known[key]

    return expand


def assert_same_tree(tree: DraftTree, expected: PackedTree) -> None:
    """The same nodes, packed and made in the same order.

    Orders are compared exactly, without room for near ties: both sides multiply and add the same float64 values in the
    same order, so equal scores are equal bits on both. The scores are compared to 1e-12 for a compiler that fuses.
    """
    assert tuple(tree.token_ids.tolist()) == expected.token_ids
    assert tuple(tree.parent_indices.tolist()) == expected.parents
    assert tuple(tree.depths.tolist()) == expected.depths
    assert tuple(tree.pop_orders.tolist()) == expected.pop_orders
    scores = [math.nan if score is None else score for score in expected.scores]
    assert tree.scores.tolist() == pytest.approx(scores, rel=1e-12, nan_ok=True)
    assert tree.is_suffix.tolist() == [score is None for score in expected.scores]


def random_continuation(rng: random.Random, case: Case, paths: Sequence[oracles.Path]) -> list[int]:
    """A continuation that shares some of a path of the tree, or none, and goes on somewhere else."""
    shared = rng.choice(paths).token_ids if paths and rng.random() < 0.6 else ()
    return [*shared[: rng.randrange(12)], *(rng.choice(case.alphabet) for _ in range(rng.randrange(9)))]


def test_search_fusion_acceptance_and_gather_equal_the_oracles_on_random_memories() -> None:
    rng = random.Random(51)
    num_nodes = 0
    for _ in range(scaled(200_000, 20)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        rule, priors = rng.choice(("recap", *RULES)), rng.choice((SPECIFICITY_PRIORS, (0.5, 0.25, 0.25)))
        paths, _ = best_first_tree(case.history, expander(case, rule, priors), rules)
        config = config_of(rules, rule, priors)
        continuation = [t for t in random_continuation(rng, case, paths) if t not in rules.blocked_ids][:14]
        copied = continuation if rules.max_nodes else []
        tree = built(case, config, rules, continuation)
        expected = pack_tree(case.history[-1], paths, copied, 4)
        assert_same_tree(tree, expected)
        num_nodes += len(expected) - 1

        greedy_ids = random_choices(rng, expected, case.alphabet)
        accepted, _ = walk(expected.token_ids, expected.parents, greedy_ids)
        path = accepted_path(tree.token_ids, tree.parent_indices, np.array(greedy_ids))
        assert path.tolist() == accepted
        slots = np.arange(1_000, 1_010 + len(expected))
        assert (
            slots[10 + np.concatenate([[0], path])].tolist()
            == oracles.gather(slots.tolist(), 10, [0, *accepted])[10:]
        )
    assert num_nodes > 5 * scaled(200_000, 20)  # the cases were not all empty


def random_choices(rng: random.Random, tree: PackedTree, alphabet: Sequence[int]) -> list[int]:
    """A greedy choice at every node, mostly one of its children's tokens."""
    kids: list[list[int]] = [[] for _ in range(len(tree))]
    for token_id, parent in zip(tree.token_ids[1:], tree.parents[1:], strict=True):
        kids[parent].append(token_id)
    return [rng.choice(tokens) if tokens and rng.random() < 0.7 else rng.choice(alphabet) for tokens in kids]


def test_best_first_makes_the_best_of_all_paths_in_falling_order() -> None:
    """Against an enumeration of EVERY path: the budget's nodes are the best ones and closed under prefixes."""
    rng = random.Random(52)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        max_depth = rng.choice((1, 2, 3, 4))
        width = {1: 8, 2: 8, 3: 5, 4: 3}[max_depth]
        rules = dataclasses.replace(random_rules(rng, case), max_depth=max_depth, width=width)
        best = brute_force_tree(case.history, expander(case), rules)
        assert is_prefix_closed(best)
        assert_same_tree(built(case, config_of(rules), rules), pack_tree(case.history[-1], best))


def test_fixed_expansion_goes_depth_by_depth_with_equal_width() -> None:
    rng = random.Random(59)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        # the oracle makes whole layers: no more than it takes to fill the budget
        rules = dataclasses.replace(
            rules, max_nodes=min(rules.max_nodes, 63), max_depth=min(rules.max_depth, 10)
        )
        paths = oracles.breadth_first_tree(case.history, expander(case), rules)
        config = dataclasses.replace(config_of(rules), expansion="fixed")
        assert_same_tree(built(case, config, rules), pack_tree(case.history[-1], paths))


def test_a_suffix_inside_the_budget_takes_the_place_of_the_last_nodes() -> None:
    rng = random.Random(60)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        paths, _ = best_first_tree(case.history, expander(case), rules)
        continuation = [t for t in random_continuation(rng, case, paths) if t not in rules.blocked_ids][:14]
        copied = continuation if rules.max_nodes else []
        config = dataclasses.replace(config_of(rules), suffix_inside_budget=True)
        trees = (
            pack_tree(case.history[-1], paths[:n], copied, min(4, rules.max_nodes))
            for n in range(len(paths), -1, -1)
        )
        fitting = next(tree for tree in trees if len(tree) <= 1 + rules.max_nodes)
        assert_same_tree(built(case, config, rules, continuation), fitting)


def test_the_tree_of_a_smaller_budget_is_the_start_of_a_larger_one() -> None:
    rng = random.Random(53)
    for _ in range(scaled(300, 10)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        memories = fill(Memories(case.vocab_size), case.memories)
        builder = TreeBuilder(config_of(rules), rules.blocked_ids)
        history = np.array(case.history, np.int64)
        largest = builder.search(memories, history, 256)
        scores = largest[3][1:].tolist()
        assert scores == sorted(scores, reverse=True)
        for budget in (0, 1, 6, 24, 63):
            smaller = builder.search(memories, history, budget)
            assert len(smaller[0]) <= budget + 1
            for some, every in zip(smaller, largest, strict=True):
                assert some.tolist() == every[: budget + 1].tolist()


def row(*pairs: tuple[int, float]) -> Row:
    return Row(tuple(i for i, _ in pairs), tuple(p for _, p in pairs), confidence_of([p for _, p in pairs]))


def case_of(
    history: Sequence[int], unigram: dict[int, Row], bigram: dict[tuple[int, int], Row] | None = None
) -> Case:
    maps = {"G": {}, "C": dict(bigram or {}), "U": {(token,): value for token, value in unigram.items()}}
    return Case(100, (), tuple(history), DictMemories(maps))


def paths_of(tree: DraftTree, by_pop_order: bool = True) -> list[tuple[int, ...]]:
    """Token paths of the nodes without the root, in the order of making or of packing."""
    parents = tree.parent_indices.tolist()
    paths = [
        tuple(int(tree.token_ids[i]) for i in oracles.path_to(node, parents)[1:])
        for node in range(len(parents))
    ]
    order = np.argsort(tree.pop_orders) if by_pop_order else np.arange(len(parents))
    return [paths[node] for node in order.tolist()][1:]


def test_score_is_the_product_of_depth_priors_and_probabilities_along_the_path() -> None:
    case = case_of([7], {7: row((1, 0.9), (2, 0.1)), 1: row((3, 0.8), (4, 0.2)), 3: row((5, 1.0))})
    rules = SearchRules(max_nodes=3)
    tree = built(case, config_of(rules), rules)
    assert paths_of(tree) == [(1,), (1, 3), (1, 3, 5)]
    first, second, third = 0.68 * 0.9, 0.68 * 0.9 * 0.63 * 0.8, 0.68 * 0.9 * 0.63 * 0.8 * 0.50
    assert tree.scores.tolist() == pytest.approx([1, first, second, third], rel=1e-6)
    assert tree.q.tolist() == pytest.approx([1, 0.9, 0.8, 1.0])


def test_the_last_depth_prior_holds_for_all_deeper_nodes() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    rules = SearchRules(max_nodes=10)
    tree = built(case, config_of(rules), rules)
    factors = [*DEPTH_PRIORS, 0.38, 0.38, 0.38, 0.38]
    assert tree.scores.tolist() == pytest.approx([1, *itertools.accumulate(factors, lambda a, b: a * b)])


def test_depth_is_limited_and_a_chain_uses_it_all() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    for max_depth in (1, 2, 10, 32):
        rules = SearchRules(max_nodes=256, max_depth=max_depth)
        assert built(case, config_of(rules), rules).depths.tolist() == list(range(max_depth + 1))


def test_a_node_is_expanded_under_its_own_path_not_under_the_history() -> None:
    bigram = {(7, 1): row((3, 1.0)), (2, 1): row((4, 1.0))}
    case = case_of([9, 7], {7: row((1, 0.5), (2, 0.5)), 2: row((1, 1.0))}, bigram)
    rules = SearchRules(max_nodes=63)
    tree = built(case, config_of(rules), rules)
    assert set(paths_of(tree)) == {(1,), (2,), (1, 3), (2, 1), (2, 1, 4)}


def test_equal_scores_are_popped_by_the_smaller_rank_path() -> None:
    # every factor is a power of two: (3,) scores 1/4, as do (1, 5) and (2, 5); ranks order them
    half = row((1, 0.5), (2, 0.5))
    case = case_of(
        [7], {7: row((1, 0.5), (2, 0.25), (3, 0.25)), 1: row((5, 0.5), (6, 0.5)), 2: row((5, 1.0)), 6: half}
    )
    rules = SearchRules(max_nodes=63, depth_priors=(1.0,))
    tree = built(case, config_of(rules), rules)
    assert paths_of(tree)[:6] == [(1,), (1, 5), (1, 6), (2,), (2, 5), (3,)]
    assert tree.scores[np.argsort(tree.pop_orders)].tolist()[:7] == [1.0, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]


def test_ties_do_not_depend_on_token_ids() -> None:
    # the rank path decides, not the id: 90 stands before 5 in the row
    case = case_of([7], {7: row((90, 0.5), (5, 0.5))})
    rules = SearchRules(max_nodes=1)
    assert paths_of(built(case, config_of(rules), rules)) == [(90,)]


def test_equal_tokens_on_different_branches_are_different_nodes() -> None:
    case = case_of([7], {7: row((1, 0.5), (2, 0.5)), 1: row((5, 1.0)), 2: row((5, 1.0)), 5: row((7, 1.0))})
    rules = SearchRules(max_nodes=63, max_depth=3)
    tree = built(case, config_of(rules), rules)
    assert paths_of(tree, by_pop_order=False) == [(1,), (1, 5), (1, 5, 7), (2,), (2, 5), (2, 5, 7)]


def test_a_token_repeated_in_one_row_is_one_child() -> None:
    case = case_of([7], {7: Row((3, 3, 4), (0.5, 0.25, 0.25), 0.35)})
    rules = SearchRules(max_depth=1)
    assert paths_of(built(case, config_of(rules), rules)) == [(3,), (4,)]


def test_blocked_ids_are_never_drafted_and_take_no_place() -> None:
    case = case_of([7], {7: row((1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1))})
    rules = SearchRules(max_depth=1, width=2, blocked_ids=frozenset({1, 3}))
    tree = built(case, config_of(rules), rules)
    assert paths_of(tree) == [(2,), (4,)]
    assert tree.q[1:].tolist() == pytest.approx([0.3, 0.1])  # q is that of the row, not renormalised


def test_repeated_edges_are_left_out_only_when_asked_for() -> None:
    case = case_of([7], {7: row((8, 0.5), (9, 0.5)), 8: row((7, 1.0)), 9: row((9, 1.0))})
    free = SearchRules(max_nodes=63, max_depth=4)
    kept = dataclasses.replace(free, forbid_repeated_edges=True)
    with_repeats = set(paths_of(built(case, config_of(free), free)))
    without = set(paths_of(built(case, config_of(kept), kept)))
    assert (8, 7, 8) in with_repeats
    assert (9, 9, 9) in with_repeats
    # on 7-8-7 only 9 is new; 9-9 may be walked once
    assert without == {(8,), (9,), (8, 7), (8, 7, 9), (8, 7, 9, 9), (9, 9)}


@pytest.mark.parametrize("rules", [SearchRules(max_nodes=0), SearchRules(max_nodes=63)])
def test_without_rows_or_budget_the_root_is_alone(rules: SearchRules) -> None:
    unigram = {7: row((1, 1.0))} if rules.max_nodes == 0 else {}
    tree = built(case_of([7], unigram), config_of(rules), rules)
    assert tree.num_draft_nodes == 0
    assert (tree.token_ids.tolist(), tree.parent_indices.tolist(), tree.depths.tolist()) == ([7], [-1], [0])


def test_a_history_shorter_than_a_key_finds_only_shorter_keys() -> None:
    maps = {"G": {(7, 7, 7): row((1, 1.0))}, "C": {(7, 7): row((2, 1.0))}, "U": {(7,): row((3, 1.0))}}
    rules = SearchRules(max_depth=1)
    for length, first in ((1, 3), (2, 2), (3, 1)):
        case = Case(100, (), (7,) * length, DictMemories(maps))
        tree = built(case, config_of(rules, "back-off"), rules)
        assert paths_of(tree) == [(first,)]


def test_building_a_tree_changes_no_memory() -> None:
    case = random_case(random.Random(54))
    memories = fill(Memories(case.vocab_size), case.memories)
    before = [[array.copy() for array in memories.map(source)] for source in oracles.SOURCES]
    TreeBuilder(RecapConfig(), frozenset()).build(memories, np.array(case.history), np.empty(0, np.int64))
    for source, arrays in zip(oracles.SOURCES, before, strict=True):
        for old, new in zip(arrays, memories.map(source), strict=True):
            assert np.array_equal(old, new)


# ------------------------------------------------------------------------------------------------- suffix insertion


FORK = {7: row((1, 0.5), (2, 0.5)), 1: row((3, 1.0))}


def with_suffix(continuation: Sequence[int], max_new: int = 4, **rules: int) -> DraftTree:
    search = SearchRules(**{"max_nodes": 63, "max_depth": 2, **rules})  # type: ignore[arg-type]
    config = dataclasses.replace(config_of(search), suffix_max_nodes=max_new)
    return built(case_of([7], FORK), config, search, continuation)


def test_suffix_walks_what_the_tree_already_has_and_adds_only_the_rest() -> None:
    tree = with_suffix([1, 3, 4, 5])
    assert paths_of(tree, by_pop_order=False) == [(1,), (1, 3), (1, 3, 4), (1, 3, 4, 5), (2,)]
    assert tree.is_suffix.tolist() == [False, False, False, True, True, False]
    assert paths_of(tree)[-2:] == [(1, 3, 4), (1, 3, 4, 5)]  # made after all of the search's nodes


def test_suffix_nodes_have_neither_score_nor_probability() -> None:
    tree = with_suffix([9, 8])
    assert np.isnan(tree.q[tree.is_suffix]).all()
    assert np.isnan(tree.scores[tree.is_suffix]).all()
    assert tree.is_suffix.sum() == 2
    assert not np.isnan(tree.scores[~tree.is_suffix]).any()


def test_a_suffix_node_is_the_last_of_its_siblings() -> None:
    assert paths_of(with_suffix([9, 8]), by_pop_order=False) == [(1,), (1, 3), (2,), (9,), (9, 8)]


@pytest.mark.parametrize("max_new", [0, 1, 3, 4, 32])
def test_at_most_so_many_new_nodes_are_added(max_new: int) -> None:
    tree = with_suffix([1, 3, *range(20, 60)], max_new)
    assert tree.is_suffix.sum() == max_new
    assert tree.depths.max() == 2 + max_new


def test_a_continuation_that_the_tree_holds_adds_nothing() -> None:
    assert not with_suffix([1, 3]).is_suffix.any()


def test_suffix_nodes_come_on_top_of_the_budget_and_reach_four_below_the_deepest_node() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    rules = SearchRules(max_nodes=63)
    tree = built(case, config_of(rules), rules, [7] * 10 + [5, 6, 7, 8, 9, 10])
    assert tree.depths.tolist() == list(range(15))
    flat = row(*[(i, 0.125) for i in range(8)])
    full = case_of([7], dict.fromkeys(range(8), flat))
    assert len(built(full, config_of(rules), rules, [50, 51, 52, 53, 54]).token_ids) == 1 + 63 + 4


def test_no_suffix_is_added_in_a_pass_of_zero_nodes() -> None:
    assert with_suffix([9, 8], max_nodes=0).num_draft_nodes == 0


def test_a_suffix_is_added_where_no_row_is_found() -> None:
    rules = SearchRules()
    tree = built(case_of([7], {}), config_of(rules), rules, [1, 2])
    assert paths_of(tree) == [(1,), (1, 2)]


# ------------------------------------------------------------------------------------------------- packing


def random_making_order(rng: random.Random, parents: list[int]) -> list[int]:
    """A random order in which each node comes after its parent."""
    order = [0]
    while len(order) < len(parents):
        ready = [i for i in range(len(parents)) if i not in order and parents[i] in order]
        order.append(rng.choice(ready))
    return order


def test_packing_is_preorder_by_rank_whatever_order_nodes_were_made_in() -> None:
    rng = random.Random(55)
    for _ in range(scaled(500, 20)):
        parents = random_parents(rng, rng.choice((1, 2, 5, 20, 40)))
        order = random_making_order(rng, parents)
        made_parents = [-1] + [order.index(parents[node]) for node in order[1:]]
        tree = pack_nodes([100 + i for i in range(len(order))], made_parents)
        graph = nx.DiGraph()
        graph.add_node(0)
        graph.add_edges_from((parent, child) for child, parent in enumerate(made_parents) if child)
        # networkx visits successors in the order in which edges were added: siblings by order of making
        preorder = list(nx.dfs_preorder_nodes(graph, 0))
        assert tree.pop_orders.tolist() == preorder
        assert tree.token_ids.tolist() == [100 + node for node in preorder]
        assert tree.parent_indices.tolist() == [
            -1,
            *(preorder.index(made_parents[node]) for node in preorder[1:]),
        ]
        assert tree.depths.tolist() == [nx.shortest_path_length(graph, 0, node) for node in preorder]
        ranks = [0, *(list(graph.successors(made_parents[node])).index(node) for node in preorder[1:])]
        assert tree.ranks.tolist() == ranks


def test_the_chain_of_first_choices_is_contiguous_behind_the_root() -> None:
    rng = random.Random(56)
    for _ in range(scaled(300, 10)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        tree = built(case, config_of(rules), rules)
        node, length = 0, 0
        while True:
            kids = np.flatnonzero(tree.parent_indices == node)
            if not len(kids):
                break
            node, length = int(kids[0]), length + 1
            assert node == length


def test_packed_fields_follow_their_node() -> None:
    tree = pack_nodes(
        [9, 1, 2, 3], [-1, 0, 0, 1], [1, 0.6, 0.4, 0.5], [1, 0.5, 0.3, 0.2], [False, False, True, False]
    )
    assert tree.token_ids.tolist() == [9, 1, 3, 2]
    assert tree.q.tolist() == [1, 0.6, 0.5, 0.4]
    assert tree.scores.tolist() == [1, 0.5, 0.2, 0.3]
    assert tree.is_suffix.tolist() == [False, False, False, True]


def test_a_tree_of_another_drafter_has_no_scores() -> None:
    for tree in (root_only_tree(5), pack_nodes([5], [-1])):
        assert tree.token_ids.tolist() == [5]
        assert tree.num_draft_nodes == 0
        assert np.isnan(tree.scores).all()
        assert np.isnan(tree.q).all()
        assert not tree.is_suffix.any()


@pytest.mark.parametrize("parents", [[], [0], [-1, -1], [-1, 1], [-1, 2, 0], [-1, 0, -1]])
def test_nodes_without_an_earlier_parent_are_refused(parents: list[int]) -> None:
    with pytest.raises(ValueError, match="parent_indices must start with -1 and name an earlier node each"):
        pack_nodes([5] * len(parents), parents)


def test_contexts_are_the_last_three_tokens_on_each_path() -> None:
    rng = random.Random(57)
    for _ in range(scaled(300, 10)):
        history = [rng.randrange(50) for _ in range(rng.choice((1, 2, 3, 6)))]
        parents = random_parents(rng, rng.choice((1, 2, 30)))
        tokens = [history[-1], *(rng.randrange(50) for _ in parents[1:])]
        u, v, _ = [-1, -1, -1, *history][-3:]
        got = path_contexts(np.array(tokens), np.array(parents, np.int32), u, v)
        for node in range(len(parents)):
            path = [tokens[i] for i in oracles.path_to(node, parents)]
            assert got[node].tolist() == [-1, -1, -1, *history[:-1], *path][-3:]


def test_the_mask_of_a_built_tree_is_its_ancestors_and_itself() -> None:
    rng = random.Random(58)
    for _ in range(scaled(100, 5)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        tree = built(case, config_of(rules), rules)
        assert ancestor_mask(tree.parent_indices).tolist() == oracles.ancestor_mask(
            tree.parent_indices.tolist()
        )
