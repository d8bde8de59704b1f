"""The layers of Llama's kind (Llama, Mistral, Qwen2, Qwen2-VL, Qwen2.5-VL) in a dozen operations each.

On a CPU a pass of a small model is bound by dispatching operations and by reading weights, not by arithmetic. Here a
layer has one product for query, key and value and one for gate and up; norm weights are folded into the products
behind them, residual additions happen inside the products, and rotary embedding is one multiplication of complex
numbers. The results equal the library's up to rounding, and every method, plain decoding included, runs the same
decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own customary name

from recap.targets.cacheability import turning_length
from recap.targets.decoder import Decoded
from recap.targets.kv_cache import TreeCache

#: Text models whose layers are RMS norm, rotary attention and a SiLU-gated MLP, and nothing else.
_FUSIBLE_MODELS = ("LlamaModel", "MistralModel", "Qwen2Model", "Qwen2VLTextModel", "Qwen2_5_VLTextModel")
#: Fusing copies the weights; above this size a CPU pass is bound by reading them, and nothing would be won.
MAX_FUSED_PARAMETERS = 200_000_000


def is_fusible(text_model: torch.nn.Module) -> bool:
    """Is it one of these families, in fp32 on a CPU, small, attending to the whole text, its MLP without biases.

    And are its layers plain ones: neither quantised nor adapted, its rotary frequencies the same at every length.
    """
    if type(text_model).__name__ not in _FUSIBLE_MODELS:
        return False
    config = text_model.config
    layer = text_model.layers[0]
    unbiased = (layer.mlp.gate_proj, layer.mlp.up_proj, layer.mlp.down_proj)
    products = [
        module
        for name, module in text_model.layers.named_modules()
        if name.rpartition(".")[2].endswith("_proj")
    ]
    return (
        is_plain(text_model)
        and all(type(module) is torch.nn.Linear for module in products)
        and turning_length(config) is None
        and sum(parameter.numel() for parameter in text_model.parameters()) <= MAX_FUSED_PARAMETERS
        and config.hidden_act == "silu"
        and set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        and (getattr(config, "layer_types", None) is not None or not getattr(config, "sliding_window", None))
        and all(projection.bias is None for projection in unbiased)
    )


def is_plain(module: torch.nn.Module) -> bool:
    """Is every weight there, on a CPU and in fp32; of a spread model some wait elsewhere and are shown as `meta`."""
    return all(
        parameter.device.type == "cpu" and parameter.dtype == torch.float32
        for parameter in module.parameters()
    )


def pair_up(rows: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Put the halves of each rotated pair side by side, in weights [num_heads * head_dim, in] or a bias.

    Done to queries and keys alike, it leaves their products as they are.
    """
    return rows.unflatten(0, (-1, 2, head_dim // 2)).transpose(1, 2).flatten(0, 2)


def fuse_head(head: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """The vocabulary's scores [n, V] of hidden states [n, hidden_size], by a copy of the weights laid out [in, out].

    A product of few rows takes half the time so. A head that is no plain linear layer is returned as it is.
    """
    if type(head) is not torch.nn.Linear or not is_plain(head):
        return head
    weight = head.weight.detach().t().contiguous()
    if head.bias is None:
        return lambda hidden: torch.mm(hidden, weight)
    bias = head.bias.detach()
    return lambda hidden: torch.addmm(bias, hidden, weight)


class _Layer(NamedTuple):
    """Weights of one layer, [in, out] as the products take them."""

    qkv: torch.Tensor
    out: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor
    qkv_bias: torch.Tensor
    out_bias: torch.Tensor | None  # a family that has one pays an addition for it, the others nothing


class FusedDecoder:
    """See `Decoder`, whose place it takes. The cache holds keys with rotated pairs side by side.

    The weights are copied when it is made: later changes of the model's own do not reach it.
    """

    def __init__(
        self, text_model: torch.nn.Module, position_ids: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
        """`text_model` must be fusible; `position_ids` gives text positions int64 [n] the form that it takes."""
        config = text_model.config
        self._num_heads = config.num_attention_heads
        self._num_key_heads = config.num_key_value_heads
        self._head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._epsilon = config.rms_norm_eps
        self._rotary = text_model.rotary_emb
        self._position_ids = position_ids
        self._norm_weight = text_model.norm.weight.detach()
        self._layers = [self._fuse(layer) for layer in text_model.layers]
        #: Rotations of text positions 0, 1, ...: they are the same in every request.
        self._text_rotations = torch.empty(0, 1, self._head_dim // 2, dtype=torch.complex64)

    def _fuse(self, layer: torch.nn.Module) -> _Layer:
        attention, mlp = layer.self_attn, layer.mlp
        weights, biases = [], []
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
            weight = projection.weight.detach()
            bias = torch.zeros(len(weight)) if projection.bias is None else projection.bias.detach()
            is_rotated = projection is not attention.v_proj
            weights.append(pair_up(weight, self._head_dim) if is_rotated else weight)
            biases.append(pair_up(bias, self._head_dim) if is_rotated else bias)
        gate_up = torch.cat([mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach()])
        return _Layer(
            qkv=(torch.cat(weights) * layer.input_layernorm.weight.detach()).t().contiguous(),
            out=attention.o_proj.weight.detach().t().contiguous(),
            gate_up=(gate_up * layer.post_attention_layernorm.weight.detach()).t().contiguous(),
            down=mlp.down_proj.weight.detach().t().contiguous(),
            qkv_bias=torch.cat(biases),
            out_bias=None if attention.o_proj.bias is None else attention.o_proj.bias.detach(),
        )

    def prefill(
        self,
        embeddings: torch.Tensor,
        position_ids: torch.Tensor,
        cache: TreeCache,
        text_inputs: Mapping[str, Any],
    ) -> torch.Tensor:
        """See `Decoder`; these families' text models take nothing else."""
        assert not text_inputs, f"a fused decoder takes no {sorted(text_inputs)}"
        return self._run(embeddings, self._rotations(position_ids), cache, None, is_causal=True).hidden

    def decode(
        self,
        embeddings: torch.Tensor,
        text_positions: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        wants_query: bool,
    ) -> Decoded:
        """See `Decoder`. The query comes for nothing, wanted or not."""
        return self._run(embeddings, self._rotations_at(text_positions), cache, mask, is_causal=False)

    def _rotations(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Unit complex numbers [n, 1, head_dim / 2] by the library's own angles."""
        cosine, sine = self._rotary(self._norm_weight, position_ids)
        half = self._head_dim // 2
        return torch.complex(cosine[0, :, None, :half], sine[0, :, None, :half])

    def _rotations_at(self, text_positions: torch.Tensor) -> torch.Tensor:
        needed = int(text_positions.max()) + 1
        if needed > len(self._text_rotations):
            # Doubling, so that growing position by position stays cheap.
            self._text_rotations = self._rotations(self._position_ids(torch.arange(max(1024, 2 * needed))))
        return self._text_rotations.index_select(0, text_positions)

    def _run(
        self,
        hidden: torch.Tensor,
        rotations: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        is_causal: bool,
    ) -> Decoded:
        num_rows, size = hidden.shape[0], (hidden.shape[-1],)
        num_rotated = self._num_heads + self._num_key_heads
        for index, layer in enumerate(self._layers):
            normed = F.rms_norm(hidden, size, None, self._epsilon)
            qkv = torch.addmm(layer.qkv_bias, normed, layer.qkv).view(num_rows, -1, self._head_dim)
            pairs = torch.view_as_complex(qkv[:, :num_rotated].unflatten(-1, (-1, 2)))
            turned = torch.view_as_real(pairs * rotations).flatten(-2)  # [n, num_rotated, head_dim]
            queries, new_keys = turned.transpose(0, 1).split((self._num_heads, self._num_key_heads))
            keys, values = cache.write(index, new_keys, qkv[:, num_rotated:].transpose(0, 1))
            mixed = F.scaled_dot_product_attention(
                queries[None],
                keys,
                values,
                attn_mask=mask,
                is_causal=is_causal,
                enable_gqa=self._num_heads != self._num_key_heads,
            )
            hidden = torch.addmm(hidden, mixed[0].transpose(0, 1).reshape(num_rows, -1), layer.out)
            if layer.out_bias is not None:
                hidden.add_(layer.out_bias)
            normed = F.rms_norm(hidden, size, None, self._epsilon)
            gate, up = torch.mm(normed, layer.gate_up).chunk(2, dim=-1)
            hidden = torch.addmm(hidden, F.silu(gate).mul_(up), layer.down)
        return Decoded(F.rms_norm(hidden, size, self._norm_weight, self._epsilon), queries[:, 0])
