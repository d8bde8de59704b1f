"""Drafters by name: what a name means, what it may not be, and how large its trees get."""

from __future__ import annotations

import pytest
from oracles import RULES

from recap.config import RecapConfig
from recap.drafters import AutoregressiveDrafter, RecapDrafter, make_drafter, parse_method
from recap.errors import InputError
from recap.memory import Memories


@pytest.mark.parametrize(
    "name", ["", "RECAP", "recap-", "recap@", "recap@x", "recap@-1", "recap-nothing", "sam@3", "ar@3"]
)
def test_an_unknown_method_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        InputError, match=r"There is no method called .* Use one of ar, recap, recap-no-confidence"
    ):
        parse_method(name)


def test_a_method_with_too_many_nodes_is_refused_with_the_limit() -> None:
    with pytest.raises(InputError, match="max_nodes must be a whole number from 0 to 256"):
        make_drafter("recap@257", 10)


def test_methods_are_made_by_name() -> None:
    assert parse_method("ar") is None
    assert parse_method("recap") == RecapConfig()
    assert parse_method("recap@16") == RecapConfig(max_nodes=16)
    for rule in RULES[1:]:
        assert parse_method(f"recap-{rule}@7") == RecapConfig(max_nodes=7, fusion=rule)  # type: ignore[arg-type]
    memories = Memories(10)
    assert make_drafter("recap", 10, [3], memories).memories is memories
    assert isinstance(make_drafter("ar", 10), AutoregressiveDrafter)


def test_a_drafter_says_how_large_its_trees_can_get() -> None:
    assert AutoregressiveDrafter().max_tree_nodes == 1
    for config, largest in (
        (RecapConfig(), 1 + 63 + 4),
        (RecapConfig(max_nodes=6, suffix_max_nodes=0), 1 + 6),
        (RecapConfig(max_nodes=6, suffix_inside_budget=True), 1 + 6),
    ):
        assert RecapDrafter(config, Memories(10)).max_tree_nodes == largest
    # without a search there is no copy either; room that is not used is allowed
    assert RecapDrafter(RecapConfig(max_nodes=0), Memories(10)).max_tree_nodes >= 1
