"""A counterfactual report as figures: what roots owe to the picture (Figure 1), and what rows do (Appendix C).

One question's report holds plain values, a pooled one `{value, low, high}`; either is drawn, the latter with whiskers.
"""

from __future__ import annotations

from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.report_style import Report, interval_whiskers, paper_points, report_layout
from visualize.theme import KEYS, LIGHT, ThemeName, plotly_text, themed_figure

_LENGTH_TITLE = "draft tokens that the pass accepted"
_PAPER = f"{paper_numbers.MARK}, {paper_numbers.MODEL}"
#: Whose rows, and in which colour.
_PICTURES = {
    "matching": ("rows of the right picture", "accent"),
    "swapped": ("rows of the other picture", "edge"),
}


def change_rate_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Share of roots whose choice is another one in front of another picture, in percent, by accepted length."""
    return _by_accepted_length(report, "change_rate", "roots that change, %", 100.0, "%", theme)


def dependence_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Mean fall of the chosen token's log-probability (the smaller under either picture), nats, by accepted length."""
    return _by_accepted_length(report, "dependence", "dependence on the picture, nats", 1.0, " nats", theme)


def relative_support_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """How many more tokens the candidates of G and C have accepted than those of U, by whom the picture supports.

    A point for each quintile of the states. No data where there were too few states for quintiles.
    """
    quintiles = report["by_relative_support"]
    if not quintiles:
        return themed_figure([], report_layout("", "", []), theme)
    shares = [_interval(quintile["contextual_share"]) for quintile in quintiles]
    gains = [_interval(quintile["contextual_gain"]) for quintile in quintiles]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "quintiles of states",
            "x": [100.0 * share["value"] for share in shares],
            "y": [gain["value"] for gain in gains],
            "error_x": interval_whiskers(shares, 100.0),
            "error_y": interval_whiskers(gains),
            "customdata": [quintile["num_roots"] for quintile in quintiles],
            "line": {"color": LIGHT["faint"], "dash": "dot"},
            "marker": {"color": LIGHT["accent"], "size": 12},
            "hovertemplate": "%{y:.2f} tokens at %{x:.0f} % (%{customdata} states)<extra></extra>",
        }
    ]
    layout = report_layout("tokens that G and C gain over U", "support for G and C, % of both", data)
    return themed_figure(data, layout, theme)


def swapped_rows_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """Recall@8, in percent, of rows computed in front of the right and of the other picture, by source.

    A source that covered no state is left out; without any the figure has no data.
    """
    covered = {name: rows for name, rows in report["row_pictures"].items() if rows["num_states"]}
    data = []
    for picture, (label, role) in _PICTURES.items() if covered else ():
        recalls = [_interval(rows[picture]) for rows in covered.values()]
        data.append(
            {
                "type": "bar",
                "name": label,
                "x": [plotly_text(KEYS.get(name, name)) for name in covered],
                "y": [100.0 * recall["value"] for recall in recalls],
                "error_y": interval_whiskers(recalls, 100.0),
                "customdata": [rows["num_states"] for rows in covered.values()],
                "marker": {"color": LIGHT[role]},
                "hovertemplate": f"%{{y:.1f}} % of %{{customdata}} states<extra>{label}</extra>",
            }
        )
    layout = report_layout("conditional Recall@8, %", "", data) | {"barmode": "group"}
    return themed_figure(data, layout, theme)


def _by_accepted_length(
    report: Report, name: str, title: str, scale: float, unit: str, theme: ThemeName
) -> Figure:
    groups = {length: group for length, group in report["by_accepted_length"].items() if group["num_roots"]}
    if not groups:
        return themed_figure([], report_layout("", "", []), theme)
    means = [_interval(group[name]) for group in groups.values()]
    paper = paper_numbers.ROOTS_BY_LENGTH[name]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "measured here",
            "x": list(groups),
            "y": [scale * mean["value"] for mean in means],
            "error_y": interval_whiskers(means, scale),
            "customdata": [group["num_roots"] for group in groups.values()],
            "marker": {"color": LIGHT["accent"]},
            "hovertemplate": f"%{{y:.2f}}{unit}, %{{customdata}} roots<extra></extra>",
        },
        *paper_points(_PAPER, {length: paper[length] for length in groups if length in paper}, unit),
    ]
    layout = report_layout(title, _LENGTH_TITLE, data)
    # Lengths are names of groups, in the report's order, whether or not all of them are numbers.
    layout["xaxis"] |= {"type": "category", "categoryarray": list(groups)}
    return themed_figure(data, layout, theme)


def _interval(figure: float | dict[str, float | None]) -> dict[str, float | None]:
    """A figure with its interval; a plain one has none."""
    return figure if isinstance(figure, dict) else {"value": figure, "low": None, "high": None}
