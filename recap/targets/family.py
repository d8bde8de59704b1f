"""What makes a model family different, and what all families with pictures share: vectors at the placeholders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from recap.targets.base import Request
from recap.targets.fused_vision import FusedVisionTower


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedPrompt:
    """A prompt as vectors.

    Attributes:
        embeddings: [1, num_prompt_tokens, hidden_size].
        position_ids: [..., num_prompt_tokens], in the form the family's text model takes.
        position_offset: what this request adds to the index of a position behind the prompt (Qwen-VL's M-RoPE delta).
        text_inputs: what else the text model takes in prefill alone, by name (Qwen3-VL's vectors for deeper layers).
    """

    embeddings: torch.Tensor
    position_ids: torch.Tensor
    position_offset: int = 0
    text_inputs: Mapping[str, Any] = field(default_factory=dict)


class Family(Protocol):
    """What makes one model family different.

    Attributes:
        has_pictures: whether a prompt may hold pictures.
    """

    has_pictures: bool

    def embed_prompt(
        self, model: torch.nn.Module, request: Request, tower: FusedVisionTower | None = None
    ) -> EmbeddedPrompt:
        """Encode the pictures, by `tower` where there is one, and place them among the prompt's embeddings."""

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Text positions [n], offset included, in the form the family's text model takes."""

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The part that maps embeddings and a cache to hidden states."""


class PictureFamily:
    """A text model whose picture tokens carry the vectors of a vision tower, at positions counted one by one.

    Families override what differs. The pictures of a request lie in its `model_inputs`: as the processor made them, or
    already encoded under `mm_encoder_outputs`, as transformers' `generate` hands them on.
    """

    has_pictures = True
    #: What `get_image_features` takes of the processor's inputs.
    encoder_inputs: tuple[str, ...] = ("pixel_values",)

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The language model without its head."""
        return model.model.language_model

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Text positions [n] as one row: [1, n]."""
        return positions[None]

    def embed_prompt(
        self, model: torch.nn.Module, request: Request, tower: FusedVisionTower | None = None
    ) -> EmbeddedPrompt:
        """The words' embeddings, with the pictures' vectors at the placeholders. See `Family`.

        Raises:
            ValueError: the pictures have another number of vectors than the prompt has placeholders.
        """
        device = model.get_input_embeddings().weight.device
        input_ids = torch.from_numpy(request.prompt_ids)[None].to(device)
        embeddings = model.get_input_embeddings()(input_ids)
        encoded = self._encode_pictures(model, request.model_inputs, device, tower)
        if encoded is None:
            positions = torch.arange(input_ids.shape[1], device=device)
            return EmbeddedPrompt(embeddings, self.position_ids(positions))
        vectors = torch.cat(list(encoded.pooler_output)).to(embeddings.device, embeddings.dtype)
        is_image = input_ids == request.image_token_id  # [1, num_prompt_tokens]
        if len(vectors) != int(is_image.sum()):
            raise ValueError(
                f"pictures must have a vector for each placeholder; got {len(vectors)} vectors for "
                f"{int(is_image.sum())} placeholders"
            )
        embeddings = embeddings.masked_scatter(is_image[..., None], vectors)
        position_ids, offset = self._prompt_positions(model, input_ids, request.model_inputs)
        return EmbeddedPrompt(embeddings, position_ids, offset, self._text_inputs(encoded, is_image))

    def _encode_pictures(
        self,
        model: torch.nn.Module,
        inputs: Mapping[str, Any],
        device: torch.device,
        tower: FusedVisionTower | None,
    ) -> Any | None:
        """The vision tower's output, `pooler_output` a tensor [n, hidden_size] a picture; None without a picture."""
        if inputs.get("mm_encoder_outputs"):
            return inputs["mm_encoder_outputs"].get("image")
        if "pixel_values" not in inputs:
            return None
        if tower is not None:
            return tower.encode(inputs["pixel_values"], inputs["image_grid_thw"])
        taken = {name: inputs[name].to(device) for name in self.encoder_inputs if name in inputs}
        return model.model.get_image_features(**taken, return_dict=True)

    def _prompt_positions(
        self, model: torch.nn.Module, input_ids: torch.Tensor, inputs: Mapping[str, Any]
    ) -> tuple[torch.Tensor, int]:
        """Positions of a prompt with pictures, and what the request adds to those behind it."""
        return self.position_ids(torch.arange(input_ids.shape[1], device=input_ids.device)), 0

    def _text_inputs(self, encoded: Any, is_image: torch.Tensor) -> dict[str, Any]:
        """What else the text model takes in prefill."""
        return {}
