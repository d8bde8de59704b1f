"""What is told before a conclusion is drawn: person by person, garment by garment, with running numbers.

A model that looks things up one by one can go on from the last number it has said; it cannot count at a glance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from language import a, capital, join, number

from figures.phrases import PLURALS, be, has, her, she, some, the, where, worn
from figures.scene import Garment, Person, Scene

PARTS = {  # a part of the body -> what may be worn there, one garment of them at most
    "head": ("hat",),
    "neck": ("scarf",),
    "body": ("shirt", "coat"),
    "hands": ("gloves",),
    "legs": ("trousers", "skirt"),
    "feet": ("shoes",),
}


def sentences(told: Sequence[str]) -> str:
    """Clauses as sentences one after the other."""
    return " ".join(f"{capital(clause)}." for clause in told)


def worn_on(person: Person, part: str) -> str:
    """'a red hat' or 'nothing' for a part of PARTS."""
    return next((worn(garment) for garment in person.garments if garment.kind in PARTS[part]), "nothing")


def same_garments(one: Person, other: Person) -> tuple[str, list[str]]:
    """Each garment of one, then whether the other's has its color, with running numbers; and which are the same.

    The same is asked about every garment, also where the other wears none, so that each step has one beginning.
    """
    told, same = [], []
    for garment in one.garments:
        told.append(f"{capital(the(one))} wears {worn(garment)}.")
        kind, theirs = garment.kind, other.wears(garment.kind)
        if theirs is None:
            told.append(
                f"{capital(be(kind))} the {kind} of {the(other)} {garment.color}? There {be(kind)} none: no."
            )
            continue
        is_same = theirs.color == garment.color
        same += [kind] * is_same
        told.append(f"{check_color(other, theirs, garment.color)}: {number(len(same)) if is_same else 'no'}.")
    return " ".join(told), same


def shared_or_own(person: Person, other: Person) -> str:
    """'The girl has a hat, both; gloves, only she.': each garment of a person, and whether the other wears one."""
    each = (
        f"{some(garment.kind)}, {'both' if other.wears(garment.kind) else f'only {she(person)}'}"
        for garment in person.garments
    )
    return f"{capital(the(person))} has {'; '.join(each)}."


def tally_colors(person: Person, seen: Counter[str]) -> str:
    """'the hat of the woman is red number one and her shoes are red number two'; `seen` goes on counting."""
    told = []
    for garment in person.garments:
        seen[garment.color] += 1
        name = f"{her(person)} {garment.kind}" if told else f"the {garment.kind} of {the(person)}"
        told.append(f"{name} {be(garment.kind)} {garment.color} number {number(seen[garment.color])}")
    return join(told)


def check_color(person: Person, garment: Garment, color: str, first: str = "") -> str:
    """'Is the hat of the woman red? It is blue': what is asked stands right before what is seen.

    So the two are compared at a short and fixed distance.
    """
    pronoun = "they are" if garment.kind in PLURALS else "it is"
    name = first or f"the {garment.kind} of {the(person)}"
    return f"{capital(be(garment.kind))} {name} {color}? {capital(pronoun)} {garment.color}"


def check_clothes(person: Person, color: str) -> str:
    """Every garment of a person, each with the verdict whether it has that color."""
    return " ".join(
        f"{check_color(person, garment, color, f'{her(person)} {garment.kind}')}: "
        f"{'yes' if garment.color == color else 'no'}."
        for garment in person.garments
    )


def check_wearers(people: Sequence[Person], kind: str, color: str) -> str:
    """Everyone, each with the verdict whether their garment of that kind has that color."""
    told = []
    for person in people:
        garment = person.wears(kind)
        if garment is None:
            told.append(f"{capital(has(person, kind))}: no.")
        else:
            told.append(
                f"{check_color(person, garment, color)}: {'yes' if garment.color == color else 'no'}."
            )
    return " ".join(told)


def each_has(people: Sequence[Person], kind: str) -> str:
    """Whether each wears that kind: 'The woman wears a red hat. The man wears no hat.', for example."""
    return sentences([has(person, kind) for person in people])


def count_wearers(people: Sequence[Person], kind: str) -> tuple[str, list[str]]:
    """'The woman wears a red hat, one. The man wears no hat.' and who wears one."""
    told, wearers = [], []
    for person in people:
        if person.wears(kind) is None:
            told.append(has(person, kind))
        else:
            wearers.append(the(person))
            told.append(f"{has(person, kind)}, {number(len(wearers))}")
    return sentences(told), wearers


def count_garments(person: Person) -> str:
    """'a hat, one; a shirt, two; trousers, three'."""
    return "; ".join(f"{some(garment.kind)}, {number(i)}" for i, garment in enumerate(person.garments, 1))


def check_people(scene: Scene, kind: str) -> str:
    """'Is the one on the left a man? It is a woman: no.', for everyone."""
    return " ".join(
        f"Is the one {where(person)} {a(kind)}? It is {a(person.kind)}: {'yes' if person.kind == kind else 'no'}."
        for person in scene.people
    )


def those(names: Sequence[str], one: str, many: str, nobody: str) -> str:
    """'the woman wears', 'the woman and the man wear' or 'nobody wears': names with their verb."""
    if not names:
        return nobody
    return f"{join(names)} {one if len(names) == 1 else many}"
