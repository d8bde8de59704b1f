"""The LLaVA-1.6 teaching model: a CLIP tower of four layers of 128, a Llama of twelve layers of hidden size 160.

As in LlavaNext, a picture is seen twice: squeezed to one square, and cut into square tiles that keep its shape; a
newline vector ends each row of the tiles. Patches of 28 pixels give 78 to 106 picture tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from family import TOKEN_SIDE
from PIL import Image
from tokenization import END, PADDING, chat_template, padded_vocabulary
from torch import Tensor
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextImageProcessor,
    LlavaNextProcessor,
    PreTrainedTokenizerBase,
)

from architectures.base import TEXT_SHAPE, Architecture, Prefix, picture_ids, set_greedy, token_centers

SQUARE = 168  # pixels a side of one tile
PINPOINTS = [[SQUARE, SQUARE], [SQUARE, 2 * SQUARE], [2 * SQUARE, SQUARE]]

CHAT_TEMPLATE = chat_template("<image>\n")


def build_processor(tokenizer: PreTrainedTokenizerBase) -> LlavaNextProcessor:
    return LlavaNextProcessor(
        image_processor=_image_processor(),
        tokenizer=tokenizer,
        patch_size=TOKEN_SIDE,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,  # the class token
        chat_template=CHAT_TEMPLATE,
    )


def _image_processor() -> LlavaNextImageProcessor:
    return LlavaNextImageProcessor(
        size={"shortest_edge": SQUARE},
        crop_size={"height": SQUARE, "width": SQUARE},
        image_grid_pinpoints=PINPOINTS,
    )


def build_config(tokenizer: PreTrainedTokenizerBase) -> LlavaNextConfig:
    text = LlamaConfig(
        vocab_size=padded_vocabulary(tokenizer),
        **TEXT_SHAPE,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        pad_token_id=tokenizer.convert_tokens_to_ids(PADDING),
        tie_word_embeddings=True,
    )
    vision = CLIPVisionConfig(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=SQUARE,
        patch_size=TOKEN_SIDE,
    )
    return LlavaNextConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=PINPOINTS,
        image_seq_length=(SQUARE // TOKEN_SIDE) ** 2,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        tie_word_embeddings=True,
    )


def build_model(tokenizer: PreTrainedTokenizerBase) -> LlavaNextForConditionalGeneration:
    return set_greedy(LlavaNextForConditionalGeneration(build_config(tokenizer)), tokenizer)


def prefix(tokenizer: PreTrainedTokenizerBase, size: tuple[int, int]) -> Prefix:
    processor = build_processor(tokenizer)
    side = SQUARE // TOKEN_SIDE
    num_tokens = processor._get_number_of_features(size[1], size[0], SQUARE, SQUARE) - 1
    ids, start = picture_ids(tokenizer, "", "<image>", num_tokens, "\n")
    square = token_centers(side, side, *size)
    columns, rows = _tile_grid(num_tokens - len(square), size)
    tiles = token_centers(columns, rows, *size).reshape(rows, columns, 2)
    newlines = np.full((rows, 1, 2), np.nan)
    centers = np.concatenate([square, np.concatenate([tiles, newlines], axis=1).reshape(-1, 2)])
    positions = np.arange(len(ids))[None]
    return Prefix(ids, positions, len(ids), start, centers)


def _tile_grid(num_tokens: int, size: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows of the unpadded tiles: the grid with a newline a row that is nearest to the picture's shape."""
    grids = [(num_tokens // rows - 1, rows) for rows in range(1, num_tokens) if num_tokens % rows == 0]
    return min(
        (grid for grid in grids if grid[0] > 0), key=lambda grid: abs(grid[0] / grid[1] - size[0] / size[1])
    )


def prepare(pictures: list[Image.Image]) -> dict[str, Tensor]:
    """pixel_values [B, tiles, 3, 168, 168] and image_sizes [B, 2] (height, width)."""
    return dict(_image_processor()(images=pictures, return_tensors="pt"))


def encode(model: LlavaNextForConditionalGeneration, prepared: Any) -> list[Tensor]:
    return list(model.get_image_features(**prepared).pooler_output)


LLAVA = Architecture("llava", CHAT_TEMPLATE, build_model, build_processor, prefix, prepare, encode)
