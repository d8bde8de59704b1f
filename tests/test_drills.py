"""Drill questions that no picture answers: what they say must be true."""

from __future__ import annotations

import random
import re
import sys
from decimal import Decimal
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from family import DRILL
from scenes import FAMILIES

SEEDS = range(120)


def drilled(name, kind):
    """All drill turns of a kind about some scenes of a family."""
    family = FAMILIES[name]
    for seed in SEEDS:
        scene = family.make_scene(random.Random(seed))
        turns = (family.converse(random.Random(attempt), scene, DRILL)[0] for attempt in range(20))
        yield from (turn for turn in turns if turn.kind == kind)


@pytest.mark.parametrize("name", ["charts", "signs"])
def test_sums_and_differences_are_right(name):
    turns = list(drilled(name, "sum"))
    assert len(turns) > 20
    for turn in turns:
        asked, told = (
            [Decimal(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
            for text in (turn.question, turn.answer)
        )
        one, other, high, low = asked
        assert told == [one, other, one + other, high, low, high - low]
        assert high > low


def test_words_are_spelled_letter_by_letter():
    turns = list(drilled("signs", "spelling"))
    assert len(turns) > 20
    for turn in turns:
        (word,) = re.findall(r"Spell (\w+)\.", turn.question)
        assert re.fullmatch(r"It is ([a-z](?:, [a-z])*)\.", turn.answer)[1].split(", ") == list(word)
