"""Drill on charts: one fact in few words, on what takes longest to learn."""

from __future__ import annotations

import random

from family import DRILL
from language import NUMBERS, ORDINALS, Turn

from charts.phrases import (
    beside,
    climb,
    count_beyond,
    count_marks,
    minus,
    pairs,
    plus,
    put_in_order,
    ranked,
    title,
)
from charts.scene import LINE, Chart


def _sums(rng: random.Random, chart: Chart) -> tuple[str, str]:
    """An addition and a subtraction: what two numbers make has to be known by heart, and no picture shows it."""
    total, more = chart.unit * rng.randint(1, rng.choice((19, 60))), chart.unit * rng.randint(1, 19)
    low, high = sorted(chart.unit * step for step in rng.sample(range(1, 20), 2))
    return (
        f"What are {total} plus {more} and {high} minus {low}?",
        f"{plus(total, more)}, and {minus(high, low)}.",
    )


def drill(rng: random.Random, chart: Chart) -> list[Turn]:
    """One fact in few words: a value, a label by its place, a color; or a row, the highest, the order, the number."""
    position = rng.randrange(len(chart.labels))
    label, shown, shade = chart.labels[position], chart.values[position], chart.colors[position]
    place, limit = ORDINALS[position], chart.unit * rng.choice((5, 10, 15))
    rival, bar = rng.choice([pair for pair in pairs(chart) if pair[0] != label])
    highest = "Here {}. So it is {} with {}.".format(climb(pairs(chart), 1), *ranked(chart)[0])
    lowest = "Here {}. So it is {} with {}.".format(climb(pairs(chart), -1), *ranked(chart)[-1])
    count = f"Here {count_marks(chart)}. So it is {NUMBERS[len(chart.labels)]}."
    asked = [  # how often; what takes looking up or comparing comes more often than what is read in order
        (4, "value", f"Value of {label}?", f"It is {shown}."),
        (1, "value", f"Which value is the {place}?", f"It is {shown}."),
        (1, "label", f"Which label is the {place}?", f"It is {label}."),
        (5, "label", f"Which label has {shown}?", f"It is {label}."),
        (1, "label", "Read all labels.", f"They are {', '.join(chart.labels)}."),
        (1, "value", "Read all numbers.", f"They are {', '.join(map(str, chart.values))}."),
        (1, "title", "Read the title.", f"It is {title(chart)}."),
        (3, "extreme", "Highest?", highest),
        (3, "extreme", "Lowest?", lowest),
        (4, "order", "Sort the values.", put_in_order(chart.values, 1)),
        (1, "count", "How many?", count),
        (2, "compare", f"Is {label} more than {rival}?", f"Here {beside(shown, bar)}."),
        (1, "count", f"How many above {limit}?", f"Here {count_beyond(chart, limit, 1)}."),
        (1, "count", f"How many below {limit}?", f"Here {count_beyond(chart, limit, -1)}."),
        (8, "sum", *_sums(rng, chart)),
    ]
    if chart.kind != LINE:
        asked.append((2, "color", f"Color of {label}?", f"It is {shade}."))
        asked.append((1, "color", "Read all colors.", f"They are {', '.join(chart.colors)}."))
    _, kind, question, answer = rng.choices(asked, [often for often, *_ in asked])[0]
    return [Turn(question, answer, kind, DRILL)]
