"""Choosing the next token: by chance at a temperature, or by any rule of the text so far; the default is the argmax.

Lossless for a tree of deterministic drafts: at each node of the accepted path the token is drawn from the target's own
distribution, and a draft is accepted only where it is what was drawn. Every token of the text is therefore one draw
from the distribution that plain sampling draws it from, in the same order: with one seed, every method writes one text.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np

from recap.errors import InputError
from recap.tree import DraftTree

_NUMBERS = (int, float, np.integer, np.floating)
_WHOLE_NUMBERS = (int, np.integer)


class Chooser(Protocol):
    """Picks the next token of a text. Called once for each token, in the order of the text."""

    def choose(self, history: np.ndarray, scores: np.ndarray) -> int:
        """The token behind `history` int64 [n], given the target's raw `scores` float32 [V]."""


class Sampler:
    """Draws tokens at random.

    Attributes:
        temperature: above 0; scores are divided by it.
        top_k: the draw is among this many highest scores (those tied with the last included); None: all.
        top_p: the draw is among the fewest tokens that hold this much probability, 0 < top_p <= 1.
        seed: of the random numbers; one is used up by each token.
    """

    def __init__(
        self, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0, seed: int = 0
    ) -> None:
        """Raises InputError for a value outside its range."""
        if not _is_number(temperature, _NUMBERS) or not 0 < temperature < float("inf"):
            raise InputError(
                f"The temperature must be above 0 (leave sampling out for greedy decoding); got {temperature!r}."
            )
        if top_k is not None and (not _is_number(top_k, _WHOLE_NUMBERS) or top_k < 1):
            raise InputError(
                f"The number of tokens to draw from, top_k, must be a whole number of at least 1; got {top_k!r}."
            )
        if not _is_number(top_p, _NUMBERS) or not 0 < top_p <= 1:
            raise InputError(
                f"The probability to draw from, top_p, must be above 0 and at most 1; got {top_p!r}."
            )
        if not _is_number(seed, _WHOLE_NUMBERS) or seed < 0:
            raise InputError(f"The seed must be a whole number of at least 0; got {seed!r}.")
        self.temperature, self.top_k, self.top_p, self.seed = temperature, top_k, top_p, seed
        self._rng = np.random.default_rng(seed)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """float64 [V], what tokens are drawn with: temperature first, then top-k, then top-p."""
        raw = scores.astype(np.float64)
        with np.errstate(over="ignore"):  # at a temperature near 0 all but the highest scores become -inf
            scaled = (raw - raw.max()) / self.temperature
        if self.top_k is not None and self.top_k < len(scaled):
            scaled[scaled < np.partition(scaled, -self.top_k)[-self.top_k]] = -np.inf
        weights = np.exp(scaled)
        weights /= weights.sum()
        if self.top_p < 1:
            falling = np.argsort(-weights, kind="stable")
            mass_before = np.cumsum(weights[falling]) - weights[falling]
            weights[falling[mass_before >= self.top_p]] = 0  # the first token has none before it
            weights /= weights.sum()
        return weights

    def choose(self, history: np.ndarray, scores: np.ndarray) -> int:
        """One draw; `history` does not matter. See `Chooser`."""
        cumulative = np.cumsum(self.probabilities(scores))
        return int(np.searchsorted(cumulative, self._rng.random() * cumulative[-1], side="right"))


def _is_number(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def choose_along_path(
    tree: DraftTree,
    all_scores: np.ndarray,
    history: np.ndarray,
    chooser: Chooser,
    end_ids: Collection[int],
    num_tokens_left: int,
) -> np.ndarray:
    """The chosen token at every node of the path that the choices follow; -1 elsewhere: int64 [num_nodes].

    The walk ends where no child carries the choice, behind an end token, and at the length cap.

    Args:
        tree: the verified tree, in preorder.
        all_scores: float32 [num_nodes, V].
        history: int64 [n], prompt and committed tokens, the root last.
        chooser: what picks each token.
        end_ids: ids that end the answer.
        num_tokens_left: tokens the run may still commit, at least 1.
    """
    chosen = np.full(len(tree.token_ids), -1, np.int64)
    text, node = history, 0
    for _ in range(num_tokens_left):
        token = chosen[node] = chooser.choose(text, all_scores[node])
        children = np.flatnonzero((tree.parent_indices == node) & (tree.token_ids == token))
        if len(children) == 0 or token in end_ids:
            break
        text, node = np.append(text, token), int(children[0])
    return chosen
