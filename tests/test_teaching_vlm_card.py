"""The shares by which a teaching model is judged, and the card's results made from them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TEACHING = Path(__file__).parents[1] / "assets" / "teaching_vlm"
sys.path.insert(0, str(TEACHING))

import card  # noqa: E402 - the folder has to be on the path first
from evaluate import make_items  # noqa: E402
from family import TEXT  # noqa: E402
from scenes import FAMILIES  # noqa: E402
from shapes.scene import COLORS  # noqa: E402
from shares import headline, is_answer_right, score  # noqa: E402

NUMBER = re.compile(r"\d+(?:\.\d+)?")
ITEMS = make_items(4, list(FAMILIES))
RIGHT = [(item.turn.answer, True) for item in ITEMS]


def changed(index: int, answer: str) -> list[tuple[str, bool]]:
    """Right answers to all items but one."""
    return [*RIGHT[:index], (answer, True), *RIGHT[index + 1 :]]


def evaluation(families: list[str], architecture: str = "qwen2_5_vl") -> dict:
    """An evaluation in which every share differs from every other."""
    items = [item for item in ITEMS if item.family in families]
    answers = [(item.turn.answer, True) for item in items]
    told = {"architecture": architecture, "pictures": 4, **headline(items, answers)}
    for name in families:
        chosen = [(i, a) for i, a in zip(items, answers, strict=True) if i.family == name]
        told[name] = {"answers": len(chosen), "caption forms": 3, **score(*zip(*chosen, strict=True))}
    share = 0.1
    for found in (told, *(told[name] for name in families)):
        for key, value in found.items():
            if isinstance(value, float):
                found[key] = share = share + 0.004
    return told


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each Markdown table, head first."""
    found: list[list[list[str]]] = []
    for before, line in zip(["", *text.splitlines()], text.splitlines(), strict=False):
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    assert all(set(table[1]) == {"---"} for table in found)
    assert all(len(row) == len(table[0]) for table in found for row in table)
    return [[table[0], *table[2:]] for table in found]


def test_right_answers_have_all_shares_and_silence_has_none():
    names = {
        "shape_attributes",
        "dressed_attributes",
        "chart_values",
        "sign_exact",
        "counts",
        "short_answers",
        "ends",
    }
    assert headline(ITEMS, RIGHT) == dict.fromkeys(names, 1.0)
    assert headline(ITEMS, [("", False)] * len(ITEMS)) == dict.fromkeys(names, 0.0)


def test_a_word_out_of_the_question_proves_nothing():
    """'Is this a sign, a jar or a receipt?' holds all the facts of its answer."""
    for item in ITEMS:
        assert not is_answer_right(item, ""), item.turn
        assert not is_answer_right(item, item.turn.question), item.turn
        assert is_answer_right(item, item.turn.answer)


def test_one_wrong_value_costs_one_of_all_the_values_that_charts_answers_hold():
    values = [
        [
            number
            for number in NUMBER.findall(item.turn.answer)
            if number not in NUMBER.findall(item.turn.question)
        ]
        if item.family == "charts"
        else []
        for item in ITEMS
    ]
    # A value that stands once in its answer, not even as a part of another number.
    index, value = next(
        (i, number)
        for i, found in enumerate(values)
        for number in found
        if ITEMS[i].turn.answer.count(number) == 1
    )
    wrong = headline(ITEMS, changed(index, ITEMS[index].turn.answer.replace(value, "977")))
    total = sum(map(len, values))
    assert wrong["chart_values"] == pytest.approx((total - 1) / total)
    assert wrong["shape_attributes"] == wrong["dressed_attributes"] == wrong["sign_exact"] == 1


