"""How much the final layer looks at the picture: the attention of a pass's first query, recomputed from its cache.

Fast attention kernels keep no weights. One query against one layer's keys is cheap, so it is computed once more, by the
plain formula softmax(q K^T / sqrt(d)), and only where a method asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def watch_first_query(attention: torch.nn.Module) -> Iterator[Callable[[], torch.Tensor]]:
    """Note the first query of the forward pass made inside the block; `attention` is a layer of the library.

    Yields a function that gives it, rotated: [num_heads, head_dim].
    """
    noted: dict[str, torch.Tensor] = {}

    def note(_: torch.nn.Module, __: tuple[Any, ...], inputs: dict[str, Any]) -> None:
        cosine, sine = inputs["position_embeddings"]
        noted.update(hidden=inputs["hidden_states"][0, :1], cosine=cosine[0, :1], sine=sine[0, :1])

    def first_query() -> torch.Tensor:
        vectors = attention.q_proj(noted["hidden"]).view(-1, attention.head_dim)
        if hasattr(attention, "q_norm"):  # Qwen3 normalises queries head by head
            vectors = attention.q_norm(vectors)
        first, second = vectors.chunk(2, dim=-1)
        return vectors * noted["cosine"] + torch.cat((-second, first), dim=-1) * noted["sine"]

    hook = attention.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield first_query
    finally:
        hook.remove()


def image_share(query: torch.Tensor, keys: torch.Tensor, image_positions: torch.Tensor) -> float:
    """Attention that one query gives to the image tokens in all, averaged over the heads: 0..1.

    Args:
        query: [num_heads, head_dim], rotated, of the position that stands last in `keys`.
        keys: [num_key_heads, num_positions, head_dim], rotated, the query's own position included.
        image_positions: int64 [num_image_tokens].
    """
    grouped = query.view(len(keys), -1, query.shape[-1])  # the heads that share a key head stand together
    scores = (grouped @ keys.transpose(-1, -2)).float() * query.shape[-1] ** -0.5
    weights = scores.softmax(dim=-1)  # [num_key_heads, heads_per_key_head, num_positions]
    return float(weights[..., image_positions].sum(dim=-1).mean())
