"""Chart questions that need steps: orders, running sums, averages, growth, what if."""

from __future__ import annotations

import random
from itertools import pairwise

from family import REASONING
from language import ORDINALS, Turn, join, number

from charts.phrases import beside, climb, mark, minus, pairs, plural_group, plus, put_in_order, ranked
from charts.scene import Chart


def order(rng: random.Random, chart: Chart) -> Turn:
    """The values put in order one by one, then each with its label."""
    up = rng.random() < 0.4
    found = ranked(chart)[::-1] if up else ranked(chart)
    word, end = ("lowest", "highest") if up else ("highest", "lowest")
    told = join([f"{value} for {label}" for label, value in found])
    question = f"Put the {plural_group(chart)} in order from the {word} to the {end}."
    answer = f"{put_in_order(chart.values, -1 if up else 1)} So the order is {told}."
    return Turn(question, answer, "order", REASONING)


def _running(chart: Chart) -> tuple[str, int]:
    """The values added up one by one, and their sum."""
    (label, total), *others = pairs(chart)
    told = [f"Start with {total} for {label}."]
    openings = ("Add {} for {}:", "Then add {} for {}:", "Next, add {} for {}:", "Last, add {} for {}:")
    for opening, (label, value) in zip(openings, others, strict=False):
        told.append(f"{opening.format(value, label)} {plus(total, value)}.")
        total += value
    return " ".join(told), total


def total(rng: random.Random, chart: Chart) -> Turn:
    told, sum_of_all = _running(chart)
    question = rng.choice(("Add up all values step by step.", "What is the total of all values?"))
    return Turn(question, f"{told} So the total is {sum_of_all}.", "total", REASONING)


def average(rng: random.Random, chart: Chart) -> Turn | None:
    (label, total), *others = pairs(chart)
    count = len(chart.values)
    if sum(chart.values) % count:
        return None
    told = [f"The first value is {total} for {label}."]
    for nth, (label, value) in zip(ORDINALS[1:], others, strict=False):
        told.append(f"The {nth} is {value} for {label}: {plus(total, value)}.")
        total += value
    answer = f"{' '.join(told)} That makes {number(count)} values. {_divide(total, count)}"
    return Turn("What is the average of all values?", answer, "average", REASONING)


