"""`custom_generate=recap_generate` beside plain `generate`: the same outputs, shapes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from family_models import FAMILIES, save_tiny, text_only
from oracles import scaled
from tiny_models import picture
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    DynamicCache,
    GPT2Config,
    GPT2LMHeadModel,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
    TextIteratorStreamer,
)
from transformers.generation import GenerateDecoderOnlyOutput
from transformers.generation.streamers import BaseStreamer

from recap.budget import CostCurve
from recap.generation import recap_generate
from recap.memory import Memories
from recap.targets import transformers_vlm
from recap.targets.cost import ROWS
from recap.targets.fused_decoder import FusedDecoder
from recap.targets.loading import describe_environment, find_family, load_target
from recap.targets.transformers_vlm import TransformersTarget

#: What transformers' outputs call a cache.
CACHE = next(f for f in GenerateDecoderOnlyOutput.__dataclass_fields__ if f in ("cache", "past_key_values"))

NAMES = ("qwen2_5_vl", "qwen3_vl", "llava", "llava_next", "idefics3", "llama")


@pytest.fixture(scope="module")
def open_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A family's model as transformers opens it, and inputs as its processor makes them."""
    opened: dict[str, tuple[Any, Any]] = {}

    def open_(name: str, seed: int = 0, question: str = "Where is the star?") -> tuple[Any, dict[str, Any]]:
        if name not in opened:
            folder = save_tiny(FAMILIES[name], tmp_path_factory.mktemp(name))
            model_class = AutoModelForCausalLM if name == "llama" else AutoModelForImageTextToText
            words = load_target(str(folder), device="cpu")
            opened[name] = model_class.from_pretrained(folder).eval(), words
        model, words = opened[name]
        images = [] if name == "llama" else [picture(seed, (60 + 30 * (seed % 3), 80))]
        request = words.build_request(images, f"{seed} {question}", 8)
        input_ids = torch.from_numpy(request.prompt_ids)[None]
        mask = {"attention_mask": torch.ones_like(input_ids)}
        return model, {"input_ids": input_ids, **mask, **request.model_inputs}

    return open_


