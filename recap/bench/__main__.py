"""Command line of the benchmark: `run --json OUT`; `merge` and `gains` for reports; `cost`, `host` and `shapes`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from recap.bench import cost, gains, host, run_command, shapes
from recap.bench.report_files import write_report
from recap.bench.shards import merge_reports, read_report
from recap.command_line import check_writable, exit_code_of, write_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    return exit_code_of(lambda: COMMANDS[options.command](options))


def build_parser() -> argparse.ArgumentParser:
    """The options of every command."""
    parser = argparse.ArgumentParser(prog="python -m recap.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run_command.add_command(commands)
    merge_ = commands.add_parser("merge", help="join the reports of all shards of a benchmark")
    merge_.add_argument("reports", nargs="+", type=Path, help="what `run --shard i/n --json` wrote, all n")
    merge_.add_argument("--json", type=Path, required=True, help="where the joined report goes")
    merge_.add_argument("--markdown", type=Path, help="where its tables go, too")
    for command in FIGURE_COMMANDS.values():
        command.add_command(commands)
    return parser


def merge(options: argparse.Namespace) -> int:
    """The command `merge`: one report of the shards'. Raises RecapError."""
    check_writable([options.json, options.markdown])
    write_report(merge_reports([read_report(path) for path in options.reports]), options)
    return 0


def tell_figures(options: argparse.Namespace) -> int:
    """The commands `cost`, `host` and `shapes` for one pass, and `gains` for reports. Raises RecapError."""
    check_writable([options.json])
    figures, table = FIGURE_COMMANDS[options.command].run_command(options)
    if options.json:
        write_json(figures, options.json)
    print(table)
    return 0


FIGURE_COMMANDS = {"gains": gains, "cost": cost, "host": host, "shapes": shapes}
COMMANDS = {"run": run_command.run_command, "merge": merge, **dict.fromkeys(FIGURE_COMMANDS, tell_figures)}

if __name__ == "__main__":
    sys.exit(main())
