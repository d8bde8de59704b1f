"""A benchmark's report as figures: speedup, acceptance, latency, stages, and how U grew."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.report_style import (
    PLOT_HEIGHT,
    Report,
    method_line,
    methods_by_speedup,
    paper_points,
    report_layout,
)
from visualize.theme import LIGHT, ThemeName, plotly_text, themed_figure

_STAGES = (("draft", "U"), ("verify", "C"), ("commit", "G"), ("update", "suffix"))
#: Plain decoding's own speed.
_REFERENCE_LINE = {"color": LIGHT["faint"], "dash": "dot", "width": 1.5}
#: Height of one method's row and of the frame around all rows, px.
_ROW_HEIGHT, _FRAME_HEIGHT = 22, 140


def speedup_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Bars of S by method over the whole workload, highest first; the whisker spans P10 to P90 of the units' ratios.

    Plain decoding is the line at 1. A method without an S, none of whose units succeeded, is left out; without any
    bar the figure has no data.
    """
    overall = {name: method["overall"] for name, method in methods_by_speedup(report).items()}
    names = list(overall)
    if not names:
        return themed_figure([], report_layout("", "", []), theme)
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "measured here",
            "x": [overall[name]["speedup"] for name in names],
            "y": [plotly_text(name) for name in names],
            "error_x": _percentile_whiskers([overall[name] for name in names]),
            "marker": {"color": LIGHT["accent"]},
            "hovertext": [_told(name, overall[name]) for name in names],
            "hoverinfo": "text",
        }
    ]
    model = paper_numbers.model_for(report["settings"]["model"])
    paper = {name: both[0] for name in names if (both := paper_numbers.overall(name, model)) is not None}
    data += paper_points(f"{paper_numbers.MARK}, {model}", paper, "×", is_horizontal=True)
    line = {"name": "plain decoding, ar", "showlegend": True, "type": "line", "yref": "paper"}
    line |= {"x0": 1, "x1": 1, "y0": 0, "y1": 1, "line": _REFERENCE_LINE}
    plot_height = max(PLOT_HEIGHT, _FRAME_HEIGHT + _ROW_HEIGHT * len(names))
    layout = report_layout("", "S; whisker P10 to P90", [*data, line], plot_height)
    layout["shapes"] = [line]
    layout["xaxis"]["rangemode"] = "tozero"
    # The first name on top, and every row named.
    layout["yaxis"] |= {"type": "category", "autorange": "reversed", "dtick": 1, "automargin": True}
    layout["yaxis"]["ticklabelstandoff"] = 6
    return themed_figure(data, layout, theme)


def acceptance_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Bars of the acceptance length tau by method, the paper's beside."""
    names = [name for name, m in report["methods"].items() if m["overall"]["acceptance_length"] is not None]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "measured here",
            "x": [plotly_text(name) for name in names],
            "y": [report["methods"][name]["overall"]["acceptance_length"] for name in names],
            "marker": {"color": LIGHT["accent"]},
            "hovertemplate": "τ %{y:.2f}<extra></extra>",
        }
    ]
    model = paper_numbers.model_for(report["settings"]["model"])
    paper = {name: both[1] for name in names if (both := paper_numbers.overall(name, model)) is not None}
    data += paper_points(f"{paper_numbers.MARK}, {model}", paper)
    return themed_figure(data, report_layout("acceptance length τ", "", data), theme)


def latency_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Share of units answered within so many seconds, a line a method."""
    data = []
    for place, name in enumerate(report["methods"]):
        seconds = sorted(
            unit["seconds"]
            for unit in report["units"]
            if unit["method"] == name and unit["seconds"] is not None
        )
        if seconds:
            shares = [(index + 1) / len(seconds) for index in range(len(seconds))]
            line = method_line(place) | {"shape": "hv"}
            data.append(_line(name, seconds, shares, line, "%{y:.0%} within %{x:.3f} s"))
    layout = report_layout("share of units", "seconds a unit, prefill included", data)
    return themed_figure(data, layout, theme)


def stage_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Median milliseconds of one pass by stage, stacked, the paper's pass beside."""
    timed = {name: method["stage_ms"] for name, method in report["methods"].items() if method["stage_ms"]}
    timed[f"RECAP ({paper_numbers.MARK})"] = paper_numbers.STAGE_MS
    data = [
        {
            "type": "bar",
            "name": stage,
            "x": [plotly_text(name) for name in timed],
            "y": [stages[stage] for stages in timed.values()],
            "marker": {"color": LIGHT[role]},
            "hovertemplate": "%{y:.3f} ms " + stage + "<extra></extra>",
        }
        for stage, role in _STAGES
    ]
    layout = report_layout("milliseconds a pass, median", "", data) | {"barmode": "stack"}
    return themed_figure(data, layout, theme)


def growth_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Rows of U after every unit of the stream (Figure 5); no line for methods without U."""
    data = []
    for place, name in enumerate(report["methods"]):
        rows = [unit.get("memory_rows") for unit in report["units"] if unit["method"] == name]
        points = [
            (index, number) for index, number in zip(count(1), rows, strict=False) if number is not None
        ]
        if points:
            xs, ys = zip(*points, strict=True)
            data.append(_line(name, list(xs), list(ys), method_line(place), "%{y} rows after unit %{x}"))
    return themed_figure(data, report_layout("rows of U", "units of the stream", data), theme)


def _percentile_whiskers(figures: Sequence[dict[str, float]]) -> dict[str, Any]:
    """From P10 to P90 around S; one-sided where a skewed mean lies outside of them."""
    above = [max(0.0, one["p90"] - one["speedup"]) for one in figures]
    below = [max(0.0, one["speedup"] - one["p10"]) for one in figures]
    return {"type": "data", "array": above, "arrayminus": below, "color": LIGHT["ink"]}


def _told(name: str, overall: dict[str, Any]) -> str:
    """All of a method's headline figures, a line each."""
    same, tau = overall["identical_to_ar"], overall["acceptance_length"]
    lines = [
        f"<b>{plotly_text(name)}</b>",
        f"S {overall['speedup']:.2f}×, P10 {overall['p10']:.2f}×, P90 {overall['p90']:.2f}×",
        "τ not told" if tau is None else f"τ {tau:.2f}",
        "same text not compared" if same is None else f"same text in {same:.1%} of units",
        f"{overall['num_units'] - overall['num_failed']} of {overall['num_units']} units",
    ]
    return "<br>".join(lines)


def _line(name: str, xs: list[Any], ys: list[Any], line: dict[str, Any], hover: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plotly_text(name),
        "x": xs,
        "y": ys,
        "line": line,
        "hovertemplate": hover + "<extra>" + plotly_text(name) + "</extra>",
    }
