"""Whole-picture answers: descriptions, lists, JSON and tables. The wording of the question chooses the form.

Each form is a function Scene -> answer; things are always told in reading order unless the question asks otherwise.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from language import Turn, a, capital, counted, join

from shapes.phrases import distinct, full, located, short
from shapes.scene import COLUMNS, ROWS, SIZES, Scene, Thing


def plain(scene: Scene) -> str:
    verbs = {"big": "There is", "small": "You can see"}
    told = " ".join(f"{verbs[thing.size]} {located(thing)}." for thing in scene.things)
    return (
        f"The picture shows {counted(len(scene.things), 'shape')} on a {scene.background} background. {told}"
    )


def detailed(scene: Scene) -> str:
    openings = ("First, in", "Next, in", "Then, in", "After that, in", "Further on, in", "Finally, in")
    verbs = {"big": "there is", "small": "one finds"}
    told = " ".join(
        f"{opening} the {thing.place}, {verbs[thing.size]} {a(full(thing))}."
        for opening, thing in zip(openings, scene.things, strict=False)
    )
    return (
        f"This image has a {scene.background} background with {counted(len(scene.things), 'object')} on it. {told} "
        f"Nothing else is on the picture."
    )


def caption(scene: Scene) -> str:
    return f"{capital(join([a(short(thing)) for thing in scene.things]))} on a {scene.background} background."


def seen(scene: Scene) -> str:
    told = join([located(thing) for thing in scene.things])
    return f"I see {counted(len(scene.things), 'shape')}: {told}. The background is {scene.background}."


def _in_row(things: list[Thing], names: tuple[str, ...], lines: str) -> str:
    if not things:
        return "empty"
    spots = [thing.column if lines == "row" else thing.row for thing in things]
    where = {"left": "on the left", "center": "in the center", "right": "on the right"}
    where |= {"top": "at the top", "middle": "in the middle", "bottom": "at the bottom"}
    return join([f"{a(full(thing))} {where[names[spot]]}" for thing, spot in zip(things, spots, strict=True)])


def by_rows(scene: Scene) -> str:
    lines = [
        f"{capital(name)} row: {_in_row([t for t in scene.things if t.row == i], COLUMNS, 'row')}."
        for i, name in enumerate(ROWS)
    ]
    return " ".join(lines)


def by_columns(scene: Scene) -> str:
    lines = [
        f"The {name} column holds {_in_row([t for t in scene.things if t.column == i], ROWS, 'column')}."
        for i, name in enumerate(COLUMNS)
    ]
    return " ".join(line.replace("holds empty", "is empty") for line in lines)


def bullets(scene: Scene) -> str:
    return "\n".join(f"- {full(thing)}, {thing.place}" for thing in scene.things)


def numbered(scene: Scene) -> str:
    lines = [f"{i}. The {thing.place}: {a(full(thing))}" for i, thing in enumerate(scene.things, 1)]
    verb = "is" if len(lines) == 1 else "are"
    return "\n".join([f"Here {verb} the {counted(len(lines), 'shape')}:", *lines])


def as_json(scene: Scene) -> str:
    shapes = [{"shape": t.shape, "color": t.color, "size": t.size, "position": t.place} for t in scene.things]
    return json.dumps({"background": scene.background, "count": len(shapes), "shapes": shapes})


def as_table(scene: Scene) -> str:
    rows = [f"| {t.shape} | {t.color} | {t.size} | {t.place} |" for t in scene.things]
    return "\n".join(["| shape | color | size | position |", "| --- | --- | --- | --- |", *rows])


def guided(scene: Scene) -> str:
    moves = (
        "You would start at",
        "Moving on, you reach",
        "Going further, you come to",
        "From there you get to",
    )
    told = " ".join(
        f"{moves[min(i, 3)]} the {thing.place}, where {a(thing.color)} {thing.shape} sits; it is {thing.size}."
        for i, thing in enumerate(scene.things)
    )
    return f"Imagine a sheet of {scene.background} paper. {told} That is all."


def by_size(scene: Scene) -> str:
    parts = []
    for size in SIZES:
        told = join([f"{a(short(t))} in the {t.place}" for t in scene.things if t.size == size])
        parts.append(f"{capital(size)}: {told or 'nothing'}.")
    return " ".join(parts)


def backward(scene: Scene) -> str:
    things = scene.things[::-1]
    told = [f"Starting from the end, the last one is {located(things[0])}."]
    told += [f"Before it comes {located(thing)}." for thing in things[1:]]
    return " ".join([*told, f"All of them lie on {scene.background} ground."])


def by_color(scene: Scene) -> str:
    parts = []
    for color in distinct([thing.color for thing in scene.things]):
        told = join([f"{a(t.size)} {t.shape} in the {t.place}" for t in scene.things if t.color == color])
        parts.append(f"In {color} I see {told}.")
    return " ".join(parts)


def by_shape(scene: Scene) -> str:
    parts = []
    for shape in distinct([thing.shape for thing in scene.things]):
        told = join([f"{a(t.size)} {t.color} one in the {t.place}" for t in scene.things if t.shape == shape])
        parts.append(f"{capital(shape)}: {told}.")
    return " ".join(parts)


def poem(scene: Scene) -> str:
    ends = {"big": "standing tall and wide", "small": "tiny, trying to hide"}
    lines = [f"{capital(a(t.shape))} of {t.color} in the {t.place}, {ends[t.size]}," for t in scene.things]
    return "\n".join([*lines, f"and {scene.background} light on every side."])


def in_space(scene: Scene) -> str:
    """Each thing is placed by its neighbour to the left or above where there is one."""
    told = []
    for thing in scene.things:
        left = scene.at(thing.cell - 1) if thing.column else None
        above = scene.at(thing.cell - 3) if thing.row else None
        if left is not None:
            told.append(f"{capital(a(full(thing)))} stands to the right of the {short(left)}.")
        elif above is not None:
            told.append(f"{capital(a(full(thing)))} lies below the {short(above)}.")
        else:
            told.append(f"{capital(a(full(thing)))} takes the {thing.place}.")
    return " ".join(told)


def summary(scene: Scene) -> str:
    kinds, sizes, colors = (
        [getattr(thing, key) for thing in scene.things] for key in ("shape", "size", "color")
    )
    return (
        f"In short: {join(kinds)} on {scene.background}. The sizes in that order are {join(sizes)}, "
        f"the colors {join(colors)}. That makes {counted(len(kinds), 'shape')} in all."
    )


FORMS: tuple[tuple[Callable[[Scene], str], tuple[str, ...]], ...] = (
    (plain, ("Describe the picture.", "Describe what the picture shows.", "Please describe this picture.")),
    (detailed, ("Describe this image in detail.", "Give a detailed description of the image.")),
    (caption, ("Write a short caption.", "Give the picture a short caption.")),
    (seen, ("What do you see?", "What do you see in the picture?", "Tell me what you see.")),
    (by_rows, ("Describe the picture row by row.", "Go through the rows of the picture.")),
    (by_columns, ("Describe the picture column by column.", "Go through the columns of the picture.")),
    (bullets, ("List the shapes.", "Make a list of the shapes.")),
    (numbered, ("Make a numbered list of the shapes.", "Number the shapes one after the other.")),
    (
        as_json,
        ("Describe the picture as JSON.", "Give me the shapes as JSON.", "Answer in JSON: what is shown?"),
    ),
    (as_table, ("Make a table of the shapes.", "Show the shapes as a Markdown table.")),
    (guided, ("Guide me through the picture.", "Describe it for someone who cannot see it.")),
    (by_size, ("Describe the big shapes first, then the small ones.", "Describe the shapes by size.")),
    (backward, ("Describe the picture backward.", "Describe the picture from the end to the start.")),
    (by_color, ("Describe the shapes color by color.", "Sort the shapes by color.")),
    (by_shape, ("Describe the picture kind by kind.", "Sort the shapes by kind.")),
    (poem, ("Write a poem about the picture.", "Turn the picture into a poem.")),
    (in_space, ("How do the shapes lie to each other?", "Describe how the shapes are arranged.")),
    (summary, ("Sum up the picture.", "Give a summary of the picture.")),
)


def ask(rng: random.Random, scene: Scene, form: Callable[[Scene], str] | None = None) -> Turn:
    """A random whole-picture question, or one of `form`, with its answer."""
    forms = [entry for entry in FORMS if form in (None, entry[0])]
    answer, questions = rng.choice(forms)
    return Turn(rng.choice(questions), answer(scene), "caption", "image captioning")
