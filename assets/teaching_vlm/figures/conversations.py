"""Conversations about dressed people: later turns refer back to what was said."""

from __future__ import annotations

import random

from family import MULTI_TURN
from language import Turn, capital, join, number

from figures import captions, questions, reasoning
from figures.evidence import check_clothes, count_garments, count_wearers, each_has, those
from figures.phrases import BODY, be, has, her, outfit, she, some, the, where, worn
from figures.scene import GARMENTS, Garment, Person, Scene


def _turn(question: str, answer: str, kind: str = "follow-up") -> Turn:
    return Turn(question, capital(answer), kind, MULTI_TURN)


def _about_garment(rng: random.Random, scene: Scene) -> list[Turn]:
    """An opening on one garment, then others of the same person, others in that color, the next person."""
    person = rng.choice(scene.people)
    garment = rng.choice(person.garments)
    others = [p for p in scene.people if p is not person]
    opening = rng.choice(
        (
            _turn(
                f"What color {be(garment.kind)} the {garment.kind} of {the(person)}?",
                f"{her(person)} {garment.kind} {be(garment.kind)} {garment.color}.",
                "opening",
            ),
            _turn(
                f"Tell me about the {garment.kind} of {the(person)}.",
                f"{the(person)} stands {where(person)}, and {her(person)} {garment.kind} {be(garment.kind)} "
                f"{garment.color}.",
                "opening",
            ),
        )
    )
    return [opening, *_after(rng, scene, person, garment, others)]


def _after(
    rng: random.Random, scene: Scene, person: Person, garment: Garment, others: list[Person]
) -> list[Turn]:
    """Follow-ups to a question about `garment` of `person`, in random order."""
    kind = rng.choice([kind for kind in GARMENTS if kind != garment.kind])
    other = person.wears(kind)
    other_color = (
        f"{her(person)} {kind} {be(kind)} {other.color}" if other else f"{she(person)} wears no {kind}"
    )
    remaining = [g for g in person.garments if g is not garment]
    rest = join([worn(g) for g in remaining])
    same = [g.kind for g in remaining if g.color == garment.color]
    again = f"yes, {her(person)} {join(same)} too" if same else "no, nothing else is"
    turns = [
        _turn(f"And {her(person)} {kind}?", f"{other_color}."),
        _turn(
            f"Is anything else {she(person)} wears of that color?",
            f"{check_clothes(person, garment.color)} So {again}.",
        ),
        _turn(f"What else does {she(person)} wear?", f"besides it {she(person)} wears {rest}."),
        _turn(f"Where does {she(person)} stand?", f"{she(person)} stands {where(person)}."),
        _turn(
            "Which part of the body is it for?",
            f"{some(garment.kind)} {be(garment.kind)} for the {BODY[garment.kind]}.",
        ),
    ]
    if others:
        next_one = rng.choice(others)
        turns.append(_turn(f"And that of {the(next_one)}?", f"{has(next_one, garment.kind)}."))
        turns += _among_others(garment, others)
    rng.shuffle(turns)
    return turns


def _among_others(garment: Garment, others: list[Person]) -> list[Turn]:
    """Who else wears that color or a garment like it: everyone else first, then the verdict."""
    twins = [the(p) for p in others if garment.color in [g.color for g in p.garments]]
    alike = those(twins, "also wears", "also wear", "nobody else wears")
    told = " ".join(check_clothes(p, garment.color) for p in others)
    wearers = [the(p) for p in others if p.wears(garment.kind)]
    anyone = those(wearers, "does", "do", "nobody else does")
    return [
        _turn("Who else wears that color?", f"{told} So {alike} {garment.color}."),
        _turn(
            f"Does anyone else wear {some(garment.kind)}?",
            f"{each_has(others, garment.kind)} So {'yes' if wearers else 'no'}, {anyone}.",
        ),
    ]


