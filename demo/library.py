"""What ships with the page: recorded runs that play without a model, lessons on them, and example questions."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.runs import KeptRun, keep_run
from recap.errors import RecapError, TraceError
from recap.events import Trace
from recap.pictures import open_picture, thumbnail_data_url
from recap.trace_io import load_trace
from visualize.lessons import Lesson, LessonError, check_lesson, lesson_entry, load_lesson

#: Names that can stand in an address; a file named otherwise is not offered.
_NAME = re.compile(r"[\w.-]{1,80}", re.ASCII)
#: Drawn runs held in memory; the others are drawn again when somebody opens them.
MAX_DRAWN_RUNS = 12


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Example:
    """A question to try; `thumbnail` is a data URL."""

    picture_path: Path
    question: str
    thumbnail: str


class RecordedRuns:
    """The trace files of a folder, by name; each is drawn when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """Lists the folder; a missing one is an empty one."""
        self._paths = {
            path.stem: path for path in sorted(folder.glob("*.json")) if _NAME.fullmatch(path.stem)
        }
        self._titles = _told_apart({name: _title_of(path) or name for name, path in self._paths.items()})
        self._drawn: dict[str, KeptRun] = {}
        self._lock = threading.Lock()

    def list(self) -> list[dict[str, str]]:
        """Names and titles, in the order of the file names."""
        return [{"name": name, "title": title} for name, title in self._titles.items()]

    def draw_first(self) -> None:
        """Draw the run that the page opens with, before anybody waits for it."""
        for name in self._paths:
            try:
                self.get(name)
            except TraceError as error:
                _log.warning("The recorded run %s cannot be played: %s", name, error)
            return

    def trace(self, name: str) -> Trace:
        """A run's trace, read anew.

        Raises:
            TraceError: no run of that name, or its file is broken.
        """
        if name not in self._paths:
            raise TraceError("There is no recorded run of that name; please choose one from the list.")
        return load_trace(self._paths[name])

    def get(self, name: str) -> KeptRun:
        """A run, drawn.

        Raises:
            TraceError: no run of that name, or its file is broken.
        """
        with self._lock:
            if name not in self._drawn:
                while len(self._drawn) >= MAX_DRAWN_RUNS:
                    del self._drawn[next(iter(self._drawn))]
                self._drawn[name] = keep_run(self.trace(name))
            return self._drawn[name]


class Lessons:
    """The lessons of a folder whose recorded runs the page has."""

    def __init__(self, folder: Path, recorded: RecordedRuns) -> None:
        """Reads the folder; a lesson that cannot be read is left out and logged, a missing folder is an empty one."""
        self._recorded = recorded
        self._lessons: dict[str, Lesson] = {}
        #: What was told of each lesson that somebody opened, a refusal too: its trace is read once, not once a reader.
        self._told: dict[str, dict[str, Any] | RecapError] = {}
        self._lock = threading.Lock()
        names = {run["name"] for run in recorded.list()}
        for path in sorted(folder.glob("*.json")):
            try:
                lesson = load_lesson(path)
            except LessonError as error:
                _log.warning("%s", error)
                continue
            if lesson.trace in names and _NAME.fullmatch(lesson.name):
                self._lessons[lesson.name] = lesson

    def list(self) -> list[dict[str, str]]:
        """Names and titles, in the order of the file names."""
        return [{"name": lesson.name, "title": lesson.title} for lesson in self._lessons.values()]

    def get(self, name: str) -> dict[str, Any]:
        """A lesson for the player, and the name of its recorded run.

        Raises:
            RecapError: no such lesson, or it does not fit its run.
        """
        if name not in self._lessons:
            raise LessonError("There is no lesson of that name; please choose one from the list.")
        with self._lock:
            if name not in self._told:
                self._told[name] = self._check(self._lessons[name])
        told = self._told[name]
        if isinstance(told, RecapError):
            # Without its traceback: each raising adds frames to those of all readers before.
            raise told.with_traceback(None)
        return told

    def _check(self, lesson: Lesson) -> dict[str, Any] | RecapError:
        try:
            check_lesson(lesson, self._recorded.trace(lesson.trace))
        except RecapError as error:
            return error
        return {"run": lesson.trace, "lesson": lesson_entry(lesson)}


def load_examples(folder: Path) -> list[Example]:
    """The questions of a folder (questions.json beside its pictures); what cannot be used is left out."""
    try:
        entries = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    examples = []
    for entry in entries:
        path = folder / entry["image"]
        try:
            thumbnail = thumbnail_data_url(open_picture(path).image)
        except RecapError:
            continue
        examples.append(Example(path, entry["question"], thumbnail))
    return examples


def _told_apart(titles: dict[str, str]) -> dict[str, str]:
    """Titles that several runs share, numbered: the same question is asked about several pictures."""
    often, seen = Counter(titles.values()), Counter[str]()
    told = {}
    for name, title in titles.items():
        seen[title] += 1
        told[name] = f"{title} ({seen[title]})" if often[title] > 1 else title
    return told


def _title_of(path: Path) -> str:
    """The title alone; a file that cannot be read says why when somebody opens it."""
    try:
        title = json.loads(path.read_bytes())["title"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return title if isinstance(title, str) else ""
