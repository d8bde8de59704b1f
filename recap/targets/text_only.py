"""Causal language models without pictures, for text benchmarks and for those who have none."""

from __future__ import annotations

import torch

from recap.targets.base import Request
from recap.targets.family import EmbeddedPrompt
from recap.targets.fused_vision import FusedVisionTower


class TextFamily:
    """Any decoder of transformers that takes embeddings, positions, an additive mask and a cache."""

    has_pictures = False

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model without its head."""
        return model.base_model

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Positions [n] as one row: [1, n]."""
        return positions[None]

    def embed_prompt(
        self, model: torch.nn.Module, request: Request, tower: FusedVisionTower | None = None
    ) -> EmbeddedPrompt:
        """The words' embeddings at positions counted one by one."""
        device = model.get_input_embeddings().weight.device
        input_ids = torch.from_numpy(request.prompt_ids)[None].to(device)
        positions = torch.arange(input_ids.shape[1], device=device)
        return EmbeddedPrompt(model.get_input_embeddings()(input_ids), self.position_ids(positions))
