"""The candidate tree: laid out without crossings, drawn from the record and nothing else."""

from __future__ import annotations

import html
import itertools
import json
import random
from functools import cache

import networkx as nx
import pytest
from contrast import contrast
from make_traces import make_trace

from recap.trace_io import dump_trace, parse_trace
from visualize.layout import edge_points, tree_graph, tree_slots
from visualize.places import node_places, run_bounds, slots_before_verdict
from visualize.theme import DARK, LIGHT, MARKERS, recolour
from visualize.token_forms import TokenForms
from visualize.tree_figure import SELECTED, tree_data, tree_figure


@cache
def trace():
    return make_trace(2, max_nodes=63, num_tokens=60)


@cache
def raw():
    return json.loads(dump_trace(trace()))


def recorded_passes():
    """(pass, its raw JSON) of the RECAP run."""
    return list(zip(trace().runs[1].iterations, raw()["runs"][1]["iterations"], strict=True))


def data_of(iteration):
    return {item["name"]: item for item in tree_data(TokenForms(trace()), trace().runs[1], iteration)}


def random_tree(chooser: random.Random):
    """Parents in preorder and ranks, as a search leaves them, 1 to 68 nodes."""
    size = chooser.randint(1, 68)
    children: list[list[int]] = [[]]
    for node in range(1, size):
        open_nodes = [i for i in range(node) if len(children[i]) < 8]
        children[chooser.choice(open_nodes[-chooser.choice((3, 70)) :])].append(node)
        children.append([])
    order, parents, ranks = [], [], []

    def visit(node, parent, rank):
        place = len(order)
        order.append(node)
        parents.append(parent)
        ranks.append(rank)
        for position, child in enumerate(children[node]):
            visit(child, place, position)

    visit(0, -1, 0)
    return parents, ranks


def crosses(first, second) -> bool:
    """Whether two segments cross in a point inside both; segments are ((x, y), (x, y))."""

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    a, b = first
    c, d = second
    return side(a, b, c) * side(a, b, d) < -1e-9 and side(c, d, a) * side(c, d, b) < -1e-9


def edges_of(parents, slots):
    """Drawn polylines by column of the parent."""
    depths = [0] * len(parents)
    by_column: dict[int, list] = {}
    for node in range(1, len(parents)):
        depths[node] = depths[parents[node]] + 1
        start = (depths[parents[node]], slots[parents[node]])
        xs, ys = edge_points(start, (depths[node], slots[node]))
        by_column.setdefault(start[0], []).append(list(zip(xs, ys, strict=True)))
    return depths, by_column


def test_no_edges_cross_and_no_nodes_meet_on_random_trees(is_full):
    chooser = random.Random(0)
    for _ in range(1000 if is_full else 60):
        parents, ranks = random_tree(chooser)
        slots = tree_slots(parents, ranks)
        depths, by_column = edges_of(parents, slots)
        assert len(set(zip(depths, slots, strict=True))) == len(parents)
        for lines in by_column.values():
            for first, second in itertools.combinations(lines, 2):
                assert not any(
                    crosses(a, b)
                    for a, b in zip(itertools.pairwise(first), itertools.pairwise(second), strict=True)
                )


def test_first_choices_stand_level_and_siblings_in_the_order_of_rank():
    chooser = random.Random(1)
    for _ in range(60):
        parents, ranks = random_tree(chooser)
        slots = tree_slots(parents, ranks)
        for parent in range(len(parents)):
            children = sorted(
                (n for n in range(1, len(parents)) if parents[n] == parent), key=ranks.__getitem__
            )
            assert [slots[child] for child in children] == sorted(slots[child] for child in children)
            if children:
                assert slots[children[0]] == slots[parent]


def test_graph_is_the_recorded_tree():
    for iteration, _ in recorded_passes():
        parents = [node.parent for node in iteration.detail.nodes]
        graph = tree_graph(parents)
        assert graph.number_of_nodes() == iteration.num_nodes + 1
        depths = nx.single_source_shortest_path_length(graph, 0)
        assert [depths[i] for i in range(len(parents))] == [node.depth for node in iteration.detail.nodes]


