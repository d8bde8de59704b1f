"""The Qwen2.5-VL teaching model: twelve text layers of hidden size 160, four vision layers of 128 with full attention.

Pictures keep their shape: 12 x 12 to 16 x 12 patches of 14 pixels, merged 2 x 2 to 36 to 48 picture tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from family import PICTURE_SIZES, TOKEN_SIDE
from PIL import Image
from tokenization import END, PADDING, SPECIAL_TOKENS, chat_template, padded_vocabulary
from torch import Tensor
from torch.nn import functional
from transformers import (
    PreTrainedTokenizerBase,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import apply_rotary_pos_emb_vision

from architectures.base import TEXT_SHAPE, Architecture, Prefix, picture_ids, set_greedy, token_centers

PATCH_SIZE, MERGE_SIZE = 14, 2
AREAS = [width * height for width, height in PICTURE_SIZES]
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)

CHAT_TEMPLATE = chat_template("<|vision_start|><|image_pad|><|vision_end|>")


def build_processor(tokenizer: PreTrainedTokenizerBase) -> Qwen2_5_VLProcessor:
    """Processor that leaves the families' pictures as they are and brings every other to a similar area."""
    pixels = {"min_pixels": min(AREAS), "max_pixels": max(AREAS)}
    patches = {"patch_size": PATCH_SIZE, "merge_size": MERGE_SIZE, "temporal_patch_size": 2}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels, **patches),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**pixels, **patches),
        chat_template=CHAT_TEMPLATE,
    )


def build_config(tokenizer: PreTrainedTokenizerBase) -> Qwen2_5_VLConfig:
    """Shape of the model. The low rotary base keeps a step of one picture token visible on all three axes."""
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    return Qwen2_5_VLConfig(
        text_config={
            "model_type": "qwen2_5_vl_text",
            "vocab_size": padded_vocabulary(tokenizer),
            **TEXT_SHAPE,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [4, 6, 6]},
            "bos_token_id": None,
            "eos_token_id": ids[END],
            "pad_token_id": ids[PADDING],
            "tie_word_embeddings": True,
        },
        vision_config={
            "model_type": "qwen2_5_vl_vision",
            "depth": 4,
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_heads": 4,
            "patch_size": PATCH_SIZE,
            "spatial_merge_size": MERGE_SIZE,
            "temporal_patch_size": 2,
            "window_size": 8 * TOKEN_SIDE,
            "out_hidden_size": TEXT_SHAPE["hidden_size"],
            "fullatt_block_indexes": [0, 1, 2, 3],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        eos_token_id=ids[END],
        pad_token_id=ids[PADDING],
        tie_word_embeddings=True,
    )


def build_model(tokenizer: PreTrainedTokenizerBase) -> Qwen2_5_VLForConditionalGeneration:
    return set_greedy(Qwen2_5_VLForConditionalGeneration(build_config(tokenizer)), tokenizer)


def prefix(tokenizer: PreTrainedTokenizerBase, size: tuple[int, int]) -> Prefix:
    """M-RoPE: the picture spans its sides on two axes and nothing in time."""
    columns, rows = size[0] // TOKEN_SIDE, size[1] // TOKEN_SIDE
    ids, start = picture_ids(tokenizer, "<|vision_start|>", "<|image_pad|>", rows * columns, "<|vision_end|>")
    row, column = np.divmod(np.arange(rows * columns), columns)
    picture = np.stack([np.zeros_like(row), row, column]) + start
    before = np.broadcast_to(np.arange(start), (3, start))
    after = start + max(rows, columns)
    positions = np.concatenate([before, picture, np.full((3, 1), after)], axis=1)
    return Prefix(ids, positions, after + 1, start, token_centers(columns, rows, *size))


def patchify(picture: Image.Image) -> np.ndarray:
    """Pixels as the processor orders them, one time step: [patches, 588]."""
    pixels = (np.asarray(picture, dtype=np.float32) / 255 - MEAN) / STD
    rows, columns = (side // (PATCH_SIZE * MERGE_SIZE) for side in pixels.shape[:2])
    blocks = pixels.reshape(rows, MERGE_SIZE, PATCH_SIZE, columns, MERGE_SIZE, PATCH_SIZE, 3)
    return blocks.transpose(0, 3, 1, 4, 6, 2, 5).reshape(-1, 3 * PATCH_SIZE**2)


def prepare(pictures: list[Image.Image]) -> list[tuple[tuple[int, int], list[int], Tensor]]:
    """Pictures of one size share an entry: size, their indices, patches [pictures, patches, 588]."""
    groups: dict[tuple[int, int], list[int]] = {}
    for index, picture in enumerate(pictures):
        groups.setdefault(picture.size, []).append(index)
    return [
        (size, indices, torch.from_numpy(np.stack([patchify(pictures[i]) for i in indices])))
        for size, indices in sorted(groups.items())
    ]


def encode(model: Qwen2_5_VLForConditionalGeneration, prepared: Any) -> list[Tensor]:
    vectors: dict[int, Tensor] = {}
    for size, indices, patches in prepared:
        encoded = _encode_equal(model, patches, size[0] // TOKEN_SIDE, size[1] // TOKEN_SIDE)
        vectors.update(zip(indices, encoded, strict=True))
    return [vectors[index] for index in sorted(vectors)]


def _encode_equal(
    model: Qwen2_5_VLForConditionalGeneration, patches: Tensor, columns: int, rows: int
) -> Tensor:
    """The tower run batched over pictures of one size, [B, patches, 588] to [B, tokens, hidden_size].

    The weights of both time steps are added up, as a still picture shows the same pixels twice. The result equals
    transformers' own tower, which takes one picture after the other.
    """
    visual = model.model.visual
    num_pictures, num_patches, _ = patches.shape
    hidden = functional.linear(patches, visual.patch_embed.proj.weight.sum(2).flatten(1))
    places = torch.meshgrid(
        torch.arange(rows * MERGE_SIZE, device=patches.device),
        torch.arange(columns * MERGE_SIZE, device=patches.device),
        indexing="ij",
    )
    order = torch.stack(places).reshape(2, rows, MERGE_SIZE, columns, MERGE_SIZE).transpose(2, 3)
    cos, sin = visual.rotary_pos_emb(hidden, order.reshape(2, num_patches).T)
    for block in visual.blocks:
        attention = block.attn
        query, key, value = (
            attention.qkv(block.norm1(hidden))
            .view(num_pictures, num_patches, 3, attention.num_heads, -1)
            .unbind(2)
        )
        query, key = apply_rotary_pos_emb_vision(query, key, cos, sin)
        mixed = functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (query, key, value)))
        hidden = hidden + attention.proj(mixed.transpose(1, 2).flatten(2))
        hidden = hidden + block.mlp(block.norm2(hidden))
    return visual.merger(hidden).view(num_pictures, rows * columns, -1)


QWEN = Architecture("qwen", CHAT_TEMPLATE, build_model, build_processor, prefix, prepare, encode)
