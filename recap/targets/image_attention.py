"""How much the final layer looks at the picture: the attention of a pass's first query, recomputed from its cache.

Fast attention kernels keep no weights. One query against one layer's keys is cheap, so it is computed once more, by the
plain formula softmax(q K^T / sqrt(d)), and only where a method asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class FirstQuery:
    """What the final layer's attention was given at the first position of a pass.

    Attributes:
        hidden_state: [1, hidden_size], the layer's normed input.
        rotation: cosine and sine of that position, [1, head_dim] each.
    """

    hidden_state: torch.Tensor
    rotation: tuple[torch.Tensor, torch.Tensor]


@contextmanager
def watch_first_query(attention: torch.nn.Module) -> Iterator[FirstQuery]:
    """Note the first query of the forward pass made inside the block; `attention` is the final layer's."""
    query = FirstQuery()

    def note(_: torch.nn.Module, __: tuple[Any, ...], inputs: dict[str, Any]) -> None:
        query.hidden_state = inputs["hidden_states"][0, :1]
        cosine, sine = inputs["position_embeddings"]
        query.rotation = cosine[0, :1], sine[0, :1]

    hook = attention.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield query
    finally:
        hook.remove()


def image_share(
    attention: torch.nn.Module, query: FirstQuery, keys: torch.Tensor, image_positions: torch.Tensor
) -> float:
    """Attention that one query gives to the image tokens in all, averaged over the heads: 0..1.

    Args:
        attention: the layer that made `query`.
        query: of the position that stands last in `keys`, a text token (its place is the same on all axes of M-RoPE).
        keys: [num_key_heads, num_positions, head_dim], rotated, the query's own position included.
        image_positions: int64 [num_image_tokens].
    """
    cosine, sine = query.rotation
    vectors = attention.q_proj(query.hidden_state).view(-1, attention.head_dim)  # [num_heads, head_dim]
    first, second = vectors.chunk(2, dim=-1)
    rotated = vectors * cosine + torch.cat((-second, first), dim=-1) * sine
    grouped = rotated.view(
        len(keys), -1, attention.head_dim
    )  # the heads that share a key head stand together
    scores = (grouped @ keys.transpose(-1, -2)).float() * attention.scaling
    weights = scores.softmax(dim=-1)  # [num_key_heads, heads_per_key_head, num_positions]
    return float(weights[..., image_positions].sum(dim=-1).mean())
