"""Vision-language models with random weights, small enough to be built inside a test."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from recap.events import Environment
from recap.targets.base import Request
from recap.targets.loading import TEACHING_MODELS
from recap.targets.qwen_vl import QwenVLFamily
from recap.targets.transformers_vlm import TransformersTarget

PATCH, MERGE, TEMPORAL = 14, 2, 2


def tiny_qwen(seed: int = 0, scale: float = 4.0) -> Qwen2_5_VLForConditionalGeneration:
    """Two layers of 32, weights scaled up so that texts vary; the shipped tokenizer's special ids."""
    config = Qwen2_5_VLConfig.from_pretrained(TEACHING_MODELS["teaching-qwen"])
    text, vision = config.text_config, config.vision_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = 32, 64, 2
    text.layer_types = ["full_attention"] * 2
    text.num_attention_heads, text.num_key_value_heads = 2, 1
    text.rope_parameters = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [2, 3, 3]}
    vision.depth, vision.hidden_size, vision.intermediate_size, vision.num_heads = 1, 32, 64, 2
    vision.fullatt_block_indexes, vision.out_hidden_size = [0], 32
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                parameter.mul_(scale)
    return model


def tiny_target(processor: object, seed: int = 0) -> TransformersTarget:
    """A random model behind the seam, with a processor for its words."""
    environment = Environment("CPU", "float32", torch.__version__, "", torch.get_num_threads())
    return TransformersTarget("tiny-qwen", tiny_qwen(seed), processor, QwenVLFamily(), environment)


def picture(seed: int, size: tuple[int, int] = (168, 168)) -> Image.Image:
    """Noise in a few large blocks."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST)


def full_pass(target: TransformersTarget, request: Request, token_ids: list[int]) -> torch.Tensor:
    """Next-token scores [V] after the prompt and `token_ids`, by one plain forward of the whole model."""
    input_ids = torch.from_numpy(np.append(request.prompt_ids, token_ids).astype(np.int64))[None]
    inputs = dict(request.model_inputs)
    if "mm_token_type_ids" in inputs:
        padding = torch.zeros(1, len(token_ids), dtype=inputs["mm_token_type_ids"].dtype)
        inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], padding], dim=1)
    with torch.inference_mode():
        return target.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids), **inputs).logits[
            0, -1
        ]


def library_greedy(target: TransformersTarget, request: Request) -> list[int]:
    """The new token ids of transformers' own greedy `generate`."""
    input_ids = torch.from_numpy(request.prompt_ids)[None]
    output = target.model.generate(
        input_ids=input_ids,
        attention_mask=torch.ones_like(input_ids),
        **request.model_inputs,
        do_sample=False,
        max_new_tokens=request.max_new_tokens,
        eos_token_id=sorted(target.end_ids),
        pad_token_id=min(target.end_ids),
    )
    return output[0, len(request.prompt_ids) :].tolist()
