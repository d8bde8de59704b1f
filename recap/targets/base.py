"""The seam of every target model: prefill a request, verify trees on it, keep the accepted entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from recap.budget import CostCurve
from recap.rows import PredictionRows
from recap.tree import DraftTree


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A prompt ready for a target, built outside every clock.

    Attributes:
        prompt_ids: int64 [num_prompt_tokens], image placeholders expanded.
        max_new_tokens: length cap, at least 1.
        image_token_id: the id of image placeholders; None without a picture.
        model_inputs: what else the target's prefill needs (pixel values, grids), by name.
    """

    prompt_ids: np.ndarray
    max_new_tokens: int
    image_token_id: int | None = None
    model_inputs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.prompt_ids.ndim != 1 or len(self.prompt_ids) == 0:
            raise ValueError(
                f"prompt_ids must be one non-empty row of ids; got shape {self.prompt_ids.shape}"
            )
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1; got max_new_tokens={self.max_new_tokens}")

    @property
    def num_image_tokens(self) -> int:
        """Image placeholders in the prompt."""
        return 0 if self.image_token_id is None else int((self.prompt_ids == self.image_token_id).sum())


#: What a pass can give beside its highest scores, each computed only where it is asked for.
Want = Literal["hidden_states", "image_attention"]


class Scores(NamedTuple):
    """The target's predictions at evaluated positions.

    Attributes:
        top_ids: int64 [num_positions, K'], highest raw score first, ties to the lower id; K' = min(K, V).
        top_scores: float32 [num_positions, K'], their raw scores (logits).
        all_scores: float32 [num_positions, V] where they were asked for, else None.
        hidden_states: float32 [num_positions, hidden_size], what the scores were computed from, where asked for and the
            target has any.
        image_attention: share of the final layer's attention that the first position gives to the image tokens,
            averaged over its heads, where asked for and there is a picture.
    """

    top_ids: np.ndarray
    top_scores: np.ndarray
    all_scores: np.ndarray | None = None
    hidden_states: np.ndarray | None = None
    image_attention: float | None = None

    @property
    def greedy_ids(self) -> np.ndarray:
        """int64 [num_positions], argmax, ties to the lower id."""
        return self.top_ids[:, 0]

    def two_highest(self, position: int) -> tuple[float, float]:
        """The two highest raw scores at a position, for records; twice the only one where V is 1.

        A score of -inf (a token the model rules out) is told as the lowest float32: records hold finite numbers alone.
        """
        scores = np.maximum(self.top_scores[position, :2], np.finfo(np.float32).min).tolist()
        return scores[0], scores[-1]


class Decoding(Protocol):
    """Everything of one request: made by prefill, dropped by `close`, on error and Stop too.

    Attributes:
        first_scores: [1]-position scores of the first output token, all of them (`all_scores`) included.
        prompt_row_ids: int64 [n], prompt tokens at the eligible positions (all but placeholders and padding).
        prompt_rows: rows predicted there, or None where not asked for.
        prefix_length: cached positions: prompt and committed tokens, the next root not included.
    """

    first_scores: Scores
    prompt_row_ids: np.ndarray
    prompt_rows: PredictionRows | None
    prefix_length: int

    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: Collection[Want] = ()) -> Scores:
        """One pass over root and nodes: each sees the prefix, its ancestors and itself, at position prefix + depth."""

    def keep(self, accepted_indices: np.ndarray) -> None:
        """Keep the root's and the accepted nodes' entries behind the prefix, in path order; drop the rest."""

    def close(self) -> None:
        """Drop the request's state."""


class Target(Protocol):
    """A model that scores trees.

    Attributes:
        vocab_size: width V of its scores.
        end_ids: ids that end an answer (model, generation and tokenizer settings as one set).
        blocked_ids: image placeholders and padding: never drafted, never indexed.
        cost_curve: measured seconds of a pass by its rows.
    """

    cost_curve: CostCurve
    vocab_size: int
    end_ids: frozenset[int]
    blocked_ids: frozenset[int]

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> Decoding:
        """Read the prompt and choose the first token.

        Args:
            request: the prompt.
            want_prompt_rows: compute prediction rows at the eligible prompt positions.
            max_tree_nodes: most nodes, root included, that one `verify` will be given.
        """
