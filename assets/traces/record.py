"""Record the runs that ship with the project: the example questions, by plain decoding and by RECAP.

    python assets/traces/record.py [--model teaching-qwen] [--out assets/traces]

All questions belong to one stream, which has answered some questions of the workload before, so U arrives filled, as
for a visitor who has asked several questions. Each method is run once unrecorded first, so that the recorded run meets
warm code; both start from the same U. The example on which an empty U loses most, of those that the lesson on it can
use, brings a run with an empty U along. Where no example has one word in two contexts and the model can dress people, a
run that has is added: of drawn pictures the first that the lesson on them can use. Afterwards
`assets/lessons/make_lessons.py` has to make the lessons anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).resolve().parents[1]
ROOT = ASSETS.parent
for folder in (ASSETS / "lessons", ASSETS / "teaching_vlm", ROOT):
    sys.path.insert(0, str(folder))

from figures import captions  # noqa: E402 - the folders have to be on the path first
from figures.drawing import draw  # noqa: E402
from figures.scene import make_scene  # noqa: E402
from lesson_roots import aliased_root, is_about_her  # noqa: E402
from lesson_runs import kept_unigram, tokens_after  # noqa: E402
from recorded import EMPTY_U, RUN, Recorded  # noqa: E402

from recap.bench.workload import read_workload, select  # noqa: E402
from recap.events import Run, Trace  # noqa: E402
from recap.memory import Memories  # noqa: E402
from recap.pictures import describe_picture, open_picture  # noqa: E402
from recap.recording import RecordedRun, build_trace  # noqa: E402
from recap.targets.loading import load_target, warm_up  # noqa: E402
from recap.trace_io import save_trace  # noqa: E402

METHODS = ("ar", "recap@auto", RUN)  # the page opens with the second
MAX_NEW_TOKENS = 200
NUM_EARLIER_QUESTIONS = 12
#: What is asked about dressed people, how many drawings are asked about, and how many of them recorded at most.
PEOPLE_QUESTION = "Describe the picture."
NUM_DRAWINGS, NUM_TRIED = 40, 12


def main() -> int:
    """Record every example question; prints a line a file."""
    parser = argparse.ArgumentParser(description="Record the runs that ship with the project.")
    parser.add_argument("--model", default="teaching-qwen")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    target = load_target(arguments.model)
    warm_up(target)
    streams = {method: Memories(target.vocab_size) for method in METHODS}
    workload = select(read_workload(ROOT / "assets" / "workload"), limit=NUM_EARLIER_QUESTIONS)
    for conversation in workload.conversations:
        image = open_picture(conversation.image).image if conversation.image else None
        request = target.build_request(image, conversation.turns[0], MAX_NEW_TOKENS)
        for method in METHODS:
            _play(RecordedRun(target, request, method, streams[method]))
    traces = _record_examples(target, streams)
    if not any(_tells_of_her(name, trace) for name, trace in traces.items()):
        people = _record_people(target, streams)
        if people is None:
            print("This model tells of no dressed people in a way that the lesson on them could use.")
        else:
            traces[f"{len(traces) + 1:02d}-people"] = people
    for path in arguments.out.glob("*.json"):
        path.unlink()
    for name, trace in traces.items():
        save_trace(trace, arguments.out / f"{name}.json")
        passes = {run.name: len(run.iterations) for run in trace.runs}
        print(f"{name}: {len(trace.runs[0].finished.output_ids)} tokens, passes {passes}")
    return 0


def _record_examples(target: Any, streams: Mapping[str, Memories]) -> dict[str, Trace]:
    """Traces by name; one of them holds a run with an empty U beside the others."""
    examples = ASSETS / "examples"
    traces, with_empty = {}, {}
    questions = json.loads((examples / "questions.json").read_text(encoding="utf-8"))
    for number, example in enumerate(questions, start=1):
        picture = open_picture(examples / example["image"])
        name = f"{number:02d}-{Path(example['image']).stem}"
        request = target.build_request(picture.image, example["question"], MAX_NEW_TOKENS)
        runs = [_record(target, request, method, streams[method]) for method in METHODS]
        empty = _record(target, request, RUN, Memories(target.vocab_size))
        runs_with_empty = [*runs, dataclasses.replace(empty, name=EMPTY_U)]
        for kept, chosen in ((traces, runs), (with_empty, runs_with_empty)):
            kept[name] = build_trace(target, request, example["question"], chosen, describe_picture(picture))
    told = [name for name, trace in with_empty.items() if kept_unigram([Recorded(name, trace)])]
    most = max(told or with_empty, key=lambda name: _gain(with_empty[name]))
    return traces | {most: with_empty[most]}


def _gain(trace: Trace) -> int:
    """Tokens that a filled U is ahead of an empty one after the first passes."""
    runs = {run.name: run for run in trace.runs}
    return tokens_after(runs[RUN]) - tokens_after(runs[EMPTY_U])


def _record_people(target: Any, streams: Mapping[str, Memories]) -> Trace | None:
    """The first answer about her with one word in two contexts; those that are right throughout come first."""
    before = {method: memories.snapshot() for method, memories in streams.items()}
    tried = []
    for index in range(NUM_DRAWINGS):
        scene = make_scene(random.Random(f"lesson-people-{index}"))
        picture = open_picture(draw(scene))
        request = target.build_request(picture.image, PEOPLE_QUESTION, MAX_NEW_TOKENS)
        plain = _play(RecordedRun(target, request, "ar", streams["ar"])).run()
        answer = target.tokenizer.decode(plain.finished.output_ids, skip_special_tokens=True)
        if " her " in answer:
            tried.append((answer.strip() != captions.plain(scene), index, picture, request))
    for _, _, picture, request in sorted(tried, key=lambda item: item[:2])[:NUM_TRIED]:
        runs = []
        for method in METHODS:
            streams[method].restore(before[method])
            runs.append(_record(target, request, method, streams[method]))
        trace = build_trace(target, request, PEOPLE_QUESTION, runs, describe_picture(picture))
        if _tells_of_her("people", trace):
            return trace
    return None


def _tells_of_her(name: str, trace: Trace) -> bool:
    """Whether the lesson on one word in two contexts can be about 'her' in this trace."""
    chosen = aliased_root(Recorded(name, trace).roots())
    return chosen is not None and is_about_her(chosen.places["root"])


def _record(target: Any, request: Any, method: str, memories: Memories) -> Run:
    """Run a method twice from the same U, and record the second time."""
    before = memories.snapshot()
    _play(RecordedRun(target, request, method, memories))
    memories.restore(before)
    return _play(RecordedRun(target, request, method, memories)).run()


def _play(recorded: RecordedRun) -> RecordedRun:
    for _ in recorded:
        pass
    return recorded


if __name__ == "__main__":
    sys.exit(main())
