"""Which models' caches can be cut and gathered, so that a tree of guesses can be verified at all."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

#: What a text model's forward pass has to take for a packed tree.
_NEEDED_INPUTS = ("inputs_embeds", "position_ids", "attention_mask")
#: What the cache is called there: since transformers 5.24, and before.
_CACHE_NAMES = ("cache", "past_key_values")
#: Attention that adds a mask of any shape to its scores. Others (flash attention, flex attention) know which rows hide
#: later ones and nothing else, so that a tree's branches would see each other.
_MASKED_ATTENTION = ("sdpa", "eager")


class Cacheability(NamedTuple):
    """What speculation can do with a model's cache.

    Attributes:
        obstacle: why it can do nothing, as a phrase (`its layers are recurrent`); None where it can.
        window: most positions that may be cached before a sliding layer forgets the first; None without sliding layers.
        turning: most positions before rotary embedding changes its frequencies with the length of the text; a draft
            that reaches further would change those of the rows before it. None where they stay.
    """

    obstacle: str | None = None
    window: int | None = None
    turning: int | None = None

    def obstacle_for(self, num_positions: int) -> str | None:
        """Why a text of so many positions, one tree included, cannot be speculated on; None where it can."""
        if self.obstacle is None and self.window is not None and num_positions > self.window:
            return (
                f"its sliding-window layers see {self.window} tokens and this text may need {num_positions}"
            )
        if self.obstacle is None and self.turning is not None and num_positions > self.turning:
            return f"its positions are scaled anew beyond {self.turning} tokens and this text may need {num_positions}"
        return self.obstacle


def cache_argument(text_model: torch.nn.Module) -> str:
    """What a text model's forward pass calls its cache."""
    taken = inspect.signature(text_model.forward).parameters
    return next((name for name in _CACHE_NAMES if name in taken), _CACHE_NAMES[0])


def inspect_cache(model: torch.nn.Module, text_model: torch.nn.Module) -> Cacheability:
    """Judge a model by its configuration and the cache that the library itself would give it."""
    config = model.config.get_text_config()
    if getattr(model, "_is_stateful", False):
        return Cacheability("its layers are recurrent (what they have read cannot be taken back)")
    if (getattr(config, "num_kv_shared_layers", None) or 0) > 0:
        return Cacheability("its layers share their keys and values")
    if getattr(config, "kv_lora_rank", None):
        return Cacheability("its keys and values have different sizes")
    taken = inspect.signature(text_model.forward).parameters
    missing = set(_NEEDED_INPUTS) - set(taken)
    if not any(name in taken for name in _CACHE_NAMES):
        missing.add(_CACHE_NAMES[0])
    if missing:
        return Cacheability(f"its text model does not take {', '.join(sorted(missing))}")
    attention = getattr(text_model.config, "_attn_implementation", None)
    if attention not in _MASKED_ATTENTION:
        return Cacheability(f"its attention ({attention}) takes no mask of a tree; sdpa and eager do")
    layers = DynamicCache(config=config).layers
    foreign = [layer for layer in layers if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer)]
    if foreign:
        return Cacheability(f"it keeps more than keys and values ({type(foreign[0]).__name__})")
    windows = [layer.sliding_window for layer in layers if isinstance(layer, DynamicSlidingWindowLayer)]
    return Cacheability(window=min(windows, default=None), turning=turning_length(config))


def turning_length(config: Any) -> int | None:
    """Positions up to which rotary embedding keeps its frequencies; None where it always does."""
    lengths = []
    for rope in _rope_parameters(config):
        kind = rope.get("rope_type") or ""
        if "dynamic" in kind:  # NTK scaling by the length so far
            lengths.append(int(config.max_position_embeddings))
        elif kind == "longrope":  # one set of factors for short texts, one for long ones
            lengths.append(int(rope["original_max_position_embeddings"]))
    return min(lengths, default=None)


def _rope_parameters(config: Any) -> Iterator[dict[str, Any]]:
    """One set for all layers, or one for each kind of layer."""
    parameters = getattr(config, "rope_parameters", None) or {}
    if "rope_type" in parameters:
        yield parameters
    else:
        yield from (part for part in parameters.values() if isinstance(part, dict))
