"""ZeroGPU: a Space's GPU that is lent for a call at a time. One call makes a whole run; U travels in and out.

Hugging Face's package `spaces`, which is there alone, forks a worker, sends it a call's arguments and brings back what
it returns, both pickled; nothing else outlives a call. The model is loaded before the page opens and forked along.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from demo import texts
from demo.models import Loader
from demo.runs import Order, Progress, record_run
from recap.errors import ModelError, RecapError
from recap.events import Trace

#: Seconds of GPU that a call asks for; a run that is not over by then is stopped and shown as far as it came.
SECONDS_LENT = 60
#: What the worker needs besides: to take over the model, to send the run back.
MARGIN_SECONDS = 15

#: The target, and what makes it ready in a fresh worker: a global, as it is forked along and not sent.
_held: list[Any] = []
#: True in a worker once its target is ready.
_is_ready: list[bool] = []


def is_zero_gpu() -> bool:
    """Does the page run on ZeroGPU?"""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


class LentTarget:
    """A target whose passes need a lent GPU: functions of it are called there, see `call`."""

    def __init__(self, target: Any, make_ready: Callable[[Any], None]) -> None:
        """To be made before the page opens. `make_ready` is called with the target once in each worker."""
        import spaces  # there on ZeroGPU alone

        _held[:] = [target, make_ready]
        self.vocab_size: int = target.vocab_size
        self._call = spaces.GPU(duration=SECONDS_LENT)(_call_there)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What `function(target, *args, should_stop)` returns, a function of a module and plain data throughout.

        Raises:
            ModelError: the function's own sentence, or the GPU is not to be had now.
        """
        try:
            value, sentence = self._call(function, args)
        except gr.Error as error:  # how `spaces` tells of quotas, queues and broken workers
            is_broken = error.title == "ZeroGPU worker error"
            raise ModelError(texts.RUN_FAILED if is_broken else str(error.message)) from error
        if sentence:
            raise ModelError(sentence)
        return value


def lend_first(loaders: Mapping[str, Loader], make_ready: Callable[[Any], None]) -> dict[str, Loader]:
    """Load the first model now, before the page opens, as ZeroGPU asks; others cannot be loaded later.

    Raises:
        ModelError: it cannot be loaded; the Space's log shows why.
    """
    import spaces  # noqa: F401 - before the model: it lets weights be moved to a GPU that is not there yet

    name, load = next(iter(loaders.items()))
    lent = LentTarget(load(True), make_ready)
    return {name: lambda _: lent}


def call(target: Any, function: Callable[..., Any], *args: Any, should_stop: Callable[[], bool]) -> Any:
    """`function(target, *args, should_stop)`, there where the target's GPU is.

    Raises:
        ModelError: see `LentTarget.call`.
    """
    if isinstance(target, LentTarget):
        return target.call(function, args)
    return function(target, *args, should_stop)


def record_there(
    target: Any, memories: Any, order: Order, should_stop: Callable[[], bool], progress: Progress
) -> Trace | None:
    """`record_run`, there where the target's GPU is. Lent, it cannot be watched, and after a Stop it is dropped.

    Raises:
        ModelError: see `LentTarget.call`.
    """
    if not isinstance(target, LentTarget):
        return record_run(target, memories, order, should_stop, progress)
    progress.sentence = texts.GPU_LENT
    trace, progress.lanes, after = target.call(_record, (memories.snapshot(), order))
    if should_stop():
        return None
    memories.restore(after)
    return trace


def _record(
    target: Any, before: Any, order: Order, should_stop: Callable[[], bool]
) -> tuple[Trace | None, list[Any], Any]:
    """In the worker: the run, what its lanes show, and U after it."""
    from recap.memory import Memories

    memories, progress = Memories(target.vocab_size), Progress()
    memories.restore(before)
    trace = record_run(target, memories, order, should_stop, progress)
    return trace, progress.lanes, memories.snapshot()


def _call_there(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, str]:
    """In the worker: what the function returns, or the sentence of a known error, whose class would not come back."""
    target, make_ready = _held
    deadline = time.monotonic() + SECONDS_LENT - MARGIN_SECONDS
    try:
        if not _is_ready:
            make_ready(target)
            _is_ready.append(True)
        return function(target, *args, lambda: time.monotonic() > deadline), ""
    except RecapError as error:
        return None, str(error)
