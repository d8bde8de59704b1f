"""Short questions about one fact: colour, shape, size, position, background, counts, yes or no.

Each asker takes a random generator and a scene and gives a `Turn`, or None where the scene has nothing to ask about.
"""

from __future__ import annotations

import random
from collections import Counter

from language import (
    Turn,
    a,
    capital,
    counted,
    full,
    join,
    located,
    number,
    plural,
    short,
    tally,
    unique_names,
)
from scenes import COLORS, COLUMNS, PLACES, ROWS, SHAPES, SIZES, Scene, Thing

TOPIC = "general vqa"


def _only(rng: random.Random, scene: Scene, attribute: str) -> Thing | None:
    """A thing that is alone in having its value of `attribute` (color or shape)."""
    values = Counter(getattr(thing, attribute) for thing in scene.things)
    alone = [thing for thing in scene.things if values[getattr(thing, attribute)] == 1]
    return rng.choice(alone) if alone else None


def point(rng: random.Random, scene: Scene) -> Turn:
    """What lies in one place, empty or not."""
    cell = rng.choice([t.cell for t in scene.things]) if rng.random() < 0.75 else rng.randrange(9)
    thing, place = scene.at(cell), PLACES[cell]
    form = rng.randrange(4)
    if form == 0:
        question = rng.choice((f"What is in the {place}?", f"What is there in the {place}?"))
        answer = f"In the {place} there is {a(full(thing)) if thing else 'nothing'}."
    elif form == 1:
        question = f"Name the color, shape and size in the {place}."
        answer = f"{capital(thing.color)}, {thing.shape}, {thing.size}." if thing else "That place is empty."
    elif form == 2:
        question = f"Which shape is in the {place}?"
        answer = f"It is {a(thing.shape)}." if thing else f"No shape is in the {place}."
    else:
        question = f"Which color does the shape in the {place} have?"
        answer = f"The shape in the {place} is {thing.color}." if thing else f"The {place} is empty."
    return Turn(question, answer, "point", TOPIC)


def color(rng: random.Random, scene: Scene) -> Turn | None:
    thing = _only(rng, scene, "shape")
    if thing is None:
        return None
    if rng.random() < 0.5:
        return Turn(
            f"What color is the {thing.shape}?", f"The {thing.shape} is {thing.color}.", "color", TOPIC
        )
    answer = f"It is {thing.color}, and it sits in the {thing.place} on a {scene.background} background."
    return Turn(f"Tell me the color of the {thing.shape} and where it is.", answer, "color", TOPIC)


def shape(rng: random.Random, scene: Scene) -> Turn | None:
    thing = _only(rng, scene, "color")
    if thing is None:
        return None
    if rng.random() < 0.5:
        question, answer = (
            f"What shape is the {thing.color} one?",
            f"The {thing.color} one is {a(thing.shape)}.",
        )
    else:
        question = f"What kind of shape is {thing.color}?"
        answer = (
            f"{capital(a(thing.shape))} is {thing.color}; it is {thing.size} and lies in the {thing.place}."
        )
    return Turn(question, answer, "shape", TOPIC)


