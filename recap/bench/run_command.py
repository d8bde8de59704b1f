"""The command `run`: measure methods on a workload, keep what was measured, write the reports."""

from __future__ import annotations

import argparse
import hashlib
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from recap.bench.checkpoint import (
    Checkpoint,
    checkpoint_path,
    load_checkpoint,
    read_finished_report,
    save_checkpoint,
)
from recap.bench.methods import PEERS
from recap.bench.progress import Progress
from recap.bench.report import REFERENCE, UnitResult, build_report
from recap.bench.report_files import write_markdown, write_report
from recap.bench.runner import BenchRunner, BenchTarget, MeasuredUnit
from recap.bench.settings import BenchSettings, ResetU
from recap.bench.shards import Shard, parse_shard, take_shard
from recap.bench.workload import Order, Workload, arrange, read_workload, select
from recap.command_line import MODEL_HELP, STOPPED, check_writable
from recap.drafters import AUTO, METHODS
from recap.errors import InputError
from recap.memory_io import fingerprint
from recap.pictures import describe_picture
from recap.recording import build_trace
from recap.targets.loading import load_target
from recap.targets.transformers_vlm import TransformersTarget

DEFAULT_WORKLOAD = Path(__file__).resolve().parents[2] / "assets" / "workload"


def add_command(commands: Any) -> None:
    """The options of `run`, on argparse's subparsers."""
    meanings = METHODS | {name: peer.meaning for name, peer in PEERS.items()}
    names = "\n".join(f"  {name:22}{meaning}" for name, meaning in meanings.items())
    parser = commands.add_parser(
        "run",
        help="measure methods on a workload against plain decoding",
        epilog=f"methods:\n{names}\n  {'module:Class':22}a drafter of your own (see README.md)\n\n"
        "Recap names may be joined: recap-no-confidence+fixed is fixed expansion where c = 1, as in the paper's\n"
        "Table 4. `gains` names the pairs that make the paper's comparisons.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--workload",
        type=Path,
        default=DEFAULT_WORKLOAD,
        help="a folder with mmspec.jsonl and images/, or a .jsonl file (default: the one that ships)",
    )
    parser.add_argument(
        "--methods",
        type=_names,
        default=(REFERENCE, "recap"),
        help="comma-separated names from the list below; @N behind a RECAP name sets its nodes (default: ar,recap)",
    )
    parser.add_argument("--model", default="teaching-qwen", help=MODEL_HELP)
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16, float16 or auto (default)")
    parser.add_argument("--topics", type=_names, default=(), help="comma-separated; all of them by default")
    parser.add_argument("--limit", type=int, help="units in all, spread evenly over the topics")
    parser.add_argument(
        "--nodes",
        type=_nodes,
        default=63,
        help="draft nodes of RECAP methods without @N, or auto (default 63)",
    )
    parser.add_argument(
        "--max-new-tokens", type=int, default=200, help="length cap of an answer (default 200)"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        help="measure each unit this many times and take the median ratio (default: 1)",
    )
    parser.add_argument(
        "--order",
        choices=get_args(Order),
        default="interleaved",
        help="the file's order (default), topic by topic, or one of each topic in turn",
    )
    parser.add_argument(
        "--reset-u",
        choices=get_args(ResetU),
        default="never",
        help="when the memories that outlive a request are emptied (default: never)",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        help="i/n: only the i-th of n parts, a stream of its own; see merge",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where a run with the same options was stopped; one that was finished is left as it is",
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first line that cannot be used")
    parser.add_argument("--json", type=Path, required=True, help="where the report goes")
    parser.add_argument("--markdown", type=Path, help="where its tables go, too")
    parser.add_argument("--traces", type=Path, help="a folder for one recorded trace a unit")


def run_command(options: argparse.Namespace) -> int:
    """The command `run`: measure, tell the progress on stderr, write the reports. Raises RecapError."""
    settings = BenchSettings(
        options.methods, options.nodes, options.repeats, options.reset_u, options.max_new_tokens
    )
    workload = read_workload(options.workload, strict=options.strict)
    for skipped in workload.skipped:
        print(f"Line {skipped.line} of {workload.path.name} was left out: {skipped.reason}.", file=sys.stderr)
    chosen = select(workload, topics=options.topics, limit=options.limit)
    if options.shard:
        chosen = take_shard(chosen, options.shard)
    check_writable([options.json, options.markdown])
    if options.traces:
        _check_folder(options.traces)
    conversations = arrange(chosen.conversations, options.order)
    plan = (settings, options.model, options.dtype, conversations)
    partial = checkpoint_path(options.json)
    resumed = load_checkpoint(partial, plan) if options.resume else None
    described = _describe(options, settings, chosen)
    if options.resume and resumed is None and options.json.exists():
        report = read_finished_report(options.json, described, conversations, settings.all_methods)
        print(f"{options.json} is finished; nothing was measured.", file=sys.stderr)
        write_markdown(report, options.markdown)
        return 0
    target = load_target(options.model, dtype=options.dtype)
    weights = fingerprint(target).model if isinstance(target, TransformersTarget) else ""
    if resumed and resumed.weights != weights:
        raise InputError(
            f"{partial} was stopped with other weights of {options.model}; remove it, or start without --resume."
        )
    runner = BenchRunner(target, settings, is_recorded=options.traces is not None)
    results = list(resumed.results) if resumed else []
    progress = Progress(chosen.num_units, resumed.num_units_done if resumed else 0)
    exit_code = 0
    try:
        for unit in runner.run(conversations, resumed):
            results += unit.results
            if options.traces:
                _save_trace(target, unit, options.traces)
            save_checkpoint(_checkpoint(plan, weights, results, runner), partial)
            progress.show(unit)
    except KeyboardInterrupt:
        if not results:  # a report that lies there already is worth more than an empty one
            raise
        print(
            "Stopped; the report covers the units measured so far. --resume goes on from here.",
            file=sys.stderr,
        )
        exit_code = STOPPED
    environment = asdict(target.environment) | {"python_version": platform.python_version()}
    write_report(build_report(results, environment, described), options)
    if exit_code == 0:
        partial.unlink(missing_ok=True)  # not before the report is there: a run may be killed at any moment
    return exit_code


def _checkpoint(
    plan: tuple[Any, ...], weights: str, results: Sequence[UnitResult], runner: BenchRunner
) -> Checkpoint:
    return Checkpoint(
        plan,
        weights,
        tuple(results),
        runner.num_units_done,
        tuple(runner.history),
        runner.lost,
        runner.method_states(),
    )


def _check_folder(folder: Path) -> None:
    """Make the folder of the traces before the work, not after the first unit. Raises InputError."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --traces needs a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be written ({error.strerror}); name another one."
        ) from error


def _shard(text: str) -> Shard:
    """The value of `--shard`, with argparse's own way of refusing it."""
    try:
        return parse_shard(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _nodes(text: str) -> int | str:
    """The value of `--nodes`; how many are allowed is the methods' own rule."""
    if text == AUTO:
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be auto or a whole number from 0; got {text!r}")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _describe(options: argparse.Namespace, settings: BenchSettings, workload: Workload) -> dict[str, object]:
    return asdict(settings) | {
        "methods": list(settings.all_methods),
        "model": options.model,
        "dtype": options.dtype,
        "order": options.order,
        "workload": workload.path.parent.name,
        "questions": _digest(
            repr(
                [(talk.id, talk.topic, talk.turns) for talk in arrange(workload.conversations, options.order)]
            )
        ),
        "topics": list(options.topics),
        "limit": options.limit,
        "shard": "{}/{}".format(*options.shard) if options.shard else None,
        "num_units": workload.num_units,
        "skipped_lines": [asdict(skipped) for skipped in workload.skipped],
    }


def _save_trace(target: BenchTarget, unit: MeasuredUnit, folder: Path) -> None:
    # Only here: a machine that measures may lack the library that writes traces.
    from recap.trace_io import save_trace

    if unit.request is None or not unit.runs:
        return
    name = _file_name(f"{unit.conversation.id}-{unit.turn}")
    question = unit.conversation.turns[unit.turn - 1]
    image = describe_picture(unit.picture) if unit.picture else None
    trace = build_trace(target, unit.request, question, unit.runs, image)
    save_trace(trace, folder / f"{name}.json")


def _file_name(text: str) -> str:
    """`text` as a file's name; where that takes another letter, a digest keeps it apart from other texts."""
    name = re.sub(r"[^\w.-]", "_", text)
    return name if name == text else f"{name}-{_digest(text)}"


def _digest(text: str) -> str:
    """Eight letters that tell texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
