"""The text model's layers, as transformers runs them, over our cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from recap.targets.cacheability import cache_argument
from recap.targets.image_attention import watch_first_query
from recap.targets.kv_cache import TreeCache


class Decoded(NamedTuple):
    """What a pass leaves.

    Attributes:
        hidden: [n, hidden_size], behind the final norm.
        first_query: [num_heads, head_dim], the final layer's first query, rotated; None unless it was asked for.
    """

    hidden: torch.Tensor
    first_query: torch.Tensor | None


def layer_devices(text_model: torch.nn.Module, num_layers: int, device: torch.device) -> list[torch.device]:
    """Where each layer runs, and its keys and values come to lie.

    A layer whose weights wait in main memory for want of room runs on `device`; the library shows them as `meta`. So
    does all of a model that names its layers in another way.
    """
    found = [next(layer.parameters()).device for layer in getattr(text_model, "layers", ())]
    if len(found) != num_layers:
        return [device] * num_layers
    return [device if place.type == "meta" else place for place in found]


class Decoder:
    """Runs the layers, writing keys and values behind the cache's prefix, which it does not move."""

    def __init__(
        self, text_model: torch.nn.Module, position_ids: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
        """`position_ids` gives text positions int64 [n] the form that the text model takes."""
        self._text_model = text_model
        self._position_ids = position_ids
        self._cache_argument = cache_argument(text_model)

    def prefill(
        self,
        embeddings: torch.Tensor,
        position_ids: torch.Tensor,
        cache: TreeCache,
        text_inputs: Mapping[str, Any],
    ) -> torch.Tensor:
        """A whole prompt [n, hidden_size], each row seeing itself and those before it: hidden states, same shape.

        `text_inputs` is what else the family's text model takes for a prompt.
        """
        return self._run(embeddings, position_ids, cache, None, text_inputs)

    def decode(
        self,
        embeddings: torch.Tensor,
        text_positions: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        wants_query: bool,
    ) -> Decoded:
        """Rows [n, hidden_size] at text positions int64 [n].

        `mask` is additive, [1, 1, n, prefix + n]; None lets every row see everything.
        """
        position_ids = self._position_ids(text_positions)
        if not wants_query:
            return Decoded(self._run(embeddings, position_ids, cache, mask), None)
        with watch_first_query(self._text_model.layers[-1].self_attn) as first_query:
            hidden = self._run(embeddings, position_ids, cache, mask)
        return Decoded(hidden, first_query())

    def _run(
        self,
        embeddings: torch.Tensor,
        position_ids: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        text_inputs: Mapping[str, Any] = MappingProxyType({}),
    ) -> torch.Tensor:
        return self._text_model(
            inputs_embeds=embeddings[None],
            position_ids=position_ids,
            attention_mask=mask,
            use_cache=True,
            **{self._cache_argument: cache.layers},
            **text_inputs,
        ).last_hidden_state[0]
