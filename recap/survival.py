"""How often drafted nodes of each kind are accepted, learned while decoding: what a budget expects of a pass."""

from __future__ import annotations

import numpy as np

from recap.budget import NO_PACE
from recap.jit import jit
from recap.tree import DraftTree

#: Places in the order of the search where a bin begins; about two bins to a doubling.
_ORDER_BINS = np.array([1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97])
#: Maps that had a row where a node was proposed: none (a fallback), U alone, two, or all three.
NUM_SOURCES = 4
#: Lengths of a suffix match, each its own, longer ones sharing the last; and places in the copied continuation.
_NUM_MATCH_BINS, _NUM_PLACE_BINS = 12, 14
#: How far a pass's own survival is drawn towards that of the stream's passes. Where the memories are unsure, fewer
#: nodes are accepted, but the rows that the others leave are worth more later: with a budget by a pass's own survival
#: alone such passes stay small and unsure ones come again, and a fixed number of nodes makes more tokens a second.
_TYPICAL_SHARE = 0.8
#: Weight of a new pass in the typical survival once 50 were seen; before, all count the same.
_TYPICAL_STEP = 0.02
#: Nodes of a search whose typical survival is kept.
_NUM_TYPICAL = 128
#: Old observations fade: one that many observations of its kind ago counts 1/e.
_MEMORY = 2000.0
#: The curve of `prior_survival`: log odds of the first node by source, and what each e-fold of the place takes away.
_PRIOR_ODDS = np.array([0.2, 0.2, 1.0, 1.35])
_PRIOR_FALL = 1.45
#: How many observations the guess for a kind is worth.
_GUESS_WEIGHT = 20.0


class SurvivalTable:
    """How often nodes of each kind were accepted, learned while decoding.

    A searched node's kind is its place in the order of falling score and its source: knowing both, the score itself and
    the depth tell next to nothing more. A copied node's kind is the length of the match and its place.

    Attributes:
        pace: tokens and seconds of the stream's passes, kept here as they outlive a request like the shares.
    """

    def __init__(self) -> None:
        self._searched = np.zeros((2, NUM_SOURCES * len(_ORDER_BINS)))  # accepted, seen
        self._copied = np.zeros((2, _NUM_MATCH_BINS * _NUM_PLACE_BINS))
        #: Mean survival of the first, second, ... node over the passes that searched so far, a missing node's being 0.
        self._typical = np.zeros(_NUM_TYPICAL)
        self._num_passes = np.zeros(_NUM_TYPICAL)
        self.pace = NO_PACE

    def of_pass(self, sources: np.ndarray, num_nodes: int) -> np.ndarray:
        """What a budget is chosen by: `of_searched`, drawn towards the survival in the passes seen so far.

        Nodes beyond those of `sources` were not searched: they are taken to be as in the passes seen, and to be as good
        as any where there were none. float64 [num_nodes].
        """
        return _drawn_survival(self._searched, sources, num_nodes, self._typical, self._num_passes)

    def of_searched(self, sources: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of the first n nodes of a search, float64 [n].

        Args:
            sources: int [n] below `NUM_SOURCES`, how many of the three maps had a row where each node was proposed.
        """
        return _searched_survival(self._searched, sources)

    def of_copied(self, match_length: int, depths: np.ndarray) -> np.ndarray:
        """Estimated probability of acceptance of copied nodes at these depths, float64 [n]."""
        return _copied_survival(self._copied, match_length, depths)

    def observe(
        self,
        tree: DraftTree,
        sources: np.ndarray,
        num_asked: int,
        match_length: int,
        accepted_indices: np.ndarray,
    ) -> None:
        """Learn which nodes of a verified tree were accepted.

        Args:
            tree: searched and copied nodes.
            sources: as in `of_searched`, by `pop_orders`: that of the root comes first and does not count.
            num_asked: nodes that the search was asked for; those it did not find are missing.
            match_length: of the copied continuation.
            accepted_indices: packed indices of the accepted nodes.
        """
        _learn(
            self._searched,
            self._copied,
            self._typical,
            self._num_passes,
            tree.pop_orders,
            tree.depths,
            tree.is_suffix,
            sources,
            num_asked,
            match_length,
            accepted_indices,
        )

    def copy(self) -> SurvivalTable:
        """An independent copy."""
        other = SurvivalTable()
        for name in ("_searched", "_copied", "_typical", "_num_passes"):
            setattr(other, name, getattr(self, name).copy())
        other.pace = self.pace
        return other


@jit
def prior_survival(order, source):
    """What to expect of a node before anything was learned: a curve fitted once to the shipped model's answers.

    The log odds of acceptance fall with the logarithm of the place in the search (`order`, from 1), and rows under
    longer contexts know more (`source`, see `SurvivalTable.of_searched`).
    """
    return 1.0 / (1.0 + np.exp(_PRIOR_FALL * np.log(order) - _PRIOR_ODDS[source]))


@jit
def _searched_kind(order, source):
    return source * len(_ORDER_BINS) + np.searchsorted(_ORDER_BINS, order, side="right") - 1


@jit
def _copied_kind(match_length, depth):
    return min(match_length, _NUM_MATCH_BINS - 1) * _NUM_PLACE_BINS + min(depth - 1, _NUM_PLACE_BINS - 1)


@jit
def _estimate(table, kind, guess):
    return (table[0, kind] + _GUESS_WEIGHT * guess) / (table[1, kind] + _GUESS_WEIGHT)


@jit
def _searched_survival(table, sources):
    survival = np.empty(len(sources))
    for i in range(len(sources)):
        order, source = i + 1, sources[i]
        survival[i] = _estimate(table, _searched_kind(order, source), prior_survival(order, source))
    return survival


@jit
def _drawn_survival(table, sources, num_nodes, typical, num_passes):
    survival = np.empty(num_nodes)
    known = min(num_nodes, len(sources))
    survival[:known] = _searched_survival(table, sources[:known])
    for i in range(num_nodes):
        is_seen = i < len(typical) and num_passes[i] > 0
        if i >= known:
            survival[i] = typical[i] if is_seen else prior_survival(i + 1, NUM_SOURCES - 1)
        elif is_seen:
            survival[i] += _TYPICAL_SHARE * (typical[i] - survival[i])
    return survival


@jit
def _copied_survival(table, match_length, depths):
    survival = np.empty(len(depths))
    for i in range(len(depths)):
        guess = min(0.9, 0.15 * match_length) * 0.9 ** (depths[i] - 1)
        survival[i] = _estimate(table, _copied_kind(match_length, depths[i]), guess)
    return survival


@jit
def _learn(
    searched,
    copied,
    typical,
    num_passes,
    pop_orders,
    depths,
    is_suffix,
    sources,
    num_asked,
    match_length,
    accepted_indices,
):
    survival = _searched_survival(searched, sources[1:])
    for i in range(min(num_asked, len(typical))):
        num_passes[i] += 1
        step = max(_TYPICAL_STEP, 1.0 / num_passes[i])
        typical[i] += step * ((survival[i] if i < len(survival) else 0.0) - typical[i])
    kept = np.exp(-1.0 / _MEMORY)
    num_accepted = 0
    for node in range(1, len(pop_orders)):
        is_accepted = num_accepted < len(accepted_indices) and accepted_indices[num_accepted] == node
        num_accepted += is_accepted
        if is_suffix[node]:
            table, kind = copied, _copied_kind(match_length, depths[node])
        else:
            table, kind = searched, _searched_kind(pop_orders[node], sources[pop_orders[node]])
        table[0, kind] = kept * table[0, kind] + is_accepted
        table[1, kind] = kept * table[1, kind] + 1.0
