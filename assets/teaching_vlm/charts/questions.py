"""Short questions about a chart: values, extremes, differences, sums, title, labels, colors."""

from __future__ import annotations

import random
from itertools import pairwise

from family import CHART, GENERAL
from language import Turn, a, capital, join, number
from shapes.phrases import conclude

from charts import captions
from charts.phrases import (
    KIND_NAMES,
    beside,
    climb,
    count_beyond,
    count_marks,
    direction,
    label_colors,
    mark,
    minus,
    numbered_labels,
    pairs,
    plural_group,
    plus,
    ranked,
    same_color,
    title,
)
from charts.scene import LINE, Chart


def value(rng: random.Random, chart: Chart) -> Turn:
    label, value = rng.choice(pairs(chart))
    question, answer = rng.choice(
        (
            (f"What is the value of {label}?", f"The value of {label} is {value}."),
            (f"How high is {label}?", f"The {mark(chart)} for {label} reaches {value}."),
            (f"Which number belongs to {label}?", f"The number {value} belongs to {label}."),
        )
    )
    return Turn(question, answer, "value", CHART)


def extreme(rng: random.Random, chart: Chart, word: str) -> Turn:
    """The highest or lowest, found by comparing each value with the best before it."""
    sign = 1 if word == "highest" else -1
    best, bar = ranked(chart)[0 if sign > 0 else -1]
    told = climb(pairs(chart), sign)
    question, answer = rng.choice(
        (
            (
                f"Which {chart.group} has the {word} value?",
                f"Of the {plural_group(chart)}, {told}. So the {word} value is {bar}, that of {best}.",
            ),
            (
                f"Where is the {word} {mark(chart)}?",
                f"Read {direction(chart)}, {told}. So the {word} {mark(chart)} is {best} with {bar}.",
            ),
        )
    )
    return Turn(question, answer, "extreme", CHART)


def highest(rng: random.Random, chart: Chart) -> Turn:
    return extreme(rng, chart, "highest")


def lowest(rng: random.Random, chart: Chart) -> Turn:
    return extreme(rng, chart, "lowest")


def difference(rng: random.Random, chart: Chart) -> Turn:
    (one, high), (other, low) = sorted(rng.sample(pairs(chart), 2), key=lambda pair: -pair[1])
    if rng.random() < 0.5:
        question = f"How much more is {one} than {other}?"
        answer = f"There are {high} for {one} and {low} for {other}, and {minus(high, low)}."
        return Turn(question, answer, "difference", CHART)
    (one, first), (other, second) = rng.sample(pairs(chart), 2)
    question = f"What is the difference between {one} and {other}?"
    answer = f"The value of {one} is {first}, that of {other} is {second}. {minus(first, second)}."
    return Turn(question, answer, "difference", CHART)


def together(rng: random.Random, chart: Chart) -> Turn:
    (one, first), (other, second) = rng.sample(pairs(chart), 2)
    if rng.random() < 0.5:
        question = f"What do {one} and {other} make together?"
        answer = f"There are {first} for {one} and {second} for {other}, and {plus(first, second)}."
    else:
        question = f"Add {one} and {other}."
        answer = f"The value of {one} is {first}, that of {other} is {second}. {plus(first, second)}."
    return Turn(question, answer, "sum", CHART)


def above(rng: random.Random, chart: Chart) -> Turn:
    """How many values are above or below a limit, counted one after the other."""
    limit = chart.unit * rng.choice((5, 10, 15))
    word, sign = rng.choice((("above", 1), ("below", -1)))
    found = sum(sign * value > sign * limit for value in chart.values)
    end = f"{conclude(found, mark(chart))[:-1]} {word} {limit}."
    question = f"How many {mark(chart)}s are {word} {limit}?"
    told = count_beyond(chart, limit, sign)
    return Turn(question, f"Read {direction(chart)}, {told}. {end}", "count", CHART)


def trend(rng: random.Random, chart: Chart) -> Turn:
    every = pairs(chart)
    told = [
        f"from {old} for {before} to {new} for {label} it {'rises' if new > old else 'falls'}"
        for (before, old), (label, new) in pairwise(every)
    ]
    way = "up" if every[-1][1] > every[0][1] else "down"
    question = rng.choice((f"How does it go {direction(chart)}?", f"What is the trend {direction(chart)}?"))
    answer = f"It starts at {every[0][1]} for {every[0][0]}: {join(told)}."
    if question.startswith("What"):
        answer = f"It goes from {every[0][1]} for {every[0][0]} to {every[-1][1]} for {every[-1][0]}, so it goes {way}."
    return Turn(question, answer, "trend", CHART)


def title_of(rng: random.Random, chart: Chart) -> Turn:
    question, answer = rng.choice(
        (
            ("What is the title of the chart?", f"The title of the chart is {title(chart)}."),
            ("What is the chart about?", f"It is about {title(chart)}, for {join(chart.labels)}."),
            ("Which words stand at the top?", f"At the top stand the words {title(chart)}."),
        )
    )
    return Turn(question, answer, "title", CHART)


