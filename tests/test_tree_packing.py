"""The packed order: depth-first preorder by rank, and the fields and contexts that follow their node."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import oracles
import pytest
from oracles import random_case, random_parents, random_rules, scaled
from tree_cases import built, config_of

from recap.tree import pack_tree as pack_nodes
from recap.tree import path_contexts, root_only_tree


def random_making_order(rng: random.Random, parents: list[int]) -> list[int]:
    """A random order in which each node comes after its parent."""
    order = [0]
    while len(order) < len(parents):
        ready = [i for i in range(len(parents)) if i not in order and parents[i] in order]
        order.append(rng.choice(ready))
    return order


def test_packing_is_preorder_by_rank_whatever_order_nodes_were_made_in() -> None:
    rng = random.Random(55)
    for _ in range(scaled(500, 20)):
        parents = random_parents(rng, rng.choice((1, 2, 5, 20, 40)))
        order = random_making_order(rng, parents)
        made_parents = [-1] + [order.index(parents[node]) for node in order[1:]]
        tree = pack_nodes([100 + i for i in range(len(order))], made_parents)
        graph = nx.DiGraph()
        graph.add_node(0)
        graph.add_edges_from((parent, child) for child, parent in enumerate(made_parents) if child)
        # networkx visits successors in the order in which edges were added: siblings by order of making
        preorder = list(nx.dfs_preorder_nodes(graph, 0))
        assert tree.pop_orders.tolist() == preorder
        assert tree.token_ids.tolist() == [100 + node for node in preorder]
        assert tree.parent_indices.tolist() == [
            -1,
            *(preorder.index(made_parents[node]) for node in preorder[1:]),
        ]
        assert tree.depths.tolist() == [nx.shortest_path_length(graph, 0, node) for node in preorder]
        ranks = [0, *(list(graph.successors(made_parents[node])).index(node) for node in preorder[1:])]
        assert tree.ranks.tolist() == ranks


def test_the_chain_of_first_choices_is_contiguous_behind_the_root() -> None:
    rng = random.Random(56)
    for _ in range(scaled(300, 10)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        tree = built(case, config_of(rules), rules)
        node, length = 0, 0
        while True:
            kids = np.flatnonzero(tree.parent_indices == node)
            if not len(kids):
                break
            node, length = int(kids[0]), length + 1
            assert node == length


def test_packed_fields_follow_their_node() -> None:
    tree = pack_nodes(
        [9, 1, 2, 3], [-1, 0, 0, 1], [1, 0.6, 0.4, 0.5], [1, 0.5, 0.3, 0.2], [False, False, True, False]
    )
    assert tree.token_ids.tolist() == [9, 1, 3, 2]
    assert tree.q.tolist() == [1, 0.6, 0.5, 0.4]
    assert tree.scores.tolist() == [1, 0.5, 0.2, 0.3]
    assert tree.is_suffix.tolist() == [False, False, False, True]


def test_a_tree_of_another_drafter_has_no_scores() -> None:
    for tree in (root_only_tree(5), pack_nodes([5], [-1])):
        assert tree.token_ids.tolist() == [5]
        assert tree.num_draft_nodes == 0
        assert np.isnan(tree.scores).all()
        assert np.isnan(tree.q).all()
        assert not tree.is_suffix.any()


@pytest.mark.parametrize("parents", [[], [0], [-1, -1], [-1, 1], [-1, 2, 0], [-1, 0, -1]])
def test_nodes_without_an_earlier_parent_are_refused(parents: list[int]) -> None:
    with pytest.raises(ValueError, match="parent_indices must start with -1 and name an earlier node each"):
        pack_nodes([5] * len(parents), parents)


def test_contexts_are_the_last_three_tokens_on_each_path() -> None:
    rng = random.Random(57)
    for _ in range(scaled(300, 10)):
        history = [rng.randrange(50) for _ in range(rng.choice((1, 2, 3, 6)))]
        parents = random_parents(rng, rng.choice((1, 2, 30)))
        tokens = [history[-1], *(rng.randrange(50) for _ in parents[1:])]
        u, v, _ = [-1, -1, -1, *history][-3:]
        got = path_contexts(np.array(tokens), np.array(parents, np.int32), u, v)
        for node in range(len(parents)):
            path = [tokens[i] for i in oracles.path_to(node, parents)]
            assert got[node].tolist() == [-1, -1, -1, *history[:-1], *path][-3:]
