"""`bench shapes`: a model with a real model's shapes and random weights, decoded by two methods; no download.

Tries what only a large model tries: its weights on the device, the prefill of a large picture, 200 tokens and wide
trees in half precision. Random weights never repeat themselves, so the request is asked twice and U carried over: then
drafts are accepted, far more than a real model's. The times of a pass tell something, acceptance and speedup nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from recap import metrics
from recap.drafters import parse_method
from recap.errors import InputError
from recap.memory import Memories
from recap.recording import RecordedRun
from recap.targets.base import Request
from recap.targets.loading import choose_dtype, describe_environment, find_family
from recap.targets.transformers_vlm import TransformersTarget

#: Words before and behind the picture.
_NUM_WORDS = (15, 60)
#: What the text model of a small stand-in has in place of the real sizes: enough to run every part of the program.
_TINY_TEXT = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
_TINY_TEXT |= {"num_key_value_heads": 2, "head_dim": 16}


class Shape(NamedTuple):
    """A real model's shapes: its configuration, and the inputs of one picture as its processor makes them.

    Attributes:
        config: the configuration; True for the small stand-in.
        picture: pixel values and their sizes, given a generator of random numbers and the configuration.
    """

    config: Callable[[bool], transformers.PreTrainedConfig]
    picture: Callable[[torch.Generator, Any], dict[str, torch.Tensor]]


def add_command(commands: Any) -> None:
    """The options of `shapes`, on argparse's subparsers."""
    parser = commands.add_parser("shapes", help="try a real model's shapes with random weights; no download")
    parser.add_argument("--model", choices=list(SHAPES), default=next(iter(SHAPES)), help="whose shapes")
    parser.add_argument("--tiny", action="store_true", help="the same made small, to try this without a GPU")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16, float16 or auto (default)")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto (default)")
    parser.add_argument("--method", default="recap@63", help="what stands beside ar (default recap@63)")
    parser.add_argument("--new-tokens", type=int, default=200, help="tokens to decode (default 200)")
    parser.add_argument("--json", type=Path, help="where the figures go, too")


