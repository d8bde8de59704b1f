"""Questions of several steps about dressed people: each answer tells what it looks at before what it concludes."""

from __future__ import annotations

import random
from collections import Counter

from family import REASONING
from language import Turn, capital, counted, highest, join, number

from figures.evidence import (
    check_color,
    count_garments,
    each_has,
    same_garments,
    sentences,
    shared_or_own,
    tally_colors,
    those,
)
from figures.phrases import PLACED, covers, has, outfit, she, some, the, where, worn
from figures.scene import GARMENT_COLORS, GARMENTS, OPTIONAL, Garment, Person, Scene


def _turn(question: str, answer: str, kind: str) -> Turn:
    return Turn(question, answer, kind, REASONING)


def _colors(person: Person) -> list[str]:
    return [garment.color for garment in person.garments]


def _shared(one: Person, other: Person) -> list[tuple[Garment, Garment]]:
    """Garments of the same kind that both wear."""
    return [(g, h) for g in one.garments if (h := other.wears(g.kind)) is not None]


def compare(rng: random.Random, scene: Scene) -> Turn | None:
    """Two people garment by garment."""
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    told, same = same_garments(one, other)
    end = f"So {counted(len(same), 'garment')} {'is' if len(same) == 1 else 'are'} the same."
    question = f"Compare {the(one)} with {the(other)}, garment by garment."
    return _turn(question, f"{told} {shared_or_own(other, one)} {end}", "count")


def differ(rng: random.Random, scene: Scene) -> Turn | None:
    """What one wears and the other does not."""
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    extra = [some(garment.kind) for garment in one.garments if other.wears(garment.kind) is None]
    each = "; ".join(
        f"{worn(garment)}, and {has(other, garment.kind)}: "
        f"{'both' if other.wears(garment.kind) else f'only {the(one)} has {some(garment.kind)}'}"
        for garment in one.garments
    )
    told = f"{capital(the(one))} wears {each}."
    end = (
        f"So only {the(one)} has {join(extra)}."
        if extra
        else f"So {the(one)} has nothing that {the(other)} lacks."
    )
    return _turn(f"What does {the(one)} wear that {the(other)} does not?", f"{told} {end}", "differ")


def count_aloud(rng: random.Random, scene: Scene) -> Turn:
    kind, total, told = rng.choice(GARMENTS), 0, []
    for person in scene.people:
        if person.wears(kind) is not None:
            total += 1
        told.append(f"{capital(has(person, kind))}, so the count is {number(total)}.")
    question = f"How many people wear {some(kind)}? Count step by step."
    return _turn(question, f"{' '.join(told)} In all it is {number(total)}.", "count")


def commonest(rng: random.Random, scene: Scene) -> Turn:
    counts = Counter(dict.fromkeys(GARMENT_COLORS, 0))
    told = [tally_colors(person, counts) for person in scene.people]
    judged, best = highest(counts)
    verb = "is the most common" if len(best) == 1 else "are equally common"
    question = "Which color is the most common? Explain step by step."
    return _turn(question, f"{sentences(told)} {judged} So {join(best)} {verb}.", "count")


def count_color(rng: random.Random, scene: Scene) -> Turn:
    """Garments of one color, person by person and garment by garment."""
    color = rng.choice(_colors(rng.choice(scene.people)))
    total, told = 0, []
    for person in scene.people:
        for garment in person.garments:
            total += garment.color == color
            verdict = number(total) if garment.color == color else "no"
            told.append(f"{check_color(person, garment, color)}: {verdict}.")
    question = f"How many {color} garments are there? Count person by person."
    return _turn(question, f"{' '.join(told)} The total is {number(total)}.", "count")


def bare_ones(rng: random.Random, scene: Scene) -> Turn:
    kind = rng.choice(OPTIONAL)
    told = each_has(scene.people, kind)
    without = [the(person) for person in scene.people if person.wears(kind) is None]
    end = f"So {join(without)} would need {some(kind)}." if without else f"So everyone has {some(kind)}."
    return _turn(f"Who wears no {kind}? Check each person.", f"{told} {end}", "bare")


def repaint(rng: random.Random, scene: Scene) -> Turn:
    old = rng.choice(_colors(rng.choice(scene.people)))
    new = rng.choice([color for color in GARMENT_COLORS if color != old])
    told = []
    for person in scene.people:
        clothes = [worn(Garment(g.kind, new if g.color == old else g.color, g.rgb)) for g in person.garments]
        told.append(f"{capital(the(person))} would wear {join(clothes)}.")
    return _turn(f"If all {old} clothes turn {new}, what does each person wear?", " ".join(told), "repaint")


