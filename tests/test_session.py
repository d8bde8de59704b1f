"""Runs of the page on a target without weights: queue, Stop, memory U, people side by side, and refusals."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
from page_runs import PARTS, PageTarget, Tab, make_page, unigram_rows, words
from PIL import Image

from demo import host as host_module
from demo import texts
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.library import Example, Lessons, RecordedRuns
from demo.limits import check_new_tokens, check_nodes, check_question
from demo.model_choice import ModelChoice
from demo.models import Models
from demo.page import build_page
from demo.session import MAX_KEPT_RUNS, SessionStore, forget_regularly
from recap.errors import InputError, ModelError
from recap.pictures import open_picture


def test_a_run_is_plain_decoding_then_recap_with_the_same_text(picture):
    tab = Tab(make_page(PageTarget()), "a", picture)
    shown = tab.run()
    trace = tab.trace(shown)
    assert [run["name"] for run in trace["runs"]] == ["ar", "recap@6"]
    assert words(trace, 0) == words(trace, 1)
    assert len(words(trace, 0)) == 40
    assert "the same text" in shown["status"]["sentence"]
    assert trace["request"]["image"]["original_size"] == [40, 40]
    assert tab.session.num_unigram_rows() > 0


def test_shown_speed_is_the_trace_s(picture):
    tab = Tab(make_page(PageTarget(pass_seconds=0.002)), "a", picture)
    shown = tab.run()
    rates = []
    for run in tab.trace(shown)["runs"]:
        seconds = run["finished"]["prefill_seconds"] + run["finished"]["decode_seconds"]
        rates.append(len(run["finished"]["output_ids"]) / seconds)
    assert f"{rates[1] / rates[0]:.2f}×" in shown["status"]["sentence"]


def test_a20_stop_ends_a_run_within_one_pass_and_the_next_run_starts_at_once(picture):
    target = PageTarget(pass_seconds=0.06)
    tab = Tab(make_page(target), "a", picture)
    seen = {}

    def stop_at_pass_three(status):
        lanes = status.get("lanes", [])
        if (
            status.get("kind") == "running"
            and len(lanes) == 2
            and "tokens" in lanes[1]["figures"]
            and not seen
        ):
            seen["passes"] = target.num_passes
            tab.handlers.stop(tab.request)

    shown = tab.run(tokens=12, on_state=stop_at_pass_three)
    assert target.num_passes - seen["passes"] <= 1
    assert "Stopped after pass" in shown["status"]["sentence"]
    trace = tab.trace(shown)
    assert trace["runs"][1]["finished"]["stop_reason"] == "stopped"
    assert words(trace, 1) == words(trace, 0)[: len(words(trace, 1))]
    started = time.perf_counter()
    shown = tab.run(tokens=3)
    assert time.perf_counter() - started < 3
    assert words(tab.trace(shown), 0) == words(trace, 0)[:3]


def test_a20_stop_needs_none_of_the_threads_in_which_pictures_wait(picture, tmp_path):
    handlers = make_page(PageTarget())
    recorded = RecordedRuns(tmp_path)
    choice = ModelChoice(SessionStore(), handlers._host, handlers)
    tab = Tab(handlers, "a", picture)

    async def press() -> None:
        page = build_page(recorded, Lessons(tmp_path, recorded), handlers, choice)
        (stop,) = [wired.fn for wired in page.fns.values() if wired.name == "stop"]
        assert inspect.iscoroutinefunction(stop), "else gradio calls it in a thread"
        tab.session.ticket = handlers._host.submit(lambda target, ticket: None)
        await stop(tab.request)

    asyncio.run(press())
    assert tab.session.ticket.should_stop


def test_a20_stop_during_plain_decoding_keeps_the_run_that_was_shown(picture):
    tab = Tab(make_page(PageTarget(pass_seconds=0.03)), "a", picture)
    shown = tab.run(on_state=lambda status: tab.handlers.stop(tab.request) if status.get("lanes") else None)
    assert "player" not in shown
    assert shown["status"]["sentence"] == texts.STOPPED_EARLY


def test_memory_u_returns_after_a_stop_and_after_an_error(picture):
    target = PageTarget()
    tab = Tab(make_page(target), "a", picture)
    good = tab.trace(tab.run())
    memories = tab.session.memories
    before, request = unigram_rows(memories), memories.request

    target.fails_at = 30
    shown = tab.run(tokens=60)
    assert "not finite" in shown["status"]["sentence"]
    assert "player" not in shown

    target.fails_at, target._pass_seconds = None, 0.02
    tab.run(
        "Another question?",
        on_state=lambda s: tab.handlers.stop(tab.request) if len(s.get("lanes", [])) == 2 else None,
    )
    assert memories.request == request
    assert all(np.array_equal(a, b) for a, b in zip(before, unigram_rows(memories), strict=True))

    target._pass_seconds = 0.0
    assert words(tab.trace(tab.run()), 1) == words(good, 1)


def test_the_place_in_the_queue_is_shown_and_the_queue_is_bounded(picture):
    handlers = make_page(PageTarget(pass_seconds=0.02), max_waiting=1)
    tabs = [Tab(handlers, name, picture) for name in "abc"]
    sentences = [[] for _ in tabs]

    async def start(index):
        if index == 1:
            await tabs[0].until_begun()
        if index == 2:
            await tabs[1].until_asked()
        return await tabs[index].run_async(
            "What?", 6, 20, lambda status: sentences[index].append(status.get("sentence"))
        )

    async def all_three():
        return await asyncio.gather(*(start(index) for index in range(3)))

    shown = asyncio.run(all_three())
    assert texts.waiting(1) in sentences[1]
    assert shown[2]["status"]["sentence"] == texts.queue_full(1)
    assert shown[0]["status"]["kind"] == shown[1]["status"]["kind"] == "done"


def test_a_second_press_is_refused_while_the_first_run_goes_on(picture):
    tab = Tab(make_page(PageTarget(pass_seconds=0.02)), "a", picture)

    async def twice():
        first = asyncio.create_task(tab.run_async("What?", 6, 20))
        await tab.until_begun()
        refused = await tab.run_async("What?", 6, 20)
        memory = tab.handlers.clear_memory(tab.request)
        return await first, refused, memory

    first, refused, memory = asyncio.run(twice())
    assert first["status"]["kind"] == "done"
    assert refused["status"]["sentence"] == memory["sentence"] == texts.RUN_GOING_ON


def test_a_run_that_nobody_waits_for_ends(picture, monkeypatch):
    monkeypatch.setattr(host_module, "ABANDONED_SECONDS", 0.1)
    tab = Tab(make_page(PageTarget(pass_seconds=0.02)), "a", picture)

    async def leave():
        async for _ in tab.handlers.run(None, "What?", 6, 200, tab.request):
            return

    asyncio.run(leave())
    assert tab.session.ticket.done.wait(2)


def test_clearing_memory_empties_u(picture):
    tab = Tab(make_page(PageTarget()), "a", picture)
    tab.run()
    assert tab.handlers.clear_memory(tab.request)["sentence"] == texts.MEMORY_CLEARED
    assert tab.session.num_unigram_rows() == 0


@pytest.mark.parametrize("question", ["", "   ", "\n\n\t", None, 5])
def test_a11_a_blank_question_is_refused(picture, question):
    tab = Tab(make_page(PageTarget()), "a", picture)
    assert tab.run(question)["status"]["sentence"] == texts.NO_QUESTION


def test_a11_no_picture_a_cleared_one_and_a_forgotten_one_are_refused(picture):
    tab = Tab(make_page(PageTarget()), "a")
    assert tab.run()["status"]["sentence"] == texts.NO_PICTURE
    tab.handlers.receive_picture(SimpleNamespace(path=str(picture)), tab.request)
    assert tab.run(tokens=3)["status"]["kind"] == "done"
    tab.handlers.clear_picture(tab.request)
    assert tab.run()["status"]["sentence"] == texts.NO_PICTURE
    assert tab.run(picture="still shown")["status"]["sentence"] == texts.PICTURE_GONE


def test_files_that_were_deleted_in_time_are_told_and_no_path_of_the_machine_is(picture):
    tab = Tab(make_page(PageTarget()), "a", picture)
    folder = picture.parent
    picture.unlink()
    assert tab.run()["status"]["sentence"] == texts.PICTURE_GONE
    for path in (folder / "gone.json", folder, folder / ("a" * 5000)):
        shown, told = tab.handlers.open_trace(str(path), tab.request)
        assert told["sentence"] == texts.trace_refused(texts.TRACE_GONE)
        assert shown == gr.skip()


def test_a_bad_picture_is_told_and_the_one_before_is_not_used(picture, tmp_path):
    tab = Tab(make_page(PageTarget()), "a", picture)
    fake = tmp_path / "text.png"
    fake.write_text("not a picture")
    shown, _, status = tab.handlers.receive_picture(SimpleNamespace(path=str(fake)), tab.request)
    assert shown is None
    assert "text file" in status["sentence"]
    assert tab.run()["status"]["sentence"] == texts.NO_PICTURE


def test_no_file_that_was_not_uploaded_is_read_for_a_visitor(picture, tmp_path):
    handlers = make_page(PageTarget())
    tab = Tab(handlers, "a")
    outside = tmp_path / ".." / "outside.png"
    Image.new("RGB", (40, 40)).save(outside)
    for path in (str(outside), "/etc/passwd", "../outside.png", "", "a\0b", None):
        shown, _, status = handlers.receive_picture(SimpleNamespace(path=path), tab.request)
        assert shown is None
        assert status["sentence"] == texts.NOT_UPLOADED
        assert tab.session.picture_path is None
    assert texts.NOT_UPLOADED in handlers.open_trace("/etc/passwd", tab.request)[1]["sentence"]
    assert handlers.receive_picture(None, tab.request)[2]["sentence"] == texts.NOT_UPLOADED


def test_an_example_brings_its_picture_and_question(picture):
    tab = Tab(make_page(PageTarget(), examples=[Example(picture, "What colour?", "data:,")]), "a")
    shown, described, _, question = tab.handlers.choose_example(tab.request, SimpleNamespace(index=0))
    assert shown.size == (40, 40)
    assert "40 × 40" in described["sentence"]
    assert question == "What colour?"
    assert tab.session.picture_path == picture


@pytest.mark.parametrize("value", [0, -1, 513, 10**6, 2.5, math.nan, math.inf, "abc", "", None, True, [1]])
def test_a22_new_tokens_outside_their_range_get_a_sentence_and_no_run(picture, value):
    tab = Tab(make_page(PageTarget()), "a", picture)
    assert "1 to 512" in tab.run(tokens=value)["status"]["sentence"]
    assert tab.session.ticket is None


@pytest.mark.parametrize(
    "value",
    [-1, 129, 10**6, 2.5, math.nan, "abc", "", "-1", "129", "2.5", "9" * 5000, "autos", None, False, []],
)
def test_a22_nodes_outside_their_range_get_a_sentence_and_no_run(picture, value):
    tab = Tab(make_page(PageTarget()), "a", picture)
    assert "0 to 128" in tab.run(nodes=value)["status"]["sentence"]
    assert tab.session.ticket is None


def test_a22_whole_numbers_pass_as_browsers_send_them():
    assert check_new_tokens(64.0) == 64
    assert check_nodes(0) == 0
    assert [check_nodes(sent) for sent in (16.0, "16", " 128 ", "auto", "Auto ")] == [
        16,
        16,
        128,
        "auto",
        "auto",
    ]
    assert check_question("  What? ") == "What?"
    for question in ("x" * 4001, "half \ud83d"):
        with pytest.raises(InputError):
            check_question(question)


def test_no_nodes_is_plain_decoding_with_memories(picture):
    tab = Tab(make_page(PageTarget()), "a", picture)
    trace = tab.trace(tab.run(nodes=0))
    assert words(trace, 0) == words(trace, 1)


def test_the_budget_follows_the_cost_where_it_is_asked_to(picture):
    """A pass of this target costs the same however many nodes it verifies, so many are worth it."""
    tab = Tab(make_page(PageTarget(pass_seconds=0.002)), "a", picture)
    recap = tab.trace(tab.run(nodes="auto"))["runs"][1]
    assert recap["name"] == "recap@auto"
    budgets = [iteration["detail"]["budget"] for iteration in recap["iterations"]]
    assert all(
        budget["num_nodes"] == it["num_nodes"]
        for budget, it in zip(budgets, recap["iterations"], strict=True)
    )
    assert max(budget["num_nodes"] for budget in budgets) > 8


def test_of_two_pictures_the_one_chosen_last_stays_however_long_the_first_takes(
    picture, tmp_path, monkeypatch
):
    handlers = make_page(PageTarget(), examples=[Example(picture, "What colour?", "data:,")])
    tab = Tab(handlers, "a")
    slow = tmp_path / "slow.png"
    Image.new("RGB", (80, 80), "blue").save(slow)
    is_read, may_go_on = threading.Event(), threading.Event()

    def held(path):
        if path == slow:
            is_read.set()
            assert may_go_on.wait(30)
        return open_picture(path)

    monkeypatch.setattr("demo.handlers.open_picture", held)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.extend(
            tab.handlers.receive_picture(SimpleNamespace(path=str(slow)), tab.request)
        )
    )
    thread.start()
    assert is_read.wait(30)
    assert tab.run()["status"]["sentence"] == texts.PICTURE_OPENING
    *_, question = handlers.choose_example(tab.request, SimpleNamespace(index=0))
    assert (question, tab.session.picture_path) == ("What colour?", picture)
    may_go_on.set()
    thread.join()
    assert answers == [gr.skip()] * 3, "the late answer changes nothing"
    assert tab.session.picture_path == picture
    assert tab.run(tokens=3)["status"]["kind"] == "done"


def test_without_a_model_and_with_a_broken_one_the_sentence_says_so(picture):
    handlers = Handlers(SessionStore(), ModelHost(Models({})), [])
    handlers.wire(**{part: part for part in PARTS})
    assert Tab(handlers, "a", picture).run()["status"]["sentence"] == texts.NO_MODEL

    told = threading.Event()

    def fail(_):
        told.wait(30)
        raise ModelError("The folder holds no model.")

    host = ModelHost(Models({"broken": fail}))
    handlers = Handlers(SessionStore(), host, [])
    handlers.wire(**{part: part for part in PARTS})
    host.start()
    assert host.state == "loading"
    assert "loading" in host.status_sentence
    threading.Timer(0.1, told.set).start()
    for _ in range(2):  # waiting when it failed, and after it failed
        assert Tab(handlers, "a", picture).run()["status"]["sentence"] == "The folder holds no model."


def test_an_unforeseen_failure_is_a_sentence_and_the_model_goes_on(picture, caplog):
    target = PageTarget()
    tab = Tab(make_page(target), "a", picture)
    build, target.build_request = target.build_request, None
    assert tab.run()["status"]["sentence"] == texts.RUN_FAILED
    assert "Unexpected failure" in caplog.text
    target.build_request = build
    assert tab.run(tokens=3)["status"]["kind"] == "done"


def test_only_the_last_runs_of_a_tab_are_kept(picture):
    tab = Tab(make_page(PageTarget()), "a", picture)
    urls = [tab.run(tokens=2)["player"]["url"].rpartition("/")[2] for _ in range(MAX_KEPT_RUNS + 1)]
    assert list(tab.session.runs) == urls[1:]
    assert tab.handlers._sessions.find_run(urls[0]) is None
    assert tab.handlers._sessions.find_run(urls[-1]) is not None


def test_sessions_are_bounded_dropped_and_forgotten_in_time(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("demo.session.time", SimpleNamespace(monotonic=lambda: clock.now))
    store = SessionStore(max_sessions=3, seconds=60.0)
    first = store.get("a")
    assert store.get("a") is first
    for name in "bcde":
        store.get(name)
    assert len(store) == 3
    clock.now += 59
    store.get("e")
    assert len(store) == 3
    clock.now += 2  # 61 s after the others, 2 s after "e"
    store.get("f")
    assert len(store) == 2
    clock.now += 59
    store.get("f")
    assert len(store) == 1
    store.drop("f")
    store.drop("never there")
    assert len(store) == 0


def test_a_closed_tab_stops_its_run_and_is_forgotten(picture):
    tab = Tab(make_page(PageTarget(pass_seconds=0.05)), "a", picture)
    shown = tab.run(
        tokens=100, on_state=lambda s: tab.handlers.drop_session(tab.request) if s.get("lanes") else None
    )
    assert "player" not in shown
    assert tab.handlers._session(tab.request) is not tab.session


def test_unused_sessions_are_forgotten_though_nobody_comes(monkeypatch):
    monkeypatch.setattr("demo.session.FORGET_EVERY_SECONDS", 0.01)
    store = SessionStore(seconds=0.02)
    store.get("a")

    async def wait():
        task = asyncio.create_task(forget_regularly(store))
        await asyncio.sleep(0.2)
        task.cancel()

    asyncio.run(wait())
    assert len(store) == 0
