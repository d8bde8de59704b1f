"""ZeroGPU with a `spaces` of our own: what crosses into a call and back is pickled, and nothing else is kept of it."""

from __future__ import annotations

import asyncio
import base64
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pytest
from gradio.context import LocalContext
from page_runs import PageTarget, Tab, make_page, unigram_rows, words
from PIL import Image

from demo import api, texts, zero_gpu
from demo.picture_lab import OTHERS
from demo.zero_gpu import MARGIN_SECONDS, SECONDS_LENT, is_zero_gpu, lend_first
from recap.errors import InputError, ModelError


class Spaces(ModuleType):
    """Stands for the package: a decorated function gets and gives copies only. It notes calls and who asked."""

    def __init__(self) -> None:
        super().__init__("spaces")
        self.durations: list[float] = []
        self.calls: list[str] = []
        self.visitors: list[Any] = []
        self.refusal: gr.Error | None = None
        self.is_free = threading.Event()  # a call waits for it
        self.is_free.set()

    def GPU(self, duration: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        self.durations.append(duration)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def lent(*args: Any) -> Any:
                self.calls.append(args[0].__name__)
                self.visitors.append(LocalContext.request.get(None))
                if self.refusal:
                    raise self.refusal
                assert self.is_free.wait(60)
                sent, there = pickle.loads(pickle.dumps(args)), zero_gpu._is_ready[:]
                zero_gpu._is_ready.clear()  # a fresh worker
                try:
                    return pickle.loads(pickle.dumps(function(*sent)))
                except (InputError, ModelError):
                    raise AssertionError("a known error's sentence comes back as a value") from None
                except Exception as error:
                    raise gr.Error(type(error).__name__, title="ZeroGPU worker error") from error
                finally:
                    zero_gpu._is_ready[:] = there

            return lent

        return decorate


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> Spaces:
    fake = Spaces()
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setattr(zero_gpu, "_held", [])
    return fake


class WordyTarget(PageTarget):
    """One whose prompt is the question's letters, picture or not, and that notes when it was made ready."""

    name = "wordy"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.num_ready = 0


def make_ready(target: WordyTarget) -> None:
    target.num_ready += 1


def lent_page(target: WordyTarget) -> Any:
    loaders = lend_first(
        {"wordy": lambda may_spread: target, "never": lambda _: pytest.fail("loaded")}, make_ready
    )
    assert list(loaders) == ["wordy"]
    return make_page(loaders["wordy"](False))


def test_it_is_told_by_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("", False), ("0", False), ("1", True), ("true", True)):
        monkeypatch.setenv("SPACES_ZERO_GPU", value)
        assert is_zero_gpu() is expected
    monkeypatch.delenv("SPACES_ZERO_GPU")
    assert not is_zero_gpu()
    assert "spaces" not in sys.modules, "nothing is imported elsewhere"


def test_runs_are_those_of_a_page_with_its_own_model_and_u_travels_along(
    spaces: Spaces, picture: Path
) -> None:
    target = WordyTarget()
    lent, usual = Tab(lent_page(target), "a", picture), Tab(make_page(PageTarget()), "a", picture)
    spaces.is_free.clear()

    def free(status: dict[str, Any]) -> None:
        """The GPU comes when the page has said that it is waited for."""
        if status.get("sentence") == texts.GPU_LENT:
            spaces.is_free.set()

    for question in ("What is it?", "What is it?", "Where?"):
        shown = lent.run(question, on_state=free)
        expected = usual.run(question)
        trace, other = lent.trace(shown), usual.trace(expected)
        assert words(trace, 1) == words(other, 1)
        passes = [[len(run["iterations"]) for run in played["runs"]] for played in (trace, other)]
        assert passes[0] == passes[1], "the same memory, so the same number of passes"
        lanes, other_lanes = ([lane["text"] for lane in s["status"]["lanes"]] for s in (shown, expected))
        assert lanes == other_lanes
    for ours, theirs in zip(
        unigram_rows(lent.session.memories), unigram_rows(usual.session.memories), strict=True
    ):
        assert np.array_equal(ours, theirs)
    assert lent.session.memories.request == 3
    assert spaces.is_free.is_set()
    assert spaces.calls == ["_record"] * 3, "one call a run"
    assert spaces.durations == [SECONDS_LENT]
    assert target.num_ready == 3, "each worker is made ready before its first run"


