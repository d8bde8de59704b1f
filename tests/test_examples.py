"""The page's opening examples: what the recorded answers say is what is in the pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[1] / "assets"
sys.path.insert(0, str(ASSETS / "teaching_vlm"))
sys.path.insert(0, str(ASSETS / "workload"))

import make_workload  # noqa: E402

EXAMPLES = make_workload.make_examples()


@pytest.mark.parametrize("index", range(len(EXAMPLES)))
def test_every_recorded_run_of_an_example_gives_the_right_answer(index):
    """The picture's own scene knows it; the trace is read without the project's own reader."""
    *_, turn = EXAMPLES[index]
    (path,) = (ASSETS / "traces").glob(f"*-example-{index + 1}.json")
    trace = json.loads(path.read_text("utf-8"))
    assert trace["request"]["question"] == turn.question
    words = {token["id"]: bytes.fromhex(token["bytes_hex"]) for token in trace["tokens"]}
    ends = {token["id"] for token in trace["tokens"] if token["is_special"]}
    assert len(trace["runs"]) > 1
    for run in trace["runs"]:
        *answer, end = run["finished"]["output_ids"]
        assert end in ends, "it came to its end"
        assert b"".join(words[token_id] for token_id in answer).decode() == turn.answer
