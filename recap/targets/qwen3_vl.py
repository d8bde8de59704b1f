"""Qwen3-VL: as Qwen2.5-VL, and the pictures' vectors of earlier vision layers are added to the first text layers."""

from __future__ import annotations

from typing import Any

import torch

from recap.targets.qwen_vl import QwenVLFamily


class Qwen3VLFamily(QwenVLFamily):
    """Qwen3-VL. The deeper vectors (DeepStack, Meng et al. 2024) concern placeholders alone, so prefill alone."""

    def _text_inputs(self, encoded: Any, is_image: torch.Tensor) -> dict[str, Any]:
        """Where the pictures stand, and the vectors to add there behind each of the first layers."""
        return {
            "visual_pos_masks": is_image,
            "deepstack_visual_embeds": [torch.cat(list(vectors)) for vectors in encoded.deepstack_features],
        }