def swap(rng: random.Random, scene: Scene) -> Turn | None:
    """Two people exchange one garment that both wear."""
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    if not (pairs := _shared(one, other)):
        return None
    mine, yours = rng.choice(pairs)
    alike = "the same color, so nobody will notice" if mine.color == yours.color else "different colors"
    now = f"Now {the(one)} wears {worn(mine)} and {the(other)} wears {worn(yours)}: {alike}."
    then = f"Then {the(one)} has {worn(yours)} and {the(other)} has {worn(mine)}. " + " ".join(
        f"After the swap {the(person)} wears {join([worn(new if g is old else g) for g in person.garments])}."
        for person, old, new in ((one, mine, yours), (other, yours, mine))
    )
    things = mine.kind if some(mine.kind) == mine.kind else f"{mine.kind}s"
    question = f"If {the(one)} and {the(other)} swap their {things}, who wears what?"
    return _turn(question, f"{now} {then}", "swap")


def exchange(rng: random.Random, scene: Scene) -> Turn | None:
    """Two people in each other's clothes: the same garments on another's body."""
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    told = " ".join(
        f"Then {the(person)} looks like this: {join([covers(person, garment) for garment in giver.garments])}."
        for person, giver in ((one, other), (other, one))
    )
    return _turn(
        f"If {the(one)} and {the(other)} swap all their clothes, how does each look?", told, "exchange"
    )


def take_off(rng: random.Random, scene: Scene) -> Turn:
    person = rng.choice(scene.people)
    off = rng.choice(person.garments)
    rest = [covers(person, garment) for garment in person.garments if garment is not off]
    answer = f"{capital(the(person))} puts away {worn(off)}. What remains: {join(rest)}."
    return _turn(f"If {the(person)} takes off the {off.kind}, what remains?", answer, "take off")


def twice(rng: random.Random, scene: Scene) -> Turn:
    """Whether a person wears one color more than once."""
    told, found = [], []
    for person in scene.people:
        counts: Counter[str] = Counter()
        steps = tally_colors(person, counts)
        is_found = max(counts.values()) > 1
        told.append(f"{steps}: {'yes' if is_found else 'no'}")
        if is_found:
            found.append(the(person))
    question = "Does anyone wear the same color more than once? Check each person."
    end = those(found, "does", "do", "nobody does")
    return _turn(question, f"{sentences(told)} So {'yes' if found else 'no'}, {end}.", "twice")


def most(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.people) < 2:
        return None
    told = sentences([f"{the(person)} wears {count_garments(person)}" for person in scene.people])
    judged, best = highest({the(person): len(person.garments) for person in scene.people})
    end = f"So {those(best, 'wears', 'wear', '')} the most."
    return _turn("Who wears the most garments? Count step by step.", f"{told} {judged} {end}", "count")


def how_many_more(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    counts = len(one.garments), len(other.garments)
    told = sentences([f"{the(person)} has {count_garments(person)}" for person in (one, other)])
    if counts[0] > counts[1]:
        end = f"So {number(counts[0])} minus {number(counts[1])} is {number(counts[0] - counts[1])}."
    else:
        end = f"So {number(counts[0])} is not more than {number(counts[1])}."
    question = f"How many more garments does {the(one)} wear than {the(other)}?"
    return _turn(question, f"{told} {end}", "count")


def winter(rng: random.Random, scene: Scene) -> Turn:
    told, ready = [], []
    for person in scene.people:
        missing = [kind for kind in ("hat", "scarf", "gloves") if person.wears(kind) is None]
        checked = [some(kind) if kind not in missing else f"no {kind}" for kind in ("hat", "scarf", "gloves")]
        end = f"{she(person)} would be cold" if missing else f"{she(person)} would be warm"
        told.append(f"{the(person)} has {join(checked)}, so {end}")
        if not missing:
            ready.append(the(person))
    question = "Winter calls for a hat, a scarf and gloves. Who is ready for it?"
    return _turn(question, f"{sentences(told)} So {those(ready, 'is', 'are', 'nobody is')} ready.", "winter")


def trade_places(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.people) < 2:
        return None
    mirrored = {"left": "right", "right": "left", "center": "center"}
    told = []
    for person in scene.people:
        goal = PLACED[mirrored[person.place]]
        verb = "stays" if goal == where(person) else "moves from the " + person.place + " and stands"
        told.append(f"{capital(the(person))} in {outfit(person)} {verb} {goal}.")
    return _turn("If left and right change places, who stands where?", " ".join(told), "trade places")


def matches(rng: random.Random, scene: Scene) -> Turn | None:
    """Which garments two people wear in the same color."""
    if len(scene.people) < 2:
        return None
    one, other = rng.sample(scene.people, 2)
    told, same = same_garments(one, other)
    end = f"So yes, they match in {join(same)}." if same else "So no, nothing matches."
    question = f"Do {the(one)} and {the(other)} wear any garment in the same color?"
    return _turn(question, f"{told} {end}", "matches")


ASKERS = (
    compare, compare, differ, differ, count_aloud, commonest, commonest, count_color, bare_ones, repaint, repaint,
    swap, exchange, exchange, take_off, twice, most, how_many_more, winter, trade_places, matches,
)  # fmt: skip


def ask(rng: random.Random, scene: Scene) -> Turn:
    """A random question of several steps that this scene allows."""
    while (turn := rng.choice(ASKERS)(rng, scene)) is None:
        pass
    return turn
