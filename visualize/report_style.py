"""What the figures of reports share: their frame, the looks of many methods, whiskers, and the paper's diamonds."""

from __future__ import annotations

from math import ceil
from typing import Any

from visualize.theme import LIGHT, base_layout, plotly_text

Report = dict[str, Any]

#: A diamond that stands out on any bar.
PAPER_MARKER: dict[str, Any] = {
    "color": LIGHT["ink"],
    "symbol": "diamond",
    "size": 11,
    "line": {"color": LIGHT["background"], "width": 1.5},
}
_ROLES = ("draft", "accent", "G", "C", "U", "suffix", "target")
_DASHES = (
    "solid",
    "dash",
    "dot",
    "dashdot",
    "longdash",
    "longdashdot",
    "2px,8px",
    "16px,4px,2px,4px,2px,4px",
)
#: Height of a plot without its legend, px.
PLOT_HEIGHT = 360


def methods_by_speedup(report: Report) -> dict[str, dict[str, Any]]:
    """A benchmark's methods by name, the highest overall S first.

    Plain decoding is left out, and who has no S because none of its units succeeded.
    """
    methods = {
        name: method
        for name, method in report["methods"].items()
        if name != "ar" and method["overall"]["speedup"] is not None
    }
    return dict(sorted(methods.items(), key=lambda item: item[1]["overall"]["speedup"], reverse=True))


def method_line(place: int) -> dict[str, Any]:
    """A colour by the method's place, then a dash: no two of the first 56 look the same."""
    return {
        "color": LIGHT[_ROLES[place % len(_ROLES)]],
        "dash": _DASHES[place // len(_ROLES) % len(_DASHES)],
    }


def report_layout(
    y_title: str, x_title: str, entries: list[dict[str, Any]], plot_height: int = PLOT_HEIGHT
) -> dict[str, Any]:
    """The frame of a figure: 900 px wide, and as high as the legend above the plot needs for all its entries.

    Args:
        y_title, x_title: what the axes count, with units; empty for an axis of names.
        entries: the traces and shapes that the legend names.
        plot_height: px, without the legend; also in the layout's `meta`, for pages that draw in another width.
    """
    names = [entry["name"] for entry in entries]
    # Every column of a legend is as wide as its longest name.
    num_columns = max(1, 810 // (50 + 7 * max(map(len, names), default=1)))
    legend_height = 20 * ceil(len(names) / num_columns)
    layout = base_layout() | {"showlegend": True, "width": 900, "height": plot_height + legend_height}
    layout["meta"] = {"plot_height": plot_height}
    layout["margin"] = {"l": 64, "r": 24, "t": 56, "b": 72 if x_title else 40}
    lines = {"gridcolor": LIGHT["grid"], "zerolinecolor": LIGHT["edge"], "zerolinewidth": 1}
    # Names too long for their place lean to the left, where the other axis leaves room.
    layout["xaxis"] = lines | {
        "title": {"text": x_title},
        "automargin": True,
        "autotickangles": [0, -40, -90],
    }
    layout["yaxis"] = lines | {"title": {"text": y_title}, "rangemode": "tozero"}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "maxheight": legend_height + 20}
    return layout


def interval_whiskers(intervals: list[dict[str, float | None]], scale: float = 1.0) -> dict[str, Any]:
    """Whiskers of `{value, low, high}` times `scale`; none where there was one picture only."""
    if any(interval["low"] is None for interval in intervals):
        return {"visible": False}
    return {
        "type": "data",
        "array": [scale * (interval["high"] - interval["value"]) for interval in intervals],
        "arrayminus": [scale * (interval["value"] - interval["low"]) for interval in intervals],
        "color": LIGHT["ink"],
    }


def paper_points(
    name: str, values: dict[str, float], unit: str = "", is_horizontal: bool = False
) -> list[dict[str, Any]]:
    """The paper's values by the bar that they stand on, as one trace of diamonds; no trace for no values."""
    if not values:
        return []
    bars, numbers = [plotly_text(key) for key in values], list(values.values())
    number = "%{x:.2f}" if is_horizontal else "%{y:.2f}"
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": numbers if is_horizontal else bars,
            "y": bars if is_horizontal else numbers,
            "marker": PAPER_MARKER,
            "hovertemplate": f"{number}{unit}<extra>{name}</extra>",
        }
    ]
