"""The memories over a run, and what one pass read from and wrote to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from plotly.graph_objects import Figure

from recap.events import Iteration, MemorySizes, MemoryWrite, Run, Source
from visualize.theme import KEYS, LIGHT, ThemeName, base_layout, themed_figure


@dataclass(frozen=True, slots=True)
class ReadRow:
    """One memory row read in a pass, and at how many nodes."""

    map: Source
    key_ids: tuple[int, ...]
    row: int
    num_nodes: int


def rows_read(iteration: Iteration) -> tuple[ReadRow, ...]:
    """The rows that a pass read, most read first; empty for a pass that was not recorded."""
    if iteration.detail is None:
        return ()
    counts = Counter(
        (found.source, found.key_ids, found.row)
        for node in iteration.detail.nodes
        for found in node.retrieved
    )
    return tuple(ReadRow(*key, number) for key, number in counts.most_common())


def rows_written(iteration: Iteration) -> tuple[tuple[MemoryWrite, ...], tuple[MemoryWrite, ...]]:
    """The writes of a pass as (new keys, replaced rows); empty for a pass that was not recorded."""
    writes = iteration.detail.writes if iteration.detail is not None else ()
    new = tuple(write for write in writes if write.replaced_row is None)
    return new, tuple(write for write in writes if write.replaced_row is not None)


def memory_sizes(run: Run) -> tuple[tuple[int, MemorySizes], ...]:
    """(pass, sizes) wherever sizes were recorded; pass 0 is prefill."""
    sizes = [(0, run.prefill.memory_sizes)]
    sizes += [(it.index, it.detail.memory_sizes if it.detail is not None else None) for it in run.iterations]
    return tuple((index, size) for index, size in sizes if size is not None)


def memory_figure(run: Run, theme: ThemeName = "light") -> Figure:
    """Rows alive in each map after each pass: the growth over the run."""
    points = memory_sizes(run)
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "line": {"color": LIGHT[source], "width": 2.4, "shape": "hv"},
            "name": KEYS[source],
            "x": [index for index, _ in points],
            "y": [getattr(size, field) for _, size in points],
            "hovertemplate": "%{y} rows after pass %{x}<extra></extra>",
        }
        for source, field in (("G", "trigram"), ("C", "bigram"), ("U", "unigram"))
    ]
    layout = base_layout() | {"showlegend": True, "width": 700, "height": 320}
    layout["margin"] = {"l": 56, "r": 24, "t": 32, "b": 44}
    layout["xaxis"] = {"title": {"text": "pass"}, "gridcolor": LIGHT["grid"], "zeroline": False}
    layout["yaxis"] = {"title": {"text": "rows"}, "gridcolor": LIGHT["grid"], "rangemode": "tozero"}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return themed_figure(data, layout, theme)
