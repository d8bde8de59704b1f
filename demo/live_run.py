"""A live run between the model's thread and the page: how it is made, followed and ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from demo import texts
from demo.host import ModelHost, Ticket
from demo.runs import Order, Progress, keep_run, outcome_sentence
from demo.session import Session
from demo.states import State, lanes_of, refusal
from demo.zero_gpu import record_there
from recap.errors import InputError

#: How often a page that waits for its run is told of it.
PROGRESS_SECONDS = 0.25


def make_run(
    target: Any, session: Session, order: Order, ticket: Ticket, progress: Progress
) -> tuple[str, str]:
    """On the model's thread: the run, then its figures. Returns its key (empty for none) and how it ended."""
    from recap.memory import Memories

    if order.model not in session.streams:
        session.streams[order.model] = Memories(target.vocab_size)
    trace = record_there(target, session.streams[order.model], order, lambda: ticket.should_stop, progress)
    if trace is None:
        return "", texts.STOPPED_EARLY
    progress.sentence = texts.DRAWING
    return session.keep(keep_run(trace, order.asked)), outcome_sentence(trace)


async def follow(host: ModelHost, ticket: Ticket, progress: Progress) -> AsyncIterator[State]:
    """What is going on, whenever it changes, until it is over."""
    shown: State = {}
    try:
        while not ticket.done.is_set():
            ticket.look_after()
            state = _running_state(host, ticket, progress)
            if state != shown:
                shown = state
                yield state
            await asyncio.sleep(PROGRESS_SECONDS)
    finally:
        ticket.stop()  # closed early, the page has gone; at the end it changes nothing


def end_state(ticket: Ticket, progress: Progress, kept: list[tuple[str, str]]) -> State:
    """How a run ended; `kept` holds what `make_run` returned, if it came so far."""
    if ticket.error is not None:
        return refusal(InputError(ticket.error))
    sentence = kept[0][1] if kept else texts.STOPPED_EARLY
    return {"kind": "done", "sentence": sentence, "lanes": lanes_of(progress)}


def _running_state(host: ModelHost, ticket: Ticket, progress: Progress) -> State:
    place = host.place(ticket)
    if place:
        return {"kind": "waiting", "sentence": texts.waiting(place), "lanes": []}
    sentence = progress.sentence or host.models.loading_sentence
    return {"kind": "running", "sentence": sentence, "lanes": lanes_of(progress)}
