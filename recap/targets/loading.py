"""Load a target by name: a teaching model that ships with the project, a folder, or a name on the hub."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from recap.drafters import open_drafter
from recap.engine import generate
from recap.errors import ModelError, RecapError
from recap.events import Environment
from recap.targets.base import Request
from recap.targets.checkpoints import (
    TEACHING_MODELS,
    check_memory,
    check_weights,
    choose_placing,
    count_bytes,
    find_source,
    loading_problem,
)
from recap.targets.family import Family
from recap.targets.llava import LlavaFamily
from recap.targets.probe import check_scores
from recap.targets.prompts import TextProcessor
from recap.targets.qwen3_vl import Qwen3VLFamily
from recap.targets.qwen_vl import QwenVLFamily
from recap.targets.scripted import ScriptedTarget
from recap.targets.smolvlm import SmolVLMFamily
from recap.targets.text_only import TextFamily
from recap.targets.transformers_vlm import TransformersTarget

__all__ = [
    "TEACHING_MODELS",
    "choose_dtype",
    "describe_environment",
    "find_family",
    "load_target",
    "warm_up",
]

#: Families with pictures by `model_type`; any causal language model is taken besides.
_PICTURE_FAMILIES: dict[str, type[Family]] = {
    "qwen2_vl": QwenVLFamily,
    "qwen2_5_vl": QwenVLFamily,
    "qwen3_vl": Qwen3VLFamily,
    "llava": LlavaFamily,
    "llava_next": LlavaFamily,
    "idefics3": SmolVLMFamily,
    "smolvlm": SmolVLMFamily,
}
#: A checkpoint's own Python files are never run, and nobody is asked at the terminal whether they may be.
_OWN_CODE = {"trust_remote_code": False}
#: Width of the made-up vocabulary of `warm_up`, and after how many tokens its text repeats.
_WARM_UP_IDS = 16
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_target(
    model: str = "teaching-qwen", dtype: str = "auto", device: str = "auto", may_spread: bool = True
) -> TransformersTarget:
    """Load a model and its processor.

    Args:
        model: `teaching-qwen`, `teaching-llava`, a folder, or a hub name.
        dtype: `float32`, `bfloat16`, `float16`, or `auto`: float32 on a CPU, bfloat16 on a GPU (float16 on one that
            has no bfloat16).
        device: `cpu`, `cuda`, or `auto`: a GPU where there is one. What does not fit one GPU is spread over all of
            them and main memory.
        may_spread: False refuses what does not fit one GPU instead, for who can make room there.

    Raises:
        ModelError: it cannot be found, read or used; the message says what to do.
        NotEnoughMemoryError: it does not fit.
    """
    device, dtype = choose_dtype(device, dtype)
    source = find_source(model)
    try:
        config = transformers.AutoConfig.from_pretrained(source, **_OWN_CODE)
        family = find_family(config)
        if family is None:
            raise ModelError(
                f"The model {model!r} is of the kind {config.model_type!r}, which is not supported; choose a causal "
                f"language model or one of the kinds {', '.join(sorted(_PICTURE_FAMILIES))}."
            )
        if isinstance(source, Path):
            check_weights(source)
        if family.has_pictures:
            model_class = transformers.AutoModelForImageTextToText
            processor: Any = transformers.AutoProcessor.from_pretrained(source, **_OWN_CODE)
        else:
            model_class = transformers.AutoModelForCausalLM
            processor = TextProcessor(transformers.AutoTokenizer.from_pretrained(source, **_OWN_CODE))
        num_bytes = count_bytes(source, config, _count_parameters(model_class, config), _DTYPES[dtype])
        fits_device = check_memory(model, num_bytes, device, dtype, may_spread)
        placing = choose_placing(config, num_bytes, device, fits_device)
        loaded = model_class.from_pretrained(source, dtype=_DTYPES[dtype], **placing, **_OWN_CODE)
        loaded = (loaded if placing else loaded.to(device)).eval()
        target = TransformersTarget(model, loaded, processor, family, describe_environment(device, dtype))
        check_scores(target)
    except RecapError:
        raise
    except Exception as error:  # files of others, and packages that they need, fail in any way
        raise loading_problem(model, error) from error
    return target


def find_family(config: transformers.PreTrainedConfig) -> Family | None:
    """What is special about a model of this configuration; None where it is of no kind that can be used."""
    if config.model_type in _PICTURE_FAMILIES:
        return _PICTURE_FAMILIES[config.model_type]()
    kinds = transformers.models.auto.modeling_auto
    is_causal = config.model_type in kinds.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    has_pictures = config.model_type in kinds.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    # Encoders such as BERT are listed as causal too, as they can be made to decode.
    is_encoder = config.model_type in kinds.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    is_other = config.is_encoder_decoder or (is_encoder and not getattr(config, "is_decoder", False))
    return TextFamily() if is_causal and not has_pictures and not is_other else None


def warm_up(target: TransformersTarget, methods: Sequence[str] = ("recap",)) -> None:
    """Run plain decoding and `methods` once, so that no compilation or allocation falls into a measured run.

    A few tokens of the target, and a made-up text that repeats itself, on which a method does all that it can.
    """
    request = target.build_request(None, "Describe the picture.", max_new_tokens=6)
    scripted = ScriptedTarget(_WARM_UP_IDS, lambda history: np.roll(np.arange(_WARM_UP_IDS), history[-1]))
    repeating = Request(np.arange(_WARM_UP_IDS, dtype=np.int64), 4 * _WARM_UP_IDS)
    for method in dict.fromkeys(("ar", *methods)):
        drafter = open_drafter(target, method)
        if target.obstacle_for(request, drafter.max_tree_nodes) is None or method == "ar":
            for _ in generate(target, drafter, request):
                pass
        for _ in generate(scripted, open_drafter(scripted, method), repeating):
            pass


def choose_dtype(device: str, dtype: str) -> tuple[str, str]:
    """Device and precision with `auto` decided, see `load_target`.

    Raises:
        ModelError: no such precision.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto" and device == "cpu":
        dtype = "float32"
    elif dtype == "auto":
        dtype = "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    if dtype not in _DTYPES:
        raise ModelError(f"The precision must be one of {', '.join(_DTYPES)} or auto; got {dtype!r}.")
    return device, dtype


def describe_environment(device: str, dtype: str) -> Environment:
    """Where runs are measured, for records. `device` as torch names it; `dtype` as in `load_target`, but not `auto`."""
    return Environment(
        device=_device_name(device),
        dtype=dtype,
        torch_version=torch.__version__,
        transformers_version=transformers.__version__,
        num_threads=torch.get_num_threads(),
    )


def _count_parameters(model_class: Any, config: transformers.PreTrainedConfig) -> int:
    """Parameters of a model that has not been loaded, tied ones once."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in model_class.from_config(config).parameters())


@cache
def _device_name(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    if device != "cpu":
        return device
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"CPU ({names[0] if names else platform.machine()})"
