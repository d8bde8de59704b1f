"""Fusion: weights by rank and confidence, the mixture's top K, and every ablation rule (Eqs. 4-6)."""

from __future__ import annotations

import itertools
import random

import numpy as np
import oracles
import pytest
from bridges import as_arrays
from oracles import RULES, SOURCES, SPECIFICITY_PRIORS, Row, confidence_of, random_row, scaled

from recap.fusion import Fused, fuse

Found = list[tuple[str, Row]]


def fused(found: Found, rule: str, priors: tuple[float, ...] = SPECIFICITY_PRIORS) -> Fused:
    rows = as_arrays([row for _, row in found])
    return fuse(
        rows.token_ids.tolist(),
        rows.probabilities.tolist(),
        rows.confidences.tolist(),
        rule,  # type: ignore[arg-type]
        priors,
        found[-1][0] == "U",
    )


def assert_equals_oracle(found: Found, rule: str, priors: tuple[float, ...] = SPECIFICITY_PRIORS) -> None:
    """Same tokens in the same order: both sides add the same float64 products in the same order."""
    got = fused(found, rule, priors)
    expected = oracles.fuse(found, rule, priors)
    assert got.token_ids.tolist() == [token_id for token_id, _ in expected]
    assert got.q.tolist() == pytest.approx([q for _, q in expected], rel=1e-12)
    assert got.weights.tolist() == pytest.approx(oracles.fusion_weights(found, rule, priors), rel=1e-12)


