"""SmolVLM and Idefics3: a picture as a grid of tiles and the whole, each with the same number of tokens."""

from __future__ import annotations

import torch

from recap.targets.family import PictureFamily


class SmolVLMFamily(PictureFamily):
    """SmolVLM, SmolVLM2, Idefics3. The vectors of all tiles come as one tensor, in the order of the placeholders."""

    encoder_inputs = ("pixel_values", "pixel_attention_mask")

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The language model without its head."""
        return model.model.text_model
