"""A vision-language model of the transformers library as a target: packed trees over a cache of our own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import torch
from PIL import Image

from recap.budget import CostCurve
from recap.errors import InputError
from recap.events import Environment
from recap.rows import PredictionRows, make_rows
from recap.targets.base import Request, Scores, Want
from recap.targets.cost import PREFIX_LENGTH, measure_pass_seconds
from recap.targets.decoder import Decoder
from recap.targets.image_attention import image_share
from recap.targets.kv_cache import TreeCache
from recap.targets.prompts import build_prompt, token_byte_table
from recap.targets.scoring import score_positions
from recap.tree import DraftTree
from recap.verification import ancestor_mask

#: Prompt positions scored at a time: 512 of a 152,064 vocabulary are 0.3 GB in fp32.
_ROWS_CHUNK = 512


class EmbeddedPrompt(NamedTuple):
    """A prompt as vectors.

    Attributes:
        embeddings: [1, num_prompt_tokens, hidden_size].
        position_ids: [..., num_prompt_tokens], in the form the family's text model takes.
        position_offset: what this request adds to the index of a position behind the prompt (Qwen-VL's M-RoPE delta).
    """

    embeddings: torch.Tensor
    position_ids: torch.Tensor
    position_offset: int


class Family(Protocol):
    """What makes one model family different."""

    def embed_prompt(self, model: torch.nn.Module, request: Request) -> EmbeddedPrompt:
        """Encode the pictures and place them among the prompt's embeddings."""

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """Text positions [n], offset included, in the form the family's text model takes."""

    def text_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """The part that maps embeddings and a cache to hidden states."""


class TransformersTarget:
    """A loaded model and its processor. Nothing of a request is stored here.

    Attributes:
        name: as the user named it.
        model, processor, tokenizer: transformers' own.
        family: what is special about this architecture.
        decoder: what runs its layers, for plain decoding and every other method alike.
        vocab_size, end_ids, blocked_ids: see `Target`.
        environment: device, precision and versions for records.
    """

    def __init__(
        self,
        name: str,
        model: torch.nn.Module,
        processor: object,
        family: Family,
        environment: Environment,
    ) -> None:
        self.name = name
        self.model = model
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.family = family
        self.environment = environment
        self.text_config = model.config.get_text_config()
        self.decoder = Decoder(family.text_model(model), family.position_ids)
        self.vocab_size = model.get_output_embeddings().weight.shape[0]
        config = model.config
        self.image_token_id: int | None = getattr(config, "image_token_id", None)
        self.end_ids = _id_set(config.eos_token_id, self.text_config.eos_token_id) | _id_set(
            model.generation_config.eos_token_id, self.tokenizer.eos_token_id
        )
        padding = _id_set(self.tokenizer.pad_token_id, model.generation_config.pad_token_id)
        placeholders = _id_set(self.image_token_id, getattr(config, "video_token_id", None))
        # A padding id that also ends answers has to stay draftable.
        self.blocked_ids = (padding - self.end_ids) | placeholders
        self._token_bytes, self._special_ids = token_byte_table(self.tokenizer)

    @cached_property
    def cost_curve(self) -> CostCurve:
        """Measured seconds of a pass by its rows; the first use takes a second or so on a small model."""
        return measure_pass_seconds(self, prefix_length=min(PREFIX_LENGTH, self.max_positions // 2))

    @property
    def device(self) -> torch.device:
        """Where the text model's first weights lie."""
        return self.model.get_input_embeddings().weight.device

    @property
    def max_positions(self) -> int:
        """Longest prompt and answer the model was made for."""
        return int(self.text_config.max_position_embeddings)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token's text; of a special token, those of its name; of an unused id, `<id>`."""
        return self._token_bytes.get(token_id, f"<{token_id}>".encode())

    def is_special(self, token_id: int) -> bool:
        """Is it a control token (or an id no text has), which adds no text."""
        return token_id in self._special_ids or token_id not in self._token_bytes

    def build_request(
        self,
        image: Image.Image | None,
        question: str,
        max_new_tokens: int = 200,
        history: Sequence[tuple[str, str]] = (),
    ) -> Request:
        """A question about a picture as a request, by the processor's own chat template.

        Args:
            image: three-channel picture, in the first user turn; None asks without one.
            question: what the user typed; control marks in it stay text.
            max_new_tokens: length cap, at least 1.
            history: earlier (question, answer) turns.

        Raises:
            InputError: a blank question, or prompt and answer longer than the model's positions.
        """
        if not question.strip():
            raise InputError("Please type a question about the picture.")
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
            raise InputError(
                f"The number of new tokens must be a whole number of at least 1; got {max_new_tokens!r}."
            )
        inputs = build_prompt(self.processor, image, question, history)
        prompt_ids = inputs.pop("input_ids")[0].numpy().astype(np.int64)
        if len(prompt_ids) + max_new_tokens > self.max_positions:
            raise InputError(
                f"The question has {len(prompt_ids)} tokens with its picture, and {max_new_tokens} new ones were asked "
                f"for; this model has room for {self.max_positions} in all. "
                "Ask something shorter or for fewer new tokens."
            )
        image_token_id = self.image_token_id if image is not None else None
        return Request(prompt_ids, max_new_tokens, image_token_id, inputs)

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> TransformersDecoding:
        """Encode picture and prompt, and choose the first token. See `Target`."""
        return TransformersDecoding(self, request, want_prompt_rows, max_tree_nodes)


class TransformersDecoding:
    """Everything of one request: cache, position offset and the prompt's rows. See `Decoding`."""

    @torch.inference_mode()
    def __init__(
        self, target: TransformersTarget, request: Request, want_prompt_rows: bool, max_tree_nodes: int
    ) -> None:
        self._target = target
        self._head = target.model.get_output_embeddings()
        num_prompt = len(request.prompt_ids)
        prompt = target.family.embed_prompt(target.model, request)
        self._position_offset = prompt.position_offset
        self._image_positions = np.flatnonzero(request.prompt_ids == request.image_token_id)
        config = target.text_config
        self._cache: TreeCache | None = TreeCache(
            config.num_hidden_layers,
            config.num_key_value_heads,
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
            num_prompt + request.max_new_tokens + max_tree_nodes,
            prompt.embeddings.dtype,
            prompt.embeddings.device,
        )
        hidden = target.decoder.prefill(prompt.embeddings[0], prompt.position_ids, self._cache)
        self._cache.append(num_prompt)
        # The first token is scored alone, so that its rounding does not depend on who asks for prompt rows.
        self.first_scores = score_positions(self._head(hidden[-1:]))
        eligible = np.flatnonzero(~np.isin(request.prompt_ids, list(target.blocked_ids)))
        self.prompt_row_ids = request.prompt_ids[eligible]
        self.prompt_rows = self._rows_at(hidden, eligible) if want_prompt_rows else None

    def _rows_at(self, hidden: torch.Tensor, positions: np.ndarray) -> PredictionRows:
        chunks = [
            score_positions(self._head(hidden[torch.from_numpy(chunk).to(hidden.device)]))
            for chunk in np.array_split(positions, max(1, -(-len(positions) // _ROWS_CHUNK)))
        ]
        return make_rows(
            np.concatenate([chunk.top_ids for chunk in chunks]),
            np.concatenate([chunk.top_scores for chunk in chunks]),
        )

    @property
    def prefix_length(self) -> int:
        """Cached positions: prompt and committed tokens, the next root not included."""
        return self._open_cache().prefix_length

    @torch.inference_mode()
    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: Collection[Want] = ()) -> Scores:
        """One pass over root and nodes. See `Decoding`."""
        cache, target = self._open_cache(), self._target
        prefix = cache.prefix_length
        positions = torch.from_numpy(tree.depths.astype(np.int64)) + (prefix + self._position_offset)
        wants_query = "image_attention" in want and len(self._image_positions) > 0
        hidden, first_query = target.decoder.decode(
            target.model.get_input_embeddings()(torch.from_numpy(tree.token_ids).to(target.device)),
            positions.to(target.device),
            cache,
            self._tree_mask(tree, prefix),
            wants_query,
        )
        scores = score_positions(self._head(hidden), want_all_scores)
        if "hidden_states" in want:
            scores = scores._replace(hidden_states=hidden.float().cpu().numpy())
        if wants_query:
            keys = cache.keys(target.text_config.num_hidden_layers - 1, prefix + 1)
            image_positions = torch.from_numpy(self._image_positions).to(keys.device)
            scores = scores._replace(image_attention=image_share(first_query, keys, image_positions))
        return scores

    def _tree_mask(self, tree: DraftTree, prefix: int) -> torch.Tensor | None:
        """Additive mask [1, 1, num_nodes, prefix + num_nodes]; a single row sees everything and needs none."""
        num_nodes = len(tree.token_ids)
        if num_nodes == 1:
            return None
        weight = self._head.weight
        mask = torch.zeros(num_nodes, prefix + num_nodes, dtype=weight.dtype)
        hidden_from = torch.from_numpy(~ancestor_mask(tree.parent_indices))
        mask[:, prefix:].masked_fill_(hidden_from, torch.finfo(weight.dtype).min)
        return mask[None, None].to(weight.device)

    @torch.inference_mode()
    def keep(self, accepted_indices: np.ndarray) -> None:
        """Keep the root's and the accepted nodes' entries behind the prefix. See `Decoding`."""
        self._open_cache().keep(accepted_indices)

    def close(self) -> None:
        """Drop the cache."""
        self._cache = None

    def _open_cache(self) -> TreeCache:
        assert self._cache is not None, "the decoding was closed"
        return self._cache


def _id_set(*ids: int | Sequence[int] | None) -> frozenset[int]:
    """One set from single ids, lists of ids and missing ones."""
    flat: set[int] = set()
    for entry in ids:
        if isinstance(entry, int):
            flat.add(entry)
        elif entry is not None:
            flat.update(int(token) for token in entry)
    return frozenset(flat)
