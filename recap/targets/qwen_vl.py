"""Qwen2-VL and Qwen2.5-VL: positions on three axes (M-RoPE)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from recap.targets.family import PictureFamily

#: Rows of a position: time, height, width. Text stands at the same place on all three.
_NUM_AXES = 3


class QwenVLFamily(PictureFamily):
    """Qwen2-VL, Qwen2.5-VL. A request's position offset is computed at its prefill and never read from the model."""

    encoder_inputs = ("pixel_values", "image_grid_thw")

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Text positions [n] on three axes: [3, 1, n]."""
        return positions.view(1, 1, -1).expand(_NUM_AXES, 1, -1)

    def _prompt_positions(
        self, model: torch.nn.Module, input_ids: torch.Tensor, inputs: Mapping[str, Any]
    ) -> tuple[torch.Tensor, int]:
        """Positions [3, 1, n] and the M-RoPE delta."""
        device, num_tokens = input_ids.device, input_ids.shape[1]
        if (
            "position_ids" in inputs
        ):  # [4, 1, n] as `generate` prepares them: a row for the mask before the axes
            position_ids = inputs["position_ids"][-_NUM_AXES:].to(device)
            return position_ids, int(position_ids.max()) + 1 - num_tokens
        position_ids, deltas = model.model.get_rope_index(
            input_ids,
            mm_token_type_ids=inputs["mm_token_type_ids"].to(device),
            image_grid_thw=inputs["image_grid_thw"].to(device),
        )
        return position_ids, int(deltas[0, 0])