def test_a_failed_call_is_one_sentence_and_leaves_u_alone(spaces: Spaces, picture: Path) -> None:
    target = WordyTarget()
    tab = Tab(lent_page(target), "a", picture)
    tab.run()
    before = unigram_rows(tab.session.memories)
    target.fails_at = 20
    assert "not finite" in tab.run()["status"]["sentence"]
    target.fails_at = None
    build, target.build_request = target.build_request, None
    assert tab.run()["status"]["sentence"] == texts.RUN_FAILED
    target.build_request = build
    spaces.refusal = gr.Error(
        "You have exceeded your free quota. Try again in 3:00:00", title="ZeroGPU quota"
    )
    assert tab.run()["status"]["sentence"] == spaces.refusal.message
    spaces.refusal = None
    assert all(np.array_equal(a, b) for a, b in zip(before, unigram_rows(tab.session.memories), strict=True))
    assert tab.run()["status"]["kind"] == "done"


def test_after_a_stop_what_comes_back_is_dropped(spaces: Spaces, picture: Path) -> None:
    tab = Tab(lent_page(WordyTarget(pass_seconds=0.01)), "a", picture)
    shown = tab.run(on_state=lambda status: tab.handlers.stop(tab.request) if status else None)
    assert "player" not in shown
    assert tab.session.num_unigram_rows() == 0


def test_a_run_ends_before_the_gpu_is_taken_back(
    spaces: Spaces, picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = WordyTarget()
    monkeypatch.setattr(zero_gpu, "SECONDS_LENT", MARGIN_SECONDS + 33)
    clock = SimpleNamespace(monotonic=lambda: float(target.num_passes))  # a second a pass
    monkeypatch.setattr(zero_gpu, "time", clock)
    tab = Tab(lent_page(target), "a", picture)
    shown = tab.run(tokens=30)  # plain decoding takes thirty of them
    assert "Stopped after pass" in shown["status"]["sentence"]
    assert words(tab.trace(shown), 0)[: len(words(tab.trace(shown), 1))] == words(tab.trace(shown), 1)


def test_the_time_counts_for_the_visitor_who_asked(spaces: Spaces, picture: Path) -> None:
    handlers = lent_page(WordyTarget())
    for name in ("a", "b"):
        tab = Tab(handlers, name, picture)

        async def ask(tab: Tab = tab, name: str = name) -> None:
            LocalContext.request.set(name)
            await tab.run_async(tokens=3, question="What?", nodes=2)

        asyncio.run(ask())
    assert spaces.visitors == ["a", "b"]


def test_the_endpoint_and_the_picture_lab_are_calls_too(
    spaces: Spaces, picture: Path, tmp_path: Path
) -> None:
    target = WordyTarget()
    (lent,) = (load(True) for load in lend_first({"wordy": lambda _: target}, make_ready).values())
    image = base64.b64encode(picture.read_bytes()).decode()
    answer, figures, trace = zero_gpu.call(
        lent, api._record, api._open_base64(image), "What?", 8, "recap@4", should_stop=lambda: False
    )
    assert figures["answer"] == answer
    assert figures["first_difference"] is None
    assert [run["name"] for run in trace["runs"]] == ["ar", "recap@4"]
    with pytest.raises(ModelError, match="no method called 'recapp'"):
        zero_gpu.call(lent, api._record, None, "What?", 8, "recapp", should_stop=lambda: False)
    assert spaces.calls == ["_record", "_record"]

    other = tmp_path / "other.png"
    Image.new("RGB", (40, 40), "blue").save(other)
    example = SimpleNamespace(picture_path=other)
    handlers = make_page(lent, examples=[example])
    tab = Tab(handlers, "a", picture)
    url = tab.run(tokens=8)["player"]["url"]

    async def read() -> dict[str, Any]:
        shown: dict[str, Any] = {}
        async for changes in handlers.read_again(tab.request, SimpleNamespace(url=url)):
            shown |= changes
        return shown

    told = asyncio.run(read())["lab"]
    assert told["kind"] == "done", told
    assert all(len(root["others"]) == len(OTHERS) for root in told["roots"])
    assert spaces.calls[-1] == "read_again"
