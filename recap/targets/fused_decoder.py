"""The layers of a Llama-like text model as few, large operations, for CPUs.

On a CPU a pass of a small model is bound by the number of operations it dispatches, not by arithmetic. Here a layer is a
dozen of them: query, key and value in one product, gate and up in another, norm weights folded into the products behind
them, residual additions inside the products, and rotary embedding as one multiplication of complex numbers.
The result equals the library's layers up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own customary name

from recap.targets.kv_cache import TreeCache


class _Layer(NamedTuple):
    """Weights of one layer, in the form [in, out] that the products take."""

    qkv: torch.Tensor
    qkv_bias: torch.Tensor
    out: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class FusedDecoder:
    """A text model's layers over copies of its weights: RMS norm, attention with rotary positions, SiLU-gated MLP."""

    def __init__(self, text_model: torch.nn.Module) -> None:
        """`text_model`: a Qwen2 or Llama text model of transformers, without its head. Its weights are copied."""
        config = text_model.config
        self._num_heads = config.num_attention_heads
        self._num_key_heads = config.num_key_value_heads
        self._head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._epsilon = config.rms_norm_eps
        self._rotary = text_model.rotary_emb
        self._norm_weight = text_model.norm.weight.detach()
        self._layers = [self._fuse(layer) for layer in text_model.layers]

    def _fuse(self, layer: torch.nn.Module) -> _Layer:
        attention, mlp = layer.self_attn, layer.mlp
        before_attention = layer.input_layernorm.weight.detach()
        before_mlp = layer.post_attention_layernorm.weight.detach()
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        weights = [projection.weight.detach() for projection in projections]
        biases = [
            torch.zeros_like(weight[:, 0]) if projection.bias is None else projection.bias.detach()
            for projection, weight in zip(projections, weights, strict=True)
        ]
        pair_up = [self._pair_rotary_rows] * 2 + [lambda rows: rows]
        qkv = torch.cat([reorder(weight) for reorder, weight in zip(pair_up, weights, strict=True)])
        bias = torch.cat([reorder(bias) for reorder, bias in zip(pair_up, biases, strict=True)])
        gate_up = torch.cat([mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach()])
        return _Layer(
            qkv=(qkv * before_attention).t().contiguous(),
            qkv_bias=bias,
            out=attention.o_proj.weight.detach().t().contiguous(),
            gate_up=(gate_up * before_mlp).t().contiguous(),
            down=mlp.down_proj.weight.detach().t().contiguous(),
        )

    def _pair_rotary_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Put the two halves of each rotated pair side by side; query and key alike, so their products stay."""
        halves = rows.unflatten(0, (-1, 2, self._head_dim // 2))
        return halves.transpose(1, 2).flatten(0, 2)

    def rotations(self, position_ids: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Unit complex numbers [n, 1, head_dim / 2] that turn queries and keys at n positions, by the library's own angles."""
        cos, sin = self._rotary(like, position_ids)
        half = self._head_dim // 2
        return torch.complex(cos[0, :, None, :half].float(), sin[0, :, None, :half].float())

    def forward(
        self, hidden: torch.Tensor, rotations: torch.Tensor, cache: TreeCache, mask: torch.Tensor | None, is_causal: bool
    ) -> torch.Tensor:
        """Hidden states behind the final norm.

        Args:
            hidden: [n, hidden_size], embeddings.
            rotations: see `rotations`.
            cache: new keys and values are written behind its prefix, which is not moved.
            mask: additive [1, 1, n, prefix + n], or None where every row sees everything (or with `is_causal`).
            is_causal: rows are a prompt's, each sees itself and those before it.

        Returns:
            [n, hidden_size].
        """
        num_rows = hidden.shape[0]
        num_rotated = self._num_heads + self._num_key_heads
        has_groups = self._num_heads != self._num_key_heads
        size = (hidden.shape[-1],)
        for index, layer in enumerate(self._layers):
            normed = F.rms_norm(hidden, size, None, self._epsilon)
            qkv = torch.addmm(layer.qkv_bias, normed, layer.qkv).view(num_rows, -1, self._head_dim)
            pairs = torch.view_as_complex(qkv[:, :num_rotated].unflatten(-1, (-1, 2)))
            turned = torch.view_as_real(pairs * rotations).flatten(-2)  # [n, num_rotated, head_dim]
            keys, values = cache.write(
                index, turned[:, self._num_heads :].transpose(0, 1), qkv[:, num_rotated:].transpose(0, 1)
            )
            mixed = F.scaled_dot_product_attention(
                turned[:, : self._num_heads].transpose(0, 1)[None],
                keys,
                values,
                attn_mask=mask,
                is_causal=is_causal,
                enable_gqa=has_groups,
            )
            hidden = torch.addmm(hidden, mixed[0].transpose(0, 1).reshape(num_rows, -1), layer.out)
            normed = F.rms_norm(hidden, size, None, self._epsilon)
            gate, up = torch.mm(normed, layer.gate_up).chunk(2, dim=-1)
            hidden = torch.addmm(hidden, F.silu(gate).mul_(up), layer.down)
        return F.rms_norm(hidden, size, self._norm_weight, self._epsilon)
