"""A replay's report as figures: what memories know (Figure 3 a), what rules make of it (Tables 6, 7, 14)."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.report_style import Report, interval_whiskers, paper_points, report_layout
from visualize.theme import KEYS, LIGHT, MARKERS, ThemeName, plotly_text, themed_figure

#: Label, dash, and where the names stand: the upper line's at the left, as U may cover everything.
_MEASURED = {
    "own_states": ("rows of the text's own states", "solid", "bottom right"),
    "as_the_run_had_them": ("memories as the run had them", "dash", "top left"),
}
#: The bars of Table 7 by their names in the report.
_SUFFIX_BARS = {
    "fusion": "fusion alone (c = 1)",
    "fusion_and_suffix": "fusion and suffix copy",
    "gain": "difference",
}
_PAPER_MEAN = f"{paper_numbers.MARK}, {paper_numbers.MODEL}, mean"
#: Where the names of its four benchmarks stand at their lines' ends, apart from each other on a narrow page too.
_PAPER_SIDES = {"ChartQA": "bottom left", "OCRBench": "middle right"}


def coverage_recall_figure(report: Report, theme: ThemeName = "light") -> Figure:
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
                "x": [100.0 * figures["coverage"]["value"] for _, figures in points],
                "y": [100.0 * figures["recall_at_8"]["value"] for _, figures in points],
                "error_x": interval_whiskers([figures["coverage"] for _, figures in points], 100.0),
                "error_y": interval_whiskers([figures["recall_at_8"] for _, figures in points], 100.0),
                "text": [source for source, _ in points],
                "customdata": [KEYS[source] for source, _ in points],
                "textposition": side,
                "line": {"color": LIGHT["faint"], "dash": dash},
                "marker": {"color": colours, "symbol": [MARKERS[source] for source, _ in points], "size": 12},
                "hovertemplate": "%{customdata}: covers %{x:.1f} %, right in %{y:.1f} %<extra></extra>",
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
                "textposition": _PAPER_SIDES.get(benchmark, "bottom center"),
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
    layout = report_layout("conditional Recall@8, %", "query coverage, %", data)
    layout["xaxis"]["range"] = [0, 103]
    layout["yaxis"]["range"] = [40, 106]
    return themed_figure(data, layout, theme)


def matched_length_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Matched continuation length by policy at equal nodes (Table 6), the paper's mean of four benchmarks beside."""
    policies = {
        name: figures["matched_length"]
        for name, figures in report["policies"].items()
        if figures["matched_length"]["value"] is not None
    }
    paper = {name: fmean(values) for name, values in paper_numbers.MATCHED_LENGTH.items() if name in policies}
    data = _bars_and_paper(policies, paper, 1.0, " tokens", 3)
    return themed_figure(data, report_layout("matched length, tokens", "", data), theme)


def suffix_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Matched continuation length of fusion alone and with the suffix copy, and their difference (Table 7).

    U is seeded by the prompt, and both trees of a state have as many nodes. No data where there was no state.
    """
    suffix = report["prompt_seeded"]["suffix"]
    known = {name: bar for name, bar in _SUFFIX_BARS.items() if suffix[name]["value"] is not None}
    measured = {bar: suffix[name] for name, bar in known.items()}
    paper = {bar: fmean(paper_numbers.SUFFIX_MATCHED_LENGTH[name]) for name, bar in known.items()}
    data = _bars_and_paper(measured, paper, 1.0, " tokens", 3)
    return themed_figure(data, report_layout("matched length, tokens", "", data), theme)


def rule_recall_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """All-query Recall@8 of each fusion rule over fixed priors (c = 1), in percentage points (Table 14).

    U is seeded by the prompt. What uses fewer memories is no rule of that table, and is left out, as is the zero line
    itself. No data where there was no state.
    """
    rules = report["prompt_seeded"]["rules"]
    measured = {
        name: rules[name]["over_no_confidence"]
        for name in paper_numbers.RECALL_OVER_NO_CONFIDENCE
        if rules[name]["over_no_confidence"]["value"] is not None
    }
    paper = {name: fmean(paper_numbers.RECALL_OVER_NO_CONFIDENCE[name]) for name in measured}
    data = _bars_and_paper(measured, paper, 100.0, " points", 2)
    layout = report_layout("Recall@8 over c = 1, points", "", data)
    return themed_figure(data, layout, theme)


def _bars_and_paper(
    measured: dict[str, dict[str, float | None]],
    paper: dict[str, float],
    scale: float,
    unit: str,
    num_decimals: int,
) -> list[dict[str, Any]]:
    """A bar with its interval for each name, all times `scale`, and the paper's diamonds; nothing for no names."""
    if not measured:
        return []
    bars = {
        "type": "bar",
        "name": "measured here",
        "x": [plotly_text(name) for name in measured],
        "y": [scale * interval["value"] for interval in measured.values()],
        "error_y": interval_whiskers(list(measured.values()), scale),
        "marker": {"color": LIGHT["accent"]},
        "hovertemplate": f"%{{y:.{num_decimals}f}}{unit}<extra></extra>",
    }
    return [bars, *paper_points(_PAPER_MEAN, paper, unit)]
