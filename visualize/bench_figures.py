"""A benchmark's report as figures: speedup by topic, acceptance, latency, stages, and how U grew."""

from __future__ import annotations

from itertools import count
from math import ceil
from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.theme import LIGHT, ThemeName, base_layout, plotly_text, themed_figure

Report = dict[str, Any]

#: A diamond that stands out on any bar.
PAPER_MARKER: dict[str, Any] = {
    "color": LIGHT["ink"],
    "symbol": "diamond",
    "size": 11,
    "line": {"color": LIGHT["background"], "width": 1.5},
}
_ROLES = ("draft", "accent", "G", "C", "U", "suffix", "target")
_PATTERNS = ("", "/", ".", "x")
_STAGES = (("draft", "U"), ("verify", "C"), ("commit", "G"), ("update", "suffix"))


def speedup_by_topic_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Bars of S by topic for every method but plain decoding; the whisker spans P10 to P90 of the units' ratios."""
    data = []
    for place, (name, method) in enumerate(report["methods"].items()):
        topics = {
            topic: figures for topic, figures in method["topics"].items() if figures["speedup"] is not None
        }
        if name == "ar" or not topics:
            continue
        means = [figures["speedup"] for figures in topics.values()]
        # The mean of a skewed topic may lie outside its own P10 to P90; the whisker then has one side.
        above = [max(0.0, figures["p90"] - figures["speedup"]) for figures in topics.values()]
        below = [max(0.0, figures["speedup"] - figures["p10"]) for figures in topics.values()]
        data.append(
            {
                "type": "bar",
                "name": plotly_text(name),
                "x": [plotly_text(topic) for topic in topics],
                "y": means,
                "error_y": {"type": "data", "array": above, "arrayminus": below, "color": LIGHT["faint"]},
                "marker": _marker(place),
                "hovertemplate": "%{y:.2f}×<extra>" + plotly_text(name) + "</extra>",
            }
        )
    known = {topic for method in report["methods"].values() for topic in method["topics"]}
    model = paper_numbers.model_for(report["settings"]["model"])
    values = paper_numbers.speedup_by_topic("recap", model)
    paper = {topic: value for topic, value in values.items() if topic in known}
    data += _paper_points(f"RECAP ({paper_numbers.MARK}, {model})", paper)
    layout = _layout("speedup S; whisker P10 to P90", "", data) | {"barmode": "group"}
    layout["shapes"] = [_one_line()]
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
    data += _paper_points(f"{paper_numbers.MARK}, {model}", paper)
    return themed_figure(data, _layout("acceptance length τ", "", data), theme)


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
            line = {"color": _marker(place)["color"], "shape": "hv", "dash": _dash(place)}
            data.append(_line(name, seconds, shares, line, "%{y:.0%} within %{x:.3f} s"))
    layout = _layout("share of units", "seconds a unit, prefill included", data)
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
    layout = _layout("milliseconds a pass, median", "", data) | {"barmode": "stack"}
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
            line = {"color": _marker(place)["color"], "dash": _dash(place)}
            data.append(_line(name, list(xs), list(ys), line, "%{y} rows after unit %{x}"))
    return themed_figure(data, _layout("rows of U", "units of the stream", data), theme)


def _layout(y_title: str, x_title: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    """The frame of a figure: 900 px wide, and as high as the legend above the plot needs for all its entries."""
    names = [trace["name"] for trace in data]
    # Every column of a legend is as wide as its longest name.
    num_columns = max(1, 810 // (50 + 7 * max(map(len, names), default=1)))
    legend_height = 20 * ceil(len(names) / num_columns)
    layout = base_layout() | {"showlegend": True, "width": 900, "height": 360 + legend_height}
    layout["margin"] = {"l": 64, "r": 24, "t": 56, "b": 72 if x_title else 40}
    lines = {"gridcolor": LIGHT["grid"], "zerolinecolor": LIGHT["edge"], "zerolinewidth": 1}
    layout["xaxis"] = lines | {"title": {"text": x_title}, "automargin": True}
    layout["yaxis"] = lines | {"title": {"text": y_title}, "rangemode": "tozero"}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "maxheight": legend_height + 20}
    return layout


def _marker(place: int) -> dict[str, Any]:
    """A colour by the method's place, then a pattern: no two of the first 28 look the same."""
    pattern = _PATTERNS[place // len(_ROLES) % len(_PATTERNS)]
    return {"color": LIGHT[_ROLES[place % len(_ROLES)]], "pattern": {"shape": pattern}}


def _dash(place: int) -> str:
    return ("solid", "dash", "dot", "dashdot")[place // len(_ROLES) % 4]


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


def _paper_points(name: str, values: dict[str, float]) -> list[dict[str, Any]]:
    if not values:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [plotly_text(key) for key in values],
            "y": list(values.values()),
            "marker": PAPER_MARKER,
            "hovertemplate": "%{y:.2f}<extra>" + name + "</extra>",
        }
    ]


def _one_line() -> dict[str, Any]:
    """Plain decoding's own speed."""
    line = {"color": LIGHT["faint"], "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}
