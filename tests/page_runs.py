"""The page's handlers without a browser: a target that takes questions, and tabs that press the buttons."""

from __future__ import annotations

import asyncio
import copy
import json
from gzip import decompress
from types import SimpleNamespace

import numpy as np

from demo.fair_use import RunLimiter
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.models import Models
from demo.session import SessionStore
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores

VOCAB_SIZE = 24
PARTS = ("status", "player", "run", "stop", "memory_note", "lab")


class PageTarget(ScriptedTarget):
    """A scripted target that takes questions: their letters are the prompt. It counts its passes."""

    def __init__(self, pass_seconds: float = 0.0, fails_at: int | None = None) -> None:
        scores = random_scores(VOCAB_SIZE, order=2, seed=4)

        def next_scores(history):
            if self.fails_at is not None and len(history) > self.fails_at:
                return np.full(VOCAB_SIZE, np.nan, np.float32)
            return scores(history)

        super().__init__(VOCAB_SIZE, next_scores, blocked_ids=(1,), pass_seconds=pass_seconds)
        self.fails_at = fails_at
        self.num_passes = 0

    def score_histories(self, histories, want_all_scores=False):
        self.num_passes += 1
        return super().score_histories(histories, want_all_scores)

    def build_request(self, image, question, max_new_tokens=200):
        return Request(np.array([2 + ord(letter) % 20 for letter in question], np.int64), max_new_tokens)


class Tab:
    """One browser tab: what it sends, and every state it was shown."""

    def __init__(self, handlers: Handlers, name: str, picture=None) -> None:
        self.handlers = handlers
        self.request = SimpleNamespace(session_hash=name)
        self.session = handlers._session(self.request)
        self.session.picture_path = picture

    def run(self, question="What is it?", nodes=6, tokens=40, on_state=lambda status: None, picture=None):
        """The last change of every part of the page."""
        return asyncio.run(self.run_async(question, nodes, tokens, on_state, picture))

    async def run_async(self, question, nodes, tokens, on_state=lambda status: None, picture=None):
        shown = {}
        async for changes in self.handlers.run(picture, question, nodes, tokens, self.request):
            shown |= changes
            on_state(changes.get("status", {}))
        return shown

    async def until_asked(self) -> None:
        """Wait until the page has taken this tab's first run: it is in the queue, or was."""
        async with asyncio.timeout(60):
            while self.session.ticket is None:
                await asyncio.sleep(0.001)

    async def until_begun(self) -> None:
        """Wait until that run has its turn."""
        await self.until_asked()
        async with asyncio.timeout(60):
            while self.session.ticket in self.handlers._host._queue:
                await asyncio.sleep(0.001)

    def trace(self, shown) -> dict:
        """The kept trace, read without the project's own reader."""
        return json.loads(decompress(self.session.runs[shown["player"]["url"].rpartition("/")[2]].trace))


def make_page(target, max_waiting=8, examples=(), limiter=None):
    """The handlers over their own host and sessions; tests may ask as often as they like unless they limit it."""
    host = ModelHost(Models({"scripted": lambda _: target}), max_waiting, limiter or RunLimiter(limit=10_000))
    handlers = Handlers(SessionStore(), host, list(examples))
    handlers.wire(**{part: part for part in PARTS})
    host.start()
    return handlers


def words(trace: dict, run: int) -> list[int]:
    return trace["runs"][run]["finished"]["output_ids"]


def unigram_rows(memories) -> list[np.ndarray]:
    return [np.array(array) for array in memories.unigram]


def without_clock(trace: dict) -> dict:
    """A trace with all that is measured or dated set to nothing."""
    trace = copy.deepcopy(trace)
    trace["created"] = ""
    for run in trace["runs"]:
        run["prefill"]["seconds"] = 0
        for iteration in run["iterations"]:
            iteration["seconds"] = {}
        if run["finished"]:
            run["finished"] |= {"prefill_seconds": 0, "decode_seconds": 0}
    return trace