def _about_person(rng: random.Random, scene: Scene) -> list[Turn]:
    """An opening on a person's outfit; then the others', parts of it, and the same as a list."""
    person = rng.choice(scene.people)
    opening = _turn(f"What does {the(person)} wear?", f"{the(person)} wears {outfit(person)}.", "opening")
    others = [p for p in scene.people if p is not person]
    kind = rng.choice(GARMENTS)
    verb = "no" if person.wears(kind) is None else "yes"
    lines = "\n".join(f"- {garment.color} {garment.kind}" for garment in person.garments)
    kinds = [garment.kind for garment in person.garments]
    turns = [
        Turn("Say that as a list.", lines, "follow-up", MULTI_TURN),
        _turn(
            f"How many garments does {she(person)} wear?",
            f"{count_garments(person)}. So {she(person)} wears {number(len(kinds))}.",
            "count",
        ),
        _turn(f"Does {she(person)} wear {some(kind)}?", f"{has(person, kind)}, so {verb}."),
        _turn(
            "Which is the highest and which the lowest?",
            f"from the head to the feet: {join([some(kind) for kind in kinds])}. "
            f"So the {kinds[0]} {be(kinds[0])} highest, the {kinds[-1]} lowest.",
        ),
        _turn(
            f"Only the colors of what {she(person)} wears, please.",
            f"{she(person)} wears {join([garment.color for garment in person.garments])}.",
        ),
    ]
    if others:
        next_one = rng.choice(others)
        turns.append(_turn(f"What about {the(next_one)}?", f"{the(next_one)} wears {outfit(next_one)}."))
        rest = join([f"{the(p)} wears {outfit(p)}" for p in others])
        turns.append(_turn("And the others?", f"{rest}."))
    rng.shuffle(turns)
    return [opening, *turns]


def _about_all(rng: random.Random, scene: Scene) -> list[Turn]:
    """A description, then counts over it, and the same in another form."""
    form = rng.choice((captions.plain, captions.seen, captions.caption, captions.places, captions.guided))
    opening = captions.ask(rng, scene, form)
    kind = rng.choice(GARMENTS)
    told, wearers = count_wearers(scene.people, kind)
    counted = f"{number(len(wearers))} of them, {join(wearers)}" if wearers else "none of them"
    person = rng.choice(scene.people)
    again = (
        ("Say that as a list.", captions.bullets),
        ("Now the same as a table.", captions.as_table),
        ("Now the same garment by garment.", captions.by_garment),
        ("Give me that as JSON.", captions.as_json),
    )
    turns = [Turn(question, retell(scene), "retelling", MULTI_TURN) for question, retell in again]
    turns += [
        _turn(f"How many of them wear {some(kind)}?", f"{told} So {counted}.", "count"),
        _turn(f"What does {the(person)} wear?", f"{the(person)} wears {outfit(person)}."),
        _turn("And the background?", f"the background is {scene.background}."),
    ]
    rng.shuffle(turns)
    return [Turn(opening.question, opening.answer, opening.kind, MULTI_TURN), *turns]


def multi_turn(rng: random.Random, scene: Scene) -> list[Turn]:
    """Two or three turns about a garment, a person or the whole picture."""
    opening = rng.choice((_about_garment, _about_person, _about_all, _about_all))
    return opening(rng, scene)[: rng.choice((2, 2, 3))]


def caption(rng: random.Random, scene: Scene) -> list[Turn]:
    return [captions.ask(rng, scene)]


def general(rng: random.Random, scene: Scene) -> list[Turn]:
    return [questions.ask(rng, scene)]


def reason(rng: random.Random, scene: Scene) -> list[Turn]:
    return [reasoning.ask(rng, scene)]


def drill(rng: random.Random, scene: Scene) -> list[Turn]:
    """Pointing questions, and those of several steps that must look at everyone."""
    if rng.random() < 0.8:
        return [questions.point(rng, scene)]
    several = rng.choice(
        (reasoning.count_aloud, reasoning.count_color, reasoning.bare_ones, reasoning.commonest)
    )
    return [several(rng, scene)]
