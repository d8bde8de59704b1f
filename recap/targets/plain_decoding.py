"""Plain decoding by transformers' own passes and cache, for models whose cache cannot hold a tree."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from recap.rows import PredictionRows
from recap.targets.base import Request, Scores, Want
from recap.targets.scoring import score_positions
from recap.tree import DraftTree


class PlainDecoding:
    """One token a pass. Takes trees of the root alone; there are no prompt rows, hidden states or attention."""

    prompt_rows: PredictionRows | None = None

    @torch.inference_mode()
    def __init__(self, model: Any, request: Request) -> None:
        """`model` is a generative model of transformers; its preparation of inputs is used as `generate` does."""
        self._model = model
        self._device = model.get_input_embeddings().weight.device
        self._input_ids = torch.from_numpy(request.prompt_ids)[None].to(self._device)
        self._state: dict[str, Any] = {
            name: value.to(self._device) if isinstance(value, torch.Tensor) else value
            for name, value in request.model_inputs.items()
        }
        self._state |= {"attention_mask": torch.ones_like(self._input_ids), "use_cache": True}
        if "position_ids" in inspect.signature(model.forward).parameters:
            self._state["position_ids"] = model._prepare_position_ids_for_generation(
                self._input_ids, self._state
            )
        if model._supports_default_dynamic_cache():
            self._state["cache"] = DynamicCache(config=model.config.get_text_config())
        self._num_read = 0
        self.prompt_row_ids = np.empty(0, np.int64)
        self.first_scores = self._pass(is_first=True, want_all_scores=True)

    @property
    def prefix_length(self) -> int:
        """Positions read: prompt and committed tokens, the next root not included."""
        return self._num_read

    @torch.inference_mode()
    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: Collection[Want] = ()) -> Scores:
        """Scores after the root. See `Decoding`."""
        assert len(tree.token_ids) == 1, tree.token_ids
        root = torch.from_numpy(tree.token_ids).to(self._device)[None]
        self._input_ids = torch.cat([self._input_ids, root], dim=1)
        return self._pass(is_first=False, want_all_scores=want_all_scores)

    def keep(self, accepted_indices: np.ndarray) -> None:
        """The root is read already, and there are no drafts."""
        assert len(accepted_indices) == 0, accepted_indices
        self._num_read = self._input_ids.shape[1]

    def close(self) -> None:
        """Drop the cache."""
        self._state.clear()

    def _pass(self, is_first: bool, want_all_scores: bool) -> Scores:
        inputs = self._model.prepare_inputs_for_generation(
            self._input_ids,
            next_sequence_length=None if is_first else 1,
            is_first_iteration=is_first,
            **self._state,
        )
        outputs = self._model(**inputs, return_dict=True)
        self._state = self._model._update_model_kwargs_for_generation(outputs, self._state)
        if is_first:
            self._num_read = self._input_ids.shape[1]
        return score_positions(outputs.logits[0, -1:], want_all_scores)
