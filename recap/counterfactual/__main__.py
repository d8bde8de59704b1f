"""Command line: `python -m recap.counterfactual`, for one question or a workload of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recap.bench.workload import read_workload, select
from recap.command_line import MODEL_HELP, check_writable, exit_code_of, write_json
from recap.counterfactual.question import diagnose, single_report
from recap.counterfactual.workload import LeftOut, diagnose_all, pair_pictures, pooled_report
from recap.errors import InputError
from recap.pictures import open_picture
from recap.targets.loading import load_target
from recap.targets.transformers_vlm import TransformersTarget


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    return exit_code_of(lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Read the answers again, write the report, and tell its main figures. Raises RecapError."""
    _check(options)
    report = _of_workload(options) if options.workload else _of_question(options)
    write_json(report, options.json)
    print(summary(report))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The options: one question, or a workload of them."""
    parser = argparse.ArgumentParser(
        prog="python -m recap.counterfactual",
        description="What answers owe to their pictures: the same text in front of a mean picture and of another one.",
    )
    one = parser.add_argument_group("one question")
    one.add_argument("--image", type=Path, help="the picture that is asked about")
    one.add_argument("--question", help="what to ask about it")
    one.add_argument("--other", type=Path, help="a picture that does not belong to the question")
    many = parser.add_argument_group(
        "many questions, pooled", "the other picture is the next one of the same topic"
    )
    many.add_argument(
        "--workload", type=Path, help="as of `python -m recap.bench run`; first turns are asked"
    )
    many.add_argument("--topics", help="comma-separated; all of them by default")
    many.add_argument("--limit", type=int, help="questions in all, spread evenly over the topics")
    parser.add_argument("--model", default="teaching-qwen", help=MODEL_HELP)
    parser.add_argument(
        "--max-new-tokens", type=int, default=200, help="length cap of the answer (default 200)"
    )
    parser.add_argument("--json", type=Path, required=True, help="where the report goes")
    return parser


def _check(options: argparse.Namespace) -> None:
    one = (options.image, options.question, options.other)
    if (options.workload is None) != all(value is not None for value in one) or (
        options.workload and any(value is not None for value in one)
    ):
        raise InputError("Give --workload, or --image, --question and --other together.")
    check_writable([options.json])


def _of_question(options: argparse.Namespace) -> dict[str, Any]:
    image, other = (open_picture(path).image for path in (options.image, options.other))
    target = load_target(options.model)
    return single_report(target, diagnose(target, image, options.question, other, options.max_new_tokens))


def _of_workload(options: argparse.Namespace) -> dict[str, Any]:
    workload = read_workload(options.workload)
    for skipped in workload.skipped:
        print(f"Line {skipped.line} of {workload.path.name} was left out: {skipped.reason}.", file=sys.stderr)
    topics = tuple(name.strip() for name in (options.topics or "").split(",") if name.strip())
    # Later turns are not asked, so they take no place in the limit.
    first_turns = workload.with_first_turns()
    of_topics = select(first_turns, topics=topics)
    with_picture = tuple(talk for talk in of_topics.conversations if talk.image is not None)
    if num_blind := len(of_topics.conversations) - len(with_picture):
        print(f"Questions without a picture, which are left out: {num_blind}.", file=sys.stderr)
    chosen = select(replace(of_topics, conversations=with_picture), limit=options.limit)
    questions = pair_pictures(chosen.conversations, workload.conversations)
    target: TransformersTarget = load_target(options.model)
    results = []
    for number, (question, result) in enumerate(diagnose_all(target, questions, options.max_new_tokens), 1):
        told = f"left out: {result.reason}" if isinstance(result, LeftOut) else "read"
        print(f"[{number}/{len(questions)}] {question.topic}, {question.id}: {told}", file=sys.stderr)
        results.append((question, result))
    return pooled_report(target, results)


def summary(report: dict[str, Any]) -> str:
    """The main figures as a few lines."""
    lines = [
        f"{sum(group['num_roots'] for group in report['by_accepted_length'].values())} of {report['num_passes']} "
        "roots confirmed by the forced pass"
    ]
    if "num_questions" in report:
        lines[0] += (
            f", of {report['num_questions']} questions about {report['num_pictures']} pictures; "
            "topics weigh the same, 95 % by pictures"
        )
    for length, group in report["by_accepted_length"].items():
        if group["num_roots"]:
            lines.append(
                f"{length} accepted: {group['num_roots']} roots, {_told(group['change_rate'], '.0%')} change with "
                f"another picture, dependence {_told(group['dependence'], '.2f')} nats"
            )
    fused = report["row_pictures"]["fused"]
    if fused["num_states"]:
        matching, swapped = (_told(fused[kind], ".1%") for kind in ("matching", "swapped"))
        lines.append(f"fused Recall@8: {matching} matching rows, {swapped} swapped")
    return "\n".join(lines)


def _told(figure: float | dict[str, float | None], form: str) -> str:
    """A plain figure, or a value with its interval."""
    if not isinstance(figure, dict):
        return format(figure, form)
    value, low, high = (None if v is None else format(v, form) for v in figure.values())
    return f"{value}" if low is None else f"{value} ({low} to {high})"


if __name__ == "__main__":
    sys.exit(main())
