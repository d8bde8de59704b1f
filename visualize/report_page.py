"""A report as a page of plots: one HTML file, or what a player draws it from.

Reports are those of the benchmark, of the replay, and of counterfactual pictures.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from plotly.graph_objects import Figure

from recap.errors import TraceError
from recap.trace_io import MAX_TRACE_BYTES
from visualize.assets import player_script, plotly_script
from visualize.bench_figures import (
    acceptance_figure,
    growth_figure,
    latency_figure,
    speedup_figure,
    stage_figure,
)
from visualize.counterfactual_figures import (
    change_rate_figure,
    dependence_figure,
    relative_support_figure,
    swapped_rows_figure,
)
from visualize.page import script_json
from visualize.replay_figures import (
    coverage_recall_figure,
    matched_length_figure,
    rule_recall_figure,
    suffix_figure,
)
from visualize.report_style import Report
from visualize.theme import FONT, LIGHT, PALETTES
from visualize.topic_figure import speedup_by_topic_figure

_PICTURES_PAPER = "Diamonds are the paper's numbers, of another model."
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ margin: 24px auto; max-width: 920px; padding: 0 10px; }}
body {{ font-family: {font}; color: {ink}; background: {background}; }}
figure {{ margin: 24px 0; }} figcaption {{ font-weight: 600; }} p {{ color: {muted}; }}
/* A whisker stands out on any bar: it has an edge of the background's colour. */
path:is(.xerror, .yerror) {{ filter: drop-shadow(1px 1px {background}) drop-shadow(-1px -1px {background}); }}</style>
</head>
<body>
<h1>{title}</h1>
<p>{facts}</p>
{figures}
<script>{plotly}</script>
<script>{player}</script>
<script type="application/json" id="figures">{payload}</script>
<script>
const figures = JSON.parse(document.getElementById("figures").textContent);
const draw = () => figures.forEach((figure, index) =>
  RecapPlayer.drawReportFigure(
    document.getElementById("figure-" + index), figure.data, figure.layout, {{ displayModeBar: "hover" }}));
draw();
RecapPlayer.watchWidth(document.body, draw);
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
    is_report = isinstance(report, dict) and ("units" in report or report.get("kind") in list(_READERS))
    return report if is_report else None


def report_page(report: Report) -> str:
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
        player=player_script(),
        payload=script_json([json.loads(figure.to_json()) for figure in figures.values()]),
    )


def report_payload(report: Report) -> dict[str, Any]:
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


def _read(report: Report) -> tuple[str, str, dict[str, Figure]]:
    """Title, facts, and by caption the figures that have something to show.

    Raises:
        TraceError: the report lacks what its figures need.
    """
    try:
        title, facts, figures = _READERS.get(report.get("kind"), _benchmark)(report)
    except KeyError as error:
        raise TraceError(f"The report is not whole, it has no {error}; please make it again.") from error
    except (LookupError, ArithmeticError, TypeError, AttributeError, ValueError) as error:
        raise TraceError("The report is not whole; please make it again.") from error
    return title, facts, {caption: figure for caption, figure in figures.items() if figure.data}


def _benchmark(report: Report) -> tuple[str, str, dict[str, Figure]]:
    environment, settings = report["environment"], report["settings"]
    facts = (
        f"Model {settings['model']}, {environment['dtype']} on {environment['device']}, {settings['num_units']} units, "
        f"at most {settings['max_new_tokens']} new tokens. Diamonds are the paper's numbers, of another model on "
        "another machine."
    )
    figures = {
        "Speedup over the whole workload": speedup_figure(report),
        "Speedup by topic": speedup_by_topic_figure(report),
        "Acceptance length": acceptance_figure(report),
        "Latency": latency_figure(report),
        "Stages of a pass": stage_figure(report),
        "Growth of U over the stream": growth_figure(report),
    }
    return "Benchmark", facts, figures


def _replay(report: Report) -> tuple[str, str, dict[str, Figure]]:
    facts = (
        f"{report['num_states']} states of {report['num_traces']} recorded runs on {report['num_pictures']} pictures, "
        f"{', '.join(report['models'])}. Whiskers: 95 % intervals over pictures. Open marks and "
        "diamonds are the paper's numbers, the diamonds means of its four benchmarks."
    )
    figures = {
        "Coverage and recall by key length": coverage_recall_figure(report),
        "Matched continuation length at equal nodes": matched_length_figure(report),
        "What the suffix copy adds at equal nodes, U seeded by the prompt": suffix_figure(report),
        "Recall of each fusion rule against fixed priors, U seeded by the prompt": rule_recall_figure(report),
    }
    return "Replay", facts, figures


def _pictures_of_one(report: Report) -> tuple[str, str, dict[str, Figure]]:
    num_roots = sum(group["num_roots"] for group in report["by_accepted_length"].values())
    facts = (
        f"Model {report['model']}, asked “{report['question']}”: {num_roots} of {report['num_passes']} passes with a "
        f"root that a forced pass confirms. {_PICTURES_PAPER}"
    )
    return "Counterfactual pictures", facts, _picture_figures(report)


def _pictures_of_many(report: Report) -> tuple[str, str, dict[str, Figure]]:
    left_out = f" Questions left out: {len(report['left_out'])}." if report["left_out"] else ""
    facts = (
        f"Model {report['model']}, {report['num_questions']} questions about {report['num_pictures']} pictures: "
        f"{report['num_roots']} of {report['num_passes']} passes with a root that a forced pass confirms.{left_out} "
        f"Topics weigh the same. Whiskers: 95 % intervals over pictures. {_PICTURES_PAPER}"
    )
    return "Counterfactual pictures", facts, _picture_figures(report)


def _picture_figures(report: Report) -> dict[str, Figure]:
    return {
        "Roots that change with another picture, by accepted length": change_rate_figure(report),
        "Dependence on the picture, by accepted length": dependence_figure(report),
        "Longer or shorter keys, by what the picture supports": relative_support_figure(report),
        "Recall of rows of the right and of another picture": swapped_rows_figure(report),
    }


#: By the report's `kind`; a benchmark's has none.
_READERS = {
    "replay": _replay,
    "counterfactual": _pictures_of_one,
    "counterfactual-workload": _pictures_of_many,
}
