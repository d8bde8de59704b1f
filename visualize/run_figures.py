"""A run on its clock: lanes of methods, accepted lengths by pass, and the text coloured by what proposed it."""

from __future__ import annotations

from html import escape
from itertools import accumulate

from plotly.graph_objects import Figure

from recap import metrics
from recap.events import Run, Trace
from visualize.origins import output_spans
from visualize.theme import KEYS, LIGHT, ThemeName, base_layout, plotly_text, themed_figure
from visualize.token_forms import TokenForms


def pass_ends(run: Run) -> tuple[float, ...]:
    """Seconds on the run's clock at the end of prefill and of each pass: [1 + num_passes]."""
    return tuple(accumulate((it.seconds.total for it in run.iterations), initial=run.prefill.seconds))


def lanes_figure(trace: Trace, theme: ThemeName = "light") -> Figure:
    """All runs of a trace on one measured clock: a block for prefill, then a block a pass."""
    data = []
    for run in trace.runs:
        ends = pass_ends(run)
        sizes = [1, *(len(iteration.committed_ids) for iteration in run.iterations)]
        colour = LIGHT["draft"] if run.method == "ar" else LIGHT["accent"]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": plotly_text(run.name),
                "y": [plotly_text(run.name)] * len(ends),
                "base": [0.0, *ends[:-1]],
                "x": [run.prefill.seconds, *(iteration.seconds.total for iteration in run.iterations)],
                "customdata": sizes,
                "marker": {
                    "color": [LIGHT["edge"], *[colour] * (len(ends) - 1)],
                    "line": {"color": LIGHT["background"], "width": 0.5},
                },
                "hovertemplate": "%{customdata} tokens in %{x:.4f} s<extra></extra>",
            }
        )
    layout = base_layout() | {"barmode": "overlay", "width": 900, "height": 90 + 60 * len(trace.runs)}
    layout["margin"] = {"l": 96, "r": 24, "t": 24, "b": 44}
    layout["xaxis"] = {"title": {"text": "seconds, measured"}, "gridcolor": LIGHT["grid"], "zeroline": False}
    layout["yaxis"] = {"autorange": "reversed", "automargin": True}
    return themed_figure(data, layout, theme)


def accepted_lengths_figure(run: Run, theme: ThemeName = "light") -> Figure:
    """Tokens committed by each pass, accepted ones and the target's own on top."""
    passes = [iteration.index for iteration in run.iterations]
    accepted = [len(iteration.accepted) for iteration in run.iterations]
    own = [len(it.committed_ids) - len(it.accepted) for it in run.iterations]
    data = [
        {"type": "bar", "name": name, "x": passes, "y": values, "marker": {"color": LIGHT[role]},
         "hovertemplate": "pass %{x}: %{y} " + name + "<extra></extra>"}
        for name, values, role in (("accepted", accepted, "G"), ("target's own", own, "target"))
    ]  # fmt: skip
    layout = base_layout() | {"barmode": "stack", "showlegend": True, "width": 900, "height": 280}
    layout["margin"] = {"l": 56, "r": 24, "t": 32, "b": 44}
    length = metrics.acceptance_length(run)
    title = "tokens a pass" if length is None else f"tokens a pass, \u03c4 = {length:.2f}"
    layout["yaxis"] = {"title": {"text": title}, "gridcolor": LIGHT["grid"]}
    layout["xaxis"] = {"title": {"text": "pass"}}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return themed_figure(data, layout, theme)


def text_html(trace: Trace, run: Run) -> str:
    """The output as HTML spans, each with its proposer, pass and id; everything is escaped."""
    spans, forms = output_spans(run), TokenForms(trace)
    pieces = forms.pieces([span.token_id for span in spans])
    return "".join(
        f'<span class="recap-token recap-from-{span.proposer}" data-pass="{span.pass_index}" '
        f'data-token-id="{span.token_id}" title="{escape(KEYS[span.proposer])}">{escape(piece)}</span>'
        for span, piece in zip(spans, pieces, strict=True)
    )
