"""Token Recycling (Luo et al. 2025): one successor matrix for all contexts, and a fixed tree of 80 nodes.

The matrix holds for every token the 8 ids that the target scored highest the last time the token was evaluated, in
whatever context. It is zero at the start and kept across requests; the prompt is not written. Each pass fills the
"2.2.2" tree from it (`PATHS`), verifies all 80 nodes, and writes the new top-8 of all 81 evaluated nodes back.

Two things to know when reading a tree of it:

- A token that was never evaluated has a row of zeros, so it drafts id 0 eight times. Equal siblings are kept as they
  are. Of two siblings the first has at least the shape of the other below it, and equal tokens have equal rows; so
  among equal siblings the first carries the longest match, and `recap.verification`, which takes the first, finds it.
- A blocked id (image placeholder, padding; with some tokenizers id 0 itself) is never drafted: its place stays empty
  with all below, and the tree has fewer nodes. The original knows no such ids.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.config import ROW_WIDTH
from recap.drafters.static_tree import StaticTree, write_successors
from recap.rows import PredictionRows
from recap.tree import DraftTree
from recap.verification import Outcome

#: Paths by child rank, one digit a level: 8, 21, 25, 15, 8 and 3 nodes at the depths 1 to 6.
_SHAPE = """
0 1 2 3 4 5 6 7
00 01 02 03 04 05 06 07 10 11 12 13 20 21 22 30 31 40 50 60 70
000 001 002 003 004 005 006 007 010 011 012 020 021 030 040 050 060 070 100 101 110 200 300 400 500
0000 0001 0002 0003 0004 0010 0011 0020 0030 0040 0100 0200 1000 2000 3000
00000 00001 00002 00010 00020 00100 01000 10000
000000 000001 000100
"""
PATHS = tuple(_SHAPE.split())


class TokenRecyclingDrafter:
    """Keeps the matrix int32 [V, 8] of successors across requests."""

    wants_prompt_rows = False
    wants_rows = True
    memories = None

    def __init__(self, vocab_size: int, blocked_ids: Iterable[int] = ()) -> None:
        """`vocab_size`: width V of the target's scores; `blocked_ids`: ids that are never drafted."""
        self._shape = StaticTree([[int(rank) for rank in path] for path in PATHS], blocked_ids)
        self.max_tree_nodes = self._shape.num_nodes
        self.matrix = np.zeros((vocab_size, ROW_WIDTH), np.int32)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """The prompt is not written."""

    def draft(self, history: np.ndarray) -> DraftTree:
        """The fixed tree below the last token."""
        return self._shape.fill(self.matrix, int(history[-1]))

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Write the top-8 of all evaluated nodes, accepted or not."""
        assert rows is not None, "Token Recycling asks for rows"
        write_successors(self.matrix, tree, rows.token_ids)

    def save_state(self) -> np.ndarray:
        """A copy of the matrix."""
        return self.matrix.copy()

    def restore_state(self, state: np.ndarray) -> None:
        """Take back every row this request wrote."""
        self.matrix = state.copy()
