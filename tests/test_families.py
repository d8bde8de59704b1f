"""Every family behind the seam: the library's greedy text, its own token ids, and refusals by name and reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers.models.smolvlm.processing_smolvlm as smolvlm_processing
from accelerate import dispatch_model
from family_models import FAMILIES, metaspace_tokenizer, save_tiny, text_config, text_only
from family_models import WORDS as TRAINING_WORDS
from oracles import scaled
from tiny_models import full_pass, library_greedy, picture
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from recap.drafters import make_drafter
from recap.engine import generate
from recap.errors import InputError, ModelError
from recap.events import Finished
from recap.memory import Memories
from recap.memory_io import fingerprint
from recap.targets.base import Request
from recap.targets.cacheability import inspect_cache
from recap.targets.loading import load_target, warm_up
from recap.targets.probe import check_scores
from recap.targets.transformers_vlm import TransformersTarget
from recap.tree import pack_tree

PICTURED = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava", "llava_next", "idefics3", "smolvlm")
TURNS = (("What is in the picture?", "A red circle."), ("Where is it?", "At the top."))
WORDS = ["the", "picture", "star", "circle", "where", "red", "how many", "top", "left", "7", "shapes?"]


@pytest.fixture(scope="module")
def open_family(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A family's tiny model, built, saved and loaded once."""
    loaded: dict[str, TransformersTarget] = {}
    # SmolVLM's processor writes numbers of videos as words, by a package that pictures do not need.
    real, smolvlm_processing.num2words = smolvlm_processing.num2words, str

    def open_(name: str) -> TransformersTarget:
        if name not in loaded:
            folder = save_tiny(FAMILIES[name], tmp_path_factory.mktemp(name))
            loaded[name] = load_target(str(folder), dtype="float32", device="cpu")
        return loaded[name]

    yield open_
    smolvlm_processing.num2words = real


def question(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(3, 9)))


def output_ids(
    target: TransformersTarget, method: str, request: Request, memories: Memories | None
) -> list[int]:
    drafter = make_drafter(method, target.vocab_size, target.blocked_ids, memories)
    *_, finished = generate(target, drafter, request)
    assert isinstance(finished, Finished)
    return list(finished.output_ids)


@pytest.mark.parametrize("asked", ["no picture", "one picture", "two pictures", "three turns"])
@pytest.mark.parametrize("name", list(FAMILIES))
def test_recap_and_two_baselines_write_the_librarys_greedy_text(
    open_family: Any, name: str, asked: str
) -> None:
    target = open_family(name)
    num_pictures = {"no picture": 0, "two pictures": 2}.get(asked, 1)
    if name not in PICTURED:
        if num_pictures and asked != "three turns":
            with pytest.raises(InputError, match="reads no pictures"):
                target.build_request([picture(0)] * num_pictures, "What is it?")
            return
        num_pictures = 0
    rng = np.random.default_rng(len(asked))
    memories, num_words = Memories(target.vocab_size), 0
    for index in range(scaled(30, at_least=3)):
        sizes = [(60 + 40 * int(side), 60 + 40 * int(other)) for side, other in rng.integers(0, 4, (2, 2))]
        pictures = [picture(7 * index + i, size) for i, size in enumerate(sizes[:num_pictures])]
        history = TURNS if asked == "three turns" else ()
        request = target.build_request(pictures, question(rng), 24, history)
        assert (request.num_image_tokens > 0) == (num_pictures > 0)
        expected = library_greedy(target, request)
        num_words = max(num_words, len(set(expected)))
        for method in ("ar", "recap@24", "token_recycling", "sam"):
            own = memories if method.startswith("recap") else None
            assert output_ids(target, method, request, own) == expected, (index, method)
    assert num_words > 4, "texts that vary"


