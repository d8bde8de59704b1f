"""The vision tower of Qwen2.5-VL in fewer operations, for small models on a CPU.

As the fused text layers (`recap.targets.fused_decoder`): one product for gate and up, norm weights folded into the
products behind them, rotary embedding as one multiplication of complex numbers. What depends on the grid of patches
alone is computed once for each grid, and the patch convolution, whose patches do not overlap, is one product.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own customary name

from recap.targets.fused_decoder import MAX_FUSED_PARAMETERS, is_plain, pair_up

#: Grids whose rotations are kept; a server meets many picture shapes, and one takes some kilobytes.
_NUM_KEPT_GRIDS = 64


class EncodedPictures(NamedTuple):
    """What a tower makes of pictures.

    Attributes:
        pooler_output: [num_tokens, hidden_size] a picture, for the placeholders of the prompt.
    """

    pooler_output: list[torch.Tensor]


def is_fusible_tower(tower: torch.nn.Module | None) -> bool:
    """Is it Qwen2.5-VL's, in fp32 on a CPU, small, with every layer looking at the whole picture."""
    if type(tower).__name__ != "Qwen2_5_VisionTransformerPretrainedModel":
        return False
    config = tower.config
    return (
        is_plain(tower)
        and sum(parameter.numel() for parameter in tower.parameters()) <= MAX_FUSED_PARAMETERS
        and config.hidden_act == "silu"
        and set(config.fullatt_block_indexes) >= set(range(config.depth))
    )


class _Layer(NamedTuple):
    """Weights of one layer, [in, out] as the products take them, and biases."""

    qkv: torch.Tensor
    out: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor
    qkv_bias: torch.Tensor
    out_bias: torch.Tensor
    gate_up_bias: torch.Tensor
    down_bias: torch.Tensor


class FusedVisionTower:
    """Takes the place of the model's own `get_image_features` for still pictures.

    The weights are copied when it is made: later changes of the model's own do not reach it.
    """

    def __init__(self, tower: torch.nn.Module) -> None:
        """`tower` must be fusible."""
        config, merger = tower.config, tower.merger
        self._num_heads = config.num_heads
        self._head_dim = config.hidden_size // config.num_heads
        self._merge_size = tower.spatial_merge_size
        self._inverse_frequencies = tower.rotary_pos_emb.inv_freq.float()
        self._patch = tower.patch_embed.proj.weight.detach().flatten(1).t().contiguous()
        self._layers = [self._fuse(block) for block in tower.blocks]
        self._epsilons = [
            (block.norm1.variance_epsilon, block.norm2.variance_epsilon) for block in tower.blocks
        ]
        self._merger_epsilon = merger.ln_q.variance_epsilon
        first, _, second = merger.mlp
        merged_norm = merger.ln_q.weight.detach().repeat(self._merge_size**2)
        self._merge = (first.weight.detach() * merged_norm).t().contiguous(), first.bias.detach()
        self._project = second.weight.detach().t().contiguous(), second.bias.detach()
        self._rotations = lru_cache(_NUM_KEPT_GRIDS)(self._compute_rotations)

    def _fuse(self, block: torch.nn.Module) -> _Layer:
        attention, mlp = block.attn, block.mlp
        qkv = [
            part if index == 2 else pair_up(part, self._head_dim)
            for index, part in enumerate(attention.qkv.weight.detach().chunk(3))
        ]
        qkv_bias = [
            part if index == 2 else pair_up(part, self._head_dim)
            for index, part in enumerate(attention.qkv.bias.detach().chunk(3))
        ]
        gate_up = torch.cat([mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach()])
        return _Layer(
            qkv=(torch.cat(qkv) * block.norm1.weight.detach()).t().contiguous(),
            out=attention.proj.weight.detach().t().contiguous(),
            gate_up=(gate_up * block.norm2.weight.detach()).t().contiguous(),
            down=mlp.down_proj.weight.detach().t().contiguous(),
            qkv_bias=torch.cat(qkv_bias),
            out_bias=attention.proj.bias.detach(),
            gate_up_bias=torch.cat([mlp.gate_proj.bias.detach(), mlp.up_proj.bias.detach()]),
            down_bias=mlp.down_proj.bias.detach(),
        )

    def encode(self, patches: torch.Tensor, grids: torch.Tensor) -> EncodedPictures:
        """Pictures as the processor cut them, one after the other.

        Args:
            patches: [num_patches, values], each merged block's patches side by side.
            grids: int [num_pictures, 3], the time steps (1), rows and columns of patches of each picture.
        """
        shapes = grids.tolist()
        assert all(steps == 1 for steps, _, _ in shapes), f"still pictures; got {shapes}"
        parts = patches.float().split([rows * columns for _, rows, columns in shapes])
        return EncodedPictures(
            [
                self._encode_one(part, self._rotations(rows, columns))
                for part, (_, rows, columns) in zip(parts, shapes, strict=True)
            ]
        )

    def _compute_rotations(self, num_rows: int, num_columns: int) -> torch.Tensor:
        """Unit complex numbers [num_patches, 1, head_dim / 2] in the order of the patches: rows first, then columns."""
        merge = self._merge_size
        places = torch.stack(torch.meshgrid(torch.arange(num_rows), torch.arange(num_columns), indexing="ij"))
        blocks = places.reshape(2, num_rows // merge, merge, num_columns // merge, merge).transpose(2, 3)
        angles = blocks.reshape(2, -1, 1) * self._inverse_frequencies  # [2, num_patches, head_dim / 4]
        angles = torch.cat([*angles], dim=-1)[:, None]
        return torch.polar(torch.ones_like(angles), angles)

    def _encode_one(self, patches: torch.Tensor, rotations: torch.Tensor) -> torch.Tensor:
        hidden = torch.mm(patches, self._patch)
        num_patches, size = hidden.shape[0], (hidden.shape[1],)
        for layer, (first_epsilon, second_epsilon) in zip(self._layers, self._epsilons, strict=True):
            normed = F.rms_norm(hidden, size, None, first_epsilon)
            qkv = torch.addmm(layer.qkv_bias, normed, layer.qkv).view(num_patches, -1, self._head_dim)
            pairs = torch.view_as_complex(qkv[:, : 2 * self._num_heads].unflatten(-1, (-1, 2)))
            turned = torch.view_as_real(pairs * rotations).flatten(-2).transpose(0, 1)
            queries, keys = turned.split(self._num_heads)
            values = qkv[:, 2 * self._num_heads :].transpose(0, 1)
            mixed = F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]
            mixed = mixed.transpose(0, 1).reshape(num_patches, -1)
            hidden = torch.addmm(hidden, mixed, layer.out).add_(layer.out_bias)
            normed = F.rms_norm(hidden, size, None, second_epsilon)
            gate, up = torch.addmm(layer.gate_up_bias, normed, layer.gate_up).chunk(2, dim=-1)
            hidden = torch.addmm(hidden, F.silu(gate).mul_(up), layer.down).add_(layer.down_bias)
        merged = F.rms_norm(hidden, size, None, self._merger_epsilon).view(-1, len(self._merge[0]))
        weight, bias = self._merge
        merged = F.gelu(torch.addmm(bias, merged, weight))
        weight, bias = self._project
        return torch.addmm(bias, merged, weight)