@pytest.mark.parametrize("parents", [[], [0], [-1, -1], [-1, 2, 1]])
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(ValueError, match="one tree with root 0"):
        tree_graph(parents)


def test_each_recorded_node_is_drawn_once_with_its_token_and_place():
    forms = {token["id"]: token["form"] for token in raw()["tokens"]}
    for iteration, record in recorded_passes():
        drawn = data_of(iteration)["nodes"]
        nodes = record["detail"]["nodes"]
        assert drawn["customdata"] == list(range(record["num_nodes"] + 1)) == list(range(len(nodes)))
        assert drawn["x"] == [node["depth"] for node in nodes]
        for text, hover, node in zip(drawn["text"], drawn["hovertext"], nodes, strict=True):
            form = forms[node["token_id"]]
            shown = html.unescape(text).lstrip("\u00a0")
            assert shown == form if len(form) <= 10 else shown == form[:9] + "\u2026"
            assert html.unescape(hover.removeprefix("<b>").split("</b>")[0]) == form


def test_size_grows_with_q():
    for iteration, record in recorded_passes():
        drawn = data_of(iteration)["nodes"]
        pairs = [
            (node["q"], size)
            for node, size in zip(record["detail"]["nodes"], drawn["marker"]["size"], strict=True)
            if node["q"] is not None
        ]
        for (q, size), (other_q, other_size) in itertools.combinations(pairs, 2):
            assert (q - other_q) * (size - other_size) >= 0


def oracle_source(run, nodes, node) -> str:
    """The source with the largest weight times probability, read from raw JSON."""
    if node["origin"] != "fusion":
        return {"root": "target", "suffix": "suffix"}[node["origin"]]
    best, source = 0.0, "draft"
    for found in nodes[node["parent"]]["retrieved"]:
        row = run["rows"][found["row"]]
        if node["token_id"] in row["token_ids"]:
            mass = found["weight"] * row["probabilities"][row["token_ids"].index(node["token_id"])]
            if mass > best:
                best, source = mass, found["source"]
    return source


def test_colour_and_marker_tell_the_source_and_filling_the_verdict():
    for iteration, record in recorded_passes():
        marker = data_of(iteration)["nodes"]["marker"]
        nodes = record["detail"]["nodes"]
        for index, node in enumerate(nodes):
            source = oracle_source(raw()["runs"][1], nodes, node)
            assert marker["symbol"][index] == MARKERS[source]
            assert marker["line"]["color"][index] == LIGHT[source]
            is_kept = index == 0 or index in record["accepted"]
            assert marker["color"][index] == (LIGHT[source] if is_kept else LIGHT["background"])


def test_each_edge_is_drawn_once_in_the_style_of_its_fate():
    for iteration, record in recorded_passes():
        data = data_of(iteration)
        nodes = record["detail"]["nodes"]
        rejected = [i for i in range(1, len(nodes)) if i not in record["accepted"]]
        assert data["accepted path"]["meta"]["nodes"] == record["accepted"]
        assert data["edges"]["meta"]["nodes"] == [i for i in rejected if nodes[i]["origin"] == "fusion"]
        assert data["suffix edges"]["meta"]["nodes"] == [
            i for i in rejected if nodes[i]["origin"] == "suffix"
        ]
        assert data["suffix edges"]["line"]["dash"] == "dash"
        assert data["accepted path"]["line"]["width"] > 2 * data["edges"]["line"]["width"]
        place = dict(
            zip(
                data["nodes"]["customdata"],
                zip(data["nodes"]["x"], data["nodes"]["y"], strict=True),
                strict=True,
            )
        )
        for name in ("edges", "suffix edges", "accepted path"):
            stride = data[name]["meta"]["stride"]
            for position, child in enumerate(data[name]["meta"]["nodes"]):
                xs = data[name]["x"][position * stride : (position + 1) * stride]
                ys = data[name]["y"][position * stride : (position + 1) * stride]
                assert (xs[0], ys[0]) == place[nodes[child]["parent"]]
                assert (xs[-2], ys[-2]) == place[child]
                assert xs[-1] is None


