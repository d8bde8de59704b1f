"""Conversations over one printed thing: two or three turns, the later ones referring back."""

from __future__ import annotations

import random

from family import MULTI_TURN
from language import Turn, counted, versus

from signs import captions
from signs.phrases import ORDINALS, add, count_up, money, name, say, subtract
from signs.scene import LABEL, RECEIPT, SIGN, Lettered, cents


def _turn(question: str, answer: str, kind: str = "follow-up") -> Turn:
    return Turn(question, answer, kind, MULTI_TURN)


def _lines(rng: random.Random, scene: Lettered) -> list[Turn]:
    """One line, the next ones, and how many words they have."""
    start = rng.randrange(max(1, len(scene.lines) - 1))
    lines = scene.lines[start : start + 2]
    nth = ORDINALS[start]
    turns = [_turn(f"What does the {nth} line say?", f"The {nth} line says {say(lines[0])}.", "line")]
    if len(lines) > 1:
        turns.append(_turn("And the one below it?", f"Below it stands {say(lines[1])}."))
    if scene.kind == RECEIPT:
        turns.append(_turn("And what is the last line?", f"The last line is {say(scene.lines[-1])}."))
    else:
        told = f"In it, {count_up(lines[-1])}, so it has {counted(len(lines[-1]), 'word')}."
        turns.append(_turn("How many words is that?", told, "count"))
    return turns


def _look(rng: random.Random, scene: Lettered) -> list[Turn]:
    """What it is, then its colors and its text."""
    opening = _turn(
        "What is in the picture?",
        f"There is a {'jar' if scene.kind == LABEL else scene.kind} in the picture.",
        "kind",
    )
    turns = [_turn("And what does it say?", f"It says {', '.join(say(line) for line in scene.lines)}.")]
    turns.append(
        _turn("What color is the background behind it?", f"Behind it the background is {scene.background}.")
    )
    if scene.kind == SIGN:
        turns.append(_turn("What color is it?", f"It is {scene.color}, and its letters are {scene.ink}."))
    if scene.kind == LABEL:
        turns.append(_turn("What color is its label?", f"Its label is {scene.color}."))
        turns.append(_turn("What color is its lid?", f"Its lid is {scene.lid}."))
    if scene.kind == RECEIPT:
        turns.append(_turn("Which shop is it from?", f"It is from the {say(scene.lines[0])}."))
    return [opening, *rng.sample(turns, 2)]


def _retold(rng: random.Random, scene: Lettered) -> list[Turn]:
    """A description, then the same in other forms."""
    opening = captions.ask(
        rng, scene, rng.choice((captions.plain, captions.seen, captions.caption, captions.detailed))
    )
    forms = [
        _turn("Put that in a table.", captions.as_table(scene)),
        _turn("Now the same as a list.", captions.bullets(scene)),
        _turn("Now the same as JSON.", captions.as_json(scene)),
        _turn("Now from the bottom to the top.", captions.backward(scene)),
        _turn("And what are its colors?", captions.colors(scene)),
    ]
    return [Turn(opening.question, opening.answer, "caption", MULTI_TURN), *rng.sample(forms, 2)]


def _prices(rng: random.Random, scene: Lettered) -> list[Turn]:
    """The price of one item, of another, and what they have to do with each other."""
    (one, first), (other, second) = rng.sample(scene.items, 2)
    added, total = add(scene, first, second)
    taken, rest = subtract(scene, first, second)
    told = f"The {one} costs {first}, and the {other} costs {second}"
    relation = versus(cents(first), cents(second))
    end = {"less": f"the {one} is cheaper", "more": f"the {other} is cheaper"}.get(
        relation, "both cost the same"
    )
    cheaper = f"{told}. {first} against {second} is {relation}, so {end}."
    ends = (
        _turn("How much are both together?", f"{added}, so both cost {money(total)}."),
        _turn("What is the difference?", f"{taken}, so it is {money(rest)}."),
        _turn("Which of the two is cheaper?", cheaper),
        _turn("And the total?", f"The total is {money(scene.lines[-1][1])}."),
    )
    return [
        _turn(f"What does the {one} cost?", f"The {one} costs {money(first)}.", "price"),
        _turn(f"And the {other}?", f"The {other} costs {money(second)}."),
        rng.choice(ends),
    ]


def _items(rng: random.Random, scene: Lettered) -> list[Turn]:
    """The first item, then the next ones."""
    turns = []
    for nth, (item, price) in zip(ORDINALS, scene.items, strict=False):
        question = "Which item comes first?" if not turns else "And after that?"
        turns.append(
            _turn(
                question,
                f"The {nth} item is {item} for {money(price)}.",
                "item" if not turns else "follow-up",
            )
        )
    return turns


def _jar(rng: random.Random, scene: Lettered) -> list[Turn]:
    """What a jar holds, how much, and how much two of them hold."""
    amount, unit = scene.lines[-1]
    return [
        _turn("What does the jar hold?", f"The jar holds {name(scene)}.", "label"),
        _turn("How much of it?", f"It holds {amount} {unit} of it."),
        rng.choice(
            (
                _turn(
                    "And two of them?",
                    f"{amount} plus {amount} is {2 * int(amount)}, so {2 * int(amount)} {unit}.",
                ),
                _turn("And what color is the lid?", f"The lid is {scene.lid}."),
                _turn("And what color is the label?", f"The label is {scene.color}."),
            )
        ),
    ]


OPENINGS = {
    SIGN: (_lines, _lines, _look, _retold),
    LABEL: (_lines, _look, _retold, _jar, _jar),
    RECEIPT: (_lines, _look, _retold, _prices, _prices, _items),
}


def multi_turn(rng: random.Random, scene: Lettered) -> list[Turn]:
    """A conversation of two or three turns."""
    return rng.choice(OPENINGS[scene.kind])(rng, scene)[: rng.choice((2, 3, 3))]
