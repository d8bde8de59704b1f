"""Random rows, memories, histories, settings and trees to try the oracles and the fast code on."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.memories import KEY_LENGTHS, SOURCES, DictMemories
from oracles.rows import ROW_WIDTH, Row, confidence_of
from oracles.search import DEPTH_PRIORS, SearchRules
from oracles.trees import path_to


def scaled(count: int, at_least: int = 1) -> int:
    """How many random cases to draw: `count` at RECAP_TEST_SCALE=1, a tenth of it by default."""
    return max(at_least, round(count * float(os.environ.get("RECAP_TEST_SCALE", "0.1"))))


def random_probabilities(rng: random.Random, width: int) -> tuple[float, ...]:
    """A falling fp32 distribution of one of the shapes that break code."""
    shape = rng.choice(("one-hot", "flat", "dyadic", "tied", "steep", "mild", "mild"))
    if shape == "one-hot":
        return (1.0, *[0.0] * (width - 1))
    if shape == "dyadic":
        return (*[0.5 ** (i + 1) for i in range(width - 1)], 0.5 ** (width - 1))
    if shape == "flat":
        logits = [0.0] * width
    elif shape == "tied":
        levels = [rng.uniform(0, 3) for _ in range(max(1, width // 3))]
        logits = [rng.choice(levels) for _ in range(width)]
    else:
        logits = [rng.gauss(0, 6 if shape == "steep" else 1) for _ in range(width)]
    logits.sort(reverse=True)
    values = [math.exp(value - logits[0]) for value in logits]
    total = sum(values)
    return tuple(float(np.float32(value / total)) for value in values)


def random_row(rng: random.Random, alphabet: Sequence[int], vocab_size: int) -> Row:
    """A row over the ids of `alphabet`, filled up from the vocabulary; equal probabilities in rising ids."""
    width = min(ROW_WIDTH, vocab_size)
    ids = rng.sample(alphabet, min(width, len(alphabet)))
    while len(ids) < width:
        ids += {rng.randrange(vocab_size)} - set(ids)
    rng.shuffle(ids)
    probabilities = random_probabilities(rng, width)
    ordered = sorted(zip(probabilities, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return Row(tuple(i for _, i in ordered), tuple(p for p, _ in ordered), confidence_of(probabilities))


@dataclass(frozen=True)
class Case:
    """Random memories, with a history that ends inside them."""

    vocab_size: int
    alphabet: tuple[int, ...]
    history: tuple[int, ...]
    memories: DictMemories


VOCAB_SIZES = (5, 6, 8, 9, 17, 60, 300, 4_000, 50_000)


def random_case(rng: random.Random) -> Case:
    """Memories of any filling over few ids of any vocabulary: keys collide, tokens recur on branches."""
    vocab_size = rng.choice(VOCAB_SIZES)
    num_used = min(vocab_size, rng.choice((1, 3, 5, 8, 8, 12, 20)))
    alphabet = tuple({vocab_size - 1, *rng.sample(range(vocab_size), num_used)})
    history = tuple(rng.choices(alphabet, k=rng.choice((1, 2, 3, 4, 7, 12))))
    rows = [random_row(rng, alphabet, vocab_size) for _ in range(rng.choice((1, 4, 12)))]
    memories = DictMemories()
    for source in SOURCES:
        length = KEY_LENGTHS[source]
        share = rng.choice((0.0, 0.3, 0.7, 1.0, 1.0))
        num_keys = min(2 * len(alphabet) ** length, rng.choice((4, 40, 120)))
        keys = set(zip(*(rng.choices(alphabet, k=num_keys) for _ in range(length)), strict=True))
        if length <= len(history):
            keys.add(history[-length:])
        # sorted: a set's order must not decide which keys the generator fills
        kept = [key for key in sorted(keys) if rng.random() < share]
        memories.maps[source] = dict(zip(kept, rng.choices(rows, k=len(kept)), strict=True))
    return Case(vocab_size, alphabet, history, memories)


def random_rules(rng: random.Random, case: Case) -> SearchRules:
    """Search settings of all sizes, the extremes included."""
    return SearchRules(
        max_nodes=rng.choice((0, 1, 6, 24, 24, 63, 63, 63, 256)),
        max_depth=rng.choice((1, 2, 3, 10, 10, 10, 32)),
        width=rng.choice((1, 2, 3, 8, 8, 8)),
        depth_priors=rng.choice((DEPTH_PRIORS, DEPTH_PRIORS, (1.0,), (0.5,), (0.9, 0.25))),
        blocked_ids=frozenset(i for i in case.alphabet if rng.random() < rng.choice((0.0, 0.0, 0.2))),
        forbid_repeated_edges=rng.random() < 0.3,
    )


def random_parents(rng: random.Random, num_nodes: int, max_children: int = ROW_WIDTH) -> list[int]:
    """Parents of a random tree in depth-first preorder: a parent lies on the path to the node before."""
    parents = [-1]
    for node in range(1, num_nodes):
        above = [i for i in path_to(node - 1, parents) if parents.count(i) < max_children]
        parents.append(rng.choice(above))
    return parents