def size(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if not things:
        return None
    thing = rng.choice(things)
    question = rng.choice((f"How big is the {short(thing)}?", f"Is the {short(thing)} big or small?"))
    return Turn(question, f"The {short(thing)} is {thing.size}.", "size", TOPIC)


def position(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if not things:
        return None
    thing = rng.choice(things)
    if rng.random() < 0.5:
        return Turn(
            f"Where is the {short(thing)}?", f"The {short(thing)} is in the {thing.place}.", "position", TOPIC
        )
    kin = [t for t in scene.things if t.shape == thing.shape]
    places = join([f"the {t.place}" for t in kin])
    verb = "lies" if len(kin) == 1 else "lie"
    answer = f"The {plural(thing.shape, len(kin))} {verb} in {places}."
    return Turn(f"Where do you find {plural(thing.shape, 2)}?", answer, "position", TOPIC)


def background(rng: random.Random, scene: Scene) -> Turn:
    if rng.random() < 0.5:
        return Turn(
            "What color is the background?", f"The background is {scene.background}.", "background", TOPIC
        )
    verb = "lies" if len(scene.things) == 1 else "lie"
    answer = f"The {counted(len(scene.things), 'shape')} {verb} on {scene.background}."
    return Turn("What do the shapes lie on?", answer, "background", TOPIC)


def count(rng: random.Random, scene: Scene) -> Turn:
    """How many things there are, or how many of one colour, shape or size."""
    total = len(scene.things)
    form = rng.randrange(5)
    if form == 0:
        verb = "is" if total == 1 else "are"
        return Turn(
            rng.choice(("How many shapes are there?", "How many shapes are in the picture?")),
            f"There {verb} {counted(total, 'shape')} in the picture.",
            "count",
            TOPIC,
        )
    if form == 1:
        value = rng.choice([t.color for t in scene.things] if rng.random() < 0.75 else list(COLORS))
        found, noun = [t for t in scene.things if t.color == value], f"{value} shape"
    elif form == 2:
        value = rng.choice(SIZES)
        found, noun = [t for t in scene.things if t.size == value], f"{value} shape"
    else:
        value = rng.choice([t.shape for t in scene.things] if rng.random() < 0.75 else SHAPES)
        found, noun = [t for t in scene.things if t.shape == value], value
    question = f"How many {plural(noun, 2)} are there?"
    if not found:
        return Turn(question, f"There are no {plural(noun, 2)} in the picture.", "count", TOPIC)
    verb = "is" if len(found) == 1 else "are"
    if form == 4:
        question = f"How many {plural(noun, 2)} are there, and where?"
        places = join([f"the {t.place}" for t in found])
        return Turn(question, f"There {verb} {counted(len(found), noun)}, in {places}.", "count", TOPIC)
    return Turn(question, f"There {verb} {counted(len(found), noun)} in the picture.", "count", TOPIC)


def exists(rng: random.Random, scene: Scene) -> Turn:
    """Yes or no, with the reason."""
    if rng.random() < 0.5:
        thing = rng.choice(scene.things)
        color_asked, shape_asked = thing.color, thing.shape
    else:
        color_asked, shape_asked = rng.choice(scene.things).color, rng.choice(SHAPES)
    found = [t for t in scene.things if (t.color, t.shape) == (color_asked, shape_asked)]
    question = f"Is there {a(f'{color_asked} {shape_asked}')}?"
    kin = [t for t in scene.things if t.shape == shape_asked]
    if found:
        places = join([f"the {t.place}" for t in found])
        return Turn(question, f"Yes, there is {a(short(found[0]))} in {places}.", "exists", TOPIC)
    if kin:
        colors = join([name for name, _ in tally(t.color for t in kin)])
        verb = "is" if len(kin) == 1 else "are"
        reason = f"the {plural(shape_asked, len(kin))} {verb} {colors}"
    else:
        reason = f"the picture has no {shape_asked} at all"
    return Turn(question, f"No, {reason}.", "exists", TOPIC)


def neighbor(rng: random.Random, scene: Scene) -> Turn | None:
    """What lies directly beside a thing."""
    steps = {"to the left of": (0, -1), "to the right of": (0, 1), "above": (-1, 0), "below": (1, 0)}
    choices = []
    for thing in unique_names(scene):
        for side, (down, right) in steps.items():
            if 0 <= thing.row + down < 3 and 0 <= thing.column + right < 3:
                choices.append((thing, side, scene.at(thing.cell + 3 * down + right)))
    if not choices:
        return None
    occupied = [choice for choice in choices if choice[2] is not None]
    thing, side, other = rng.choice(occupied if occupied and rng.random() < 0.7 else choices)
    question = f"What is directly {side} the {short(thing)}?"
    found = a(full(other)) if other else "nothing"
    return Turn(question, f"Directly {side} the {short(thing)} there is {found}.", "neighbor", TOPIC)


def palette(rng: random.Random, scene: Scene) -> Turn:
    """Which colours or shapes occur."""
    if rng.random() < 0.5:
        colors = join([name for name, _ in tally(t.color for t in scene.things)])
        return Turn("Which colors do the shapes have?", f"The shapes are {colors}.", "palette", TOPIC)
    kinds = [name for name, _ in tally(t.shape for t in scene.things)]
    answer = f"The picture has {number(len(kinds))} {plural('kind', len(kinds))} of shapes: {join(kinds)}."
    return Turn("Which kinds of shapes are there?", answer, "palette", TOPIC)


def everything(rng: random.Random, scene: Scene) -> Turn | None:
    """All about one thing, as a sentence of facts."""
    things = unique_names(scene)
    if not things:
        return None
    thing = rng.choice(things)
    beside = [
        other
        for other in scene.things
        if other is not thing and abs(other.row - thing.row) + abs(other.column - thing.column) == 1
    ]
    near = f"It touches {join([located(other) for other in beside])}" if beside else "Nothing is next to it"
    answer = (
        f"The {short(thing)} is {thing.size} and lies in the {thing.place} of the picture. {near}. "
        f"It is one of {counted(len(scene.things), 'shape')}."
    ).replace("It is one of one shape.", "It is the only shape.")
    return Turn(f"Tell me everything about the {short(thing)}.", answer, "everything", TOPIC)


def line(rng: random.Random, scene: Scene) -> Turn:
    """What one row or column holds, place by place."""
    index, in_row = rng.randrange(3), rng.random() < 0.5
    name = f"{ROWS[index]} row" if in_row else f"{COLUMNS[index]} column"
    cells = [3 * index + i for i in range(3)] if in_row else [index + 3 * i for i in range(3)]
    things = [scene.at(cell) for cell in cells]
    told = [
        f"The {PLACES[cell]} holds {a(full(thing))}." if thing else f"The {PLACES[cell]} is empty."
        for cell, thing in zip(cells, things, strict=True)
    ]
    total = sum(thing is not None for thing in things)
    answer = f"{' '.join(told)} That makes {counted(total, 'shape')} in the {name}."
    return Turn(f"Tell me about the {name}.", answer, "line", TOPIC)


def where_color(rng: random.Random, scene: Scene) -> Turn:
    """All things of one colour with their sizes and places."""
    color_asked = rng.choice([thing.color for thing in scene.things])
    found = [thing for thing in scene.things if thing.color == color_asked]
    told = join([f"a {t.size} {t.shape} in the {t.place}" for t in found])
    rest = len(scene.things) - len(found)
    others = (
        f"The {counted(rest, 'other shape')} {'has' if rest == 1 else 'have'} another color"
        if rest
        else "Nothing else is there"
    )
    answer = f"In {color_asked} there {'is' if len(found) == 1 else 'are'} {told}. {others}."
    return Turn(f"What do you find in {color_asked}?", answer, "where color", TOPIC)


ASKERS = (
    point, point, point, color, shape, size, position, position, background,
    count, count, count, exists, neighbor, palette, everything, everything,
    line, line, where_color, where_color,
)  # fmt: skip


def ask(rng: random.Random, scene: Scene) -> Turn:
    """A random short question that this scene allows."""
    while True:
        turn = rng.choice(ASKERS)(rng, scene)
        if turn is not None:
            return turn
