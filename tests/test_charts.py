"""Chart pictures and their grammar: heights, prints and labels show the values, and every answer is true."""

from __future__ import annotations

import json
import random
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from picture_texts import conversations, words_of

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from charts import captions, phrases, questions, reasoning
from charts.entry import FAMILY
from charts.scene import BARS, KINDS, LINE, SIDEWAYS, draw, make_scene
from charts.words import CHART_WORDS, GROUPS, ORDERED
from family import CHART, IGNORED, PICTURE_SIZES
from labels import CLASSES
from language import NUMBERS

SEEDS = range(120)
LABELS = frozenset(label for group in GROUPS.values() for label in group)
SUM = re.compile(r"(\d+) (plus|minus|divided by) (\d+) is (\d+)")


def chart_of(seed: int, **given):
    return make_scene(random.Random(f"charts-{seed}"), **given)


def test_the_same_seed_draws_the_same_bytes():
    first, second = (draw(chart_of(7)).tobytes() for _ in range(2))
    assert first == second
    assert first != draw(chart_of(8)).tobytes()


def test_scenes_cover_the_domain():
    charts = [chart_of(seed) for seed in range(400)]
    assert {chart.kind for chart in charts} == set(KINDS)
    assert {len(chart.labels) for chart in charts} == {3, 4, 5}
    assert {label for chart in charts for label in chart.labels} == LABELS
    assert {word for chart in charts for word in chart.title} == set(CHART_WORDS) - LABELS
    assert {draw(chart).size for chart in charts[:9]} <= set(PICTURE_SIZES)
    easy = [chart_of(seed, easy=True) for seed in range(50)]
    assert {(chart.kind, len(chart.labels)) for chart in easy} == {(BARS, 3)}


def test_values_differ_and_months_and_days_follow_each_other():
    for seed in SEEDS:
        chart = chart_of(seed)
        assert len(set(chart.values)) == len(chart.labels) == len(chart.colors)
        if chart.group in ORDERED:
            start = GROUPS[chart.group].index(chart.labels[0])
            assert chart.labels == GROUPS[chart.group][start : start + len(chart.labels)]


@pytest.mark.parametrize("kind", [BARS, SIDEWAYS])
def test_the_pixels_of_each_bar_measure_its_value(kind):
    for chart in [chart for chart in map(chart_of, range(60)) if chart.kind == kind]:
        pixels = np.asarray(draw(chart)).astype(int)
        for position, rgb in enumerate(chart.rgbs):
            match = (pixels == np.array(rgb)).all(axis=2)
            if not chart.is_colorful:  # bars of one color: keep to the strip around this one
                left, top, right, bottom = chart.mark(position)
                kept = np.zeros_like(match)
                kept[
                    (slice(top - 2, bottom + 2), slice(None))
                    if kind == SIDEWAYS
                    else (slice(None), slice(left, right))
                ] = 1
                match &= kept
            rows, columns = np.nonzero(match)
            # Text of nearly the bar's color has stray pixels; a bar has whole lines of them.
            length = np.median(
                np.bincount(columns if kind == BARS else rows)[np.unique(columns if kind == BARS else rows)]
            )
            assert abs(length / 5 - chart.values[position] / chart.unit) <= 0.4


def test_the_points_of_a_line_stand_as_high_as_their_values():
    charts = [chart for chart in map(chart_of, range(120)) if chart.kind == LINE]
    assert len(charts) > 10
    for chart in charts:
        pixels = np.asarray(draw(chart)).astype(int)
        for position, value in enumerate(chart.values):
            left, _, right, _ = chart.mark(position)
            match = (pixels[:, left + 4 : right - 4] == np.array(chart.rgbs[0])).all(axis=2)
            rows = np.nonzero(match.any(axis=1))[0]
            assert abs((140 - rows.mean()) / 5 - value / chart.unit) <= 0.8


def test_dense_labels_agree_with_the_pixels_under_each_token():
    for seed in range(30):
        chart = chart_of(seed)
        pixels = np.asarray(draw(chart)).astype(int)
        labels = FAMILY.label(chart)
        assert set(labels) == {"word", "character", "value", "color", "row", "column", "background"}
        for token in range(48):
            row, column = divmod(token, 8)
            patch = pixels[row * 28 : row * 28 + 28, column * 28 : column * 28 + 28]
            shares = {
                color: (np.abs(patch - np.array(rgb)).sum(axis=2) < 12).mean()
                for color, rgb in zip(chart.colors, chart.rgbs, strict=True)
            }
            name = labels["color"][token]
            if name != IGNORED and CLASSES["color"][name] != "nothing":
                assert shares[CLASSES["color"][name]] > 0.03
                if chart.kind != LINE:
                    value = CLASSES["value"][labels["value"][token]]
                    assert int(value) in chart.values
            elif name != IGNORED and chart.kind != LINE:
                assert all(share < 0.2 for color, share in shares.items() if color != "black")
            assert labels["row"][token] == row // 2
        assert {CLASSES["background"][i] for i in labels["background"]} == {chart.background}


