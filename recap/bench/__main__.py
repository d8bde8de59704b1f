"""Command line of the benchmark: `run --json OUT`; `merge` and `gains` for reports; `cost`, `host` and `shapes`."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from recap.bench import cost, gains, host, shapes
from recap.bench.checkpoint import Checkpoint, checkpoint_path, load_checkpoint, save_checkpoint
from recap.bench.methods import PEERS
from recap.bench.progress import Progress
from recap.bench.report import REFERENCE, UnitResult, build_report, to_markdown
from recap.bench.runner import BenchRunner, BenchTarget, MeasuredUnit
from recap.bench.settings import BenchSettings, ResetU
from recap.bench.shards import Shard, merge_reports, parse_shard, read_report, take_shard
from recap.bench.workload import Order, Workload, arrange, read_workload, select
from recap.drafters import AUTO, METHODS
from recap.errors import InputError, RecapError
from recap.pictures import describe_picture
from recap.recording import build_trace
from recap.targets.loading import load_target

DEFAULT_WORKLOAD = Path(__file__).resolve().parents[2] / "assets" / "workload"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](options)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def build_parser() -> argparse.ArgumentParser:
    """The options of every command."""
    parser = argparse.ArgumentParser(prog="python -m recap.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    meanings = METHODS | {name: peer.meaning for name, peer in PEERS.items()}
    names = "\n".join(f"  {name:22}{meaning}" for name, meaning in meanings.items())
    run_ = commands.add_parser(
        "run",
        help="measure methods on a workload against plain decoding",
        epilog=f"methods:\n{names}\n  {'module:Class':22}a drafter of your own (see README.md)",
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
        "--nodes",
        type=lambda text: text if text == AUTO else int(text),
        default=63,
        help="draft nodes of RECAP methods without @N, or auto (default 63)",
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
        "--shard",
        type=parse_shard_option,
        help="i/n: only the i-th of n parts, a stream of its own; see merge",
    )
    run_.add_argument(
        "--resume", action="store_true", help="go on where a run with the same options was stopped"
    )
    run_.add_argument("--strict", action="store_true", help="stop at the first line that cannot be used")
    run_.add_argument("--json", type=Path, required=True, help="where the report goes")
    run_.add_argument("--markdown", type=Path, help="where its tables go, too")
    run_.add_argument("--traces", type=Path, help="a folder for one recorded trace a unit")
    merge_ = commands.add_parser("merge", help="join the reports of all shards of a benchmark")
    merge_.add_argument("reports", nargs="+", type=Path, help="what `run --shard i/n --json` wrote, all n")
    merge_.add_argument("--json", type=Path, required=True, help="where the joined report goes")
    merge_.add_argument("--markdown", type=Path, help="where its tables go, too")
    for command in FIGURE_COMMANDS.values():
        command.add_command(commands)
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
    if options.shard:
        chosen = take_shard(chosen, options.shard)
    _check_writable([options.json, options.markdown])
    if options.traces and options.traces.exists() and not options.traces.is_dir():
        raise InputError(f"{options.traces} is a file; --traces needs a folder.")
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
        if not results:  # a report that lies there already is worth more than an empty one
            raise
        print(
            "Stopped; the report covers the units measured so far. --resume goes on from here.",
            file=sys.stderr,
        )
        exit_code = 130
    environment = asdict(target.environment) | {"python_version": platform.python_version()}
    report = build_report(results, environment, _describe(options, settings, chosen))
    _write_report(report, options)
    return exit_code


def merge(options: argparse.Namespace) -> int:
    """The command `merge`: one report of the shards'. Raises RecapError."""
    _check_writable([options.json, options.markdown])
    _write_report(merge_reports([read_report(path) for path in options.reports]), options)
    return 0


def tell_figures(options: argparse.Namespace) -> int:
    """The commands `cost`, `host` and `shapes` for one pass, and `gains` for reports. Raises RecapError."""
    _check_writable([options.json])
    figures, table = FIGURE_COMMANDS[options.command].run_command(options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    print(table)
    return 0


def _write_report(report: dict[str, Any], options: argparse.Namespace) -> None:
    options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    markdown = to_markdown(report)
    if options.markdown:
        options.markdown.write_text(markdown, "utf-8")
    print(markdown)


def _checkpoint(plan: tuple[Any, ...], results: Sequence[UnitResult], runner: BenchRunner) -> Checkpoint:
    return Checkpoint(
        plan,
        tuple(results),
        runner.num_units_done,
        tuple(runner.history),
        runner.lost,
        runner.method_states(),
    )


def parse_shard_option(text: str) -> Shard:
    """The value of `--shard`, with argparse's own way of refusing it."""
    try:
        return parse_shard(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check_writable(paths: Sequence[Path | None]) -> None:
    """A report that cannot be written must be known before an hour of measuring, not after it."""
    for path in paths:
        if path and not path.parent.is_dir():
            raise InputError(f"The folder {path.parent} does not exist; make it first, or name another file.")
        if path and path.is_dir():
            raise InputError(f"{path} is a folder; name a file in it.")


def _describe(options: argparse.Namespace, settings: BenchSettings, workload: Workload) -> dict[str, object]:
    return asdict(settings) | {
        "methods": list(settings.all_methods),
        "model": options.model,
        "dtype": options.dtype,
        "order": options.order,
        "workload": workload.path.parent.name,
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
    folder.mkdir(parents=True, exist_ok=True)
    name = _file_name(f"{unit.conversation.id}-{unit.turn}")
    question = unit.conversation.turns[unit.turn - 1]
    image = describe_picture(unit.picture) if unit.picture else None
    trace = build_trace(target, unit.request, question, unit.runs, image)
    save_trace(trace, folder / f"{name}.json")


def _file_name(text: str) -> str:
    """`text` as a file's name; where that takes another letter, a digest keeps it apart from other texts."""
    name = re.sub(r"[^\w.-]", "_", text)
    return name if name == text else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


FIGURE_COMMANDS = {"gains": gains, "cost": cost, "host": host, "shapes": shapes}
COMMANDS = {"run": run, "merge": merge, **dict.fromkeys(FIGURE_COMMANDS, tell_figures)}

if __name__ == "__main__":
    sys.exit(main())
