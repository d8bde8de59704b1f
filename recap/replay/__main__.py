"""Command line of the replay: `python -m recap.replay TRACE... --json OUT`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recap.command_line import check_writable, exit_code_of, write_json
from recap.errors import InputError
from recap.replay.report import build_report
from recap.trace_io import load_trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m recap.replay",
        description="What recorded runs tell without a model. `python -m visualize OUT -o FILE.html` draws it.",
    )
    parser.add_argument("traces", nargs="+", type=Path, help="trace files, or folders of them")
    parser.add_argument("--run", help="name of the run to replay; by default the first with memories")
    parser.add_argument("--json", type=Path, required=True, help="where the report goes")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Replay the traces, write the report, and tell its main figures. Raises RecapError."""
    check_writable([options.json])
    report = build_report(map(load_trace, _trace_paths(options.traces)), options.run)
    write_json(report, options.json)
    print(summary(report))
    return 0


def summary(report: dict[str, Any]) -> str:
    """The main figures as a few lines."""
    lines = [
        f"{report['num_states']} states of {report['num_traces']} runs on {report['num_pictures']} pictures; "
        f"the same accepted length in {_percent(report['passes']['same_accepted_length'])} of "
        f"{report['passes']['num_replayed']} passes",
        "Memories empty at the start of each request:",
    ]
    for source, figures in report["memories"]["own_states"].items():
        lines.append(
            f"  {source}: coverage {_percent(figures['coverage'])}, Recall@8 {_percent(figures['recall_at_8'])}, "
            f"over all states {_percent(figures['all_query_recall_at_8'])}"
        )
    lines.append(
        "  matched length at equal nodes, tokens: " + _listed(report["policies"], "matched_length", 1, ".3f")
    )
    seeded = report["prompt_seeded"]
    lines += [
        "U seeded by the prompt:",
        "  matched length at equal nodes by fusion (c = 1), tokens: "
        + _listed({"alone": seeded["suffix"]}, "fusion", 1, ".3f")
        + ", "
        + _listed({"with suffix": seeded["suffix"]}, "fusion_and_suffix", 1, ".3f"),
        "  Recall@8 over that of no-confidence (c = 1), points: "
        + _listed(seeded["rules"], "over_no_confidence", 100, "+.2f"),
    ]
    return "\n".join(lines)


def _listed(named: dict[str, dict[str, Any]], figure: str, scale: float, form: str) -> str:
    """One figure of each name, as a list."""
    values = {name: figures[figure]["value"] for name, figures in named.items()}
    return ", ".join(
        f"{name} {'–' if value is None else format(scale * value, form)}" for name, value in values.items()
    )


def _percent(interval: dict[str, float | None]) -> str:
    value = interval["value"]
    return "–" if value is None else f"{value:.1%}"


def _trace_paths(sources: Sequence[Path]) -> list[Path]:
    paths = [p for s in sources for p in (sorted(s.glob("*.json")) if s.is_dir() else [s])]
    if not paths:
        raise InputError(f"There is no trace in {', '.join(map(str, sources))}.")
    return paths


if __name__ == "__main__":
    sys.exit(main())
