"""A target that sees only what mask, positions and cache let it see: an attention model without weights."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import torch

from recap.rows import make_rows
from recap.targets.base import Request, Scores
from recap.targets.kv_cache import TreeMask
from recap.targets.scripted import ScriptedTarget
from recap.tree import DraftTree


class SlotTarget(ScriptedTarget):
    """A target that sees only what mask, positions and cache let it see: an attention model without weights.

    The cache is a list of (position, token) entries. A node reads the entries of the prefix and those that its mask row
    marks, in order of position; a hole, a doubled position or a foreign entry changes or breaks what it reads.
    """

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> SlotDecoding:
        return SlotDecoding(self, request, max_tree_nodes)


class SlotDecoding:
    def __init__(self, target: SlotTarget, request: Request, max_tree_nodes: int) -> None:
        self._target, self._max_tree_nodes = target, max_tree_nodes
        prompt = request.prompt_ids.tolist()
        capacity = len(prompt) + request.max_new_tokens + max_tree_nodes
        self._mask = TreeMask(max_tree_nodes, capacity, torch.float32)
        self.slots: list[tuple[int, int]] = list(enumerate(prompt))
        self._written: list[tuple[int, int]] = []
        eligible = [i for i, token in enumerate(prompt) if token not in target.blocked_ids]
        self.prompt_row_ids = request.prompt_ids[eligible]
        scores = [target.score_histories([prompt[: i + 1]]) for i in eligible]
        self.prompt_rows = make_rows(
            np.concatenate([np.zeros((0, min(8, target.vocab_size)), int), *(s.top_ids for s in scores)]),
            np.concatenate([np.zeros((0, min(8, target.vocab_size))), *(s.top_scores for s in scores)]),
        )
        self.first_scores = target.score_histories([prompt])
        self.is_closed = False

    @property
    def prefix_length(self) -> int:
        return len(self.slots)

    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: object = ()) -> Scores:
        assert len(tree.token_ids) <= self._max_tree_nodes
        mask = self._mask.fill(tree.parent_indices, self.prefix_length)[0, 0].numpy() == 0
        assert mask[:, : self.prefix_length].all()
        positions = (self.prefix_length + tree.depths).tolist()
        self._written = list(zip(positions, tree.token_ids.tolist(), strict=True))
        histories = []
        for row in mask[:, self.prefix_length :].tolist():
            seen = sorted([*self.slots, *itertools.compress(self._written, row)])
            assert [position for position, _ in seen] == list(range(len(seen)))
            histories.append([token for _, token in seen])
        return self._target.score_histories(histories)

    def keep(self, accepted_indices: np.ndarray) -> None:
        path = [0, *accepted_indices.tolist()]
        self.slots = oracles.gather([*self.slots, *self._written], len(self.slots), path)  # type: ignore[assignment]

    def close(self) -> None:
        self.is_closed = True
