"""The candidate tree as a set of paths: enumerated, searched best first, or made depth by depth (Eq. 8)."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oracles.fusion import Candidates
from oracles.rows import ROW_WIDTH

DEPTH_PRIORS = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)


class Path(NamedTuple):
    """A path of the search, without the root. Sorts as the search pops: best score, then rank path."""

    minus_score: float
    ranks: tuple[int, ...]
    token_ids: tuple[int, ...]
    q: float

    @property
    def score(self) -> float:
        return -self.minus_score

    @property
    def parent_ranks(self) -> tuple[int, ...]:
        return self.ranks[:-1]


@dataclass(frozen=True)
class SearchRules:
    """What the search is allowed: see the method's settings."""

    max_nodes: int = 63
    max_depth: int = 10
    width: int = ROW_WIDTH
    depth_priors: tuple[float, ...] = DEPTH_PRIORS
    blocked_ids: frozenset[int] = frozenset()
    forbid_repeated_edges: bool = False


#: Context (history and path) to the fused candidates after it.
Expand = Callable[[Sequence[int]], Candidates]


def depth_prior(depth: int, depth_priors: Sequence[float] = DEPTH_PRIORS) -> float:
    """The depth prior at depth 1, 2, ...; the last value holds for all deeper nodes."""
    return depth_priors[min(depth, len(depth_priors)) - 1]


def children(parent: Path | None, history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """The children that may be tried under a path (None: the root); scores are products along the path."""
    tokens = parent.token_ids if parent else ()
    ranks = parent.ranks if parent else ()
    score = parent.score if parent else 1.0
    depth = len(tokens) + 1
    if depth > rules.max_depth:
        return []
    walked = [history[-1], *tokens]
    edges = set(itertools.pairwise(walked)) if rules.forbid_repeated_edges else set()
    prior = depth_prior(depth, rules.depth_priors)
    made: dict[int, Path] = {}
    for rank, (token_id, q) in enumerate(expand([*history, *tokens])):
        is_filtered = token_id in rules.blocked_ids or (walked[-1], token_id) in edges
        if not is_filtered and token_id not in made:
            made[token_id] = Path(-(score * prior * q), (*ranks, rank), (*tokens, token_id), q)
    return list(made.values())[: rules.width]  # a filtered token is no child and takes no place


def brute_force_tree(history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """Enumerate EVERY path down to the depth, sort them all, take the first `max_nodes`."""
    every: list[Path] = []
    layer: list[Path | None] = [None]
    while layer:
        layer = [child for parent in layer for child in children(parent, history, expand, rules)]
        every += layer
    return sorted(every)[: rules.max_nodes]


def best_first_tree(
    history: Sequence[int], expand: Expand, rules: SearchRules, num_missed: int = 0
) -> tuple[list[Path], list[Path]]:
    """Pop the best open path, make it a node, push its children. Also the next `num_missed` paths."""
    made: list[Path] = []
    still_open = sorted(children(None, history, expand, rules))
    while still_open and len(made) < rules.max_nodes + num_missed:
        best = heapq.heappop(still_open)
        made.append(best)
        for child in children(best, history, expand, rules):
            heapq.heappush(still_open, child)
    return made[: rules.max_nodes], made[rules.max_nodes :]


def breadth_first_tree(history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """Fixed expansion: depth by depth, every node `width` children, until the budget is full."""
    made: list[Path] = []
    layer = children(None, history, expand, rules)
    while layer and len(made) < rules.max_nodes:
        made += layer
        layer = [child for parent in layer for child in children(parent, history, expand, rules)]
    return made[: rules.max_nodes]


def is_prefix_closed(paths: Collection[Path]) -> bool:
    """Whether each path's parent is among the paths (or is the root)."""
    ranks = {path.ranks for path in paths}
    return all(not path.parent_ranks or path.parent_ranks in ranks for path in paths)
