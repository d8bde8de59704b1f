"""Conversations: one to three turns over one picture; later turns refer back to what was said."""

from __future__ import annotations

import random
from collections.abc import Sequence

import captions
import questions
import reasoning
from language import Turn, a, capital, counted, full, join, located, number, short, unique_names
from scenes import PLACES, Scene, Thing

TOPIC = "multi-turn conversation"


def _about(rng: random.Random, scene: Scene, thing: Thing) -> Turn:
    """An opening that makes `thing` the one that later turns call 'it'."""
    if rng.random() < 0.5 or thing not in unique_names(scene):
        question, answer = (
            f"What is in the {thing.place}?",
            f"In the {thing.place} there is {a(full(thing))}.",
        )
    else:
        question = f"Can you find the {short(thing)}?"
        answer = f"Yes, I can see the {short(thing)} in the {thing.place}."
    return Turn(question, answer, "opening", TOPIC)


def _about_it(rng: random.Random, scene: Scene, thing: Thing) -> list[Turn]:
    """Follow-ups about the thing the conversation is about, in random order."""
    twins = [other for other in scene.things if other is not thing and other.color == thing.color]
    kin = [other for other in scene.things if other is not thing and other.shape == thing.shape]
    others = [other for other in scene.things if other is not thing]

    def told(found: list[Thing], noun: str) -> str:
        if not found:
            return f"No, it is the only {noun}."
        return f"Yes, there is also {join([located(other) for other in found])}."

    elsewhere = (
        f"Besides it there is {join([located(o) for o in others])}." if others else "Nothing else is there."
    )
    turns = [
        Turn("Is it big or small?", f"It is {thing.size}.", "follow-up", TOPIC),
        Turn("Where exactly is it?", f"It lies in the {thing.place} of the picture.", "follow-up", TOPIC),
        Turn(
            "Is there another one of the same color?", told(twins, f"{thing.color} shape"), "follow-up", TOPIC
        ),
        Turn("Is there another one of the same shape?", told(kin, thing.shape), "follow-up", TOPIC),
        Turn("What else is in the picture?", elsewhere, "follow-up", TOPIC),
        Turn("And the background?", f"It lies on a {scene.background} background.", "follow-up", TOPIC),
    ]
    rng.shuffle(turns)
    return turns


def _about_all(rng: random.Random, scene: Scene) -> list[Turn]:
    """Follow-ups to a description: how many of them, and the same thing told in another form."""
    color = rng.choice(scene.things).color
    found = [thing for thing in scene.things if thing.color == color]
    big = [thing for thing in scene.things if thing.size == "big"]
    verb = "is" if len(found) == 1 else "are"
    biggest = (
        f"The big ones are {join([f'the {short(t)}' for t in big])}."
        if len(big) > 1
        else "None of them is big."
    )
    if len(big) == 1:
        biggest = f"Only the {short(big[0])} is big."
    places = join([f"the {thing.place}" for thing in found])
    turns = [
        Turn(
            f"How many of them are {color}?",
            f"{capital(number(len(found)))} of them {verb} {color}, in {places}.",
            "follow-up",
            TOPIC,
        ),
        Turn("Which of them are big?", biggest, "follow-up", TOPIC),
        Turn("Say that as a list.", captions.bullets(scene), "follow-up", TOPIC),
        Turn("Now the same as a table.", captions.as_table(scene), "follow-up", TOPIC),
        Turn("Now the same row by row.", captions.by_rows(scene), "follow-up", TOPIC),
        Turn("And which places are empty?", _empty(scene), "follow-up", TOPIC),
    ]
    rng.shuffle(turns)
    return turns


def _empty(scene: Scene) -> str:
    free = [f"the {place}" for cell, place in enumerate(PLACES) if scene.at(cell) is None]
    return f"{capital(join(free))} are empty, {counted(len(free), 'place')} in all."


def multi_turn(rng: random.Random, scene: Scene, num_turns: int) -> list[Turn]:
    """A conversation of `num_turns` (2 or 3) turns about one thing or about the whole picture."""
    if rng.random() < 0.5:
        thing = rng.choice(scene.things)
        return [_about(rng, scene, thing), *_about_it(rng, scene, thing)[: num_turns - 1]]
    form = rng.choice((captions.plain, captions.seen, captions.detailed, captions.caption, captions.guided))
    return [captions.ask(rng, scene, form), *_about_all(rng, scene)[: num_turns - 1]]


DRILL = (
    questions.count, questions.count, questions.count, reasoning.count_aloud,
    questions.color, questions.shape, questions.position, questions.size,
)  # fmt: skip


def drill(rng: random.Random, scene: Scene) -> Turn:
    """Counting and finding: the questions that take longest to learn."""
    while True:
        asker = rng.choice(DRILL)
        turn = asker(rng, scene)
        if turn is not None:
            return turn


def converse(rng: random.Random, scene: Scene, shares: Sequence[float]) -> list[Turn]:
    """A conversation of any kind; `shares` of captions, short questions, reasoning, drill; the rest multi-turn."""
    draw = rng.random()
    for share, asker in zip(shares, (captions.ask, questions.ask, reasoning.ask, drill), strict=True):
        if draw < share:
            return [asker(rng, scene)]
        draw -= share
    return multi_turn(rng, scene, rng.choice((2, 2, 3)))
