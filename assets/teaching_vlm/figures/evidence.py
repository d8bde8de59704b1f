"""What is told before a conclusion is drawn: person by person, garment by garment, with running numbers.

A model that looks things up one by one can go on from the last number it has said; it cannot count at a glance.
"""

from __future__ import annotations

from collections.abc import Sequence

from language import a, capital, join, number

from figures.phrases import has, some, the, where, worn
from figures.scene import Person, Scene

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


def standing(scene: Scene) -> str:
    """'on the left stands a woman, on the right a man'."""
    first, *rest = scene.people
    told = [f"{where(first)} stands {a(first.kind)}", *[f"{where(p)} {a(p.kind)}" for p in rest]]
    return ", ".join(told)


def those(names: Sequence[str], one: str, many: str, nobody: str) -> str:
    """'the woman wears', 'the woman and the man wear' or 'nobody wears': names with their verb."""
    if not names:
        return nobody
    return f"{join(names)} {one if len(names) == 1 else many}"
