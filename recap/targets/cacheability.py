"""Which models' caches can be cut and gathered, so that a tree of guesses can be verified at all."""

from __future__ import annotations

import inspect
from typing import NamedTuple

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

#: What a text model's forward pass has to take for a packed tree.
_NEEDED_INPUTS = ("inputs_embeds", "position_ids", "attention_mask")
#: What the cache is called there: since transformers 5.24, and before.
_CACHE_NAMES = ("cache", "past_key_values")


class Cacheability(NamedTuple):
    """What speculation can do with a model's cache.

    Attributes:
        obstacle: why it can do nothing, as a phrase (`its layers are recurrent`); None where it can.
        window: most positions that may be cached before a sliding layer forgets the first; None without sliding layers.
    """

    obstacle: str | None = None
    window: int | None = None

    def obstacle_for(self, num_positions: int) -> str | None:
        """Why a text of so many positions, one tree included, cannot be speculated on; None where it can."""
        if self.obstacle is None and self.window is not None and num_positions > self.window:
            return (
                f"its sliding-window layers see {self.window} tokens and this text may need {num_positions}"
            )
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
    layers = DynamicCache(config=config).layers
    foreign = [layer for layer in layers if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer)]
    if foreign:
        return Cacheability(f"it keeps more than keys and values ({type(foreign[0]).__name__})")
    windows = [layer.sliding_window for layer in layers if isinstance(layer, DynamicSlidingWindowLayer)]
    return Cacheability(window=min(windows, default=None))
