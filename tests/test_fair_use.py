"""Who may start a run: the limit of a minute on a clock of our own, and the programs' part of the one queue."""

from __future__ import annotations

import random
import re
import threading
from pathlib import Path

import pytest
from page_runs import PageTarget, Tab, make_page

from demo import texts
from demo.fair_use import MAX_RUNS_OF_ONE_PROGRAM, PROGRAMS_SHARE, RUNS_A_MINUTE, Asker, RunLimiter
from demo.host import MAX_WAITING, ModelHost
from demo.limits import MAX_QUESTION_CHARACTERS, NEW_TOKENS_RANGE, NODES_RANGE
from demo.models import Models
from demo.opened_files import MAX_TRACE_BYTES
from demo.runs import MAX_RECORDED_NODES
from demo.serve import MAX_REQUEST_BYTES
from recap.errors import InputError
from recap.pictures import MAX_COSTLY_PIXELS, MAX_PICTURE_BYTES, MAX_PICTURE_PIXELS, MAX_PICTURE_SIDE
from recap.pixels import MAX_MODEL_PIXELS


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class BusyHost:
    """A host whose model is held by a first run until `let_go`; later runs wait."""

    def __init__(self, limiter: RunLimiter) -> None:
        self.host = ModelHost(Models({"scripted": lambda _: PageTarget()}), limiter=limiter)
        self._held, begun = threading.Event(), threading.Event()
        self.host.start()
        self.first = self.host.submit(lambda target, ticket: (begun.set(), self._held.wait(30)))
        assert begun.wait(30)

    def ask(self, asker: Asker, made: list[Asker] | None = None):
        return self.host.submit(
            lambda target, ticket: None if made is None else made.append(asker),
            asker,
        )

    def let_go(self) -> None:
        self._held.set()


@pytest.fixture
def busy():
    host = BusyHost(RunLimiter(10_000))
    yield host
    host.let_go()


# -- runs within a minute -------------------------------------------------------------------------------


def test_no_minute_holds_more_runs_than_the_limit_and_the_sentence_tells_the_first_moment_with_room():
    """Against a list of all starts, at random times."""
    rng, clock = random.Random(5), Clock()
    limiter = RunLimiter(4, 60.0, clock)
    askers = [Asker("a"), Asker("b"), Asker("a", is_program=True)]
    starts: dict[Asker, list[float]] = {asker: [] for asker in askers}
    num_refused = 0
    for _ in range(600):
        clock.seconds += rng.choice((0.0, 0.5, 3.0, 20.0))
        asker = rng.choice(askers)
        recent = [start for start in starts[asker] if start > clock.seconds - 60]
        try:
            limiter.check(asker)
        except InputError as error:
            num_refused += 1
            assert len(recent) == 4
            wait = int(re.search(r"in (\d+) seconds?\.", str(error))[1])
            assert recent[0] + 60 <= clock.seconds + wait < recent[0] + 61 or wait == 1
            later = RunLimiter(4, 60.0, lambda now=clock.seconds + wait: now)
            later._starts = {asker: limiter._starts[asker].copy()}
            later.check(asker)
        else:
            assert len(recent) < 4
            limiter.note(asker)
            starts[asker].append(clock.seconds)
    assert num_refused > 50
    clock.seconds += 61
    limiter.check(askers[0])
    assert limiter.num_askers == 0, "who has not come for a minute is forgotten"


def test_a_tab_that_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up(picture):
    clock = Clock()
    handlers = make_page(PageTarget(), limiter=RunLimiter(3, now=clock))
    tab, other = Tab(handlers, "a", picture), Tab(handlers, "b", picture)
    for _ in range(3):
        assert tab.run(tokens=2)["status"]["kind"] == "done"
    clock.seconds += 50
    refused = tab.run(tokens=2)["status"]
    assert (refused["kind"], refused["sentence"]) == ("error", texts.too_many_runs(3, 10))
    assert other.run(tokens=2)["status"]["kind"] == "done"
    clock.seconds += 10
    assert tab.run(tokens=2)["status"]["kind"] == "done"


