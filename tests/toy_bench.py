"""A benchmark on a target without weights: conversations, their measurement and its report in a second."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np

from recap.bench.report import build_report
from recap.bench.runner import BenchRunner
from recap.bench.settings import BenchSettings
from recap.bench.workload import Conversation
from recap.errors import InputError
from recap.events import Environment
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores

VOCAB_SIZE = 40
END_ID = 0
#: The figures of a method over all its units.
OVERALL_KEYS = {
    "num_units",
    "num_failed",
    "num_without_pass",
    "speedup",
    "speedup_of_totals",
    "decode_speedup",
    "prefill_share",
    "p10",
    "p50",
    "p90",
    "acceptance_length",
    "tokens_per_second",
    "identical_to_ar",
    "passes",
    "mean_nodes",
}


class ToyTarget(ScriptedTarget):
    """A scripted target that also takes questions; every letter is a token. Notes the histories it was given."""

    name = "toy"
    environment = Environment("CPU", "float32", "-", "-", 1)

    def __init__(self) -> None:
        super().__init__(VOCAB_SIZE, random_scores(VOCAB_SIZE, order=2, seed=3), end_ids=[END_ID])
        self.histories = []

    def build_request(self, image, question, max_new_tokens=200, history=()):
        if "unanswerable" in question:
            raise InputError("This question cannot be asked.")
        self.histories.append((question, tuple(history)))
        text = "".join(part for pair in history for part in pair) + question
        return Request(np.array([1 + ord(c) % (VOCAB_SIZE - 1) for c in text], np.int64), max_new_tokens)

    def token_bytes(self, token_id):
        return bytes([64 + token_id])

    def is_special(self, token_id):
        return token_id == END_ID


def talk(id_, *turns, topic="t"):
    return Conversation(str(id_), topic, None, turns)


CONVERSATIONS = (
    talk(1, "what is that", topic="a"),
    talk(2, "and this one", "really", "sure about it", topic="b"),
    talk(3, "describe the picture", topic="a"),
    talk(4, "what is that here", "tell me more", topic="b"),
)


def measure(methods, conversations=CONVERSATIONS, target=None, **options):
    """All results, by (id, turn, method)."""
    settings = BenchSettings(tuple(methods), max_new_tokens=25, **options)
    runner = BenchRunner(target or ToyTarget(), settings)
    results = [result for unit in runner.run(conversations) for result in unit.results]
    return {(result.id, result.turn, result.method): result for result in results}


def toy_report(**options):
    results = list(measure(["ar", "recap@16", "recap-unigram@4"], **options).values())
    environment = dict.fromkeys((field.name for field in fields(Environment)), "-")
    settings = {"model": "toy", "max_new_tokens": 25, "repeats": 1, "reset_u": "never"}
    return json.loads(json.dumps(build_report(results, environment, settings), allow_nan=False))
