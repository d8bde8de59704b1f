"""Top-K by one tie rule, on every device path."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from recap.targets.scoring import _top_k_on_device, score_positions

CASES = json.loads((Path(__file__).parent / "cases" / "toy_ties.json").read_text())


def expected_top(row: np.ndarray, width: int) -> list[int]:
    return sorted(range(len(row)), key=lambda token: (-row[token], token))[:width]


@pytest.mark.parametrize("vocab_size", [1, 3, 8, 9, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_highest_scores_come_first_and_ties_go_to_the_lower_id(
    vocab_size: int, dtype: torch.dtype
) -> None:
    rng = np.random.default_rng(vocab_size)
    # Few distinct values, both zeros among them, so that ties are everywhere.
    values = np.append(rng.normal(size=6), [0.0, -0.0])
    logits = torch.from_numpy(rng.choice(values, (40, vocab_size)).astype(np.float32)).to(dtype)
    width = min(8, vocab_size)
    scores = score_positions(logits, want_all_scores=True)
    device_ids, device_scores = _top_k_on_device(logits, width)
    for i, row in enumerate(logits.float().numpy()):
        assert scores.top_ids[i].tolist() == expected_top(row, width)
        assert device_ids[i].tolist() == expected_top(row, width)
        assert np.array_equal(scores.top_scores[i], row[scores.top_ids[i]])
        assert np.array_equal(device_scores[i].numpy(), row[device_ids[i].numpy()])
    assert np.array_equal(scores.all_scores, logits.float().numpy())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"][:30])
def test_A16_ties(case: dict) -> None:
    for key, dtype in (
        ("expect_id", torch.float32),
        ("expect_id_fp32", torch.float32),
        ("expect_id_bf16", torch.bfloat16),
    ):
        if key in case:
            scores = score_positions(torch.tensor([case["logits"]]).to(dtype))
            assert scores.greedy_ids.tolist() == [case[key]]
            if key == "expect_id_bf16":
                assert scores.top_scores[0, 0] - scores.top_scores[0, 1] == case["expect_margin_bf16"]


def test_a_row_with_nan_is_marked() -> None:
    logits = torch.zeros(3, 20)
    logits[1, 13] = float("nan")
    assert np.isnan(score_positions(logits).top_scores[:, 0]).tolist() == [False, True, False]
    assert _top_k_on_device(logits, 8)[1][:, 0].isnan().tolist() == [False, True, False]


def test_scores_of_half_precision_are_those_of_the_rounded_values() -> None:
    logits = torch.tensor([[1.0, 1.001, 0.5]], dtype=torch.bfloat16)
    assert score_positions(logits).top_ids.tolist() == [[0, 1, 2]]


def test_the_two_highest_scores_are_finite_where_the_model_rules_tokens_out() -> None:
    logits = torch.full((3, 20), -torch.inf)
    logits[:, 7] = 2.5
    logits[1, 3] = -4.0
    scores = score_positions(logits)
    assert scores.two_highest(1) == (2.5, -4.0)
    assert scores.two_highest(2) == (2.5, float(np.finfo(np.float32).min))
    assert score_positions(logits[:, 7:8]).two_highest(0) == (2.5, 2.5)