def run_command(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The command `shapes`: its figures, and a line for each method. Raises RecapError."""
    parse_method(options.method)
    if options.new_tokens < 2:
        raise InputError(f"--new-tokens must be at least 2, for one pass; got {options.new_tokens}.")
    if options.device != "auto":
        _check_device(options.device)
    started = time.perf_counter()
    target = build_target(options.model, options.tiny, options.dtype, options.device)
    build_seconds = time.perf_counter() - started
    report = try_target(target, SHAPES[options.model], options.method, options.new_tokens)
    report = {"model": target.name, "build_seconds": build_seconds} | report
    return report, to_text(report)


def _check_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    # An unknown name, no driver, a torch built without this kind of device.
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"The device {device!r} cannot be used here: {reason}.") from error


def build_target(model: str, is_tiny: bool, dtype: str, device: str) -> TransformersTarget:
    """The model on its device, every weight random.

    Raises:
        ModelError: no such precision.
    """
    device, dtype = choose_dtype(device, dtype)
    config = SHAPES[model].config(is_tiny)
    family = find_family(config)
    assert family is not None, "only known families are listed"
    torch.manual_seed(0)
    with torch.device(device):
        built = transformers.AutoModelForImageTextToText.from_config(config, dtype=getattr(torch, dtype))
    name = f"random-{model}" + ("-tiny" if is_tiny else "")
    target = TransformersTarget(name, built.eval(), None, family, describe_environment(device, dtype))
    target.end_ids = frozenset()  # random weights would end anywhere
    return target


def try_target(target: TransformersTarget, shape: Shape, method: str, num_new_tokens: int) -> dict[str, Any]:
    """Decode one picture's request by plain decoding and by `method`, each twice; the second time is measured."""
    request = build_request(target, shape, num_new_tokens)
    memories = Memories(target.vocab_size)
    runs = []
    for name in ("ar", method):
        for _ in range(2):
            recorded = RecordedRun(target, request, name, memories)
            for _ in recorded:
                pass
        runs.append(recorded.run())
    is_cuda = target.device.type == "cuda"
    return {
        "environment": asdict(target.environment),
        "parameters": sum(parameter.numel() for parameter in target.model.parameters()),
        "prompt_tokens": len(request.prompt_ids),
        "image_tokens": request.num_image_tokens,
        "peak_gpu_bytes": torch.cuda.max_memory_allocated() if is_cuda else None,
        "first_difference": metrics.first_difference(runs[1], runs[0]),
        "score_gap": metrics.score_gap(runs[1], runs[0]),
        "methods": {
            run.name: {
                "tokens": metrics.num_output_tokens(run),
                "passes": len(run.iterations),
                "mean_nodes": float(np.mean([iteration.num_nodes for iteration in run.iterations])),
                "acceptance_length": metrics.acceptance_length(run),
                "prefill_ms": 1e3 * metrics.prefill_seconds(run),
                "verify_ms": float(np.median([1e3 * i.seconds.verify for i in run.iterations])),
                "seconds": metrics.run_seconds(run),
            }
            for run in runs
        },
    }


def build_request(target: TransformersTarget, shape: Shape, num_new_tokens: int) -> Request:
    """A picture of noise among random words, with as many placeholders as the picture has vectors."""
    generator = torch.Generator().manual_seed(0)
    inputs = shape.picture(generator, target.model.config)
    inputs["pixel_values"] = inputs["pixel_values"].to(target.device, target.model.dtype)
    taken = {name: inputs[name].to(target.device) for name in target.family.encoder_inputs if name in inputs}
    with torch.inference_mode():
        encoded = target.model.model.get_image_features(**taken, return_dict=True)
    num_image_tokens = sum(len(vectors) for vectors in encoded.pooler_output)
    words = [np.random.default_rng(0).integers(10, 30_000, count) for count in _NUM_WORDS]
    assert target.image_token_id is not None, "these models read pictures"
    ids = np.concatenate([words[0], np.full(num_image_tokens, target.image_token_id), words[1]])
    ids = ids.astype(np.int64)
    if "image_grid_thw" in inputs:  # positions on three axes are counted by the kind of each token
        inputs["mm_token_type_ids"] = torch.from_numpy(ids == target.image_token_id)[None].int()
    return Request(ids, num_new_tokens, target.image_token_id, inputs)


def to_text(report: dict[str, Any]) -> str:
    """A line on the model, one for each method, and whether both wrote the same."""
    environment = report["environment"]
    lines = [
        f"{report['model']}: {report['parameters'] / 1e6:,.0f} million random weights, "
        f"{environment['dtype']} on {environment['device']}, built in {report['build_seconds']:.1f} s; "
        f"{report['image_tokens']} image tokens in a prompt of {report['prompt_tokens']}."
    ]
    for name, figures in report["methods"].items():
        lines.append(
            f"{name}: {figures['tokens']} tokens in {figures['passes']} passes of {figures['mean_nodes']:.0f} nodes, "
            f"{figures['seconds']:.2f} s; prefill {figures['prefill_ms']:.0f} ms, a pass {figures['verify_ms']:.1f} ms."
        )
    index, gap = report["first_difference"], report["score_gap"]
    told = "" if gap is None else f", score gap {gap:.2g}"
    lines.append("Same tokens." if index is None else f"The texts differ from token {index + 1}{told}.")
    return "\n".join(lines)


def _qwen_config(is_tiny: bool) -> transformers.PreTrainedConfig:
    """Qwen2.5-VL-7B-Instruct, as its report and its published configuration give it."""
    text = {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28}
    text |= {"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152_064}
    text |= {"max_position_embeddings": 128_000, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16}
    vision |= {"out_hidden_size": 3584, "fullatt_block_indexes": [7, 15, 23, 31], "window_size": 112}
    if is_tiny:
        text |= _TINY_TEXT
        rope |= {"mrope_section": [2, 3, 3]}
        vision |= {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2}
        vision |= {"out_hidden_size": 64, "fullatt_block_indexes": [1]}
    return transformers.Qwen2_5_VLConfig(
        text_config=text | {"rope_parameters": rope},
        vision_config=vision,
        image_token_id=151_655,
        video_token_id=151_656,
        vision_start_token_id=151_652,
        vision_end_token_id=151_653,
        tie_word_embeddings=False,
    )


def _qwen_picture(generator: torch.Generator, config: Any) -> dict[str, torch.Tensor]:
    """896 x 896 pixels: 64 x 64 patches, merged to 1,024 tokens."""
    vision = config.vision_config
    patch_values = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    return {
        "pixel_values": torch.randn(64 * 64, patch_values, generator=generator),
        "image_grid_thw": torch.tensor([[1, 64, 64]]),
    }


def _llava_config(is_tiny: bool) -> transformers.PreTrainedConfig:
    """LLaVA-1.6-Vicuna-7B, as its published configuration gives it."""
    text = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11_008}
    text |= {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32}
    text |= {"vocab_size": 32_064, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5}
    vision = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096}
    vision |= {"num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336, "patch_size": 14}
    vision |= {"projection_dim": 768}
    if is_tiny:
        text |= _TINY_TEXT
        vision |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
        vision |= {"num_attention_heads": 2, "projection_dim": 32}
    return transformers.LlavaNextConfig(
        text_config=text,
        vision_config=vision,
        image_token_index=32_000,
        vision_feature_layer=-2,
        image_grid_pinpoints=[[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]],
        tie_word_embeddings=False,
    )


def _llava_picture(generator: torch.Generator, config: Any) -> dict[str, torch.Tensor]:
    """640 x 480 pixels: the whole and four tiles, 2,340 tokens once the padding is cut off."""
    side = config.vision_config.image_size
    return {
        "pixel_values": torch.randn(1, 5, 3, side, side, generator=generator),
        "image_sizes": torch.tensor([[480, 640]]),
    }


SHAPES: dict[str, Shape] = {
    "qwen2.5-vl-7b": Shape(_qwen_config, _qwen_picture),
    "llava-1.6-vicuna-7b": Shape(_llava_config, _llava_picture),
}
