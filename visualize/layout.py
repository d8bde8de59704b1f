"""Where the nodes of a tree stand: root left, a column a depth, children by rank, no two edges crossing.

A tidy layout of our own. The first child stands level with its parent, so the all-first-choice chain is a straight
line along the top that keeps its place from pass to pass; each later child's subtree is moved up until it touches what
is above it.
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

#: Points that draw one edge; an edge is a smooth step, level at both ends.
EDGE_POINTS = 9


def tree_graph(parents: Sequence[int]) -> nx.DiGraph:
    """The tree as a networkx graph with edges parent -> child.

    Args:
        parents: [num_nodes] index of each node's parent, -1 for node 0.
    Raises:
        ValueError: the edges are not one tree with root 0.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((parent, child) for child, parent in enumerate(parents) if parent >= 0)
    if not parents or parents[0] != -1 or not nx.is_arborescence(graph):
        raise ValueError(f"parents must form one tree with root 0; got parents={list(parents)[:12]}")
    return graph


def tree_slots(parents: Sequence[int], ranks: Sequence[int]) -> tuple[int, ...]:
    """The row of each node, whole numbers from 0 downwards; the column is its depth.

    Two nodes of one depth never share a slot and stand in the order of their rank paths, which is why no edges cross.

    Args:
        parents: [num_nodes] index of each node's parent, -1 for node 0, parents before children.
        ranks: [num_nodes] place among the siblings; equal ranks keep the order of the nodes.
    """
    graph = tree_graph(parents)
    offsets = [0] * len(parents)
    # Per subtree and level below its root: first and last slot used, counted from the root's own slot.
    contours: list[list[tuple[int, int]]] = [[] for _ in parents]
    for node in reversed(range(len(parents))):
        children = sorted(graph.successors(node), key=lambda child: (ranks[child], child))
        merged: list[tuple[int, int]] = []
        for child in children:
            contour = contours[child]
            shared = zip(merged, contour, strict=False)
            shift = max((last + 1 - first for (_, last), (first, _) in shared), default=0)
            offsets[child] = shift
            for level, (first, last) in enumerate(contour):
                if level < len(merged):
                    merged[level] = (merged[level][0], last + shift)
                else:
                    merged.append((first + shift, last + shift))
            contours[child] = []
        contours[node] = [(0, 0), *merged]
    slots = [0] * len(parents)
    for node in range(1, len(parents)):
        slots[node] = slots[parents[node]] + offsets[node]
    return tuple(slots)


def edge_points(start: tuple[float, float], end: tuple[float, float]) -> tuple[list[float], list[float]]:
    """x and y of an edge as `EDGE_POINTS` points: a smooth step that keeps the vertical order of its two columns."""
    xs, ys = [], []
    for step in range(EDGE_POINTS):
        share = step / (EDGE_POINTS - 1)
        eased = share * share * (3 - 2 * share)
        xs.append(round(start[0] + (end[0] - start[0]) * share, 3))
        ys.append(round(start[1] + (end[1] - start[1]) * eased, 3))
    return xs, ys
