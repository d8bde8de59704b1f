"""Command line of the engine: `python -m recap run --image FILE --question TEXT`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recap import metrics
from recap.errors import InputError, RecapError
from recap.events import Prefill, Run
from recap.pictures import Picture, open_picture

REFERENCE = "ar"
#: Tokens decoded once by each method before the clock counts: compiling and first allocations happen there.
WARM_UP_TOKENS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    try:
        run(options)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The options of `run`."""
    parser = argparse.ArgumentParser(prog="python -m recap", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run_ = commands.add_parser("run", help="answer a question about a picture, and compare with plain decoding")
    run_.add_argument("--image", type=Path, required=True, help="a PNG, JPEG, WebP or GIF picture")
    run_.add_argument("--question", required=True, help="what to ask about it")
    run_.add_argument("--method", default="recap", help="recap, recap@16, recap-uniform, ..., ar (default: recap)")
    run_.add_argument("--model", default="teaching-qwen", help="teaching-qwen, a folder or a hub name")
    run_.add_argument("--max-new-tokens", type=int, default=200, help="length cap of the answer (default 200)")
    run_.add_argument("--trace", type=Path, help="write both runs, pass by pass, to this file")
    run_.add_argument("--json", type=Path, help="write the answer and the figures to this file")
    return parser


def run(options: argparse.Namespace) -> None:
    """The command `run`. Raises RecapError for whatever the user can mend."""
    picture, question = _check_input(options)
    # Only now: torch and transformers take seconds to load, and a wrong file name should be told at once.
    from recap.recording import RecordedRun
    from recap.targets.loading import load_target

    target = load_target(options.model)
    request = target.build_request(picture.image, question, max_new_tokens=options.max_new_tokens)
    warm_up = target.build_request(picture.image, question, max_new_tokens=WARM_UP_TOKENS)
    for method in (REFERENCE, options.method):
        list(RecordedRun(target, warm_up, method))
    recorded = RecordedRun(target, request, options.method)
    _print_answer(target, recorded)
    method_run = recorded.run()
    ar_run = method_run
    if options.method != REFERENCE:
        reference = RecordedRun(target, request, REFERENCE)
        list(reference)
        ar_run = reference.run()
    print(summary_line(method_run, ar_run))
    if options.json:
        figures = describe_run(target, method_run, ar_run)
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if options.trace:
        _save_trace(options.trace, target, request, question, picture, method_run, ar_run)


def summary_line(run_: Run, ar_run: Run) -> str:
    """Tokens, passes, acceptance length, speedup, and whether the text is plain decoding's."""
    length, ratio = metrics.acceptance_length(run_), metrics.throughput_ratio(run_, ar_run)
    parts = [
        f"{metrics.num_output_tokens(run_)} tokens in {len(run_.iterations)} passes",
        "no pass, so no τ" if length is None else f"τ {length:.2f}",
        "no speedup" if ratio is None else f"S {ratio:.2f}× against plain decoding",
    ]
    index = metrics.first_difference(run_, ar_run)
    if index is None:
        parts.append("same text")
    else:
        gap = metrics.score_gap(run_, ar_run)
        parts.append(f"differs from token {index + 1}" + ("" if gap is None else f", score gap {gap:.2g}"))
    return " · ".join(parts)
