"""The ablations: fixed expansion, budgets that hold the suffix, no suffix, and the priors of Appendix I."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import oracles
import pytest
from oracles import Case, DictMemories, SearchRules, best_first_tree, random_case, random_rules, scaled
from scripted_runs import run
from tree_cases import assert_same_tree, built, config_of, expander

from recap.config import RecapConfig
from recap.drafters import make_drafter, parse_method
from recap.drafters.root_fallback import RootFallbackDrafter
from recap.engine import generate
from recap.errors import InputError
from recap.recorder import Recorder
from recap.rows import make_rows
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores


def test_fixed_expansion_fills_depth_by_depth() -> None:
    rng = random.Random(131)
    for _ in range(scaled(2_000, 60)):
        case = random_case(rng)
        rules = dataclasses.replace(random_rules(rng, case), max_depth=6)
        config = dataclasses.replace(config_of(rules), expansion="fixed")
        paths = oracles.breadth_first_tree(case.history, expander(case), rules)
        assert_same_tree(built(case, config, rules), oracles.pack_tree(case.history[-1], paths))


def test_the_named_fixed_expansion_has_two_children_at_every_node() -> None:
    config = parse_method("recap-fixed")
    assert config == RecapConfig(expansion="fixed", width=2)
    case = Case(30, tuple(range(30)), (3,), DictMemories())
    for token in range(30):
        row = oracles.Row(tuple((token + k) % 30 for k in range(1, 9)), (0.125,) * 8, 8.0)
        case.memories.maps["U"][token,] = row
    tree = built(case, config, SearchRules())
    depths = np.bincount(tree.depths)
    assert depths.tolist() == [1, 2, 4, 8, 16, 32, 1]


@pytest.mark.parametrize("budget", [31, 63, 127])
def test_suffix_nodes_count_inside_a_named_budget(budget: int) -> None:
    config = parse_method(f"recap-budget-{budget}")
    assert config == RecapConfig(max_nodes=budget, suffix_inside_budget=True)
    assert make_drafter(f"recap-budget-{budget}", 10).max_tree_nodes == 1 + budget


def test_a_budget_with_its_suffix_is_the_largest_search_that_leaves_room_for_it() -> None:
    rng = random.Random(132)
    shares = set()
    for _ in range(scaled(2_000, 80)):
        case = random_case(rng)
        budget, num_copied = rng.choice((1, 3, 6, 31, 63)), rng.choice((1, 4, 4))
        config = RecapConfig(max_nodes=budget, suffix_max_nodes=num_copied, suffix_inside_budget=True)
        paths, _ = best_first_tree(case.history, expander(case), SearchRules(max_nodes=budget))
        shared = rng.choice(paths).token_ids if paths and rng.random() < 0.6 else ()
        continuation = [*shared, *(rng.choice(case.alphabet) for _ in range(rng.randrange(6)))][:14]
        for num_searched in range(len(paths), -1, -1):
            limit = min(num_copied, budget)
            expected = oracles.pack_tree(case.history[-1], paths[:num_searched], continuation, limit)
            if len(expected) <= 1 + budget:
                break
        tree = built(case, config, SearchRules(), continuation)
        assert tuple(tree.token_ids.tolist()) == expected.token_ids
        assert tuple(tree.parent_indices.tolist()) == expected.parents
        assert tree.num_draft_nodes <= budget
        shares.add(int(tree.is_suffix.sum()))
    assert shares >= {0, 1, 4}


def test_joined_names_have_the_settings_of_all_their_parts() -> None:
    """The paper's Tables 4, 7, 10 and 12: components taken away where c = 1, copies inside the budget."""
    assert parse_method("recap-no-confidence+fixed@31") == RecapConfig(
        fusion="no-confidence", expansion="fixed", width=2, max_nodes=31
    )
    inside = {"fusion": "no-confidence", "suffix_inside_budget": True}
    assert parse_method("recap-no-confidence+budget-63") == RecapConfig(**inside)
    for fallback in ("recency", "semantic"):
        name = f"recap-no-confidence+budget-63+{fallback}"
        assert parse_method(name) == RecapConfig(**inside, root_fallback=fallback)
        assert isinstance(make_drafter(name, 10), RootFallbackDrafter)


@pytest.mark.parametrize(
    "name",
    [
        *("recap-no-confidence+uniform", "recap-fixed+fixed", "recap+sam", "sam+fixed", "recap-fixed+"),
        *("recap-no-confidence+budget-31@16", "recap+recap-fixed", "recap-recency@auto"),
    ],
)
def test_names_that_contradict_each_other_are_not_joined(name: str) -> None:
    with pytest.raises(InputError):
        parse_method(name)


def test_no_suffix_copies_nothing() -> None:
    assert parse_method("recap-no-suffix") == RecapConfig(suffix_max_nodes=0)
    nothing = np.empty(0, np.int64)
    text = np.array([4, 5, 6, 7, 4, 5], np.int64)
    rows = make_rows(np.empty((0, 8), np.int64), np.empty((0, 8)))
    for name, num_copied in (("recap-no-suffix", 0), ("recap", 4)):
        drafter = make_drafter(name, 20)
        drafter.begin(text[:-1], int(text[-1]), nothing, rows)
        assert drafter.draft(text).num_draft_nodes == num_copied


def test_the_priors_of_appendix_i_leave_confidence_out() -> None:
    rng = random.Random(133)
    for name, priors in (
        ("recap-soft-priors", (0.55, 0.30, 0.15)),
        ("recap-sharp-priors", (0.85, 0.10, 0.05)),
    ):
        config = parse_method(name)
        for _ in range(scaled(300, 15)):
            case = random_case(rng)
            expand = expander(case, "no-confidence", priors)
            paths, _ = best_first_tree(case.history, expand, SearchRules())
            expected = oracles.pack_tree(case.history[-1], paths, (), 0)
            assert tuple(built(case, config, SearchRules()).token_ids.tolist()) == expected.token_ids


@pytest.mark.parametrize(
    "name", ["recap-budget-31", "recap-fixed", "recap-recency", "token_recycling", "suffix_tree"]
)
def test_a_recorded_pass_shows_the_tree_and_the_paths_behind_it(name: str) -> None:
    target = ScriptedTarget(30, random_scores(30, 1, 4))
    request = Request(np.array([1, 2, 3], np.int64), 40)
    drafter = make_drafter(name, 30)
    recorder = Recorder(drafter, name, name, {}, target.environment)
    list(generate(target, drafter, request, recorder=recorder))
    _, plain = run(target, make_drafter(name, 30), request)
    for a_pass, expected in zip(recorder.run().iterations, plain, strict=True):
        assert (a_pass.accepted, a_pass.num_nodes) == (expected.accepted, expected.num_nodes)
        for node in a_pass.detail.nodes[1:]:
            assert (node.q is None) == (node.score is None) == (node.origin == "suffix")
        if not name.startswith("recap"):
            assert {node.origin for node in a_pass.detail.nodes[1:]} <= {"suffix"}
            assert a_pass.detail.missed == ()
        elif a_pass.detail.missed and name != "recap-fixed":
            fused = [node.score for node in a_pass.detail.nodes if node.origin == "fusion"]
            assert max(path.score for path in a_pass.detail.missed) <= min(fused)