@pytest.mark.parametrize("name", PICTURED)
def test_scores_of_a_tree_behind_pictures_equal_fresh_full_passes(open_family: Any, name: str) -> None:
    target = open_family(name)
    request = target.build_request([picture(1, (120, 70)), picture(2)], "Where is the star?", 8, TURNS)
    decoding = target.prefill(request, False, 4)
    tokens, parents = [5, 70, 90, 71], [-1, 0, 1, 0]
    first = full_pass(target, request, []).numpy()
    assert np.abs(decoding.first_scores.all_scores[0] - first).max() < 1e-3
    scores = decoding.verify(pack_tree(tokens, parents), want_all_scores=True).all_scores
    for node, path in enumerate(([5], [5, 70], [5, 70, 90], [5, 71])):
        assert np.abs(scores[node] - full_pass(target, request, path).numpy()).max() < 1e-3
    other = target.build_request([picture(3, (120, 70)), picture(2)], "Where is the star?", 8, TURNS)
    assert np.abs(full_pass(target, other, []).numpy() - first).max() > 0.1, "the picture is seen"


@pytest.mark.parametrize("name", list(FAMILIES))
def test_token_ids_are_the_processors_own(open_family: Any, name: str) -> None:
    target = open_family(name)
    pictures = [picture(1, (150, 60)), picture(2)] if name in PICTURED else []
    messages: list[dict[str, Any]] = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for turn in (*TURNS, ("How many shapes?  naïve\n", ""))
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ][:-1]
    messages[0]["content"] = [{"type": "image", "image": image} for image in pictures] + messages[0][
        "content"
    ]
    processor = target.processor
    if not pictures:
        processor = target.tokenizer
        messages = [message | {"content": message["content"][-1]["text"]} for message in messages]
    expected = processor.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    request = target.build_request(pictures, "How many shapes?  naïve\n", 8, TURNS)
    assert request.prompt_ids.tolist() == expected["input_ids"][0].tolist()
    for key, value in request.model_inputs.items():
        assert torch.equal(value, expected[key]), key


@pytest.mark.parametrize("name", ["qwen3_vl", "llava_next", "idefics3", "llama"])
def test_typed_marks_stay_text(open_family: Any, name: str) -> None:
    target = open_family(name)
    pictures = [picture(0)] if name in PICTURED else []
    harmless = target.build_request(pictures, "What is it?", 8)
    for typed in (
        "What is <image>?",
        "<|im_end|></s> <image><image>",
        "naïve <|image_pad|><end_of_utterance>\n",
    ):
        asked = target.build_request(pictures, typed, 8)
        assert asked.num_image_tokens == harmless.num_image_tokens
        special = [token for token in asked.prompt_ids.tolist() if target.is_special(token)]
        assert special == [token for token in harmless.prompt_ids.tolist() if target.is_special(token)]
        assert typed.strip() in target.tokenizer.decode(asked.prompt_ids, skip_special_tokens=False)
        run = output_ids(target, "recap@8", asked, None)
        assert run == library_greedy(target, asked)


def test_marks_that_are_not_called_special_stay_text_where_a_user_types_them(tmp_path: Path) -> None:
    """Qwen's `<tool_call>` and `</think>`; what else a tokenizer added (runs of spaces, words) is text anyway."""

    def build() -> tuple[Any, Any]:
        model, tokenizer = text_only("llama")
        added = ["<tool_call>", "</think>", "[TOOL]", "   ", "zyx"]
        tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in added])
        return model, tokenizer

    target = load_target(str(save_tiny(build, tmp_path)), device="cpu")
    tokenizer = target.tokenizer
    marks = set(tokenizer.convert_tokens_to_ids(["<tool_call>", "</think>", "[TOOL]"]))
    for typed in (
        "<tool_call>",
        "a <tool_call>b</think></think> [TOOL]",
        "<|im_end|> <tool_call>",
        "<<tool_call>>",
    ):
        asked = target.build_request(None, typed, 8, [(typed, "fine")])
        assert not marks & set(asked.prompt_ids.tolist())
        assert tokenizer.decode(asked.prompt_ids).count(typed) == 2, "it reaches the model unchanged"
    text = {"user": "three   spaces, zyx", "assistant": "so: </think> it is"}
    spoken = [{"role": role, "content": text[role]} for role in ("user", "assistant", "user")]
    own = tokenizer.apply_chat_template(spoken, add_generation_prompt=True, return_dict=True)["input_ids"]
    asked = target.build_request(None, text["user"], 8, [(text["user"], text["assistant"])])
    assert asked.prompt_ids.tolist() == own


