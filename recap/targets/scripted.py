"""A target without weights: its scores are a function of the token history. For tests, toys and lessons."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
import torch

from recap.budget import CostCurve
from recap.events import Environment
from recap.rows import make_rows
from recap.targets.base import Request, Scores, Want
from recap.targets.scoring import score_positions
from recap.tree import DraftTree

NextScores = Callable[[Sequence[int]], np.ndarray]


class ScriptedTarget:
    """Scores the next token by calling `next_scores` on the whole history before it."""

    def __init__(
        self,
        vocab_size: int,
        next_scores: NextScores,
        end_ids: Iterable[int] = (),
        blocked_ids: Iterable[int] = (),
        pass_seconds: float = 0.0,
    ) -> None:
        """Args:
        vocab_size: width V of the scores.
        next_scores: history ids -> float [V], raw scores.
        end_ids, blocked_ids: see `Target`.
        pass_seconds: how long every prefill and pass takes at least.
        """
        self.vocab_size = vocab_size
        self.end_ids = frozenset(end_ids)
        self.blocked_ids = frozenset(blocked_ids)
        self.name = "scripted"
        #: A look-up costs the same for any number of rows.
        self.cost_curve = CostCurve((1, 2), (max(pass_seconds, 1e-6),) * 2)
        self.environment = Environment("cpu", "float32", torch.__version__, "", torch.get_num_threads())
        self._next_scores = next_scores
        self._pass_seconds = pass_seconds

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> ScriptedDecoding:
        """Read the prompt; `max_tree_nodes` needs no room here."""
        return ScriptedDecoding(self, request, want_prompt_rows)

    def token_bytes(self, token_id: int) -> bytes:
        """A made-up word for each id."""
        return f"<{token_id}>".encode() if self.is_special(token_id) else f" t{token_id}".encode()

    def is_special(self, token_id: int) -> bool:
        """End tokens and blocked ids are control tokens."""
        return token_id in self.end_ids or token_id in self.blocked_ids

    def score_histories(self, histories: Sequence[Sequence[int]], want_all_scores: bool = False) -> Scores:
        """Scores after each history, as one pass."""
        if self._pass_seconds:  # sleeping for no time still hands the processor to others
            time.sleep(self._pass_seconds)
        logits = np.array([self._next_scores(history) for history in histories], np.float32)
        return score_positions(torch.from_numpy(logits), want_all_scores)


class ScriptedDecoding:
    """One request on a scripted target: its committed tokens stand for the cache."""

    def __init__(self, target: ScriptedTarget, request: Request, want_prompt_rows: bool) -> None:
        self._target = target
        self._cached_ids = request.prompt_ids.tolist()
        self._tree: DraftTree | None = None
        eligible = [i for i, token in enumerate(self._cached_ids) if token not in target.blocked_ids]
        self.prompt_row_ids = request.prompt_ids[eligible]
        wanted = [*eligible, len(self._cached_ids) - 1] if want_prompt_rows else [len(self._cached_ids) - 1]
        scores = target.score_histories([self._cached_ids[: i + 1] for i in wanted], want_all_scores=True)
        assert scores.all_scores is not None
        self.first_scores = Scores(scores.top_ids[-1:], scores.top_scores[-1:], scores.all_scores[-1:])
        self.prompt_rows = (
            make_rows(scores.top_ids[:-1], scores.top_scores[:-1]) if want_prompt_rows else None
        )

    @property
    def prefix_length(self) -> int:
        """Prompt and committed tokens whose entries are kept."""
        return len(self._cached_ids)

    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: Collection[Want] = ()) -> Scores:
        """Scores after every node's own path. There are no layers: hidden states and attention stay None."""
        self._tree = tree
        histories: list[list[int]] = []
        for token, parent in zip(tree.token_ids.tolist(), tree.parent_indices.tolist(), strict=True):
            histories.append([*(histories[parent] if parent >= 0 else self._cached_ids), token])
        return self._target.score_histories(histories, want_all_scores)

    def keep(self, accepted_indices: np.ndarray) -> None:
        """Commit the root's and the accepted nodes' tokens."""
        assert self._tree is not None, "keep follows verify"
        self._cached_ids += self._tree.token_ids[[0, *accepted_indices]].tolist()

    def close(self) -> None:
        """Nothing is held outside this object."""


def random_scores(vocab_size: int, order: int, seed: int, scale: float = 3.0) -> NextScores:
    """Reproducible scores that depend on the last `order` tokens only, so that texts recur as real ones do.

    Scores are normal with standard deviation `scale`.
    """

    def next_scores(history: Sequence[int]) -> np.ndarray:
        context = [int(token) for token in history[-order:]]
        return np.random.default_rng([seed, *context]).normal(0.0, scale, vocab_size).astype(np.float32)

    return next_scores


def table_scores(vocab_size: int, next_ids: Mapping[tuple[int, ...], int], default_id: int = 0) -> NextScores:
    """Scores that put the token listed for the longest matching history suffix first; then falling by id distance."""
    longest = max((len(suffix) for suffix in next_ids), default=0)

    def next_scores(history: Sequence[int]) -> np.ndarray:
        choice = default_id
        for length in range(min(longest, len(history)), 0, -1):
            suffix = tuple(int(token) for token in history[-length:])
            if suffix in next_ids:
                choice = next_ids[suffix]
                break
        return -np.abs(np.arange(vocab_size) - choice).astype(np.float32)

    return next_scores
