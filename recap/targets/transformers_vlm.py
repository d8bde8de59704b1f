"""A vision-language model of the transformers library as a target: packed trees over a cache of our own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from recap.budget import CostCurve
from recap.errors import InputError, ModelError
from recap.events import Environment
from recap.questions import check_question, is_broken
from recap.rows import PredictionRows, make_rows
from recap.targets.base import Decoding, Request, Scores, Want
from recap.targets.cacheability import inspect_cache
from recap.targets.cost import (
    PREFIX_LENGTH,
    ROWS,
    cost_file,
    measure_pass_seconds,
    read_curve,
    write_curve,
)
from recap.targets.decoder import Decoder, layer_devices
from recap.targets.family import Family
from recap.targets.fused_decoder import FusedDecoder, fuse_head, is_fusible
from recap.targets.fused_vision import FusedVisionTower, is_fusible_tower
from recap.targets.image_attention import image_share
from recap.targets.kv_cache import TreeCache, TreeMask
from recap.targets.plain_decoding import PlainDecoding
from recap.targets.prompts import build_prompt, token_byte_table
from recap.targets.scoring import score_positions
from recap.tree import DraftTree

#: Prompt positions scored at a time: 512 of a 152,064 vocabulary are 0.3 GB in fp32.
_ROWS_CHUNK = 512


class TransformersTarget:
    """A loaded model and its processor. Nothing of a request is stored here.

    Attributes:
        name: as the user named it.
        model, processor, tokenizer: transformers' own; without a processor the target knows no words, only ids.
        family: what is special about this architecture.
        decoder: what runs its layers, for plain decoding and every other method alike.
        vision_tower: what encodes pictures for all of them in place of the model's own; None leaves them to it.
        vocab_size, end_ids, blocked_ids: see `Target`.
        environment: device, precision and versions for records.
    """

    def __init__(
        self,
        name: str,
        model: torch.nn.Module,
        processor: object | None,
        family: Family,
        environment: Environment,
        may_copy_weights: bool = True,
    ) -> None:
        """`may_copy_weights` allows faster layers that do not follow later changes of the model's weights."""
        self.name = name
        self.model = model
        self.processor = processor
        self.tokenizer = getattr(processor, "tokenizer", None)
        self.family = family
        self.environment = environment
        self.text_config = model.config.get_text_config()
        text_model = family.text_model(model)
        is_fused = may_copy_weights and is_fusible(text_model)
        self.decoder = (FusedDecoder if is_fused else Decoder)(text_model, family.position_ids)
        head = model.get_output_embeddings()
        self.head = fuse_head(head) if is_fused else head
        visual = getattr(model.base_model, "visual", None)
        self.vision_tower = (
            FusedVisionTower(visual) if may_copy_weights and is_fusible_tower(visual) else None
        )
        self.cacheability = inspect_cache(model, text_model)
        self.vocab_size = head.weight.shape[0]
        config = model.config
        self.image_token_id: int | None = getattr(config, "image_token_id", None)
        self._token_bytes, self._special_ids = (
            token_byte_table(self.tokenizer) if self.tokenizer else ({}, frozenset())
        )
        configured = _id_set(*(getattr(owner, "eos_token_id", None) for owner in (config, self.text_config)))
        # A configuration that names no end token has its class's own, which in this vocabulary may be a word.
        words = (
            self._token_bytes.keys()
            - self._special_ids
            - getattr(self.tokenizer, "added_tokens_decoder", {}).keys()
        )
        self.end_ids = (configured - words) | _id_set(
            *(getattr(owner, "eos_token_id", None) for owner in (model.generation_config, self.tokenizer))
        )
        padding = _id_set(getattr(self.tokenizer, "pad_token_id", None), model.generation_config.pad_token_id)
        placeholders = _id_set(self.image_token_id, getattr(config, "video_token_id", None))
        # A padding id that also ends answers has to stay draftable.
        self.blocked_ids = (padding - self.end_ids) | placeholders

    @cached_property
    def cost_curve(self) -> CostCurve:
        """Seconds of a pass by its rows, as kept for this model on this machine, or measured now: a second or so."""
        prefix_length = min(PREFIX_LENGTH, self.max_positions // 2)
        return read_curve(self.cost_file(prefix_length)) or self.measure_cost(prefix_length)

    def measure_cost(self, prefix_length: int, rows: Sequence[int] = ROWS) -> CostCurve:
        """Time passes behind a prefix of so many tokens, and keep the curve of the usual rows for next time."""
        curve = measure_pass_seconds(self, rows, prefix_length)
        if tuple(rows) == ROWS:
            write_curve(self.cost_file(prefix_length), curve)
        return curve

    def cost_file(self, prefix_length: int) -> Path:
        """Where the cost curve is kept, see `recap.targets.cost`; fused layers and plain ones have each their own."""
        shape = f"{type(self.decoder).__name__} {self.model.config.to_json_string()}"
        return cost_file(shape, self.environment, prefix_length)

    @property
    def device(self) -> torch.device:
        """Where the text model's first weights lie."""
        return self.model.get_input_embeddings().weight.device

    @property
    def max_positions(self) -> int:
        """Longest prompt and answer the model was made for; a model without such a bound names none."""
        return int(getattr(self.text_config, "max_position_embeddings", None) or np.iinfo(np.int32).max)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token's text; of a special token, those of its name; of an unused id, `<id>`."""
        return self._token_bytes.get(token_id, f"<{token_id}>".encode())

    def is_special(self, token_id: int) -> bool:
        """Is it a control token (or an id no text has), which adds no text."""
        return token_id in self._special_ids or token_id not in self._token_bytes

    def build_request(
        self,
        image: Image.Image | Sequence[Image.Image] | None,
        question: str,
        max_new_tokens: int = 200,
        history: Sequence[tuple[str, str]] = (),
    ) -> Request:
        """A question about a picture as a request, by the processor's own chat template.

        Args:
            image: three-channel picture, or several, in the first user turn; None asks without one.
            question: what the user typed; control marks in it stay text.
            max_new_tokens: length cap, at least 1.
            history: earlier (question, answer) turns.

        Raises:
            InputError: a blank or broken question, a picture for a model that reads none, or prompt and answer longer
                than the model's positions.
        """
        check_question(question)
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
            raise InputError(
                f"The number of new tokens must be a whole number of at least 1; got {max_new_tokens!r}."
            )
        images = [image] if isinstance(image, Image.Image) else [] if image is None else list(image)
        if not all(isinstance(picture, Image.Image) for picture in images):
            raise InputError("A picture must be an opened one (a PIL image); open its file first.")
        if any(is_broken(text) for turn in history for text in turn):
            raise InputError("An earlier turn holds half a character; leave it out, or mend it.")
        if images and not self.family.has_pictures:
            raise InputError("This model reads no pictures; ask without one, or choose a model that does.")
        inputs = build_prompt(self.processor, images, question, history)
        prompt_ids = inputs.pop("input_ids")[0].numpy().astype(np.int64)
        if len(prompt_ids) + max_new_tokens > self.max_positions:
            raise InputError(
                f"The question has {len(prompt_ids)} tokens with its picture, and {max_new_tokens} new ones were asked "
                f"for; this model has room for {self.max_positions} in all. "
                "Ask something shorter or for fewer new tokens."
            )
        image_token_id = self.image_token_id if images else None
        return Request(prompt_ids, max_new_tokens, image_token_id, inputs)

    def obstacle_for(self, request: Request, max_tree_nodes: int) -> str | None:
        """Why trees of so many nodes cannot be verified behind a request, as a phrase; None where they can."""
        num_positions = len(request.prompt_ids) + request.max_new_tokens + max_tree_nodes
        return self.cacheability.obstacle_for(num_positions)

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> Decoding:
        """Encode picture and prompt, and choose the first token. See `Target`.

        Raises:
            ModelError: trees were asked for, and this model's cache cannot be cut and gathered for such a text; or the
                GPU has no room for it.
        """
        obstacle = self.obstacle_for(request, max_tree_nodes)
        if obstacle and (want_prompt_rows or max_tree_nodes > 1):
            raise ModelError(
                f"The model {self.name!r} cannot check guesses, because {obstacle}; choose plain decoding "
                "(the method ar)."
            )
        try:
            if obstacle:
                return PlainDecoding(self.model, request)
            return TransformersDecoding(self, request, want_prompt_rows, max_tree_nodes)
        except torch.OutOfMemoryError as error:
            raise ModelError(
                f"The GPU has no room for this question's {len(request.prompt_ids)} tokens beside the model; choose a "
                "smaller picture, or ask something shorter."
            ) from error


class TransformersDecoding:
    """Everything of one request: cache, position offset and the prompt's rows. See `Decoding`."""

    @torch.inference_mode()
    def __init__(
        self, target: TransformersTarget, request: Request, want_prompt_rows: bool, max_tree_nodes: int
    ) -> None:
        self._target = target
        # Asked for once: transformers looks for them anew each time, which would be felt in every pass.
        self._embed, self._device = target.model.get_input_embeddings(), target.device
        num_prompt = len(request.prompt_ids)
        prompt = target.family.embed_prompt(target.model, request, target.vision_tower)
        self._position_offset = prompt.position_offset
        #: Behind it nothing can be committed, and a model with a table of positions has no row to look up.
        self._last_position = max(num_prompt + request.max_new_tokens, target.max_positions) - 1
        self._image_positions = np.flatnonzero(request.prompt_ids == request.image_token_id)
        config = target.text_config
        capacity = num_prompt + request.max_new_tokens + max_tree_nodes
        dtype, device = prompt.embeddings.dtype, prompt.embeddings.device
        self._mask = TreeMask(max_tree_nodes, capacity, dtype, device)
        text_model = target.family.text_model(target.model)
        self._cache: TreeCache | None = TreeCache(
            layer_devices(text_model, config.num_hidden_layers, device),
            getattr(config, "num_key_value_heads", None) or config.num_attention_heads,
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
            capacity,
            dtype,
        )
        hidden = target.decoder.prefill(
            prompt.embeddings[0], prompt.position_ids, self._cache, prompt.text_inputs
        )
        self._cache.append(num_prompt)
        # The first token is scored alone, so that its rounding does not depend on who asks for prompt rows.
        self.first_scores = score_positions(target.head(hidden[-1:]), want_all_scores=True)
        eligible = np.flatnonzero(~np.isin(request.prompt_ids, list(target.blocked_ids)))
        self.prompt_row_ids = request.prompt_ids[eligible]
        self.prompt_rows = self._rows_at(hidden, eligible) if want_prompt_rows else None

    def _rows_at(self, hidden: torch.Tensor, positions: np.ndarray) -> PredictionRows:
        chunks = [
            score_positions(self._target.head(hidden[torch.from_numpy(chunk).to(hidden.device)]))
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
        positions = np.minimum(prefix + tree.depths.astype(np.int64), self._last_position)
        wants_query = "image_attention" in want and len(self._image_positions) > 0
        hidden, first_query = target.decoder.decode(
            self._embed(torch.from_numpy(tree.token_ids).to(self._device)),
            torch.from_numpy(positions + self._position_offset).to(self._device),
            cache,
            # A single row sees everything and needs no mask.
            self._mask.fill(tree.parent_indices, prefix) if tree.num_draft_nodes else None,
            wants_query,
        )
        scores = score_positions(target.head(hidden), want_all_scores)
        if "hidden_states" in want:
            scores = scores._replace(hidden_states=hidden.float().cpu().numpy())
        if wants_query:
            keys = cache.keys(target.text_config.num_hidden_layers - 1, prefix + 1)
            image_positions = torch.from_numpy(self._image_positions).to(keys.device)
            scores = scores._replace(image_attention=image_share(first_query, keys, image_positions))
        return scores

    def keep(self, accepted_indices: np.ndarray) -> None:
        """Keep the root's and the accepted nodes' entries behind the prefix. See `Decoding`."""
        self._open_cache().keep(accepted_indices)

    def cached_entries(self, num_positions: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The first keys and values of every layer, [1, num_heads, num_positions, head_dim] each; not copied.

        They lie as the library's own do where the target may not copy weights.
        """
        layers = self._open_cache().layers.layers
        return [
            (layer.keys[..., :num_positions, :], layer.values[..., :num_positions, :]) for layer in layers
        ]

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
