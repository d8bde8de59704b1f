"""Requests and runs on targets without weights, for the tests of the drafters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from recap.drafters.base import Drafter
from recap.engine import generate
from recap.events import Finished, Iteration, StageSeconds
from recap.rows import PredictionRows, make_rows
from recap.targets.base import Request, Target
from recap.targets.scripted import NextScores, ScriptedTarget, random_scores
from recap.tree import DraftTree

NO_SECONDS = StageSeconds(0.0, 0.0, 0.0, 0.0)


@cache
def known_scores(vocab_size: int, order: int, seed: int) -> NextScores:
    """As `random_scores`, each context's scores made once."""
    next_scores = random_scores(vocab_size, order, seed)
    known: dict[tuple[int, ...], np.ndarray] = {}

    def look_up(history: Sequence[int]) -> np.ndarray:
        context = tuple(history[-order:])
        if context not in known:
            known[context] = next_scores(context)
        return known[context]

    return look_up


def random_target(rng: random.Random, vocab_size: int) -> ScriptedTarget:
    """A text that depends on its last tokens; the highest id is blocked, and sometimes 0 ends the answer."""
    scores = known_scores(vocab_size, rng.choice((1, 1, 2)), rng.randrange(3))
    end_ids = [0] if rng.random() < 0.3 else []
    return ScriptedTarget(vocab_size, scores, end_ids, blocked_ids=[vocab_size - 1])


def random_request(rng: random.Random, vocab_size: int) -> Request:
    """A prompt that may hold placeholders and repeat itself."""
    prompt = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 2, 8, 30)))]
    return Request(np.array(prompt * rng.choice((1, 1, 2)), np.int64), rng.choice((1, 2, 25, 25)))


def run(target: Target, drafter: Drafter, request: Request) -> tuple[Finished, list[Iteration]]:
    """A whole run without its times, so that runs can be compared."""
    *events, finished = generate(target, drafter, request)
    assert isinstance(finished, Finished)
    passes = [replace(event, seconds=NO_SECONDS) for event in events if isinstance(event, Iteration)]
    return replace(finished, prefill_seconds=0.0, decode_seconds=0.0), passes


def rows_of(token_ids: list[list[int]]) -> PredictionRows:
    """Rows with these ids, highest first."""
    ids = np.array(token_ids, np.int64)
    return make_rows(ids, np.tile(np.arange(ids.shape[1], 0, -1.0), (len(ids), 1)))


def paths_of(tree: DraftTree) -> list[tuple[int, ...]]:
    """The token path of every draft node, in packed order."""
    paths: list[tuple[int, ...]] = [()]
    for token, parent in zip(tree.token_ids[1:].tolist(), tree.parent_indices[1:].tolist(), strict=True):
        paths.append((*paths[parent], token))
    return paths[1:]
