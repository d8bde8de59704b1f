"""Whole-picture answers about dressed people. The wording of the question chooses the form.

Each form is a function Scene -> answer; people are told from left to right, clothes from head to feet.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from family import CAPTION
from language import Turn, a, capital, join, number

from figures.evidence import PARTS, sentences, worn_on
from figures.phrases import (
    BARE,
    BODY,
    PLACED,
    VERBS,
    bare,
    carried,
    covers,
    her,
    outfit,
    she,
    some,
    the,
    where,
    worn,
)
from figures.scene import GARMENTS, Person, Scene


def _holding(person: Person, frame: str = "{she} holds {it}.") -> str:
    """A sentence behind a space about what the person holds, empty if nothing."""
    if person.held is None:
        return ""
    return " " + capital(frame.format(she=she(person), her=her(person), it=carried(person.held)))


def _people(scene: Scene) -> str:
    return join([a(person.kind) for person in scene.people])


def plain(scene: Scene) -> str:
    told = " ".join(
        f"{capital(the(person))} stands {where(person)}. "
        f"{capital(join([covers(person, garment) for garment in person.garments]))}.{_holding(person)}"
        for person in scene.people
    )
    return f"The picture shows {_people(scene)} on a {scene.background} background. {told}"


def detailed(scene: Scene) -> str:
    """Every part of the body that can be bare or covered, one sentence each."""
    told = []
    for person in scene.people:
        told.append(f"{capital(where(person))} stands {a(person.kind)}.")
        for kind in GARMENTS:
            garment = person.wears(kind)
            if garment is not None:
                told.append(f"{capital(covers(person, garment))}.")
            elif kind in BARE:
                told.append(f"{capital(bare(person, kind))}.")
        told.append(_holding(person).strip())
    return " ".join(sentence for sentence in (*told, f"The background is {scene.background}.") if sentence)


def caption(scene: Scene) -> str:
    """The first and the last garment of everyone."""
    told = [f"{a(p.kind)} in {worn(p.garments[0])} and {worn(p.garments[-1])}" for p in scene.people]
    return f"{capital(', '.join(told))}, on a {scene.background} background."


def seen(scene: Scene) -> str:
    told = " ".join(
        f"{capital(the(person))} {where(person)} wears {outfit(person)}."
        f"{_holding(person, 'in {her} hand there is {it}.')}"
        for person in scene.people
    )
    return f"I see {_people(scene)}. {told} Everything behind is {scene.background}."


def feet_up(scene: Scene) -> str:
    told = []
    for person in scene.people:
        garments = [covers(person, garment) for garment in person.garments[::-1]]
        told.append(f"{capital(the(person))} {where(person)}, from the feet up: {'; '.join(garments)}.")
    return " ".join(told)


def right_to_left(scene: Scene) -> str:
    told = []
    for person in scene.people[::-1]:
        told.append(f"{capital(where(person))} we meet {a(person.kind)} dressed in {outfit(person)}.")
    return " ".join([*told, f"The wall behind is {scene.background}."])


def bullets(scene: Scene) -> str:
    lines = []
    for person in scene.people:
        things = [f"{garment.color} {garment.kind}" for garment in person.garments]
        lines.append(f"- The {person.kind} {where(person)}: {', '.join(things)}")
    return "\n".join(lines)


def numbered(scene: Scene) -> str:
    """Every garment on a line of its own."""
    pieces = [(person, garment) for person in scene.people for garment in person.garments]
    return "\n".join(
        f"{i}. The {person.kind}: {covers(person, garment)}" for i, (person, garment) in enumerate(pieces, 1)
    )


def as_json(scene: Scene) -> str:
    people = []
    for person in scene.people:
        entry = {"person": person.kind, "position": person.place}
        entry |= {garment.kind: garment.color for garment in person.garments}
        if person.held is not None:
            entry["holds"] = carried(person.held)
        people.append(entry)
    return json.dumps({"background": scene.background, "people": people})


def as_table(scene: Scene) -> str:
    rows = [f"| {p.kind} | {g.kind} | {g.color} |" for p in scene.people for g in p.garments]
    return "\n".join(["| person | garment | color |", "| --- | --- | --- |", *rows])


def side_by_side(scene: Scene) -> str:
    """A row a part of the body, a column a person."""
    rows = [f"| part | {' | '.join(p.kind for p in scene.people)} |"]
    rows.append("| --- |" + " --- |" * len(scene.people))
    for part in PARTS:
        cells = [worn_on(person, part).removeprefix("a ") for person in scene.people]
        rows.append(f"| {part} | {' | '.join(cells)} |")
    return "\n".join(rows)


def by_garment(scene: Scene) -> str:
    """Every part of the body with what each person wears there, so that nothing has to be searched for."""
    told = []
    for part in PARTS:
        first, *rest = scene.people
        others = [f"{the(person)} {worn_on(person, part)}" for person in rest]
        told.append(f"on the {part} {', '.join([f'{the(first)} has {worn_on(first, part)}', *others])}")
    return sentences(told)


def by_color(scene: Scene) -> str:
    """Everyone's clothes, then the colors in the order in which they were met."""
    pieces = [(person, garment) for person in scene.people for garment in person.garments]
    told = [f"{capital(the(person))} wears {outfit(person)}." for person in scene.people]
    for color in dict.fromkeys(garment.color for _, garment in pieces):
        things = [
            f"the {garment.kind} of {the(person)}" for person, garment in pieces if garment.color == color
        ]
        told.append(f"{capital(color)}: {join(things)}.")
    return " ".join(told)


