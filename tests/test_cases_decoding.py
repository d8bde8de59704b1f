"""Decoding cases (A13 to A18) on real models; the rules alone are tried in `test_verification` and `test_engine`."""

from __future__ import annotations

import pytest
import tiny_models
import torch
from tiny_models import full_pass, tiny_target
from tiny_models import picture as noise

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


def twin_qwen(seed: int, dtype: torch.dtype):
    """A random model whose ids come in pairs of nearly one score, closer than bfloat16 can tell them apart."""
    model = tiny_models.tiny_qwen(seed, scale=8.0)
    head = model.lm_head.weight.detach().clone()
    noise_of_pairs = torch.randn(head[1::2].shape, generator=torch.Generator().manual_seed(1))
    head[1::2] = head[0::2] * (1 + 0.003 * noise_of_pairs)
    model.lm_head.weight = torch.nn.Parameter(head)  # its own: the embedding keeps a pair's two ids apart
    return model.to(dtype)


def cut_scores(target) -> None:
    """Let passes of several tokens cut bfloat16 scores off where passes of one token round them.

    Kernels for many rows round otherwise than those for one, but how often that shows depends on the processor.
    """
    head, weight = target.head, target.model.lm_head.weight.float()

    def cut(hidden: torch.Tensor) -> torch.Tensor:
        if hidden.shape[-2] == 1:
            return head(hidden)
        bits = (hidden.float() @ weight.T).view(torch.int32)
        return (bits >> 16 << 16).view(torch.float32).bfloat16()

    target.head = cut


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
def test_a16_at_near_ties_texts_are_equal_in_fp32_and_in_bf16_they_part_nowhere_else(
    dtype, teaching_target, is_full, monkeypatch
):
    model = twin_qwen(0, dtype)
    monkeypatch.setattr(tiny_models, "tiny_qwen", lambda seed: model)
    target = tiny_target(teaching_target.processor)
    if dtype is torch.bfloat16:
        cut_scores(target)
    step = torch.finfo(torch.bfloat16).eps  # from one bfloat16 to the next, as a share of it
    num_near_ties = num_parted = 0
    for seed in range(30 if is_full else 8):
        request = target.build_request(noise(seed), f"Question {seed}?", 24)
        plain, drafted = recorded(target, request, "ar"), recorded(target, request, "recap@24")
        chosen_from = [plain.prefill.top_scores]
        chosen_from += [iteration.detail.nodes[0].top_scores for iteration in plain.iterations]
        num_near_ties += sum(best - second < step * abs(best) for best, second in chosen_from)
        index = first_difference(drafted, plain)
        if index is None:
            continue
        assert dtype is torch.bfloat16
        num_parted += 1
        scores = full_pass(target, request, output_ids(plain)[:index]).float()
        bound = 2 * step * float(scores.max().abs())
        for run in (plain, drafted):
            assert float(scores.max() - scores[output_ids(run)[index]]) <= bound
        assert score_gap(drafted, plain) <= bound
    assert num_near_ties > 0, "near-ties were met, or the law is not tried where it could fail"
    assert num_parted > 0 or dtype is torch.float32, "texts parted, or what they parted at was not looked at"


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