def both(model: Any, inputs: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    """What plain `generate` and ours return; torch's seed is set for each."""
    own = {name: options.pop(name) for name in ("method", "memories") if name in options}
    results = []
    for extra in ({}, {"custom_generate": recap_generate, **own}):
        torch.manual_seed(7)
        results.append(model.generate(**inputs, **options, **extra))
    return results[0], results[1]


class StopAt(StoppingCriteria):
    """Ends a text at its first token that is divisible by a number."""

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        return input_ids[:, -1] % self.divisor == 0


class FavourOddAfterEven(LogitsProcessor):
    """A rule of the caller's own that depends on the text so far."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        if int(input_ids[0, -1]) % 2 == 0:
            scores[:, 1::2] += 2.0
        return scores


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "one token": {"do_sample": False, "max_new_tokens": 1},
    "max_length": {"do_sample": False, "max_new_tokens": None, "max_length": 120},
    "sampled": {"do_sample": True},
    "sampled with top-k and top-p": {"do_sample": True, "temperature": 0.7, "top_k": 9, "top_p": 0.8},
    "min_p and typical": {"do_sample": True, "min_p": 0.05, "typical_p": 0.9},
    "repetition penalty": {"do_sample": False, "repetition_penalty": 1.3},
    "no repeated n-gram": {"do_sample": False, "no_repeat_ngram_size": 2},
    "least length": {"do_sample": False, "min_new_tokens": 10},
    "bad words": {"do_sample": False, "bad_words_ids": [[5], [262, 300]]},
    "other end tokens": {"do_sample": False, "eos_token_id": [300, 301, 302, 330, 350, 370, 390]},
    "stopping criteria": {"do_sample": False, "stopping_criteria": StoppingCriteriaList([StopAt(7)])},
    "sampled until": {"do_sample": True, "stopping_criteria": StoppingCriteriaList([StopAt(11)])},
    "own processor": {
        "do_sample": False,
        "logits_processor": LogitsProcessorList([FavourOddAfterEven()]),
    },
}


#: All pairs run with --full; by default every option meets two families, and every family two options.
PAIRS = [
    pytest.param(
        kind,
        name,
        marks=() if name in NAMES[3::2] or kind in ("greedy", "own processor") else pytest.mark.slow,
    )
    for kind in OPTIONS
    for name in NAMES
]


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_the_token_ids_are_plain_generates(open_model: Any, name: str, kind: str) -> None:
    memories = None
    for seed in range(scaled(20, at_least=1)):
        model, inputs = open_model(name, seed)
        memories = memories or Memories(model.get_output_embeddings().weight.shape[0])
        options = {"max_new_tokens": 24, "memories": memories, "method": "recap@16"} | OPTIONS[kind]
        plain, ours = both(model, inputs, **options)
        assert torch.equal(plain, ours)
        assert ours.dtype == plain.dtype
    assert memories.sizes.unigram > 10, "what was learnt stays in the caller's memories"


@pytest.mark.parametrize("method", ["ar", "recap", "prompt_lookup", "token_recycling", "suffix_tree"])
def test_every_way_of_drafting_gives_the_same_text(open_model: Any, method: str) -> None:
    model, inputs = open_model("llava_next")
    for do_sample in (False, True):
        plain, ours = both(model, inputs, max_new_tokens=30, do_sample=do_sample, method=method)
        assert torch.equal(plain, ours)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("do_sample", [False, True])
def test_what_is_returned_in_a_dict_has_the_same_shapes_and_values(
    open_model: Any, name: str, do_sample: bool
) -> None:
    model, inputs = open_model(name)
    wanted = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    for ending in ({}, {"stopping_criteria": StoppingCriteriaList([StopAt(5)])}, {"top_k": 5}):
        ending = ending if do_sample or "top_k" not in ending else {"repetition_penalty": 1.2}
        plain, ours = both(model, inputs, max_new_tokens=20, do_sample=do_sample, **wanted, **ending)
        assert type(ours) is type(plain)
        assert set(ours.keys()) == set(plain.keys())
        assert torch.equal(ours.sequences, plain.sequences)
        for field in ("scores", "logits"):
            expected, got = getattr(plain, field), getattr(ours, field)
            assert len(got) == len(expected) == plain.sequences.shape[1] - inputs["input_ids"].shape[1]
            for one, other in zip(expected, got, strict=True):
                assert one.shape == other.shape
                assert one.dtype == other.dtype
                assert torch.allclose(one, other, atol=1e-3)
        cached, expected = ours[CACHE], plain[CACHE]
        assert type(cached) is type(expected)
        assert cached.get_seq_length() == expected.get_seq_length()
        for one, other in zip(expected.layers, cached.layers, strict=True):
            assert torch.allclose(one.keys, other.keys, atol=1e-3)
            assert torch.allclose(one.values, other.values, atol=1e-3)


def test_a_dict_without_scores_has_none_and_its_cache_goes_on(open_model: Any) -> None:
    model, inputs = open_model("llama")
    plain, ours = both(model, inputs, max_new_tokens=12, do_sample=False, return_dict_in_generate=True)
    assert ours.scores is ours.logits is plain.scores is None
    longer = {"max_new_tokens": 12, "do_sample": False}
    expected = model.generate(plain.sequences, **{CACHE: plain[CACHE]}, **longer)
    assert torch.equal(model.generate(ours.sequences, **{CACHE: ours[CACHE]}, **longer), expected)
    without = both(model, inputs, use_cache=False, return_dict_in_generate=True, **longer)
    assert without[0].get(CACHE) is without[1].get(CACHE) is None
    assert torch.equal(without[0].sequences, without[1].sequences)


class Heard(BaseStreamer):
    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []
        self.has_ended = False

    def put(self, value: torch.Tensor) -> None:
        self.values.append(value)

    def end(self) -> None:
        self.has_ended = True


def test_a_streamer_hears_what_plain_generate_tells_it(open_model: Any) -> None:
    model, inputs = open_model("qwen2_5_vl")
    stop = {"stopping_criteria": StoppingCriteriaList([StopAt(7)]), "max_new_tokens": 30, "do_sample": False}
    plain, ours = Heard(), Heard()
    model.generate(**inputs, **stop, streamer=plain)
    sequences = model.generate(**inputs, **stop, custom_generate=recap_generate, token_streamer=ours)
    assert ours.has_ended
    assert [value.tolist() for value in ours.values] == [value.tolist() for value in plain.values]
    assert [value.shape for value in ours.values] == [value.shape for value in plain.values]

    class Letters:
        def decode(self, ids: list[int], **_: Any) -> str:
            return "".join(f"{token} " for token in ids)

    streamer = TextIteratorStreamer(Letters(), skip_prompt=True)
    model.generate(**inputs, **stop, custom_generate=recap_generate, token_streamer=streamer)
    new_ids = sequences[0, inputs["input_ids"].shape[1] :].tolist()
    assert "".join(streamer).split() == [str(token) for token in new_ids]


REFUSED: dict[str, dict[str, Any]] = {
    "num_beams": {"num_beams": 2},
    "num_return_sequences": {"num_return_sequences": 2, "do_sample": True},
    "output_attentions": {"output_attentions": True, "return_dict_in_generate": True},
    "output_hidden_states": {"output_hidden_states": True, "return_dict_in_generate": True},
    "prompt_lookup_num_tokens": {"prompt_lookup_num_tokens": 3},
    "guidance_scale": {"guidance_scale": 1.5},
    "cache_implementation": {"cache_implementation": "static"},
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_an_argument_that_cannot_be_honoured_is_named(open_model: Any, name: str) -> None:
    model, inputs = open_model("llama")
    with pytest.raises(ValueError, match=rf"{name} must .*; got {name}="):
        model.generate(**inputs, max_new_tokens=4, custom_generate=recap_generate, **REFUSED[name])


def test_inputs_that_cannot_be_honoured_are_named(open_model: Any) -> None:
    model, inputs = open_model("llama")
    ids = inputs["input_ids"]
    ask = {"max_new_tokens": 4, "do_sample": False, "custom_generate": recap_generate}
    with pytest.raises(ValueError, match="input_ids must hold one text"):
        model.generate(ids.repeat(2, 1), attention_mask=torch.ones(2, ids.shape[1]), **ask)
    mask = torch.ones_like(ids)
    mask[0, 0] = 0
    with pytest.raises(ValueError, match="attention_mask must hide nothing"):
        model.generate(ids, attention_mask=mask, **ask)
    with pytest.raises(ValueError, match="position_ids must count"):
        model.generate(ids, position_ids=torch.arange(ids.shape[1])[None] + 3, **ask)
    with pytest.raises(ValueError, match="inputs_embeds must be left out"):
        model.generate(ids, inputs_embeds=model.get_input_embeddings()(ids), **ask)
    filled = model.generate(ids, max_new_tokens=2, return_dict_in_generate=True)[CACHE]
    with pytest.raises(ValueError, match=f"{CACHE} must be empty"):
        model.generate(ids, **{CACHE: filled}, **ask)


def test_models_that_cannot_check_guesses_are_refused(tmp_path: Any) -> None:
    for kind, settings, said in (
        ("mamba", {"state_size": 4, "intermediate_size": 64}, "recurrent"),
        ("granite", {"logits_scaling": 4.0}, "not those of the texts"),
    ):
        torch.manual_seed(0)
        model = text_only(kind, **settings)[0].eval()
        for _ in range(2):  # the second time from memory
            with pytest.raises(ValueError, match=said):
                model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=4, custom_generate=recap_generate)


@pytest.mark.parametrize(
    "options",
    [{"max_new_tokens": 0}, {"max_length": 3}, {"temperature": -1.0, "do_sample": True, "max_new_tokens": 4}],
)
def test_what_plain_generate_refuses_is_refused_alike(open_model: Any, options: dict[str, Any]) -> None:
    model, inputs = open_model("llama")
    errors = []
    for extra in ({}, {"custom_generate": recap_generate}):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - both messages are compared
            model.generate(**inputs, **options, **extra)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_criterion_that_fails_leaves_the_memories_as_they_were(open_model: Any) -> None:
    model, inputs = open_model("llama")
    memories = Memories(model.get_output_embeddings().weight.shape[0])

    class Fails(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
            if input_ids.shape[1] > inputs["input_ids"].shape[1] + 4:
                raise RuntimeError("broken")
            return torch.zeros(1, dtype=torch.bool)

    with pytest.raises(RuntimeError, match="broken"):
        model.generate(
            **inputs,
            max_new_tokens=20,
            do_sample=False,
            stopping_criteria=StoppingCriteriaList([Fails()]),
            custom_generate=recap_generate,
            memories=memories,
        )
    assert memories.sizes.unigram == 0
    assert np.all(memories.unigram.slots == -1)


@pytest.mark.parametrize("seed", range(3))
def test_a_model_with_a_table_of_positions_is_drafted_for_up_to_its_last_one(seed: int) -> None:
    """Drafts reach beyond the last token that can be written, where such a model has no position."""
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=30, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=None
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "wte" not in name:
                parameter.mul_(6)  # texts vary
    prompt = torch.randint(1, 30, (1, 20))
    inputs = {"input_ids": prompt, "attention_mask": torch.ones_like(prompt), "pad_token_id": 0}
    memories = Memories(30)
    for _ in range(2):
        plain, ours = both(model, inputs, do_sample=False, max_new_tokens=44, memories=memories)
        assert torch.equal(plain, ours)
    assert plain.shape[1] == model.config.n_positions


@pytest.mark.parametrize("return_dict", [False, True])
def test_a_cache_of_the_callers_own_is_filled_for_a_text_that_goes_on(
    open_model: Any, return_dict: bool
) -> None:
    model, inputs = open_model("llama")
    caches, options = [], {"do_sample": False, "return_dict_in_generate": return_dict}
    for extra in ({}, {"custom_generate": recap_generate}):
        caches.append(DynamicCache(config=model.config))
        model.generate(**inputs, max_new_tokens=9, **{CACHE: caches[-1]}, **options, **extra)
    plain, ours = caches
    assert ours.get_seq_length() == plain.get_seq_length() == inputs["input_ids"].shape[1] + 8
    for one, other in zip(plain.layers, ours.layers, strict=True):
        assert torch.allclose(one.keys, other.keys, atol=1e-3)


def test_positions_of_ones_own_are_refused_on_several_axes_too(open_model: Any) -> None:
    model, _ = open_model("qwen2_5_vl")
    ids = torch.tensor([[5, 6, 7, 8]])
    plain, ours = both(model, {"input_ids": ids}, max_new_tokens=6, do_sample=False)
    assert torch.equal(plain, ours)
    positions = (3 * torch.arange(ids.shape[1])).expand(4, 1, -1)
    ask = {"max_new_tokens": 6, "do_sample": False, "custom_generate": recap_generate}
    with pytest.raises(ValueError, match="position_ids must count"):
        model.generate(ids, position_ids=positions, **ask)


def test_costs_are_kept_apart_by_threads_and_by_how_the_layers_run(
    open_model: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of times is for this machine; here the layers are the library's own, `load_target` fuses them."""
    model, inputs = open_model("llama")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, files = tmp_path / "cache" / "recap-vlm", set()
    curve = CostCurve(ROWS, tuple(float(row) for row in ROWS))
    monkeypatch.setattr(transformers_vlm, "measure_pass_seconds", lambda *_: curve)
    num_threads = torch.get_num_threads()
    try:
        for wanted in (1, 2):
            torch.set_num_threads(wanted)
            both(model, inputs, max_new_tokens=2, do_sample=False, method="recap@auto")
            assert len(set(folder.iterdir()) - files) == 1, wanted
            files = set(folder.iterdir())
            fused = TransformersTarget(
                "llama", model, None, find_family(model.config), describe_environment("cpu", "float32")
            )
            assert isinstance(fused.decoder, FusedDecoder)
            assert fused.cost_curve == curve
            assert len(set(folder.iterdir()) - files) == 1, wanted
            files = set(folder.iterdir())
    finally:
        torch.set_num_threads(num_threads)