def test_the_target_selected_token_is_a_diamond_behind_the_accepted_path():
    num_cut = 0
    for iteration, record in recorded_passes():
        data = data_of(iteration)
        if record["target_selected_id"] is None:
            num_cut += 1
            assert "target-selected token" not in data
            continue
        diamond = data["target-selected token"]
        assert diamond["marker"]["symbol"] == ["diamond"]
        assert diamond["customdata"] == [SELECTED]
        assert diamond["x"] == [len(record["accepted"]) + 1]
    assert num_cut <= 1


def test_the_same_trace_gives_the_same_bytes():
    again = parse_trace(dump_trace(trace()))
    for index, iteration in enumerate(
        trace().runs[1].iterations[-3:], start=len(trace().runs[1].iterations) - 3
    ):
        first = tree_figure(trace(), trace().runs[1], iteration).to_json()
        second = tree_figure(again, again.runs[1], again.runs[1].iterations[index]).to_json()
        assert first.encode() == second.encode()


def test_one_frame_holds_every_pass():
    columns, slots = run_bounds(trace().runs[1].iterations)
    for iteration, _ in recorded_passes():
        drawn = data_of(iteration)
        for item in drawn.values():
            assert max(x for x in item["x"] if x is not None) <= columns if item["x"] else True
            assert max(y for y in item["y"] if y is not None) <= slots if item["y"] else True


def test_dark_is_the_same_figure_with_other_colours():
    iteration = trace().runs[1].iterations[-1]
    light, dark = (
        tree_figure(trace(), trace().runs[1], iteration, theme).to_dict() for theme in ("light", "dark")
    )
    back = {DARK[role]: LIGHT[role] for role in LIGHT}
    assert dark != light
    for ours, theirs in zip(light["data"], dark["data"], strict=True):
        for key in ("x", "y", "text"):
            assert list(ours.get(key) or []) == list(theirs.get(key) or [])
    nodes = next(item for item in dark["data"] if item["name"] == "nodes")
    expected = next(item for item in light["data"] if item["name"] == "nodes")
    assert [back[colour] for colour in nodes["marker"]["color"]] == list(expected["marker"]["color"])


def test_a_token_that_looks_like_a_colour_keeps_its_text():
    figure = {"text": [LIGHT["G"]], "marker": {"color": [LIGHT["G"]]}}
    assert recolour(figure, "dark") == {"text": [LIGHT["G"]], "marker": {"color": [DARK["G"]]}}


def test_every_source_has_a_colour_and_a_shape_of_its_own():
    for palette in (LIGHT, DARK):
        colours = [palette[source] for source in MARKERS]
        assert len(set(colours)) == len(colours)
    assert len(set(MARKERS.values())) == len(MARKERS)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("role", ["ink", "muted", "faint", "accent"])
def test_text_has_a_contrast_of_at_least_4_5(palette, role):
    assert contrast(palette[role], palette["background"]) >= 4.5


def test_before_the_verdict_the_slots_know_nothing_of_the_target_s_token():
    is_moved = []
    for iteration, record in recorded_passes():
        nodes = record["detail"]["nodes"]
        slots = slots_before_verdict(iteration)
        assert set(slots) == set(range(max(slots) + 1)), "no slot stays empty"
        assert len(set(zip((node["depth"] for node in nodes), slots, strict=True))) == len(nodes)
        is_moved.append(list(slots) != [slot for _, slot in node_places(iteration)[: len(nodes)]])
    assert any(is_moved)
    assert not all(is_moved)


def test_a_pass_that_was_not_recorded_has_no_tree():
    from dataclasses import replace

    iteration = replace(trace().runs[1].iterations[0], detail=None)
    with pytest.raises(ValueError, match="recorded node by node"):
        tree_data(TokenForms(trace()), trace().runs[1], iteration)
    with pytest.raises(ValueError, match="recorded node by node"):
        slots_before_verdict(iteration)
