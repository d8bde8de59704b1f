"""What is measured: our drafters through the engine, and outside peers through their own entry points."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from recap import metrics
from recap.bench.foreign import is_foreign, make_foreign_drafter
from recap.drafters import Drafter, open_drafter
from recap.engine import generate
from recap.events import Event, Finished, Iteration, Prefill, Run
from recap.recorder import Recorder
from recap.recording import DescribedTarget, run_settings
from recap.targets.base import Request


class Peer(NamedTuple):
    """An outside peer: what it is, and what `generate` is given beside greedy decoding."""

    meaning: str
    settings: dict[str, Any]


#: transformers' own `generate`: what the model's users have today.
PEERS: dict[str, Peer] = {
    "hf_greedy": Peer("generate(do_sample=False) of transformers, as it is", {}),
    "hf_prompt_lookup": Peer(
        "generate(prompt_lookup_num_tokens=10) of transformers, as it is", {"prompt_lookup_num_tokens": 10}
    ),
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """One method once on one request: its output ids, end token included, and its clock.

    `seconds` covers image encoding, prefill and decoding. A peer that does not tell its passes has no `run`.
    `memory_rows` counts the rows of U after the request, for methods that have one.
    """

    output_ids: tuple[int, ...]
    seconds: float
    run: Run | None = None
    memory_rows: int | None = None


class Method(Protocol):
    """Answers requests and says how long each took. One object is one stream."""

    def measure(self, request: Request, is_recorded: bool) -> Measurement:
        """Answer a request; `is_recorded` asks for a run with all its details."""

    def reset(self) -> None:
        """Forget what outlives a request: a new stream."""

    def save_state(self) -> object:
        """What outlives a request, to be given back to `restore_state`."""

    def restore_state(self, state: Any) -> None:
        """Return to a saved state, as if the requests since had never been made."""


class EngineMethod:
    """A drafter in our engine; the clock is the engine's own."""

    def __init__(self, name: str, drafter_name: str, target: DescribedTarget) -> None:
        """`name` is the one reported; `drafter_name`, with the node budget in it, the one `open_drafter` knows, or a
        `module:Class` of someone else's.
        """
        self._name = name
        self._drafter_name = drafter_name
        self._target = target
        self.reset()

    def measure(self, request: Request, is_recorded: bool) -> Measurement:
        """Run the engine to its end. On an error the stream is as it was before the request."""
        recorder = None
        if is_recorded:
            settings = run_settings(self._drafter, request, self._target.blocked_ids)
            recorder = Recorder(
                self._drafter, self._name, self._drafter_name, settings, self._target.environment
            )
        events = list(generate(self._target, self._drafter, request, recorder=recorder))
        run = recorder.run() if recorder else self._bare_run(events)
        memories = self._drafter.memories
        memory_rows = memories.sizes.unigram if memories else None
        return Measurement(metrics.output_ids(run), metrics.run_seconds(run), run, memory_rows)

    def reset(self) -> None:
        """A new drafter, which remembers nothing."""
        target = self._target
        if is_foreign(self._drafter_name):
            self._drafter: Drafter = make_foreign_drafter(
                self._drafter_name, target.vocab_size, target.blocked_ids
            )
        else:
            self._drafter = open_drafter(target, self._drafter_name)

    def save_state(self) -> object:
        """What the drafter keeps across requests."""
        return self._drafter.save_state()

    def restore_state(self, state: Any) -> None:
        """Give the drafter its saved state back."""
        self._drafter.restore_state(state)

    def _bare_run(self, events: list[Event]) -> Run:
        prefill, finished = events[0], events[-1]
        assert isinstance(prefill, Prefill), prefill
        assert isinstance(finished, Finished), finished
        return Run(
            name=self._name,
            method=self._drafter_name,
            settings=(),
            environment=self._target.environment,
            rows=(),
            prefill=prefill,
            iterations=tuple(event for event in events if isinstance(event, Iteration)),
            finished=finished,
        )


class HfGenerate:
    """`model.generate` of transformers, greedy, on the same prompt, with the same end ids and length cap."""

    def __init__(self, target: Any, name: str) -> None:
        """`target`: a `TransformersTarget`; any other kind fails when it is measured. `name`: one of `PEERS`."""
        self._target = target
        self._settings = PEERS[name].settings

    def measure(self, request: Request, is_recorded: bool) -> Measurement:
        """Time one `generate` call, from the inputs on the device to the last id; there is nothing to record."""
        target = self._target
        prompt = torch.from_numpy(request.prompt_ids)[None].to(target.device)
        inputs = {name: value.to(target.device) for name, value in request.model_inputs.items()}
        settings = {
            "do_sample": False,
            "num_beams": 1,
            "max_new_tokens": request.max_new_tokens,
            "eos_token_id": sorted(target.end_ids),
            **self._settings,
        }
        # What else a checkpoint's generation file asks for (penalties, a least length) would change this text alone.
        of_checkpoint = target.model.generation_config
        target.model.generation_config = type(of_checkpoint)(pad_token_id=of_checkpoint.pad_token_id)
        try:
            started = time.perf_counter()
            with torch.inference_mode():
                sequences = target.model.generate(
                    input_ids=prompt, attention_mask=torch.ones_like(prompt), **inputs, **settings
                )
            # Copying the ids waits for the device, so the clock stops when they are there.
            output_ids = tuple(sequences[0, prompt.shape[1] :].tolist())
            return Measurement(output_ids, time.perf_counter() - started)
        finally:
            target.model.generation_config = of_checkpoint

    def reset(self) -> None:
        """Nothing outlives a request."""

    def save_state(self) -> None:
        """Nothing outlives a request."""

    def restore_state(self, state: None) -> None:
        """Nothing outlives a request."""
