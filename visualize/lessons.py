"""Lessons: texts at chosen places of a recorded run, with questions that are answered before the verdict.

A lesson is a JSON file that names a recorded trace and a run of it. Each step stands at a pass, at a stage inside it
where it says so, and may ask a question: the player goes no further until the reader has answered or passed it over.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recap.errors import RecapError
from recap.events import Iteration, Run, Trace
from visualize.token_forms import TokenForms

SCHEMA_VERSION = 1
STAGES = ("grow", "suffix", "verify", "commit", "write")
PANELS = ("fusion", "memory", "table", "rules")


class LessonError(RecapError):
    """A lesson that cannot be given."""


@dataclass(frozen=True, slots=True)
class Question:
    """Two to five choices; `answer` is the right one's place from 0, `after` is told once somebody has answered."""

    text: str
    choices: tuple[str, ...]
    answer: int
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One text of a lesson and where it stands.

    `run` None is the lesson's own; `pass_index` counts from 1; `stage` None shows the pass whole; `grown` is the number
    of nodes made so far beside the root (only while growing, None: all); `node` is a packed index; `panel` is opened
    beside, None: the tree alone. `committed` are the forms of the tokens that the pass commits, where the text relies
    on them: a trace that was recorded anew is then found out.
    """

    title: str
    text: str
    run: str | None
    pass_index: int
    stage: str | None
    grown: int | None
    node: int | None
    panel: str | None
    committed: str | None
    question: Question | None


@dataclass(frozen=True, slots=True)
class Lesson:
    """A whole lesson on the recorded trace of that name."""

    name: str
    title: str
    trace: str
    run: str
    steps: tuple[Step, ...]
    glossary: tuple[tuple[str, str], ...]
    teacher_note: str


def load_lesson(path: Path) -> Lesson:
    """Read a lesson's file; its name is the file's.

    Raises:
        LessonError: not readable, not JSON, or a value that is missing or cannot be; one sentence says which.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LessonError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise LessonError(f"{path.name} is not JSON, so it is no lesson.") from error
    try:
        return _lesson(path.stem, record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LessonError(f"The lesson {path.name} cannot be used: {_reason(error)}.") from error


def check_lesson(lesson: Lesson, trace: Trace) -> None:
    """See that every step stands in the trace.

    Raises:
        LessonError: no such run, pass or node.
    """
    runs = {run.name: run for run in trace.runs}
    for number, step in enumerate(lesson.steps, start=1):
        name = step.run or lesson.run
        if name not in runs:
            raise LessonError(f"The lesson {lesson.name} speaks of the run {name}, which the trace lacks.")
        problem = _problem(TokenForms(trace), runs[name], step)
        if problem:
            raise LessonError(f"Step {number} of the lesson {lesson.name} {problem}.")


def lesson_entry(lesson: Lesson) -> dict[str, Any]:
    """For the player."""
    steps = []
    for step in lesson.steps:
        entry = asdict(step) | {"pass": step.pass_index, "run": step.run or lesson.run}
        del entry["pass_index"], entry["committed"]
        steps.append(entry)
    return {
        "name": lesson.name,
        "title": lesson.title,
        "steps": steps,
        "glossary": [{"term": term, "meaning": meaning} for term, meaning in lesson.glossary],
        "teacher_note": lesson.teacher_note,
    }


def _problem(forms: TokenForms, run: Run, step: Step) -> str:
    if step.pass_index > len(run.iterations):
        return f"stands at pass {step.pass_index}, but the run has {len(run.iterations)}"
    iteration: Iteration = run.iterations[step.pass_index - 1]
    if iteration.detail is None:
        return f"stands at pass {step.pass_index}, which was not recorded node by node"
    num_nodes = len(iteration.detail.nodes)
    for name, value in (("node", step.node), ("grown", step.grown)):
        if value is not None and value >= num_nodes:
            return f"has {name} {value}, but its tree has {num_nodes} nodes"
    written = forms.forms(iteration.committed_ids)
    if step.committed is not None and step.committed != written:
        return f"tells of {step.committed}, but its pass wrote {written}"
    return ""


def _lesson(name: str, record: dict[str, Any]) -> Lesson:
    if record["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version must be {SCHEMA_VERSION}")
    steps = tuple(_step(step) for step in record["steps"])
    if not steps:
        raise ValueError("steps must hold at least one")
    glossary = tuple((_text(e, "term"), _text(e, "meaning")) for e in record.get("glossary", []))
    note = _text(record, "teacher_note") if "teacher_note" in record else ""
    return Lesson(
        name, _text(record, "title"), _text(record, "trace"), _text(record, "run"), steps, glossary, note
    )


def _step(record: dict[str, Any]) -> Step:
    pass_index = _whole(record, "pass", 1)
    if pass_index is None:
        raise KeyError("pass")
    question = record.get("question")
    return Step(
        title=_text(record, "title"),
        text=_text(record, "text"),
        run=_text(record, "run") if "run" in record else None,
        pass_index=pass_index,
        stage=_one_of(record, "stage", STAGES),
        grown=_whole(record, "grown", 0),
        node=_whole(record, "node", 0),
        panel=_one_of(record, "panel", PANELS),
        committed=_text(record, "committed") if "committed" in record else None,
        question=None if question is None else _question(question),
    )


def _question(record: dict[str, Any]) -> Question:
    choices = record["choices"]
    if (
        not isinstance(choices, list)
        or not 2 <= len(choices) <= 5
        or not all(isinstance(c, str) for c in choices)
    ):
        raise ValueError("choices must be two to five texts")
    answer = _whole(record, "answer", 0)
    if answer is None or answer >= len(choices):
        raise ValueError("answer must be the place of a choice, from 0")
    return Question(_text(record, "text"), tuple(choices), answer, _text(record, "after"))


def _text(record: dict[str, Any], name: str) -> str:
    if not isinstance(record[name], str) or not record[name].strip():
        raise ValueError(f"{name} must be a text")
    return record[name]


def _whole(record: dict[str, Any], name: str, low: int) -> int | None:
    value = record.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
        raise ValueError(f"{name} must be a whole number from {low}")
    return value


def _one_of(record: dict[str, Any], name: str, choices: tuple[str, ...]) -> str | None:
    value = record.get(name)
    if value is not None and value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}")
    return value


def _reason(error: Exception) -> str:
    return f"it lacks {error.args[0]}" if isinstance(error, KeyError) else str(error)
