"""Qwen2.5-VL: pictures among the text, and positions on three axes (M-RoPE)."""

from __future__ import annotations

import torch

from recap.targets.base import Request
from recap.targets.transformers_vlm import EmbeddedPrompt

#: Rows of a position: time, height, width. Text stands at the same place on all three.
_NUM_AXES = 3


class QwenVLFamily:
    """Qwen2.5-VL. The position offset of a request is computed at its prefill and never read back from the model."""

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The language model without its head."""
        return model.model.language_model

    def embed_prompt(self, model: torch.nn.Module, request: Request) -> EmbeddedPrompt:
        """The picture's vectors at its placeholders, positions [3, 1, n], and the M-RoPE delta."""
        device = model.get_input_embeddings().weight.device
        input_ids = torch.from_numpy(request.prompt_ids)[None].to(device)
        embeddings = model.get_input_embeddings()(input_ids)
        inputs = request.model_inputs
        if "pixel_values" not in inputs:
            positions = torch.arange(input_ids.shape[1], device=device)
            return EmbeddedPrompt(embeddings, self.position_ids(positions), 0)
        grid = inputs["image_grid_thw"].to(device)
        features = model.model.get_image_features(inputs["pixel_values"].to(device), grid).pooler_output
        is_image = input_ids == request.image_token_id
        embeddings = embeddings.masked_scatter(
            is_image[..., None], torch.cat(list(features)).to(embeddings.dtype)
        )
        position_ids, deltas = model.model.get_rope_index(
            input_ids, mm_token_type_ids=inputs["mm_token_type_ids"].to(device), image_grid_thw=grid
        )
        return EmbeddedPrompt(embeddings, position_ids, int(deltas[0, 0]))

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Text positions [n] on three axes: [3, 1, n]."""
        return positions.view(1, 1, -1).expand(_NUM_AXES, 1, -1)
