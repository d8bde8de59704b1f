"""Record the runs that ship with the project: the example questions, by plain decoding and by RECAP.

    python assets/traces/record.py [--model teaching-qwen] [--out assets/traces]

All questions belong to one stream, which has answered some questions of the workload before, so U arrives filled,
as for a visitor who has asked several questions. Each method is run once unrecorded first, so that the recorded run
meets warm code; both start from the same U.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from recap.bench.workload import read_workload, select  # noqa: E402 - the repository's root has to be on the path first
from recap.memory import Memories  # noqa: E402
from recap.pictures import describe_picture, open_picture  # noqa: E402
from recap.recording import RecordedRun, build_trace  # noqa: E402
from recap.targets.loading import load_target, warm_up  # noqa: E402
from recap.trace_io import save_trace  # noqa: E402

METHODS = ("ar", "recap@63", "recap@16")
MAX_NEW_TOKENS = 200
NUM_EARLIER_QUESTIONS = 12


def main() -> int:
    """Record every example question; prints a line a file."""
    parser = argparse.ArgumentParser(description="Record the runs that ship with the project.")
    parser.add_argument("--model", default="teaching-qwen")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    target = load_target(arguments.model)
    warm_up(target)
    examples = ROOT / "assets" / "examples"
    streams = {method: Memories(target.vocab_size) for method in METHODS}
    workload = select(read_workload(ROOT / "assets" / "workload"), limit=NUM_EARLIER_QUESTIONS)
    for conversation in workload.conversations:
        image = open_picture(conversation.image).image if conversation.image else None
        request = target.build_request(image, conversation.turns[0], MAX_NEW_TOKENS)
        for method in METHODS:
            for _ in RecordedRun(target, request, method, streams[method]):
                pass
    for number, example in enumerate(
        json.loads((examples / "questions.json").read_text(encoding="utf-8")), start=1
    ):
        picture = open_picture(examples / example["image"])
        request = target.build_request(picture.image, example["question"], MAX_NEW_TOKENS)
        runs = []
        for method in METHODS:
            before = streams[method].snapshot()
            for _ in RecordedRun(target, request, method, streams[method]):
                pass
            streams[method].restore(before)
            recorded = RecordedRun(target, request, method, streams[method])
            for _ in recorded:
                pass
            runs.append(recorded.run())
        trace = build_trace(target, request, example["question"], runs, describe_picture(picture))
        path = arguments.out / f"{number:02d}-{Path(example['image']).stem}.json"
        save_trace(trace, path)
        print(
            f"{path.name}: {len(runs[0].finished.output_ids)} tokens, passes {[r.finished.num_passes for r in runs]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
