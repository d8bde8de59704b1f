"""The page's layout, and what its buttons are wired to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import gradio as gr

from demo import limits, texts
from demo.api import PageBlocks
from demo.handlers import Handlers
from demo.library import Example, Lessons, RecordedRuns
from demo.model_choice import ModelChoice, describe_model
from demo.routes import address, component_head

#: Seconds: how often gradio looks for uploaded files to delete, and how old they are then.
DELETE_UPLOADS = (1800, 5400)
#: Events that only move the page are private (no public endpoint), unqueued, and show no spinner.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}


def build_page(
    recorded: RecordedRuns, lessons: Lessons, handlers: Handlers, models: ModelChoice
) -> gr.Blocks:
    """Header, player and the panel to try one's own question on one of the models."""
    with PageBlocks(
        title=texts.PAGE_TITLE, analytics_enabled=False, delete_cache=DELETE_UPLOADS, fill_width=True
    ) as blocks:
        gr.HTML(
            header_value(recorded, lessons),
            js_on_load=_call("header"),
            **_constant("<header></header>", "recap-header"),
        )
        player = gr.HTML(
            player_value(recorded, lessons),
            js_on_load=_call("player"),
            **_constant('<div class="recap-mount"></div>', "recap-player"),
        )
        lab = gr.HTML(
            {"kind": "idle"}, js_on_load=_call("lab"), **_constant("<div hidden></div>", "recap-lab")
        )
        with gr.Column(elem_id="recap-panel"):
            _build_panel(handlers, player, lab, models)
        trace_file = gr.UploadButton(texts.OPEN_TRACE, file_count="single", elem_id="recap-open-trace")
        trace_note = gr.HTML(
            {"kind": "idle"},
            passing=True,
            js_on_load=_call("note"),
            **_constant("<p></p>", "recap-trace-note"),
        )
    with blocks:
        trace_file.upload(handlers.open_trace, trace_file, [player, trace_note], **QUIET)
        blocks.unload(handlers.drop_session)
    return blocks


def _build_panel(handlers: Handlers, player: gr.HTML, lab: gr.HTML, models: ModelChoice) -> None:
    gallery = gr.HTML(
        examples_value(handlers.examples),
        js_on_load=_call("examples"),
        **_constant("<div></div>", "recap-examples"),
    )
    picture = _as_sent(
        gr.Image(
            label=texts.PICTURE_LABEL,
            sources=["upload", "clipboard"],
            type="filepath",
            format="png",
            height=168,
            buttons=[],
            elem_id="recap-picture",
        )
    )
    picture_note, picture_refusal = (
        gr.HTML({"kind": "idle"}, js_on_load=_call("note"), **_constant("<p></p>", f"recap-picture-{name}"))
        for name in ("note", "refusal")
    )
    model_note = _static_note(describe_model(models.names[0]) if models.names else "")
    question = gr.Textbox(
        label=texts.QUESTION_LABEL,
        placeholder=texts.QUESTION_PLACEHOLDER,
        lines=2,
        max_lines=4,
        elem_id="recap-question",
    )
    with gr.Row(elem_id="recap-buttons"):
        run = gr.Button(texts.RUN_BUTTON, variant="primary", elem_id="recap-run")
        stop = gr.Button(texts.STOP_BUTTON, interactive=False, elem_id="recap-stop")
    status = gr.HTML(
        {"kind": "idle", "sentence": handlers.idle_sentence},
        js_on_load=_call("status"),
        **_constant("<div></div>", "recap-status"),
    )
    choice = _as_sent(
        gr.Dropdown(
            list(models.names),
            value=next(iter(models.names), None),
            label=texts.MODEL_LABEL,
            info=texts.MODEL_INFO,
            filterable=False,
            visible=len(models.names) > 1,
            elem_id="recap-model-choice",
        )
    )
    with gr.Accordion(texts.SETTINGS_TITLE, open=False, elem_id="recap-settings"):
        nodes = _as_sent(
            gr.Textbox(
                limits.AUTO_NODES,
                max_lines=1,
                label=texts.NODES_LABEL,
                info=texts.NODES_INFO,
                elem_id="recap-nodes",
            )
        )
        new_tokens = _as_sent(
            gr.Number(
                limits.DEFAULT_NEW_TOKENS,
                label=texts.NEW_TOKENS_LABEL,
                info=texts.NEW_TOKENS_INFO,
                elem_id="recap-new-tokens",
            )
        )
        clear = gr.Button(texts.CLEAR_MEMORY_BUTTON, size="sm", elem_id="recap-clear-memory")
        memory_note = gr.HTML(
            {"kind": "idle"}, js_on_load=_call("note"), **_constant("<p></p>", "recap-memory-note")
        )
        _static_note(texts.KEEP_MEMORY_NOTE)
    _static_note(texts.PRIVACY_NOTE)

    # None of them writes the status, which is the runs' alone: a late answer cannot replace what was said since.
    shown = [picture, picture_note, picture_refusal]
    begins = {**QUIET, "js": "(...values) => window.RecapPage.choosePicture(values)"}
    gallery.click(handlers.choose_example, None, [*shown, question], trigger_mode="multiple", **begins)
    picture.upload(handlers.receive_picture, picture, shown, trigger_mode="multiple", **begins)
    picture.clear(handlers.clear_picture, None, [picture_note, picture_refusal], **begins)
    models.wire(choice=choice, model_note=model_note, memory_note=memory_note, status=status)
    choice.select(
        models.choose,
        choice,
        [choice, model_note, memory_note, status, run, stop],
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=None,
        trigger_mode="multiple",
    )
    handlers.wire(status=status, player=player, run=run, stop=stop, memory_note=memory_note, lab=lab)
    lab.click(
        handlers.read_again,
        None,
        [lab, run, stop],
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=None,
        trigger_mode="multiple",
    )
    gr.on(
        [run.click, question.submit],
        handlers.run,
        [picture, question, nodes, new_tokens],
        [status, player, run, stop, memory_note],
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=None,
        trigger_mode="multiple",
    )
    stop.click(_at_once(handlers.stop), None, None, **QUIET)
    clear.click(handlers.clear_memory, None, memory_note, **QUIET)


