"""Command line of the benchmark: `python -m recap.bench run --json OUT`."""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO, get_args

from recap.bench.checkpoint import Checkpoint, checkpoint_path, load_checkpoint, save_checkpoint
from recap.bench.methods import HF_GREEDY
from recap.bench.report import REFERENCE, UnitResult, build_report, to_markdown
from recap.bench.runner import BenchRunner, BenchTarget, MeasuredUnit
from recap.bench.settings import BenchSettings, ResetU
from recap.bench.workload import Order, Workload, arrange, read_workload, select
from recap.drafters import METHODS
from recap.errors import InputError, RecapError
from recap.pictures import describe_picture
from recap.recording import build_trace
from recap.targets.loading import load_target

DEFAULT_WORKLOAD = Path(__file__).resolve().parents[2] / "assets" / "workload"
#: Without a terminal, progress is a line at most this often.
SECONDS_BETWEEN_LINES = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    try:
        return run(options)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 2


def build_parser() -> argparse.ArgumentParser:
    """The options of `run`."""
    parser = argparse.ArgumentParser(prog="python -m recap.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    names = "\n".join(f"  {name:22}{meaning}" for name, meaning in METHODS.items())
    run_ = commands.add_parser(
        "run",
        help="measure methods on a workload against plain decoding",
        epilog=f"methods:\n{names}\n  {HF_GREEDY:22}generate(do_sample=False) of transformers, as it is",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run_.add_argument(
        "--workload",
        type=Path,
        default=DEFAULT_WORKLOAD,
        help="a folder with mmspec.jsonl and images/, or a .jsonl file (default: the one that ships)",
    )
    run_.add_argument(
        "--methods",
        type=_names,
        default=(REFERENCE, "recap"),
        help="comma-separated names from the list below; @N behind a RECAP name sets its nodes (default: ar,recap)",
    )
    run_.add_argument("--model", default="teaching-qwen", help="teaching-qwen, a folder or a hub name")
    run_.add_argument("--dtype", default="auto", help="float32, bfloat16, float16 or auto (default)")
    run_.add_argument("--topics", type=_names, default=(), help="comma-separated; all of them by default")
    run_.add_argument("--limit", type=int, help="units in all, spread evenly over the topics")
    run_.add_argument(
        "--nodes", type=int, default=63, help="draft nodes of RECAP methods without @N (default 63)"
    )
    run_.add_argument("--max-new-tokens", type=int, default=200, help="length cap of an answer (default 200)")
    run_.add_argument(
        "--repeats", type=int, default=1, help="measure each unit so often, take the median ratio"
    )
    run_.add_argument(
        "--order",
        choices=get_args(Order),
        default="interleaved",
        help="the file's order (default), topic by topic, or one of each topic in turn",
    )
    run_.add_argument(
        "--reset-u",
        choices=get_args(ResetU),
        default="never",
        help="when the memories that outlive a request are emptied (default: never)",
    )
    run_.add_argument(
        "--resume", action="store_true", help="go on where a run with the same options was stopped"
    )
    run_.add_argument("--strict", action="store_true", help="stop at the first line that cannot be used")
    run_.add_argument("--json", type=Path, required=True, help="where the report goes")
    run_.add_argument("--markdown", type=Path, help="where its tables go, too")
    run_.add_argument("--traces", type=Path, help="a folder for one recorded trace a unit")
    return parser


def run(options: argparse.Namespace) -> int:
    """The command `run`: measure, tell the progress on stderr, write the reports. Raises RecapError."""
    settings = BenchSettings(
        options.methods, options.nodes, options.repeats, options.reset_u, options.max_new_tokens
    )
    workload = read_workload(options.workload, strict=options.strict)
    for skipped in workload.skipped:
        print(f"Line {skipped.line} of {workload.path.name} was left out: {skipped.reason}.", file=sys.stderr)
    chosen = select(workload, topics=options.topics, limit=options.limit)
    _check_writable([options.json, options.markdown])
    conversations = arrange(chosen.conversations, options.order)
    plan = (settings, options.model, options.dtype, conversations)
    partial = checkpoint_path(options.json)
    resumed = load_checkpoint(partial, plan) if options.resume else None
    target = load_target(options.model, dtype=options.dtype)
    runner = BenchRunner(target, settings, is_recorded=options.traces is not None)
    results = list(resumed.results) if resumed else []
    progress = Progress(chosen.num_units, resumed.num_units_done if resumed else 0)
    exit_code = 0
    try:
        for unit in runner.run(conversations, resumed):
            results += unit.results
            if options.traces:
                _save_trace(target, unit, options.traces)
            save_checkpoint(_checkpoint(plan, results, runner), partial)
            progress.show(unit)
        partial.unlink(missing_ok=True)
    except KeyboardInterrupt:
        print(
            "Stopped; the report covers the units measured so far. --resume goes on from here.",
            file=sys.stderr,
        )
        exit_code = 130
    environment = asdict(target.environment) | {"python_version": platform.python_version()}
    report = build_report(results, environment, _describe(options, settings, chosen))
    options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    markdown = to_markdown(report)
    if options.markdown:
        options.markdown.write_text(markdown, "utf-8")
    print(markdown)
    return exit_code


class Progress:
    """One line on stderr: units done, time taken, time left; rewritten in place on a terminal."""

    def __init__(self, num_units: int, num_done: int = 0, stream: TextIO | None = None) -> None:
        self._num_units = num_units
        self._num_resumed = num_done
        self._stream = stream or sys.stderr
        self._started = time.monotonic()
        self._shown = -SECONDS_BETWEEN_LINES
        self._first: float | None = None
        self._num_done = num_done

    def show(self, unit: MeasuredUnit) -> None:
        """Count a unit as done. A failed method is told at once, with its reason."""
        self._num_done += 1
        is_last = self._num_done == self._num_units
        is_terminal = self._stream.isatty()
        for result in unit.results:
            if result.error:
                self._stream.write(
                    f"{result.method} failed on {result.id}, turn {result.turn}: {result.error}\n"
                )
        elapsed = time.monotonic() - self._started
        if not (is_terminal or is_last) and elapsed - self._shown < SECONDS_BETWEEN_LINES:
            return
        self._shown = elapsed
        # The first unit waited for the warm-up; what it took says little about the others.
        self._first = self._first or elapsed
        num_timed = self._num_done - self._num_resumed - 1
        each = (elapsed - self._first) / num_timed if num_timed else elapsed
        left = each * (self._num_units - self._num_done)
        ratios = ", ".join(
            f"{result.method} {result.ratio:.2f}×"
            for result in unit.results
            if result.ratio is not None and result.method != REFERENCE
        )
        line = (
            f"[{self._num_done}/{self._num_units}] {_clock(elapsed)} elapsed, about {_clock(left)} left"
            f"; {unit.conversation.topic}: {ratios or 'no ratio'}"
        )
        if is_terminal:
            self._stream.write(f"\r\033[K{line}" + ("\n" if is_last else ""))
        else:
            self._stream.write(line + "\n")
        self._stream.flush()


def _checkpoint(plan: tuple[Any, ...], results: Sequence[UnitResult], runner: BenchRunner) -> Checkpoint:
    return Checkpoint(
        plan,
        tuple(results),
        runner.num_units_done,
        tuple(runner.history),
        runner.lost,
        runner.method_states(),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _check_writable(paths: Sequence[Path | None]) -> None:
    """A report that cannot be written must be known before an hour of measuring, not after it."""
    for path in paths:
        if path and not path.parent.is_dir():
            raise InputError(f"The folder {path.parent} does not exist; make it first, or name another file.")


def _describe(options: argparse.Namespace, settings: BenchSettings, workload: Workload) -> dict[str, object]:
    return asdict(settings) | {
        "methods": list(settings.all_methods),
        "model": options.model,
        "dtype": options.dtype,
        "order": options.order,
        "workload": workload.path.parent.name,
        "topics": list(options.topics),
        "limit": options.limit,
        "num_units": workload.num_units,
        "skipped_lines": [asdict(skipped) for skipped in workload.skipped],
    }


def _save_trace(target: BenchTarget, unit: MeasuredUnit, folder: Path) -> None:
    # Only here: a machine that measures may lack the library that writes traces.
    from recap.trace_io import save_trace

    if unit.request is None or not unit.runs:
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]", "_", f"{unit.conversation.id}-{unit.turn}")
    question = unit.conversation.turns[unit.turn - 1]
    image = describe_picture(unit.picture) if unit.picture else None
    trace = build_trace(target, unit.request, question, unit.runs, image)
    save_trace(trace, folder / f"{name}.json")


if __name__ == "__main__":
    sys.exit(main())
