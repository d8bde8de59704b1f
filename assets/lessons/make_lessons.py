"""Write the six lessons on the recorded runs; to be run again whenever these were recorded anew.

    python assets/lessons/make_lessons.py [--traces assets/traces] [--out assets/lessons]

Rules choose the run and the passes (`lesson_roots.py`, `lesson_runs.py`) and read what is told there from the trace;
the texts are those of `lessons.toml`. Where no recorded run holds what a lesson has to show, that is said and nothing
is written.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
for folder in (FOLDER, ROOT):
    sys.path.insert(0, str(folder))

from lesson_roots import aliased_root, confident_root, differing_sources, long_pass  # noqa: E402 - the path comes first
from lesson_runs import kept_unigram, measured_budget  # noqa: E402
from recorded import Chosen, Recorded, Root, all_roots  # noqa: E402

from recap.errors import RecapError  # noqa: E402
from recap.trace_io import load_trace  # noqa: E402
from visualize.lessons import SCHEMA_VERSION  # noqa: E402

WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


class MissingRunError(RecapError):
    """No recorded run holds what a lesson has to show."""


class Number(int):
    """A whole number that texts can take as a word: `{n:word}`, `{n:Word}`, or with its noun, `{n:node/nodes}`."""

    def __format__(self, spec: str) -> str:
        word = WORDS[self] if self < len(WORDS) else str(int(self))
        if spec in ("word", "Word"):
            return word.capitalize() if spec == "Word" else word
        one, slash, many = spec.partition("/")
        return f"{word} {one if self == 1 else many}" if slash else format(int(self), spec)


def make_lessons(traces: Sequence[Recorded]) -> dict[str, dict[str, Any]]:
    """The six lessons by name, as they are written.

    Raises:
        MissingRunError: one sentence says what no recorded run holds.
    """
    texts = tomllib.loads((FOLDER / "lessons.toml").read_text(encoding="utf-8"))
    glossary = texts.pop("glossary")
    rules = {
        "1-what-a-pass-does": lambda _: long_pass(traces),
        "2-two-contexts": lambda _: aliased_root(all_roots(traces)),
        "3-specific-or-at-hand": lambda taken: differing_sources(traces, taken),
        "4-confidence": lambda taken: confident_root(traces, taken),
        "5-why-u-stays": lambda _: kept_unigram(traces),
        "6-budget": lambda _: measured_budget(traces),
    }
    lessons, taken = {}, []
    for name, rule in rules.items():
        chosen = rule(taken)
        if chosen is None:
            lacks = texts[name]["lacks"]
            raise MissingRunError(
                f"The lesson {name} cannot be made: no recorded run holds {lacks}; please record other questions."
            )
        taken += [place for name, place in chosen.places.items() if name == "root"]
        lessons[name] = _lesson(texts[name], chosen, glossary)
    return lessons


def _lesson(text: Mapping[str, Any], chosen: Chosen, glossary: Mapping[str, list[str]]) -> dict[str, Any]:
    steps = [step for step in text["steps"] if "when" not in step or chosen.facts.get(step["when"])]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": text["title"],
        "trace": next(iter(chosen.places.values())).recorded.name,
        "run": text["run"],
        "steps": [_step(step, chosen, text["run"]) for step in steps],
        "glossary": [
            dict(zip(("term", "meaning"), glossary[name], strict=True)) for name in text["glossary"]
        ],
        "teacher_note": _filled(text["teacher_note"], chosen),
    }


def _step(step: Mapping[str, Any], chosen: Chosen, run_name: str) -> dict[str, Any]:
    root: Root = chosen.places[step["at"]]
    told = {"title": _filled(step["title"], chosen), "text": _filled(step["text"], chosen)}
    if root.run.name != run_name:
        told["run"] = root.run.name
    told["pass"] = root.iteration.index
    for name in ("stage", "grown", "node", "panel"):
        if name in step:
            told[name] = (
                chosen.facts[step[name]] if name == "node" and isinstance(step[name], str) else step[name]
            )
    told["committed"] = root.form(*root.iteration.committed_ids)
    if "question" in step:
        told["question"] = {
            "text": _filled(step["question"], chosen),
            "choices": [_filled(choice, chosen) for choice in step["choices"]],
            "answer": step["answer"],
            "after": _filled(step["after"], chosen),
        }
    return told


def _filled(text: str, chosen: Chosen) -> str:
    """A text with its facts, as one line."""
    facts = {name: Number(fact) if isinstance(fact, int) else fact for name, fact in chosen.facts.items()}
    return " ".join(text.split()).format(**facts)


def load_recorded(folder: Path) -> list[Recorded]:
    """Every trace of a folder, in the order of the file names."""
    return [Recorded(path.stem, load_trace(path)) for path in sorted(folder.glob("*.json"))]


def lesson_text(lesson: Mapping[str, Any]) -> str:
    """What is written to a lesson's file."""
    return json.dumps(lesson, indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the lessons; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the six lessons on the recorded runs.")
    parser.add_argument("--traces", type=Path, default=FOLDER.parent / "traces")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    try:
        lessons = make_lessons(load_recorded(options.traces))
    except RecapError as error:
        print(error, file=sys.stderr)
        return 1
    for path in options.out.glob("*.json"):
        path.unlink()
    for name, lesson in lessons.items():
        (options.out / f"{name}.json").write_text(lesson_text(lesson), encoding="utf-8")
        print(f"{name}: {lesson['trace']}, passes {[step['pass'] for step in lesson['steps']]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
