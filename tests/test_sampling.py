"""Sampling: each token from the target's own distribution, whatever was drafted; one seed, one text by every method."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from oracles import scaled
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from recap.drafters import METHODS, make_drafter
from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.engine import generate
from recap.errors import InputError
from recap.events import Environment, Finished, Iteration
from recap.memory import Memories
from recap.recorder import Recorder
from recap.sampling import Sampler, choose_along_path
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.tree import pack_tree

PROMPT = np.array([1, 2, 3], np.int64)


def remembered(width: int, seed: int, scale: float, end_ids: set[int] = frozenset()) -> ScriptedTarget:
    """A target whose scores follow from the last two tokens, drawn once."""
    draw = cache(lambda *context: random_scores(width, 2, seed, scale)(context))
    return ScriptedTarget(width, lambda history: draw(*history[-2:]), end_ids)


def sampled_ids(
    target: ScriptedTarget, drafter: object, sampler: Sampler, max_new_tokens: int
) -> tuple[tuple[int, ...], int]:
    """The text, and how many drafts were accepted."""
    *events, finished = generate(target, drafter, Request(PROMPT, max_new_tokens), chooser=sampler)
    assert isinstance(finished, Finished)
    return finished.output_ids, sum(len(e.accepted) for e in events if isinstance(e, Iteration))


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 1.0},
        {"temperature": 0.6, "top_p": 0.8},
        {"temperature": 1.7, "top_k": 3},
        {"temperature": 1.3, "top_k": 7, "top_p": 0.55},
        {"top_p": 1e-9},
    ],
)
def test_probabilities_equal_the_librarys_own(settings: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    sampler = Sampler(**settings)
    for _ in range(20):
        scores = rng.normal(0, 3, 40).astype(np.float32)
        logits = torch.from_numpy(scores.copy())[None]
        logits = TemperatureLogitsWarper(float(settings.get("temperature", 1.0)))(None, logits)
        if "top_k" in settings:
            logits = TopKLogitsWarper(int(settings["top_k"]))(None, logits)
        logits = TopPLogitsWarper(float(settings.get("top_p", 1.0)))(None, logits)
        expected = torch.softmax(logits, -1)[0].numpy()
        assert np.allclose(sampler.probabilities(scores), expected, atol=1e-6)


def test_ties_at_the_last_place_of_top_k_all_stay() -> None:
    assert Sampler(top_k=2).probabilities(np.array([1, 3, 1, 1], np.float32)).astype(bool).all()
    assert Sampler(top_k=1).probabilities(np.array([1, 3, 1, 3], np.float32)).tolist() == [0, 0.5, 0, 0.5]


@pytest.mark.parametrize("top_p", [0.25, 0.5, 0.75])
def test_a_share_that_is_reached_exactly_needs_no_further_token(top_p: float) -> None:
    """Four equal scores: as many stay as in the library, which of them is a matter of its sorting."""
    scores = np.zeros(4, np.float32)
    kept = torch.isfinite(TopPLogitsWarper(top_p)(None, torch.from_numpy(scores)[None])).sum()
    assert (Sampler(top_p=top_p).probabilities(scores) > 0).sum() == kept == 4 * top_p


@pytest.mark.parametrize("temperature", [1e-300, 1e-310, 5e-324])
def test_a_temperature_near_0_chooses_among_the_highest_scores(temperature: float) -> None:
    scores = np.array([-2.0, 7.0, -np.inf, 7.0, 6.999], np.float32)
    for sampler in (Sampler(temperature), Sampler(temperature, top_k=3), Sampler(temperature, top_p=0.99)):
        assert sampler.probabilities(scores).tolist() == [0, 0.5, 0, 0.5, 0]
        assert {sampler.choose(PROMPT, scores) for _ in range(50)} == {1, 3}


@pytest.mark.parametrize("settings", [{"temperature": 1.0}, {"temperature": 0.8, "top_p": 0.9, "top_k": 3}])
def test_the_texts_have_the_distribution_of_plain_sampling(settings: dict[str, float]) -> None:
    """Chi-square over whole texts of three tokens, against the product of the target's own probabilities."""
    width, length, count = 5, 3, scaled(20_000, at_least=2500)
    target = remembered(width, seed=3, scale=1.0)
    oracle = Sampler(**settings)
    expected = {}
    for text in product(range(width), repeat=length):
        history, probability = PROMPT, 1.0
        for token in text:
            scores = target.score_histories([history.tolist()], want_all_scores=True).all_scores[0]
            probability *= oracle.probabilities(scores)[token]
            history = np.append(history, token)
        expected[text] = probability * count
    assert sum(expected.values()) == pytest.approx(count)

    memories = Memories(width)
    drafter = make_drafter("recap@12", width, (), memories)
    sampler = Sampler(**settings, seed=11)
    seen, num_accepted = Counter(), 0
    for _ in range(count):
        text, accepted = sampled_ids(target, drafter, sampler, length)
        seen[text] += 1
        num_accepted += accepted
    assert num_accepted > count // 3, "drafts that were accepted, else nothing is tried"
    assert all(expected[text] > 0 for text in seen)
    statistic, classes, rare, rare_seen = 0.0, 0, 0.0, 0
    for text, mean in expected.items():
        if mean < 5:
            rare, rare_seen = rare + mean, rare_seen + seen[text]
            continue
        statistic, classes = statistic + (seen[text] - mean) ** 2 / mean, classes + 1
    if rare >= 5:
        statistic, classes = statistic + (rare_seen - rare) ** 2 / rare, classes + 1
    degrees = classes - 1
    assert degrees > 10
    # The chi-square distribution at large degrees of freedom: mean d, variance 2d; four deviations.
    assert statistic < degrees + 4 * (2 * degrees) ** 0.5


