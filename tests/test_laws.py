"""What the paper's Section 3 and Appendix F say of rows and their fusion holds for the shipped code, by brute force."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import oracles
import pytest
from oracles import Row, scaled

from recap.config import ROW_WIDTH
from recap.fusion import Fused, fuse
from recap.rows import make_rows


def random_distribution(rng: random.Random, size: int) -> np.ndarray:
    """Positive, sums to one; sometimes nearly all mass on one token."""
    values = np.array([rng.random() ** rng.choice((1, 6)) + 1e-9 for _ in range(size)])
    return values / values.sum()


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """D(p || q) in nats; infinite where q has no mass under p."""
    used = p > 0
    return math.inf if np.any(q[used] == 0) else float((p[used] * np.log(p[used] / q[used])).sum())


def over(token_ids: object, masses: object, size: int) -> np.ndarray:
    """Masses by token as a distribution over `size` tokens, free of fp32's rounding in their sum."""
    dense = np.zeros(size)
    dense[list(token_ids)] = masses
    return dense / dense.sum()


def fused(rows: list[Row]) -> Fused:
    """The shipped fusion of rows, the most specific first."""
    return fuse(
        [row.token_ids for row in rows],
        [row.probabilities for row in rows],
        [row.confidence for row in rows],
    )


def random_rows(rng: random.Random, num_tokens: int = 11) -> list[Row]:
    """One to three rows over a few shared tokens, as the memories hold them: fp32, falling."""
    rows = []
    for _ in range(rng.randrange(1, 4)):
        ids = rng.sample(range(num_tokens), ROW_WIDTH)
        masses = np.sort(random_distribution(rng, ROW_WIDTH).astype(np.float32))[::-1]
        rows.append(Row(tuple(ids), tuple(map(float, masses)), oracles.confidence_of(masses)))
    return rows


# --- Eqs. 7 and 15: the mixture is the weighted KL centre


def test_no_other_distribution_is_nearer_to_all_rows_than_the_fused_one():
    """Where the rows hold K tokens in all, nothing is cut and q is the mixture: any step away from it is farther.

    By exactly D(q || other), as the weighted divergence is the rows' spread and the distance from their centre.
    """
    rng = random.Random(4)
    num_mixed = 0
    for _ in range(scaled(500)):
        rows = random_rows(rng, ROW_WIDTH)
        found = fused(rows)
        q = over(found.token_ids, found.q, ROW_WIDTH)
        dense = [over(row.token_ids, row.probabilities, ROW_WIDTH) for row in rows]
        spread = sum(w * kl(row, q) for w, row in zip(found.weights, dense, strict=True))
        step = rng.choice((1.0, 0.1, 0.01))
        other = (1 - step) * q + step * random_distribution(rng, ROW_WIDTH)
        farther = sum(w * kl(row, other) for w, row in zip(found.weights, dense, strict=True))
        assert spread <= farther
        assert farther == pytest.approx(spread + kl(q, other), abs=1e-6)
        num_mixed += len(rows) > 1
    assert num_mixed > 0


# --- Eqs. 16 and 17: what top-K retention is best at


def test_the_kept_tokens_preserve_the_most_mass_and_q_is_nearest_among_all_small_supports():
    """No support of at most K tokens, and no distribution on one, is nearer to m (Eq. 16).

    On the kept support S, D(rho || m) = D(rho || q) - log m(S) (Eq. 17).
    """
    rng = random.Random(6)
    for _ in range(scaled(100)):
        rows = random_rows(rng)
        found = fused(rows)
        kept = found.token_ids.tolist()
        mixture = sum(
            weight * over(row.token_ids, row.probabilities, 11)
            for weight, row in zip(found.weights, rows, strict=True)
        )
        q = over(kept, found.q, 11)
        supports = list(itertools.combinations(np.flatnonzero(mixture).tolist(), len(kept)))
        best_mass = max(mixture[list(support)].sum() for support in supports)
        assert mixture[kept].sum() == pytest.approx(best_mass)
        assert kl(q, mixture) == pytest.approx(-math.log(best_mass), abs=1e-6)
        for support in rng.sample(supports, min(20, len(supports))):
            rho = over(support, random_distribution(rng, len(support)), 11)
            assert kl(q, mixture) <= kl(rho, mixture) + 1e-6
        rho = over(kept, random_distribution(rng, len(kept)), 11)
        assert kl(rho, mixture) == pytest.approx(kl(rho, q) - math.log(best_mass), abs=1e-5)


# --- Eq. 4: confidence and priors


def test_confidence_is_one_over_the_effective_number_of_tokens():
    """c = exp(-H): 1 for one token, 1/n for n equal ones, and never outside."""
    ids = np.arange(ROW_WIDTH)[None]
    for number in range(1, ROW_WIDTH + 1):
        equal = np.where(ids < number, 2.5, -np.inf)
        assert make_rows(ids, equal).confidences[0] == pytest.approx(1 / number)
    rng = random.Random(7)
    for _ in range(scaled(500)):
        probabilities = np.sort(random_distribution(rng, ROW_WIDTH))[::-1]
        confidence = make_rows(ids, np.log(probabilities)[None]).confidences[0]
        entropy = -sum(p * math.log(p) for p in probabilities)
        assert confidence == pytest.approx(math.exp(-entropy), rel=1e-4)
        assert 1 / ROW_WIDTH - 1e-6 <= confidence <= 1


def test_priors_go_by_rank_so_a_missing_map_does_not_dilute_the_others():
    """With C and U alone the weights are alpha_1 and alpha_2 times c, not alpha_2 and alpha_3."""
    rng = random.Random(8)
    for _ in range(scaled(200)):
        rows = (random_rows(rng) + random_rows(rng))[:2]
        raw = [0.70 * rows[0].confidence, 0.20 * rows[1].confidence]
        assert fused(rows).weights.tolist() == pytest.approx([value / sum(raw) for value in raw])
