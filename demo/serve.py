"""How the page is served: its look, its own addresses beside gradio's, and the model that loads after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import gradio as gr
from starlette.applications import Starlette

from demo.api import add_endpoint
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.library import Lessons, RecordedRuns, load_examples
from demo.model_choice import ModelChoice
from demo.models import Loader, Models, make_ready
from demo.page import build_page
from demo.routes import make_routes, page_head
from demo.session import SessionStore, forget_regularly
from demo.zero_gpu import is_zero_gpu, lend_first
from recap.pictures import MAX_PICTURE_BYTES

EXAMPLES_FOLDER = Path(__file__).resolve().parent.parent / "assets" / "examples"
#: Where the folder of recorded runs brings no lessons of its own.
LESSONS_FOLDER = EXAMPLES_FOLDER.parent / "lessons"
#: Room for a trace of a large model; pictures have a tighter limit of their own.
MAX_UPLOAD_BYTES = 3 * MAX_PICTURE_BYTES
#: Any request as a whole: one upload, or a call with a picture as base64, and what is written around them.
MAX_REQUEST_BYTES = MAX_UPLOAD_BYTES + 1024**2


def serve(host: str, port: int, loaders: Mapping[str, Loader], traces_folder: Path) -> None:
    """Open the page, then load the first model in the background; returns when the page is closed.

    `loaders` make the targets of the models that visitors may choose from, by name; without any, the page only plays
    recorded runs.

    Raises:
        ModelError: on ZeroGPU, where the model is loaded first, it cannot be loaded.
    """
    if loaders and is_zero_gpu():
        loaders = lend_first(loaders, make_ready)
    recorded, sessions, model_host = RecordedRuns(traces_folder), SessionStore(), ModelHost(Models(loaders))
    recorded.draw_first()
    own_lessons = traces_folder / "lessons"
    lessons = Lessons(own_lessons if own_lessons.is_dir() else LESSONS_FOLDER, recorded)
    handlers = Handlers(sessions, model_host, load_examples(EXAMPLES_FOLDER))
    blocks = build_page(recorded, lessons, handlers, ModelChoice(sessions, model_host, handlers))
    add_endpoint(blocks, model_host)
    blocks.queue(max_size=200)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(forget_regularly(sessions))
        yield
        task.cancel()

    _, address, _ = blocks.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        theme=make_theme(),
        head=page_head(),
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        max_file_size=MAX_UPLOAD_BYTES,
        state_session_capacity=200,
        app_kwargs={
            "routes": make_routes(recorded, lessons, sessions, model_host),
            "lifespan": lifespan,
            "max_body_size": MAX_REQUEST_BYTES,
            "docs_url": None,
            "redoc_url": None,
            "openapi_url": None,
        },
    )
    print(f"The page is open at {address}", flush=True)
    model_host.start()
    blocks.block_thread()


def make_theme() -> gr.themes.Base:
    """A quiet theme with the system's fonts, so that none is fetched."""
    theme = gr.themes.Base(
        primary_hue=gr.themes.colors.violet,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_lg,
        spacing_size=gr.themes.sizes.spacing_sm,
        text_size=gr.themes.sizes.text_sm,
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
    # The colours of the player's own pages, light and dark, so that the page is one surface.
    return theme.set(
        body_background_fill="#f6f7f9",
        body_background_fill_dark="#10141a",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="#171c24",
        input_placeholder_color="#5d6878",
        input_placeholder_color_dark="#a3aebd",
        body_text_color="#1b2430",
        body_text_color_dark="#e8ecf2",
        body_text_color_subdued="#5d6878",
        body_text_color_subdued_dark="#a3aebd",
        border_color_primary="#dde2ea",
        border_color_primary_dark="#2d3542",
        background_fill_secondary="#f2f4f7",
        background_fill_secondary_dark="#222934",
        block_background_fill="#ffffff",
        block_background_fill_dark="#171c24",
        block_label_background_fill_dark="#171c24",
        input_background_fill="#f6f7f9",
        input_background_fill_dark="#10141a",
        button_secondary_background_fill_dark="#2d3542",
        slider_color="#5b3df5",
        slider_color_dark="#a996ff",
        button_primary_background_fill="#5b3df5",
        button_primary_background_fill_hover="#4a2fd6",
        button_primary_background_fill_dark="#5b3df5",
        button_primary_background_fill_hover_dark="#6d52ff",
    )