@pytest.mark.parametrize(
    ("family", "name"), [("figures", "dressed_attributes"), ("shapes", "shape_attributes")]
)
def test_a_wrong_color_costs_the_share_of_its_own_family(family, name):
    index, color = next(
        (i, color)
        for i, item in enumerate(ITEMS)
        for color in COLORS
        if item.family == family and color in item.turn.answer and color not in item.turn.question
    )
    other = next(
        other for other in COLORS if other not in ITEMS[index].turn.answer + ITEMS[index].turn.question
    )
    wrong = headline(ITEMS, changed(index, ITEMS[index].turn.answer.replace(color, other, 1)))
    others = {"shape_attributes", "dressed_attributes", "chart_values", "sign_exact"} - {name}
    assert 0.9 < wrong[name] < 1
    assert {wrong[other] for other in others} == {1}


def test_a_sign_is_exact_to_the_letter_where_its_text_is_asked_for():
    asked = [i for i, item in enumerate(ITEMS) if (item.family, item.part) == ("signs", TEXT)]
    index = asked[0]
    answer = ITEMS[index].turn.answer
    wrong = headline(ITEMS, changed(index, answer[:-1]))  # a full stop is missing
    assert wrong["sign_exact"] == pytest.approx(1 - 1 / len(asked))
    elsewhere = next(i for i, item in enumerate(ITEMS) if item.family == "signs" and item.part != TEXT)
    assert headline(ITEMS, changed(elsewhere, "?"))["sign_exact"] == 1


def test_families_that_were_not_asked_about_have_no_share():
    shapes = [i for i, item in enumerate(ITEMS) if item.family == "shapes"]
    found = headline([ITEMS[i] for i in shapes], [RIGHT[i] for i in shapes])
    assert set(found) == {"shape_attributes", "counts", "short_answers", "ends"}


def test_the_card_holds_every_share_of_the_evaluation_once_in_its_place():
    told = evaluation(list(FAMILIES))
    headline_table, by_family = tables(card.results(told))
    shown = {row[0]: row[1:] for row in headline_table[1:]}
    for key, name in card.HEADLINE.items():
        assert shown[name] == [f"{100 * told[key]:.1f} %", f"{card.AIMS['qwen'][key]} %"]
    assert len(shown) == len(card.HEADLINE)
    assert by_family[0] == ["what", *FAMILIES]
    for column, family in enumerate(FAMILIES, 1):
        percents = sorted(row[column] for row in by_family[1:-1] if row[column])
        assert percents == sorted(f"{100 * v:.1f} %" for v in told[family].values() if isinstance(v, float))
    assert by_family[-1][1:] == ["3"] * len(FAMILIES)
    assert len({row[0] for row in by_family}) == len(by_family), "no two rows have one name"
    colors = next(row for row in by_family if row[0] == "colours")
    assert colors[1:] == [f"{100 * told[family]['facts: colors']:.1f} %" for family in FAMILIES]
    answers = sum(told[family]["answers"] for family in FAMILIES)
    assert "--limit 4 --json OUT` on 4 unseen pictures of each family" in " ".join(card.results(told).split())
    assert f"{answers} answers" in " ".join(card.results(told).split())


def test_a_card_about_some_families_says_which_and_has_the_aims_of_its_model():
    text = card.results(evaluation(["shapes"], "llava_next"))
    assert "assets/teaching_vlm/llava --families shapes" in " ".join(text.split())
    headline_table, by_family = tables(text)
    assert [row[2] for row in headline_table[1:]] == ["88 %", "", "", ""]
    assert by_family[0] == ["what", "shapes"]
    assert all(row[1] for row in by_family)


def test_an_evaluation_of_another_model_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"architecture must be one of .*; got architecture='bloom'"):
        card.results({"architecture": "bloom"})
    path = tmp_path / "old.json"
    for written in ('{"pictures": 4}', "no JSON"):
        path.write_text(written, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, TEACHING / "card.py", path], capture_output=True, text=True, check=False
        )
        assert run.returncode == 1
        assert run.stderr.startswith("card.py: ")
        assert len(run.stderr.strip().splitlines()) == 1
