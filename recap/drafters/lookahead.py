"""Lookahead by a trie (Zhao et al. 2024, the method of the paper's "64/12"): the most frequent continuations as a tree.

Every window of 12 tokens of prompt and answers is a branch of a trie that counts how often each branch was taken. The
last two tokens of the text lead to a node (if nothing is known behind them, the last one does); its most frequent 64
descendants are the draft, verified as a tree. A window of the prompt weighs 10,000 times one of an answer, and is
dropped with its request; answers stay, and where they exceed the cap of nodes their counts are halved until they fit.

The original has one trie for each first token; here they hang below one root. Its cap of nodes is one for each of them,
the cap here is one for all, applied between requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recap.drafters.frequency_trie import FrequencyTrie, TrieArrays
from recap.rows import PredictionRows
from recap.tree import DraftTree, pack_tree, root_only_tree
from recap.verification import Outcome

MAX_DRAFT_NODES = 64
WINDOW = 12
MAX_KEPT_NODES = 65_536


class LookaheadDrafter:
    """Keeps the windows of earlier answers, and those of this request's prompt."""

    wants_prompt_rows = False
    wants_rows = False
    memories = None
    max_tree_nodes = 1 + MAX_DRAFT_NODES

    def __init__(self, blocked_ids: Iterable[int] = ()) -> None:
        """`blocked_ids`: ids that no window holds, image placeholders and padding."""
        self.trie = FrequencyTrie(WINDOW, frozenset(blocked_ids))

    def begin(
        self,
        prompt_ids: np.ndarray,
        first_token_id: int,
        prompt_row_ids: np.ndarray,
        prompt_rows: PredictionRows | None,
    ) -> None:
        """Drop the last prompt, insert this one, and start the answer."""
        self.trie.forget_prompt(MAX_KEPT_NODES)
        self.trie.extend(prompt_ids, is_prompt=True)
        self.trie.begin_text()
        self.trie.extend(np.array([first_token_id], np.int64), is_prompt=False)

    def draft(self, history: np.ndarray) -> DraftTree:
        """The most frequent continuations of the last two tokens, else of the last one."""
        root_id = int(history[-1])
        for key_length in (2, 1):
            node = self.trie.find(history[-key_length:])
            if node < 0:
                continue
            token_ids, parents = self.trie.best_below(node, MAX_DRAFT_NODES)
            if len(token_ids):
                return pack_tree([root_id, *token_ids], [-1, *parents])
        return root_only_tree(root_id)

    def observe(
        self, history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: Outcome
    ) -> None:
        """Continue the answer's windows with the committed tokens."""
        self.trie.extend(outcome.committed_ids, is_prompt=False)

    def save_state(self) -> TrieArrays:
        """A copy of all windows counted."""
        return self.trie.copy_arrays()

    def restore_state(self, state: TrieArrays) -> None:
        """Forget the windows since."""
        self.trie.arrays = TrieArrays(*(array.copy() for array in state))
