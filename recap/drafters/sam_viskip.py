"""SAM with ViSkip's gate (MMSpec): while the target looks hard at the picture, copying text is not worth a try.

The gate is the attention that the final layer's first query gives to the image tokens, averaged over its heads; at 0.35
or more the pass is a plain step. Drafts are SAM's, capped at 40 tokens.

The benchmark's port verifies the draft and discards it afterwards, so it pays for what it throws away. Here the gate is
asked BEFORE: it reads the attention of the pass before (its first query, the root that pass began with). In the first
pass of a request, and where there is no picture, nothing is known and the gate is open. Computing the attention is
charged to this method, as part of its passes.
"""

from __future__ import annotations

import numpy as np

from recap.drafters.sam import SamDrafter
from recap.rows import PredictionRows
from recap.targets.base import Scores, Want
from recap.tree import DraftTree, root_only_tree

MAX_IMAGE_ATTENTION = 0.35


class SamViSkipDrafter(SamDrafter):
    """A `ScoreReader`: SAM behind a gate."""

    wants: tuple[Want, ...] = ("image_attention",)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Index prompt and first token; the gate is open."""
        super().begin(prompt_ids, first_token_id, prompt_row_ids, prompt_rows)
        self._image_attention: float | None = None

    def draft(self, history: np.ndarray) -> DraftTree:
        """SAM's path, or none while the target looks at the picture."""
        if self._image_attention is not None and self._image_attention >= MAX_IMAGE_ATTENTION:
            return root_only_tree(int(history[-1]))
        return super().draft(history)

    def read(self, scores: Scores) -> None:
        """Note the pass's attention for the next gate."""
        self._image_attention = scores.image_attention
