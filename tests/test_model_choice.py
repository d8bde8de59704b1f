"""Which model answers: chosen a tab, loaded when first needed, never mixed up with another one's memory."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from app_page import open_app
from page_runs import PARTS, PageTarget, Tab, words

from demo import app, texts
from demo.fair_use import RunLimiter
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.model_choice import ModelChoice
from demo.models import Models, make_ready
from demo.session import SessionStore
from recap.budget import CostCurve
from recap.drafters import open_drafter
from recap.errors import InputError, ModelError, NotEnoughMemoryError
from recap.targets.scripted import random_scores

CHOICE_PARTS = ("choice", "model_note", "memory_note", "status")


class OtherTarget(PageTarget):
    """A model that answers otherwise."""

    def __init__(self, pass_seconds: float = 0.0) -> None:
        super().__init__(pass_seconds)
        self._next_scores = random_scores(self.vocab_size, order=2, seed=9)


class Page:
    """The handlers over several models, and what each loader was told."""

    def __init__(self, **loaders: Callable[[bool], Any]) -> None:
        self.loads: list[tuple[str, bool]] = []

        def noted(name: str, load: Callable[[bool], Any]) -> Callable[[bool], Any]:
            return lambda may_spread: (self.loads.append((name, may_spread)), load(may_spread))[1]

        models = Models({name: noted(name, load) for name, load in loaders.items()})
        sessions = SessionStore()
        self.host = ModelHost(models, limiter=RunLimiter(10_000))
        self.handlers = Handlers(sessions, self.host, [])
        self.handlers.wire(**{part: part for part in PARTS})
        self.choice = ModelChoice(sessions, self.host, self.handlers)
        self.choice.wire(**{part: part for part in CHOICE_PARTS})
        self.host.start()

    def choose(self, tab: Tab, name: Any, on_state: Callable[[dict], None] = lambda status: None) -> dict:
        async def press() -> dict:
            shown: dict = {}
            async for changes in self.choice.choose(name, tab.request):
                shown |= changes
                on_state(changes.get("status", {}))
            return shown

        return asyncio.run(press())


def refuse(sentence: str, kind: type[Exception] = ModelError) -> Callable[[bool], Any]:
    def load(_: bool) -> Any:
        raise kind(sentence)

    return load


def test_a_chosen_model_answers_this_tab_and_no_other(picture: Path) -> None:
    page = Page(one=lambda _: PageTarget(), two=lambda _: OtherTarget())
    a, b = Tab(page.handlers, "a", picture), Tab(page.handlers, "b", picture)
    before = words(a.trace(a.run()), 1)
    assert page.loads == [("one", True)], "what nobody asks for is not loaded"
    shown = page.choose(a, "two")
    assert shown["status"]["sentence"] == texts.model_chosen("two")
    assert shown["model_note"]["sentence"] == texts.model_in_use("two")
    assert shown["memory_note"]["sentence"] == texts.memory_held(0)
    after = words(a.trace(a.run()), 1)
    assert after != before
    assert words(b.trace(b.run()), 1) == before
    page.choose(a, "one")
    assert words(a.trace(a.run()), 1) == before
    assert page.loads == [("one", True), ("two", False)], "both are kept"


def test_each_model_has_a_memory_of_its_own(picture: Path) -> None:
    """Against a tab a model, asked the same: same passes, so the same rows were found."""
    page = Page(one=lambda _: PageTarget(), two=lambda _: OtherTarget())
    changing, first, second = (Tab(page.handlers, name, picture) for name in "abc")
    page.choose(second, "two")
    for question in ("What is it?", "Where?", "What is it?"):
        for model, alone in (("one", first), ("two", second)):
            page.choose(changing, model)
            trace, expected = changing.trace(changing.run(question)), alone.trace(alone.run(question))
            assert words(trace, 1) == words(expected, 1) == words(expected, 0)
            assert [len(run["iterations"]) for run in trace["runs"]] == [
                len(run["iterations"]) for run in expected["runs"]
            ]
    for model, alone in (("", first), ("two", second)):
        ours, theirs = changing.session.streams[model], alone.session.memories
        assert all((a == b).all() for a, b in zip(ours.unigram, theirs.unigram, strict=True))
    page.handlers.clear_memory(changing.request)
    assert changing.session.streams == {}


def test_a_broken_choice_keeps_the_model_that_was_there(picture: Path) -> None:
    page = Page(one=lambda _: PageTarget(), broken=refuse("The folder holds no model."))
    tab = Tab(page.handlers, "a", picture)
    before = words(tab.trace(tab.run()), 1)
    for _ in range(2):  # chosen again, it is tried again
        shown = page.choose(tab, "broken")
        assert (shown["status"]["kind"], shown["status"]["sentence"]) == (
            "error",
            "The folder holds no model.",
        )
        assert shown["choice"] == "one"
        assert "model_note" not in shown
        assert words(tab.trace(tab.run()), 1) == before
    assert [name for name, _ in page.loads] == ["one", "broken", "broken"]
    with pytest.raises(ModelError, match="holds no model"):
        page.host.submit(lambda target, ticket: None, model="broken")


def test_a_model_that_failed_is_there_once_it_can_be_loaded(picture: Path) -> None:
    problems = ["The hub cannot be reached."]

    def load(_: bool) -> Any:
        if problems:
            raise ModelError(problems.pop())
        return OtherTarget()

    page = Page(first=load, other=lambda _: PageTarget())
    tab = Tab(page.handlers, "a", picture)
    assert tab.run()["status"]["sentence"] == "The hub cannot be reached."
    assert page.host.state == "failed"
    assert page.choose(tab, "other")["status"]["sentence"] == texts.model_chosen("other")
    assert tab.run()["status"]["kind"] == "done"
    assert page.choose(tab, "first")["status"]["sentence"] == texts.model_chosen("first")
    assert (page.host.state, page.host.status_sentence) == ("ready", "")


@pytest.mark.parametrize("name", ["/etc", "owner/anything", "", None, 5, ["one"], "ONE"])
def test_nothing_but_what_is_offered_can_be_loaded(picture: Path, name: Any) -> None:
    page = Page(one=lambda _: PageTarget(), two=lambda _: OtherTarget())
    tab = Tab(page.handlers, "a", picture)
    tab.run(tokens=2)
    shown = page.choose(tab, name)
    assert shown["status"]["sentence"] == texts.no_such_model(("one", "two"))
    assert shown["choice"] == "one"
    with pytest.raises(InputError, match="does not offer that model"):
        page.host.submit(lambda target, ticket: None, model="owner/anything")
    assert page.loads == [("one", True)]


def test_while_a_model_loads_its_seconds_are_shown_and_a_run_of_this_tab_waits(picture: Path) -> None:
    loaded = threading.Event()
    page = Page(one=lambda _: PageTarget(), two=lambda _: (loaded.wait(30), OtherTarget())[1])
    tab, other = Tab(page.handlers, "a", picture), Tab(page.handlers, "b", picture)
    tab.run(tokens=2)
    sentences = []

    def look(status: dict) -> None:
        sentences.append(status.get("sentence", ""))
        if "is loading" in sentences[-1] and not loaded.is_set():
            assert page.host.models.state("two") == "loading"
            assert page.host.state == "ready"
            assert page.host.place(page.host.submit(lambda target, ticket: None)) == 1
            loaded.set()

    shown = page.choose(tab, "two", look)
    assert any("is loading, 0 s" in sentence for sentence in sentences)
    assert shown["status"]["sentence"] == texts.model_chosen("two")
    assert other.run(tokens=2)["status"]["kind"] == "done"


def test_stop_while_it_waits_to_be_loaded_leaves_everything_as_it_was(picture: Path) -> None:
    page = Page(one=lambda _: PageTarget(pass_seconds=0.05), two=lambda _: OtherTarget())
    busy, tab = Tab(page.handlers, "a", picture), Tab(page.handlers, "b", picture)

    async def both() -> dict:
        run = asyncio.create_task(busy.run_async("What?", 6, 12))
        await busy.until_begun()
        shown: dict = {}
        async for changes in page.choice.choose("two", tab.request):
            shown |= changes
            if changes.get("status", {}).get("kind") == "waiting":
                page.handlers.stop(tab.request)
        await run
        return shown

    shown = asyncio.run(both())
    assert shown["status"]["sentence"] == texts.MODEL_NOT_CHANGED
    assert shown["choice"] == "one"
    assert page.loads == [("one", True)]


def test_no_choice_while_a_run_is_going_on(picture: Path) -> None:
    page = Page(one=lambda _: PageTarget(pass_seconds=0.05), two=lambda _: OtherTarget())
    tab = Tab(page.handlers, "a", picture)

    async def both() -> tuple[dict, dict]:
        run = asyncio.create_task(tab.run_async("What?", 6, 12))
        await tab.until_begun()
        (refused,) = [changes async for changes in page.choice.choose("two", tab.request)]
        return refused, await run

    refused, shown = asyncio.run(both())
    assert refused["status"]["sentence"] == texts.RUN_GOING_ON
    assert refused["choice"] == "one"
    assert shown["status"]["kind"] == "done"


def test_models_give_way_where_there_is_no_room_beside_them(picture: Path) -> None:
    """A machine with room for one: the other is truly free before the next one is loaded, and comes back when asked."""
    held: weakref.WeakSet = weakref.WeakSet()

    def load(kind: type[PageTarget]) -> Callable[[bool], Any]:
        def make(may_spread: bool) -> Any:
            gc.collect()
            if len(held):
                raise NotEnoughMemoryError("There is no room.")
            target = kind()
            held.add(target)
            return target

        return make

    page = Page(one=load(PageTarget), two=load(OtherTarget))
    tab, other = Tab(page.handlers, "a", picture), Tab(page.handlers, "b", picture)
    before = words(tab.trace(tab.run()), 1)
    assert page.choose(tab, "two")["status"]["sentence"] == texts.model_chosen("two")
    assert page.host.state == "away"
    assert page.host.status_sentence == ""
    after = words(tab.trace(tab.run()), 1)
    assert words(other.trace(other.run()), 1) == before != after
    assert words(tab.trace(tab.run()), 1) == after
    assert page.loads[:3] == [("one", True), ("two", False), ("two", True)]


def test_the_picture_lab_reads_on_the_model_that_wrote_the_answer(picture: Path, tmp_path: Path) -> None:
    page = Page(one=lambda _: PageTarget(), two=lambda _: OtherTarget())
    tab = Tab(page.handlers, "a", picture)
    other = tmp_path / "other.png"
    other.write_bytes(picture.read_bytes())
    page.handlers.examples.append(SimpleNamespace(picture_path=other))
    page.choose(tab, "two")
    url = tab.run(tokens=12)["player"]["url"]
    page.choose(tab, "one")

    async def read() -> dict:
        shown: dict = {}
        async for changes in page.handlers.read_again(tab.request, SimpleNamespace(url=url)):
            shown |= changes
        return shown

    told = asyncio.run(read())["lab"]
    num_passes = len(tab.trace({"player": {"url": url}})["runs"][1]["iterations"])
    assert len(told["roots"]) >= num_passes - 1, "the same model would choose the same tokens again"


def test_the_command_line_names_what_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(*arguments: str) -> list[str]:
        return app.offered_models(app.build_parser().parse_args(arguments).model)

    monkeypatch.delenv("RECAP_MODEL", raising=False)
    folder = app.ROOT / "assets" / "teaching_vlm"
    shipped = [name for name in ("qwen", "llava") if (folder / name / "model.safetensors").exists()]
    assert offered() == [f"teaching-{name}" for name in shipped]
    monkeypatch.setenv("RECAP_MODEL", "Qwen/Qwen2.5-VL-7B-Instruct, teaching-qwen,")
    assert offered() == ["Qwen/Qwen2.5-VL-7B-Instruct", "teaching-qwen"]
    assert offered("--model", "here", "--model", "there", "--model", "here") == ["here", "there"]


def test_loaders_know_their_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import recap.targets.loading as loading

    asked = []
    monkeypatch.setattr(
        loading, "load_target", lambda name, dtype, may_spread: asked.append((name, may_spread))
    )
    monkeypatch.setattr("demo.models.make_ready", lambda target: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    loaders = [app.model_loader(name, "auto") for name in ("one", "two")]
    for load, may_spread in zip(loaders, (True, False), strict=True):
        load(may_spread)
    assert asked == [("one", True), ("two", False)]
    assert "spaces" not in sys.modules


class MeasuredTarget:
    """Counts how often its passes are timed, which one that cannot check guesses refuses."""

    vocab_size, blocked_ids = 24, ()

    def __init__(self, error: ModelError | None = None) -> None:
        self.num_measured, self.error = 0, error

    @property
    def cost_curve(self) -> CostCurve:
        self.num_measured += 1
        if self.error:
            raise self.error
        return CostCurve((1, 2), (0.01, 0.01))


def test_what_a_pass_costs_is_measured_while_the_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    import recap.targets.loading as loading

    warmed = []

    def warm_up(target: MeasuredTarget, methods: tuple[str, ...] = ("recap",)) -> None:
        for method in methods:
            open_drafter(target, method)
            warmed.append((target, method))

    monkeypatch.setattr(loading, "warm_up", warm_up)
    target, plain = MeasuredTarget(), MeasuredTarget(ModelError("It cannot check guesses."))
    for each in (target, plain):  # the second one says so when it is asked for a run
        make_ready(each)
    assert warmed == [(target, "recap"), (target, "recap@auto"), (plain, "recap")]
    assert (target.num_measured, plain.num_measured) == (1, 1)


SEVERAL_MODELS = """
import sys, time
sys.path[:0] = [{root!r}, {root!r} + "/tests"]
from pathlib import Path
from page_runs import PageTarget
from demo.serve import serve
from recap.errors import ModelError

