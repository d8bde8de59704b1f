"""How people and their clothes are called.

Every garment has its own verb and its own part of the body, so that 'covers her' goes on with another word after a
hat than after a shirt.
"""

from __future__ import annotations

from language import a, join

from figures.scene import Garment, Held, Person

VERBS = {
    "hat": "covers",
    "scarf": "warms",
    "shirt": "covers",
    "coat": "covers",
    "gloves": "warm",
    "trousers": "cover",
    "skirt": "covers",
    "shoes": "protect",
}
BODY = {
    "hat": "head",
    "scarf": "neck",
    "shirt": "chest",
    "coat": "back",
    "gloves": "hands",
    "trousers": "legs",
    "skirt": "knees",
    "shoes": "feet",
}
BARE = {"hat": "covers", "scarf": "warms", "gloves": "warms", "shoes": "protects"}  # verbs behind 'nothing'
PLURALS = ("gloves", "trousers", "shoes")
PLACED = {"left": "on the left", "center": "in the center", "right": "on the right"}


def the(person: Person) -> str:
    return f"the {person.kind}"


def where(person: Person) -> str:
    """'on the left', 'in the center' or 'on the right'."""
    return PLACED[person.place]


def she(person: Person) -> str:
    return "she" if person.is_female else "he"


def her(person: Person) -> str:
    return "her" if person.is_female else "his"


def some(kind: str) -> str:
    """'a hat', 'gloves'."""
    return kind if kind in PLURALS else a(kind)


def be(kind: str) -> str:
    return "are" if kind in PLURALS else "is"


def worn(garment: Garment) -> str:
    """'a red hat', 'red gloves'."""
    phrase = f"{garment.color} {garment.kind}"
    return phrase if garment.kind in PLURALS else a(phrase)


def outfit(person: Person) -> str:
    """All garments from head to feet."""
    return join([worn(garment) for garment in person.garments])


def covers(person: Person, garment: Garment) -> str:
    """'a red hat covers her head'."""
    return f"{worn(garment)} {VERBS[garment.kind]} {her(person)} {BODY[garment.kind]}"


def bare(person: Person, kind: str) -> str:
    """'nothing covers her head'."""
    return f"nothing {BARE[kind]} {her(person)} {BODY[kind]}"


def carried(held: Held) -> str:
    """'a red balloon', 'a board with a red star'."""
    if held.shape is not None:
        return f"a board with a {held.color} {held.shape}"
    return f"a {held.color} {held.kind}"


def has(person: Person, kind: str) -> str:
    """'the woman wears a red hat' or 'the woman wears no hat'."""
    garment = person.wears(kind)
    return f"{the(person)} wears {f'no {kind}' if garment is None else worn(garment)}"
