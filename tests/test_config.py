"""Settings: the paper's defaults, and one sentence for every value outside its range."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from oracles import DEPTH_PRIORS, RULES, SPECIFICITY_PRIORS

from recap.config import FUSION_RULES, ROW_WIDTH, RecapConfig


def test_defaults_are_those_of_the_paper() -> None:
    config = RecapConfig()
    assert (config.max_nodes, config.max_depth, config.width) == (63, 10, 8)
    assert config.specificity_priors == SPECIFICITY_PRIORS
    assert config.depth_priors == DEPTH_PRIORS
    assert (config.suffix_min_match, config.suffix_max_nodes) == (2, 4)
    assert config.fusion == "recap"
    assert not config.forbid_repeated_edges
    assert ROW_WIDTH == 8


def test_every_fusion_rule_can_be_chosen() -> None:
    assert set(FUSION_RULES) == set(RULES)
    assert [RecapConfig(fusion=rule).fusion for rule in FUSION_RULES] == list(FUSION_RULES)


RANGES = {
    "max_nodes": (0, 256),
    "max_depth": (1, 32),
    "width": (1, 8),
    "suffix_min_match": (1, 1_000_000),
    "suffix_max_nodes": (0, 32),
}


@pytest.mark.parametrize(("name", "limits"), RANGES.items())
def test_the_limits_of_a_number_are_allowed(name: str, limits: tuple[int, int]) -> None:
    for value in limits:
        assert getattr(RecapConfig(**{name: value}), name) == value


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("value", [-1, 10**7, 2.0, 2.5, "7", None, True, math.nan])
def test_a_number_outside_its_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number from .*; got {name}="):
        RecapConfig(**{name: value})


def test_one_beyond_each_limit_is_refused() -> None:
    for name, (low, high) in RANGES.items():
        for value in (low - 1, high + 1):
            with pytest.raises(ValueError, match=f"{name} must be a whole number from {low} to {high}"):
                RecapConfig(**{name: value})


@pytest.mark.parametrize("rule", ["", "RECAP", "trigram", None])
def test_an_unknown_fusion_rule_is_refused(rule: Any) -> None:
    with pytest.raises(ValueError, match="fusion must be one of recap, no-confidence"):
        RecapConfig(fusion=rule)


@pytest.mark.parametrize(
    ("name", "choices"),
    [("expansion", ("best-first", "fixed")), ("root_fallback", ("none", "recency", "semantic"))],
)
def test_a_setting_with_choices_takes_one_of_them(name: str, choices: tuple[str, ...]) -> None:
    assert getattr(RecapConfig(), name) == choices[0]
    for choice in choices:
        assert getattr(RecapConfig(**{name: choice}), name) == choice
    for other in ("", "FIXED", None):
        with pytest.raises(ValueError, match=f"{name} must be one of {', '.join(choices)}; got {name}="):
            RecapConfig(**{name: other})


@pytest.mark.parametrize(
    "priors",
    [
        (),
        (0.7, 0.3),
        (0.7, 0.2, 0.1, 0.1),
        (0.7, 0.2, 0.0),
        (0.7, 0.2, -0.1),
        (0.2, 0.7, 0.1),
        (math.nan,) * 3,
    ],
)
def test_specificity_priors_are_three_positive_not_increasing_numbers(priors: Any) -> None:
    with pytest.raises(ValueError, match="specificity_priors must be three positive, not increasing numbers"):
        RecapConfig(specificity_priors=priors)


@pytest.mark.parametrize("priors", [(), (0.0,), (0.5, -0.1), (1.01,), (0.5, math.nan), (math.inf,)])
def test_depth_priors_are_numbers_in_zero_to_one(priors: Any) -> None:
    with pytest.raises(ValueError, match=r"depth_priors must be numbers in \(0, 1\]"):
        RecapConfig(depth_priors=priors)


def test_infinite_specificity_priors_are_refused() -> None:
    with pytest.raises(ValueError, match="specificity_priors"):
        RecapConfig(specificity_priors=(math.inf, 1.0, 1.0))


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RecapConfig().max_nodes = 3  # type: ignore[misc]


@pytest.mark.parametrize("fallback", ["recency", "semantic"])
def test_a_root_fallback_and_a_budget_by_cost_exclude_each_other(fallback: Any) -> None:
    with pytest.raises(
        ValueError, match="root_fallback must be none where follows_cost is on; got root_fallback="
    ):
        RecapConfig(follows_cost=True, root_fallback=fallback)