def random_found(rng: random.Random) -> Found:
    """One to three rows of any sources; all of one width, over few or many common tokens."""
    sources = [source for source in SOURCES if rng.random() < 0.7] or [rng.choice(SOURCES)]
    vocab_size = rng.choice((5, 8, 11, 50_000))
    alphabet = rng.sample(range(vocab_size), min(vocab_size, rng.choice((5, 9, 16, 30))))
    rows = [random_row(rng, alphabet, vocab_size) for _ in sources]
    if len(rows) > 1 and rng.random() < 0.1:
        rows[1] = rows[0]  # equal rows: equal masses everywhere
    return list(zip(sources, rows, strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_fusion_equals_the_oracle(rule: str) -> None:
    rng = random.Random(f"fusion {rule}")
    for _ in range(scaled(4_000, 40)):
        priors = rng.choice((SPECIFICITY_PRIORS, (1.0, 1.0, 1.0), (0.5, 0.25, 0.25), (0.9, 1e-6, 1e-9)))
        assert_equals_oracle(random_found(rng), rule, priors)


def row(*pairs: tuple[int, float]) -> Row:
    return Row(tuple(i for i, _ in pairs), tuple(p for _, p in pairs), confidence_of([p for _, p in pairs]))


SHARP, FLAT = row((1, 1.0), (2, 0.0)), row((3, 0.5), (4, 0.5))


@pytest.mark.parametrize(
    ("sources", "priors"),
    [
        ("GCU", (0.70, 0.20, 0.10)),
        ("CU", (0.70, 0.20)),
        ("GU", (0.70, 0.20)),
        ("GC", (0.70, 0.20)),
        ("G", (0.70,)),
        ("C", (0.70,)),
        ("U", (0.70,)),
    ],
)
def test_priors_go_by_rank_among_the_rows_available(sources: str, priors: tuple[float, ...]) -> None:
    got = fused([(source, FLAT) for source in sources], "no-confidence")
    assert got.priors.tolist() == list(priors)
    assert got.weights.tolist() == pytest.approx([p / sum(priors) for p in priors])


def test_weights_are_prior_times_confidence_normalised() -> None:
    got = fused([("G", FLAT), ("C", SHARP)], "recap")
    assert FLAT.confidence == pytest.approx(0.5)
    total = 0.7 * 0.5 + 0.2 * 1.0
    assert got.weights.tolist() == pytest.approx([0.7 * 0.5 / total, 0.2 / total])
    assert got.confidences.tolist() == pytest.approx([0.5, 1.0])
    masses = {1: 0.2 / total, 3: 0.35 / total / 2, 4: 0.35 / total / 2, 2: 0.0}
    assert dict(zip(got.token_ids.tolist(), got.q.tolist(), strict=True)) == pytest.approx(masses)
    assert got.token_ids.tolist() == [1, 3, 4, 2]


def test_each_variant_drops_its_factor() -> None:
    found: Found = [("G", FLAT), ("C", SHARP), ("U", FLAT)]
    weights = {rule: fused(found, rule).weights.tolist() for rule in RULES}
    assert weights["no-confidence"] == pytest.approx([0.7, 0.2, 0.1])
    assert weights["no-prior"] == pytest.approx([0.25, 0.5, 0.25])
    assert weights["uniform"] == pytest.approx([1 / 3] * 3)
    assert weights["hard-gate"] == [0, 1, 0]
    assert weights["back-off"] == [1, 0, 0]
    assert weights["unigram"] == [0, 0, 1]


@pytest.mark.parametrize("rule", RULES)
def test_a_factor_that_a_rule_drops_is_told_as_one(rule: str) -> None:
    got = fused([("G", FLAT), ("C", SHARP), ("U", FLAT)], rule)
    has_prior = rule in ("recap", "no-confidence")
    has_confidence = rule in ("recap", "no-prior", "hard-gate")
    assert got.priors.tolist() == (list(SPECIFICITY_PRIORS) if has_prior else [1.0] * 3)
    assert got.confidences.tolist() == pytest.approx([0.5, 1.0, 0.5] if has_confidence else [1.0] * 3)


def test_hard_gate_ties_go_to_the_more_specific_row() -> None:
    other = row((8, 0.5), (9, 0.5))
    for sources in itertools.combinations(SOURCES, 2):
        got = fused([(sources[0], other), (sources[1], FLAT)], "hard-gate")
        assert got.token_ids.tolist() == [8, 9]


def test_back_off_takes_the_most_specific_row_however_flat() -> None:
    got = fused([("C", FLAT), ("U", SHARP)], "back-off")
    assert got.token_ids.tolist() == [3, 4]


def test_unigram_only_expands_nothing_without_a_unigram_row() -> None:
    got = fused([("G", FLAT), ("C", SHARP)], "unigram")
    assert got.token_ids.tolist() == []
    assert got.q.tolist() == []
    assert got.weights.tolist() == [0, 0]


@pytest.mark.parametrize("rule", RULES)
def test_a_single_row_is_used_as_it_is(rule: str) -> None:
    # sums to less than 1: even so nothing is renormalised
    single = row((7, 0.5), (3, 0.25), (5, 0.125))
    got = fused([("U", single)], rule)
    assert got.token_ids.tolist() == [7, 3, 5]
    assert got.q.tolist() == [0.5, 0.25, 0.125]


def test_equal_mass_goes_to_the_token_met_first_in_the_most_specific_row() -> None:
    # uniform weights of a half and dyadic probabilities: every mass is exact, so the ties are
    specific = row((9, 0.25), (2, 0.25), (5, 0.25), (1, 0.25))
    general = row((1, 0.25), (0, 0.25), (5, 0.25), (4, 0.25))
    got = fused([("G", specific), ("U", general)], "uniform")
    assert got.token_ids.tolist() == [5, 1, 9, 2, 0, 4]
    assert got.q.tolist() == [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]


def test_only_the_eight_tokens_of_highest_mass_are_kept_and_renormalised() -> None:
    specific = row(*[(i, 0.125) for i in range(8)])
    general = row(*[(i, 0.125) for i in range(4, 12)])
    got = fused([("G", specific), ("U", general)], "uniform")
    # 4..7 have twice the mass; of the other eight, those met first fill the places left
    assert got.token_ids.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
    assert got.q.tolist() == pytest.approx([1 / 6] * 4 + [1 / 12] * 4)
    assert sum(got.q) == pytest.approx(1)


def test_a_token_of_several_rows_is_kept_once_with_its_masses_added() -> None:
    found: Found = [(source, row((5, 0.5), (6 + i, 0.5))) for i, source in enumerate(SOURCES)]
    got = fused(found, "uniform")
    assert got.token_ids.tolist() == [5, 6, 7, 8]
    assert got.q[0] == pytest.approx(0.5)


def test_kept_probabilities_fall_and_sum_to_one() -> None:
    rng = random.Random(31)
    for _ in range(scaled(1_000, 30)):
        found = random_found(rng)
        for rule in RULES:
            got = fused(found, rule)
            assert (np.diff(got.q) <= 0).all()
            if len(got.q):
                assert got.q.sum() == pytest.approx(1, abs=1e-6)
                assert len(set(got.token_ids.tolist())) == len(got.token_ids) <= 8


@pytest.mark.parametrize("num_rows", [0, 4])
def test_no_row_and_too_many_rows_are_refused(num_rows: int) -> None:
    with pytest.raises(ValueError, match=f"fuse must get one to 3 rows; got {num_rows}"):
        fuse([[1, 2]] * num_rows, [[0.5, 0.5]] * num_rows, [0.5] * num_rows)
