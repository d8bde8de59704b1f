"""What the page's buttons do: every handler answers with a state of the page, and refusals with one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from demo import texts
from demo.host import ModelHost, Ticket
from demo.library import Example
from demo.limits import HEAVY_WORK, check_new_tokens, check_nodes, check_question, check_whole_number
from demo.picture_lab import prepare_reading
from demo.runs import (
    KeptReport,
    KeptRun,
    Order,
    Progress,
    keep_report,
    keep_run,
    outcome_sentence,
    record_run,
)
from demo.session import Session, SessionStore
from demo.states import State, describe, lanes_of, note, player_source, refusal
from recap.errors import InputError, RecapError, TraceError
from recap.pictures import open_picture
from recap.trace_io import parse_trace

#: How often a page that waits for its run is told of it.
PROGRESS_SECONDS = 0.25
MAX_TRACE_BYTES = 48 * 1024 * 1024


class Handlers:
    """The page's functions, over the sessions and the model."""

    def __init__(self, sessions: SessionStore, host: ModelHost, examples: list[Example]) -> None:
        self._sessions = sessions
        self._host = host
        self.examples = examples
        self._parts: dict[str, Any] = {}

    def wire(self, **parts: Any) -> None:
        """The components that `run` updates one by one."""
        self._parts = parts

    @property
    def idle_sentence(self) -> str:
        """What to do next, when nothing is going on."""
        return texts.NO_MODEL if self._host.state == "none" else texts.IDLE

    # -- picture -----------------------------------------------------------------------------------------------------

    def receive_picture(self, sent: Any, request: gr.Request) -> tuple[Any, State, State]:
        """An uploaded picture goes through the one door; the preview shows what the model will get."""
        return self._show_picture(lambda: uploaded_file(getattr(sent, "path", None)), request)

    def choose_example(self, request: gr.Request, event: gr.EventData) -> tuple[Any, State, State, str]:
        """An example's picture and question."""
        try:
            example = self.examples[check_whole_number(event.index, "", 0, len(self.examples) - 1)]
        except (InputError, AttributeError, TypeError):  # not the page's gallery, but someone's own program
            return None, note(""), refusal(InputError(texts.NO_EXAMPLE)), gr.skip()
        return *self._show_picture(lambda: example.picture_path, request), example.question

    def clear_picture(self, request: gr.Request) -> State:
        """The picture is gone; an old one is never asked about."""
        self._session(request).picture_path = None
        return note("")

    def _show_picture(self, find: Callable[[], Path], request: gr.Request) -> tuple[Any, State, State]:
        session = self._session(request)
        try:
            path = find()
            with HEAVY_WORK:
                picture = open_picture(path)
        except InputError as error:
            session.picture_path = None
            return None, note(""), refusal(error)
        session.picture_path = path
        return picture.image, note(describe(picture)), note(self.idle_sentence)

    # -- run ---------------------------------------------------------------------------------------------------------

    async def run(
        self, sent_picture: Any, question: Any, num_nodes: Any, new_tokens: Any, request: gr.Request
    ) -> AsyncIterator[dict[Any, Any]]:
        """Check everything, wait for the model, and tell how the run goes at most four times a second."""
        parts = self._parts
        session = self._session(request)
        progress = Progress()
        kept: list[tuple[str, str]] = []
        try:
            order = await asyncio.to_thread(
                self._check_order, session, sent_picture, question, num_nodes, new_tokens
            )
            if session.is_running:  # a second press may have come in while the picture was read
                raise InputError(texts.RUN_GOING_ON)
            session.ticket = ticket = self._host.submit(
                lambda target, ticket: kept.append(_make(target, session, order, ticket, progress))
            )
        except RecapError as error:
            yield {parts["status"]: refusal(error)}
            return
        yield self._buttons(is_running=True)
        async with aclosing(self._states(ticket, progress)) as states:
            async for state in states:
                yield {parts["status"]: state}
        changes: dict[Any, Any] = {
            parts["status"]: _end_state(ticket, progress, kept),
            **self._buttons(is_running=False),
            parts["memory_note"]: note(texts.memory_held(session.num_unigram_rows())),
        }
        if kept and kept[0][0]:
            changes[parts["player"]] = player_source(kept[0][0], "live")
        yield changes

    async def read_again(self, request: gr.Request, event: gr.EventData) -> AsyncIterator[dict[Any, Any]]:
        """The picture lab: read a live run's answer again in front of other pictures, in the same queue as runs."""
        lab, session = self._parts["lab"], self._session(request)
        url = _field(event, "url")
        progress = Progress(texts.LAB_READING)
        told: list[State | None] = []
        try:
            if session.is_running:
                raise InputError(texts.RUN_GOING_ON)
            kept = session.runs.get(url.rpartition("/")[2])
            pictures = [session.picture_path, *(example.picture_path for example in self.examples)]
            read = await asyncio.to_thread(prepare_reading, kept, pictures)
            if session.is_running:  # a second press may have come in meanwhile
                raise InputError(texts.RUN_GOING_ON)
            session.ticket = ticket = self._host.submit(
                lambda target, ticket: told.append(read(target, lambda: ticket.should_stop))
            )
        except RecapError as error:
            yield {lab: refusal(error) | {"url": url}}
            return
        yield self._buttons(is_running=True)
        async with aclosing(self._states(ticket, progress)) as states:
            async for state in states:
                yield {lab: state | {"url": url}}
        if ticket.error is not None:
            end = refusal(InputError(ticket.error))
        else:
            end = {"kind": "done", **told[0]} if told and told[0] else note(texts.LAB_STOPPED)
        yield {lab: end | {"url": url}, **self._buttons(is_running=False)}

    def stop(self, request: gr.Request) -> None:
        """End the tab's run within one pass."""
        ticket = self._session(request).ticket
        if ticket is not None:
            ticket.stop()

    def clear_memory(self, request: gr.Request) -> State:
        """Empty the tab's U."""
        session = self._session(request)
        if session.is_running:
            return refusal(InputError(texts.RUN_GOING_ON))
        session.memories = None
        return note(texts.MEMORY_CLEARED)

    def _check_order(
        self, session: Session, sent_picture: Any, question: Any, num_nodes: Any, new_tokens: Any
    ) -> Order:
        if session.is_running:
            raise InputError(texts.RUN_GOING_ON)
        if session.picture_path is None:
            raise InputError(texts.PICTURE_GONE if sent_picture else texts.NO_PICTURE)
        question = check_question(question)
        num_nodes, new_tokens = check_nodes(num_nodes), check_new_tokens(new_tokens)
        with HEAVY_WORK:
            picture = open_picture(session.picture_path)
        return Order(picture, question, num_nodes, new_tokens, session.picture_path)

    async def _states(self, ticket: Ticket, progress: Progress) -> AsyncIterator[State]:
        """What is going on, whenever it changes, until it is over."""
        shown: State = {}
        try:
            while not ticket.done.is_set():
                ticket.look_after()
                state = self._running_state(ticket, progress)
                if state != shown:
                    shown = state
                    yield state
                await asyncio.sleep(PROGRESS_SECONDS)
        finally:
            ticket.stop()  # closed early, the page has gone; at the end it changes nothing

    def _buttons(self, is_running: bool) -> dict[Any, Any]:
        return {
            self._parts["run"]: gr.update(interactive=not is_running),
            self._parts["stop"]: gr.update(interactive=is_running),
        }

    def _running_state(self, ticket: Ticket, progress: Progress) -> State:
        place = self._host.place(ticket)
        if place:
            return {"kind": "waiting", "sentence": texts.waiting(place), "lanes": []}
        sentence = progress.sentence or self._host.status_sentence
        return {"kind": "running", "sentence": sentence, "lanes": lanes_of(progress)}

    # -- traces and the end ------------------------------------------------------------------------------------------

    def open_trace(self, path: str | None, request: gr.Request) -> tuple[Any, State]:
        """Play a trace from elsewhere, or show a report; a file that cannot be used leaves the page as it was."""
        if not path:
            return gr.skip(), note("")
        session = self._session(request)
        try:
            with HEAVY_WORK:
                opened = _read_file(uploaded_file(path))
        except RecapError as error:
            return gr.skip(), refusal(TraceError(texts.trace_refused(str(error))))
        kind = "report" if isinstance(opened, KeptReport) else "uploaded"
        return player_source(session.keep(opened), kind), note("")

    def drop_session(self, request: gr.Request) -> None:
        """The tab was closed or reloaded."""
        self._sessions.drop(request.session_hash or "")

    def _session(self, request: gr.Request) -> Session:
        return self._sessions.get(request.session_hash or "")


