"""On every shipped model and unseen pictures, each way of drafting gives plain decoding's tokens, and the library's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_models import library_greedy

from recap.drafters import make_drafter
from recap.engine import generate
from recap.events import Finished
from recap.memory import Memories
from recap.rows import PredictionRows
from recap.targets.base import Request
from recap.targets.transformers_vlm import TransformersTarget

SCRIPTS = Path(__file__).parents[1] / "assets" / "teaching_vlm"
NUM_QUESTIONS, NUM_HARD_QUESTIONS = 200, 40


@pytest.fixture(scope="module")
def unseen_questions() -> list[tuple[Image.Image, str]]:
    """One question of every kind in turn, each about a picture of its own, from seeds no training or workload uses."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        import random

        from shapes import captions, questions, reasoning
        from shapes.scene import draw, make_scene
    finally:
        sys.path.remove(str(SCRIPTS))
    asked = []
    for index in range(NUM_QUESTIONS):
        rng = random.Random(f"exactness-{index}")
        scene = make_scene(rng)
        ask = (captions.ask, questions.ask, reasoning.ask)[index % 3]
        asked.append((draw(scene), ask(rng, scene).question))
    return asked


def output_ids(
    target: TransformersTarget, method: str, request: Request, memories: Memories | None
) -> list[int]:
    drafter = make_drafter(method, target.vocab_size, target.blocked_ids, memories)
    *_, finished = generate(target, drafter, request)
    assert isinstance(finished, Finished)
    return list(finished.output_ids)


def requests(
    target: TransformersTarget, asked: list[tuple[Image.Image, str]], count: int
) -> Iterator[tuple[Request, list[int]]]:
    """Requests and plain decoding's answers, spread over the list."""
    for index in range(count):
        image, question = asked[index * len(asked) // count]
        request = target.build_request(image, question, max_new_tokens=200)
        yield request, output_ids(target, "ar", request, None)


def rubbish(vocab_size: int) -> Memories:
    """A U in which every token has a row of random tokens."""
    rng = np.random.default_rng(7)
    memories = Memories(vocab_size)
    memories.begin_request()
    memories.seed_unigram(
        np.arange(vocab_size),
        PredictionRows(
            rng.integers(0, vocab_size, (vocab_size, 8)).astype(np.int32),
            np.full((vocab_size, 8), 0.125, np.float32),
            np.full(vocab_size, 0.125, np.float32),
        ),
    )
    return memories


def test_recap_equals_plain_decoding_and_the_library_with_memory_carried_along(
    shipped_target: TransformersTarget, unseen_questions: list[tuple[Image.Image, str]], is_full: bool
) -> None:
    memories = Memories(shipped_target.vocab_size)
    different = []
    for index, (request, plain) in enumerate(
        requests(shipped_target, unseen_questions, NUM_QUESTIONS if is_full else 12)
    ):
        recap = output_ids(shipped_target, "recap@63", request, memories)
        if not recap == plain == library_greedy(shipped_target, request):
            different.append(index)
    assert different == []
    assert memories.sizes.unigram > 100


@pytest.mark.parametrize("num_nodes", [6, 24])
def test_the_text_does_not_depend_on_what_the_memory_holds(
    shipped_target: TransformersTarget,
    unseen_questions: list[tuple[Image.Image, str]],
    num_nodes: int,
    is_full: bool,
) -> None:
    count = NUM_HARD_QUESTIONS if is_full else 3
    real = Memories(shipped_target.vocab_size)
    for request, _ in requests(shipped_target, unseen_questions, count):
        output_ids(shipped_target, "recap@63", request, real)
    full_of_rows, full_of_rubbish = real.snapshot(), rubbish(shipped_target.vocab_size).snapshot()
    for request, plain in requests(shipped_target, unseen_questions, count):
        empty = Memories(shipped_target.vocab_size)
        assert output_ids(shipped_target, f"recap@{num_nodes}", request, empty) == plain
        for snapshot in (full_of_rows, full_of_rubbish):
            memories = Memories(shipped_target.vocab_size)
            memories.restore(snapshot)
            assert output_ids(shipped_target, f"recap@{num_nodes}", request, memories) == plain
