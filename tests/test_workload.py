"""The workload and the examples: valid lines, honest topics, pictures of their own, the same bytes when made again."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))
sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "workload"))

import make_workload
from evaluate import make_items
from packing import Packer
from scenes import FAMILIES

ASSETS = Path(__file__).parents[1] / "assets"
TOPICS = {
    "general vqa",
    "text vqa",
    "image captioning",
    "chart understanding",
    "complex reasoning pro",
    "multi-turn conversation",
}
LINES = [
    json.loads(line)
    for line in (ASSETS / "workload" / "mmspec.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_every_line_is_in_the_format_of_mmspec(line):
    assert set(line) == {"id", "image", "turns", "category", "topic"}
    assert line["topic"] in TOPICS
    assert line["category"]
    assert line["turns"]
    assert all(isinstance(turn, str) and turn.strip() for turn in line["turns"])
    assert (len(line["turns"]) in (2, 3)) == (line["topic"] == "multi-turn conversation")
    with Image.open(ASSETS / "workload" / "images" / line["image"]) as picture:
        assert picture.format == "PNG"
        assert picture.size == (168, 168)


def test_topics_are_evenly_filled_and_ids_unique():
    counts = Counter(line["topic"] for line in LINES)
    assert len(LINES) >= 72
    assert min(counts.values()) >= 18
    assert len(set(counts.values())) == 1
    assert len({line["id"] for line in LINES}) == len(LINES)
    assert len({line["image"] for line in LINES}) == len(LINES)


def test_pictures_stay_small():
    assert sum(file.stat().st_size for file in (ASSETS / "workload" / "images").iterdir()) < 5_000_000


def test_making_it_again_gives_the_same_bytes(tmp_path):
    make_workload.write_workload(tmp_path / "workload", make_workload.make_rows())
    make_workload.write_examples(tmp_path / "examples", make_workload.make_examples())
    for folder in ("workload", "workload/images", "examples"):
        for made in (tmp_path / folder).iterdir():
            if made.is_file():
                assert made.read_bytes() == (ASSETS / folder / made.name).read_bytes(), made


def test_no_picture_is_one_of_training_or_evaluation():
    """A scene with its jitter (30 random digits a thing) identifies its picture."""
    ours = {row.scene for row in make_workload.make_rows()} | {
        scene for scene, _ in make_workload.make_examples()
    }
    assert len(ours) == len(LINES) + len(make_workload.EXAMPLES)
    evaluated = {item.picture.tobytes() for item in make_items(40, ["shapes"])}
    drawn = {make_workload.draw(scene).tobytes() for scene in ours}
    assert not drawn & evaluated
    trained = set()
    for step in range(40):
        rng = random.Random(Packer.seed("train", 0, step))
        trained |= {FAMILIES["shapes"].make_scene(rng) for _ in range(8)}
    assert not ours & trained


def test_examples_name_pictures_that_exist():
    examples = json.loads((ASSETS / "examples" / "questions.json").read_text(encoding="utf-8"))
    assert len(examples) == 6
    for example in examples:
        assert set(example) == {"image", "question"}
        assert example["question"]
        with Image.open(ASSETS / "examples" / example["image"]) as picture:
            assert picture.size == (168, 168)