def uploaded_file(path: object) -> Path:
    """The path of a file that was uploaded to the page; no other file of this machine is read for a visitor.

    Raises:
        InputError: it lies elsewhere.
    """
    folder = Path(get_upload_folder()).resolve()
    if not isinstance(path, str) or "\0" in path or not Path(path).resolve().is_relative_to(folder):
        raise InputError(texts.NOT_UPLOADED)
    return Path(path)


def _field(event: gr.EventData, name: str) -> str:
    """What the page's script sent along; empty where someone's own program sent something else."""
    try:
        return str(getattr(event, name))
    except (AttributeError, TypeError):
        return ""


def _make(target: Any, session: Session, order: Order, ticket: Ticket, progress: Progress) -> tuple[str, str]:
    """On the model's thread: the run, then its figures. Returns its key (empty for none) and how it ended."""
    from recap.memory import Memories

    if session.memories is None:
        session.memories = Memories(target.vocab_size)
    trace = record_run(target, session.memories, order, lambda: ticket.should_stop, progress)
    if trace is None:
        return "", texts.STOPPED_EARLY
    progress.sentence = texts.DRAWING
    return session.keep(keep_run(trace, order.asked)), outcome_sentence(trace)


def _end_state(ticket: Ticket, progress: Progress, kept: list[tuple[str, str]]) -> State:
    if ticket.error is not None:
        return refusal(InputError(ticket.error))
    sentence = kept[0][1] if kept else texts.STOPPED_EARLY
    return {"kind": "done", "sentence": sentence, "lanes": lanes_of(progress)}


def _read_file(path: Path) -> KeptRun:
    from visualize.report_page import parse_report

    if path.stat().st_size > MAX_TRACE_BYTES:
        raise TraceError(texts.TRACE_TOO_LARGE)
    data = path.read_bytes()
    report = parse_report(data)
    if report is not None:
        return keep_report(report, data)
    trace = parse_trace(data)
    try:
        return keep_run(trace)
    except (ValueError, LookupError, TypeError) as error:
        raise TraceError(texts.TRACE_FAILED) from error
