"""Random trees through packing, mask, positions, acceptance, cut and gather, against the brute force of `oracles`."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import oracles
import torch
from tree_cases import ancestor_mask

from recap.targets.kv_cache import TreeCache
from recap.tree import DraftTree, pack_tree
from recap.verification import verify_path

NUM_TOKENS = 12


def random_tree(rng: random.Random) -> tuple[list[int], list[int]]:
    """Tokens and parents in the order of making: chains, fans and everything between; siblings differ."""
    num_nodes = rng.choice((1, 2, 3, 5, 9, 9, 20, 68))
    reach = rng.choice((1, 3, num_nodes))  # how far back a parent may lie: 1 makes a chain
    tokens, parents = [rng.randrange(NUM_TOKENS)], [-1]
    taken: set[tuple[int, int]] = set()
    while len(tokens) < num_nodes:
        parent = rng.randrange(max(0, len(tokens) - reach), len(tokens))
        token = rng.randrange(NUM_TOKENS)
        if (parent, token) in taken:
            reach = num_nodes  # a full parent must not keep the tree from growing
            continue
        taken.add((parent, token))
        tokens.append(token)
        parents.append(parent)
    return tokens, parents


def paths(tokens: list[int], parents: list[int]) -> Counter[tuple[int, ...]]:
    """How often each path of tokens from the root occurs."""
    return Counter(tuple(tokens[i] for i in oracles.path_to(node, parents)) for node in range(len(tokens)))


def random_choices(rng: random.Random, tokens: list[int], parents: list[int]) -> list[int]:
    """The target's choices, mostly one that a child carries."""
    choices = [rng.randrange(NUM_TOKENS + 2) for _ in tokens]
    for node in range(1, len(tokens)):
        if rng.random() < 0.6:
            choices[parents[node]] = tokens[node]
    return choices


def kept_entries(tree: DraftTree, num_prefix: int, accepted: np.ndarray) -> list[int]:
    """Numbers of the cache entries that are left, after a pass over the tree, in a cache whose entries are numbered."""
    num_entries = num_prefix + len(tree.token_ids)
    cache = TreeCache([torch.device("cpu")], 1, 1, num_entries, torch.float32)
    numbers = torch.arange(num_entries, dtype=torch.float32).reshape(1, -1, 1)
    cache.write(0, numbers[:, :num_prefix], numbers[:, :num_prefix])
    cache.append(num_prefix)
    cache.write(0, numbers[:, num_prefix:], numbers[:, num_prefix:])
    cache.keep(accepted)
    return cache.keys(0, cache.prefix_length).flatten().int().tolist()


def test_random_trees_equal_the_brute_force(is_full: bool) -> None:
    rng = random.Random(81)
    num_accepted, reasons = Counter(), Counter()
    for _ in range(100_000 if is_full else 1_000):
        made_tokens, made_parents = random_tree(rng)
        tree = pack_tree(made_tokens, made_parents)
        tokens, parents = tree.token_ids.tolist(), tree.parent_indices.tolist()
        assert paths(tokens, parents) == paths(made_tokens, made_parents)
        assert all(parent < node for node, parent in enumerate(parents))

        num_prefix = rng.choice((1, 2, 9))
        assert ancestor_mask(tree.parent_indices, num_prefix).tolist() == oracles.ancestor_mask(parents)
        assert (num_prefix + tree.depths).tolist() == oracles.positions(parents, num_prefix)

        choices = random_choices(rng, tokens, parents)
        end_ids = frozenset(rng.sample(range(NUM_TOKENS), rng.choice((0, 0, 1, 3))))
        num_left = rng.choice((1, 2, 3, 5, 200))
        accepted, selected = oracles.walk(tokens, parents, choices)
        expected = oracles.cut_block(tokens, accepted, selected, end_ids, num_left)
        outcome = verify_path(tree, np.array(choices), end_ids, num_left)
        assert tuple(outcome.accepted_indices.tolist()) == expected.accepted
        assert outcome.target_selected_id == expected.target_selected_id
        assert tuple(outcome.committed_ids.tolist()) == expected.committed_ids
        assert outcome.stop_reason == expected.stop_reason

        entries = list(range(num_prefix + len(tokens)))
        kept = oracles.gather(entries, num_prefix, [0, *expected.accepted])
        assert kept_entries(tree, num_prefix, outcome.accepted_indices) == kept
        num_accepted[len(expected.accepted)] += 1
        reasons[expected.stop_reason] += 1
    assert max(num_accepted) > 4, num_accepted
    assert set(reasons) == {None, "end_token", "length"}