def test_labels_and_regions_name_every_word_value_and_color():
    for seed in SEEDS:
        chart = chart_of(seed)
        labels = FAMILY.label(chart)
        seen = {CLASSES["word"][i] for i in labels["word"] if i != IGNORED}
        # "at" and its like may share their token with a longer word.
        assert (
            {*chart.labels, chart.title[0], chart.title[2]}
            <= seen
            <= {*chart.labels, *chart.title, "nothing"}
        )
        assert {int(CLASSES["value"][i]) for i in labels["value"] if i != IGNORED} == set(chart.values)
        digits = [CLASSES["character"][i] for i in labels["character"].reshape(-1) if i != IGNORED]
        assert set("".join(map(str, chart.values))) <= set(digits)
        told = [region.facts for region in FAMILY.regions(chart) if "value" in region.facts]
        assert [fact["word"] for fact in told] == list(chart.labels)
        assert [int(fact["value"]) for fact in told] == list(chart.values)
        assert [fact["color"] for fact in told] == list(chart.colors)
        assert [fact["order"] for fact in told] == ["one", "two", "three", "four", "five"][
            : len(chart.labels)
        ]


def test_lists_json_and_tables_hold_the_values():
    for seed in SEEDS:
        chart = chart_of(seed)
        truth = dict(zip(chart.labels, chart.values, strict=True))
        told = json.loads(captions.as_json(chart))
        assert told["values"] == truth
        assert told["title"] == " ".join(chart.title)
        rows = captions.as_table(chart).split("\n")[2:]
        assert {name: int(v) for name, v in (re.findall(r"\w+", row) for row in rows)} == truth
        lines = captions.bullets(chart).split("\n")
        assert {name: int(v) for name, v in (re.findall(r"\w+", line) for line in lines)} == truth
        ranked = [int(v) for v in re.findall(r"\d+", captions.ranking(chart).split("So the highest")[1])]
        assert ranked == sorted(chart.values, reverse=True)


def test_answers_speak_of_what_is_shown_and_calculate_right():
    sums = 0
    for seed in SEEDS:
        chart = chart_of(seed)
        for turns in conversations(FAMILY, chart, tries=4):
            shown = {*chart.labels, *chart.title}
            for turn in turns:
                assert set(words_of(turn.answer)) & LABELS <= shown, turn
                for one, word, other, result in SUM.findall(turn.answer):
                    a, b = int(one), int(other)
                    right = {"plus": a + b, "minus": a - b, "divided by": a / b}[word]
                    assert right == int(result), turn
                    sums += 1
    assert sums > 300


def test_pointed_questions_get_the_value_they_ask_for():
    asked = 0
    for seed in SEEDS:
        chart = chart_of(seed)
        truth = dict(zip(chart.labels, chart.values, strict=True))
        for turn in [
            questions.value(random.Random(seed), chart),
            *FAMILY.conversations["drill"](random.Random(seed), chart),
        ]:
            if turn.kind == "value" and (named := set(words_of(turn.question)) & set(chart.labels)):
                assert int(re.search(r"\d+", turn.answer).group()) == truth[named.pop()]
                asked += 1
        best = questions.highest(random.Random(seed), chart).answer
        assert str(max(chart.values)) in re.findall(r"\d+", best)
        assert max(truth, key=truth.get) in words_of(best)
    assert asked > 120


def test_the_best_so_far_is_told_before_the_highest_and_the_lowest():
    """A second reader follows the text word by word: each value is compared with the best one before it."""
    for seed in SEEDS:
        chart = chart_of(seed)
        truth = dict(zip(chart.labels, chart.values, strict=True))
        for word, pick in (("highest", max), ("lowest", min)):
            turn = getattr(questions, word)(random.Random(seed), chart)
            evidence, conclusion = turn.answer.split(" So ")
            steps = re.findall(r"(\w+) has (\d+)(?: against (\d+), which is (\w+))?", evidence)
            assert [(label, int(value)) for label, value, *_ in steps] == list(truth.items())
            assert steps[0][2:] == ("", "")
            best = chart.values[0]
            for _, value, bar, relation in steps[1:]:
                assert int(bar) == best
                assert relation == ("more" if int(value) > best else "less")
                best = pick(best, int(value))
            assert best == pick(chart.values)
            assert str(best) in re.findall(r"\d+", conclusion)
            assert pick(truth, key=truth.get) in words_of(conclusion)


def test_counts_run_up_to_the_number_they_end_with():
    numbers = ("no", "one", "two", "three", "four", "five")
    counted = 0
    for seed in SEEDS:
        chart = chart_of(seed)
        for asker in (questions.above, questions.count):
            turn = asker(random.Random(seed), chart)
            assert turn.kind == "count"
            evidence, conclusion = turn.answer.split(" So there ")
            limit = re.search(r"(above|below) (\d+)", turn.question)
            right = len(chart.values)
            if limit:
                far = [v - int(limit[2]) for v in chart.values]
                right = sum(d > 0 if limit[1] == "above" else d < 0 for d in far)
            run = re.findall(r"(?:makes|number) (\w+)", evidence)
            assert run == list(numbers[1 : right + 1])
            assert conclusion.split()[1] == numbers[right]
            counted += right
    assert counted > 500


