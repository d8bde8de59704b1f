"""SAM Decoding (Hu et al. 2025): copy behind the longest repeated suffix, the longer the match the more.

A suffix automaton over prompt and committed tokens finds the longest suffix of the text that occurred before. It keeps
for every state the EARLIEST end of its strings, so what is copied followed the first occurrence (RECAP's own suffix
match takes the latest). A match of m tokens drafts min(40, 1 + 4 m) tokens as one path: a short match is worth a short
guess.

The paper's setting is 64 tokens in all and draft lengths from 2 to 40; a draft that would be shorter (no match, or
nothing left to copy) is not made. One path of 40 stays below 64, which therefore never binds. The original can also
carry a static automaton of a text corpus; there is none here, so that every method knows this stream alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.drafters.request_local import RequestLocal
from recap.rows import PredictionRows
from recap.suffix import SuffixAutomaton
from recap.tree import DraftTree, chain_tree, root_only_tree
from recap.verification import Outcome

MIN_DRAFT_TOKENS = 2
MAX_DRAFT_TOKENS = 40


class SamDrafter(RequestLocal):
    """One automaton a request; image placeholders and padding are barriers in it, never copied."""

    wants_prompt_rows = False
    wants_rows = False
    max_tree_nodes = 1 + MAX_DRAFT_TOKENS

    def __init__(self, blocked_ids: Iterable[int] = ()) -> None:
        """`blocked_ids`: image placeholders and padding."""
        self._automaton = SuffixAutomaton(blocked_ids)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Index prompt and first token."""
        self._automaton.clear()
        self._automaton.extend(np.append(prompt_ids, first_token_id))

    def draft(self, history: np.ndarray) -> DraftTree:
        """One path, from behind the first occurrence of the longest repeated suffix."""
        match = self._automaton.earliest_match()
        copied = self._automaton.followers(match.end, draft_length(match.length))
        if len(copied) < MIN_DRAFT_TOKENS:
            return root_only_tree(int(history[-1]))
        return chain_tree(int(history[-1]), copied)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Index the committed tokens."""
        self._automaton.extend(outcome.committed_ids)


def draft_length(match_length: int) -> int:
    """Tokens that a match is trusted for."""
    return min(MAX_DRAFT_TOKENS, 1 + 4 * match_length)
