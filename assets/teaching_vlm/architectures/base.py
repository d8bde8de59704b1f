"""What training asks of an architecture: building it, its prefix with a picture, and its view of the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from tokenization import END, PADDING, SYSTEM_PROMPT
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

TEXT_SHAPE = {  # deep and narrow, as a large model is seen from a decoder
    "hidden_size": 160,
    "intermediate_size": 320,
    "num_hidden_layers": 12,
    "num_attention_heads": 5,
    "num_key_value_heads": 5,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
}
SYSTEM_TEXT = f"<|im_start|>system\n{SYSTEM_PROMPT}{END}\n<|im_start|>user\n"


@dataclass(frozen=True)
class Prefix:
    """Everything before a question about a picture of one size.

    Attributes:
        ids: [P] token ids, a placeholder for each picture token.
        position_ids: [axes, P] positions; three axes for M-RoPE, one otherwise.
        next_position: of the first token behind.
        picture_start: index of the first picture token.
        centers: [picture tokens, 2] x and y of what each shows, in pixels of the drawn picture; NaN for none.
    """

    ids: list[int]
    position_ids: np.ndarray
    next_position: int
    picture_start: int
    centers: np.ndarray


@dataclass(frozen=True)
class Architecture:
    """A family of models of transformers, made small.

    Attributes:
        name: the folder of its weights.
        chat_template: of its tokenizer and processor.
        build_model: tokenizer -> model with random weights in float32.
        build_processor: tokenizer -> processor.
        prefix: tokenizer, (width, height) in pixels -> Prefix.
        prepare: pictures -> their pixels as tensors, in nested lists, tuples or dicts.
        encode: model, prepared pictures -> picture vectors [tokens, hidden_size] of each.
    """

    name: str
    chat_template: str
    build_model: Callable[[PreTrainedTokenizerBase], PreTrainedModel]
    build_processor: Callable[[PreTrainedTokenizerBase], ProcessorMixin]
    prefix: Callable[[PreTrainedTokenizerBase, tuple[int, int]], Prefix]
    prepare: Callable[[list[Image.Image]], Any]
    encode: Callable[[PreTrainedModel, Any], list[Tensor]]


def picture_ids(
    tokenizer: PreTrainedTokenizerBase, before: str, placeholder: str, num_tokens: int, after: str
) -> tuple[list[int], int]:
    """Token ids of a prefix with `num_tokens` placeholders, and where they start."""
    head = tokenizer(SYSTEM_TEXT + before)["input_ids"]
    place = tokenizer.convert_tokens_to_ids(placeholder)
    tail = tokenizer(after)["input_ids"] if after else []
    return [*head, *[place] * num_tokens, *tail], len(head)


def set_greedy(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Plain greedy decoding as the model's default."""
    model.generation_config = GenerationConfig(
        do_sample=False,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        pad_token_id=tokenizer.convert_tokens_to_ids(PADDING),
    )
    return model


def token_centers(columns: int, rows: int, width: float, height: float) -> np.ndarray:
    """Centres of a grid of tokens over `width` x `height` pixels, row by row: [rows * columns, 2]."""
    y, x = np.meshgrid(
        (np.arange(rows) + 0.5) * height / rows, (np.arange(columns) + 0.5) * width / columns, indexing="ij"
    )
    return np.stack([x.ravel(), y.ravel()], axis=1)
