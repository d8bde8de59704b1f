"""One worker thread, one run at a time on whichever model: a bounded queue in which everybody sees their place."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from demo import texts
from demo.fair_use import NOBODY, Asker, RunLimiter, check_share
from demo.models import Models, ModelState, sentence_of
from recap.errors import InputError, ModelError

#: Runs that may wait behind the one that is being made.
MAX_WAITING = 8
#: A run that nobody has looked after for this long belongs to a page that is gone.
ABANDONED_SECONDS = 20.0

Job = Callable[[Any, "Ticket"], None]


class Ticket:
    """One run in the queue: its place, its stop flag, and how it ended.

    Attributes:
        asker: who asked for it.
        model: the name of the model it is made on.
        is_choice: the model was chosen now, so it is tried again where it could not be loaded before.
        context: the one it was asked in, which its job runs in: on ZeroGPU its time counts for the visitor there.
        done: set when the run has ended, in whatever way.
        error: the sentence for the user when it failed, else None.
    """

    def __init__(
        self, job: Job, withdraw: Callable[[Ticket], None], asker: Asker, model: str, is_choice: bool
    ) -> None:
        """`withdraw` takes the run out of the queue where it still waits."""
        self.job = job
        self.asker = asker
        self.model, self.is_choice = model, is_choice
        self.context = copy_context()
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
    """Makes the runs of all sessions, one after the other, each on the model it asks for.

    Attributes:
        models: what is offered, and how it stands with each.
    """

    def __init__(
        self, models: Models, max_waiting: int = MAX_WAITING, limiter: RunLimiter | None = None
    ) -> None:
        self.models = models
        self._max_waiting = max_waiting
        self._limiter = limiter or RunLimiter()
        self._queue: deque[Ticket] = deque()
        self._running: Ticket | None = None
        self._changed = threading.Condition()

    def start(self) -> None:
        """Begin to load the first model; returns at once."""
        if self.models.names:
            threading.Thread(target=self._work, name="model", daemon=True).start()

    @property
    def state(self) -> ModelState:
        """How it stands with the first model, whether or not a run is being made."""
        return self.models.state(self.models.first)

    @property
    def status_sentence(self) -> str:
        """One sentence on the first model's state for the page; empty once it is ready."""
        return self.models.sentence(self.models.first)

    def submit(self, job: Job, asker: Asker = NOBODY, model: str = "", is_choice: bool = False) -> Ticket:
        """Put a run into the queue, which is one for the page and for other programs, in the order of asking.

        While its model loads, runs may wait already. `model` is one of the offered names; empty: the first.
        `is_choice`: see `Ticket`.

        Raises:
            ModelError: there is no model here, or it could not be loaded.
            InputError: no such model is offered, too many runs are waiting, the asker has started too many within a
                minute, or programs have their part of the queue already.
        """
        model = model or self.models.first
        if self.models.names and model not in self.models.names:
            raise InputError(texts.no_such_model(self.models.names))
        with self._changed:
            state = self.models.state(model)
            if state == "none" or (state == "failed" and not is_choice):
                raise ModelError(self.models.sentence(model))
            for waiting in [ticket for ticket in self._queue if ticket.should_stop]:
                self._remove(waiting)  # of a page that is gone
            self._limiter.check(asker)
            if len(self._queue) - (self._running is None) >= self._max_waiting:
                raise InputError(texts.queue_full(self._max_waiting))
            running = self._running.asker if self._running else None
            check_share(asker, [ticket.asker for ticket in self._queue], running, self._max_waiting)
            ticket = Ticket(job, self._withdraw, asker, model, is_choice)
            self._queue.append(ticket)
            self._limiter.note(asker)
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
        with suppress(ModelError):  # kept in the models' state, and told to whoever asks
            self.models.load(self.models.first)
        while True:
            with self._changed:
                self._running = None
                self._changed.wait_for(lambda: self._queue)
                ticket = self._running = self._queue.popleft()
            try:
                if not ticket.should_stop:
                    ticket.context.run(self._make, ticket)
            except Exception as error:  # one failed run must not take the model away from the others
                ticket.error = sentence_of(error, texts.RUN_FAILED)
            ticket.done.set()

    def _make(self, ticket: Ticket) -> None:
        if self.models.state(ticket.model) == "failed" and not ticket.is_choice:
            raise ModelError(self.models.sentence(ticket.model))
        # No name for the target here: a model that is given up while another one is loaded must be free then.
        ticket.job(self.models.load(ticket.model), ticket)