def broken(_):
    time.sleep(1)
    raise ModelError("The folder holds no model.")

loaders = {{"first": lambda _: PageTarget(), "second": lambda _: PageTarget(), "broken": broken}}
serve("127.0.0.1", {port}, loaders, Path({root!r}) / "assets" / "traces")
"""


@pytest.mark.browser
def test_in_the_browser_one_click_is_one_choice_and_a_broken_one_goes_back(chromium: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = SEVERAL_MODELS.format(root=str(app.ROOT), port=port)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert any("is open at" in line for line in process.stdout)
            with open_app(f"http://127.0.0.1:{port}/", chromium) as page:
                page.locator("#recap-try").click()
                field = page.locator("#recap-model-choice input")
                for name, said in (
                    ("broken", "The folder holds no model."),
                    ("second", texts.model_chosen("second")),
                ):
                    field.click()
                    page.get_by_role("option", name=name, exact=True).click()
                    page.get_by_test_id("recap-status").get_by_text(said).wait_for()
                    page.locator("#recap-run:not([disabled])").wait_for()
                    assert page.get_by_test_id("recap-status").inner_text() == said, "and nothing after it"
                    assert field.input_value() == ("first" if name == "broken" else name)
                assert page.get_by_text(texts.model_in_use("second")).is_visible()
                field.click()
                choice = page.get_by_role("option", name="first", exact=True)
                choice.wait_for()
                for is_list_open in (True, False):
                    page.keyboard.press("Escape")
                    choice.wait_for(state="detached")
                    expanded = page.locator("#recap-try").get_attribute("aria-expanded")
                    assert (expanded == "true") == is_list_open, "the list closes first, then the panel"
                assert page.faults == []
        finally:
            process.terminate()
