"""Where the nodes of a recorded pass stand, and the frame that holds all passes of a run."""

from __future__ import annotations

from collections.abc import Iterable

from recap.events import Iteration
from visualize.layout import tree_slots

#: Columns and slots that a frame has at least, so that the first small trees do not fill the screen.
SMALLEST_FRAME = (4, 8)


def node_places(iteration: Iteration) -> list[tuple[int, int]]:
    """(column, slot) of each node; the target-selected token, where there is one, comes last.

    Raises:
        ValueError: the pass was not recorded node by node.
    """
    if iteration.detail is None:
        raise ValueError(f"the pass must be recorded node by node; got detail=None (pass {iteration.index})")
    nodes = iteration.detail.nodes
    parents, ranks = [node.parent for node in nodes], [node.rank for node in nodes]
    depths = [node.depth for node in nodes]
    if iteration.target_selected_id is not None:
        last = iteration.accepted[-1] if iteration.accepted else 0
        parents.append(last)
        # After every real child, whatever its rank.
        ranks.append(max(ranks) + 1)
        depths.append(nodes[last].depth + 1)
    return list(zip(depths, tree_slots(parents, ranks), strict=True))


def slots_before_verdict(iteration: Iteration) -> tuple[int, ...]:
    """The slot of each node while no slot is kept for the target-selected token.

    An empty one would tell before the verdict that the tree lacks that token, and where.

    Raises:
        ValueError: the pass was not recorded node by node.
    """
    if iteration.detail is None:
        raise ValueError(f"the pass must be recorded node by node; got detail=None (pass {iteration.index})")
    nodes = iteration.detail.nodes
    return tree_slots([node.parent for node in nodes], [node.rank for node in nodes])


def run_bounds(iterations: Iterable[Iteration]) -> tuple[int, int]:
    """Deepest column and lowest slot over some passes: one frame for all of them keeps the picture still."""
    columns, slots = SMALLEST_FRAME
    for iteration in iterations:
        if iteration.detail is not None:
            for column, slot in node_places(iteration):
                columns, slots = max(columns, column), max(slots, slot)
    return columns, slots
