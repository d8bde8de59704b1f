"""Fusion of the rows found under a context, and the rules that leave a part of it out (Eqs. 4-6)."""

from __future__ import annotations

from collections.abc import Sequence

from oracles.rows import ROW_WIDTH, Row, sum_in_order

SPECIFICITY_PRIORS = (0.70, 0.20, 0.10)
RULES = ("recap", "no-confidence", "no-prior", "uniform", "hard-gate", "back-off", "unigram")
Candidates = list[tuple[int, float]]


def fusion_weights(
    found: Sequence[tuple[str, Row]], rule: str = "recap", priors: Sequence[float] = SPECIFICITY_PRIORS
) -> list[float]:
    """w_j = a_j c_j / sum of a_i c_i, with a by RANK among the rows found; the variants drop parts of it.

    Always one weight per row found; the rules that use a single row give all other rows the weight 0.
    """
    if rule == "unigram":
        return [1.0 if source == "U" else 0.0 for source, _ in found]
    if rule == "back-off":
        return [1.0 if rank == 0 else 0.0 for rank in range(len(found))]
    if rule == "hard-gate":
        best = max((row.confidence for _, row in found), default=0.0)
        winner = [row.confidence for _, row in found].index(best) if found else -1
        return [1.0 if rank == winner else 0.0 for rank in range(len(found))]
    uses_prior = rule in ("recap", "no-confidence")
    uses_confidence = rule in ("recap", "no-prior")
    raw = [
        (priors[rank] if uses_prior else 1.0) * (row.confidence if uses_confidence else 1.0)
        for rank, (_, row) in enumerate(found)
    ]
    return [value / sum_in_order(raw) for value in raw]


def fuse(
    found: Sequence[tuple[str, Row]],
    rule: str = "recap",
    priors: Sequence[float] = SPECIFICITY_PRIORS,
    width: int = ROW_WIDTH,
) -> Candidates:
    """The kept (token, q) pairs, best first: top `width` of the mixture, renormalised. No row: none."""
    weights = fusion_weights(found, rule, priors)
    used = [(weight, row) for weight, (_, row) in zip(weights, found, strict=True) if weight > 0]
    if not used:
        return []
    if len(used) == 1:
        row = used[0][1]
        return list(zip(row.token_ids, row.probabilities, strict=True))
    mass: dict[int, float] = {}  # a dict keeps the order in which tokens are met
    for weight, row in used:
        for token_id, probability in zip(row.token_ids, row.probabilities, strict=True):
            mass[token_id] = mass.get(token_id, 0.0) + weight * probability
    met = list(mass)
    kept = sorted(met, key=lambda token_id: (-mass[token_id], met.index(token_id)))[:width]
    total = sum_in_order(mass[token_id] for token_id in kept)
    return [(token_id, mass[token_id] / total) for token_id in kept]
