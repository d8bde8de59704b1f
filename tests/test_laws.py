"""The propositions of the paper's Section 3 and Appendix F, checked on random distributions against brute force."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import numpy as np
import oracles
import pytest
from oracles import Row, scaled

from recap.config import ROW_WIDTH
from recap.fusion import fuse


def random_distribution(rng: random.Random, size: int) -> np.ndarray:
    """Positive, sums to one; sometimes nearly all mass on one token."""
    values = np.array([rng.random() ** rng.choice((1, 6)) + 1e-9 for _ in range(size)])
    return values / values.sum()


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """D(p || q) in nats; infinite where q has no mass under p."""
    used = p > 0
    return math.inf if np.any(q[used] == 0) else float((p[used] * np.log(p[used] / q[used])).sum())


def random_mixture(rng: random.Random, size: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Weights [r], rows over `size` tokens, and their mixture."""
    rows = [random_distribution(rng, size) for _ in range(rng.randrange(1, 4))]
    weights = random_distribution(rng, len(rows))
    return weights, rows, sum(w * row for w, row in zip(weights, rows, strict=True))


# --- Eqs. 3 and 14: context refinement


def best_recall(history_weights: dict[tuple[int, ...], dict[int, float]], length: int, width: int) -> float:
    """Largest expected recall of selectors that see only the last `length` tokens: each context's top `width`."""
    merged: dict[tuple[int, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for history, targets in history_weights.items():
        for token, weight in targets.items():
            merged[history[-length:]][token] += weight
    return sum(sum(sorted(targets.values(), reverse=True)[:width]) for targets in merged.values())


def test_the_best_selector_by_longer_keys_recalls_at_least_as_much():
    """Eq. 3: R*(H_1) <= R*(H_2) <= R*(H_3), whatever the joint distribution of histories and next tokens."""
    rng = random.Random(1)
    num_strict = 0
    for _ in range(scaled(300)):
        vocab_size = rng.randrange(2, 5)
        width = rng.randrange(1, vocab_size + 1)
        joint = {
            history: {token: rng.random() ** 4 for token in range(vocab_size)}
            for history in itertools.product(range(vocab_size), repeat=3)
        }
        recalls = [best_recall(joint, length, width) for length in (1, 2, 3)]
        assert recalls[0] <= recalls[1] * (1 + 1e-12)
        assert recalls[1] <= recalls[2] * (1 + 1e-12)
        num_strict += recalls[0] < recalls[2] * (1 - 1e-9)
    assert num_strict > 0


def test_the_best_selector_is_the_top_of_each_context_by_brute_force():
    """Eq. 14: no other choice of at most K candidates a context recalls more."""
    rng = random.Random(2)
    for _ in range(scaled(100)):
        joint = {(x,): {token: rng.random() for token in range(4)} for x in range(2)}
        every = [
            sum(sum(joint[x,][z] for z in chosen) for x, chosen in enumerate(choice))
            for choice in itertools.product(itertools.combinations(range(4), 2), repeat=2)
        ]
        assert max(every) == pytest.approx(best_recall(joint, 1, 2))


# --- Eqs. 7 and 15: the mixture is the weighted KL centre


def test_the_weighted_divergence_splits_into_spread_and_distance_from_the_mixture():
    """Eq. 15."""
    rng = random.Random(3)
    for _ in range(scaled(500)):
        size = rng.randrange(2, 20)
        weights, rows, mixture = random_mixture(rng, size)
        other = random_distribution(rng, size)
        left = sum(w * kl(row, other) for w, row in zip(weights, rows, strict=True))
        spread = sum(w * kl(row, mixture) for w, row in zip(weights, rows, strict=True))
        assert left == pytest.approx(spread + kl(mixture, other), abs=1e-9)


def test_no_other_distribution_is_nearer_to_all_rows_than_the_mixture():
    """Eq. 7: for any weights, and any step away from the mixture, however small."""
    rng = random.Random(4)
    for _ in range(scaled(500)):
        size = rng.randrange(2, 20)
        weights, rows, mixture = random_mixture(rng, size)
        step = rng.choice((1.0, 0.1, 1e-3))
        other = (1 - step) * mixture + step * random_distribution(rng, size)
        at_mixture, at_other = (
            sum(w * kl(row, q) for w, row in zip(weights, rows, strict=True)) for q in (mixture, other)
        )
        assert at_mixture <= at_other + 1e-12


# --- Eqs. 16 and 17: what top-K retention is best at


def test_divergence_on_a_support_is_that_from_the_conditional_and_a_constant():
    """Eq. 17: D(rho || m) = D(rho || m(.|S)) - log m(S) for rho supported on S."""
    rng = random.Random(5)
    for _ in range(scaled(500)):
        size = rng.randrange(2, 20)
        mixture = random_distribution(rng, size)
        support = rng.sample(range(size), rng.randrange(1, size + 1))
        conditional, rho = np.zeros(size), np.zeros(size)
        conditional[support] = mixture[support] / mixture[support].sum()
        rho[support] = random_distribution(rng, len(support))
        expected = kl(rho, conditional) - math.log(mixture[support].sum())
        assert kl(rho, mixture) == pytest.approx(expected, abs=1e-9)


def random_rows(rng: random.Random) -> list[Row]:
    """One to three rows over a few shared tokens, as the memories hold them: fp32, falling."""
    rows = []
    for _ in range(rng.randrange(1, 4)):
        ids = rng.sample(range(11), ROW_WIDTH)
        masses = np.sort(random_distribution(rng, ROW_WIDTH).astype(np.float32))[::-1]
        rows.append(Row(tuple(ids), tuple(map(float, masses)), oracles.confidence_of(masses)))
    return rows


def test_the_kept_tokens_preserve_the_most_mass_and_q_is_nearest_among_all_small_supports():
    """Eq. 16, of the shipped fusion: no support of at most K tokens, and no distribution on one, is nearer to m."""
    rng = random.Random(6)
    for _ in range(scaled(100)):
        rows = random_rows(rng)
        fused = fuse(
            [row.token_ids for row in rows],
            [row.probabilities for row in rows],
            [row.confidence for row in rows],
        )
        mixture = np.zeros(11)
        for weight, row in zip(fused.weights, rows, strict=True):
            mixture[list(row.token_ids)] += weight * np.array(row.probabilities)
        mixture /= mixture.sum()
        q = np.zeros(11)
        q[fused.token_ids] = fused.q
        q /= q.sum()
        supports = list(itertools.combinations(np.flatnonzero(mixture).tolist(), len(fused.token_ids)))
        best_mass = max(mixture[list(support)].sum() for support in supports)
        assert mixture[fused.token_ids].sum() == pytest.approx(best_mass)
        assert kl(q, mixture) == pytest.approx(-math.log(best_mass), abs=1e-6)
        for support in rng.sample(supports, min(20, len(supports))):
            rho = np.zeros(11)
            rho[list(support)] = random_distribution(rng, len(support))
            assert kl(q, mixture) <= kl(rho, mixture) + 1e-6


# --- Eq. 4's confidence, and Eq. 8


def test_confidence_is_one_over_the_effective_number_of_tokens():
    """c = exp(-H): 1 for one token, 1/n for n equal ones, and never outside."""
    for number in range(1, ROW_WIDTH + 1):
        assert oracles.confidence_of([1 / number] * number) == pytest.approx(1 / number)
    rng = random.Random(7)
    for _ in range(scaled(500)):
        confidence = oracles.confidence_of(random_distribution(rng, ROW_WIDTH))
        assert 1 / ROW_WIDTH - 1e-6 <= confidence <= 1


def test_priors_go_by_rank_so_a_missing_map_does_not_dilute_the_others():
    """With C and U alone the weights are alpha_1 and alpha_2 times c, not alpha_2 and alpha_3."""
    rng = random.Random(8)
    for _ in range(scaled(200)):
        rows = (random_rows(rng) + random_rows(rng))[:2]
        fused = fuse(
            [row.token_ids for row in rows],
            [row.probabilities for row in rows],
            [row.confidence for row in rows],
        )
        raw = [0.70 * rows[0].confidence, 0.20 * rows[1].confidence]
        assert fused.weights.tolist() == pytest.approx([value / sum(raw) for value in raw])
