"""Key/value cache, preallocated: passes write behind the prefix, the accepted path is gathered in place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from recap.jit import jit


class _LayerView(CacheLayerMixin):
    """One layer's part of the block, in the form transformers' attention calls."""

    def __init__(self, owner: TreeCache, index: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self._owner = owner
        self._index = index
        self.keys = keys
        self.values = values
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """The block is allocated when the cache is made."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new entries [1, num_heads, n, head_dim] behind the prefix; returns prefix and new entries."""
        return self._owner.write(self._index, key_states[0], value_states[0])

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """(key length, offset) of the attention mask."""
        return self._owner.prefix_length + query_length, 0

    def get_seq_length(self) -> int:
        """Kept positions."""
        return self._owner.prefix_length

    def get_max_length(self) -> int:
        """Positions there is room for."""
        return self.keys.shape[-2]


class TreeCache:
    """Keys and values of every layer in one tensor, so that keeping a path is one gather for all layers.

    A model that is spread over several devices has one tensor on each.

    Attributes:
        prefix_length: positions kept so far.
        layers: the cache to hand to a transformers model.
    """

    def __init__(
        self,
        layer_devices: Sequence[torch.device],
        num_heads: int,
        head_dim: int,
        capacity: int,
        dtype: torch.dtype,
    ) -> None:
        """Room for `capacity` positions: prompt, new tokens and one tree. `layer_devices`: where each layer runs."""
        self.prefix_length = 0
        self._blocks = [
            torch.empty(len(list(layers)), 2, 1, num_heads, capacity, head_dim, dtype=dtype, device=device)
            for device, layers in groupby(layer_devices)
        ]
        #: Keys and values of each layer, [1, num_heads, capacity, head_dim] each.
        self._entries = [layer.unbind() for block in self._blocks for layer in block]
        self.layers = Cache(
            layers=[_LayerView(self, index, *layer) for index, layer in enumerate(self._entries)]
        )

    def write(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new entries [num_heads, n, head_dim] of one layer behind the prefix, which stays where it is.

        Returns the layer's prefix and new entries, [1, num_heads, prefix + n, head_dim] each.
        """
        start, num_new = self.prefix_length, keys.shape[-2]
        all_keys, all_values = self._entries[layer]
        # `narrow` and `copy_` take two thirds of the time of indexing, which is felt at small models.
        all_keys.narrow(2, start, num_new).copy_(keys)
        all_values.narrow(2, start, num_new).copy_(values)
        return all_keys.narrow(2, 0, start + num_new), all_values.narrow(2, 0, start + num_new)

    def keys(self, layer: int, num_positions: int) -> torch.Tensor:
        """The first keys of a layer, rotated: [num_heads, num_positions, head_dim]."""
        return self._entries[layer][0][0, :, :num_positions]

    def append(self, num_positions: int) -> None:
        """Keep the next `num_positions` entries just written as they lie (prefill)."""
        self.prefix_length += num_positions

    def keep(self, accepted_indices: np.ndarray) -> None:
        """Keep the root's entry and the accepted nodes' in path order behind the prefix; the rest is dropped.

        `accepted_indices` are packed indices, rising. Entries that lie in place (a path without gaps) do not move.
        """
        num_accepted = len(accepted_indices)
        # Rising indices from 1 on have no gap where the last is their number.
        if num_accepted and accepted_indices[-1] != num_accepted:
            first_gap = int(np.argmin(accepted_indices == np.arange(1, num_accepted + 1)))
            self._gather(
                self.prefix_length + 1 + first_gap, self.prefix_length + accepted_indices[first_gap:]
            )
        self.prefix_length += 1 + num_accepted

    @torch.inference_mode()
    def _gather(self, start: int, sources: np.ndarray) -> None:
        """Copy the entries at positions `sources` to `start` and behind, in every layer."""
        for block in self._blocks:
            entries = block.index_select(-2, torch.from_numpy(sources).to(block.device))
            block[..., start : start + len(sources), :] = entries


class TreeMask:
    """Additive attention mask of packed trees, in one buffer: a pass writes its own columns and nothing of the prefix.

    Columns that belonged to a tree are cleared once they have become part of the prefix, so the cost of a pass does not
    grow with the text.
    """

    def __init__(
        self, max_tree_nodes: int, capacity: int, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> None:
        """For trees of up to `max_tree_nodes` rows behind prefixes that leave them room in `capacity` positions."""
        # Rows start at multiples of 8 entries, which the fast attention kernels of a GPU ask for.
        self._mask = torch.zeros(max_tree_nodes, -(-capacity // 8) * 8, dtype=dtype, device=device)
        self._tree = torch.zeros(max_tree_nodes, max_tree_nodes)
        self._tree_array = self._tree.numpy()
        self._lowest = torch.finfo(dtype).min
        self._num_clear = 0

    def fill(self, parent_indices: np.ndarray, prefix_length: int) -> torch.Tensor:
        """The mask of one tree, [1, 1, num_nodes, prefix_length + num_nodes]: valid until the next call.

        Every node sees the prefix, its ancestors and itself. Prefixes may only grow.
        """
        num_nodes = len(parent_indices)
        assert prefix_length >= self._num_clear, (prefix_length, self._num_clear)
        _fill_tree(self._tree_array, parent_indices, self._lowest)
        self._mask[:, self._num_clear : prefix_length] = 0
        self._num_clear = prefix_length
        end = prefix_length + num_nodes
        self._mask[:num_nodes, prefix_length:end] = self._tree[:num_nodes, :num_nodes]
        return self._mask[None, None, :num_nodes, :end]


@jit
def _fill_tree(mask, parent_indices, lowest):
    """0 where a node sees another, itself included, `lowest` elsewhere; parents come before their children."""
    num_nodes = len(parent_indices)
    for i in range(num_nodes):
        parent = parent_indices[i]
        for j in range(num_nodes):
            mask[i, j] = mask[parent, j] if parent >= 0 and j < i else lowest
        mask[i, i] = 0.0
