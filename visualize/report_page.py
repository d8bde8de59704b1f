"""A report of the benchmark or of the replay as one HTML file that needs no network."""

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
from visualize.theme import FONT, LIGHT

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
        if path.stat().st_size > MAX_TRACE_BYTES:
            return None
        report = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_report = isinstance(report, dict) and (report.get("kind") == "replay" or "units" in report)
    return report if is_report else None


def report_page(report: dict[str, Any]) -> str:
    """The page of a report.

    Raises:
        TraceError: the report lacks what its figures need.
    """
    try:
        title, facts, figures = _replay(report) if report.get("kind") == "replay" else _benchmark(report)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise TraceError(
            f"The report is not whole ({type(error).__name__}: {error}); make it again."
        ) from error
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
