"""Tree Recycling, the paper's lighter variant of Token Recycling: a small full tree from this request's rows alone.

Width 2 and depth 4: 2 + 4 + 8 + 16 = 30 nodes, 31 with the root. The matrix holds 4 successors a token and lives for
one request; as RECAP's U it is seeded with the first occurrence of each prompt token. The tree reads the first 2 of the
4. A token that was not seen in this request has no row and drafts nothing, so early trees are smaller.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from recap.drafters.request_local import RequestLocal
from recap.drafters.static_tree import StaticTree, write_successors
from recap.rows import NO_TOKEN, PredictionRows
from recap.tree import DraftTree
from recap.verification import Outcome

WIDTH = 2
DEPTH = 4
ROW_LENGTH = 4


class TreeRecyclingDrafter(RequestLocal):
    """Makes a matrix int32 [V, 4] of successors for each request."""

    wants_prompt_rows = True
    wants_rows = True

    def __init__(self, vocab_size: int, blocked_ids: Iterable[int] = ()) -> None:
        """`vocab_size`: width V of the target's scores; `blocked_ids`: ids that are never drafted."""
        paths = [
            path for depth in range(1, DEPTH + 1) for path in itertools.product(range(WIDTH), repeat=depth)
        ]
        self._shape = StaticTree(paths, blocked_ids)
        self.max_tree_nodes = self._shape.num_nodes
        self._vocab_size = vocab_size

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Empty the matrix and seed it with the prompt's rows."""
        assert prompt_rows is not None, "Tree Recycling asks for prompt rows"
        self.matrix = np.full((self._vocab_size, ROW_LENGTH), NO_TOKEN, np.int32)
        first = np.unique(prompt_row_ids, return_index=True)[1]
        self.matrix[prompt_row_ids[first]] = prompt_rows.token_ids[first, :ROW_LENGTH]

    def draft(self, history: np.ndarray) -> DraftTree:
        """The fixed tree below the last token, as far as rows are known."""
        return self._shape.fill(self.matrix, int(history[-1]))

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Write the first 4 ids of all evaluated nodes, accepted or not."""
        assert rows is not None, "Tree Recycling asks for rows"
        write_successors(self.matrix, tree, rows.token_ids)
