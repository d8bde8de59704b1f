"""A run as one HTML file that steps offline."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from recap.events import Trace
from visualize.assets import player_script, player_style, plotly_script
from visualize.lessons import Lesson, lesson_entry
from visualize.payload import build_payload

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ margin: 0; }}
{style}</style>
</head>
<body>
<div id="recap"></div>
<script>{plotly}</script>
<script>{player}</script>
<script type="application/json" id="recap-payload">{payload}</script>
<script>
const payload = JSON.parse(document.getElementById("recap-payload").textContent);
RecapPlayer.mount(document.getElementById("recap"), payload, {options});
</script>
</body>
</html>
"""


def standalone_page(
    trace: Trace, run: str | None = None, step: int | None = None, lesson: Lesson | None = None
) -> str:
    """One self-contained HTML page of a trace: figures, player and plotly.js inside, nothing fetched.

    Args:
        run: name of the run to open; by default the first that is not plain decoding.
        step: pass to open, from 1.
        lesson: a lesson on this trace to begin with.
    """
    options: dict[str, Any] = {"link": True}
    if run is not None:
        options["run"] = run
    if step is not None:
        options["step"] = step
    if lesson is not None:
        options["lesson"] = lesson_entry(lesson)
    title = (lesson.title if lesson else "") or trace.title or trace.request.question
    return page_of_payload(script_json(build_payload(trace)), title, options)


def page_of_payload(payload: str, title: str, options: dict[str, Any] | None = None) -> str:
    """The page of a payload that is JSON text already; `options` are the player's."""
    return _PAGE.format(
        title=escape(title or "RECAP"),
        style=player_style(),
        plotly=plotly_script(),
        player=player_script(),
        payload=_script_safe(payload),
        options=script_json(options or {"link": True}),
    )


def script_json(value: Any) -> str:
    """JSON that is safe inside a script tag: no text in it can end the tag or start a comment."""
    return _script_safe(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _script_safe(text: str) -> str:
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