def _divide(total: int, count: int) -> str:
    """A division without remainder, tens before ones."""
    tens, ones = divmod(total // count, 10)
    told = []
    if tens:
        rest = total - 10 * tens * count
        told.append(f"{10 * tens} for each makes {10 * tens * count}, and {minus(total, total - rest)}.")
    if ones:
        told.append(f"{ones} for each makes {ones * count}.")
    return f"{' '.join(told)} So the average is {total // count}."


def growth(rng: random.Random, chart: Chart) -> Turn:
    """Steps between neighbors and the largest of one direction; of equal ones the first."""
    word, sign = rng.choice((("rise", 1), ("fall", -1)))
    told, best = [], (0, "", "")
    for (label, value), (next_label, next_value) in pairwise(pairs(chart)):
        step = sign * (next_value - value)
        asked = f"A {word} from {value} for {label} to {next_value} for {next_label}?"
        if step < 0:
            told.append(f"{asked} No.")
            continue
        compared = f". {beside(step, best[0])}" if best[0] else ""
        if step > best[0]:
            best = (step, label, next_label)
        told.append(
            f"{asked} Yes: {minus(value, next_value)}{compared}, so keep {best[0]} from {best[1]} to {best[2]}."
        )
    end = (
        f"The largest {word} is {best[0]}, from {best[1]} to {best[2]}."
        if best[0]
        else f"There is no {word} at all."
    )
    return Turn(
        f"Where is the largest {word} between neighbors?", f"{' '.join(told)} {end}", "growth", REASONING
    )


def scan(rng: random.Random, chart: Chart) -> Turn:
    word, sign = rng.choice((("highest", 1), ("lowest", -1)))
    (best, bar), *others = pairs(chart)
    told = [f"Begin with {best} at {bar}."]
    openings = ("Next, {} has {},", "Then {} has {},", "Going on, {} has {},", "Finally, {} has {},")
    for opening, (label, value) in zip(openings, others, strict=False):
        compared = f"{opening.format(label, value)} and {beside(value, bar)}"
        if sign * value > sign * bar:
            told.append(f"{compared}, so take {label}.")
            best, bar = label, value
        else:
            told.append(f"{compared}, so keep {best}.")
    answer = f"{' '.join(told)} The {word} is {best} with {bar}."
    return Turn(f"Find the {word} value step by step.", answer, "scan", REASONING)


def extent(rng: random.Random, chart: Chart) -> Turn:
    (best, high), (worst, low) = ranked(chart)[0], ranked(chart)[-1]
    answer = (
        f"To the highest: {climb(pairs(chart), 1)}, so it is {best} with {high}. "
        f"To the lowest: {climb(pairs(chart), -1)}, so it is {worst} with {low}. "
    )
    if rng.random() < 0.5:
        question = "How far are the highest and the lowest value apart?"
        return Turn(
            question, f"{answer}{minus(high, low)}, so they are {high - low} apart.", "extent", REASONING
        )
    question = "What do the highest and the lowest value make together?"
    return Turn(question, f"{answer}{plus(high, low)}.", "extent", REASONING)


def check_each(rng: random.Random, chart: Chart) -> Turn:
    limit = chart.unit * rng.choice((5, 8, 10, 12))
    told, kept = [], []
    openings = (
        "For {} it is {},",
        "Then {} has {},",
        "Next, {} shows {},",
        "At {} it is {},",
        "Last, {} has {},",
    )
    for opening, (label, value) in zip(openings, pairs(chart), strict=False):
        if value > limit:
            kept.append(label)
        verdict = f"is above, so {label} is number {number(len(kept))}" if value > limit else "is not above"
        told.append(f"{opening.format(label, value)} and {value} against {limit} {verdict}.")
    end = f"So {number(len(kept))} above {limit}: {join(kept)}." if kept else f"So none is above {limit}."
    question = f"Check for each of the {plural_group(chart)} whether it is above {limit}."
    return Turn(question, f"{' '.join(told)} {end}", "check", REASONING)


def beat(rng: random.Random, chart: Chart) -> Turn:
    (one, first), (other, second), (third, value) = rng.sample(pairs(chart), 3)
    made = first + second
    answer = (
        f"There are {first} for {one} and {second} for {other}, and {plus(first, second)}. There are {value} for "
        f"{third}. {beside(made, value)}, so the answer is {'yes' if made > value else 'no'}."
    )
    return Turn(f"Do {one} and {other} together beat {third}?", answer, "beat", REASONING)


def only_up(rng: random.Random, chart: Chart) -> Turn:
    every = pairs(chart)
    told = [
        f"From {old} for {label} to {new} for {next_label} it goes {'up' if new > old else 'down'}."
        for (label, old), (next_label, new) in pairwise(every)
    ]
    falls = sum(new < old for (_, old), (_, new) in pairwise(every))
    end = "So no, it also goes down." if falls else "So yes, it only goes up."
    return Turn("Do the values only go up?", f"{' '.join(told)} {end}", "only up", REASONING)


def what_if(rng: random.Random, chart: Chart) -> Turn:
    label, value = rng.choice(pairs(chart))
    extra = chart.unit * rng.choice((2, 4, 6))
    rival, bar = next(pair for pair in ranked(chart) if pair[0] != label)
    others = [pair for pair in pairs(chart) if pair[0] != label]
    raised = value + extra
    answer = (
        f"The {mark(chart)} for {label} is at {value}, and {plus(value, extra)}. Of the others, {climb(others, 1)}. "
        f"So the highest of them is {rival} with {bar}. {beside(raised, bar)}, "
        f"so the answer is {'yes' if raised > bar else 'no'}."
    )
    return Turn(f"If {label} had {extra} more, would it be the highest?", answer, "what if", REASONING)


def twice(rng: random.Random, chart: Chart) -> Turn:
    (one, first), (other, second) = rng.sample(pairs(chart), 2)
    double = 2 * second
    answer = (
        f"There are {second} for {other}, and twice {second} is {double}. There are {first} for {one}. "
        f"{beside(first, double)}, so the answer is {'yes' if first >= double else 'no'}."
    )
    return Turn(f"Is {one} at least twice as high as {other}?", answer, "twice", REASONING)


ASKERS = (
    order, order, total, total, average, average, growth, scan, extent, check_each, beat, only_up, what_if, twice,
)  # fmt: skip


def ask(rng: random.Random, chart: Chart) -> list[Turn] | None:
    turn = rng.choice(ASKERS)(rng, chart)
    return None if turn is None else [turn]
