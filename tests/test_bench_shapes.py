"""`bench shapes`: a real model's shapes with random weights; here made small, as the real ones need a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers
from tiny_models import library_greedy

from recap.bench import shapes
from recap.bench.__main__ import main
from recap.recording import RecordedRun

#: Weights of the published checkpoints, in millions.
MILLIONS = {"qwen2.5-vl-7b": 8292, "llava-1.6-vicuna-7b": 7063}


@pytest.mark.parametrize("model", list(shapes.SHAPES))
def test_the_small_stand_in_runs_the_whole_check(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shapes.json"
    command = ["shapes", "--tiny", "--model", model, "--device", "cpu", "--new-tokens", "24"]
    assert main([*command, "--json", str(path)]) == 0
    report = json.loads(path.read_text("utf-8"))
    assert report["image_tokens"] >= 1000
    assert report["image_tokens"] + 75 == report["prompt_tokens"]
    assert report["first_difference"] is None, "float32"
    plain, ours = report["methods"].values()
    assert plain["tokens"] == ours["tokens"] == 24
    assert plain["passes"] == 23
    assert ours["passes"] < 23, "drafts are accepted and their entries kept"
    assert ours["mean_nodes"] > 10
    printed = capsys.readouterr().out
    assert "recap@63: 24 tokens" in printed
    assert printed.rstrip().endswith("Same tokens.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--new-tokens", "1"], "at least 2"),
        (["--device", "abacus"], "The device 'abacus' cannot be used here"),
    ],
)
def test_what_cannot_be_tried_is_one_sentence(arguments, sentence, capsys) -> None:
    assert main(["shapes", "--tiny", *arguments]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("model", list(shapes.SHAPES))
def test_the_picture_s_request_is_read_as_the_library_reads_it(model: str) -> None:
    target = shapes.build_target(model, True, "float32", "cpu")
    request = shapes.build_request(target, shapes.SHAPES[model], 6)
    *_, finished = RecordedRun(target, request, "ar")
    target.end_ids = frozenset({target.vocab_size - 1})  # `generate` wants one
    assert library_greedy(target, request) == list(finished.output_ids)


@pytest.mark.parametrize("model", list(shapes.SHAPES))
def test_the_shapes_are_the_published_ones(model: str) -> None:
    with torch.device("meta"):
        built = transformers.AutoModelForImageTextToText.from_config(shapes.SHAPES[model].config(False))
    assert round(sum(parameter.numel() for parameter in built.parameters()) / 1e6) == MILLIONS[model]


@pytest.mark.requires_cuda
@pytest.mark.parametrize("model", list(shapes.SHAPES))
def test_real_shapes_decode_on_a_gpu(model: str, tmp_path: Path) -> None:
    path = tmp_path / "shapes.json"
    assert main(["shapes", "--model", model, "--dtype", "bfloat16", "--json", str(path)]) == 0
    report = json.loads(path.read_text("utf-8"))
    assert report["image_tokens"] >= 1000
    assert all(figures["tokens"] == 200 for figures in report["methods"].values())
