"""Candidate trees of random and of chosen memories, for the tests that compare them with the oracles."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import oracles
import torch
from bridges import fill
from oracles import SPECIFICITY_PRIORS, Case, DictMemories, PackedTree, Row, SearchRules, confidence_of
from scripted_runs import paths_of

from recap.config import RecapConfig
from recap.memory import Memories
from recap.search import TreeBuilder
from recap.targets.kv_cache import TreeMask
from recap.tree import DraftTree


def config_of(
    rules: SearchRules, rule: str = "recap", priors: tuple[float, float, float] = SPECIFICITY_PRIORS
) -> RecapConfig:
    return RecapConfig(
        max_nodes=rules.max_nodes,
        max_depth=rules.max_depth,
        width=rules.width,
        specificity_priors=priors,
        depth_priors=rules.depth_priors,
        fusion=rule,  # type: ignore[arg-type]
        forbid_repeated_edges=rules.forbid_repeated_edges,
    )


def built(case: Case, config: RecapConfig, rules: SearchRules, continuation: Sequence[int] = ()) -> DraftTree:
    memories = fill(Memories(case.vocab_size), case.memories)
    builder = TreeBuilder(config, rules.blocked_ids)
    return builder.build(memories, np.array(case.history, np.int64), np.array(continuation, np.int64))


def expander(case: Case, rule: str = "recap", priors: Sequence[float] = SPECIFICITY_PRIORS) -> oracles.Expand:
    """Lookup and fusion of the oracle, each context once."""
    known: dict[tuple[int, ...], oracles.Candidates] = {}

    def expand(context: Sequence[int]) -> oracles.Candidates:
        key = tuple(context[-3:])
        if key not in known:
            known[key] = oracles.fuse(case.memories.lookup(context), rule, priors)
        return known[key]

    return expand


def assert_same_tree(tree: DraftTree, expected: PackedTree) -> None:
    """The same nodes, packed and made in the same order.

    Orders are compared exactly, without room for near ties: both sides multiply and add the same float64 values in the
    same order, so equal scores are equal bits on both. The scores are compared to 1e-12 for a compiler that fuses.
    """
    assert tuple(tree.token_ids.tolist()) == expected.token_ids
    assert tuple(tree.parent_indices.tolist()) == expected.parents
    assert tuple(tree.depths.tolist()) == expected.depths
    assert tuple(tree.pop_orders.tolist()) == expected.pop_orders
    for score, oracle in zip(tree.scores.tolist(), expected.scores, strict=True):
        assert math.isnan(score) if oracle is None else math.isclose(score, oracle, rel_tol=1e-12)
    assert tree.is_suffix.tolist() == [score is None for score in expected.scores]


def random_continuation(rng: random.Random, case: Case, paths: Sequence[oracles.Path]) -> list[int]:
    """A continuation that shares some of a path of the tree, or none, and goes on somewhere else."""
    shared = rng.choice(paths).token_ids if paths and rng.random() < 0.6 else ()
    return [*shared[: rng.randrange(12)], *(rng.choice(case.alphabet) for _ in range(rng.randrange(9)))]


def row(*pairs: tuple[int, float]) -> Row:
    return Row(tuple(i for i, _ in pairs), tuple(p for _, p in pairs), confidence_of([p for _, p in pairs]))


def case_of(
    history: Sequence[int], unigram: dict[int, Row], bigram: dict[tuple[int, int], Row] | None = None
) -> Case:
    maps = {"G": {}, "C": dict(bigram or {}), "U": {(token,): value for token, value in unigram.items()}}
    return Case(100, (), tuple(history), DictMemories(maps))


def made_paths_of(tree: DraftTree) -> list[tuple[int, ...]]:
    """Token paths of the nodes without the root, in the order in which they were made."""
    paths = [(), *paths_of(tree)]
    return [paths[node] for node in np.argsort(tree.pop_orders).tolist()][1:]


def ancestor_mask(parent_indices: np.ndarray, prefix_length: int = 0) -> np.ndarray:
    """bool [num_nodes, num_nodes]: which nodes see which, by the mask that a target gives to its model."""
    num_nodes = len(parent_indices)
    mask = TreeMask(num_nodes, prefix_length + num_nodes, torch.float32)
    seen = mask.fill(parent_indices, prefix_length)[0, 0].numpy() == 0
    assert seen[:, :prefix_length].all()
    return seen[:, prefix_length:]
