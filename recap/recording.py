"""Runs as records, and whole traces: the engine's events with the words, picture and tokens they are about."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

from recap.drafters import RecapDrafter, open_drafter, takes_nodes
from recap.drafters.base import Drafter
from recap.engine import generate
from recap.events import (
    SCHEMA_VERSION,
    Environment,
    Event,
    Finished,
    ImageInfo,
    Iteration,
    Prefill,
    RequestInfo,
    Run,
    TokenForm,
    Trace,
)
from recap.memory import Memories
from recap.recorder import Recorder
from recap.sampling import Sampler
from recap.targets.base import Request, Target
from recap.tokens import visible_form


class DescribedTarget(Target, Protocol):
    """A target that can also say where it runs and what its tokens are.

    Attributes:
        name: the model's name.
        environment: where runs on it are measured.
    """

    name: str
    environment: Environment

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token's text; of a special token, those of its name."""

    def is_special(self, token_id: int) -> bool:
        """Is it a control token, which adds no text."""


class RecordedRun:
    """One method on one request, recorded: iterate over it for the events, then ask for `run()`.

    Attributes:
        name: the run's name in a trace, `ar` or `recap@63`.
    """

    def __init__(
        self,
        target: DescribedTarget,
        request: Request,
        method: str,
        memories: Memories | None = None,
        stop: Callable[[], bool] | None = None,
        max_nodes: int | None = None,
    ) -> None:
        """`method`: see `parse_method`; `memories`: the stream to continue, else a new one; `stop`: see `generate`;
        `max_nodes`: how many nodes are recorded in detail, see `Recorder`.
        """
        drafter = open_drafter(target, method, memories)
        self.name = run_name(method, drafter)
        self._recorder = Recorder(
            drafter,
            self.name,
            method.partition("@")[0],
            run_settings(drafter, request, target.blocked_ids),
            target.environment,
            max_nodes,
        )
        self._events = generate(target, drafter, request, stop=stop, recorder=self._recorder)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def close(self) -> None:
        """End the run where it is; what outlives a request returns to its state before the run."""
        self._events.close()

    def run(self) -> Run:
        """The run as recorded so far. Raises ValueError before prefill has ended."""
        return self._recorder.run()


class SampledRun:
    """One method on one request, drawn at random: iterate over it for the events, then ask for `run()`.

    Its passes carry no details, whose verdicts tell of greedy decoding; so it cannot be played.
    """

    def __init__(self, target: DescribedTarget, request: Request, method: str, sampler: Sampler) -> None:
        """`sampler` is used up by the run: with one of the same seed, every method writes the same text."""
        drafter = open_drafter(target, method)
        self._name, self._method = run_name(method, drafter), method.partition("@")[0]
        drawn = {name: getattr(sampler, name) for name in ("temperature", "top_k", "top_p", "seed")}
        settings = run_settings(drafter, request, target.blocked_ids) | {"decoding": "sampled"} | drawn
        self._settings = tuple((key, str(value)) for key, value in settings.items())
        self._environment = target.environment
        self._generated = generate(target, drafter, request, chooser=sampler)
        self._events: list[Event] = []

    def __iter__(self) -> Iterator[Event]:
        for event in self._generated:
            self._events.append(event)
            yield event

    def run(self) -> Run:
        """The run so far. Raises ValueError before prefill has ended."""
        if not self._events:
            raise ValueError(f"a run must have begun; got no event (method {self._method!r})")
        prefill, *others = self._events
        assert isinstance(prefill, Prefill), "the engine begins with it"
        return Run(
            name=self._name,
            method=self._method,
            settings=self._settings,
            environment=self._environment,
            rows=(),
            prefill=prefill,
            iterations=tuple(event for event in others if isinstance(event, Iteration)),
            finished=next((event for event in others if isinstance(event, Finished)), None),
        )


def run_name(method: str, drafter: Drafter) -> str:
    """`recap@63` for `recap`: the node budget is part of a run's name."""
    if isinstance(drafter, RecapDrafter) and takes_nodes(method):
        return f"{method}@{drafter.config.max_nodes}"
    return method


def run_settings(drafter: Drafter, request: Request, blocked_ids: Iterable[int]) -> dict[str, object]:
    """What a run was made with, by name: enough to make its trees again from its memories."""
    settings: dict[str, object] = {"decoding": "greedy", "max_new_tokens": request.max_new_tokens}
    if isinstance(drafter, RecapDrafter):
        settings |= dataclasses.asdict(drafter.config) | {"blocked_ids": tuple(sorted(blocked_ids))}
    return settings


def describe_request(request: Request, question: str, image: ImageInfo | None = None) -> RequestInfo:
    """The record of a request."""
    return RequestInfo(
        question=question,
        prompt_ids=tuple(request.prompt_ids.tolist()),
        image_token_id=request.image_token_id,
        image=image,
        max_new_tokens=request.max_new_tokens,
    )


def token_table(
    target: DescribedTarget, prompt_ids: Sequence[int], runs: Sequence[Run]
) -> tuple[TokenForm, ...]:
    """A form for every token id that a request or its runs mention, by id."""
    ids = set(prompt_ids)
    for run in runs:
        ids.add(run.prefill.first_token_id)
        for row in run.rows:
            ids.update(row.token_ids)
        for iteration in run.iterations:
            ids.update(iteration.committed_ids)
            if iteration.detail is None:
                continue
            for node in iteration.detail.nodes:
                ids.update((node.token_id, node.greedy_id))
            for missed in iteration.detail.missed:
                ids.update(missed.path_ids)
    return tuple(_token_form(target, token_id) for token_id in sorted(ids))


def _token_form(target: DescribedTarget, token_id: int) -> TokenForm:
    data, is_special = target.token_bytes(token_id), target.is_special(token_id)
    name = data.decode("utf-8", "replace") if is_special else ""
    return TokenForm(token_id, data.hex(), visible_form(data, is_special, name), is_special)


def build_trace(
    target: DescribedTarget,
    request: Request,
    question: str,
    runs: Sequence[Run],
    image: ImageInfo | None = None,
    title: str = "",
) -> Trace:
    """One request and the runs made on it, as a trace."""
    return Trace(
        schema_version=SCHEMA_VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        title=title or next(iter(question.strip().splitlines()), "")[:80],
        model=target.name,
        request=describe_request(request, question, image),
        tokens=token_table(target, request.prompt_ids.tolist(), runs),
        runs=tuple(runs),
    )
