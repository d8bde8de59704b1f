"""The one public endpoint: a whole run, picture and question in, text, figures and trace out. See assets/guides/api.md.

Every call is a stream of its own: it starts with an empty U and leaves nothing behind.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import gradio as gr

from demo import limits, texts
from demo.fair_use import Asker
from demo.host import ModelHost, Ticket
from demo.runs import MAX_RECORDED_NODES
from demo.zero_gpu import call
from recap.cli import describe_run
from recap.errors import InputError, RecapError
from recap.pictures import MAX_PICTURE_BYTES, Picture, describe_picture, open_picture
from recap.trace_io import dump_trace

ENDPOINT = "answer"
#: What the endpoint takes, in this order.
PARAMETERS = ("picture", "question", "method", "max_new_tokens", "model")
#: With a budget that follows the measured cost of a pass, as the page's own runs.
DEFAULT_METHOD = f"recap@{limits.AUTO_NODES}"
#: How often a waiting call says that it is still there, seconds; well below what the host takes for abandoned.
_LOOK_SECONDS = 2.0


class PageBlocks(gr.Blocks):
    """Blocks that tell a program what to send: where values lack, gradio's own error reaches the terminal alone."""

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Raises gr.Error where the endpoint is called with fewer or more values than it takes."""
        if block_fn.api_name == ENDPOINT and len(inputs) != len(PARAMETERS):
            raise _refusal(texts.values_missing(PARAMETERS, len(inputs)))
        super().validate_inputs(block_fn, inputs)


def add_endpoint(blocks: gr.Blocks, host: ModelHost) -> None:
    """Make `/answer` callable by any client; runs wait in the page's own queue."""

    def answer(
        picture: str,
        question: str,
        method: str = DEFAULT_METHOD,
        max_new_tokens: int = 200,
        model: str = "",
        request: gr.Request = None,  # type: ignore[assignment]  gradio fills it in
    ) -> tuple[str, dict, dict]:
        """Answer a question by a method, and by plain decoding beside it.

        Args:
            picture: a PNG, JPEG, WebP or GIF file as base64; empty for a question without a picture.
            question: what to ask.
            method: recap@auto, recap@16, recap, recap-uniform, ..., token_recycling, ..., or ar for plain decoding
                alone.
            max_new_tokens: length cap of the answer.
            model: one of those that the page offers; empty for its first.

        Returns:
            The answer; its figures (those of `python -m recap run --json`); and both runs as a trace.
        """
        try:
            checked = limits.check_question(question), limits.check_new_tokens(max_new_tokens)
            _check_base64(picture)
            _check_method(method)
            opened: Future[Picture | None] = Future()
            found: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

            def job(target: Any, ticket: Ticket) -> None:
                asked = (opened.result(), *checked, method)
                found.append(call(target, _record, *asked, should_stop=lambda: ticket.should_stop))

            ticket = host.submit(job, Asker(_address(request), is_program=True), str(model))
            # Opened only for who has a place: whoever calls too often must not cost more than a refusal.
            _open_for(ticket, opened, picture)
            while not ticket.done.wait(_LOOK_SECONDS):
                ticket.look_after()
        except RecapError as error:
            raise _refusal(str(error)) from error
        if ticket.error or not found:
            raise _refusal(ticket.error or "The run was stopped before its end; please ask again.")
        return found[0]

    with blocks:
        gr.api(answer, api_name=ENDPOINT, concurrency_limit=None)


def _refusal(sentence: str) -> gr.Error:
    """What the caller is told; the terminal is spared a traceback for each bad call."""
    return gr.Error(sentence, print_exception=False)


def _address(request: gr.Request | None) -> str:
    """The address a call comes from; one name for all whose address is not known."""
    client = request.client if request is not None else None
    return client.host if client is not None else "unknown"


def _check_method(method: str) -> None:
    if not isinstance(method, str):
        raise InputError(texts.NO_METHOD)
    # The drafters need numba's code, whose import may take a second; the page opens before it.
    from recap.drafters import parse_method

    parse_method(method)


def _check_base64(picture: object) -> None:
    """What can be told of a picture without decoding anything. Raises InputError."""
    if picture and (not isinstance(picture, str) or len(picture) > 4 * MAX_PICTURE_BYTES // 3 + 4):
        raise InputError(
            f"The picture must be a file of at most {MAX_PICTURE_BYTES // 1024**2} MB as base64 text."
        )


def _open_for(ticket: Ticket, opened: Future[Picture | None], picture: str) -> None:
    """Open a run's picture while it waits; one that cannot be opened gives its place back. Raises InputError."""
    try:
        opened.set_result(_open_base64(picture))
    except BaseException as error:
        opened.set_exception(error)  # the run may have begun, and waits for it
        ticket.stop()
        raise


def _open_base64(picture: str) -> Picture | None:
    if not picture:
        return None
    try:
        data = base64.b64decode(picture, validate=True)
    except ValueError as error:  # also for letters beyond ASCII
        raise InputError("The picture must be a file as base64 text; this text is none.") from error
    with limits.HEAVY_WORK:
        return open_picture(data)


def _record(
    target: Any,
    picture: Picture | None,
    question: str,
    max_new_tokens: int,
    method: str,
    should_stop: Callable[[], bool],
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The whole run, by the model's thread."""
    from recap.recording import RecordedRun, build_trace
    from recap.tokens import TextStream

    image = picture.image if picture else None
    request = target.build_request(image, question, max_new_tokens=max_new_tokens)
    runs = []
    for name in dict.fromkeys(("ar", method)):
        recorded = RecordedRun(target, request, name, stop=should_stop, max_nodes=MAX_RECORDED_NODES)
        for _ in recorded:
            pass
        runs.append(recorded.run())
    stream = TextStream(target.token_bytes, target.is_special)
    assert runs[-1].finished is not None
    answer = stream.push(runs[-1].finished.output_ids) + stream.finish()
    trace = build_trace(target, request, question, runs, describe_picture(picture) if picture else None)
    return (
        answer,
        describe_run(runs[-1], runs[0], answer) | {"model": target.name},
        json.loads(dump_trace(trace)),
    )