def test_what_is_refused_does_not_count(picture):
    tab = Tab(make_page(PageTarget(), limiter=RunLimiter(1)), "a", picture)
    for _ in range(3):
        assert tab.run(question="")["status"]["sentence"] == texts.NO_QUESTION
        assert tab.run(tokens=0)["status"]["kind"] == "error"
    assert tab.run(tokens=2)["status"]["kind"] == "done"


# -- one queue for the page and for programs ------------------------------------------------------------


def test_programs_take_half_of_the_places_at_most_and_the_page_has_the_rest(busy):
    programs = [Asker(f"10.0.0.{index}", is_program=True) for index in range(MAX_WAITING)]
    for program in programs[: MAX_WAITING // 2]:
        busy.ask(program)
    with pytest.raises(InputError, match=re.escape(texts.programs_queue_full(MAX_WAITING // 2))):
        busy.ask(programs[-1])
    for index in range(MAX_WAITING // 2):
        busy.ask(Asker(f"tab {index}"))
    with pytest.raises(InputError, match=re.escape(texts.queue_full(MAX_WAITING))):
        busy.ask(Asker("one tab more"))


def test_one_program_has_two_calls_at_a_time_until_one_is_answered(busy):
    program = Asker("10.0.0.1", is_program=True)
    tickets = [busy.ask(program) for _ in range(MAX_RUNS_OF_ONE_PROGRAM)]
    with pytest.raises(InputError, match=re.escape(texts.program_too_busy(MAX_RUNS_OF_ONE_PROGRAM))):
        busy.ask(program)
    busy.ask(Asker("10.0.0.2", is_program=True))
    tickets[0].stop()
    busy.ask(program)


def test_a_tab_and_a_program_of_one_name_are_two():
    assert Asker("same") != Asker("same", is_program=True)


def test_page_and_programs_are_served_in_the_order_of_asking(busy):
    askers = [Asker(f"{index}", is_program=index % 2 == 0) for index in range(MAX_WAITING)]
    made: list[Asker] = []
    tickets = [busy.ask(asker, made) for asker in askers]
    assert [busy.host.place(ticket) for ticket in tickets] == list(range(1, MAX_WAITING + 1))
    busy.let_go()
    assert all(ticket.done.wait(30) for ticket in tickets)
    assert made == askers


def test_what_the_readme_states_is_what_holds():
    root = Path(__file__).resolve().parent.parent
    limits = (root / "README.md").read_text("utf-8").split("## Limits of the page")[1].split("\n## ")[0]
    guide = (root / "assets" / "guides" / "api.md").read_text("utf-8")
    assert f"{RUNS_A_MINUTE} runs a minute" in " ".join(limits.split())
    table = "".join(line for line in limits.splitlines(keepends=True) if line.startswith("|"))
    stated = [float(number.replace(",", "")) for number in re.findall(r"\d+(?:[.,]\d+)?", table)]
    assert stated == [
        MAX_PICTURE_BYTES / 1024**2,
        MAX_PICTURE_SIDE,
        MAX_PICTURE_PIXELS / 1e6,
        MAX_COSTLY_PIXELS["WEBP"] / 1e6,
        MAX_COSTLY_PIXELS["progressive JPEG"] / 1e6,
        MAX_MODEL_PIXELS // 10**5 / 10,
        MAX_QUESTION_CHARACTERS,
        NEW_TOKENS_RANGE[1],
        NODES_RANGE[1],
        MAX_RECORDED_NODES,
        MAX_TRACE_BYTES / 1024**2,
        MAX_REQUEST_BYTES / 1024**2,
        1,
        MAX_WAITING,
        MAX_WAITING * PROGRAMS_SHARE,
        MAX_WAITING,
        MAX_RUNS_OF_ONE_PROGRAM,
        RUNS_A_MINUTE,
        2,
    ]
    assert f"{RUNS_A_MINUTE} calls a minute" in " ".join(guide.split())
