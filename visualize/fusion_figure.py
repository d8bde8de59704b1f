"""What the memories said at one node: the rows found, how they were weighted, and the mixture that was kept."""

from __future__ import annotations

from typing import Any

from plotly.graph_objects import Figure

from recap.events import Iteration, Run, Trace
from visualize.origins import contributions
from visualize.theme import KEYS, LIGHT, ThemeName, base_layout, plotly_text, themed_figure
from visualize.token_forms import TokenForms


def kept_shares(run: Run, iteration: Iteration, index: int) -> tuple[tuple[float, ...], ...]:
    """How much of each kept token's q came from each retrieved row: [num_kept, num_retrieved], a line sums to its q.

    Eqs. 5-6: w_j P_j(token), divided by the mass that was kept.
    """
    assert iteration.detail is not None, f"pass {iteration.index} was not recorded"
    node = iteration.detail.nodes[index]
    masses = [contributions(run, node, token_id) for token_id in node.kept_ids]
    shares = []
    for q, mass in zip(node.kept_probabilities, masses, strict=True):
        total = sum(mass)
        # The recorded q is the truth; the masses only divide it.
        shares.append(tuple(q * part / total for part in mass) if total > 0 else mass)
    return tuple(shares)


def fusion_figure(
    trace: Trace, run: Run, iteration: Iteration, index: int = 0, theme: ThemeName = "light"
) -> Figure:
    """Left: prior, confidence and weight of each row found at the node. Right: the kept tokens, q split by row.

    Raises:
        ValueError: the pass was not recorded, or has no such node.
    """
    if iteration.detail is None or not 0 <= index < len(iteration.detail.nodes):
        raise ValueError(f"index must be a recorded node; got index={index} (pass {iteration.index})")
    node, forms = iteration.detail.nodes[index], TokenForms(trace)
    data: list[dict[str, Any]] = []
    rows = [f"{row.source} {plotly_text(forms.forms(row.key_ids))}" for row in node.retrieved]
    measures = (("prior", LIGHT["edge"]), ("confidence", LIGHT["faint"]), ("weight", None))
    for name, colour in measures:
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": rows,
                "x": [getattr(row, name) for row in node.retrieved],
                "marker": {"color": [colour or LIGHT[row.source] for row in node.retrieved]},
                "hovertemplate": f"{name} %{{x:.4f}}<extra></extra>",
                "texttemplate": f"{name} %{{x:.3f}}",
                "textposition": "outside",
                "offsetgroup": name,
                "showlegend": False,
            }
        )
    shares = kept_shares(run, iteration, index)
    kept = [plotly_text(forms.form(token_id)) for token_id in node.kept_ids]
    for position, row in enumerate(node.retrieved):
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": KEYS[row.source],
                "y": list(range(len(kept))),
                "x": [share[position] for share in shares],
                "marker": {"color": LIGHT[row.source]},
                "hovertemplate": f"{row.source} gives %{{x:.4f}}<extra></extra>",
                "xaxis": "x2",
                "yaxis": "y2",
                # Bars of one offset group lie on each other unless they are given a base.
                "base": [sum(share[:position]) for share in shares],
                "offsetgroup": "kept",
            }
        )
    layout = base_layout() | {"barmode": "group", "showlegend": True, "width": 900, "height": 380}
    layout["margin"] = {"l": 120, "r": 24, "t": 56, "b": 40}
    after = plotly_text(forms.form(node.token_id))
    layout["title"] = {"text": f"After {after}: prior \u00d7 confidence \u2192 weight, and the kept top-8"}
    layout["xaxis"] = {
        "domain": [0, 0.42],
        "range": [0, 1.45],
        "tickvals": [0, 0.5, 1],
        "gridcolor": LIGHT["grid"],
    }
    layout["yaxis"] = {"autorange": "reversed", "automargin": True}
    layout["xaxis2"] = {"domain": [0.6, 1], "gridcolor": LIGHT["grid"], "anchor": "y2", "rangemode": "tozero"}
    layout["yaxis2"] = {
        "autorange": "reversed",
        "anchor": "x2",
        "tickvals": list(range(len(kept))),
        "ticktext": kept,
    }
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"}
    return themed_figure(data, layout, theme)
