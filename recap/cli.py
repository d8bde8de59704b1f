"""Command line of the engine: `python -m recap run --image FILE --question TEXT`; the picture may be left out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recap import metrics
from recap.command_line import MODEL_HELP, check_writable, exit_code_of, write_json
from recap.errors import InputError
from recap.events import Iteration, Prefill, Run
from recap.pictures import Picture, describe_picture, open_picture
from recap.questions import check_question
from recap.tokens import TextStream, readable_text

if TYPE_CHECKING:
    from recap.recording import RecordedRun, SampledRun
    from recap.sampling import Sampler
    from recap.targets.transformers_vlm import TransformersTarget

REFERENCE = "ar"
#: Longest answer that can be asked for; a model's own room may be shorter, which it says itself.
MAX_NEW_TOKENS = 4096


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2 for known errors, told in one sentence, 130 for Ctrl-C."""
    options = build_parser().parse_args(arguments)
    return exit_code_of(lambda: run(options))


def build_parser() -> argparse.ArgumentParser:
    """The options of `run`."""
    parser = argparse.ArgumentParser(prog="python -m recap", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run_ = commands.add_parser(
        "run",
        help="answer a question about a picture, and compare with plain decoding",
        description="Answer a question about a picture by a method and by plain decoding, and compare the two.",
    )
    run_.add_argument("--image", type=Path, help="a PNG, JPEG, WebP or GIF picture; none for a text alone")
    run_.add_argument("--question", required=True, help="what to ask about it")
    run_.add_argument(
        "--method",
        default="recap",
        help="ar, recap, recap@16, ... (default: recap); `python -m recap.bench run --help` lists all",
    )
    run_.add_argument("--model", default="teaching-qwen", help=MODEL_HELP)
    run_.add_argument(
        "--max-new-tokens", type=int, default=200, help="length cap of the answer (default 200)"
    )
    run_.add_argument(
        "--temperature", type=float, help="draw each token at random; without it, greedy decoding"
    )
    run_.add_argument("--top-p", type=float, help="draw among the fewest tokens with this much probability")
    run_.add_argument("--top-k", type=int, help="draw among this many likeliest tokens")
    run_.add_argument("--seed", type=int, default=0, help="of the random numbers (default 0)")
    run_.add_argument("--trace", type=Path, help="write both runs, pass by pass, to this file")
    run_.add_argument("--json", type=Path, help="write the answer and the figures to this file")
    return parser


def run(options: argparse.Namespace) -> int:
    """The command `run`. Raises RecapError for whatever the user can mend."""
    picture, question = _check_input(options)
    # Only now: torch and transformers take seconds to load, and a wrong file name should be told at once.
    from recap.drafters import parse_method
    from recap.recording import RecordedRun, SampledRun, build_trace
    from recap.targets.loading import load_target, warm_up

    # Both are asked again below; here, so that a mistake is told before the model is loaded.
    parse_method(options.method)
    _make_sampler(options)

    def start(method: str) -> RecordedRun | SampledRun:
        sampler = _make_sampler(options)  # each run begins with the seed
        if sampler is None:
            return RecordedRun(target, request, method)
        return SampledRun(target, request, method, sampler)

    target = load_target(options.model)
    image = picture.image if picture else None
    request = target.build_request(image, question, max_new_tokens=options.max_new_tokens)
    warm_up(target, [options.method])
    started = start(options.method)
    answer = _print_answer(target, started)
    runs = [started.run()]
    if options.method != REFERENCE:
        reference = start(REFERENCE)
        for _ in reference:
            pass
        runs.insert(0, reference.run())
    ar_run, method_run = runs[0], runs[-1]
    print(summary_line(method_run, ar_run))
    if options.json:
        figures = describe_run(method_run, ar_run, answer) | {"model": options.model}
        write_json(figures, options.json)
    if options.trace:
        # Only here: a machine that measures may lack the library that writes traces.
        from recap.trace_io import save_trace

        image_info = describe_picture(picture) if picture else None
        trace = build_trace(target, request, question, runs, image_info)
        save_trace(trace, options.trace)
    return 0


def summary_line(run_: Run, ar_run: Run) -> str:
    """Tokens, passes, acceptance length, speedup, and whether the text is plain decoding's."""
    length, ratio = metrics.acceptance_length(run_), metrics.run_speedup(run_, ar_run)
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


def describe_run(run_: Run, ar_run: Run, answer: str) -> dict[str, Any]:
    """The answer and the figures as JSON-ready values; null where there is none."""
    return {
        "method": run_.name,
        "environment": asdict(run_.environment),
        "answer": answer,
        "output_ids": list(metrics.output_ids(run_)),
        "tokens": metrics.num_output_tokens(run_),
        "passes": len(run_.iterations),
        "seconds": metrics.run_seconds(run_),
        "prefill_seconds": metrics.prefill_seconds(run_),
        "ar_seconds": metrics.run_seconds(ar_run),
        "acceptance_length": metrics.acceptance_length(run_),
        "speedup": metrics.run_speedup(run_, ar_run),
        "decode_speedup": metrics.decode_ratio(run_, ar_run),
        "first_difference": metrics.first_difference(run_, ar_run),
        "score_gap": metrics.score_gap(run_, ar_run),
    }


def _check_input(options: argparse.Namespace) -> tuple[Picture | None, str]:
    """The picture, if any, and the question; raises InputError for what can be told without a model."""
    check_question(options.question)
    if not 1 <= options.max_new_tokens <= MAX_NEW_TOKENS:
        raise InputError(
            f"The number of new tokens must be from 1 to {MAX_NEW_TOKENS}; got {options.max_new_tokens}."
        )
    check_writable([options.trace, options.json])
    if options.temperature is None and not (options.top_p is None and options.top_k is None):
        raise InputError("Greedy decoding draws nothing; give --temperature beside --top-p or --top-k.")
    if options.temperature is not None and options.trace:
        raise InputError("A trace tells of greedy decoding; leave out --trace, or --temperature.")
    return open_picture(options.image) if options.image else None, options.question


def _make_sampler(options: argparse.Namespace) -> Sampler | None:
    """What draws the tokens of one run; None for greedy decoding. Raises InputError."""
    from recap.sampling import Sampler

    if options.temperature is None:
        return None
    top_p = 1.0 if options.top_p is None else options.top_p
    return Sampler(options.temperature, options.top_k, top_p, options.seed)


def _print_answer(target: TransformersTarget, recorded: RecordedRun | SampledRun) -> str:
    """Print the answer as it comes; returns it."""
    stream = TextStream(target.token_bytes, target.is_special)
    pieces = []
    for event in recorded:
        if isinstance(event, Prefill):
            piece = stream.push([event.first_token_id])
        elif isinstance(event, Iteration):
            piece = stream.push(event.committed_ids)
        else:
            piece = stream.finish()
        pieces.append(piece)
        # An answer may hold anything, also what would steer the terminal.
        print(readable_text(piece), end="", flush=True)
    print()
    return "".join(pieces)
