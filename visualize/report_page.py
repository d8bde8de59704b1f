"""A report of the benchmark or of the replay as a page of plots: one HTML file, or what a player draws it from."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from plotly.graph_objects import Figure

from recap.errors import TraceError
from recap.trace_io import MAX_TRACE_BYTES
from visualize.assets import plotly_script
from visualize.bench_figures import (
    acceptance_figure,
    growth_figure,
    latency_figure,
    speedup_by_topic_figure,
    stage_figure,
)
from visualize.page import script_json
from visualize.replay_figures import coverage_recall_figure, matched_length_figure
from visualize.theme import FONT, LIGHT, PALETTES

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ margin: 24px auto; max-width: 920px; font-family: {font}; color: {ink}; background: {background}; }}
figure {{ margin: 24px 0; }} figcaption {{ font-weight: 600; }} p {{ color: {muted}; }}</style>
</head>
<body>
<h1>{title}</h1>
<p>{facts}</p>
{figures}
<script>{plotly}</script>
<script type="application/json" id="figures">{payload}</script>
<script>
JSON.parse(document.getElementById("figures").textContent).forEach((figure, index) =>
  Plotly.newPlot("figure-" + index, figure.data, figure.layout, {{ responsive: true, displaylogo: false }}));
</script>
</body>
</html>
"""


def read_report(path: Path) -> dict[str, Any] | None:
    """A report from its file; None for a file that is something else, a trace perhaps."""
    try:
        return parse_report(path.read_bytes()) if path.stat().st_size <= MAX_TRACE_BYTES else None
    except OSError:
        return None


def parse_report(data: bytes) -> dict[str, Any] | None:
    """A report from a file's bytes; None for anything else."""
    try:
        report = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    is_report = isinstance(report, dict) and (report.get("kind") == "replay" or "units" in report)
    return report if is_report else None


def report_page(report: dict[str, Any]) -> str:
    """The page of a report.

    Raises:
        TraceError: the report lacks what its figures need.
    """
    title, facts, figures = _read(report)
    places = "\n".join(
        f'<figure><figcaption>{escape(caption)}</figcaption><div id="figure-{index}"></div></figure>'
        for index, caption in enumerate(figures)
    )
    return _PAGE.format(
        title=escape(title),
        facts=escape(facts),
        figures=places,
        font=FONT,
        ink=LIGHT["ink"],
        background=LIGHT["background"],
        muted=LIGHT["muted"],
        plotly=plotly_script(),
        payload=script_json([json.loads(figure.to_json()) for figure in figures.values()]),
    )


def report_payload(report: dict[str, Any]) -> dict[str, Any]:
    """The same page for a player, ready for `json.dumps`: `kind`, `title`, `facts`, `figures`, `palettes`.

    A figure has a `caption`, and `data` and `layout` in the light palette's colours, on no background of its own.

    Raises:
        TraceError: the report lacks what its figures need.
    """
    title, facts, figures = _read(report)
    drawn = [{"caption": caption, **json.loads(figure.to_json())} for caption, figure in figures.items()]
    for figure in drawn:
        figure["layout"]["paper_bgcolor"] = "rgba(0,0,0,0)"
    return {"kind": "report", "title": title, "facts": facts, "figures": drawn, "palettes": PALETTES}


def _read(report: dict[str, Any]) -> tuple[str, str, dict[str, Figure]]:
    try:
        return _replay(report) if report.get("kind") == "replay" else _benchmark(report)
    except KeyError as error:
        raise TraceError(f"The report is not whole, it has no {error}; please make it again.") from error
    except (LookupError, ArithmeticError, TypeError, AttributeError, ValueError) as error:
        raise TraceError("The report is not whole; please make it again.") from error


def _benchmark(report: dict[str, Any]) -> tuple[str, str, dict[str, Figure]]:
    environment, settings = report["environment"], report["settings"]
    facts = (
        f"Model {settings['model']}, {environment['dtype']} on {environment['device']}, {settings['num_units']} units, "
        f"at most {settings['max_new_tokens']} new tokens. Diamonds are the paper's numbers, of another model on "
        "another machine."
    )
    figures = {
        "Speedup by topic": speedup_by_topic_figure(report),
        "Acceptance length": acceptance_figure(report),
        "Latency": latency_figure(report),
        "Stages of a pass": stage_figure(report),
    }
    growth = growth_figure(report)
    return "Benchmark", facts, figures | ({"Growth of U over the stream": growth} if growth.data else {})


def _replay(report: dict[str, Any]) -> tuple[str, str, dict[str, Figure]]:
    facts = (
        f"{report['num_states']} states of {report['num_traces']} recorded runs on {report['num_pictures']} pictures, "
        f"{', '.join(report['models'])}. Whiskers: 95 % intervals over pictures. Open marks and diamonds: the paper's."
    )
    figures = {
        "Coverage and recall by key length": coverage_recall_figure(report),
        "Matched continuation length at equal nodes": matched_length_figure(report),
    }
    return "Replay", facts, figures
