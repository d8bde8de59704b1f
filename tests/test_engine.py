"""The loop: its text is plain greedy decoding's, whatever the memories hold."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from bridges import fill
from languages import (
    Language,
    finished,
    random_config,
    random_language,
    random_task,
    request_of,
    rubbish,
    target_of,
)
from oracles import DictMemories, greedy_decode, scaled
from slot_target import SlotTarget

from recap.config import RecapConfig
from recap.drafters import AutoregressiveDrafter, RecapDrafter
from recap.engine import generate
from recap.events import Finished, Iteration, Prefill
from recap.memory import Memories
from recap.targets.scripted import ScriptedTarget, table_scores
from recap.tree import DraftTree


class RubbishDrafter(RecapDrafter):
    """RECAP whose three memories are overwritten with rubbish before every pass."""

    def __init__(self, config: RecapConfig, memories: Memories, blocked: Sequence[int], seed: int) -> None:
        super().__init__(config, memories, blocked)
        self._rng = random.Random(seed)

    def draft(self, history: np.ndarray) -> DraftTree:
        fill(self.memories, rubbish(self._rng, self.memories.vocab_size))
        return super().draft(history)


def test_output_equals_greedy_for_any_memory() -> None:
    rng = random.Random(71)
    num_accepted = num_passes = 0
    for _ in range(scaled(1_500, 8)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        expected = greedy_decode(language.next_scores, prompt, cap, end_ids)
        memories = fill(Memories(language.vocab_size), rubbish(rng, language.vocab_size))
        config = random_config(rng)
        drafter = (
            RubbishDrafter(config, memories, blocked_ids, rng.randrange(10**6))
            if rng.random() < 0.3
            else RecapDrafter(config, memories, blocked_ids)
        )
        target = target_of(language, end_ids, blocked_ids)
        events = list(generate(target, drafter, request_of(prompt, cap)))
        end = finished(events)
        assert (list(end.output_ids), end.stop_reason) == expected
        num_passes += end.num_passes
        num_accepted += sum(len(event.accepted) for event in events if isinstance(event, Iteration))
    assert num_accepted > num_passes / 4  # drafts were accepted: the law was tested where it could fail


def test_output_equals_greedy_for_a_target_that_sees_only_mask_positions_and_kept_entries() -> None:
    rng = random.Random(72)
    for _ in range(scaled(300, 4)):
        language = Language(
            rng.choice((5, 12)), 40, rng.randrange(10**6)
        )  # remembers far back: a wrong entry shows
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        expected = greedy_decode(language.next_scores, prompt, cap, end_ids)
        target = SlotTarget(
            language.vocab_size,
            lambda history, language=language: np.array(language.next_scores(history)),
            end_ids,
            blocked_ids,
        )
        drafter = RecapDrafter(random_config(rng), Memories(language.vocab_size), blocked_ids)
        end = finished(list(generate(target, drafter, request_of(prompt, cap))))
        assert (list(end.output_ids), end.stop_reason) == expected


def test_plain_decoding_is_greedy_and_takes_a_pass_a_token() -> None:
    rng = random.Random(73)
    for _ in range(scaled(300, 5)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        target = target_of(language, end_ids, blocked_ids)
        events = list(generate(target, AutoregressiveDrafter(), request_of(prompt, cap)))
        end = finished(events)
        assert (list(end.output_ids), end.stop_reason) == greedy_decode(
            language.next_scores, prompt, cap, end_ids
        )
        assert end.num_passes == len(end.output_ids) - 1
        assert all(event.num_nodes == 0 for event in events if isinstance(event, Iteration))


def test_every_length_cap_gives_a_prefix_of_the_longest_run() -> None:
    rng = random.Random(74)
    for _ in range(scaled(60, 3)):
        language = Language(12, 2, rng.randrange(10**6))
        prompt = [rng.randrange(12) for _ in range(6)]
        memories = Memories(12)
        whole = greedy_decode(language.next_scores, prompt, 200, [11])[0]
        for cap in (1, 2, 3, 7, 50, 200):
            drafter = RecapDrafter(RecapConfig(), memories)
            end = finished(list(generate(target_of(language, [11]), drafter, request_of(prompt, cap))))
            assert list(end.output_ids) == whole[:cap]
            assert end.stop_reason == ("end_token" if end.output_ids[-1] == 11 else "length")


def test_an_end_token_that_prefill_chooses_ends_before_the_first_pass() -> None:
    target = ScriptedTarget(10, table_scores(10, {(4,): 9}), end_ids=[9])
    drafter = RecapDrafter(RecapConfig(), Memories(10))
    prefill, end = list(generate(target, drafter, request_of([1, 4], 50)))
    assert isinstance(prefill, Prefill)
    assert isinstance(end, Finished)
    assert (prefill.first_token_id, end.output_ids, end.num_passes, end.stop_reason) == (
        9,
        (9,),
        0,
        "end_token",
    )


def test_a18_memory_of_another_picture_changes_speed_alone() -> None:
    """The same question on five pictures, all placeholders one id: texts are those of empty memories."""
    image_id, prompt = 39, [39] * 9 + [5, 6, 7, 8]
    pictures = [Language(40, 2, seed) for seed in range(5)]
    alone = [greedy_decode(language.next_scores, prompt, 40, [1])[0] for language in pictures]
    assert len({tuple(text) for text in alone}) == 5
    rng = random.Random(75)
    for contents in (DictMemories(), rubbish(rng, 40)):
        memories = fill(Memories(40), contents)
        for language, text in [*zip(pictures, alone, strict=True)] * 2:
            drafter = RecapDrafter(RecapConfig(), memories, [image_id])
            events = generate(target_of(language, [1], [image_id]), drafter, request_of(prompt, 40, image_id))
            prefill = next(events)
            assert isinstance(prefill, Prefill)
            assert (prefill.num_prompt_tokens, prefill.num_image_tokens) == (13, 9)
            # the new request starts without local rows
            assert (memories.sizes.trigram, memories.sizes.bigram) == (0, 0)
            assert list(finished([prefill, *events]).output_ids) == text


def test_repeating_a_request_takes_fewer_passes_than_plain_decoding() -> None:
    language = Language(300, 1, 5)  # a row a token is all there is to know: U alone learns it
    prompt = [3, 1, 4]
    memories = Memories(300)
    for _ in range(2):
        drafter = RecapDrafter(RecapConfig(), memories)
        end = finished(list(generate(target_of(language), drafter, request_of(prompt, 100))))
    assert len(end.output_ids) == 100
    assert end.num_passes < 50


def test_masked_out_tokens_of_minus_infinity_are_no_error() -> None:
    def masked_scores(history: Sequence[int]) -> np.ndarray:
        return np.where(np.arange(40) == (history[-1] + 1) % 40, 1.0, -np.inf)

    drafter = RecapDrafter(RecapConfig(), Memories(40))
    end = finished(list(generate(ScriptedTarget(40, masked_scores), drafter, request_of([1], 60))))
    assert end.output_ids == tuple((2 + i) % 40 for i in range(60))
