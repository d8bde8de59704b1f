"""Settings of the method: frozen, checked when made, with the paper's defaults (Appendix A)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, get_args

FusionRule = Literal["recap", "no-confidence", "no-prior", "uniform", "hard-gate", "back-off", "unigram"]
FUSION_RULES: tuple[FusionRule, ...] = get_args(FusionRule)
Expansion = Literal["best-first", "fixed"]
RootFallback = Literal["none", "recency", "semantic"]

#: Width K of a prediction row (Eq. 2) and of the kept mixture (Eq. 6).
ROW_WIDTH = 8
#: Upper limits that keep one verification pass, and a trace of it, bounded.
MAX_NODES_LIMIT = 256
MAX_DEPTH_LIMIT = 32
MAX_SUFFIX_NODES_LIMIT = 32


@dataclass(frozen=True, slots=True)
class RecapConfig:
    """Hyperparameters of RECAP.

    Attributes:
        max_nodes: draft nodes beside the root that the best-first search may make, 0..256.
        max_depth: deepest node of the search, 1..32 (the root has depth 0).
        width: children tried per node, 1..8.
        specificity_priors: alpha of Eq. 4, by rank among the rows found; positive, not increasing.
        depth_priors: eta of Eq. 8 at depth 1, 2, ...; each in (0, 1]; the last one holds for all deeper nodes.
        fusion: how the rows found are weighted; `recap` is the paper's rule, the others are its ablations.
        suffix_min_match: shortest suffix, in tokens, whose continuation is copied; at least 1.
        suffix_max_nodes: new nodes that the suffix continuation may add beyond `max_nodes`; 0 turns it off.
        suffix_inside_budget: the new suffix nodes count among `max_nodes`, and the search gives up as many.
        expansion: `best-first` is Eq. 8; `fixed` goes breadth-first, `width` children at every node.
        root_fallback: where rows for a root that finds none are taken from (Appendix H).
        follows_cost: each pass verifies only as many of `max_nodes` as are worth their measured time; not with a
            root fallback.
        forbid_repeated_edges: leave out a child whose (parent token, token) edge is already on its own path.

    Raises:
        ValueError: a value outside its range; the message names it, the rule and what came.
    """

    max_nodes: int = 63
    max_depth: int = 10
    width: int = ROW_WIDTH
    specificity_priors: tuple[float, float, float] = (0.70, 0.20, 0.10)
    depth_priors: tuple[float, ...] = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
    fusion: FusionRule = "recap"
    suffix_min_match: int = 2
    suffix_max_nodes: int = 4
    suffix_inside_budget: bool = False
    expansion: Expansion = "best-first"
    root_fallback: RootFallback = "none"
    follows_cost: bool = False
    forbid_repeated_edges: bool = False

    def __post_init__(self) -> None:
        _check_int("max_nodes", self.max_nodes, 0, MAX_NODES_LIMIT)
        _check_int("max_depth", self.max_depth, 1, MAX_DEPTH_LIMIT)
        _check_int("width", self.width, 1, ROW_WIDTH)
        _check_int("suffix_min_match", self.suffix_min_match, 1, 1_000_000)
        _check_int("suffix_max_nodes", self.suffix_max_nodes, 0, MAX_SUFFIX_NODES_LIMIT)
        if self.fusion not in FUSION_RULES:
            raise ValueError(f"fusion must be one of {', '.join(FUSION_RULES)}; got fusion={self.fusion!r}")
        for name, choices in (("expansion", get_args(Expansion)), ("root_fallback", get_args(RootFallback))):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}; got {name}={getattr(self, name)!r}"
                )
        if self.follows_cost and self.root_fallback != "none":
            raise ValueError(
                f"root_fallback must be none where follows_cost is on; got root_fallback={self.root_fallback!r}"
            )
        priors = self.specificity_priors
        descending = all(a >= b for a, b in itertools.pairwise(priors))
        if len(priors) != 3 or not all(0 < p < math.inf for p in priors) or not descending:
            raise ValueError(
                f"specificity_priors must be three positive, not increasing numbers; got specificity_priors={priors}"
            )
        if not self.depth_priors or not all(0 < p <= 1 for p in self.depth_priors):
            raise ValueError(f"depth_priors must be numbers in (0, 1]; got depth_priors={self.depth_priors}")


def _check_int(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}; got {name}={value!r}")
