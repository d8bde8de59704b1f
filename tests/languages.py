"""Made-up targets whose text recurs as real text does, and the tasks, settings and memories to run them with."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import oracles
from bridges import as_row
from oracles import KEY_LENGTHS, RULES, SOURCES, DictMemories, Row, random_row

from recap.config import RecapConfig
from recap.drafters.base import Drafter
from recap.engine import generate
from recap.events import Event, Finished, Iteration, Prefill, Run
from recap.recorder import Recorder
from recap.rows import make_rows
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget


class Language:
    """A made-up target: scores that depend on the last few tokens alone, so that texts recur as real ones do.

    With `step` the scores lie on a grid and tie exactly, at the top as well.
    """

    def __init__(self, vocab_size: int, order: int, seed: int, step: float = 0.0) -> None:
        self.vocab_size = vocab_size
        self._order, self._seed, self._step = order, seed, step
        self._known: dict[tuple[int, ...], list[float]] = {}

    def next_scores(self, history: Sequence[int]) -> list[float]:
        """Scores of every token after a history."""
        context = tuple(int(token) for token in history[-self._order :])
        if context not in self._known:
            scores = np.random.default_rng([self._seed, *context]).normal(0, 3, self.vocab_size)
            if self._step:
                scores = np.round(scores / self._step) * self._step
            self._known[context] = scores.astype(np.float32).tolist()
        return self._known[context]


def random_language(rng: random.Random) -> Language:
    vocab_size = rng.choice((5, 7, 8, 12, 40, 300))
    return Language(
        vocab_size, rng.choice((1, 1, 2, 2, 3)), rng.randrange(10**6), rng.choice((0.0, 0.0, 1.0, 4.0))
    )


def row_of(scores: Sequence[float]) -> Row:
    """The row of a score vector: chosen by the oracle, its fp32 softmax by `make_rows` (which has its own tests)."""
    ids = oracles.top_ids(scores, 8)
    rows = make_rows(np.array([ids]), np.array([[scores[i] for i in ids]], np.float32))
    return as_row(rows.token_ids[0], rows.probabilities[0], rows.confidences[0])


def target_of(
    language: Language, end_ids: Sequence[int] = (), blocked_ids: Sequence[int] = ()
) -> ScriptedTarget:
    return ScriptedTarget(
        language.vocab_size, lambda history: np.array(language.next_scores(history)), end_ids, blocked_ids
    )


def request_of(prompt: Sequence[int], max_new_tokens: int, image_id: int | None = None) -> Request:
    return Request(np.array(prompt, np.int64), max_new_tokens, image_id)


def finished(events: Sequence[Event]) -> Finished:
    assert isinstance(events[0], Prefill)
    assert all(isinstance(event, Iteration) for event in events[1:-1])
    assert isinstance(events[-1], Finished)
    return events[-1]


def rubbish(rng: random.Random, vocab_size: int) -> DictMemories:
    """Memories filled with rows that no target ever predicted."""
    memories = DictMemories()
    alphabet = range(vocab_size)
    rows = [random_row(rng, alphabet, vocab_size) for _ in range(30)]
    for source in SOURCES:
        keys = {tuple(rng.choice(alphabet) for _ in range(KEY_LENGTHS[source])) for _ in range(300)}
        memories.maps[source] = {key: rng.choice(rows) for key in sorted(keys)}
    return memories


def random_config(rng: random.Random) -> RecapConfig:
    return RecapConfig(
        max_nodes=rng.choice((0, 1, 6, 24, 63, 63, 256)),
        max_depth=rng.choice((1, 2, 10, 10, 32)),
        width=rng.choice((1, 3, 8, 8)),
        fusion=rng.choice(("recap", *RULES)),
        suffix_min_match=rng.choice((1, 2, 2, 3)),
        suffix_max_nodes=rng.choice((0, 1, 4, 4, 32)),
        forbid_repeated_edges=rng.random() < 0.3,
    )


def random_task(rng: random.Random, language: Language) -> tuple[list[int], int, list[int], list[int]]:
    """A prompt, a length cap, end ids and blocked ids; the prompt holds a picture where there are blocked ids."""
    vocab_size = language.vocab_size
    end_ids = rng.sample(range(vocab_size), rng.choice((0, 0, 1, 2)))
    blocked_ids = rng.sample(range(vocab_size), rng.choice((0, 1, 2)))
    prompt = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 2, 3, 8, 20)))]
    prompt[: len(prompt) // 3] = blocked_ids[:1] * (len(prompt) // 3) or prompt[: len(prompt) // 3]
    return prompt, rng.choice((1, 2, 3, 7, 40, 60)), end_ids, blocked_ids


def recorded_run(
    target: ScriptedTarget, drafter: Drafter, request: Request, stop: Callable[[], bool] | None = None
) -> Run:
    recorder = Recorder(drafter, "recap@63", "recap", {"max_nodes": 63}, target.environment)
    list(generate(target, drafter, request, stop=stop, recorder=recorder))
    return recorder.run()
