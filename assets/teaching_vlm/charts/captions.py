"""Whole-chart answers: descriptions, lists, JSON and tables. The wording of the question chooses the form."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from family import CAPTION
from language import NUMBERS, ORDINALS, Turn, a, join

from charts.phrases import (
    KIND_NAMES,
    beside_best,
    climb,
    direction,
    label_colors,
    mark,
    minus,
    pairs,
    plural_group,
    put_in_order,
    ranked,
    same_color,
    title,
)
from charts.scene import LINE, Chart


def plain(chart: Chart) -> str:
    steps = ("{} is {} with {}.", "{} shows {} at {}.", "{} belongs to {} and has {}.")
    told = " ".join(
        steps[i % 3].format(f"The {nth} {mark(chart)}", *pair)
        for i, (nth, pair) in enumerate(zip(ORDINALS, pairs(chart), strict=False))
    )
    return (
        f"This is {a(KIND_NAMES[chart.kind])}. Its title is {title(chart)}. {told} "
        f"So there are {NUMBERS[len(chart.labels)]} {mark(chart)}s."
    )


def detailed(chart: Chart) -> str:
    """Each mark with the highest value so far."""
    verbs = ("reaches", "stands at", "shows", "goes to", "ends at")
    told = " ".join(
        f"The {mark(chart)} for {label} is {color} and {verb} {value}{remark}."
        for (label, value), color, verb, remark in zip(
            pairs(chart), chart.colors, verbs, beside_best(chart.values, 1), strict=False
        )
    )
    best, high = ranked(chart)[0]
    return (
        f"The words {title(chart)} stand at the top of {a(KIND_NAMES[chart.kind])} on a {chart.background} "
        f"background. {told} So the highest value is {high}, and it belongs to {best}."
    )


def complete(chart: Chart) -> str:
    """Everything there is to tell, with what follows from it."""
    told = join([f"{value} for {label}" for label, value in pairs(chart)])
    (first, start), (last, end) = pairs(chart)[0], pairs(chart)[-1]
    word = "more" if end > start else "less"
    return (
        f"The background of the chart is {chart.background}, and its title is {title(chart)}. It is "
        f"{a(KIND_NAMES[chart.kind])}, and {label_colors(chart)}. Read {direction(chart)}, the values are {told}. "
        f"The first is {first} with {start}, the last is {last} with {end}, and {minus(start, end)}, "
        f"so it ends with {abs(end - start)} {word}."
    )


def compared(chart: Chart) -> str:
    """Every value beside the first one."""
    (first, base), *others = pairs(chart)
    told = []
    openings = ("For {} it is {}:", "Then {} shows {}:", "Next to that, {} has {}:", "Last comes {} with {}:")
    for opening, (label, value) in zip(openings, others, strict=False):
        word = "more" if value > base else "less"
        told.append(f"{opening.format(label, value)} {minus(value, base)}, so {abs(value - base)} {word}.")
    return f"The first {mark(chart)} is {first}, and it stands at {base}. {' '.join(told)}"


def caption(chart: Chart) -> str:
    (first, start), (last, end) = pairs(chart)[0], pairs(chart)[-1]
    return f"A {KIND_NAMES[chart.kind]} of {title(chart)}, from {first} with {start} to {last} with {end}."


def seen(chart: Chart) -> str:
    told = join([f"{label} with {value}" for label, value in pairs(chart)])
    return f"I see {a(KIND_NAMES[chart.kind])}. It shows {told}. The title above them says {title(chart)}."


def bullets(chart: Chart) -> str:
    return "\n".join(f"- {label}: {value}" for label, value in pairs(chart))


def numbered(chart: Chart) -> str:
    lines = [f"{i}. The value of {label} is {value}" for i, (label, value) in enumerate(pairs(chart), 1)]
    return "\n".join([f"Here are the values of {title(chart)}:", *lines])


def as_json(chart: Chart) -> str:
    return json.dumps({"title": title(chart), "kind": KIND_NAMES[chart.kind], "values": dict(pairs(chart))})


def as_table(chart: Chart) -> str:
    rows = [f"| {label} | {value} |" for label, value in pairs(chart)]
    return "\n".join([f"| {chart.group} | value |", "| --- | --- |", *rows])


def color_table(chart: Chart) -> str:
    rows = [
        f"| {label} | {color} | {value} |"
        for (label, value), color in zip(pairs(chart), chart.colors, strict=True)
    ]
    return "\n".join([f"| {chart.group} | color | value |", "| --- | --- | --- |", *rows])


def ranking(chart: Chart) -> str:
    """The values put in order, then each with its label."""
    (best, high), *middle, (worst, low) = ranked(chart)
    steps = ("Below it comes {} with {}.", "Then there is {} at {}.", "Further down is {} with {}.")
    told = " ".join(step.format(*pair) for step, pair in zip(steps, middle, strict=False))
    return (
        f"{put_in_order(chart.values, 1)} So the highest {mark(chart)} is {best} with {high}. {told} "
        f"The lowest of all is {worst} with only {low}."
    )


def changes(chart: Chart) -> str:
    told = []
    openings = ("From {} to {}", "Between {} and {}", "Going from {} to {}", "Finally, from {} to {}")
    every = pairs(chart)
    for opening, (label, value), (next_label, next_value) in zip(openings, every, every[1:], strict=False):
        verb = "rises" if next_value > value else "falls"
        told.append(
            f"{opening.format(label, next_label)} it goes from {value} to {next_value}, so it {verb}."
        )
    return f"The chart of {title(chart)} begins at {every[0][1]}. {' '.join(told)}"


def colors(chart: Chart) -> str:
    told = join([f"{value} for {label}" for label, value in pairs(chart)])
    end = "" if chart.kind == LINE else f" {same_color(chart)}"
    return f"The background is {chart.background}. On it {label_colors(chart)}.{end} The values are {told}."


def guided(chart: Chart) -> str:
    moves = ("You begin at", "One step on, you meet", "Next to it is", "Going further, you come to")
    every = pairs(chart)
    told = " ".join(
        f"{move} {label}, where the value is {value}."
        for move, (label, value) in zip(moves, every[:-1], strict=False)
    )
    return (
        f"Imagine a {chart.background} sheet with the words {title(chart)} at the top. Below them is "
        f"{a(KIND_NAMES[chart.kind])}. {told} The way ends at {every[-1][0]} with {every[-1][1]}."
    )


def summary(chart: Chart) -> str:
    best, high = ranked(chart)[0]
    return (
        f"In short, this is about {title(chart)}. Of the {plural_group(chart)}, {climb(pairs(chart), 1)}. "
        f"So it is best for {best} with {high}."
    )


def report(chart: Chart) -> str:
    verbs = ("brings", "gives", "counts", "makes", "adds")
    told = "; ".join(
        f"{label} {verb} {value}{remark}"
        for (label, value), verb, remark in zip(
            pairs(chart), verbs, beside_best(chart.values, 1), strict=False
        )
    )
    best, high = ranked(chart)[0]
    return (
        f"Good evening, here is the news about {title(chart)}: {told}. "
        f"So the winner tonight is {best} with {high}. Good night!"
    )


def backward(chart: Chart) -> str:
    (last, value), *others = pairs(chart)[::-1]
    steps = (
        "Before it stands {} with {}.",
        "Further back is {} at {}.",
        "Then comes {} with {}.",
        "The first one is {} with {}.",
    )
    told = " ".join(
        (steps[-1] if i == len(others) - 1 else steps[i]).format(*pair) for i, pair in enumerate(others)
    )
    return f"The last {mark(chart)} is {last} with {value}. {told}"


def spread(chart: Chart) -> str:
    return f"Read {direction(chart)}, the values are {join([str(value) for value in chart.values])}."


FORMS: tuple[tuple[Callable[[Chart], str], tuple[str, ...]], ...] = (
    (plain, ("Describe the chart.", "Describe what the chart shows.", "Please describe this chart.")),
    (detailed, ("Describe this chart in detail.", "Give a detailed description of the chart.")),
    (complete, ("Tell me everything about the chart.", "Describe all of it, from the title to the values.")),
    (compared, ("Compare all values with the first one.", "How far are the others from the first one?")),
    (caption, ("Write a short caption.", "Give the chart a short caption.")),
    (seen, ("What do you see?", "What do you see in the chart?", "Tell me what you see.")),
    (bullets, ("List all values.", "Make a list of the values.")),
    (numbered, ("Make a numbered list of the values.", "Number the values one after the other.")),
    (as_json, ("Describe the chart as JSON.", "Give me the chart as JSON.", "Answer in JSON: what is shown?")),
    (as_table, ("Make a table of the values.", "Show the chart as a Markdown table.")),
    (color_table, ("Make a table with the colors.", "Show the colors and values as a table.")),
    (ranking, ("Describe the chart from the highest to the lowest.", "Rank the values of the chart.")),
    (changes, ("Describe how the values change.", "How do the values move from one to the next?")),
    (colors, ("Describe the colors of the chart.", "Which colors does the chart use?")),
    (guided, ("Guide me through the chart.", "Describe it for someone who cannot see it.")),
    (summary, ("Sum up the chart.", "Give a summary of the chart.")),
    (report, ("Tell the chart as news.", "Read the chart out as a news speaker.")),
    (backward, ("Describe the chart backward.", "Describe the chart from the end to the start.")),
    (spread, ("Read the values in order.", "Give all values in a row.")),
)  # fmt: skip

LONG = (complete, detailed, compared, guided, report)  # asked more often, as long answers have more to learn


def ask(rng: random.Random, chart: Chart, form: Callable[[Chart], str] | None = None) -> Turn:
    """A random whole-chart question, or one of `form`, with its answer."""
    entries = [entry for entry in FORMS if form in (None, entry[0])]
    weights = [3 if answer in LONG else 1 for answer, _ in entries]
    answer, questions = rng.choices(entries, weights)[0]
    return Turn(rng.choice(questions), answer(chart), "caption", CAPTION)
