"""One model, one worker thread, one run at a time: a bounded queue in which everybody sees their place."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from demo import texts
from recap.errors import InputError, ModelError, RecapError

#: Runs that may wait behind the one that is being made.
MAX_WAITING = 8
#: A run that nobody has looked after for this long belongs to a page that is gone.
ABANDONED_SECONDS = 20.0

HostState = Literal["none", "loading", "ready", "failed"]
Job = Callable[[Any, "Ticket"], None]

_log = logging.getLogger(__name__)


class Ticket:
    """One run in the queue: its place, its stop flag, and how it ended.

    Attributes:
        done: set when the run has ended, in whatever way.
        error: the sentence for the user when it failed, else None.
    """

    def __init__(self, job: Job, withdraw: Callable[[Ticket], None]) -> None:
        """`withdraw` takes the run out of the queue where it still waits."""
        self.job = job
        self._withdraw = withdraw
        self.done = threading.Event()
        self.error: str | None = None
        self._stop = threading.Event()
        self._looked_after = time.monotonic()

    def stop(self) -> None:
        """Ask the run to end: at once where it waits, else before its next pass."""
        self._stop.set()
        self._withdraw(self)

    def look_after(self) -> None:
        """Say that somebody still waits for this run."""
        self._looked_after = time.monotonic()

    @property
    def should_stop(self) -> bool:
        """Stop was pressed, or nobody waits for the run any more."""
        return self._stop.is_set() or time.monotonic() - self._looked_after > ABANDONED_SECONDS


class ModelHost:
    """Loads a model in the background and makes the runs of all sessions on it, one after the other."""

    def __init__(self, load: Callable[[], Any] | None, max_waiting: int = MAX_WAITING) -> None:
        """`load` makes the target and may raise ModelError; None is a page without a model."""
        self._load = load
        self._max_waiting = max_waiting
        self._queue: deque[Ticket] = deque()
        self._running: Ticket | None = None
        self._changed = threading.Condition()
        self._state: HostState = "loading" if load else "none"
        self._failure = ""
        self._started = time.monotonic()

    def start(self) -> None:
        """Begin to load; returns at once."""
        if self._load:
            threading.Thread(target=self._work, name="model", daemon=True).start()

    @property
    def state(self) -> HostState:
        """What the model is doing, whether or not a run is being made."""
        return self._state

    @property
    def status_sentence(self) -> str:
        """One sentence on the model's state for the page; empty once it is ready."""
        if self._state == "loading":
            return texts.model_loading(int(time.monotonic() - self._started))
        return {"none": texts.NO_MODEL, "failed": self._failure, "ready": ""}[self._state]

    def submit(self, job: Job) -> Ticket:
        """Put a run into the queue; while the model loads, runs may wait already.

        Raises:
            ModelError: there is no model here, or it could not be loaded.
            InputError: too many runs are waiting.
        """
        with self._changed:
            if self._state in ("none", "failed"):
                raise ModelError(self.status_sentence)
            for waiting in [ticket for ticket in self._queue if ticket.should_stop]:
                self._remove(waiting)  # of a page that is gone
            if len(self._queue) - (self._running is None) >= self._max_waiting:
                raise InputError(texts.queue_full(self._max_waiting))
            ticket = Ticket(job, self._withdraw)
            self._queue.append(ticket)
            self._changed.notify()
        return ticket

    def place(self, ticket: Ticket) -> int:
        """How many runs come before this one; 0 while it is being made and when it is over."""
        with self._changed:
            if ticket not in self._queue:
                return 0
            return self._queue.index(ticket) + (self._running is not None)

    def _withdraw(self, ticket: Ticket) -> None:
        with self._changed:
            if ticket in self._queue:
                self._remove(ticket)

    def _remove(self, ticket: Ticket) -> None:
        self._queue.remove(ticket)
        ticket.done.set()

    def _work(self) -> None:
        assert self._load is not None, "start is called with a loader"
        try:
            target = self._load()
        except Exception as error:  # whatever happens here, the page goes on without a model
            self._fail(_sentence_of(error, texts.MODEL_FAILED))
            return
        self._state = "ready"
        while True:
            with self._changed:
                self._running = None
                self._changed.wait_for(lambda: self._queue)
                ticket = self._running = self._queue.popleft()
            try:
                if not ticket.should_stop:
                    ticket.job(target, ticket)
            except Exception as error:  # one failed run must not take the model away from the others
                ticket.error = _sentence_of(error, texts.RUN_FAILED)
            ticket.done.set()

    def _fail(self, sentence: str) -> None:
        with self._changed:
            self._failure = sentence
            self._state = "failed"
            while self._queue:
                ticket = self._queue.popleft()
                ticket.error = sentence
                ticket.done.set()


def _sentence_of(error: Exception, otherwise: str) -> str:
    if isinstance(error, RecapError):
        return str(error)
    _log.error("Unexpected failure", exc_info=error)
    return otherwise
