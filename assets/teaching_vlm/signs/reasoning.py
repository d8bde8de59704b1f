"""Questions that need steps: counting words and letters, the alphabet, amounts; those about prices are beside."""

from __future__ import annotations

import random
from string import ascii_lowercase

from family import REASONING
from language import Turn, capital, counted, number, versus

from signs import prices
from signs.phrases import ORDINALS, count_letters, count_up, kind_noun, money, name, say
from signs.scene import LABEL, RECEIPT, Lettered
from signs.words import ITEMS, PLACES, TOTAL, UNITS


def two_jars(rng: random.Random, scene: Lettered) -> Turn:
    amount, unit = scene.lines[-1]
    double = 2 * int(amount)
    answer = (
        f"One jar holds {amount} {unit} of {name(scene)}. {amount} plus {amount} is {double}, "
        f"so two jars hold {double} {unit}."
    )
    return Turn("How much do two of these jars hold?", answer, "two of", REASONING)


def taken(rng: random.Random, scene: Lettered) -> Turn | None:
    amount, unit = scene.lines[-1]
    spoon = 1 if unit == "kg" else rng.choice((50, 100))
    if int(amount) <= spoon:
        return None
    rest = int(amount) - spoon
    answer = (
        f"The jar holds {amount} {unit}. {amount} minus {spoon} is {rest}, "
        f"so {rest} {unit} of {name(scene)} remain."
    )
    return Turn(f"If {spoon} {unit} are taken out, how much remains?", answer, "taken", REASONING)


def enough(rng: random.Random, scene: Lettered) -> Turn:
    amount, unit = scene.lines[-1]
    need = rng.randint(2, 8) if unit == "kg" else 100 * rng.randint(2, 8)
    verdict = "no" if int(amount) < need else "yes"
    answer = (
        f"The label says {amount} {unit}. {amount} against {need} is {versus(int(amount), need)}, "
        f"so the answer is {verdict}."
    )
    return Turn(f"Someone needs {need} {unit}. Is one jar enough?", answer, "enough", REASONING)


def count_words(rng: random.Random, scene: Lettered) -> Turn:
    if scene.kind == RECEIPT:
        told = [
            f"Item {number(i)} is {item} for {money(price)}."
            for i, (item, price) in enumerate(scene.items, 1)
        ]
        items = counted(len(told), "item")
        answer = f"Count them below the {say(scene.lines[0])}. {' '.join(told)} So there are {items}."
        return Turn("Count the items one by one.", answer, "count", REASONING)
    told, so_far = [], 0
    for nth, line in zip(ORDINALS, scene.lines, strict=False):
        told.append(f"In the {nth} line, {count_up(line, so_far)}.")
        so_far += len(line)
    verb = "is" if so_far == 1 else "are"
    answer = f"{' '.join(told)} So there {verb} {counted(so_far, 'word')} on the {kind_noun(scene)}."
    return Turn("Count the words line by line.", answer, "count", REASONING)


def alphabet(rng: random.Random, scene: Lettered) -> Turn | None:
    """Which of two words that begin with different letters comes first in the alphabet."""
    words = _spoken_words(scene)
    if len(words) < 2:
        return None
    one, other = rng.sample(words, 2)
    if one[0] == other[0]:
        return None
    places = [ascii_lowercase.index(word[0]) + 1 for word in (one, other)]
    first = one if places[0] < places[1] else other
    answer = (
        f"The word {one} begins with {one[0]}, which is letter {places[0]}, and {other} begins with {other[0]}, "
        f"which is letter {places[1]}. {places[0]} against {places[1]} is {versus(*places)}, so {first} comes first."
    )
    return Turn(f"Which comes first in the alphabet, {one} or {other}?", answer, "alphabet", REASONING)


def _spoken_words(scene: Lettered) -> list[str]:
    return [word for word in scene.words if word.isalpha() and word not in (*UNITS, TOTAL)]


def letters(rng: random.Random, scene: Lettered) -> Turn:
    word = rng.choice(_spoken_words(scene))
    told = f"Counted one by one, {count_letters(word)}"
    answer = f"The word is {word}. {told}. So it has {counted(len(word), 'letter')}."
    return Turn(f"How many letters does {word} have?", answer, "count", REASONING)


def longer(rng: random.Random, scene: Lettered) -> Turn | None:
    words = _spoken_words(scene)
    if len(words) < 2:
        return None
    one, other = rng.sample(words, 2)
    told = (
        f"In {one}, {count_letters(one)}. In {other}, {count_letters(other)}. "
        f"That makes {number(len(one))} and {number(len(other))}. "
    )
    if len(one) == len(other):
        end = "So both have the same number of letters."
    else:
        relation = versus(len(one), len(other))
        long = one if relation == "more" else other
        end = f"{capital(number(len(one)))} against {number(len(other))} is {relation}, so {long} is longer."
    return Turn(f"Which word is longer, {one} or {other}?", told + end, "count", REASONING)


def has_word(rng: random.Random, scene: Lettered) -> Turn:
    """Whether a word is printed, after a look at every line."""
    word = rng.choice(scene.lines)[0] if rng.random() < 0.5 else rng.choice((*ITEMS, *PLACES))
    told = " ".join(
        f"Does line {number(i)} say {word}? It says {say(line)}: {'yes' if word in line else 'no'}."
        for i, line in enumerate(scene.lines, 1)
    )
    row = next((i for i, line in enumerate(scene.lines) if word in line), None)
    end = (
        f"So yes, {word} is in the {ORDINALS[row]} line."
        if row is not None
        else f"So no, {word} is not there."
    )
    return Turn(f"Check every line: does one of them say {word}?", f"{told} {end}", "check", REASONING)


def swapped(rng: random.Random, scene: Lettered) -> Turn | None:
    if scene.kind == RECEIPT or len(scene.lines) < 2:
        return None
    first, last = scene.lines[0], scene.lines[-1]
    answer = f"The first line is {say(first)}, and the last is {say(last)}. "
    between = [say(line) for line in scene.lines[1:-1]]
    told = ", then ".join([say(last), *between, say(first)])
    return Turn(
        "If the first and the last line change places, what does it say?",
        f"{answer}It then says {told}.",
        "swap",
        REASONING,
    )


ANY = (count_words, alphabet, has_word, swapped, letters, longer, longer)
ASKERS = {
    RECEIPT: (*prices.ASKERS, count_words, longer, alphabet, has_word),
    LABEL: (two_jars, two_jars, taken, enough, enough, *ANY),
}  # fmt: skip


def ask(rng: random.Random, scene: Lettered) -> list[Turn] | None:
    turn = rng.choice(ASKERS.get(scene.kind, ANY))(rng, scene)
    return None if turn is None else [turn]
