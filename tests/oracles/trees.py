"""A tree as lists in packed order: how it is packed, and which nodes lie on a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oracles.search import Path


@dataclass(frozen=True)
class PackedTree:
    """A tree in packed order; node 0 is the root. `scores`: None for suffix nodes, 1 at the root."""

    token_ids: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    scores: tuple[float | None, ...]
    #: Place in the order of making: the root 0, the search's nodes, then the suffix nodes.
    pop_orders: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.token_ids)


def pack_tree(
    root_id: int, paths: Sequence[Path], continuation: Sequence[int] = (), max_new: int = 0
) -> PackedTree:
    """Depth-first preorder by rank path, after a walk of `continuation`.

    The walk shares what exists and adds at most `max_new` nodes, each the last among its siblings.
    """
    token: dict[tuple[int, ...], int] = {(): root_id}
    score: dict[tuple[int, ...], float | None] = {(): 1.0}
    for path in paths:
        token[path.ranks] = path.token_ids[-1]
        score[path.ranks] = path.score
    here: tuple[int, ...] = ()
    num_new = 0
    for token_id in continuation:
        kids = [ranks for ranks in token if len(ranks) == len(here) + 1 and ranks[:-1] == here]
        same = [ranks for ranks in kids if token[ranks] == token_id]
        if same:
            here = same[0]
            continue
        if num_new == max_new:
            break
        here = (*here, max((ranks[-1] for ranks in kids), default=-1) + 1)
        token[here], score[here] = token_id, None
        num_new += 1
    made = {ranks: order for order, ranks in enumerate(token)}  # dicts keep the order of making
    packed = sorted(token)  # a prefix sorts before its extensions: preorder
    index = {ranks: i for i, ranks in enumerate(packed)}
    return PackedTree(
        token_ids=tuple(token[ranks] for ranks in packed),
        parents=tuple(index[ranks[:-1]] if ranks else -1 for ranks in packed),
        depths=tuple(len(ranks) for ranks in packed),
        scores=tuple(score[ranks] for ranks in packed),
        pop_orders=tuple(made[ranks] for ranks in packed),
    )


def path_to(node: int, parents: Sequence[int]) -> list[int]:
    """Packed indices from the root down to a node."""
    path = [node]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    return path


def ancestor_mask(parents: Sequence[int]) -> list[list[bool]]:
    """mask[i][j]: node i sees node j, which is itself or one of its ancestors."""
    paths = [set(path_to(i, parents)) for i in range(len(parents))]
    return [[j in path for j in range(len(parents))] for path in paths]


def positions(parents: Sequence[int], prefix_length: int) -> list[int]:
    """Prefix length + depth."""
    return [prefix_length + len(path_to(i, parents)) - 1 for i in range(len(parents))]
