"""Short questions about who wears what.

What one look at a named person gives is said at once; what needs everyone, a count or a verdict comes after what it
follows from. What is asked decides the answer.
"""

from __future__ import annotations

import random

from family import GENERAL
from language import Turn, a, capital, join, number
from shapes.scene import BACKGROUNDS

from figures.evidence import (
    check_clothes,
    check_color,
    check_people,
    check_wearers,
    count_wearers,
    each_has,
    sentences,
    those,
)
from figures.phrases import (
    BARE,
    BODY,
    VERBS,
    bare,
    be,
    carried,
    covers,
    has,
    her,
    outfit,
    she,
    some,
    the,
    where,
    worn,
)
from figures.scene import GARMENT_COLORS, GARMENTS, OPTIONAL, PEOPLE, Person, Scene


def _turn(question: str, answer: str, kind: str) -> Turn:
    return Turn(question, capital(answer), kind, GENERAL)


def _garment(rng: random.Random, person: Person) -> str:
    """Mostly a garment the person wears, sometimes another."""
    worn_kinds = [garment.kind for garment in person.garments]
    return rng.choice(worn_kinds if rng.random() < 0.85 else GARMENTS)


def color(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    kind = _garment(rng, person)
    question = f"What color {be(kind)} the {kind} of {the(person)}?"
    garment = person.wears(kind)
    if garment is None:
        return _turn(question, f"{the(person)} wears no {kind}.", "color")
    return _turn(question, f"{her(person)} {kind} {be(kind)} {garment.color}.", "color")


def color_by_place(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    kind = _garment(rng, person)
    question = f"What color {be(kind)} the {kind} of the person {where(person)}?"
    garment = person.wears(kind)
    if garment is None:
        return _turn(question, f"the person {where(person)} wears no {kind}.", "color")
    return _turn(question, f"the {kind} of the person {where(person)} {be(kind)} {garment.color}.", "color")


def body(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    kind = _garment(rng, person)
    if person.wears(kind) is None and kind not in BARE:
        kind = person.garments[0].kind
    verb = {"cover": "covers", "warm": "warms", "protect": "protects"}.get(VERBS[kind], VERBS[kind])
    question = f"What {verb} the {BODY[kind]} of {the(person)}?"
    garment = person.wears(kind)
    told = bare(person, kind) if garment is None else covers(person, garment)
    return _turn(question, f"{told}.", "body")


def on_the_body(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    kind = rng.choice(OPTIONAL)
    question = f"What does the person {where(person)} wear on the {BODY[kind]}?"
    garment = person.wears(kind)
    told = bare(person, kind) if garment is None else covers(person, garment)
    return _turn(question, f"it is {a(person.kind)}, and {told}.", "body")


def who_wears_color(rng: random.Random, scene: Scene) -> Turn:
    garment = rng.choice(rng.choice(scene.people).garments)
    shade = garment.color if rng.random() < 0.8 else rng.choice(GARMENT_COLORS)
    phrase = f"{shade} {garment.kind}"
    phrase = phrase if some(garment.kind) == garment.kind else a(phrase)
    wearers = [p for p in scene.people if (g := p.wears(garment.kind)) is not None and g.color == shade]
    end = those([f"{the(person)} {where(person)}" for person in wearers], "wears", "wear", "nobody wears")
    told = check_wearers(scene.people, garment.kind, shade)
    return _turn(f"Who wears {phrase}?", f"{told} So {end} {phrase}.", "who")


def who_wears(rng: random.Random, scene: Scene) -> Turn:
    kind = rng.choice(GARMENTS)
    wearers = [the(person) for person in scene.people if person.wears(kind) is not None]
    told, end = each_has(scene.people, kind), those(wearers, "does", "do", "nobody does")
    return _turn(f"Who wears {some(kind)}?", f"{told} So {end}.", "who")


def count(rng: random.Random, scene: Scene) -> Turn:
    kind = rng.choice(GARMENTS)
    told, wearers = count_wearers(scene.people, kind)
    found = len(wearers)
    total = {0: "nobody wears", 1: "one person wears"}.get(found, f"{number(found)} people wear")
    return _turn(f"How many people wear {some(kind)}?", f"{told} So {total} {some(kind)}.", "count")


def people(rng: random.Random, scene: Scene) -> Turn:
    count = len(scene.people)
    told = "; ".join(f"{a(p.kind)} {where(p)}, {number(i)}" for i, p in enumerate(scene.people, 1))
    end = "there is one person" if count == 1 else f"there are {number(count)} people"
    question = rng.choice(("How many people are there?", "How many people do you see?"))
    return _turn(question, f"{told}. So {end}.", "count")


def who_stands(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    return _turn(f"Who stands {where(person)}?", f"{a(person.kind)} stands {where(person)}.", "person")


def place(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    return _turn(f"Where does {the(person)} stand?", f"{the(person)} stands {where(person)}.", "place")


def is_there(rng: random.Random, scene: Scene) -> Turn:
    kind = rng.choice(PEOPLE)
    found = [person for person in scene.people if person.kind == kind]
    end = f"yes, there is {a(kind)}" if found else f"no, there is no {kind}"
    return _turn(f"Is there {a(kind)} in the picture?", f"{check_people(scene, kind)} So {end}.", "yes or no")


def is_color(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    garment = rng.choice(person.garments)
    asked = garment.color if rng.random() < 0.5 else rng.choice(GARMENT_COLORS)
    told = check_color(person, garment, asked)
    question = f"{capital(be(garment.kind))} the {garment.kind} of {the(person)} {asked}?"
    return _turn(question, f"{told}, so {'yes' if asked == garment.color else 'no'}.", "yes or no")


def wears(rng: random.Random, scene: Scene) -> Turn:
    person, kind = rng.choice(scene.people), rng.choice(GARMENTS)
    answer = f"{has(person, kind)}, so {'no' if person.wears(kind) is None else 'yes'}."
    return _turn(f"Does {the(person)} wear {some(kind)}?", answer, "yes or no")


def lower(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    garment = person.wears("skirt") or person.wears("trousers")
    question = f"Does {the(person)} wear a skirt or trousers?"
    return _turn(question, f"{she(person)} wears {worn(garment)}.", "garment")


def upper(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    garment = person.wears("coat") or person.wears("shirt")
    return _turn(
        f"Does {the(person)} wear a coat or a shirt?", f"{she(person)} wears {worn(garment)}.", "garment"
    )


def dressed(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    if rng.random() < 0.5:
        return _turn(f"What does {the(person)} wear?", f"{the(person)} wears {outfit(person)}.", "outfit")
    told = f"the person {where(person)} is {a(person.kind)} in {outfit(person)}."
    return _turn(f"Who is the person {where(person)}, and what is worn?", told, "outfit")


def everyone(rng: random.Random, scene: Scene) -> Turn:
    """Everyone's clothes, either by name or by the part of the body they are for."""
    if rng.random() < 0.5:
        told = " ".join(f"{capital(the(p))} {where(p)} wears {outfit(p)}." for p in scene.people)
        return _turn("Who wears what?", told, "outfit")
    told = " ".join(
        f"{capital(where(p))}, {join([covers(p, garment) for garment in p.garments])}." for p in scene.people
    )
    return _turn("What do the clothes do for each person?", told, "outfit")


def in_color(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    shade = rng.choice((*[garment.color for garment in person.garments], rng.choice(GARMENT_COLORS)))
    kinds = [f"{her(person)} {garment.kind}" for garment in person.garments if garment.color == shade]
    verb = be(kinds[0].split()[1]) if len(kinds) == 1 else "are"
    end = f"{join(kinds)} {verb} {shade}" if kinds else f"nothing is {shade}"
    answer = f"{check_clothes(person, shade)} So {end}."
    return _turn(f"Which clothes of {the(person)} are {shade}?", answer, "garment")


def _holds(person: Person) -> str:
    return f"{the(person)} holds {'nothing' if person.held is None else carried(person.held)}"


def holds(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    return _turn(f"What does {the(person)} hold?", f"{_holds(person)}.", "held")


def who_holds(rng: random.Random, scene: Scene) -> Turn:
    holders = [f"{the(person)} {where(person)}" for person in scene.people if person.held is not None]
    told = sentences([_holds(person) for person in scene.people])
    end = those(holders, "does", "do", "nobody does")
    return _turn("Who holds something in the hand?", f"{told} So {end}.", "held")


def background(rng: random.Random, scene: Scene) -> Turn:
    if rng.random() < 0.5:
        return _turn("What color is the background?", f"the background is {scene.background}.", "background")
    asked = rng.choice((scene.background, rng.choice(list(BACKGROUNDS))))
    verdict = "yes" if asked == scene.background else "no"
    answer = f"you ask for {asked}; it is {scene.background}, so {verdict}."
    return _turn(f"Is the background {asked}?", answer, "background")


ASKERS = (
    color, color, color, color_by_place, color_by_place, body, body, on_the_body, on_the_body, who_wears_color,
    who_wears_color, who_wears, count, people, who_stands, place, is_there, is_color, wears, lower, upper, dressed,
    everyone, everyone, in_color, holds, who_holds, background,
)  # fmt: skip
POINTING = (
    color, color, color_by_place, color_by_place, body, on_the_body, who_wears_color, who_wears, count, wears, lower,
    upper, in_color, in_color, in_color, dressed, dressed, is_color, is_there, holds, holds, who_holds, who_stands,
)  # fmt: skip


def ask(rng: random.Random, scene: Scene) -> Turn:
    """A random short question."""
    return rng.choice(ASKERS)(rng, scene)


def point(rng: random.Random, scene: Scene) -> Turn:
    """A short question about one of the facts that are hardest to see."""
    return rng.choice(POINTING)(rng, scene)
