"""The workload and the examples: valid lines, honest topics, pictures of their own, the same bytes when made again."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))
sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "workload"))

import make_workload
from evaluate import make_items
from family import CAPTION, CHART, GENERAL, MULTI_TURN, PICTURE_SIZES, REASONING, TEXT, TOPICS
from packing import Packer
from reading import form
from scenes import FAMILIES

ASSETS = Path(__file__).parents[1] / "assets"
LINES = [
    json.loads(line)
    for line in (ASSETS / "workload" / "mmspec.jsonl").read_text(encoding="utf-8").splitlines()
]
NUM_TOKENS = make_workload.token_counter()
ROWS = make_workload.make_rows(NUM_TOKENS)
EXAMPLES = make_workload.make_examples()
#: Where a topic fits: a picture of shapes holds no text, and one of clothes no values.
FAMILIES_OF_TOPIC = {
    GENERAL: {"shapes": 10, "figures": 10},
    TEXT: {"signs": 20},
    CHART: {"charts": 20},
    CAPTION: dict.fromkeys(FAMILIES, 5),
    REASONING: dict.fromkeys(FAMILIES, 5),
    MULTI_TURN: dict.fromkeys(FAMILIES, 5),
}


def grammar_kinds(family: str, topic: str) -> set[str]:
    """The kinds of question that a family's own grammar draws under a topic, by many draws."""
    kinds = set()
    for index in range(1500):
        rng = random.Random(f"kinds-{index}")
        turns = FAMILIES[family].conversations[topic](rng, FAMILIES[family].make_scene(rng))
        kinds |= {turn.kind for turn in turns or ()}
    return kinds


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_every_line_is_in_the_format_of_mmspec(line):
    assert set(line) == {"id", "image", "turns", "category", "topic"}
    assert line["topic"] in TOPICS
    assert line["category"]
    assert line["turns"]
    assert all(isinstance(turn, str) and turn.strip() for turn in line["turns"])
    assert len(line["turns"]) in ((2, 3, 4) if line["topic"] == MULTI_TURN else (1,))
    with Image.open(ASSETS / "workload" / "images" / line["image"]) as picture:
        assert picture.format == "PNG"
        assert picture.size in PICTURE_SIZES


def test_all_six_topics_hold_twenty_questions_and_ids_are_unique():
    assert Counter(line["topic"] for line in LINES) == dict.fromkeys(TOPICS, 20)
    assert len({line["id"] for line in LINES}) == len(LINES)
    images = {line["image"] for line in LINES}
    assert images == {file.name for file in (ASSETS / "workload" / "images").iterdir()}
    assert len(images) == len(LINES)


def test_each_topic_asks_about_the_families_it_fits():
    for topic, families in FAMILIES_OF_TOPIC.items():
        assert Counter(row.family for row in ROWS if row.topic == topic) == families, topic


def test_the_right_answers_are_those_of_the_questions_that_are_asked():
    assert [(line["topic"], line["category"], line["turns"]) for line in LINES] == [
        (row.topic, row.category, [turn.question for turn in row.turns]) for row in ROWS
    ]


def test_answers_are_neither_tiny_nor_longer_than_a_run():
    turns = [dataclasses.replace(row, turns=(turn,)) for row in ROWS for turn in row.turns]
    lengths = list(map(NUM_TOKENS, turns))
    assert min(lengths) >= 3
    assert max(lengths) <= 200


@pytest.mark.parametrize("topic", TOPICS)
def test_answers_are_about_as_long_as_in_mmspec_or_as_long_as_the_pictures_allow(topic):
    mean = fmean(NUM_TOKENS(row) for row in ROWS if row.topic == topic)
    first = fmean(
        NUM_TOKENS(next(make_workload.drawings_for(topic, *place)))
        for place in enumerate(make_workload.QUESTIONS[topic])
    )
    aim = make_workload.MMSPEC_TOKENS[topic]
    assert first < mean <= 1.02 * aim
    assert mean >= 0.98 * aim or mean >= 1.1 * first, "nearer to the aim than the first drawings"


