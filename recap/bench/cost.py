"""`bench cost`: the time of one pass by the number of its rows and the length of the text before it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recap.budget import CostCurve
from recap.command_line import MODEL_HELP
from recap.errors import InputError
from recap.targets.cost import PREFIX_LENGTH, ROWS
from recap.targets.loading import load_target
from recap.targets.transformers_vlm import TransformersTarget

#: Row counts whose time is told as a multiple of one row's: a slow single row flatters every speedup.
COMPARED_ROWS = (16, 64)


def add_command(commands: Any) -> None:
    """The options of `cost`, on argparse's subparsers."""
    parser = commands.add_parser("cost", help="time passes by their rows, and keep the times for @auto")
    parser.add_argument("--model", default="teaching-qwen", help=MODEL_HELP)
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16, float16 or auto (default)")
    parser.add_argument(
        "--rows", type=_numbers, default=ROWS, help=f"rising, from 1 (default {','.join(map(str, ROWS))})"
    )
    parser.add_argument(
        "--prefix",
        type=_numbers,
        default=(PREFIX_LENGTH,),
        help=f"tokens before the pass, one or more numbers (default {PREFIX_LENGTH})",
    )
    parser.add_argument("--json", type=Path, help="where the figures go, too")


def run_command(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The command `cost`: its figures, measured anew, and their table. Raises RecapError."""
    rows = tuple(options.rows)
    if rows[:1] != (1,) or list(rows) != sorted(set(rows)) or min(options.prefix) < 1:
        raise InputError(
            "--rows must be rising numbers from 1, as in 1,4,16,64; --prefix numbers of at least 1."
        )
    target = load_target(options.model, dtype=options.dtype)
    longest = target.max_positions - max(rows) - 1
    if max(options.prefix) > longest:
        raise InputError(
            f"This model has room for a prefix of at most {longest} tokens before {max(rows)} rows."
        )
    report = measure_cost(target, rows, options.prefix)
    return report, to_markdown(report)


def measure_cost(
    target: TransformersTarget, rows: tuple[int, ...], prefixes: tuple[int, ...]
) -> dict[str, Any]:
    """`rows` and `ms` behind the first prefix, the same behind each (`by_prefix`), and `ratios` to one row's time."""
    curves = {prefix: target.measure_cost(prefix, rows) for prefix in prefixes}
    return {
        "environment": asdict(target.environment),
        "rows": list(rows),
        "ms": _milliseconds(curves[prefixes[0]]),
        "by_prefix": {str(prefix): _milliseconds(curve) for prefix, curve in curves.items()},
        "ratios": {
            str(prefix): {
                f"t({count})/t(1)": curve.seconds[rows.index(count)] / curve.seconds[0]
                for count in COMPARED_ROWS
                if count in rows
            }
            for prefix, curve in curves.items()
        },
    }


def to_markdown(report: dict[str, Any]) -> str:
    """The report as a table, one line a prefix."""
    environment = report["environment"]
    ratios = next(iter(report["ratios"].values()))
    header = ["prefix", *(f"{count} rows" for count in report["rows"]), *ratios]
    lines = [
        f"Milliseconds of one pass, the lower quartile of several. {environment['device']}, {environment['dtype']}, "
        f"{environment['num_threads']} threads.",
        "",
        "| " + " | ".join(header) + " |",
        "|" + "---:|" * len(header),
    ]
    for prefix, milliseconds in report["by_prefix"].items():
        cells = [prefix, *(f"{value:.2f}" for value in milliseconds)]
        cells += [f"{value:.2f}" for value in report["ratios"][prefix].values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _milliseconds(curve: CostCurve) -> list[float]:
    return [1e3 * seconds for seconds in curve.seconds]


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers with commas between; got {text!r}"
        ) from error
