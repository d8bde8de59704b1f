"""SAM: the earliest occurrence of the longest repeated suffix; ViSkip's gate before it."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from oracles import scaled
from scripted_runs import paths_of
from tiny_models import picture, tiny_target

from recap.drafters.sam import SamDrafter, draft_length
from recap.drafters.sam_viskip import SamViSkipDrafter
from recap.suffix import SuffixAutomaton
from recap.targets.base import Scores
from recap.targets.loading import load_target
from recap.targets.transformers_vlm import TransformersTarget
from recap.tree import pack_tree
from recap.verification import Outcome


def begun(text: list[int], drafter: SamDrafter) -> SamDrafter:
    history = np.array(text, np.int64)
    drafter.begin(history[:-1], int(history[-1]), history[:0], None)
    return drafter


def earliest_match(text: list[int], barriers: set[int]) -> tuple[int, int]:
    """(length, end) of the longest suffix that ended earlier, at its first occurrence; by comparing slices."""
    for length in range(len(text) - 1, 0, -1):
        suffix = text[-length:]
        if barriers & set(suffix):
            continue
        for end in range(length, len(text)):
            if text[end - length : end] == suffix:
                return length, end
    return 0, 0


def test_the_draft_follows_the_earliest_occurrence_of_the_longest_repeated_suffix() -> None:
    rng = random.Random(91)
    lengths = []
    for _ in range(scaled(100_000, 300)):
        vocab_size = rng.choice((2, 3, 8))
        text = [rng.randrange(vocab_size) for _ in range(rng.choice((2, 3, 8, 12, 30)))]
        barriers = {1} if rng.random() < 0.4 else set()
        length, end = earliest_match(text, barriers)
        copied = text[end : end + min(40, 1 + 4 * length)]
        stops = [i for i, token in enumerate(copied) if token in barriers]
        copied = copied[: stops[0]] if stops else copied
        tree = begun(text, SamDrafter(barriers)).draft(np.array(text, np.int64))
        assert tree.token_ids.tolist() == [text[-1], *(copied if len(copied) >= 2 else [])]
        assert tree.depths.tolist() == list(range(len(tree.token_ids)))
        lengths.append(tree.num_draft_nodes)
    assert {0, 5} <= set(lengths)
    assert max(lengths) > 20


def test_the_automaton_grows_with_what_is_committed() -> None:
    drafter = begun([4, 5, 6, 7, 8, 4], SamDrafter())
    outcome = Outcome(np.empty(0, np.int64), 6, np.array([5, 6], np.int64), None)
    history = np.array([4, 5, 6, 7, 8, 4], np.int64)
    drafter.observe(history, drafter.draft(history), None, outcome)
    assert paths_of(drafter.draft(np.append(history, [5, 6])))[-1] == (7, 8, 4, 5, 6)


def test_the_length_grows_with_the_match_up_to_40() -> None:
    assert [draft_length(match) for match in (0, 1, 2, 9, 10, 500)] == [1, 5, 9, 37, 40, 40]


def test_counts_and_ends_of_the_automaton_are_those_of_the_text() -> None:
    """State by state: how often its longest string occurs, where first and where last."""
    rng = random.Random(92)
    for _ in range(scaled(1_000, 60)):
        vocab_size = rng.choice((2, 3, 6))
        text = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 4, 30, 60)))]
        barriers = {0} if rng.random() < 0.5 else set()
        automaton = SuffixAutomaton(barriers)
        cut = rng.randrange(len(text))
        automaton.extend(np.array(text[:cut], np.int64))
        automaton.extend(np.array(text[cut:], np.int64))
        arrays = automaton.arrays
        for state in range(1, int(arrays.cursor[0])):
            length, latest = int(arrays.lengths[state]), int(arrays.latest_ends[state])
            string = text[latest - length : latest]
            ends = [end for end in range(length, len(text) + 1) if text[end - length : end] == string]
            assert not barriers & set(string)
            assert (ends[0], ends[-1]) == (arrays.earliest_ends[state], latest)
            assert len(ends) == arrays.counts[state]


# ---------------------------------------------------------------------------------------------------- ViSkip


def scores_with(attention: float | None) -> Scores:
    return Scores(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32), image_attention=attention)


def test_the_gate_closes_at_0_35_and_opens_again() -> None:
    text = [4, 5, 6, 7, 4, 5]
    drafter = begun(text, SamViSkipDrafter())
    history = np.array(text, np.int64)
    for attention, is_open in ((0.349, True), (0.35, False), (0.9, False), (0.0, True), (None, True)):
        drafter.read(scores_with(attention))
        assert (drafter.draft(history).num_draft_nodes > 0) == is_open, attention
    drafter.read(scores_with(0.9))
    assert begun(text, drafter).draft(history).num_draft_nodes > 0, "a new request starts with an open gate"


@pytest.fixture(scope="module")
def tiny() -> TransformersTarget:
    return tiny_target(load_target("teaching-qwen", dtype="float32", device="cpu").processor)


def test_image_attention_equals_the_librarys_own_weights(tiny: TransformersTarget) -> None:
    for seed, size in enumerate([(168, 168), (300, 90)]):
        request = tiny.build_request(picture(seed, size), "Where is the star?", max_new_tokens=8)
        decoding = tiny.prefill(request, False, 8)
        committed = [int(decoding.first_scores.greedy_ids[0])]
        for accepted in ([], [1], []):
            tree = pack_tree([committed[-1], 5, 6, 7], [-1, 0, 1, 0])
            scores = decoding.verify(tree, want=("image_attention",))
            expected = library_attention(tiny, request, committed)
            assert scores.image_attention == pytest.approx(expected, abs=1e-5)
            decoding.keep(np.array(accepted, np.int64))
            committed += [int(tree.token_ids[i]) for i in accepted] + [9]
        assert decoding.verify(tree).image_attention is None


def library_attention(target: TransformersTarget, request: object, committed: list[int]) -> float:
    """Weights of the last position in the last layer, from one eager pass over the whole text."""
    ids = torch.from_numpy(np.append(request.prompt_ids, committed))[None]
    inputs = dict(request.model_inputs)
    padding = torch.zeros(1, len(committed), dtype=inputs["mm_token_type_ids"].dtype)
    inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], padding], dim=1)
    target.model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            weights = target.model(input_ids=ids, output_attentions=True, **inputs).attentions[-1][0, :, -1]
    finally:
        target.model.set_attn_implementation("sdpa")
    is_image = torch.from_numpy(request.prompt_ids == request.image_token_id)
    return float(weights[:, : len(is_image)][:, is_image].sum(dim=-1).mean())


def test_without_a_picture_there_is_no_attention_to_it(tiny: TransformersTarget) -> None:
    request = tiny.build_request(None, "What is two and two?", max_new_tokens=8)
    decoding = tiny.prefill(request, False, 1)
    scores = decoding.verify(pack_tree([5], [-1]), want=("image_attention", "hidden_states"))
    assert scores.image_attention is None
    assert scores.hidden_states.shape == (1, tiny.text_config.hidden_size)
    assert scores.hidden_states.dtype == np.float32


def test_hidden_states_are_what_the_scores_come_from(tiny: TransformersTarget) -> None:
    request = tiny.build_request(picture(2), "Where is the star?", max_new_tokens=8)
    decoding = tiny.prefill(request, False, 4)
    tree = pack_tree([5, 6, 7], [-1, 0, 0])
    scores = decoding.verify(tree, want_all_scores=True, want=("hidden_states",))
    with torch.inference_mode():
        again = tiny.model.get_output_embeddings()(torch.from_numpy(scores.hidden_states))
    assert np.allclose(again.numpy(), scores.all_scores, atol=1e-5)
    assert decoding.verify(tree).hidden_states is None