@pytest.mark.parametrize(("family", "topic"), [("signs", TEXT), ("charts", CHART)])
def test_every_kind_of_question_of_a_family_that_has_a_topic_to_itself_is_asked(family, topic):
    asked = {row.category.partition(":")[0] for row in ROWS if row.topic == topic}
    assert asked == grammar_kinds(family, topic)


@pytest.mark.parametrize("topic", [GENERAL, TEXT, CAPTION, CHART, REASONING])
def test_categories_name_the_kind_of_question(topic):
    for family in FAMILIES_OF_TOPIC[topic]:
        asked = {row.category.partition(":")[0] for row in ROWS if (row.topic, row.family) == (topic, family)}
        assert asked <= grammar_kinds(family, topic)


def test_questions_are_worded_in_many_ways():
    first = Counter(row.turns[0].question for row in ROWS)
    assert len(first) >= 0.85 * len(ROWS)
    forms = [row.category for row in ROWS if row.category.startswith("caption:")]
    assert len(set(forms)) >= 15


def test_whole_pictures_are_told_in_thirty_forms():
    """Counted in the right answers, facts masked; forms that two families share count once a family."""
    told = [row for row in ROWS if row.category.startswith(("caption", "list"))]
    assert len({(row.family, form(row.turns[0].answer, row.family)) for row in told}) >= 30
    assert len({(row.family, row.category.partition(":")[2]) for row in told}) >= 30


def test_the_workload_stays_small():
    files = [file for file in (ASSETS / "workload").rglob("*") if "__pycache__" not in file.parts]
    assert sum(file.stat().st_size for file in files if file.is_file()) < 5_000_000


def test_making_it_again_gives_the_same_bytes(tmp_path):
    make_workload.write_workload(tmp_path / "workload", ROWS)
    make_workload.write_examples(tmp_path / "examples", EXAMPLES)
    for folder in ("workload", "workload/images", "examples"):
        for made in (tmp_path / folder).iterdir():
            if made.is_file():
                assert made.read_bytes() == (ASSETS / folder / made.name).read_bytes(), made


def test_no_picture_is_one_of_training_or_evaluation():
    """A scene with its jitter identifies its picture."""
    ours = {row.scene for row in ROWS} | {scene for _, scene, _ in EXAMPLES}
    assert len(ours) == len(LINES) + len(make_workload.EXAMPLES)
    evaluated = {item.picture.tobytes() for item in make_items(40, list(FAMILIES))}
    drawn = {make_workload.draw(row.family, row.scene).tobytes() for row in ROWS}
    drawn |= {make_workload.draw(family, scene).tobytes() for family, scene, _ in EXAMPLES}
    assert len(drawn) == len(ours)
    assert not drawn & evaluated
    trained = set()
    for stage, num_pictures in (("train", 8), ("vision", 32)):
        for step in range(40):
            rng = random.Random(Packer.seed(stage, 0, step))  # as a batch is drawn
            names = rng.choices(list(FAMILIES), [1.0] * len(FAMILIES), k=num_pictures)
            trained |= {FAMILIES[name].make_scene(rng) for name in names}
    assert not ours & trained


def test_examples_name_pictures_that_exist():
    examples = json.loads((ASSETS / "examples" / "questions.json").read_text(encoding="utf-8"))
    assert len(examples) == 8
    for example in examples:
        assert set(example) == {"image", "question"}
        assert example["question"]
        with Image.open(ASSETS / "examples" / example["image"]) as picture:
            assert picture.size in PICTURE_SIZES


def test_examples_show_two_pictures_of_each_family_and_what_the_lessons_need():
    assert Counter(family for family, *_ in EXAMPLES) == dict.fromkeys(FAMILIES, 2)
    asked = Counter((family, turn.question) for family, _, turn in EXAMPLES)
    assert max(asked.values()) == 2, "one question about two pictures"
    in_two_contexts = [
        "covers her head" in turn.answer and "protect her feet" in turn.answer for *_, turn in EXAMPLES
    ]
    assert sum(in_two_contexts) == 2
