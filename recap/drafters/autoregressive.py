"""Plain decoding: the drafter that proposes nothing, so that every pass commits one token."""

from __future__ import annotations

import numpy as np

from recap.rows import PredictionRows
from recap.tree import DraftTree, root_only_tree
from recap.verification import Outcome


class AutoregressiveDrafter:
    """The baseline behind the same seam, loop and clock as every other method."""

    wants_prompt_rows = False
    wants_rows = False
    memories = None
    max_tree_nodes = 1

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Nothing to prepare."""

    def draft(self, history: np.ndarray) -> DraftTree:
        """The root alone."""
        return root_only_tree(int(history[-1]))

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Nothing to learn."""

    def save_state(self) -> None:
        """There is no state."""

    def restore_state(self, state: object) -> None:
        """There is no state."""