def catalogue(scene: Scene) -> str:
    offers = ("For the {part}, choose {it}.", "Treat your {part} to {it}.", "Give your {part} {it}.")
    told = []
    for person in scene.people:
        told.append(f"Dress like {the(person)}!")
        told += [
            offers[i % 3].format(part=BODY[garment.kind], it=worn(garment))
            for i, garment in enumerate(person.garments)
        ]
    return " ".join(["New in our shop.", *told])


def story(scene: Scene) -> str:
    told = []
    for index, person in enumerate(scene.people):
        opening = (
            f"One day {a(person.kind)} went for a walk in {outfit(person)}."
            if index == 0
            else f"Then {a(person.kind)} came along, and {she(person)} wore {outfit(person)}."
        )
        told.append(opening + _holding(person, "{she} carried {it}."))
    return " ".join([*told, f"The sky that day was {scene.background}."])


def poem(scene: Scene) -> str:
    lines = []
    for person in scene.people:
        for garment in person.garments:
            act = f"{VERBS[garment.kind]} {her(person)} {BODY[garment.kind]}"
            lines.append(f"{capital(some(garment.kind))} of {garment.color} {act},")
        lines.append(f"so stands {the(person)} {where(person)}.")
    return "\n".join(lines)


def guided(scene: Scene) -> str:
    told = []
    for person in scene.people:
        first, *rest = person.garments
        told.append(f"Look {where(person)} and you find {a(person.kind)}.")
        told.append(f"{capital(covers(person, first))}.")
        told += [f"Below that, {covers(person, garment)}." for garment in rest[:1]]
        if rest[1:]:
            told.append(f"Further down, {join([covers(person, garment) for garment in rest[1:]])}.")
    return " ".join(told)


def laundry(scene: Scene) -> str:
    told = [f"from {the(person)} {outfit(person)}" for person in scene.people]
    return f"We put in the basket, {'; '.join(told)}. Now everything can be washed."


def summary(scene: Scene) -> str:
    """Everyone with what is worn, counted on the way."""
    told = [
        f"{capital(the(person))}, {number(i)}, wears {join([some(garment.kind) for garment in person.garments])}."
        for i, person in enumerate(scene.people, 1)
    ]
    people = "one person" if len(scene.people) == 1 else f"{number(len(scene.people))} people"
    return f"{' '.join(told)} In short: {people} on a {scene.background} background."


def places(scene: Scene) -> str:
    told = [f"{PLACED[person.place]} {a(person.kind)}{_in_hand(person)}" for person in scene.people]
    return f"{capital('; '.join(told))}."


def _in_hand(person: Person) -> str:
    return "" if person.held is None else f" with {carried(person.held)}"


FORMS: tuple[tuple[Callable[[Scene], str], tuple[str, ...]], ...] = (
    (plain, ("Describe the picture.", "Describe what the picture shows.", "Please describe this picture.")),
    (detailed, ("Describe this image in detail.", "Give a detailed description of the image.")),
    (caption, ("Write a short caption.", "Give the picture a short caption.")),
    (seen, ("What do you see?", "What do you see in the picture?", "Tell me what you see.")),
    (feet_up, ("Describe everyone from the feet up.", "Describe the clothes from the feet to the head.")),
    (right_to_left, ("Describe the people from right to left.", "Describe the picture from right to left.")),
    (bullets, ("List the people.", "Make a list of the people and their clothes.")),
    (numbered, ("Make a numbered list of the clothes.", "Number the clothes one after the other.")),
    (as_json, ("Describe the picture as JSON.", "Give me the people as JSON.", "Answer in JSON: who is shown?")),
    (as_table, ("Make a table of the clothes.", "Show the clothes as a Markdown table.")),
    (side_by_side, ("Make a table with a column for each person.", "Put the people side by side in a table.")),
    (by_garment, ("Describe the clothes garment by garment.", "Sort the clothes by kind.")),
    (by_color, ("Describe the clothes color by color.", "Sort the clothes by color.")),
    (catalogue, ("Write it as a shop catalog.", "Turn the picture into a shop catalog.")),
    (story, ("Tell a story about the picture.", "Turn the picture into a story.")),
    (poem, ("Write a poem about the picture.", "Turn the picture into a poem.")),
    (guided, ("Guide me through the picture.", "Describe it for someone who cannot see it.")),
    (laundry, ("All clothes go to the wash. What do you put in the basket?", "Pack all the clothes in a basket.")),
    (summary, ("Sum up the picture.", "Give a summary of the picture.")),
    (places, ("Who stands where?", "Describe only where the people stand.")),
)  # fmt: skip


def ask(rng: random.Random, scene: Scene, form: Callable[[Scene], str] | None = None) -> Turn:
    """A random whole-picture question, or one of `form`, with its answer."""
    forms = [entry for entry in FORMS if form in (None, entry[0])]
    answer, questions = rng.choice(forms)
    kind = "count" if answer is summary else "caption"
    return Turn(rng.choice(questions), answer(scene), kind, CAPTION)
