"""The text model's layers over our cache: the library's own, or the same arithmetic in far fewer operations.

On a CPU a pass of a small model is bound by the number of operations it dispatches, not by arithmetic. `FusedDecoder`
makes a layer of a dozen: query, key and value in one product, gate and up in another, norm weights folded into the
products behind them, residual additions inside the products, and rotary embedding as one multiplication of complex
numbers. Its results equal the library's up to rounding, and every method uses the same decoder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own customary name

from recap.targets.image_attention import watch_first_query
from recap.targets.kv_cache import TreeCache

#: Text models whose layers are RMS norm, rotary attention and a SiLU-gated MLP, and nothing else.
_FUSIBLE_MODELS = ("Qwen2_5_VLTextModel",)
#: Fusing copies the weights; above this size a CPU pass is bound by reading them, and nothing would be won.
_MAX_FUSED_PARAMETERS = 200_000_000


class Decoded(NamedTuple):
    """Hidden states [n, hidden_size] behind the final norm, and the final layer's first query, rotated
    [num_heads, head_dim], where it was asked for."""

    hidden: torch.Tensor
    first_query: torch.Tensor | None


class Decoder(Protocol):
    """Runs the layers, writing keys and values behind the cache's prefix, which it does not move."""

    def prefill(self, embeddings: torch.Tensor, position_ids: torch.Tensor, cache: TreeCache) -> torch.Tensor:
        """A whole prompt [n, hidden_size], each row seeing itself and those before it: hidden states, same shape."""

    def decode(
        self,
        embeddings: torch.Tensor,
        text_positions: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        wants_query: bool,
    ) -> Decoded:
        """Rows [n, hidden_size] at text positions int64 [n].

        `mask` is additive [1, 1, n, prefix + n]; None lets every row see everything.
        """


def make_decoder(
    text_model: torch.nn.Module, position_ids: Callable[[torch.Tensor], torch.Tensor]
) -> Decoder:
    """The fastest decoder that this text model allows; `position_ids` gives text positions the family's form."""
    weight = text_model.get_input_embeddings().weight
    num_parameters = sum(parameter.numel() for parameter in text_model.parameters())
    is_fusible = (
        type(text_model).__name__ in _FUSIBLE_MODELS
        and weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and num_parameters <= _MAX_FUSED_PARAMETERS
    )
    return FusedDecoder(text_model, position_ids) if is_fusible else LibraryDecoder(text_model, position_ids)


class LibraryDecoder:
    """The layers as transformers runs them."""

    def __init__(
        self, text_model: torch.nn.Module, position_ids: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
        self._text_model = text_model
        self._position_ids = position_ids

    def prefill(self, embeddings: torch.Tensor, position_ids: torch.Tensor, cache: TreeCache) -> torch.Tensor:
        """See `Decoder`."""
        return self._run(embeddings, position_ids, cache, None)

    def decode(
        self,
        embeddings: torch.Tensor,
        text_positions: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        wants_query: bool,
    ) -> Decoded:
        """See `Decoder`."""
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
    ) -> torch.Tensor:
        return self._text_model(
            inputs_embeds=embeddings[None],
            position_ids=position_ids,
            attention_mask=mask,
            cache=cache.layers,
            use_cache=True,
        ).last_hidden_state[0]


class _Layer(NamedTuple):
    """Weights of one layer, [in, out] as the products take them."""

    qkv: torch.Tensor
    qkv_bias: torch.Tensor
    out: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class FusedDecoder:
    """The layers over fused copies of their weights. The cache holds keys with rotated pairs side by side."""

    def __init__(
        self, text_model: torch.nn.Module, position_ids: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
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
        before_attention = layer.input_layernorm.weight.detach()
        before_mlp = layer.post_attention_layernorm.weight.detach()
        weights, biases = [], []
        for projection, is_rotated in (
            (attention.q_proj, True),
            (attention.k_proj, True),
            (attention.v_proj, False),
        ):
            weight = projection.weight.detach()
            bias = torch.zeros(len(weight)) if projection.bias is None else projection.bias.detach()
            weights.append(self._pair_up(weight) if is_rotated else weight)
            biases.append(self._pair_up(bias) if is_rotated else bias)
        gate_up = torch.cat([mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach()])
        return _Layer(
            qkv=(torch.cat(weights) * before_attention).t().contiguous(),
            qkv_bias=torch.cat(biases),
            out=attention.o_proj.weight.detach().t().contiguous(),
            gate_up=(gate_up * before_mlp).t().contiguous(),
            down=mlp.down_proj.weight.detach().t().contiguous(),
        )

    def _pair_up(self, rows: torch.Tensor) -> torch.Tensor:
        """Put the halves of each rotated pair side by side; queries and keys alike, so their products stay the same."""
        return rows.unflatten(0, (-1, 2, self._head_dim // 2)).transpose(1, 2).flatten(0, 2)

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
        return self._text_rotations[text_positions]

    def prefill(self, embeddings: torch.Tensor, position_ids: torch.Tensor, cache: TreeCache) -> torch.Tensor:
        """See `Decoder`."""
        return self._run(embeddings, self._rotations(position_ids), cache, None, is_causal=True).hidden

    def decode(
        self,
        embeddings: torch.Tensor,
        text_positions: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        wants_query: bool,
    ) -> Decoded:
        """See `Decoder`. The query comes for nothing."""
        return self._run(embeddings, self._rotations_at(text_positions), cache, mask, is_causal=False)

    def _run(
        self,
        hidden: torch.Tensor,
        rotations: torch.Tensor,
        cache: TreeCache,
        mask: torch.Tensor | None,
        is_causal: bool,
    ) -> Decoded:
        num_rows = hidden.shape[0]
        num_rotated = self._num_heads + self._num_key_heads
        size = (hidden.shape[-1],)
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
            normed = F.rms_norm(hidden, size, None, self._epsilon)
            gate, up = torch.mm(normed, layer.gate_up).chunk(2, dim=-1)
            hidden = torch.addmm(hidden, F.silu(gate).mul_(up), layer.down)
        return Decoded(F.rms_norm(hidden, size, self._norm_weight, self._epsilon), queries[:, 0])
