"""A benchmark's speedups topic by topic, as a table whose colours tell where a method is faster or slower."""

from __future__ import annotations

import re
from math import log2
from textwrap import wrap
from typing import Any

from plotly.graph_objects import Figure

from visualize import paper_numbers
from visualize.report_style import Report, methods_by_speedup, report_layout
from visualize.theme import LIGHT, ThemeName, plotly_text, themed_figure

_KEY = (
    "S: violet faster than plain decoding,<br>"
    "orange slower; bold: the best on a topic.<br>"
    "Point at a cell for P10 to P90."
)
#: log2 S from which a cell is coloured in full, at the least: small differences stay pale.
_LEAST_REACH = 0.5
#: Heights of a row, of each further line of its name, and of all around the rows, px.
_ROW_HEIGHT, _LINE_HEIGHT, _FRAME_HEIGHT = 22, 14, 170
#: Letters in a line of a row's name, and where the page is narrow: longer ones leave the cells no room.
_NAME_LETTERS, _NARROW_LETTERS = 24, 13


def speedup_by_topic_figure(report: Report, theme: ThemeName = "light") -> Figure:
    """S as a table: a row a method, the highest overall S first, a column a topic, and the paper's RECAP below.

    A cell's colour is log2 S, plain decoding's 0 in the middle: an S of 2 is as strong as one of 1/2. The highest S of
    a topic is bold; P10 and P90 of the units' ratios are told on hovering. A method without an S is left out, and
    without any the figure has no data.
    """
    methods = methods_by_speedup(report)
    if not methods:
        return themed_figure([], report_layout("", "", []), theme)
    topics = list(dict.fromkeys(topic for method in methods.values() for topic in method["topics"]))
    names = [_broken(name, _NAME_LETTERS) for name in methods]
    narrow_names = [_broken(name, _NARROW_LETTERS) for name in methods]
    data = [_cells(names, topics, [method["topics"] for method in methods.values()])]
    rows, narrow_rows = list(names), list(narrow_names)
    model = paper_numbers.model_for(report["settings"]["model"])
    values = paper_numbers.speedup_by_topic("recap", model)
    paper = {topic: value for topic, value in values.items() if topic in topics}
    if paper:
        row = f"◆ RECAP, {paper_numbers.MARK}<br>{model}"
        # An empty row sets the paper's apart.
        rows += ["", row]
        narrow_rows += ["", f"◆ RECAP<br>{paper_numbers.MARK}<br>{model}"]
        data.append(_paper_row(row, f"RECAP ({paper_numbers.MARK}, {model})", paper))
    layout = _layout(topics, rows, _height(names, len(rows)))
    layout["meta"]["narrow"] = {"plot_height": _height(narrow_names, len(rows)), "row_names": narrow_rows}
    return themed_figure(data, layout, theme)


def _cells(names: list[str], topics: list[str], methods: list[dict[str, Any]]) -> dict[str, Any]:
    """The cells of the measured methods, row by row; empty where a method has no S."""
    speedups = [[method.get(topic, {}).get("speedup") for topic in topics] for method in methods]
    numbers = [["" if one is None else f"{one:.2f}" for one in row] for row in speedups]
    highest = [max(column, key=lambda number: float(number or 0)) for column in zip(*numbers, strict=True)]
    strengths = [[None if one is None else log2(one) for one in row] for row in speedups]
    reach = max(_LEAST_REACH, *(abs(one) for row in strengths for one in row if one is not None))

    def told(name: str, method: dict[str, Any], topic: str) -> str:
        one = method[topic]
        ratios = f"S {one['speedup']:.2f}×, P10 {one['p10']:.2f}×, P90 {one['p90']:.2f}×"
        return f"<b>{name}</b><br>{plotly_text(topic)}<br>{ratios}"

    return {
        "type": "heatmap",
        "x": [plotly_text(topic) for topic in topics],
        "y": names,
        "z": strengths,
        "zmin": -reach,
        "zmax": reach,
        "colorscale": [[0, LIGHT["U"]], [0.5, LIGHT["background"]], [1, LIGHT["accent"]]],
        # The numbers are written in ink on it, which needs a paler colour, in the dark too.
        "opacity": 0.45,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "text": [
            [f"<b>{one}</b>" if one and one == top else one for one, top in zip(row, highest, strict=True)]
            for row in numbers
        ],
        "texttemplate": "%{text}",
        "textfont": {"color": LIGHT["ink"], "size": 11},
        "hovertext": [
            ["" if one is None else told(name, method, topic) for one, topic in zip(row, topics, strict=True)]
            for name, method, row in zip(names, methods, speedups, strict=True)
        ],
        "hoverinfo": "text",
        "hoverongaps": False,
    }


def _paper_row(label: str, name: str, values: dict[str, float]) -> dict[str, Any]:
    """The paper's values by topic, on no colour."""
    return {
        "type": "scatter",
        "mode": "text",
        "name": name,
        "x": [plotly_text(topic) for topic in values],
        "y": [label] * len(values),
        "text": [f"{value:.2f}" for value in values.values()],
        "textfont": {"size": 11},
        "customdata": list(values.values()),
        "hovertemplate": f"%{{customdata:.2f}}×<extra>{name}</extra>",
    }


def _height(names: list[str], num_rows: int) -> int:
    """Of the figure, px: all rows are as high as the name with the most lines."""
    num_breaks = max(name.count("<br>") for name in names)
    return _FRAME_HEIGHT + num_rows * (_ROW_HEIGHT + _LINE_HEIGHT * num_breaks)


def _layout(topics: list[str], rows: list[str], height: int) -> dict[str, Any]:
    """The frame, with what a page needs to draw it in its own width in `meta`."""
    layout = report_layout("", "", [], height) | {"showlegend": False}
    layout["meta"]["row_names"] = rows
    # Names of topics and methods ask for their own room, the three lines of the key below theirs.
    layout["margin"] = {"l": 8, "r": 8, "t": 8, "b": 66}
    bare = {"showgrid": False, "zeroline": False, "automargin": True}
    layout["xaxis"] = bare | {
        "type": "category",
        "side": "top",
        "tickvals": [plotly_text(topic) for topic in topics],
        "ticktext": [_in_two_lines(topic) for topic in topics],
        "tickfont": {"size": 11},
        "autotickangles": [0, -90],
    }
    # The first row on top.
    layout["yaxis"] = bare | {"type": "category", "categoryarray": rows, "range": [len(rows) - 0.5, -0.5]}
    layout["yaxis"] |= {"tickvals": rows, "ticktext": rows, "ticklabelstandoff": 4}
    key = {
        "text": _KEY,
        "font": {"size": 12, "color": LIGHT["muted"]},
        "x": 0,
        "xanchor": "left",
        "xref": "container",
    }
    layout["title"] = key | {"y": 0, "yanchor": "bottom", "yref": "container", "pad": {"l": 8, "b": 40}}
    return layout


def _broken(name: str, num_letters: int) -> str:
    """A method's name in lines of at most so many letters, broken behind its signs where that is enough."""
    parts = re.sub(r"([-_.:@/])", r"\1 ", name)
    return "<br>".join(plotly_text(line.replace(" ", "")) for line in wrap(parts, num_letters))


def _in_two_lines(topic: str) -> str:
    """A topic's name broken at the space that leaves both lines shortest."""
    words = topic.split()
    breaks = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words))]
    lines = min(breaks, key=lambda both: max(map(len, both)), default=(topic,))
    return "<br>".join(map(plotly_text, lines))
