"""Conversations over one chart: two or three turns, the later ones referring back."""

from __future__ import annotations

import random
from collections.abc import Callable

from family import MULTI_TURN
from language import NUMBERS, Turn, join, versus

from charts import captions
from charts.phrases import (
    beside,
    climb,
    direction,
    mark,
    minus,
    numbered_labels,
    pairs,
    plural_group,
    plus,
    ranked,
    title,
)
from charts.scene import LINE, Chart


def _turn(question: str, answer: str, kind: str = "follow-up") -> Turn:
    return Turn(question, answer, kind, MULTI_TURN)


def _two_values(rng: random.Random, chart: Chart) -> list[Turn]:
    """One value, another one, and what they have to do with each other."""
    (one, first), (other, second) = rng.sample(pairs(chart), 2)
    higher = one if first > second else other
    apart = f"{abs(first - second)} {versus(second, first)}"
    rows = (f"| {chart.group} | value |", "| --- | --- |", f"| {one} | {first} |", f"| {other} | {second} |")
    table = "\n".join(rows)
    ends = (
        _turn("How much more or less is that?", f"{beside(second, first)}. {minus(first, second)}, so it is {apart}."),
        _turn("And both together?", f"Both together: {plus(first, second)}."),
        _turn(
            "Which of the two is higher?",
            f"There are {first} for {one} and {second} for {other}. {beside(first, second)}, so {higher} is higher.",
        ),
        _turn("Put the two in a table.", table),
    )  # fmt: skip
    return [
        _turn(f"What value does {one} have?", f"The {mark(chart)} of {one} has the value {first}.", "value"),
        _turn(f"And {other}?", f"For {other} it is {second}."),
        rng.choice(ends),
    ]


def _extremes(rng: random.Random, chart: Chart) -> list[Turn]:
    """The highest, the lowest, the second highest, and the distances between them."""
    (best, high), (second, less), *_ = ranked(chart)
    worst, low = ranked(chart)[-1]
    rest = [pair for pair in pairs(chart) if pair[0] != best]
    lowest = (
        _turn(
            "And the lowest?",
            f"To the lowest, {climb(pairs(chart), -1)}. So the lowest is {worst} with {low}.",
        ),
        _turn("How far is it above that?", f"{minus(high, low)}, so it is {high - low} above."),
    )
    runner_up = (
        _turn(
            "And which comes second?", f"Of the others, {climb(rest, 1)}. So second is {second} with {less}."
        ),
        _turn("By how much does it win?", f"{minus(high, less)}, so it wins by {high - less}."),
    )
    told = f"Read {direction(chart)}, {climb(pairs(chart), 1)}. So the highest is {best} with {high}."
    opening = _turn(f"Which {chart.group} is the highest?", told, "extreme")
    return [opening, *rng.choice((lowest, runner_up))]


def _retold(rng: random.Random, chart: Chart) -> list[Turn]:
    """A description, then the same in other forms."""
    opening = captions.ask(
        rng, chart, rng.choice((captions.plain, captions.seen, captions.caption, captions.guided))
    )
    forms = [
        _turn("Put that in a table.", captions.as_table(chart)),
        _turn("Now the same as a list.", captions.bullets(chart)),
        _turn("Now the same as JSON.", captions.as_json(chart)),
        _turn("Now from the highest to the lowest.", captions.ranking(chart)),
        _turn("And the other way around?", captions.backward(chart)),
    ]
    return [Turn(opening.question, opening.answer, "caption", MULTI_TURN), *rng.sample(forms, 2)]


def _about_one(rng: random.Random, chart: Chart) -> list[Turn]:
    """One category, called 'it' afterwards: its neighbors, its color, its rank."""
    position = rng.randrange(len(chart.labels))
    label, value = pairs(chart)[position]
    opening = _turn(f"Can you find {label}?", f"Yes, {label} is there, with a value of {value}.", "value")
    others = [pair for pair in pairs(chart) if pair[0] != label]
    told = "; ".join(
        f"{name} has {number} against {value}, which is {versus(number, value)}" for name, number in others
    )
    higher = [name for name, number in others if number > value]
    verb = "is" if len(higher) == 1 else "are"
    turns = [
        _turn(
            "Is it the highest?",
            f"It has {value}. Beside it, {told}. So {'no, it is not' if higher else 'yes, it is'} the highest.",
        ),
        _turn(
            "What is above it?",
            f"It stands at {value}. Of the others, {told}. "
            + (f"So above it {verb} {join(higher)}." if higher else "So nothing is above it."),
        ),
    ]
    if position + 1 < len(chart.labels):
        after, next_value = pairs(chart)[position + 1]
        turns.append(_turn("What comes right after it?", f"After it comes {after} with {next_value}."))
    if position:
        before, old_value = pairs(chart)[position - 1]
        turns.append(_turn("What comes right before it?", f"Before it comes {before} with {old_value}."))
    if chart.kind != LINE:
        turns.append(_turn("What color is it?", f"It is {chart.colors[position]}."))
    return [opening, *rng.sample(turns, 2)]


def _title(rng: random.Random, chart: Chart) -> list[Turn]:
    """The title, then what is shown under it."""
    best, high = ranked(chart)[0]
    group = plural_group(chart)
    counting = (
        f"One after the other, {numbered_labels(chart)}. So there are {NUMBERS[len(chart.labels)]} {group}."
    )
    turns = [
        _turn("What is shown there?", f"It shows {join(chart.labels)}."),
        _turn("And which values do they have?", f"They have {join([str(value) for value in chart.values])}."),
        _turn(
            "Which of them is best?", f"Of them, {climb(pairs(chart), 1)}. So the best is {best} with {high}."
        ),
    ]
    if rng.random() < 0.3:
        turns[1] = _turn("How many of them are there?", counting, "count")
    first = rng.randrange(2)
    opening = _turn("What does the title say?", f"The title says {title(chart)}.", "title")
    return [opening, *turns[first : first + 2]]


OPENINGS: tuple[Callable[[random.Random, Chart], list[Turn]], ...] = (
    _two_values, _two_values, _extremes, _retold, _about_one, _title,
)  # fmt: skip


def multi_turn(rng: random.Random, chart: Chart) -> list[Turn]:
    """A conversation of two or three turns."""
    return rng.choice(OPENINGS)(rng, chart)[: rng.choice((2, 3, 3))]
