"""The measuring loop: every method on every turn, one isolated stream a method, plain decoding beside each unit.

The stream keeps its order. A method's memories live over the whole of it and start empty, after one warm-up. In
conversations every method is given plain decoding's answers as history. The order of the methods rotates from unit to
unit; with repeats, each repeat starts from the same memories and is compared with plain decoding's in the same repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Protocol

import numpy as np
from PIL import Image

from recap import metrics
from recap.bench.checkpoint import Checkpoint
from recap.bench.methods import PEERS, EngineMethod, HfGenerate, Measurement, Method
from recap.bench.report import REFERENCE, STAGES, UnitResult
from recap.bench.settings import BenchSettings
from recap.bench.workload import Conversation
from recap.errors import RecapError
from recap.events import Iteration, Run
from recap.pictures import Picture, open_picture
from recap.recording import DescribedTarget
from recap.targets.base import Request
from recap.tokens import TextStream


@dataclass(frozen=True, slots=True)
class MeasuredUnit:
    """One turn, measured: every method's result, and what a trace needs (no request where none could be built)."""

    conversation: Conversation
    turn: int
    results: tuple[UnitResult, ...]
    picture: Picture | None
    request: Request | None
    runs: tuple[Run, ...]


class BenchTarget(DescribedTarget, Protocol):
    """A target that can build requests from a picture and words."""

    def build_request(
        self,
        image: Image.Image | None,
        question: str,
        max_new_tokens: int = 200,
        history: Sequence[tuple[str, str]] = (),
    ) -> Request:
        """The prompt of a question after earlier (question, answer) turns. Raises InputError."""


class BenchRunner:
    """Measures conversations one after the other; holds one stream a method.

    Attributes:
        num_units_done: units measured or given up so far.
        history: (question, answer) turns of the conversation in progress.
        lost: why its later turns cannot be asked, or None.
    """

    def __init__(self, target: BenchTarget, settings: BenchSettings, is_recorded: bool = False) -> None:
        """`is_recorded`: record the last repeat of every unit in full."""
        self.num_units_done = 0
        self.history: list[tuple[str, str]] = []
        self.lost: str | None = None
        self._target = target
        self._settings = settings
        self._is_recorded = is_recorded
        self._methods = {name: self._open_method(name) for name in settings.all_methods}

    def run(
        self, conversations: Sequence[Conversation], resumed: Checkpoint | None = None
    ) -> Iterator[MeasuredUnit]:
        """Warm up on the first question that can be asked, forget it, and measure everything in order.

        With `resumed`, a checkpoint of the same conversations and settings, the units it holds are left out and every
        stream goes on from where it stood.
        """
        self._warm_up(conversations)
        if resumed:
            self._continue_from(resumed)
        num_units_before, topic = 0, None
        for conversation in conversations:
            num_turns_done = max(0, self.num_units_done - num_units_before)
            num_units_before += len(conversation.turns)
            if num_turns_done < len(conversation.turns):
                if num_turns_done == 0:
                    self.history, self.lost = [], None
                    if self._settings.reset_u == "topic" and conversation.topic != topic:
                        self._reset_all()
                yield from self._run_conversation(conversation, num_turns_done)
            topic = conversation.topic

    def method_states(self) -> dict[str, object]:
        """What each method keeps across requests, by name."""
        return {name: method.save_state() for name, method in self._methods.items()}

    def _continue_from(self, checkpoint: Checkpoint) -> None:
        self.num_units_done = checkpoint.num_units_done
        self.history, self.lost = list(checkpoint.history), checkpoint.lost
        for name, state in checkpoint.method_states.items():
            self._methods[name].restore_state(state)

    def _open_method(self, name: str) -> Method:
        if name in PEERS:
            return HfGenerate(self._target, name)
        return EngineMethod(name, self._settings.drafter_name(name), self._target)

    def _warm_up(self, conversations: Sequence[Conversation]) -> None:
        """Let compiling, allocating and loading happen before the first unit's clock."""
        # What fails here fails again, and is reported, when it is measured.
        for conversation in conversations:
            with suppress(RecapError):
                _, request = self._prepare(conversation, conversation.turns[0], [])
                for method in self._methods.values():
                    with suppress(Exception):
                        method.measure(request, is_recorded=False)
                break
        self._reset_all()

    def _reset_all(self) -> None:
        for method in self._methods.values():
            method.reset()

    def _run_conversation(self, conversation: Conversation, num_turns_done: int) -> Iterator[MeasuredUnit]:
        for turn, question in enumerate(conversation.turns[num_turns_done:], num_turns_done + 1):
            if self._settings.reset_u == "request":
                self._reset_all()
            picture, request = None, None
            if self.lost is None:
                try:
                    picture, request = self._prepare(conversation, question, self.history)
                except RecapError as error:
                    self.lost = str(error)
            if request is None:
                measured: dict[str, list[Measurement] | str] = dict.fromkeys(self._methods, self.lost or "")
            else:
                measured = self._measure(request)
            reference = measured[REFERENCE]
            if isinstance(reference, list):
                self.history.append((question, self._text_of(reference[0].output_ids)))
            elif self.lost is None:
                self.lost = "An earlier turn has no answer by plain decoding, on which later turns build."
            self.num_units_done += 1
            yield self._as_unit(conversation, turn, picture, request, measured)

    def _prepare(
        self, conversation: Conversation, question: str, history: Sequence[tuple[str, str]]
    ) -> tuple[Picture | None, Request]:
        picture = open_picture(conversation.image) if conversation.image else None
        image = picture.image if picture else None
        return picture, self._target.build_request(
            image, question, max_new_tokens=self._settings.max_new_tokens, history=history
        )

    def _measure(self, request: Request) -> dict[str, list[Measurement] | str]:
        """All repeats of all methods on one request; a sentence in place of a method that failed."""
        names = list(self._methods)
        measured: dict[str, list[Measurement] | str] = {name: [] for name in names}
        num_repeats = self._settings.repeats
        states = {name: method.save_state() for name, method in self._methods.items() if num_repeats > 1}
        for repeat in range(num_repeats):
            # Whoever runs first finds colder caches and a cooler chip: nobody is always first.
            first = (self.num_units_done + repeat) % len(names)
            for name in names[first:] + names[:first]:
                done = measured[name]
                if isinstance(done, str):
                    continue
                method = self._methods[name]
                if repeat > 0:
                    method.restore_state(states[name])
                try:
                    done.append(
                        method.measure(request, is_recorded=self._is_recorded and repeat == num_repeats - 1)
                    )
                # A peer may raise anything; that one unit failed is part of the result.
                except Exception as error:
                    reason = str(error) or "no reason given"
                    measured[name] = (
                        reason if isinstance(error, RecapError) else f"{type(error).__name__}: {reason}"
                    )
        return measured

    def _text_of(self, output_ids: Sequence[int]) -> str:
        stream = TextStream(self._target.token_bytes, self._target.is_special)
        return stream.push(output_ids) + stream.finish()

    def _as_unit(
        self,
        conversation: Conversation,
        turn: int,
        picture: Picture | None,
        request: Request | None,
        measured: Mapping[str, list[Measurement] | str],
    ) -> MeasuredUnit:
        reference = measured[REFERENCE]
        results = tuple(
            UnitResult(conversation.id, turn, conversation.topic, name, error=done)
            if isinstance(done, str)
            else _evaluate(conversation, turn, name, done, reference if isinstance(reference, list) else None)
            for name, done in measured.items()
        )
        runs = [done[-1].run for done in measured.values() if isinstance(done, list)]
        return MeasuredUnit(
            conversation, turn, results, picture, request, tuple(run for run in runs if run is not None)
        )