def categories(rng: random.Random, chart: Chart) -> Turn:
    question, answer = rng.choice(
        (
            (f"Which {plural_group(chart)} are shown?", f"The chart shows {join(chart.labels)}."),
            ("Which values are printed?", f"The printed values are {join([*map(str, chart.values)])}."),
        )
    )
    return Turn(question, answer, "categories", CHART)


def count(rng: random.Random, chart: Chart) -> Turn:
    """How many categories, values or marks there are, one after the other."""
    total = len(chart.labels)
    made = join([f"{value} makes {number(i)}" for i, value in enumerate(chart.values, 1)])
    question, answer = rng.choice(
        (
            (
                f"How many {plural_group(chart)} are there?",
                f"One after the other, {numbered_labels(chart)}. So there are {number(total)} {plural_group(chart)}.",
            ),
            ("How many values are printed?", f"Read {direction(chart)}, {made}. {conclude(total, 'value')}"),
            (
                f"How many {mark(chart)}s does the chart have?",
                f"Counted {direction(chart)}, {count_marks(chart)}. {conclude(total, mark(chart))}",
            ),
        )
    )
    return Turn(question, answer, "count", CHART)


def compare(rng: random.Random, chart: Chart) -> Turn:
    (one, first), (other, second) = rng.sample(pairs(chart), 2)
    verdict = "yes" if first > second else "no"
    answer = f"There are {first} for {one} and {second} for {other}. {beside(first, second)}, so {verdict}."
    return Turn(f"Is {one} higher than {other}?", answer, "compare", CHART)


def holder(rng: random.Random, chart: Chart) -> Turn:
    label, value = rng.choice(pairs(chart))
    return Turn(
        f"Which {chart.group} has the value {value}?",
        f"The value {value} belongs to {label}.",
        "label",
        CHART,
    )


def kind(rng: random.Random, chart: Chart) -> Turn:
    question, answer = rng.choice(
        (
            ("What kind of chart is this?", f"This is {a(KIND_NAMES[chart.kind])} of {title(chart)}."),
            ("Is this a bar chart or a line chart?", f"It is a {'line' if chart.kind == LINE else 'bar'} chart."),
        )
    )  # fmt: skip
    return Turn(question, answer, "kind", GENERAL)


def background(rng: random.Random, chart: Chart) -> Turn:
    return Turn(
        "What color is the background?", f"The background is {chart.background}.", "background", GENERAL
    )


def color(rng: random.Random, chart: Chart) -> Turn:
    position = rng.randrange(len(chart.labels))
    label, shade = chart.labels[position], chart.colors[position]
    if chart.kind == LINE:
        return Turn("What color is the line?", f"The line is {shade}.", "color", GENERAL)
    if chart.is_colorful and rng.random() < 0.5:
        answer = f"The {shade} bar is {label}, with {chart.values[position]}."
        return Turn(f"Which bar is {shade}?", answer, "color", GENERAL)
    return Turn(f"What color is the bar of {label}?", f"The bar of {label} is {shade}.", "color", GENERAL)


def palette(rng: random.Random, chart: Chart) -> Turn:
    told = capital(label_colors(chart))
    answer = f"{told}." if chart.kind == LINE else f"{told}. {same_color(chart)}"
    return Turn("Which colors do you see?", answer, "color", GENERAL)


def all_colors(rng: random.Random, chart: Chart) -> Turn | None:
    """Whether all bars have one color, behind what each of them has."""
    if chart.kind == LINE:
        return None
    shade = rng.choice(chart.colors)
    verdict = f"So no, not all bars are {shade}." if chart.is_colorful else f"So yes, all bars are {shade}."
    return Turn(f"Are all bars {shade}?", f"{capital(label_colors(chart))}. {verdict}", "check", GENERAL)


ASKERS = (
    value, value, highest, lowest, difference, together, above, above, count, trend,
    title_of, categories, compare, holder,
)  # fmt: skip
GENERAL_ASKERS = (kind, background, color, color, palette, all_colors)


LISTS = (
    captions.bullets, captions.numbered, captions.as_json, captions.as_table, captions.ranking, captions.changes,
    captions.spread, captions.color_table,
)  # fmt: skip


def ask(rng: random.Random, chart: Chart) -> list[Turn]:
    """One fact, or all values in one form."""
    if rng.random() < 0.5:
        told = captions.ask(rng, chart, rng.choice(LISTS))
        return [Turn(told.question, told.answer, "list", CHART)]
    return [rng.choice(ASKERS)(rng, chart)]


def ask_general(rng: random.Random, chart: Chart) -> list[Turn] | None:
    turn = rng.choice(GENERAL_ASKERS)(rng, chart)
    return None if turn is None else [turn]
