"""The page's own addresses: the player's files, a run drawn for it, a run's trace to save, and the model's state.

They stand beside gradio's, so that thirty readers of a recorded run never touch the queue of the model.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anyio
import anyio.to_thread
from gradio.route_utils import API_PREFIX
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from demo import texts
from demo.host import ModelHost
from demo.library import Lessons, RecordedRuns
from demo.runs import GZIP_LEVEL, KeptRun
from demo.session import SessionStore
from recap.errors import RecapError, TraceError
from visualize.assets import player_script, player_style, plotly_script

#: Addresses of gradio's own that this page has no use for: they would convert videos, poll, fetch, or write to the disk
#: for anybody, outside the queue and its limits.
CLOSED = (
    "process_recording",
    "dev/reload",
    "component_server",
    "proxy={rest:path}",
    "deep_link",
    "stream/{rest:path}",
)
#: Whole pages that are made at once, each for a second of a core; more wait, and hold no thread meanwhile.
_PAGES = anyio.CapacityLimiter(2)
STATIC = Path(__file__).parent / "static"
_SCRIPT, _STYLE, _JSON = "text/javascript", "text/css", "application/json"
#: The page's own files: how each is read, and its media type. No dot in the address: gradio's middleware would compress
#: what has an ending of text a second time.
FILES: dict[str, tuple[Callable[[], str], str]] = {
    "plotly": (plotly_script, _SCRIPT),
    "player": (player_script, _SCRIPT),
    "page": (lambda: (STATIC / "page.js").read_text(encoding="utf-8"), _SCRIPT),
    "player-style": (player_style, _STYLE),
    "page-style": (lambda: (STATIC / "page.css").read_text(encoding="utf-8"), _STYLE),
}


def page_head() -> str:
    """For the page's head: its styles, and a hint to fetch the scripts early."""
    tags = ['<link rel="icon" href="data:,">']
    for name, (_, media_type) in FILES.items():
        if media_type == _STYLE:
            tags.append(f'<link rel="stylesheet" href="{address(name)}">')
        else:
            tags.append(f'<link rel="preload" as="script" href="{address(name)}">')
    return "\n".join(tags)


def component_head() -> str:
    """The scripts, for every component that calls them: only so does gradio wait until they have run.

    Without plotly.js, which takes longer than all else: the page loads it when the run can already be seen.
    """
    return "".join(f'<script src="{address(name)}"></script>' for name in ("player", "page"))


def address(name: str) -> str:
    """With a digest, so that browsers may keep the file for good."""
    return f"recap/files/{name}?v={_file(name)[1]}"


def make_routes(
    recorded: RecordedRuns, lessons: Lessons, sessions: SessionStore, host: ModelHost
) -> list[Route]:
    """All addresses under /recap/, and those of gradio's that are closed."""

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return _not_found(texts.RUN_NOT_FOUND)
        data, digest = _file(name)
        is_current = request.query_params.get("v") == digest
        keep = "public, max-age=31536000, immutable" if is_current else "no-cache"
        return _gzipped(request, data, FILES[name][1], {"cache-control": keep})

    async def recorded_run(request: Request) -> Response:
        try:
            run = await anyio.to_thread.run_sync(recorded.get, request.path_params["name"])
        except TraceError as error:
            return _not_found(str(error))
        return await _run_response(request, run, request.path_params["name"])

    async def lesson(request: Request) -> Response:
        try:
            entry = await anyio.to_thread.run_sync(lessons.get, request.path_params["name"])
        except RecapError as error:
            return _not_found(str(error))
        return JSONResponse(entry)

    async def own_run(request: Request) -> Response:
        run = sessions.find_run(request.path_params["key"])
        return await _run_response(request, run, "recap-run") if run else _not_found(texts.RUN_NOT_FOUND)

    async def model_state(_: Request) -> Response:
        return JSONResponse(
            {"state": host.state, "sentence": host.status_sentence}, headers={"cache-control": "no-store"}
        )

    async def closed(_: Request) -> Response:
        return Response(status_code=404)

    return [
        *(Route(f"{API_PREFIX}/{path}", closed, methods=["GET", "HEAD", "POST"]) for path in CLOSED),
        Route("/recap/files/{name}", file),
        Route("/recap/recorded/{name}/{form}", recorded_run),
        Route("/recap/runs/{key}/{form}", own_run),
        Route("/recap/lessons/{name}", lesson),
        Route("/recap/model", model_state),
    ]


@cache
def _file(name: str) -> tuple[bytes, str]:
    text = FILES[name][0]().encode("utf-8")
    return gzip.compress(text, GZIP_LEVEL), hashlib.sha256(text).hexdigest()[:16]


async def _run_response(request: Request, run: KeptRun, name: str) -> Response:
    form = request.path_params["form"]
    headers = {"cache-control": "no-store"}
    if form == "payload":
        return _gzipped(request, run.payload, _JSON, headers)
    if form == "trace":
        headers["content-disposition"] = f'attachment; filename="{name}.json"'
        return _gzipped(request, run.trace, _JSON, headers)
    if form == "page":
        # As an attachment: what a trace holds is never opened on this page's own address.
        headers["content-disposition"] = f'attachment; filename="{name}.html"'
        page = await anyio.to_thread.run_sync(run.page, limiter=_PAGES)
        return _gzipped(request, page, "text/html", headers)
    return _not_found(texts.RUN_NOT_FOUND)


def _gzipped(request: Request, data: bytes, media_type: str, headers: dict[str, str]) -> Response:
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers = {**headers, "content-encoding": "gzip", "vary": "accept-encoding"}
    else:
        data = gzip.decompress(data)
    return Response(data, media_type=media_type, headers=headers)


def _not_found(sentence: str) -> Response:
    return JSONResponse({"sentence": sentence}, status_code=404)
