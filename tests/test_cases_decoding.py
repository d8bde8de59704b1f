"""Decoding cases (A13 to A18) on real models; the rules alone are tried in `test_verification` and `test_engine`."""

from __future__ import annotations

import tiny_models
from tiny_models import picture as noise
from tiny_models import tiny_target

from recap.bench.methods import HfGenerate
from recap.memory import Memories
from recap.metrics import first_difference, output_ids, score_gap
from recap.recording import RecordedRun


def recorded(target, request, method, memories=None):
    run = RecordedRun(target, request, method, memories)
    assert list(run)
    return run.run()


def test_a13_every_cap_gives_a_beginning_of_the_longest_answer(shipped_target):
    ask = lambda cap: shipped_target.build_request(noise(3), "Describe the picture.", cap)  # noqa: E731
    run = recorded(shipped_target, ask(200), "ar")
    longest, reason = output_ids(run), run.finished.stop_reason
    memories = Memories(shipped_target.vocab_size)
    for cap in (1, 2, 3, 7, 200, 200):
        request = ask(cap)
        for run in (
            recorded(shipped_target, request, "ar"),
            recorded(shipped_target, request, "recap", memories),
        ):
            assert output_ids(run) == longest[:cap]
            assert run.finished.stop_reason == (reason if len(longest) <= cap else "length")
            committed = sum(len(iteration.committed_ids) for iteration in run.iterations)
            assert 1 + committed == len(output_ids(run)), "counters leave out what was cut"


def test_a16_texts_are_equal_in_fp32_and_part_at_near_ties_only_in_bf16(
    teaching_target, is_full, monkeypatch
):
    num_prompts = 30 if is_full else 8
    exact = tiny_target(teaching_target.processor)
    monkeypatch.setattr(
        tiny_models, "tiny_qwen", lambda seed, make=tiny_models.tiny_qwen: make(seed).bfloat16()
    )
    rounded = tiny_target(teaching_target.processor)
    gaps = []
    for seed in range(num_prompts):
        for target in (exact, rounded):
            request = target.build_request(noise(seed), f"Question {seed}?", 24)
            plain, drafted = recorded(target, request, "ar"), recorded(target, request, "recap@24")
            index, gap = first_difference(drafted, plain), score_gap(drafted, plain)
            if target is exact:
                assert index is None
            elif index is not None:
                assert gap is not None
                scale = max(map(abs, plain.prefill.top_scores))
                gaps.append(gap / scale)
    assert all(gap < 0.05 for gap in gaps), "texts part at near-ties only"


def test_a17_the_library_as_baseline_ignores_what_the_checkpoint_asks_for_as_ours_does(teaching_target):
    spoiled = tiny_target(teaching_target.processor)
    request = spoiled.build_request(noise(4), "Describe the picture.", 20)
    expected = output_ids(recorded(spoiled, request, "ar"))
    settings = {
        "repetition_penalty": 1.3,
        "do_sample": True,
        "temperature": 0.01,
        "top_k": 3,
        "no_repeat_ngram_size": 1,
        "min_new_tokens": 19,
        "suppress_tokens": [expected[0]],
        "num_beams": 2,
    }
    for name, value in settings.items():
        setattr(spoiled.model.generation_config, name, value)
    assert output_ids(recorded(spoiled, request, "ar")) == expected
    assert output_ids(recorded(spoiled, request, "recap@24")) == expected
    assert HfGenerate(spoiled, "hf_greedy").measure(request, is_recorded=False).output_ids == expected


def test_a18_one_question_about_five_pictures_never_answers_from_memory(shipped_target):
    memories = Memories(shipped_target.vocab_size)
    answers = []
    for seed in range(5):
        request = shipped_target.build_request(noise(seed), "Which word is written in the picture?", 24)
        alone = output_ids(recorded(shipped_target, request, "ar"))
        assert output_ids(recorded(shipped_target, request, "recap", memories)) == alone
        answers.append(alone)
    assert memories.sizes.unigram > 0
    memories.begin_request()
    assert memories.sizes.trigram == memories.sizes.bigram == 0
    assert len(set(map(tuple, answers))) > 1, (
        "the pictures count, or the law is not tried where it could fail"
    )
