"""Prompt Lookup Decoding (Saxena 2023): copy what followed the same few tokens earlier in the text.

The last 4 tokens are looked for in prompt and answer; if they do not occur earlier, the last 3, then 2, then 1. The
FIRST occurrence is taken and up to 10 tokens behind it are drafted as one path. There is no memory besides the text.

The key of 4 and the 10 draft tokens are the paper's setting (the original's own are 3 and 10). transformers has a
version of its own, `generate(prompt_lookup_num_tokens=10)`, which may copy image placeholders; here they are barriers:
no key and no draft holds one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.drafters.request_local import RequestLocal
from recap.jit import jit
from recap.rows import PredictionRows
from recap.tree import DraftTree, chain_tree
from recap.verification import Outcome

MAX_KEY_TOKENS = 4
MAX_DRAFT_TOKENS = 10


class PromptLookupDrafter(RequestLocal):
    """Searches the history anew in every pass: O(history) comparisons a key length."""

    wants_prompt_rows = False
    wants_rows = False
    max_tree_nodes = 1 + MAX_DRAFT_TOKENS

    def __init__(self, blocked_ids: Iterable[int] = ()) -> None:
        """`blocked_ids`: image placeholders and padding, never drafted, and barriers of a match."""
        self._blocked_ids = np.array(sorted(blocked_ids), np.int64)

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Nothing to prepare: the history is the memory."""

    def draft(self, history: np.ndarray) -> DraftTree:
        """One path of at most 10 tokens."""
        is_blocked = np.isin(history, self._blocked_ids)
        start = find_continuation(history, is_blocked, MAX_KEY_TOKENS)
        copied = history[start : start + MAX_DRAFT_TOKENS]
        barriers = np.flatnonzero(is_blocked[start : start + MAX_DRAFT_TOKENS])
        return chain_tree(int(history[-1]), copied[: barriers[0]] if len(barriers) else copied)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Nothing to learn: the committed tokens are in the next history."""


@jit
def find_continuation(history, is_blocked, max_key_tokens):
    """Index just behind the first earlier occurrence of the longest key found; len(history) where there is none.

    `history` int64 [n], `is_blocked` bool [n]. Occurrences that a blocked token follows have nothing to copy and do not
    count.
    """
    num_tokens = len(history)
    for key_length in range(min(max_key_tokens, num_tokens - 1), 0, -1):
        is_key_blocked = False
        for i in range(num_tokens - key_length, num_tokens):
            is_key_blocked = is_key_blocked or is_blocked[i]
        if is_key_blocked:
            continue
        for end in range(key_length, num_tokens):
            if is_blocked[end]:
                continue
            matched = 0
            while matched < key_length and history[end - 1 - matched] == history[num_tokens - 1 - matched]:
                matched += 1
            if matched == key_length:
                return end
    return num_tokens
