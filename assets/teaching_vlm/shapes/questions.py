"""Short questions about one fact: colour, shape, size, position, background, counts, yes or no.

Each asker takes a random generator and a scene and gives a `Turn`, or None where the scene has nothing to ask about.
"""

from __future__ import annotations

import random
from collections import Counter

from language import Turn, a, capital, counted, join, number, plural

from shapes.phrases import cells_of, conclude, distinct, full, look, short, unique_names, walk
from shapes.scene import COLORS, COLUMNS, PLACES, ROWS, SHAPES, SIZES, Scene, Thing

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
    if rng.random() < 0.6:
        return Turn(
            f"Where is the {short(thing)}?", f"The {short(thing)} is in the {thing.place}.", "position", TOPIC
        )
    found = sum(other.shape == thing.shape for other in scene.things)
    answer = f"{walk(scene.things, 'shape', thing.shape, where=True)} {conclude(found, thing.shape)}"
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
    """How many things there are, or how many of one colour, shape or size, counted one after the other."""
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
    return count_by(rng, scene, ("color", "size", "shape", "shape")[form - 1], where=form == 4)


def count_by(rng: random.Random, scene: Scene, attribute: str, where: bool) -> Turn:
    """How many have one value of an attribute, and where if asked."""
    all_values = {"color": tuple(COLORS), "size": SIZES, "shape": SHAPES}[attribute]
    values = [getattr(thing, attribute) for thing in scene.things]
    value = rng.choice(values if rng.random() < 0.75 else all_values)
    noun = value if attribute == "shape" else f"{value} shape"
    question = f"How many {plural(noun, 2)} are there{', and where' if where else ''}?"
    counting = walk(scene.things, attribute, value, where)
    return Turn(question, f"{counting} {conclude(values.count(value), noun)}", "count", TOPIC)


def count_shapes(rng: random.Random, scene: Scene) -> Turn:
    """Counts of one kind of shape, which is harder to see than a color or a size."""
    return count_by(rng, scene, "shape", where=rng.random() < 0.5)


def exists(rng: random.Random, scene: Scene) -> Turn:
    """Yes or no, behind what there is."""
    if rng.random() < 0.5:
        thing = rng.choice(scene.things)
        color_asked, shape_asked = thing.color, thing.shape
    else:
        color_asked, shape_asked = rng.choice(scene.things).color, rng.choice(SHAPES)
    asked = f"{color_asked} {shape_asked}"
    looked = []
    for thing in scene.things:
        verdict = "yes" if short(thing) == asked else "no"
        looked.append(f"Is the shape in the {thing.place} {a(asked)}? It is {a(short(thing))}: {verdict}.")
    found = any(short(thing) == asked for thing in scene.things)
    end = f"So yes, there is {a(asked)}" if found else f"So no, there is no {asked}"
    return Turn(f"Is there {a(asked)}?", f"{' '.join(looked)} {end}.", "exists", TOPIC)


SIDES = {"above": (-1, 0), "to the left of": (0, -1), "to the right of": (0, 1), "below": (1, 0)}


def _beside(thing: Thing) -> list[tuple[str, int]]:
    """The sides of `thing` that lie in the picture, and their cells."""
    return [
        (side, thing.cell + 3 * down + right)
        for side, (down, right) in SIDES.items()
        if 0 <= thing.row + down < 3 and 0 <= thing.column + right < 3
    ]


def neighbor(rng: random.Random, scene: Scene) -> Turn | None:
    """What lies directly beside a thing: first where the thing is, then the place beside it, then what that holds."""
    choices = [(thing, side, cell) for thing in unique_names(scene) for side, cell in _beside(thing)]
    if not choices:
        return None
    occupied = [choice for choice in choices if scene.at(choice[2]) is not None]
    thing, side, cell = rng.choice(occupied if occupied and rng.random() < 0.7 else choices)
    other = scene.at(cell)
    answer = (
        f"The {short(thing)} is in the {thing.place}. Directly {side} it is the {PLACES[cell]}, "
        f"and there is {a(full(other)) if other else 'nothing'}."
    )
    return Turn(f"What is directly {side} the {short(thing)}?", answer, "neighbor", TOPIC)


def palette(rng: random.Random, scene: Scene) -> Turn:
    """Which colours or shapes occur: in reading order, each numbered when it is new, then each once."""
    attribute = rng.choice(("color", "shape"))
    values = [getattr(thing, attribute) for thing in scene.things]
    kinds = distinct(values)
    steps = [
        f"{value} again" if value in values[:i] else f"{value}, {number(kinds.index(value) + 1)}"
        for i, value in enumerate(values)
    ]
    told = f"One after the other I see {'; '.join(steps)}."
    if attribute == "color":
        answer = f"{told} That makes {counted(len(kinds), 'color')}: {join(kinds)}."
        return Turn("Which colors do the shapes have?", answer, "palette", TOPIC)
    answer = f"{told} That makes {counted(len(kinds), 'kind')} of shapes: {join(kinds)}."
    return Turn("Which kinds of shapes are there?", answer, "palette", TOPIC)


def everything(rng: random.Random, scene: Scene) -> Turn | None:
    """All about one thing, and what each place beside it holds."""
    things = unique_names(scene)
    if not things:
        return None
    thing = rng.choice(things)
    told = []
    for side, cell in _beside(thing):
        other = scene.at(cell)
        told.append(
            f"{capital(side)} it, in the {PLACES[cell]}, there is {a(full(other)) if other else 'nothing'}."
        )
    answer = (
        f"The {short(thing)} is {thing.size} and lies in the {thing.place} of the picture. {' '.join(told)}"
    )
    return Turn(f"Tell me everything about the {short(thing)}.", answer, "everything", TOPIC)


def line(rng: random.Random, scene: Scene) -> Turn:
    """What one row or column holds, place by place."""
    index, in_row = rng.randrange(3), rng.random() < 0.5
    name = f"{ROWS[index]} row" if in_row else f"{COLUMNS[index]} column"
    cells = cells_of(index, in_row)
    told = [look(scene, cell) for cell in cells]
    total = sum(scene.at(cell) is not None for cell in cells)
    answer = f"{' '.join(told)} That makes {counted(total, 'shape')} in the {name}."
    return Turn(f"Tell me about the {name}.", answer, "line", TOPIC)


def where_color(rng: random.Random, scene: Scene) -> Turn:
    """All things of one colour, found by looking at every place that holds something."""
    color_asked = rng.choice([thing.color for thing in scene.things])
    looked = []
    for thing in scene.things:
        verdict = "yes" if thing.color == color_asked else "no"
        name = f"{thing.size} {thing.shape} in the {thing.place}"
        looked.append(f"Is the {name} {color_asked}? It is {thing.color}: {verdict}.")
    found = sum(thing.color == color_asked for thing in scene.things)
    answer = f"{' '.join(looked)} {conclude(found, f'{color_asked} shape')}"
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
