"""Phrases that mean one thing of a picture: found where they end, with facts that hold in the scene."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from architectures import ARCHITECTURES
from family import IGNORED, TOPICS
from labels import CLASSES
from mentions import MentionFinder
from packing import Packer
from scenes import FAMILIES

QWEN = Path(__file__).parents[1] / "assets" / "teaching_vlm" / "qwen"
SEEDS = range(40)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(QWEN, local_files_only=True)


@pytest.fixture(scope="module")
def finder(tokenizer):
    return MentionFinder(lambda text: tokenizer(text)["input_ids"])


def found(finder, tokenizer, mentions, text):
    """(text up to the end of the phrase, name of the fact, word of the fact), in the order of the text."""
    ids = tokenizer(text)["input_ids"]
    labels = finder.labels(mentions, ids)
    return [
        (tokenizer.decode(ids[: at + 1]), name, CLASSES[name][values[at]])
        for at in range(len(ids))
        for name, values in labels.items()
        if values[at] != IGNORED
    ]


def test_a_fact_stands_at_the_end_of_its_phrase(finder, tokenizer):
    mentions = {"red circle": {"row": "top"}, "20": {"word": "kiwi"}}
    assert found(finder, tokenizer, mentions, "Is the red circle 20?") == [
        ("Is the red circle", "row", "top"),
        ("Is the red circle 20", "word", "kiwi"),
    ]


def test_a_number_is_no_part_of_a_longer_one(finder, tokenizer):
    assert found(finder, tokenizer, {"2": {"word": "kiwi"}}, "There are 20, 12 and 2.") == [
        ("There are 20, 12 and 2", "word", "kiwi")
    ]


def test_the_longer_of_two_phrases_counts(finder, tokenizer):
    mentions = {"hat of the girl": {"color": "blue"}, "girl": {"color": "red"}}
    for order in (mentions, dict(reversed(mentions.items()))):
        assert found(finder, tokenizer, order, "The hat of the girl, a girl.") == [
            ("The hat of the girl", "color", "blue"),
            ("The hat of the girl, a girl", "color", "red"),
        ]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_every_fact_is_a_class_and_no_phrase_tells_its_own_fact_alone(family):
    for seed in SEEDS:
        for phrase, facts in family.mentions(family.make_scene(random.Random(seed))).items():
            assert facts
            assert all(word in CLASSES[name] for name, word in facts.items())
            assert set(facts.values()) - set(phrase.split())


def test_a_shape_is_meant_only_where_one_answers_to_the_name():
    for seed in SEEDS:
        scene = FAMILIES["shapes"].make_scene(random.Random(seed))
        told = FAMILIES["shapes"].mentions(scene)
        for thing in scene.things:
            for phrase in (thing.shape, f"{thing.color} {thing.shape}"):
                words = set(phrase.split())
                meant = [other for other in scene.things if words <= {other.shape, other.color}]
                assert (phrase in told) == (len(meant) == 1)
                if phrase in told:
                    place = {"center": "middle center"}.get(thing.place, thing.place)
                    facts = told[phrase]
                    assert f"{facts['row']} {facts['column']}" == place
                    assert (facts["color"], facts["size"]) == (thing.color, thing.size)


def test_clothes_are_told_as_the_answers_tell_them():
    family = FAMILIES["figures"]
    for seed in SEEDS:
        scene = family.make_scene(random.Random(seed))
        told = family.mentions(scene)
        for draw in range(20):
            turn = family.converse(random.Random(f"{seed}-{draw}"), scene, TOPICS[0])[0]
            asked = re.match(r"What color (?:is|are) the (\w+ of the [\w ]+)\?", turn.question)
            if asked:
                color = told[asked[1]]["color"]
                assert turn.answer.endswith(f" {color}.") or (color == "nothing" and " no " in turn.answer)
        for person in scene.people:
            assert told[person.kind]["column"] == person.place
            assert (told[person.kind]["thing"] == "nothing") == (person.held is None)


def test_labels_and_values_of_a_chart_mean_each_other():
    for seed in SEEDS:
        chart = FAMILIES["charts"].make_scene(random.Random(seed))
        told = FAMILIES["charts"].mentions(chart)
        assert len(told) == 2 * len(chart.labels)
        for label, value in zip(chart.labels, chart.values, strict=True):
            assert told[label]["value"] == str(value)
            assert told[str(value)]["word"] == label
            assert told[label]["order"] == told[str(value)]["order"]


def test_words_of_a_sign_mean_their_line_and_items_their_price():
    for seed in SEEDS:
        scene = FAMILIES["signs"].make_scene(random.Random(seed))
        told = FAMILIES["signs"].mentions(scene)
        letters = [word for word in scene.words if word.isalpha()]
        assert set(told) == {word for word in letters if letters.count(word) == 1}
        for word, facts in told.items():
            line = scene.lines[CLASSES["line"].index(facts["line"])]
            assert word in line
            if "value" in facts:
                assert line == (word, facts["value"])


def test_a_batch_holds_the_mentions_of_every_conversation(tokenizer):
    packer = Packer(ARCHITECTURES["qwen"], tokenizer, row_length=384, fact_weight=4.0)
    batch = packer.batch("mentions", 4, dict.fromkeys(FAMILIES, 1.0), dict.fromkeys(TOPICS, 1.0))
    rows, columns = (batch.mentions["order"] != IGNORED).nonzero(as_tuple=True)
    assert len(rows)
    assert (batch.segments[rows, columns] > 0).all()
    for row, column in zip(
        rows, columns, strict=True
    ):  # only labels, values and items have an order of their own
        word = tokenizer.decode(batch.input_ids[row, column : column + 1]).strip()
        assert word.isalnum()
