"""Attention for training on a CPU: queries in blocks, each against the keys up to its own end.

transformers' own implementations score every query against every key and mask half of them away; with a mask that
differs by row torch's fused kernel takes twice the time of plain products on the causal part alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

NAME = "causal_blocks"
BLOCK = 96  # queries


def causal_blocks(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Softmax attention of `query` [B, H, L, D] on as many heads of `key` and `value`, with an additive mask.

    The mask [B, 1, L, L] must forbid the future itself. Returns the mixed values [B, L, H, D] and no weights.
    """
    mixed = []
    for start in range(0, query.shape[2], BLOCK):
        end = min(start + BLOCK, query.shape[2])
        scores = (query[:, :, start:end] * scaling) @ key[:, :, :end].transpose(-1, -2)
        scores = scores + attention_mask[:, :, start:end, :end].to(scores.dtype)
        mixed.append(torch.softmax(scores, dim=-1).to(value.dtype) @ value[:, :, :end])
    return torch.cat(mixed, dim=2).transpose(1, 2), None


AttentionInterface.register(NAME, causal_blocks)