def _at_once(handler: Callable[[gr.Request], None]) -> Callable[[gr.Request], Awaitable[None]]:
    """The handler on the page's own loop: its threads may all be waiting for pictures to be opened."""

    @wraps(handler)
    async def on_loop(request: gr.Request) -> None:
        handler(request)

    return on_loop


def _static_note(sentence: str) -> gr.HTML:
    return gr.HTML({"kind": "idle", "sentence": sentence}, js_on_load=_call("note"), **_constant("<p></p>"))


def _call(part: str) -> str:
    """The script of a part of the page, from page.js."""
    return f"window.RecapPage.{part}(element, props, watch, trigger);"


def _constant(template: str, elem_id: str | None = None) -> dict[str, Any]:
    """A component whose script draws it: a constant template is never rendered again, and no text can become markup."""
    return {
        "html_template": template,
        "apply_default_css": False,
        "elem_id": elem_id,
        "head": component_head(),
    }


def _as_sent(component: Any) -> Any:
    """Hand our function what the browser sent: gradio's own checks would answer in its words, ours do in a sentence."""
    component.preprocess = lambda payload: payload
    return component


def header_value(recorded: RecordedRuns, lessons: Lessons) -> dict[str, Any]:
    """What the header shows."""
    return {
        "runs": recorded.list(),
        "lessons": lessons.list(),
        "lessons_title": texts.LESSONS_LABEL,
        "runs_title": texts.RECORDED_RUNS_LABEL,
        "title": texts.TITLE,
        "subtitle": texts.SUBTITLE,
        "recorded": texts.RECORDED_LABEL,
        "try": texts.TRY_BUTTON,
        "close": texts.CLOSE_BUTTON,
        "save": texts.SAVE_TRACE,
        "open": texts.OPEN_TRACE,
        "theme": texts.THEME_BUTTON,
        "open_hint": texts.OPEN_TRACE_HINT,
        "options": {
            "live": texts.LIVE_OPTION,
            "uploaded": texts.UPLOADED_OPTION,
            "report": texts.REPORT_OPTION,
        },
    }


def player_value(recorded: RecordedRuns, lessons: Lessons) -> dict[str, Any]:
    """What the player starts with: the recorded run that the address names, else the first."""
    return {
        "sequence": 0,
        "recorded": [run["name"] for run in recorded.list()],
        "lessons": [lesson["name"] for lesson in lessons.list()],
        "empty": texts.EMPTY_PLAYER,
        "loading": texts.LOADING_RUN,
        "failed": texts.PLAYER_FAILED,
        "report_page": texts.REPORT_PAGE,
        "plotly": address("plotly"),
    }


def examples_value(examples: list[Example]) -> dict[str, Any]:
    """The gallery of examples."""
    return {
        "title": texts.EXAMPLES_TITLE,
        "examples": [{"thumbnail": example.thumbnail, "question": example.question} for example in examples],
    }