@pytest.mark.parametrize("method", [name for name in METHODS if name != "ar"])
def test_one_seed_gives_one_text_by_every_method(method: str) -> None:
    target = remembered(30, seed=5, scale=2.5, end_ids={29})
    drafter = make_drafter(method, 30, ())
    total = 0
    for seed in range(12):
        plain, _ = sampled_ids(target, AutoregressiveDrafter(), Sampler(0.7, seed=seed), 25)
        text, accepted = sampled_ids(target, drafter, Sampler(0.7, seed=seed), 25)
        assert text == plain
        assert 29 not in text[:-1]
        total += accepted
    assert total > 0


def test_one_draw_a_token_also_where_an_end_or_the_cap_cuts_the_path() -> None:
    target = remembered(6, seed=1, scale=1.0, end_ids={4})

    class Counting(Sampler):
        draws = 0

        def choose(self, history: np.ndarray, scores: np.ndarray) -> int:
            self.draws += 1
            return super().choose(history, scores)

    drafter = make_drafter("recap@30", 6, ())
    for seed in range(60):
        sampler = Counting(seed=seed)
        text, _ = sampled_ids(target, drafter, sampler, 1 + seed % 7)
        assert sampler.draws == len(text)


def test_the_walk_follows_the_choices_alone() -> None:
    class Script:
        def __init__(self, *tokens: int) -> None:
            self.tokens, self.histories = list(tokens), []

        def choose(self, history: np.ndarray, scores: np.ndarray) -> int:
            self.histories.append(history.tolist())
            return self.tokens.pop(0)

    tree = pack_tree([9, 5, 6, 7, 8], [-1, 0, 1, 0, 3])
    scores, history = np.zeros((5, 10), np.float32), np.array([1, 9])
    script = Script(7, 8, 3)
    assert choose_along_path(tree, scores, history, script, {4}, 10).tolist() == [7, -1, -1, 8, 3]
    assert script.histories == [[1, 9], [1, 9, 7], [1, 9, 7, 8]]
    assert choose_along_path(tree, scores, history, Script(5, 0), {}, 10).tolist() == [5, 0, -1, -1, -1]
    assert choose_along_path(tree, scores, history, Script(7), {7}, 10).tolist() == [7, -1, -1, -1, -1]
    assert choose_along_path(tree, scores, history, Script(7), {}, 1).tolist() == [7, -1, -1, -1, -1]


@pytest.mark.parametrize(
    "settings",
    [
        *({"temperature": value} for value in (0, float("nan"), "0.8", True, None)),
        *({"top_k": value} for value in (0, 2.5, "3", True)),
        *({"top_p": value} for value in (0, 1.5, "0.9", None)),
        *({"seed": value} for value in (-1, 1.5, "1", None)),
    ],
)
def test_values_outside_their_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"got .*\."):
        Sampler(**settings)


def test_recorded_runs_are_greedy() -> None:
    target = remembered(6, seed=1, scale=1.0)
    drafter = AutoregressiveDrafter()
    recorder = Recorder(drafter, "ar", "ar", {}, Environment("CPU", "float32", "", "", 1))
    with pytest.raises(ValueError, match="recorded runs must be greedy"):
        next(generate(target, drafter, Request(PROMPT, 4), recorder=recorder, chooser=Sampler()))
