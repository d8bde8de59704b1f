"""A page used for many minutes by several people: `python tests/soak.py [--minutes 20] [--people 8]`.

They run, stop, reload, close their tabs in the middle, call the public endpoint and send what cannot be used. The
program fails (exit code 1) if anything but a sentence comes back, if an answer is not the one that is given alone, if
the page's memory grows, if waits are not those that the queue predicts, or if a clean run at the end differs from the
same one before.

What the queue predicts: one server, in the order of arrival. A run starts when it has arrived and the one before it has
ended, so waits follow from arrivals and times of service alone (Lindley's recursion), whatever ended the runs.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

# ruff: noqa: E402, T201  a program of its own: it finds its modules first, and prints what it measured
import httpx
import numpy as np
import psutil
from page_client import Visitor, scripted_page
from page_runs import without_clock
from PIL import Image

#: Seconds of a target's pass: a run takes a second or two, so that a queue forms.
PASS_SECONDS = 0.01
#: The first part of the time fills caches and pools; memory is compared over what follows.
WARM_UP = 0.3
MEMORY_TOLERANCE = 0.05
#: Seconds that a wait may differ from the queue's law: the page tells of its run four times a second, and a busy
#: machine hands a run from thread to thread late.
WAIT_TOLERANCE = 1.0
QUESTIONS = (
    "What is in the picture?",
    "How many?",
    "<b>Which</b> colour?",
    "שלום ‮abc",
    "a $5 and a $7",
    "a\0b",
)
BAD_NUMBERS = (0, -1, 10**6, 2.5, "abc", None)
#: What may be said in place of a run where many ask at once.
REFUSALS = ("are waiting already", "still going on", "within a minute")
BAD_FILES = (
    b"",
    b"not a picture",
    b"\x89PNG\r\n\x1a\n" + bytes(50),
    b"<svg></svg>",
    b"GIF89a\xff\xff\xff\xff",
)


def picture_bytes(colour: str) -> bytes:
    """A small picture as a file."""
    buffer = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(buffer, "PNG")
    return buffer.getvalue()


class Tally:
    """What all people have seen, under one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.faults: list[str] = []
        self.acts: dict[str, int] = {}
        self.longest: dict[str, float] = {}  # seconds
        self.texts: dict[tuple, list[int]] = {}
        self.waits: list[float] = []  # seconds in the queue, as the page told it

    def count(self, act: str, seconds: float = 0.0) -> None:
        with self.lock:
            self.acts[act] = self.acts.get(act, 0) + 1
            self.longest[act] = round(max(seconds, self.longest.get(act, 0.0)), 2)

    def blame(self, fault: str) -> None:
        with self.lock:
            self.faults.append(fault)


class Person(threading.Thread):
    """One tab after the other until the time is over."""

    def __init__(self, address: str, number: int, tally: Tally, end: float) -> None:
        super().__init__(daemon=True)
        self._rng, self._address, self._tally, self._end = random.Random(number), address, tally, end

    def run(self) -> None:
        visitor = Visitor(self._address)
        picture = self._choose_picture(visitor)
        while time.monotonic() < self._end:
            act = self._rng.choice(
                (
                    self._ask,
                    self._ask,
                    self._ask,
                    self._press_stop,
                    self._leave,
                    self._send_rubbish,
                    self._call,
                )
            )
            started = time.monotonic()
            try:
                act(visitor, picture)
                self._tally.count(act.__name__.strip("_"), time.monotonic() - started)
            except Exception as error:
                self._tally.blame(f"{act.__name__}: {error!r}"[:500])
            if self._rng.random() < 0.1 or act == self._leave:
                visitor.load()
                self._tally.count("reload")
                picture = self._choose_picture(visitor)
            time.sleep(self._rng.random())
        visitor.leave()

    def _choose_picture(self, visitor: Visitor) -> dict:
        picture = visitor.upload(picture_bytes(self._rng.choice(("red", "blue"))))
        answer = visitor.call("receive_picture", picture)
        if answer.status_code != 200:
            self._tally.blame(f"upload: {answer.text[:200]}")
        return picture

    def _ask(self, visitor: Visitor, picture: dict) -> None:
        question, tokens = self._rng.choice(QUESTIONS), self._rng.choice((1, 8, 30, 60))
        shown = visitor.run(picture, question, self._rng.choice((0, 6, 24)), tokens)
        if self._expect(shown, "done", *REFUSALS):
            runs = visitor.trace(shown)["runs"]
            outputs = [run["finished"]["output_ids"] for run in runs]
            with self._tally.lock:
                known = self._tally.texts.setdefault((question, tokens), outputs[0])
            if outputs != [known, known]:
                self._tally.blame(
                    f"{question!r} with {tokens} tokens was answered by {outputs}, before by {known}"
                )
            with self._tally.lock:
                self._tally.waits.append(visitor.seconds_waited)

    def _press_stop(self, visitor: Visitor, picture: dict) -> None:
        timer = threading.Timer(self._rng.random(), lambda: visitor.call("stop"))
        timer.start()
        self._expect(visitor.run(picture, "What?", 6, 400), "done", *REFUSALS)
        timer.join()

    def _call(self, visitor: Visitor, picture: dict) -> None:
        """Ask as a program does; its calls share the people's queue."""
        sent = base64.b64encode(picture_bytes("red")).decode()
        is_answered, answer = visitor.ask_as_program(sent, "A program?", "recap@6", 30)
        if is_answered:
            ids = answer[0][1]["output_ids"]
            with self._tally.lock:
                known = self._tally.texts.setdefault(("A program?", 30), ids)
            if ids != known:
                self._tally.blame(f"a program was answered by {ids}, before by {known}")
        elif not any(excuse in str(answer) for excuse in (*REFUSALS, "wait for their answers")):
            self._tally.blame(f"a program was told {str(answer)[:300]}")

    def _leave(self, visitor: Visitor, picture: dict) -> None:
        """Close the tab in the middle of a run."""
        timer = threading.Timer(self._rng.random(), visitor.leave)
        timer.start()
        with contextlib.suppress(httpx.HTTPError):  # its connections are cut
            visitor.run(picture, "What?", 6, 200)
        timer.join()

    def _send_rubbish(self, visitor: Visitor, picture: dict) -> None:
        self._expect(visitor.run(picture, "What?", 6, self._rng.choice(BAD_NUMBERS)), "error")
        self._expect(visitor.run(picture, self._rng.choice(("", " \n", "\u200b", None)), 6, 8), "error")
        for data in BAD_FILES:
            bad = visitor.upload(data, self._rng.choice(("a.png", "a.json")))
            answers = [visitor.call("receive_picture", bad), visitor.call("open_trace", bad)]
            if any(answer.status_code != 200 or '"error"' not in answer.text for answer in answers):
                self._tally.blame(f"{data!r}: {answers[0].text[:200]} {answers[1].text[:200]}")
        self._choose_picture(visitor)

    def _expect(self, shown: dict, kind: str, *excuses: str) -> bool:
        """Whether the run ended so; with one of the excuses it may have been refused instead."""
        status = shown.get("status") or {}
        if status.get("kind") == kind and not str(status.get("sentence", "")).startswith("Stopped during"):
            return "player" in shown and bool(shown["player"].get("url"))
        sentence = str(status.get("sentence"))
        if status.get("kind") != kind and not any(excuse in sentence for excuse in excuses):
            self._tally.blame(f"expected {kind}: {status}")
        return False


