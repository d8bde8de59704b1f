"""Several people on one model: their own texts, a fair and bounded queue, runs that fail and leave nothing behind."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from make_traces import make_trace
from page_runs import PageTarget, Tab, make_page, without_clock, words

from demo import host as host_module
from demo import library, texts
from demo import session as session_module
from demo.runs import MAX_RECORDED_NODES, KeptRun
from demo.session import SessionStore
from recap.recording import RecordedRun, build_trace
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.trace_io import dump_trace, parse_trace
from visualize.lessons import LessonError
from visualize.payload import build_payload

LETTERS = "abcdefghijklmnopqrstuvwxyz?"


@pytest.fixture(autouse=True)
def quick_answers(monkeypatch):
    """Pages are told of their runs at once."""
    monkeypatch.setattr("demo.live_run.PROGRESS_SECONDS", 0.003)


# -- side by side ---------------------------------------------------------------------------------------


def test_a19_two_people_who_start_together_get_their_own_texts_and_see_no_other_token(picture, is_full):
    """A slow long run beside a short one, started within 50 ms, each time with other words."""
    rng = random.Random(91)
    handlers = make_page(PageTarget(pass_seconds=0.002))
    tabs = [Tab(handlers, name, picture) for name in ("slow", "short")]
    num_rounds, num_tries = 0, 0
    while num_rounds < (20 if is_full else 5):
        num_tries += 1
        assert num_tries < 100, "a busy machine starts them too far apart now and then, but not always"
        questions = ["".join(rng.choices(LETTERS, k=rng.randrange(3, 30))) for _ in tabs]
        sizes = [30, rng.randrange(1, 9)]
        alone = []
        for question, tokens in zip(questions, sizes, strict=True):
            tab = Tab(make_page(PageTarget()), "alone", picture)
            shown = tab.run(question, tokens=tokens)
            alone.append((words(tab.trace(shown), 0), shown["status"]["lanes"][0]["text"]))
        seen: list[list[str]] = [[], []]
        started: list[float] = []

        async def start(index, questions=questions, sizes=sizes, seen=seen, started=started):
            started.append(time.perf_counter())
            return await tabs[index].run_async(
                questions[index],
                6,
                sizes[index],
                lambda status: seen[index].extend(lane["text"] for lane in status.get("lanes", [])),
            )

        async def both(start=start):
            order = rng.sample((0, 1), 2)
            ended = await asyncio.gather(*(start(index) for index in order))
            return dict(zip(order, ended, strict=True))

        shown = asyncio.run(both())
        num_rounds += max(started) - min(started) < 0.05
        for index, tab in enumerate(tabs):
            ids, text = alone[index]
            trace = tab.trace(shown[index])
            assert words(trace, 0) == words(trace, 1) == ids
            assert trace["request"]["question"] == questions[index]
            assert seen[index], "the page is told of its run"
            assert all(text.startswith(part) for part in seen[index])
    assert tabs[0].session.memories is not tabs[1].session.memories


def test_runs_are_made_in_the_order_in_which_they_were_asked_for(picture):
    handlers = make_page(PageTarget(pass_seconds=0.004))
    tabs = [Tab(handlers, str(index), picture) for index in range(6)]
    ended: list[int] = []

    async def start(index):
        if index:
            await tabs[index - 1].until_asked()
        shown = await tabs[index].run_async("What?", 6, 12 if index % 2 else 2)
        ended.append(index)
        return shown

    async def everybody():
        return await asyncio.gather(*(start(index) for index in range(6)))

    assert all(shown["status"]["kind"] == "done" for shown in asyncio.run(everybody()))
    assert ended == sorted(ended)


def test_a_place_in_the_queue_only_ever_falls(picture):
    handlers = make_page(PageTarget(pass_seconds=0.004))
    tabs = [Tab(handlers, str(index), picture) for index in range(5)]
    sentences: list[list[str]] = [[] for _ in tabs]

    async def everybody():
        return await asyncio.gather(
            *(
                tab.run_async(
                    "What?", 6, 8, lambda status, i=i: sentences[i].append(status.get("sentence", ""))
                )
                for i, tab in enumerate(tabs)
            )
        )

    asyncio.run(everybody())
    waited = [[line for line in lines if line.startswith("In the queue")] for lines in sentences]
    assert sum(map(bool, waited)) == len(tabs) - 1
    for lines in waited:
        places = [int(line.split()[3]) for line in lines]
        assert all(later <= sooner for sooner, later in pairwise(places))


def test_stop_takes_a_waiting_run_out_of_the_queue_at_once(picture):
    handlers = make_page(PageTarget(pass_seconds=0.05), max_waiting=1)
    first, second, third = (Tab(handlers, name, picture) for name in "abc")

    async def play():
        running = asyncio.create_task(first.run_async("What?", 6, 40))
        await first.until_begun()
        waiting = asyncio.create_task(second.run_async("What?", 6, 5))
        await second.until_asked()
        assert (await third.run_async("What?", 6, 5))["status"]["sentence"] == texts.queue_full(1)
        second.handlers.stop(second.request)
        stopped = await asyncio.wait_for(waiting, 1)
        assert not running.done()
        place_of_third = asyncio.create_task(third.run_async("What?", 6, 5))
        await third.until_asked()
        assert third.session.is_running, "the place that became free is given away"
        first.handlers.stop(first.request)
        await running
        return stopped, await place_of_third

    stopped, done = asyncio.run(play())
    assert stopped["status"]["sentence"] == texts.STOPPED_EARLY
    assert done["status"]["kind"] == "done"


def test_runs_of_pages_that_are_gone_take_nobodys_place(picture, monkeypatch):
    handlers = make_page(PageTarget(pass_seconds=0.02), max_waiting=1)
    tabs = [Tab(handlers, name, picture) for name in "abc"]

    async def play():
        running = asyncio.create_task(tabs[0].run_async("What?", 6, 60))
        await tabs[0].until_begun()
        handlers._host.submit(lambda target, ticket: None)  # nobody looks after it
        monkeypatch.setattr(host_module, "ABANDONED_SECONDS", 0.05)
        await asyncio.sleep(0.1)
        third = await tabs[2].run_async("What?", 6, 5)
        await running
        return third

    assert asyncio.run(play())["status"]["kind"] == "done"


def test_thirty_readers_of_a_lesson_cost_one_reading_of_its_run(monkeypatch):
    """A class opens the same lesson in the same moment; a refusal is told as often, and costs no more."""
    assets = Path(__file__).resolve().parent.parent / "assets"
    read: list[Path] = []
    real = library.load_trace
    monkeypatch.setattr(library, "load_trace", lambda path: read.append(path) or real(path))
    lessons = library.Lessons(assets / "lessons", library.RecordedRuns(assets / "traces"))
    name = lessons.list()[0]["name"]
    with ThreadPoolExecutor(30) as readers:
        told = list(readers.map(lessons.get, [name] * 30))
    assert told == [told[0]] * 30
    assert len(read) == 1
    monkeypatch.setattr(library, "load_trace", lambda path: read.append(path) or make_trace(3, num_tokens=4))
    for _ in range(3):
        with pytest.raises(LessonError):
            lessons.get(lessons.list()[1]["name"])
    assert len(read) == 2


def test_visitors_without_a_session_share_nothing():
    store = SessionStore()
    assert store.get("") is not store.get("")
    assert len(store) == 0
    assert store.get("a") is store.get("a")


# -- runs that fail -------------------------------------------------------------------------------------


class KilledTarget(PageTarget):
    """Does something at its n-th pass, counted from `arm`: raises, gives no number, or calls a button of the page."""

    def __init__(self) -> None:
        super().__init__()
        self._countdown, self._act = 0, lambda: None

    def arm(self, num_passes, act):
        self._countdown, self._act = num_passes, act

    def score_histories(self, histories, want_all_scores=False):
        self._countdown -= 1
        if self._countdown == 0:
            self._act()
        try:
            return super().score_histories(histories, want_all_scores)
        finally:
            self.fails_at = None

    def lose_numbers(self):
        """No score of the pass is a number."""
        self.fails_at = -1


def fail():
    raise RuntimeError("a failure that nobody foresaw")


@pytest.mark.parametrize("death", ["error", "no number", "stop", "closed tab"])
def test_a_run_killed_at_any_pass_leaves_the_next_one_as_it_was(picture, death, is_full, caplog):
    """In prefill too, and in either method: text and trace then are those of a page that saw no failure."""
    target = KilledTarget()
    reference_tab = Tab(make_page(target), "a", picture)
    reference_tab.run("First question?", tokens=10)
    reference = without_clock(reference_tab.trace(reference_tab.run("And this one?", tokens=14)))
    counting = Tab(make_page(target), "a", picture)
    if death != "closed tab":  # what is remembered of the first question saves passes
        counting.run("First question?", tokens=10)
    target.num_passes = 0
    counting.run("Killed, a longer one?", tokens=12)
    num_passes = target.num_passes
    assert num_passes > 15
    for at_pass in range(1, num_passes + 1, 1 if is_full else 6):
        handlers = make_page(target)
        tab, other = Tab(handlers, "a", picture), Tab(handlers, "b", picture)
        tab.run("First question?", tokens=10)
        killed = other if death == "closed tab" else tab
        acts = {
            "error": fail,
            "no number": target.lose_numbers,
            "stop": lambda killed=killed, handlers=handlers: handlers.stop(killed.request),
            "closed tab": lambda killed=killed, handlers=handlers: handlers.drop_session(killed.request),
        }
        target.arm(at_pass, acts[death])
        shown = killed.run("Killed, a longer one?", tokens=12)
        assert target._countdown <= 0, "the pass was reached"
        sentence = shown["status"]["sentence"]
        if death == "error":
            assert sentence == texts.RUN_FAILED
        elif death == "no number":
            assert "not finite" in sentence
            assert "player" not in shown
        elif death == "stop" and at_pass == num_passes:
            assert sentence.startswith("Done"), (
                "after the last pass there is nothing to stop, and U may keep it"
            )
            continue
        again = tab.run("And this one?", tokens=14)
        assert again["status"]["kind"] == "done"
        assert without_clock(tab.trace(again)) == reference


# -- bounds ---------------------------------------------------------------------------------------------


def long_run(max_nodes):
    target = ScriptedTarget(300, random_scores(300, order=3, seed=3))
    request = Request(np.arange(2, 40), 40)
    runs = []
    for method in ("ar", "recap@24"):
        recorded = RecordedRun(target, request, method, max_nodes=max_nodes)
        assert list(recorded)
        runs.append(recorded.run())
    return build_trace(target, request, "What?", runs)


def test_a21_a_record_is_cut_at_its_bound_and_says_so():
    whole, cut = long_run(None), long_run(300)
    details = [iteration.detail for iteration in cut.runs[1].iterations]
    num_kept = sum(detail is not None for detail in details)
    assert 0 < num_kept < len(details)
    assert all(detail is None for detail in details[num_kept:]), "behind the cut there is nothing to refer to"
    assert sum(len(detail.nodes) for detail in details[:num_kept]) <= 300
    assert details[:num_kept] == [iteration.detail for iteration in whole.runs[1].iterations[:num_kept]]
    assert dict(cut.runs[1].settings)["recorded_passes"] == str(num_kept)
    assert "recorded_passes" not in dict(whole.runs[1].settings)
    assert cut.runs[1].finished.output_ids == whole.runs[1].finished.output_ids
    assert parse_trace(dump_trace(cut)) == cut
    assert len(build_payload(cut)["runs"][1]["passes"]) == len(details)


def test_a21_a_page_run_is_bounded_and_tells_where_its_trees_end(picture, monkeypatch):
    monkeypatch.setattr("demo.runs.MAX_RECORDED_NODES", 40)
    tab = Tab(make_page(PageTarget()), "a", picture)
    shown = tab.run(tokens=40)
    iterations = tab.trace(shown)["runs"][1]["iterations"]
    num_kept = sum(iteration["detail"] is not None for iteration in iterations)
    assert 0 < num_kept < len(iterations)
    assert texts.recorded_until(num_kept) in shown["status"]["sentence"]
    assert MAX_RECORDED_NODES >= 200 * 64, "runs with the page's first settings are kept whole"


def test_a21_kept_runs_are_bounded_over_all_tabs(monkeypatch):
    monkeypatch.setattr(session_module, "MAX_KEPT_BYTES", 1000)
    store = SessionStore()
    keys = [store.get(name).keep(KeptRun("", bytes(300), bytes(100))) for name in "abc"]
    store.get("d")
    assert [store.find_run(key) is not None for key in keys] == [False, True, True]


def test_a21_the_page_grows_with_the_passes_not_with_their_square(picture):
    """Twice the tokens: the same bytes a pass, in the trace and in what the browser is sent."""
    sizes = []
    for tokens in (40, 80, 160):
        tab = Tab(make_page(PageTarget()), "a", picture)
        key = tab.run(tokens=tokens)["player"]["url"].rpartition("/")[2]
        kept = tab.session.runs[key]
        sizes.append([len(gzip.decompress(data)) / tokens for data in (kept.payload, kept.trace)])
    assert all(large < 1.3 * small for small, large in zip(sizes[0], sizes[2], strict=True))


# -- soak -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_eight_people_for_many_minutes():
    """RECAP_SOAK_MINUTES of them, 20 by default. The program tells what it measured."""
    minutes = os.environ.get("RECAP_SOAK_MINUTES", "20")
    command = [sys.executable, str(Path(__file__).parent / "soak.py"), "--minutes", minutes]
    result = subprocess.run(command, capture_output=True, text=True, timeout=float(minutes) * 60 + 300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "memory" in result.stdout
