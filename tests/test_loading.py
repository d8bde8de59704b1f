"""Loading by name, folder and hub: what cannot be loaded is told in one sentence that says what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import huggingface_hub.errors as hub_errors
import numba
import pytest
import torch
import transformers
from family_models import FAMILIES, save_tiny, text_only
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken

from recap.errors import ModelError, NotEnoughMemoryError
from recap.targets import checkpoints, loading
from recap.targets.loading import load_target

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def llava_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(FAMILIES["llava_next"], tmp_path_factory.mktemp("llava"))


def told(model: str, **options: str) -> str:
    with pytest.raises(ModelError) as caught:
        load_target(model, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def hub_error(kind: type[Exception], status: int) -> Exception:
    """An error of the hub as transformers hands it on: behind an OSError of its own."""
    request = httpx.Request("GET", "https://huggingface.co/owner/model")
    error = kind("no", response=httpx.Response(status, request=request))
    wrapped = OSError("You are trying to access\nsomething you cannot.")
    wrapped.__cause__ = error
    return wrapped


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        (hub_errors.GatedRepoError, 403, "accept its terms on huggingface.co/owner/model"),
        (hub_errors.RepositoryNotFoundError, 404, "There is no model 'owner/model' on the hub"),
        (hub_errors.HfHubHTTPError, 500, "You are trying to access"),
    ],
)
def test_what_the_hub_refuses(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception], status: int, said: str
) -> None:
    def refuse(_: str, **options: bool) -> None:
        raise hub_error(kind, status)

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    assert said in told("owner/model")


def test_a_hub_name_while_the_hub_is_switched_off_or_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "unset HF_HUB_OFFLINE" in told("nobody-here/no-such-model")
    monkeypatch.setattr(checkpoints, "is_offline_mode", lambda: False)
    assert "check the network" in told("nobody-here/no-such-model")


def test_missing_shards_and_weights_are_told_before_anything_is_read(
    llava_folder: Path, tmp_path: Path
) -> None:
    for file in llava_folder.iterdir():
        if file.name != "model.safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert "holds no weights" in told(str(tmp_path))
    weights = load_file(llava_folder / "model.safetensors")
    names = sorted(weights)
    shards = {f"model-0000{i + 1}-of-00003.safetensors": names[i::3] for i in range(3)}
    for file, held in shards.items():
        save_file({name: weights[name] for name in held}, tmp_path / file, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, held in shards.items() for name in held}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    whole = load_target(str(tmp_path), device="cpu").model.state_dict()
    for name, value in load_target(str(llava_folder), device="cpu").model.state_dict().items():
        assert torch.equal(whole[name], value)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    assert "lacks 1 of 3 weight files, the first of them model-00002-of-00003.safetensors" in told(
        str(tmp_path)
    )


def test_too_little_memory_is_told_before_anything_is_read(
    llava_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "available_memory", lambda: 100_000)
    monkeypatch.setattr(
        transformers.AutoModelForImageTextToText, "from_pretrained", lambda *_, **__: pytest.fail("read")
    )
    assert "GB are free here; bfloat16 needs half of it" in told(str(llava_folder), device="cpu")
    assert "are free here; choose a smaller model" in told(str(llava_folder), dtype="bfloat16", device="cpu")


def test_memory_is_counted_before_loading_as_the_loaded_model_takes_it(
    llava_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    check = loading.check_memory
    monkeypatch.setattr(loading, "check_memory", lambda *args: asked.append(args[1]) or check(*args))
    for dtype in ("float32", "bfloat16"):
        loaded = load_target(str(llava_folder), dtype, "cpu").model
        assert loaded.dtype == getattr(torch, dtype)
        assert asked[-1] == sum(p.numel() * p.element_size() for p in loaded.parameters())


def test_what_does_not_fit_the_gpu_is_spread_and_what_fits_nowhere_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**9, 2 * 10**9))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(checkpoints, "available_memory", lambda: 3 * 10**9)
    assert checkpoints.check_memory("m", 5 * 10**8, "cuda", "bfloat16")
    assert not checkpoints.check_memory("m", 3 * 10**9, "cuda", "bfloat16")
    with pytest.raises(ModelError, match=r"needs about 6\.0 GB in bfloat16 and 5\.0 GB are free"):
        checkpoints.check_memory("m", 5 * 10**9, "cuda", "bfloat16")


def test_this_machines_memory_is_read() -> None:
    assert checkpoints.available_memory() > 10**8


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (
            "Package `num2words` is required to run SmolVLM processor.\nInstall it.",
            "(Package `num2words` is required to run SmolVLM processor).",
        ),
        (
            "\nA processor needs Torchvision, which was not found. Look at the\ninstallation page.",
            "(A processor needs Torchvision, which was not found).",
        ),
        ("No module named 'num2words'", "(No module named 'num2words')."),
    ],
)
def test_a_processor_that_needs_a_missing_package_names_it(
    llava_folder: Path, monkeypatch: pytest.MonkeyPatch, message: str, named: str
) -> None:
    def refuse(_: str, **options: bool) -> None:
        raise ImportError(message)

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", refuse)
    assert f"needs a package that is not installed {named}" in told(str(llava_folder))


def test_teaching_models_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(checkpoints.TEACHING_MODELS, "teaching-llava", tmp_path / "llava")
    assert "get the whole repository" in told("teaching-llava")


def test_a_llava_next_folder_is_loaded_as_teaching_llava(
    monkeypatch: pytest.MonkeyPatch, llava_folder: Path
) -> None:
    monkeypatch.setitem(checkpoints.TEACHING_MODELS, "teaching-llava", llava_folder)
    target = load_target("teaching-llava", device="cpu")
    assert target.name == "teaching-llava"
    assert target.model.config.model_type == "llava_next"
    assert target.environment.dtype == "float32"


def test_kinds_that_are_no_decoders_are_refused_by_name(tmp_path: Path) -> None:
    for kind in ("bert", "t5", "blip-2", "clip"):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}), "utf-8")
        assert f"of the kind {kind!r}, which is not supported" in told(str(tmp_path))


def test_half_precision_passes_the_probe_of_text_models(tmp_path: Path) -> None:
    save_tiny(lambda: text_only("llama"), tmp_path)
    for dtype in ("float32", "bfloat16", "float16"):
        assert load_target(str(tmp_path), dtype, "cpu").cacheability.obstacle is None


def altered(folder: Path, copy: Path, **settings: Any) -> Path:
    """A copy of a model's folder with other settings in its config.json."""
    shutil.copytree(folder, copy)
    config = json.loads((copy / "config.json").read_text("utf-8"))
    (copy / "config.json").write_text(json.dumps(config | settings), "utf-8")
    return copy


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(lambda: text_only("llama"), tmp_path_factory.mktemp("llama"))


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_size": 64},  # not that of the weights
        {"num_attention_heads": 5},
        {"rope_parameters": {"rope_type": "no such kind"}},
        {"vocab_size": "many"},
        {"hidden_act": "no such function"},
        {"quantization_config": {"quant_method": "awq", "bits": 4}},
        {"quantization_config": {"quant_method": "gptq", "bits": 4}},
        {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
        {"quantization_config": {"quant_method": "compressed-tensors"}},
        {"quantization_config": 4},
    ],
    ids=lambda settings: str(settings)[:60],
)
def test_a_folder_that_does_not_fit_or_needs_another_package_is_one_sentence(
    llama_folder: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    folder = altered(llama_folder, tmp_path / "model", **settings)
    assert str(folder) in told(str(folder), device="cpu")


def test_code_that_a_checkpoint_brings_is_never_run_and_nobody_is_asked(
    llama_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked at the terminal"))
    auto_map = {"AutoConfig": "theirs.Config", "AutoModelForCausalLM": "theirs.Model"}
    folder = altered(llama_folder, tmp_path / "model", model_type="theirs", auto_map=auto_map)
    (folder / "theirs.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')", "utf-8")
    told(str(folder), device="cpu")
    known = altered(llama_folder, tmp_path / "known", auto_map=auto_map)
    assert type(load_target(str(known), device="cpu").model).__name__ == "LlamaForCausalLM"
    assert not (tmp_path / "was_run").exists()


def test_memory_that_runs_out_while_loading_lets_other_models_make_room(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (torch.OutOfMemoryError, MemoryError):

        def run_out(*_: Any, kind: type[Exception] = kind, **__: Any) -> None:
            raise kind("CUDA out of memory. Tried to allocate 20.00 MiB.")

        monkeypatch.setattr(transformers.LlamaForCausalLM, "to", run_out)
        with pytest.raises(NotEnoughMemoryError, match=r"was used up while .* was loaded; free some"):
            load_target(str(llama_folder), device="cpu")


def test_weights_go_to_the_gpu_at_once_where_main_memory_cannot_hold_them_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoints, "available_memory", lambda: 14 * 10**9)
    plain = transformers.LlamaConfig()
    assert checkpoints.choose_placing(plain, 16 * 10**9, "cuda", True) == {"device_map": {"": "cuda"}}
    assert checkpoints.choose_placing(plain, 8 * 10**9, "cuda", True) == {}
    assert checkpoints.choose_placing(plain, 16 * 10**9, "cuda", False) == {"device_map": "auto"}
    assert checkpoints.choose_placing(plain, 8 * 10**9, "cpu", True) == {}
    quantized = transformers.LlamaConfig(quantization_config={"quant_method": "awq"})
    assert checkpoints.choose_placing(quantized, 10**9, "cuda", True) == {"device_map": {"": "cuda"}}


def test_quantised_weights_are_counted_as_their_files_are(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(quantization_config={"quant_method": "awq"})
    (tmp_path / "model-1.safetensors").write_bytes(bytes(1000))
    (tmp_path / "model-2.safetensors").write_bytes(bytes(500))
    assert checkpoints.count_bytes(tmp_path, config, 10**6, torch.bfloat16) == 1500
    assert checkpoints.count_bytes("owner/model", config, 10**6, torch.bfloat16) == 0
    assert checkpoints.count_bytes(tmp_path, transformers.LlamaConfig(), 10**6, torch.bfloat16) == 2 * 10**6


def test_an_end_token_that_only_the_configurations_class_names_is_a_word_here(
    llama_folder: Path, tmp_path: Path
) -> None:
    """Llama's class says 2, Llama-3's vocabulary has a word there, and `generate` does not stop at it."""
    folder = altered(llama_folder, tmp_path / "model", eos_token_id=2, pad_token_id=None)
    target = load_target(str(folder), device="cpu")
    tokenizer = target.tokenizer
    assert tokenizer.decode([2]).strip()
    assert 2 not in tokenizer.all_special_ids
    assert target.end_ids == {tokenizer.eos_token_id}
    stated = altered(llama_folder, tmp_path / "stated", eos_token_id=tokenizer.pad_token_id)
    assert load_target(str(stated), device="cpu").end_ids == {tokenizer.eos_token_id, tokenizer.pad_token_id}
    tokenizer.add_tokens([AddedToken("<|turn|>", special=False, normalized=False)])
    own = altered(llama_folder, tmp_path / "own", eos_token_id=len(tokenizer) - 1)
    tokenizer.save_pretrained(own)
    assert load_target(str(own), device="cpu").end_ids == {tokenizer.eos_token_id, len(tokenizer) - 1}


_FIRST_RUN = """
import sys
from numba.core.dispatcher import Dispatcher
from recap import generate, load_target, open_drafter
from recap.targets.loading import warm_up

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("recap")]
    found = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return {each.py_func.__qualname__: len(each.signatures) for each in found.values()}

target = load_target("teaching-qwen", device="cpu")
warm_up(target, sys.argv[1:])
before = compiled()
for method in sys.argv[1:]:
    request = target.build_request(None, "Describe the picture. Describe the picture.", 60)
    list(generate(target, open_drafter(target, method), request))
after = compiled()
print({name for name in after if after[name] != before.get(name)})
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_after_the_warm_up_a_first_run_compiles_nothing() -> None:
    methods = ("recap", "recap@auto", "suffix_tree", "lookahead", "token_recycling", "sam")
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_RUN, *methods], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip().splitlines()[-1] == "set()"
