"""Load a target by name: a teaching model that ships with the project, a folder, or a name on the hub."""

from __future__ import annotations

import platform
from pathlib import Path

import torch
import transformers

from recap.drafters import open_drafter
from recap.engine import generate
from recap.errors import ModelError
from recap.events import Environment
from recap.targets.qwen_vl import QwenVLFamily
from recap.targets.transformers_vlm import Family, TransformersTarget

_TEACHING_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "teaching_vlm"
TEACHING_MODELS = {"teaching-qwen": _TEACHING_FOLDER / "qwen"}
_FAMILIES: dict[str, type[Family]] = {"qwen2_5_vl": QwenVLFamily}
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_target(
    model: str = "teaching-qwen", dtype: str = "auto", device: str = "auto"
) -> TransformersTarget:
    """Load a model and its processor.

    Args:
        model: `teaching-qwen`, a folder, or a hub name.
        dtype: `float32`, `bfloat16`, `float16`, or `auto`: float32 on a CPU, bfloat16 on a GPU.
        device: `cpu`, `cuda`, or `auto`: a GPU where there is one.

    Raises:
        ModelError: it cannot be found, read or used; the message says what to do.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto":
        dtype = "float32" if device == "cpu" else "bfloat16"
    if dtype not in _DTYPES:
        raise ModelError(f"The precision must be one of {', '.join(_DTYPES)} or auto; got {dtype!r}.")
    source = str(_find_source(model))
    try:
        config = transformers.AutoConfig.from_pretrained(source)
        if config.model_type not in _FAMILIES:
            raise ModelError(
                f"The model {model!r} is of the kind {config.model_type!r}, which is not supported; "
                f"choose one of the kinds {', '.join(sorted(_FAMILIES))}."
            )
        processor = transformers.AutoProcessor.from_pretrained(source)
        loaded = transformers.AutoModelForImageTextToText.from_pretrained(source, dtype=_DTYPES[dtype])
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"The model {model!r} could not be loaded ({reason}); check the name, the folder's files and the network."
        ) from error
    loaded = loaded.to(device).eval()
    environment = Environment(
        device=_device_name(device),
        dtype=dtype,
        torch_version=torch.__version__,
        transformers_version=transformers.__version__,
        num_threads=torch.get_num_threads(),
    )
    return TransformersTarget(model, loaded, processor, _FAMILIES[config.model_type](), environment)


def warm_up(target: TransformersTarget) -> None:
    """Run a few tokens by every path once, so that no compilation or allocation falls into a measured run."""
    request = target.build_request(None, "Describe the picture.", max_new_tokens=6)
    for method in ("ar", "recap"):
        for _ in generate(target, open_drafter(target, method), request):
            pass


def _find_source(model: str) -> str | Path:
    """A folder with a model in it, or a hub name that transformers may look up."""
    folder = TEACHING_MODELS.get(model, Path(model))
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"The folder {folder} holds no model: there is no config.json in it.")
        return folder
    if model in TEACHING_MODELS:
        raise ModelError(
            f"The model {model!r} should lie in {folder}, which does not exist; get the whole repository."
        )
    if model.count("/") != 1 or model.startswith((".", "/", "~")):
        raise ModelError(
            f"There is no folder {model!r}; give {', '.join(TEACHING_MODELS)}, a model's folder, or a hub name like "
            "owner/model."
        )
    return model


def _device_name(device: str) -> str:
    if device != "cpu":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"CPU ({names[0] if names else platform.machine()})"
