"""RECAP inside transformers: `model.generate(**inputs, custom_generate=recap_generate)` returns what `generate` does.

Every token is chosen as transformers' own loop chooses it: the logits processors are applied to the scores of each
token of the accepted path, in order, then the argmax is taken or one token drawn. In fp32 the result is therefore equal
token by token, sampling with torch's seed included, whatever the drafts were. Where a caller's own stopping criterion
ends the text within a pass, the numbers drawn for the rest of that pass are spent: the next call draws others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from transformers import Cache, GenerationConfig, LogitsProcessorList, StoppingCriteriaList
from transformers.generation import GenerateDecoderOnlyOutput, GenerationMode

from recap.drafters import open_drafter
from recap.engine import generate
from recap.events import Finished, Iteration, Prefill
from recap.memory import Memories
from recap.targets.base import Decoding, Request
from recap.targets.cacheability import Cacheability
from recap.targets.loading import describe_environment, find_family
from recap.targets.probe import check_scores
from recap.targets.transformers_vlm import TransformersDecoding, TransformersTarget

#: What transformers calls a cache: `cache` since 5.24, `past_key_values` before.
_CACHE_NAME = "cache" if "cache" in GenerateDecoderOnlyOutput.__dataclass_fields__ else "past_key_values"
#: What `generate` hands on beside the prompt and has no effect of its own here, or is read below.
_KNOWN_INPUTS = {"attention_mask", _CACHE_NAME, "logits_to_keep", "mm_encoder_outputs", "mm_token_type_ids"}
_KNOWN_INPUTS |= {"position_ids", "use_cache"}
#: Which models can be speculated on, found once a model; the entry goes with the model.
_CACHEABILITY: WeakKeyDictionary[torch.nn.Module, Cacheability] = WeakKeyDictionary()


def recap_generate(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    method: str = "recap",
    memories: Memories | None = None,
    token_streamer: Any | None = None,
    **model_kwargs: Any,
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    """The decoding loop for `generate(custom_generate=recap_generate)`; the arguments before `method` come from there.

    Args:
        model: a model that `recap.targets.loading.find_family` knows, on one device.
        input_ids: int64 [1, num_prompt_tokens].
        logits_processor: applied to every token's scores, as prepared by `generate`.
        stopping_criteria: asked behind every token, as prepared by `generate`.
        generation_config: read for sampling, end tokens, length and outputs.
        method: how to draft, see `recap.drafters.parse_method`.
        memories: the stream to continue, for RECAP alone: U is kept in it from call to call. None: each call begins
            with an empty U. A method that is not RECAP begins anew in any case.
        token_streamer: a transformers streamer. (`generate` does not hand its own `streamer` to a callable.)
        model_kwargs: what else `generate` prepared: encoded pictures, positions, an empty cache, which is filled.

    Returns:
        int64 [1, num_prompt_tokens + num_new_tokens], or with `return_dict_in_generate` transformers' own output; its
        `cache` (`past_key_values` before transformers 5.24) holds the keys and values of all tokens but the last, as
        plain decoding's does.

    Raises:
        InputError: no such method.
        ValueError: an argument whose effect cannot be honoured, by name; a model that cannot check guesses; or memories
            that are not as wide as its scores.
    """
    target = _WatchedTarget(_make_target(model, generation_config))
    _refuse_model(model, target.target.cacheability.obstacle)
    _refuse_arguments(model, input_ids, generation_config, model_kwargs)
    request = _make_request(target.target, input_ids, generation_config, model_kwargs)
    drafter = open_drafter(target, method, memories)
    _refuse_model(model, target.target.obstacle_for(request, drafter.max_tree_nodes))
    wants_scores = generation_config.return_dict_in_generate and generation_config.output_scores
    wants_logits = generation_config.return_dict_in_generate and generation_config.output_logits
    choice = None
    if generation_config.do_sample or len(logits_processor) or wants_scores or wants_logits:
        choice = _TokenChoice(logits_processor, bool(generation_config.do_sample), input_ids.device)

    if token_streamer is not None:
        token_streamer.put(input_ids.cpu())
    sequences = input_ids
    events = generate(target, drafter, request, chooser=choice)
    try:
        is_finished = False
        while not is_finished:
            event = next(events)
            assert not isinstance(event, Finished), "the length criterion ends every text"
            for token in _new_ids(event):
                sequences = torch.cat([sequences, sequences.new_tensor([[token]])], dim=1)
                if token_streamer is not None:
                    token_streamer.put(sequences[0, -1:].cpu())
                num_new = sequences.shape[1] - input_ids.shape[1]
                scores = tuple(choice.scores[:num_new]) if choice and wants_scores else None
                is_finished = bool(stopping_criteria(sequences, scores).all())
                if is_finished:
                    break
        # Filled in every case: it may be the caller's own, for a text that goes on.
        cache = model_kwargs.get(_CACHE_NAME)
        if cache is not None:
            _fill_cache(cache, target.decoding, sequences.shape[1] - 1)
        state = drafter.save_state()
    finally:
        events.close()
    drafter.restore_state(state)  # what was learnt stays, although the engine's run was left before its end
    if token_streamer is not None:
        token_streamer.end()
    if not generation_config.return_dict_in_generate:
        return sequences
    num_new = sequences.shape[1] - input_ids.shape[1]
    return GenerateDecoderOnlyOutput(
        sequences=sequences,
        scores=tuple(choice.scores[:num_new]) if choice and wants_scores else None,
        logits=tuple(choice.logits[:num_new]) if choice and wants_logits else None,
        **{_CACHE_NAME: cache},
    )


class _TokenChoice:
    """Chooses a token as transformers' loop does, and keeps the scores it was chosen by. See `recap.sampling.Chooser`.

    Attributes:
        logits, scores: float32 [1, V] for each token, before and after the processors.
    """

    def __init__(self, processors: LogitsProcessorList, is_sampled: bool, device: torch.device) -> None:
        self._processors, self._is_sampled, self._device = processors, is_sampled, device
        self.logits: list[torch.Tensor] = []
        self.scores: list[torch.Tensor] = []

    def choose(self, history: np.ndarray, scores: np.ndarray) -> int:
        """The next token of the text."""
        input_ids = torch.from_numpy(history).to(self._device)[None]
        logits = torch.from_numpy(scores.copy()).to(self._device)[None]
        processed = self._processors(input_ids, logits.clone())
        self.logits.append(logits)
        self.scores.append(processed)
        if self._is_sampled:
            return int(torch.multinomial(processed.softmax(dim=-1), num_samples=1))
        return int(processed.argmax(dim=-1))


class _WatchedTarget:
    """A target that remembers the request it reads, whose cache `generate` may have to return."""

    def __init__(self, target: TransformersTarget) -> None:
        self.target = target
        self.vocab_size, self.end_ids = target.vocab_size, target.end_ids
        self.blocked_ids = target.blocked_ids
        self.decoding: Any = None

    @property
    def cost_curve(self) -> Any:
        """Measured seconds of a pass by its rows."""
        return self.target.cost_curve

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> Decoding:
        """See `Target`."""
        self.decoding = self.target.prefill(request, want_prompt_rows, max_tree_nodes)
        return self.decoding


def _make_target(model: Any, generation_config: GenerationConfig) -> TransformersTarget:
    family = find_family(model.config)
    if family is None:
        raise ValueError(f"model must be of a known family; got model_type={model.config.model_type!r}")
    environment = describe_environment(str(model.device), str(model.dtype).removeprefix("torch."))
    # The caller's model may be in training: its weights are read as they are at each call.
    target = TransformersTarget(
        type(model).__name__, model, None, family, environment, may_copy_weights=False
    )
    ends = generation_config.eos_token_id
    target.end_ids = frozenset() if ends is None else frozenset([ends] if isinstance(ends, int) else ends)
    if target.cacheability.obstacle is None:  # which may change: attention can be chosen anew at any time
        if model not in _CACHEABILITY:
            check_scores(target)
            _CACHEABILITY[model] = target.cacheability
        target.cacheability = _CACHEABILITY[model]
    return target


def _make_request(
    target: TransformersTarget,
    input_ids: torch.Tensor,
    generation_config: GenerationConfig,
    model_kwargs: Mapping[str, Any],
) -> Request:
    encoded = model_kwargs.get("mm_encoder_outputs") or {}
    inputs = {}
    if encoded.get("image") is not None:
        inputs = {"mm_encoder_outputs": encoded}
        if model_kwargs.get("position_ids") is not None:
            inputs["position_ids"] = model_kwargs["position_ids"]
    return Request(
        input_ids[0].cpu().numpy().astype(np.int64),
        generation_config.max_length - input_ids.shape[1],
        target.image_token_id if inputs else None,
        inputs,
    )


def _refuse_model(model: Any, obstacle: str | None) -> None:
    if obstacle:
        raise ValueError(f"model must be able to check guesses; got {type(model).__name__} ({obstacle})")


def _refuse_arguments(
    model: Any, input_ids: torch.Tensor, config: GenerationConfig, model_kwargs: Mapping[str, Any]
) -> None:
    """Raise ValueError for the first argument whose effect cannot be honoured."""

    def refuse(name: str, rule: str, value: object) -> None:
        raise ValueError(f"{name} must {rule}; got {name}={value!r} (recap_generate)")

    for name in ("num_beams", "num_return_sequences"):
        if (getattr(config, name) or 1) > 1:
            refuse(name, "be 1", getattr(config, name))
    for name in ("output_attentions", "output_hidden_states"):
        if getattr(config, name):
            refuse(name, "be off", True)
    for name in ("prompt_lookup_num_tokens", "assistant_early_exit", "penalty_alpha", "dola_layers"):
        if getattr(config, name, None):
            refuse(name, "be left out, as drafting is this method's own", getattr(config, name))
    mode = config.get_generation_mode()
    if mode not in (GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE):
        refuse("generation_config", "ask for greedy decoding or sampling", mode.value)
    if (config.guidance_scale or 1) != 1:
        refuse("guidance_scale", "be left out, as it asks the model twice a token", config.guidance_scale)
    if config.cache_implementation not in (None, "dynamic"):
        refuse(
            "cache_implementation",
            "be left out, as the cache is this method's own",
            config.cache_implementation,
        )
    if len(input_ids) != 1:
        refuse("input_ids", "hold one text", tuple(input_ids.shape))
    cache = model_kwargs.get(_CACHE_NAME)
    if cache is not None and cache.get_seq_length() > 0:
        refuse(_CACHE_NAME, "be empty", f"{cache.get_seq_length()} positions")
    if model_kwargs.get("attention_mask") is not None:  # `generate` drops a mask without padding
        refuse("attention_mask", "hide nothing", "padding")
    if (model_kwargs.get("mm_encoder_outputs") or {}).get("video") is not None:
        refuse("pixel_values_videos", "be left out", "a video")
    positions = model_kwargs.get("position_ids")
    has_picture = (model_kwargs.get("mm_encoder_outputs") or {}).get("image") is not None
    # A picture's positions, on several axes, are handed on; any others may only count.
    are_handed_on = has_picture and positions is not None and positions.ndim > 2
    if positions is not None and not are_handed_on:
        expected = torch.arange(input_ids.shape[1], device=positions.device)
        if positions.shape[-1:] != expected.shape or not bool((positions == expected).all()):
            refuse("position_ids", "count the prompt's tokens from 0", positions.tolist())
    unknown = sorted(k for k, v in model_kwargs.items() if v is not None and k not in _KNOWN_INPUTS)
    if unknown:
        refuse(unknown[0], f"be left out for {type(model).__name__}", type(model_kwargs[unknown[0]]).__name__)


def _new_ids(event: Prefill | Iteration) -> tuple[int, ...]:
    return (event.first_token_id,) if isinstance(event, Prefill) else event.committed_ids


def _fill_cache(cache: Cache, decoding: TransformersDecoding, num_positions: int) -> None:
    """Copy the first entries of a decoding's cache into an empty one of transformers."""
    for layer, (keys, values) in enumerate(decoding.cached_entries(num_positions)):
        cache.update(keys.clone(), values.clone(), layer)