def test_values_are_put_in_order_one_by_one():
    for seed in SEEDS:
        chart = chart_of(seed)
        for sign in (1, -1):
            told = phrases.put_in_order(chart.values, sign)
            rows = [[int(v) for v in row.split(",")] for row in re.findall(r": ([\d, ]+)\.", told)]
            assert rows == [
                sorted(chart.values[:end], reverse=sign > 0) for end in range(2, len(chart.values) + 1)
            ]


def test_totals_and_orders_are_those_of_the_values():
    for seed in SEEDS:
        chart = chart_of(seed)
        assert int(re.findall(r"\d+", reasoning.total(random.Random(seed), chart).answer)[-1]) == sum(
            chart.values
        )
        turn = reasoning.order(random.Random(seed), chart)
        order = [word for word in words_of(turn.answer.split("So the order is")[1]) if word in chart.labels]
        by_value = sorted(chart.labels, key=lambda label: chart.values[chart.labels.index(label)])
        assert order == (by_value if "from the lowest" in turn.question else by_value[::-1])
        turn = reasoning.average(random.Random(seed), chart)
        assert (turn is None) == bool(sum(chart.values) % len(chart.values))
        if turn is not None:
            mean = sum(chart.values) // len(chart.values)
            shares = [int(share) for share in re.findall(r"(\d+) for each", turn.answer)]
            assert sum(shares) == mean
            assert turn.answer.endswith(f"the average is {mean}.")


def test_the_largest_step_is_kept_from_pair_to_pair():
    for seed in SEEDS:
        chart = chart_of(seed)
        turn = reasoning.growth(random.Random(seed), chart)
        sign = 1 if "rise" in turn.question else -1
        steps = [sign * (after - before) for before, after in pairwise(chart.values)]
        best = max(steps)
        *_, end = turn.answer.split(". ")
        if best <= 0:
            assert end.startswith("There is no ")
            assert "so keep" not in turn.answer
            continue
        place = steps.index(best)
        assert f"is {best}, from {chart.labels[place]} to {chart.labels[place + 1]}." in end
        told = re.findall(
            rf"A {'rise' if sign > 0 else 'fall'} from (\d+) for \w+ to (\d+) for \w+\? (\w+)", turn.answer
        )
        assert [sign * (int(after) - int(before)) for before, after, _ in told] == steps
        assert [verdict for *_, verdict in told] == ["Yes" if step > 0 else "No" for step in steps]
        kept = [int(value) for value in re.findall(r"so keep (\d+)", turn.answer)]
        assert kept == [max(steps[: i + 1]) for i, step in enumerate(steps) if step > 0]


def test_labels_above_a_limit_are_those_that_count():
    for seed in SEEDS:
        chart = chart_of(seed)
        turn = reasoning.check_each(random.Random(seed), chart)
        limit = int(re.search(r"above (\d+)", turn.question).group(1))
        right = [label for label, value in zip(chart.labels, chart.values, strict=True) if value > limit]
        assert re.findall(r"so (\w+) is number (\w+)", turn.answer) == list(
            zip(right, NUMBERS[1:], strict=False)
        )
        assert [w for w in words_of(turn.answer.partition(" So ")[2]) if w in chart.labels] == right


def test_the_questions_so_far_decide_the_answer():
    """Greedy decoding can only be right if one conversation about one picture has one continuation."""
    for seed in range(60):
        answers: dict[tuple[str, ...], set[str]] = {}
        for turns in conversations(FAMILY, chart_of(seed), tries=25):
            asked: tuple[str, ...] = ()
            for turn in turns:
                answers.setdefault((*asked, turn.question), set()).add(turn.answer)
                asked = (*asked, turn.question, turn.answer)
        assert all(len(found) == 1 for found in answers.values())


def test_every_form_and_kind_is_reached_with_answers_of_good_length():
    starts, kinds, lengths = set(), set(), []
    for seed in range(300):
        rng = random.Random(seed)
        chart = chart_of(seed)
        for form, wordings in captions.FORMS:
            turn = captions.ask(rng, chart, form)
            assert turn.question in wordings
            starts.add(form.__name__)
        for topic in FAMILY.conversations:
            turns = FAMILY.converse(rng, chart, topic)
            kinds |= {(topic, turn.kind) for turn in turns}
            lengths += [len(re.findall(r"[a-z]+|\d|[^\w\s]|\n", turn.answer.lower())) for turn in turns]
    assert len(starts) >= 15
    assert len({kind for topic, kind in kinds if topic == CHART}) >= 8
    assert min(lengths) >= 3
    assert max(lengths) <= 200
    wordings = [wording for _, questions in captions.FORMS for wording in questions]
    assert len(wordings) == len(set(wordings))
