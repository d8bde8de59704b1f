"""How a thing of a shape scene is named. One spelling for each fact, so that answers can be read back."""

from __future__ import annotations

from collections import Counter

from language import a, counted, number

from shapes.scene import PLACES, Scene, Thing


def short(thing: Thing) -> str:
    """'red circle'."""
    return f"{thing.color} {thing.shape}"


def full(thing: Thing) -> str:
    """'big red circle'."""
    return f"{thing.size} {thing.color} {thing.shape}"


def located(thing: Thing) -> str:
    """'a big red circle in the top left'."""
    return f"{a(full(thing))} in the {thing.place}"


def unique_names(scene: Scene) -> list[Thing]:
    """Things whose colour and shape together occur once."""
    names = Counter(short(thing) for thing in scene.things)
    return [thing for thing in scene.things if names[short(thing)] == 1]


def distinct(values: list[str]) -> list[str]:
    """The values without repetition, in order of first occurrence."""
    return list(dict.fromkeys(values))


def check(thing: Thing, attribute: str, value: str, where: bool = False) -> str:
    """A question about one thing and what it is: 'Is the cross green? It is black'.

    What was asked stands right before what is seen, so that the two are compared at a short and fixed distance.
    """
    place = f" in the {thing.place}" if where else ""
    if attribute == "shape":
        return f"Is the {thing.color} shape{place} {a(value)}? It is {a(thing.shape)}"
    name = thing.shape if attribute == "color" else short(thing)
    return f"Is the {name}{place} {value}? It is {getattr(thing, attribute)}"


def walk(things: tuple[Thing, ...], attribute: str, value: str, where: bool = False) -> str:
    """All things in reading order, each counted or not, right behind what decides it."""
    sentences, found = [], 0
    for thing in things:
        matches = getattr(thing, attribute) == value
        found += matches
        sentences.append(f"{check(thing, attribute, value, where)}: {number(found) if matches else 'no'}.")
    return " ".join(sentences)


def look(scene: Scene, cell: int) -> str:
    """'The top left holds a big red circle.' or 'The top left is empty.'."""
    thing = scene.at(cell)
    return f"The {PLACES[cell]} {'is empty' if thing is None else f'holds {a(full(thing))}'}."


def cells_of(index: int, in_row: bool) -> list[int]:
    """The three places of a row or a column, from left to right or from the top down."""
    return [3 * index + i for i in range(3)] if in_row else [index + 3 * i for i in range(3)]


def conclude(count: int, noun: str) -> str:
    """The last sentence of a count, such as 'So there are two red shapes.'."""
    return f"So there {'is' if count == 1 else 'are'} {counted(count, noun)}."