SPACED_TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
)


def tokenizer_that_knows_the_stand_in() -> Any:
    """Byte-level, with a token for a space and the first byte of a private-use character, as real ones may have."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator([" \ue000 \ue123 \uebcd"] * 9 + [TRAINING_WORDS] * 2, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end|>", pad_token="<|pad|>")
    assert "\u0120\u00ee" in tokenizer.get_vocab()
    return tokenizer


@pytest.mark.parametrize("kind", ["byte-level", "sentencepiece"])
def test_typed_marks_take_the_place_of_words_and_no_space_before_them_is_lost(
    tmp_path: Path, kind: str
) -> None:
    def build() -> tuple[Any, Any]:
        tokenizer = (
            tokenizer_that_knows_the_stand_in() if kind == "byte-level" else metaspace_tokenizer(["<|end|>"])
        )
        tokenizer.chat_template = SPACED_TEMPLATE
        config = text_config("llama", tokenizer, head_dim=8)
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(**config)), tokenizer

    target = load_target(str(save_tiny(build, tmp_path)), device="cpu")
    typed = ("Where <|end|> is it?", "<|end|>")
    request = target.build_request(None, typed[0], 8, [typed, (typed[1], "fine")])
    words = "user: {0}\nassistant: {1}\nuser: {1}\nassistant: fine\nuser: {0}\nassistant:".format(*typed)
    read = b"".join(target.token_bytes(token) for token in request.prompt_ids.tolist()).decode()
    assert read.lstrip(" ") == words
    assert not any(target.is_special(token) for token in request.prompt_ids.tolist())


@pytest.mark.parametrize("name", ["qwen3_vl", "llava_next", "smolvlm"])
def test_image_attention_equals_the_librarys_own_weights(open_family: Any, name: str) -> None:
    target = open_family(name)
    request = target.build_request(picture(1, (150, 60)), "Where is the star?", max_new_tokens=8)
    decoding = target.prefill(request, False, 3)
    scores = decoding.verify(pack_tree([5, 6, 7], [-1, 0, 0]), want=("image_attention",))
    input_ids = torch.from_numpy(np.append(request.prompt_ids, 5))[None]
    inputs = dict(request.model_inputs)
    if "mm_token_type_ids" in inputs:
        inputs["mm_token_type_ids"] = torch.nn.functional.pad(inputs["mm_token_type_ids"], (0, 1))
    target.model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            outputs = target.model(input_ids=input_ids, output_attentions=True, **inputs)
    finally:
        target.model.set_attn_implementation("sdpa")
    is_image = torch.from_numpy(np.append(request.prompt_ids, 5) == request.image_token_id)
    expected = float(outputs.attentions[-1][0, :, -1][:, is_image].sum(dim=-1).mean())
    assert scores.image_attention == pytest.approx(expected, abs=1e-5)
    assert 0 < expected < 1


REFUSED = {
    "mistral": ({"sliding_window": 40, "head_dim": 8}, "sliding-window layers see 40 tokens"),
    "gemma3_text": ({"sliding_window": 40, "head_dim": 8}, "sliding-window layers see 40 tokens"),
    "mamba": ({"state_size": 4, "intermediate_size": 64}, "layers are recurrent"),
    "lfm2": ({"layer_types": ["conv", "full_attention", "conv"]}, "more than keys and values"),
    "gemma4_text": (
        {
            "num_kv_shared_layers": 1,
            "head_dim": 8,
            "global_head_dim": 8,
            "layer_types": ["full_attention"] * 3,
            "vocab_size_per_layer_input": 4096,  # at least the vocabulary
            "hidden_size_per_layer_input": 8,
        },
        "layers share their keys",
    ),
    "bloom": ({"n_head": 4, "n_layer": 3}, "does not take position_ids"),
    "granite": ({"logits_scaling": 4.0}, "not those of the texts it stands for"),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_what_cannot_be_cut_and_gathered_is_refused_and_still_decodes_plainly(
    tmp_path: Path, kind: str
) -> None:
    settings, said = REFUSED[kind]
    folder = save_tiny(lambda: text_only(kind, **settings), tmp_path)
    target = load_target(str(folder), dtype="float32", device="cpu")
    warm_up(target)
    for words in ("Where is the star?", "How many red circles are there? " * 3):
        request = target.build_request(None, words, 24)
        expected = library_greedy(target, request)
        assert output_ids(target, "ar", request, None) == expected
        with pytest.raises(ModelError, match=said) as caught:
            output_ids(target, "recap@8", request, None)
        assert kind in str(caught.value) or str(folder) in str(caught.value)
        assert "plain decoding" in str(caught.value)


def test_a_sliding_window_wider_than_the_text_is_no_obstacle(tmp_path: Path) -> None:
    folder = save_tiny(lambda: text_only("mistral", sliding_window=128, head_dim=8), tmp_path)
    target = load_target(str(folder), dtype="float32", device="cpu")
    request = target.build_request(None, "Where is the star?", 24)
    assert output_ids(target, "recap@24", request, None) == library_greedy(target, request)
    with pytest.raises(ModelError, match="see 128 tokens"):
        output_ids(target, "recap@24", target.build_request(None, "Where is the star?", 100), None)


def test_pictures_must_have_a_vector_for_each_placeholder(open_family: Any) -> None:
    target = open_family("llava_next")
    request = target.build_request(picture(1), "What is it?", 8)
    short = request.prompt_ids[request.prompt_ids != request.image_token_id]
    wrong = Request(np.append(short, request.image_token_id), 8, request.image_token_id, request.model_inputs)
    with pytest.raises(ValueError, match="a vector for each placeholder"):
        target.prefill(wrong, False, 1)


def test_a_model_without_a_chat_template_is_told_or_talks_in_lines(open_family: Any, tmp_path: Path) -> None:
    target = open_family("llava")
    template, target.processor.chat_template = target.processor.chat_template, None
    with pytest.raises(InputError, match="no chat template"):
        target.build_request(picture(0), "What is it?")
    target.processor.chat_template = "{{ raise_exception('only one turn') }}"
    with pytest.raises(InputError, match="only one turn"):
        target.build_request(picture(0), "What is it?")
    target.processor.chat_template = template
    folder = save_tiny(FAMILIES["llama"], tmp_path)
    os.remove(folder / "chat_template.jinja")
    base = load_target(str(folder), device="cpu")
    request = base.build_request(None, "And now?", 8, TURNS)
    lines = [*TURNS[0], *TURNS[1], "And now?"]
    assert base.tokenizer.decode(request.prompt_ids) == "\n".join(lines)


def test_a_base_model_reads_what_its_tokenizer_puts_before_every_text(tmp_path: Path) -> None:
    def build() -> tuple[Any, Any]:
        tokenizer = metaspace_tokenizer([])
        begin = (tokenizer.bos_token, tokenizer.bos_token_id)
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing("<s> $A", special_tokens=[begin])
        return AutoModelForCausalLM.from_config(
            AutoConfig.for_model(**text_config("llama", tokenizer, head_dim=8))
        ), tokenizer

    target = load_target(str(save_tiny(build, tmp_path)), device="cpu")
    own = target.tokenizer("Where is the star?")["input_ids"]
    assert own[0] == target.tokenizer.bos_token_id
    assert target.build_request(None, "Where is the star?", 8).prompt_ids.tolist() == own


@pytest.mark.parametrize("name", ["qwen2_5_vl", "llava_next", "llama"])
def test_attention_that_takes_no_mask_of_a_tree_is_refused_by_name(open_family: Any, name: str) -> None:
    target = open_family(name)
    model, text_model = target.model, target.family.text_model(target.model)
    assert inspect_cache(model, text_model).obstacle is None
    for attention in ("flash_attention_2", "flex_attention", "flash_attention_3"):
        before, text_model.config._attn_implementation = text_model.config._attn_implementation, attention
        try:
            assert f"its attention ({attention}) takes no mask" in inspect_cache(model, text_model).obstacle
        finally:
            text_model.config._attn_implementation = before


LONG_FACTORS = {"short_factor": [1.0] * 4, "long_factor": [3.0] * 4, "original_max_position_embeddings": 64}
ROPES = {
    "dynamic": {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 4.0},
    "longrope": {"rope_type": "longrope", "rope_theta": 100.0} | LONG_FACTORS,
}


@pytest.mark.parametrize("kind", list(ROPES))
def test_positions_that_are_scaled_anew_by_the_length_are_no_obstacle_before_that(
    tmp_path: Path, kind: str
) -> None:
    """A draft beyond the length would have turned the rows before it, and a table of positions all of them."""
    room = 64 if kind == "dynamic" else 256
    folder = save_tiny(
        lambda: text_only("llama", rope_parameters=ROPES[kind], max_position_embeddings=room, head_dim=8),
        tmp_path,
    )
    target = load_target(str(folder), dtype="float32", device="cpu")
    request = target.build_request(None, "star", 12)
    assert len(request.prompt_ids) + 12 + 9 <= 64
    expected = library_greedy(target, request)
    assert output_ids(target, "recap@8", request, None) == output_ids(target, "ar", request, None) == expected
    if kind == "dynamic":  # its room ends there
        return
    long = target.build_request(None, "star " * 9, 40)
    assert len(long.prompt_ids) < 64 < len(long.prompt_ids) + 40
    with pytest.raises(ModelError, match="scaled anew beyond 64 tokens"):
        output_ids(target, "recap@8", long, None)
    assert output_ids(target, "ar", long, None) == library_greedy(target, long)


def test_a_gpu_that_has_no_room_for_a_question_is_one_sentence(
    open_family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = open_family("llava")

    def run_out(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(type(target.family), "embed_prompt", run_out)
    request = target.build_request(picture(0), "What is it?", 8)
    with pytest.raises(ModelError, match=rf"no room for this question's {len(request.prompt_ids)} tokens"):
        output_ids(target, "recap@8", request, None)


def spread(model: Any, text_model: Any, folder: Path) -> Any:
    """The model as `device_map="auto"` leaves one that does not fit: its last layers and its head wait elsewhere."""
    name = next(name for name, module in model.named_modules() if module is text_model)
    waiting = ("lm_head", f"{name}.layers.1", f"{name}.layers.2", f"{name}.norm")
    places = {
        module: "disk" if module.startswith(waiting) else "cpu"
        for module in dict.fromkeys(key.rpartition(".")[0] for key in model.state_dict())
    }
    return dispatch_model(model, places, main_device="cpu", offload_dir=str(folder), force_hooks=True)


@pytest.mark.parametrize("name", ["llama", "qwen2_5_vl"])
def test_a_model_that_is_spread_writes_the_same_text_and_has_the_same_fingerprint(
    tmp_path: Path, name: str
) -> None:
    folder = save_tiny(FAMILIES[name], tmp_path / "model")
    whole = load_target(str(folder), dtype="float32", device="cpu")
    request = whole.build_request([picture(0)] if name in PICTURED else None, "Where is the star?", 24)
    expected, ours = library_greedy(whole, request), fingerprint(whole)
    model = spread(whole.model, whole.family.text_model(whole.model), tmp_path / "waiting")
    assert any(parameter.is_meta for parameter in model.parameters())
    target = TransformersTarget(name, model, whole.processor, whole.family, whole.environment)
    check_scores(target)
    for method in ("ar", "recap@8", "token_recycling"):
        assert output_ids(target, method, request, None) == expected
    assert fingerprint(target) == ours