def _evaluate(
    conversation: Conversation,
    turn: int,
    method: str,
    repeats: Sequence[Measurement],
    reference: Sequence[Measurement] | None,
) -> UnitResult:
    """A method's repeats of one turn as one result; times are medians, counts those of the first repeat."""
    first = repeats[0]
    run = first.run
    pairs = list(zip(repeats, reference, strict=True)) if reference is not None else []
    ratios = [
        (len(ours.output_ids) / ours.seconds) / (len(theirs.output_ids) / theirs.seconds)
        for ours, theirs in pairs
    ]
    decode_ratios = [
        ratio
        for ours, theirs in pairs
        if ours.run and theirs.run and (ratio := metrics.decode_ratio(ours.run, theirs.run)) is not None
    ]
    return UnitResult(
        id=conversation.id,
        turn=turn,
        topic=conversation.topic,
        method=method,
        tokens=len(first.output_ids),
        passes=len(run.iterations) if run else None,
        seconds=median(measurement.seconds for measurement in repeats),
        prefill_seconds=median(metrics.prefill_seconds(m.run) for m in repeats if m.run) if run else None,
        ratio=median(ratios) if ratios else None,
        acceptance_length=metrics.acceptance_length(run) if run else None,
        identical=first.output_ids == reference[0].output_ids if reference is not None else None,
        num_draft_nodes=sum(iteration.num_nodes for iteration in run.iterations) if run else None,
        memory_rows=first.memory_rows,
        decode_ratio=median(decode_ratios) if decode_ratios else None,
        stage_seconds=_stage_seconds(run.iterations) if run else None,
    )


def _stage_seconds(iterations: Sequence[Iteration]) -> np.ndarray:
    """Float64 [num_passes, num_stages]."""
    seconds = [[getattr(iteration.seconds, stage) for stage in STAGES] for iteration in iterations]
    return np.array(seconds, np.float64).reshape(-1, len(STAGES))
