"""Conversations: one to three turns over one picture; later turns refer back to what was said."""

from __future__ import annotations

import random
from collections.abc import Callable

from family import CAPTION, DRILL, GENERAL, MULTI_TURN, REASONING
from language import Turn, a, capital, counted, join

from shapes import captions, questions, reasoning
from shapes.phrases import conclude, full, located, short, unique_names, walk
from shapes.scene import PLACES, Scene, Thing

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
    others = [other for other in scene.things if other is not thing]

    def told(attribute: str) -> str:
        value = getattr(thing, attribute)
        if not others:
            return f"It is {value if attribute == 'color' else a(value)}, and there is no other shape."
        verdict = "yes" if any(getattr(other, attribute) == value for other in others) else "no"
        named = value if attribute == "color" else a(value)
        return f"It is {named}. Of the others: {walk(tuple(others), attribute, value)} So {verdict}."

    elsewhere = (
        f"Besides it there is {join([located(o) for o in others])}." if others else "Nothing else is there."
    )
    turns = [
        Turn("Is it big or small?", f"It is {thing.size}.", "follow-up", TOPIC),
        Turn("Where exactly is it?", f"It lies in the {thing.place} of the picture.", "follow-up", TOPIC),
        Turn("Is there another one of the same color?", told("color"), "follow-up", TOPIC),
        Turn("Is there another one of the same shape?", told("shape"), "follow-up", TOPIC),
        Turn("What else is in the picture?", elsewhere, "follow-up", TOPIC),
        Turn("And the background?", f"It lies on a {scene.background} background.", "follow-up", TOPIC),
    ]
    rng.shuffle(turns)
    return turns


def _about_all(rng: random.Random, scene: Scene) -> list[Turn]:
    """Follow-ups to a description: how many of them, and the same thing told in another form."""
    color = rng.choice(scene.things).color
    found = sum(thing.color == color for thing in scene.things)
    counting = f"{walk(scene.things, 'color', color)} {conclude(found, f'{color} shape')}"
    sizes = join([f"the {short(thing)} is {thing.size}" for thing in scene.things])
    turns = [
        Turn(f"How many of them are {color}?", counting, "count", TOPIC),
        Turn("How big are they?", f"{capital(sizes)}.", "follow-up", TOPIC),
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


DRILLED = (
    questions.count, questions.count, questions.count_shapes, questions.count_shapes, questions.count_shapes,
    questions.count_shapes, questions.count_shapes, questions.count_shapes, reasoning.count_aloud,
    questions.position, questions.exists, questions.palette, questions.neighbor, questions.where_color,
    reasoning.commonest, reasoning.compare_counts, reasoning.compare_heights, reasoning.compare_sizes,
    reasoning.odd_one, reasoning.check_each, reasoning.take_away,
)  # fmt: skip


def drill(rng: random.Random, scene: Scene) -> Turn:
    """Counting and search by one attribute: the questions that take longest to learn."""
    while True:
        asker = rng.choice(DRILLED)
        turn = asker(rng, scene)
        if turn is not None:
            return turn


def _one(ask: Callable[[random.Random, Scene], Turn]) -> Callable[[random.Random, Scene], list[Turn]]:
    return lambda rng, scene: [ask(rng, scene)]


def _several(rng: random.Random, scene: Scene) -> list[Turn]:
    return multi_turn(rng, scene, rng.choice((2, 2, 3)))


CONVERSATIONS = {
    GENERAL: _one(questions.ask),
    CAPTION: _one(captions.ask),
    REASONING: _one(reasoning.ask),
    MULTI_TURN: _several,
    DRILL: _one(drill),
}