def clean_run(address: str) -> dict:
    """The trace of one run of a new tab, without its clock."""
    visitor = Visitor(address)
    picture = visitor.upload(picture_bytes("red"))
    visitor.call("receive_picture", picture)
    trace = without_clock(visitor.trace(visitor.run(picture, "A clean run?", 6, 40)))
    visitor.leave()
    return trace


def resident_bytes(pid: int) -> int:
    """Memory of the page's program."""
    return psutil.Process(pid).memory_info().rss


def main() -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--people", type=int, default=8)
    options = parser.parse_args()
    tally, memory = Tally(), []
    log = Path(tempfile.mkdtemp()) / "queue.jsonl"
    with scripted_page(PASS_SECONDS, log=log) as (address, process):
        reference = clean_run(address)
        start = time.monotonic()
        end = start + 60 * options.minutes
        people = [Person(address, number, tally, end) for number in range(options.people)]
        for person in people:
            person.start()
        while time.monotonic() < end:
            time.sleep(1)
            if time.monotonic() - start > WARM_UP * 60 * options.minutes:
                memory.append(resident_bytes(process.pid))
        for person in people:
            person.join(timeout=120)
        if clean_run(address) != reference:
            tally.blame("a clean run at the end differs from the same run before")
    runs = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return report(tally, memory, runs)


def predicted_waits(arrivals: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Seconds that each run waits for one server, in the order of arrival: W' = max(0, W + service - time to the next).

    Runs that left the queue before their turn have no service and are in nobody's way.
    """
    waits = np.zeros(len(arrivals))
    for index in range(1, len(arrivals)):
        gap = arrivals[index] - arrivals[index - 1]
        waits[index] = max(0.0, waits[index - 1] + services[index - 1] - gap)
    return waits


def report(tally: Tally, memory: list[int], runs: list[tuple[float, float, float]]) -> int:
    """Print what was measured; 1 if anything failed. `runs`: arrival, start and end of each, as the model made them."""
    third = max(1, len(memory) // 3)
    first, last = np.median(memory[:third]), np.median(memory[-third:])
    growth = float(last / first - 1)
    if growth > MEMORY_TOLERANCE:
        tally.blame(f"memory grew by {growth:.1%} after the warm-up")
    arrivals, starts, ends = np.array(sorted(runs)).T
    predicted = predicted_waits(arrivals, ends - starts)
    misfit = float(np.abs(starts - arrivals - predicted).max())
    if misfit > WAIT_TOLERANCE:
        tally.blame(f"a wait differs from the queue's law by {misfit:.2f} s")
    p95, p95_seen = (float(np.percentile(waits, 95)) for waits in (predicted, tally.waits))
    if abs(p95_seen - p95) > WAIT_TOLERANCE + 0.1 * p95:
        tally.blame(f"p95 of the waits is {p95_seen:.1f} s, by the queue's law {p95:.1f} s")
    print(f"acts {json.dumps(tally.acts)}, the longest of each in seconds {json.dumps(tally.longest)}")
    print(
        f"memory {first / 2**20:.0f} MB -> {last / 2**20:.0f} MB ({growth:+.1%}), peak {max(memory) / 2**20:.0f} MB"
    )
    utilization = float((ends - starts).sum() / (ends.max() - arrivals.min()))
    print(
        f"{len(runs)} runs, {len(tally.texts)} kinds of answers, served in {(ends - starts).mean():.2f} s on average;"
        f" the model was busy for {utilization:.0%} of the time"
    )
    print(
        f"waits: p95 seen {p95_seen:.2f} s, predicted {p95:.2f} s; longest {max(tally.waits):.2f} s, predicted"
        f" {predicted.max():.2f} s; largest misfit of one run {misfit:.3f} s"
    )
    print(f"{len(tally.faults)} faults")
    for fault in tally.faults[:20]:
        print("  " + fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
