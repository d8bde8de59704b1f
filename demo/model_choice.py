"""Which of the offered models answers a tab's questions: chosen in the panel, loaded when it is first needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import gradio as gr

from demo import texts
from demo.fair_use import Asker
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.runs import Progress
from demo.session import SessionStore
from demo.states import next_act, note, refusal
from recap.errors import InputError, RecapError


class ModelChoice:
    """The handler of the field; other tabs keep the models they have chosen."""

    def __init__(self, sessions: SessionStore, host: ModelHost, handlers: Handlers) -> None:
        self._sessions = sessions
        self._host = host
        self._handlers = handlers
        self._parts: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What the operator allows; nothing else can be loaded by a visitor."""
        return self._host.models.names

    def wire(self, **parts: Any) -> None:
        """The components that `choose` updates: `choice, model_note, memory_note, status`."""
        self._parts = parts

    async def choose(self, name: Any, request: gr.Request) -> AsyncIterator[dict[Any, Any]]:
        """Load a model and have it answer from now on; one that cannot be loaded leaves the tab's model as it was."""
        parts, session = self._parts, self._sessions.get(request.session_hash or "")
        loaded: list[str] = []
        try:
            if session.is_running:
                raise InputError(texts.RUN_GOING_ON)
            asked = name if isinstance(name, str) and name else "?"
            session.ticket = ticket = self._host.submit(
                lambda target, ticket: loaded.append(ticket.model),
                Asker(request.session_hash or ""),
                asked,
                is_choice=True,
            )
        except RecapError as error:
            yield self._unchanged(session.model) | {parts["status"]: refusal(error)}
            return
        yield self._handlers.buttons(is_running=True)
        async with aclosing(self._handlers.follow(ticket, Progress())) as states:
            async for state in states:
                yield {parts["status"]: state | {"act": next_act()}}
        if ticket.error is not None:
            changes = self._unchanged(session.model) | {parts["status"]: refusal(InputError(ticket.error))}
        elif not loaded:
            changes = self._unchanged(session.model)
            changes[parts["status"]] = note(texts.MODEL_NOT_CHANGED) | {"act": next_act()}
        else:
            session.model = "" if name == self._host.models.first else name
            changes = {
                parts["status"]: note(texts.model_chosen(name)) | {"act": next_act()},
                parts["model_note"]: note(describe_model(name)),
                parts["memory_note"]: note(texts.memory_held(session.num_unigram_rows())),
            }
        yield changes | self._handlers.buttons(is_running=False)

    def _unchanged(self, model: str) -> dict[Any, Any]:
        return {self._parts["choice"]: model or self._host.models.first}


def describe_model(name: str) -> str:
    """What is to be known of a model beside the question."""
    return texts.TEACHING_MODEL_NOTES.get(name) or texts.model_in_use(name)
