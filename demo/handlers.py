"""What the page's buttons do: every handler answers with a state of the page, and refusals with one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import gradio as gr

from demo import texts
from demo.fair_use import Asker
from demo.host import ModelHost, Ticket
from demo.library import Example
from demo.limits import HEAVY_WORK, check_new_tokens, check_nodes, check_question, check_whole_number
from demo.live_run import end_state, follow, make_run
from demo.opened_files import read_opened, uploaded_file
from demo.picture_lab import prepare_reading
from demo.runs import KeptReport, Order, Progress
from demo.session import Session, SessionStore
from demo.states import State, describe, next_act, note, player_source, preview, refusal
from recap.errors import InputError, RecapError, TraceError
from recap.pictures import open_picture

#: The answer to a picture that is no longer the last one chosen: preview, note and refusal stay as they are.
_NOTHING_NEW = (gr.skip(), gr.skip(), gr.skip())


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

    def receive_picture(self, sent: Any, request: gr.Request) -> tuple[Any, Any, Any]:
        """An uploaded picture goes through the one door: a preview of what the model will get, a note, or a refusal."""
        return self._show_picture(lambda: uploaded_file(getattr(sent, "path", None)), request)

    def choose_example(self, request: gr.Request, event: gr.EventData) -> tuple[Any, Any, Any, Any]:
        """An example's picture, as for an upload, and its question."""
        try:
            example = self.examples[check_whole_number(event.index, "", 0, len(self.examples) - 1)]
        except (InputError, AttributeError, TypeError):  # not the page's gallery, but someone's own program
            return None, note(""), refusal(InputError(texts.NO_EXAMPLE)), gr.skip()
        shown = self._show_picture(lambda: example.picture_path, request)
        return *shown, gr.skip() if shown is _NOTHING_NEW else example.question

    def clear_picture(self, request: gr.Request) -> tuple[State, State]:
        """The picture is gone; an old one is never asked about."""
        session = self._session(request)
        session.picture_act = next_act()
        session.is_opening_picture, session.picture_path = False, None
        return note(""), note("")

    def _show_picture(self, find: Callable[[], Path], request: gr.Request) -> tuple[Any, Any, Any]:
        session = self._session(request)
        # Numbered now: the picture may take long, and another be chosen meanwhile.
        act = session.picture_act = next_act()
        session.is_opening_picture = True
        opened: Path | None = None
        try:
            path = find()
            with HEAVY_WORK:
                picture = open_picture(path)
            opened, shown = path, (preview(picture), note(describe(picture)), note(""))
        except InputError as error:
            shown = None, note(""), refusal(error)
        finally:
            is_newest = session.picture_act == act
            if is_newest:
                session.is_opening_picture, session.picture_path = False, opened
        return shown if is_newest else _NOTHING_NEW

    # -- run ---------------------------------------------------------------------------------------------------------

    async def run(
        self, sent_picture: Any, question: Any, nodes: Any, new_tokens: Any, request: gr.Request
    ) -> AsyncIterator[dict[Any, Any]]:
        """Check everything, wait for the model, and tell how the run goes at most four times a second."""
        parts = self._parts
        session = self._session(request)
        progress = Progress()
        kept: list[tuple[str, str]] = []
        try:
            order = await asyncio.to_thread(
                self._check_order, session, sent_picture, question, nodes, new_tokens
            )
            if session.is_running:  # a second press may have come in while the picture was read
                raise InputError(texts.RUN_GOING_ON)
            session.ticket = ticket = self._host.submit(
                lambda target, ticket: kept.append(make_run(target, session, order, ticket, progress)),
                Asker(request.session_hash or ""),
                order.model,
            )
        except RecapError as error:
            yield {parts["status"]: refusal(error)}
            return
        yield self.buttons(is_running=True)
        async with aclosing(self.follow(ticket, progress)) as states:
            async for state in states:
                yield {parts["status"]: state | {"act": next_act()}}
        changes: dict[Any, Any] = {
            parts["status"]: end_state(ticket, progress, kept) | {"act": next_act()},
            **self.buttons(is_running=False),
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
                lambda target, ticket: told.append(read(target, lambda: ticket.should_stop)),
                Asker(request.session_hash or ""),
                kept.asked.model if kept and kept.asked else "",
            )
        except RecapError as error:
            yield {lab: refusal(error) | {"url": url}}
            return
        yield self.buttons(is_running=True)
        async with aclosing(self.follow(ticket, progress)) as states:
            async for state in states:
                yield {lab: state | {"url": url}}
        if ticket.error is not None:
            end = refusal(InputError(ticket.error))
        else:
            end = {"kind": "done", **told[0]} if told and told[0] else note(texts.LAB_STOPPED)
        yield {lab: end | {"url": url}, **self.buttons(is_running=False)}

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
        session.streams = {}
        return note(texts.MEMORY_CLEARED)

    def _check_order(
        self, session: Session, sent_picture: Any, question: Any, nodes: Any, new_tokens: Any
    ) -> Order:
        if session.is_running:
            raise InputError(texts.RUN_GOING_ON)
        if session.is_opening_picture:
            raise InputError(texts.PICTURE_OPENING)
        if session.picture_path is None:
            raise InputError(texts.PICTURE_GONE if sent_picture else texts.NO_PICTURE)
        if not session.picture_path.exists():  # uploaded files are deleted in time
            raise InputError(texts.PICTURE_GONE)
        question = check_question(question)
        nodes, new_tokens = check_nodes(nodes), check_new_tokens(new_tokens)
        with HEAVY_WORK:
            picture = open_picture(session.picture_path)
        path = session.picture_path
        return Order(picture, question, nodes, new_tokens, path, session.model)

    def follow(self, ticket: Ticket, progress: Progress) -> AsyncIterator[State]:
        """What is going on in the queue, whenever it changes; see `live_run.follow`."""
        return follow(self._host, ticket, progress)

    def buttons(self, is_running: bool) -> dict[Any, Any]:
        """Run and Stop, of which one can be pressed."""
        return {
            self._parts["run"]: gr.update(interactive=not is_running),
            self._parts["stop"]: gr.update(interactive=is_running),
        }

    # -- traces and the end ------------------------------------------------------------------------------------------

    def open_trace(self, path: str | None, request: gr.Request) -> tuple[Any, State]:
        """Play a trace from elsewhere, or show a report; a file that cannot be used leaves the page as it was."""
        if not path:
            return gr.skip(), note("")
        session = self._session(request)
        try:
            with HEAVY_WORK:
                opened = read_opened(uploaded_file(path))
        except RecapError as error:
            return gr.skip(), refusal(TraceError(texts.trace_refused(str(error))))
        kind = "report" if isinstance(opened, KeptReport) else "uploaded"
        return player_source(session.keep(opened), kind), note("")

    def drop_session(self, request: gr.Request) -> None:
        """The tab was closed or reloaded."""
        self._sessions.drop(request.session_hash or "")

    def _session(self, request: gr.Request) -> Session:
        return self._sessions.get(request.session_hash or "")


def _field(event: gr.EventData, name: str) -> str:
    """What the page's script sent along; empty where someone's own program sent something else."""
    try:
        return str(getattr(event, name))
    except (AttributeError, TypeError):
        return ""
