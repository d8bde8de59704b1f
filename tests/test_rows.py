"""Prediction rows: a softmax over the K highest scores alone, and its confidence (Eq. 2)."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bridges import ROW_WIDTH, as_row
from oracles import Row, confidence_of, prediction_row, scaled, top_ids

from recap.rows import NO_TOKEN, make_rows


def rows_of(scores: list[list[float]]) -> list[Row]:
    """The rows of whole score vectors of one length, their K highest chosen by the oracle."""
    ids = [top_ids(values, ROW_WIDTH) for values in scores]
    highest = [[values[i] for i in chosen] for values, chosen in zip(scores, ids, strict=True)]
    rows = make_rows(np.array(ids, np.int64), np.array(highest, np.float32))
    return [as_row(*fields) for fields in zip(*rows, strict=True)]


def random_scores(rng: random.Random, vocab_size: int) -> list[float]:
    spread = rng.choice((0.0, 1e-3, 1.0, 10.0, 1e4))
    offset = rng.choice((0.0, 30.0, -1e5))
    scores = [float(np.float32(offset + rng.gauss(0, spread))) for _ in range(vocab_size)]
    for _ in range(rng.choice((0, 0, 3))):  # exact ties
        scores[rng.randrange(vocab_size)] = scores[rng.randrange(vocab_size)]
    return scores


def test_rows_equal_a_softmax_over_the_k_highest_scores() -> None:
    rng = random.Random(1)
    for _ in range(scaled(2_000, 20)):
        vocab_size = rng.choice((5, 8, 9, 60))
        scores = [random_scores(rng, vocab_size) for _ in range(3)]
        for row, values in zip(rows_of(scores), scores, strict=True):
            expected = prediction_row(values)
            assert row.token_ids == expected.token_ids
            # fp32 on both sides, but exp and log may round differently from one library to another
            assert row.probabilities == pytest.approx(expected.probabilities, rel=2e-6, abs=1e-30)
            assert row.confidence == pytest.approx(expected.confidence, rel=1e-5)


def test_probabilities_fall_and_sum_to_one_over_the_k() -> None:
    rng = random.Random(2)
    rows = rows_of([random_scores(rng, 40) for _ in range(scaled(1_000, 20))])
    for row in rows:
        assert list(row.probabilities) == sorted(row.probabilities, reverse=True)
        assert sum(row.probabilities) == pytest.approx(1, abs=1e-6)


def test_confidence_is_one_for_a_one_hot_row_and_an_eighth_for_a_flat_one() -> None:
    one_hot, flat = rows_of([[1000.0, *[0.0] * 9], [3.5] * 10])
    assert one_hot.probabilities == (1.0, *[0.0] * 7)
    assert one_hot.confidence == 1.0
    assert flat.probabilities == (0.125,) * 8
    assert flat.confidence == pytest.approx(1 / 8, rel=1e-6)


def test_confidence_ignores_how_likely_the_rest_of_the_vocabulary_is() -> None:
    inside = [2.0, 1.0, 0.5, 0.0, 0.0, -1.0, -1.0, -2.0]
    wide, narrow = rows_of([inside + [-2.5] * 100, inside + [-1e9] * 100])
    assert wide == narrow


def test_confidence_does_not_depend_on_the_level_of_the_scores() -> None:
    scores = [4.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0]
    low, high = rows_of([scores, [value + 64.0 for value in scores]])
    assert low == high


def test_a_row_of_a_tiny_vocabulary_is_filled_with_no_token() -> None:
    rows = make_rows(np.array([[3, 0, 4]]), np.array([[2.0, 2.0, 1.0]], np.float32))
    assert rows.token_ids.tolist() == [[3, 0, 4, *[NO_TOKEN] * 5]]
    assert rows.probabilities[0, 3:].tolist() == [0.0] * 5
    assert rows.probabilities[0].sum() == pytest.approx(1, abs=1e-6)
    assert rows.confidences[0] == pytest.approx(confidence_of(rows.probabilities[0, :3].tolist()), rel=1e-6)


def test_a_score_of_minus_infinity_has_probability_zero() -> None:
    rows = make_rows(np.array([[1, 0]]), np.array([[0.0, -np.inf]], np.float32))
    assert rows.probabilities[0, :2].tolist() == [1.0, 0.0]
    assert rows.confidences[0] == 1.0


def test_a_single_row_and_no_row_have_the_same_form() -> None:
    for num_rows in (0, 1):
        rows = make_rows(np.zeros((num_rows, 8), np.int64), np.zeros((num_rows, 8), np.float32))
        assert rows.token_ids.shape == rows.probabilities.shape == (num_rows, ROW_WIDTH)
        assert rows.confidences.shape == (num_rows,)
        assert [field.dtype for field in rows] == [np.int32, np.float32, np.float32]


@pytest.mark.parametrize(
    ("ids_shape", "scores_shape"), [((2, 8), (2, 7)), ((3, 8), (2, 8)), ((8,), (8,)), ((1, 9), (1, 9))]
)
def test_rows_of_other_shapes_are_refused(ids_shape: tuple[int, ...], scores_shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="top_ids and top_scores must be"):
        make_rows(np.zeros(ids_shape, np.int64), np.zeros(scores_shape, np.float32))
