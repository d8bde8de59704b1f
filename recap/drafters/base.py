"""The seam of every method: what a drafter is asked for in a request."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from recap.memory import Memories
from recap.rows import PredictionRows
from recap.targets.base import Scores, Want
from recap.tree import DraftTree
from recap.verification import Outcome


class Drafter(Protocol):
    """Proposes a tree a pass and learns from its verification.

    A drafter that needs more of a pass than prediction rows is a `ScoreReader` as well.

    Attributes:
        wants_prompt_rows: whether `begin` needs the prompt's prediction rows (the target computes them only then, and
            their cost is charged to this method).
        wants_rows: whether `observe` needs prediction rows.
        memories: prediction memories that a recorder can read, or None.
        max_tree_nodes: most nodes, root included, of any tree it drafts.
    """

    wants_prompt_rows: bool
    wants_rows: bool
    memories: Memories | None
    max_tree_nodes: int

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> np.ndarray | None:
        """Start a request.

        Args:
            prompt_ids: int64 [num_prompt_tokens], image placeholders included.
            first_token_id: the token prefill committed.
            prompt_row_ids: int64 [n], the prompt tokens at the eligible positions.
            prompt_rows: the rows predicted there, or None unless asked for.

        Returns:
            bool [n], which rows were stored; None for drafters that store none.
        """

    def draft(self, history: np.ndarray) -> DraftTree:
        """The tree for the next pass; `history` int64 [n] is prompt and committed tokens, the last one the root."""

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> np.ndarray | None:
        """Learn from a verified tree; `history` is the one it was drafted for.

        Returns:
            bool [num_nodes, 3], which nodes wrote G, C, U; None for drafters without those memories.
        """

    def save_state(self) -> object:
        """What outlives a request, to be given back to `restore_state` when the request fails or is stopped."""

    def restore_state(self, state: object) -> None:
        """Return to a saved state, as if the request had never been made."""


class ScoreReader(Drafter, Protocol):
    """A drafter that asks for more of each pass; what that costs the target falls on this method's clock.

    Attributes:
        wants: what `Scores` shall hold beside the highest scores.
    """

    wants: tuple[Want, ...]

    def read(self, scores: Scores) -> None:
        """Take what was asked for. Called right before `observe` of the same pass."""
