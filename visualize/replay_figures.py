"""A replay's report as figures: coverage against recall (Figure 3 a), and how far each policy's tree would reach."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.bench_figures import PAPER_MARKER
from visualize.theme import KEYS, LIGHT, MARKERS, ThemeName, base_layout, themed_figure

#: Label, dash, and where the names stand: the upper line's at the left, as U may cover everything.
_MEASURED = {
    "own_states": ("rows of the text's own states", "solid", "bottom right"),
    "as_the_run_had_them": ("memories as the run had them", "dash", "top left"),
}


def coverage_recall_figure(report: dict[str, Any], theme: ThemeName = "light") -> Figure:
    """Coverage of U, C and G against their Recall@8 where covered: finer keys know less often, and better.

    Two measured lines with 95 % intervals, and the paper's four benchmarks, thin and marked as the paper's.
    """
    data: list[dict[str, Any]] = []
    for kind, (label, dash, side) in _MEASURED.items():
        points = [
            (source, figures)
            for source, figures in report["memories"][kind].items()
            if figures["recall_at_8"]["value"] is not None
        ]
        colours = [LIGHT[source] for source, _ in points]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": label,
                "x": [100 * figures["coverage"]["value"] for _, figures in points],
                "y": [100 * figures["recall_at_8"]["value"] for _, figures in points],
                "error_x": _interval([figures["coverage"] for _, figures in points], 100),
                "error_y": _interval([figures["recall_at_8"] for _, figures in points], 100),
                "text": [KEYS[source] for source, _ in points],
                "textposition": side,
                "line": {"color": LIGHT["faint"], "dash": dash},
                "marker": {"color": colours, "symbol": [MARKERS[source] for source, _ in points], "size": 12},
                "hovertemplate": "%{text}: covers %{x:.1f} %, right in %{y:.1f} %<extra></extra>",
            }
        )
    for benchmark, points in paper_numbers.COVERAGE_RECALL.items():
        name = f"{benchmark} ({paper_numbers.MARK}, {paper_numbers.MODEL})"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": name,
                "text": [benchmark, "", ""],
                "textposition": "bottom center",
                "textfont": {"color": LIGHT["faint"]},
                "x": [coverage for coverage, _ in points],
                "y": [recall for _, recall in points],
                "line": {"color": LIGHT["faint"], "width": 1, "dash": "dot"},
                "marker": {
                    "color": LIGHT["faint"],
                    "symbol": [f"{MARKERS[s]}-open" for s in ("U", "C", "G")],
                    "size": 8,
                },
                "hovertemplate": "covers %{x:.1f} %, right in %{y:.1f} %<extra>" + name + "</extra>",
            }
        )
    layout = _layout("conditional Recall@8, %")
    layout["xaxis"] = {"title": {"text": "query coverage, %"}, "gridcolor": LIGHT["grid"], "range": [0, 103]}
    layout["yaxis"]["range"] = [40, 106]
    return themed_figure(data, layout, theme)


def matched_length_figure(report: dict[str, Any], theme: ThemeName = "light") -> Figure:
    """Matched continuation length by policy at equal nodes (Table 6), the paper's mean of four benchmarks beside."""
    policies = {
        name: figures["matched_length"]
        for name, figures in report["policies"].items()
        if figures["matched_length"]["value"] is not None
    }
    paper = {name: fmean(values) for name, values in paper_numbers.MATCHED_LENGTH.items() if name in policies}
    data = [
        {
            "type": "bar",
            "name": "measured here",
            "x": list(policies),
            "y": [interval["value"] for interval in policies.values()],
            "error_y": _interval(list(policies.values())),
            "marker": {"color": LIGHT["accent"]},
            "hovertemplate": "%{y:.3f} tokens<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{paper_numbers.MARK}, {paper_numbers.MODEL}, mean of four benchmarks",
            "x": list(paper),
            "y": list(paper.values()),
            "marker": PAPER_MARKER,
            "hovertemplate": "%{y:.3f} tokens<extra></extra>",
        },
    ]
    return themed_figure(data, _layout("matched continuation length, tokens"), theme)


def _interval(intervals: list[dict[str, float | None]], scale: float = 1) -> dict[str, Any]:
    """Whiskers of a 95 % interval times `scale`; none where there was one picture only."""
    if any(interval["low"] is None for interval in intervals):
        return {"visible": False}
    return {
        "type": "data",
        "array": [scale * (interval["high"] - interval["value"]) for interval in intervals],
        "arrayminus": [scale * (interval["value"] - interval["low"]) for interval in intervals],
        "color": LIGHT["faint"],
    }


def _layout(y_title: str) -> dict[str, Any]:
    layout = base_layout() | {"showlegend": True, "width": 900, "height": 460}
    layout["margin"] = {"l": 64, "r": 24, "t": 96, "b": 72}
    layout["yaxis"] = {"title": {"text": y_title}, "gridcolor": LIGHT["grid"]}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return layout
