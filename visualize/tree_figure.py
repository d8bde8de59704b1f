"""The candidate tree of one pass as a plotly figure.

Source is colour and marker, q is size, the accepted path is thick and filled, rejected nodes are hollow, suffix edges
are dashed, and the token that the target chose itself is a diamond. Each trace's `meta` says which nodes its points
draw, so that a player can show the tree growing without building a figure of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

from plotly.graph_objects import Figure

from recap.events import Iteration, Run, Trace
from visualize.layout import EDGE_POINTS, edge_points
from visualize.origins import proposers
from visualize.places import node_places, run_bounds
from visualize.theme import (
    KEYS,
    LABELS,
    LIGHT,
    MARKERS,
    PALETTES,
    PROPOSERS,
    ThemeName,
    base_layout,
    plotly_text,
    themed_figure,
)
from visualize.token_forms import TokenForms

#: Longest token form on a node, characters; the whole form is in the hover text, the panel and the table.
MAX_LABEL = 12
#: The node number of the target-selected token, which is no node of the verified tree.
SELECTED = -2


def tree_figure(trace: Trace, run: Run, iteration: Iteration, theme: ThemeName = "light") -> Figure:
    """The tree of one recorded pass, with a legend.

    Raises:
        ValueError: the pass was not recorded node by node.
    """
    data = tree_data(TokenForms(trace), run, iteration)
    layout = tree_layout([run_bounds([iteration])]) | {"showlegend": True, "width": 1200, "height": 640}
    layout["legend"] = {"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0.5, "xanchor": "center"}
    layout["margin"] = {"l": 24, "r": 24, "t": 40, "b": 56}
    keys = [
        {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "name": KEYS[source],
         "marker": {"symbol": MARKERS[source], "color": LIGHT[source], "size": 11}, "showlegend": True}
        for source in PROPOSERS
    ]  # fmt: skip
    # Text stands on its edge: a halo keeps it legible, as the player's style sheet does.
    halo = PALETTES[theme]["background"]
    shadow = ", ".join(f"{x}px {y}px 1px {halo}" for x in (-1.5, 0, 1.5) for y in (-1.5, 0, 1.5))
    for item in data:
        if "textfont" in item:
            item["textfont"] = item["textfont"] | {"shadow": shadow}
    return themed_figure(data + keys, layout, theme)


def tree_data(forms: TokenForms, run: Run, iteration: Iteration) -> list[dict[str, Any]]:
    """The figure's traces as plain JSON values in the light palette; the same pass always gives the same list.

    Raises:
        ValueError: the pass was not recorded node by node.
    """
    if iteration.detail is None:
        raise ValueError(f"the pass must be recorded node by node; got detail=None (pass {iteration.index})")
    nodes, sources = iteration.detail.nodes, proposers(run, iteration)
    places = node_places(iteration)
    accepted = set(iteration.accepted)
    rejected = [i for i, node in enumerate(nodes) if i and i not in accepted]
    fused = [i for i in rejected if nodes[i].origin == "fusion"]
    copied = [i for i in rejected if nodes[i].origin == "suffix"]

    def edges(name: str, children: Iterable[int], line: dict[str, Any]) -> dict[str, Any]:
        xs: list[float | None] = []
        ys: list[float | None] = []
        children = list(children)
        for child in children:
            edge_xs, edge_ys = edge_points(places[nodes[child].parent], places[child])
            xs += [*edge_xs, None]
            ys += [*edge_ys, None]
        return _lines(name, xs, ys, line, children)

    data = [
        edges("edges", fused, {"color": LIGHT["edge"], "width": 1.2}),
        edges("suffix edges", copied, {"color": LIGHT["suffix"], "width": 1.4, "dash": "dash"}),
        edges("accepted path", iteration.accepted, {"color": LIGHT["accepted"], "width": 4}),
    ]
    if iteration.target_selected_id is not None:
        last = iteration.accepted[-1] if iteration.accepted else 0
        xs, ys = edge_points(places[last], places[-1])
        line = {"color": LIGHT["target"], "width": 1.6, "dash": "dot"}
        data.append(_lines("target edge", [*xs, None], [*ys, None], line, [SELECTED]))
    labels = [forms.form(node.token_id) for node in nodes]
    is_kept = [i == 0 or i in accepted for i in range(len(nodes))]
    data.append(
        {
            "type": "scatter",
            "name": "nodes",
            "mode": "markers+text",
            "x": [place[0] for place in places[: len(nodes)]],
            "y": [place[1] for place in places[: len(nodes)]],
            "text": [_label(label, index == 0) for index, label in enumerate(labels)],
            "textposition": "middle right",
            "textfont": {"size": 11, "color": [LIGHT["ink"] if kept else LIGHT["muted"] for kept in is_kept]},
            "customdata": list(range(len(nodes))),
            "hovertext": [_hover(labels[i], nodes[i], sources[i]) for i in range(len(nodes))],
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": {
                "symbol": [MARKERS[source] for source in sources],
                "size": [round(6 + 9 * sqrt(node.q), 2) if node.q is not None else 9 for node in nodes],
                "color": [
                    LIGHT[s] if kept else LIGHT["background"]
                    for s, kept in zip(sources, is_kept, strict=True)
                ],
                "line": {"color": [LIGHT[source] for source in sources], "width": 1.8},
                "opacity": 1,
            },
            "showlegend": False,
            "meta": {"nodes": list(range(len(nodes))), "stride": 1},
        }
    )
    if iteration.target_selected_id is not None:
        form = forms.form(iteration.target_selected_id)
        data.append(
            {
                "type": "scatter",
                "name": "target-selected token",
                "mode": "markers+text",
                "x": [places[-1][0]],
                "y": [places[-1][1]],
                "text": [_label(form, True)],
                "textposition": "middle right",
                "textfont": {"size": 12, "color": [LIGHT["ink"]]},
                "customdata": [SELECTED],
                "hovertext": [f"<b>{plotly_text(form)}</b><br>the target's own choice, the next root"],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "marker": {"symbol": ["diamond"], "size": [13], "color": [LIGHT["target"]],
                           "line": {"color": [LIGHT["target"]], "width": 1.8}, "opacity": 1},
                "showlegend": False,
                "meta": {"nodes": [SELECTED], "stride": 1},
            }
        )  # fmt: skip
    return data


def tree_layout(bounds: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """The frame that all trees of a run are drawn in, light palette."""
    pairs = list(bounds)
    columns, rows = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    layout = base_layout()
    layout["xaxis"] = {
        "range": [-0.35, columns + 0.85],
        "tickvals": list(range(columns + 1)),
        "ticktext": ["root", *(f"{depth}" for depth in range(1, columns + 1))],
        "side": "top",
        "showgrid": True,
        "gridcolor": LIGHT["grid"],
        "zeroline": False,
        "tickfont": {"size": 10, "color": LIGHT["faint"]},
    }
    layout["yaxis"] = {"range": [rows + 0.8, -1.2], "visible": False, "showgrid": False, "zeroline": False}
    layout["dragmode"] = "zoom"
    layout["hovermode"] = "closest"
    return layout


def _lines(
    name: str, xs: list[float | None], ys: list[float | None], line: dict[str, Any], children: list[int]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": line,
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"nodes": children, "stride": EDGE_POINTS + 1},
    }


def _label(form: str, is_diamond: bool) -> str:
    """The text beside a node, its first letter clear of the marker."""
    gap = "\u00a0\u00a0" if is_diamond else "\u00a0"
    return gap + plotly_text(form if len(form) <= MAX_LABEL else form[: MAX_LABEL - 1] + "\u2026")


def _hover(label: str, node: Any, source: str) -> str:
    head = f"<b>{plotly_text(label)}</b>"
    if node.origin == "root":
        return f"{head}<br>root"
    if node.q is None:
        return f"{head}<br>suffix copy, depth {node.depth}"
    return f"{head}<br>from {source} ({LABELS[source]})<br>q {node.q:.4f}, path score {node.score:.5f}"
