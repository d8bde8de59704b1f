"""Entropy-confidence-weighted fusion of the rows found for one history, and its ablation rules (Eqs. 4-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recap.config import FUSION_RULES, ROW_WIDTH, FusionRule
from recap.jit import jit

#: Rows one history can find: G, C and U.
MAX_SOURCES = 3

_RULE_CODE: dict[FusionRule, int] = {rule: code for code, rule in enumerate(FUSION_RULES)}
NO_CONFIDENCE, NO_PRIOR, UNIFORM = (_RULE_CODE[r] for r in ("no-confidence", "no-prior", "uniform"))
HARD_GATE, BACK_OFF, UNIGRAM = (_RULE_CODE[r] for r in ("hard-gate", "back-off", "unigram"))


def rule_code(rule: FusionRule) -> int:
    """The number by which the compiled functions know a fusion rule."""
    return _RULE_CODE[rule]


class Fused(NamedTuple):
    """The outcome of a fusion.

    Attributes:
        token_ids: int32 [n <= K], kept tokens, highest mass first.
        q: float64 [n], their probabilities (Eq. 6).
        priors, confidences, weights: float64 [num_rows], alpha, c and w of Eq. 4 as the rule used them; a factor that
            the rule drops is 1, and a row that it leaves out has weight 0.
    """

    token_ids: np.ndarray
    q: np.ndarray
    priors: np.ndarray
    confidences: np.ndarray
    weights: np.ndarray


def fuse(
    token_ids: Sequence[Sequence[int]],
    probabilities: Sequence[Sequence[float]],
    confidences: Sequence[float],
    rule: FusionRule = "recap",
    specificity_priors: Sequence[float] = (0.70, 0.20, 0.10),
    is_unigram_last: bool = True,
) -> Fused:
    """Fuse one to three rows, ordered from the most to the least specific (Eqs. 4-6).

    w_j = alpha_j c_j / sum_i alpha_i c_i with alpha by rank among the rows given; m = sum_j w_j P_j; the K tokens of
    highest mass are kept (ties: the one met first, reading the most specific row first) and renormalised to q. A
    single row is used as it is.

    Args:
        token_ids, probabilities: [num_rows, K] each.
        confidences: [num_rows], c of each row.
        rule: the weighting; `unigram` uses the last row and only if `is_unigram_last`.
        specificity_priors: alpha_1..alpha_3.
        is_unigram_last: whether the last row comes from U.

    Raises:
        ValueError: no row, or more than three.
    """
    num_rows = len(token_ids)
    if not 1 <= num_rows <= MAX_SOURCES:
        raise ValueError(f"fuse must get one to {MAX_SOURCES} rows; got {num_rows}")
    ids = np.array(token_ids, np.int32)
    masses = np.array(probabilities, np.float32)
    row_confidences = np.array(confidences, np.float32)
    priors, used_confidences, weights = (np.zeros(MAX_SOURCES) for _ in range(3))
    out_ids, out_q = np.empty(ROW_WIDTH, np.int32), np.empty(ROW_WIDTH)
    scratch_ids, scratch_mass = _scratch()
    weigh_rows(
        row_confidences,
        num_rows,
        is_unigram_last,
        np.array(specificity_priors, np.float64),
        rule_code(rule),
        priors,
        used_confidences,
        weights,
    )
    count = mix_rows(ids, masses, weights, num_rows, scratch_ids, scratch_mass, out_ids, out_q)
    return Fused(
        out_ids[:count], out_q[:count], priors[:num_rows], used_confidences[:num_rows], weights[:num_rows]
    )


def _scratch() -> tuple[np.ndarray, np.ndarray]:
    size = MAX_SOURCES * ROW_WIDTH
    return np.empty(size, np.int32), np.empty(size, np.float64)


@jit
def weigh_rows(
    row_confidences, num_rows, is_unigram_last, specificity_priors, rule, priors, confidences, weights
):
    """Fill alpha, c and w [num_rows] of Eq. 4 under a rule; rows in falling specificity. See `fuse`."""
    for j in range(num_rows):
        priors[j] = (
            1.0 if rule in (NO_PRIOR, UNIFORM, HARD_GATE, BACK_OFF, UNIGRAM) else specificity_priors[j]
        )
        confidences[j] = 1.0 if rule in (NO_CONFIDENCE, UNIFORM, BACK_OFF, UNIGRAM) else row_confidences[j]
        weights[j] = 0.0
    if rule == HARD_GATE:
        best = 0
        for j in range(1, num_rows):
            if row_confidences[j] > row_confidences[best]:
                best = j
        weights[best] = 1.0
    elif rule == BACK_OFF:
        weights[0] = 1.0
    elif rule == UNIGRAM:
        if is_unigram_last:
            weights[num_rows - 1] = 1.0
    else:
        total = 0.0
        for j in range(num_rows):
            total += priors[j] * confidences[j]
        for j in range(num_rows):
            weights[j] = priors[j] * confidences[j] / total


@jit
def mix_rows(token_ids, probabilities, weights, num_rows, scratch_ids, scratch_mass, out_ids, out_q):
    """Mix rows by weight (Eq. 5), keep the top K and renormalise (Eq. 6); the number of kept tokens is returned.

    `token_ids`, `probabilities` are [>= num_rows, K], `weights` [>= num_rows]; `out_ids`, `out_q` [K] are filled.
    """
    num_weighted = 0
    only = -1
    for j in range(num_rows):
        if weights[j] > 0:
            num_weighted += 1
            only = j
    if num_weighted == 0:
        return 0
    width = token_ids.shape[1]
    if num_weighted == 1:
        # A single row is used as it is: renormalising would only add rounding.
        count = 0
        for k in range(width):
            if token_ids[only, k] >= 0:
                out_ids[count] = token_ids[only, k]
                out_q[count] = probabilities[only, k]
                count += 1
        return count
    num_distinct = 0
    seen = np.int64(0)  # one of 64 bits a token met: a bit not set yet spares the comparison with all of them
    for j in range(num_rows):
        if weights[j] == 0:
            continue
        for k in range(width):
            token = token_ids[j, k]
            if token < 0:
                continue
            mass = weights[j] * probabilities[j, k]
            bit = np.int64(1) << np.int64(token & 63)
            place = 0 if seen & bit else num_distinct
            seen |= bit
            while place < num_distinct and scratch_ids[place] != token:
                place += 1
            if place == num_distinct:
                scratch_ids[place] = token
                scratch_mass[place] = mass
                num_distinct += 1
            else:
                scratch_mass[place] += mass
    # A stable insertion keeps the token met first ahead on ties.
    count = 0
    for i in range(num_distinct):
        place = count
        while place > 0 and scratch_mass[i] > out_q[place - 1]:
            place -= 1
        if place >= width:
            continue
        last = count if count < width else width - 1
        for moved in range(last, place, -1):
            out_ids[moved] = out_ids[moved - 1]
            out_q[moved] = out_q[moved - 1]
        out_ids[place] = scratch_ids[i]
        out_q[place] = scratch_mass[i]
        if count < width:
            count += 1
    total = 0.0
    for k in range(count):
        total += out_q[k]
    for k in range(count):
        out_q[k] /= total
    return count
