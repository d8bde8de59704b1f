"""Command line: `python -m recap.counterfactual --image FILE --question TEXT --other FILE --json OUT`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image

from recap.counterfactual.diagnosis import (
    by_accepted_length,
    by_relative_support,
    compare_row_pictures,
    diagnose_roots,
)
from recap.counterfactual.teacher_forcing import fit_picture, force_text, mean_picture
from recap.errors import InputError, RecapError
from recap.metrics import output_ids
from recap.pictures import open_picture
from recap.recording import RecordedRun, build_trace
from recap.replay.trajectory import read_trajectory
from recap.targets.loading import load_target
from recap.targets.transformers_vlm import TransformersTarget


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, 2 for known errors, told in one sentence."""
    parser = argparse.ArgumentParser(
        prog="python -m recap.counterfactual",
        description="What an answer owes to its picture: the same text in front of a mean picture and of another one.",
    )
    parser.add_argument("--image", type=Path, required=True, help="the picture that is asked about")
    parser.add_argument("--question", required=True, help="what to ask about it")
    parser.add_argument(
        "--other", type=Path, required=True, help="a picture that does not belong to the question"
    )
    parser.add_argument("--model", default="teaching-qwen", help="teaching-qwen, a folder or a hub name")
    parser.add_argument(
        "--max-new-tokens", type=int, default=200, help="length cap of the answer (default 200)"
    )
    parser.add_argument("--json", type=Path, required=True, help="where the report goes")
    options = parser.parse_args(arguments)
    try:
        if not options.json.parent.is_dir():
            raise InputError(f"The folder {options.json.parent} does not exist; make it first.")
        if options.json.is_dir():
            raise InputError(f"{options.json} is a folder; name a file in it.")
        image, other = (open_picture(path).image for path in (options.image, options.other))
        target = load_target(options.model)
        report = diagnose(target, image, options.question, other, options.max_new_tokens)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 2
    options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    print(summary(report))
    return 0


def diagnose(
    target: TransformersTarget,
    image: Image.Image,
    question: str,
    other: Image.Image,
    max_new_tokens: int = 200,
) -> dict[str, Any]:
    """Answer with RECAP, read the answer again in front of three pictures, and compare.

    Raises:
        InputError: a question that cannot be asked, or an answer too short to have a pass.
    """
    pictures = (image, mean_picture(image), fit_picture(other, image.size))
    requests = [target.build_request(picture, question, max_new_tokens) for picture in pictures]
    recorded = RecordedRun(target, requests[0], "recap")
    for _ in recorded:
        pass
    run = recorded.run()
    ids = output_ids(run)
    if len(ids) < 2:
        raise InputError("The answer has one token only: there is no pass to look at.")
    full, mean, wrong = (force_text(target, request, ids) for request in requests)
    trajectory = read_trajectory(build_trace(target, requests[0], question, [run]), run)
    roots = diagnose_roots(trajectory, run, full, mean, wrong)
    return {
        "schema": 1,
        "kind": "counterfactual",
        "model": target.name,
        "question": question,
        "answer": target.tokenizer.decode(ids, skip_special_tokens=True),
        "num_passes": len(run.iterations),
        "num_states": len(trajectory.rows),
        "roots": [asdict(root) for root in roots],
        "by_accepted_length": by_accepted_length(roots),
        "by_relative_support": by_relative_support(roots),
        "row_pictures": compare_row_pictures(trajectory, full, wrong),
    }


def summary(report: dict[str, Any]) -> str:
    """The main figures as a few lines."""
    lines = [f"{len(report['roots'])} of {report['num_passes']} roots confirmed by the forced pass"]
    for length, group in report["by_accepted_length"].items():
        if group["num_roots"]:
            lines.append(
                f"{length} accepted: {group['num_roots']} roots, {group['change_rate']:.0%} change with another "
                f"picture, dependence {group['dependence']:.2f}"
            )
    fused = report["row_pictures"]["fused"]
    if fused["num_states"]:
        lines.append(f"fused Recall@8: {fused['matching']:.1%} matching rows, {fused['swapped']:.1%} swapped")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
