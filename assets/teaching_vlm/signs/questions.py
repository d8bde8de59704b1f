"""Short questions about what is printed: lines, words, letters, their numbers; and about colors."""

from __future__ import annotations

import random

from family import GENERAL, TEXT
from language import Turn, a, capital, counted, join, number

from signs import captions
from signs.contents import has_item, label_facts, price, receipt_facts
from signs.phrases import (
    ORDINALS,
    count_up,
    kind_noun,
    numbered_items,
    numbered_lines,
    say,
    told_lines,
)
from signs.scene import LABEL, RECEIPT, SIGN, Lettered
from signs.words import UNITS


def everything(rng: random.Random, scene: Lettered) -> Turn:
    noun = kind_noun(scene)
    question, answer = rng.choice(
        (
            (f"What does the {noun} say?", f"The {noun} says: {', '.join(told_lines(scene))}."),
            ("Read everything.", f"It reads: {'; '.join(say(line) for line in scene.lines)}."),
            ("What is written there?", f"From top to bottom it reads {join(told_lines(scene))}."),
        )
    )
    return Turn(question, answer, "text", TEXT)


def _around(scene: Lettered, position: int) -> str:
    """What stands above and below a line."""
    told = []
    if position:
        told.append(f" Above it stands {say(scene.lines[position - 1])}.")
    if position + 1 < len(scene.lines):
        told.append(f" Below it stands {say(scene.lines[position + 1])}.")
    return "".join(told)


def line(rng: random.Random, scene: Lettered) -> Turn:
    position = rng.randrange(len(scene.lines))
    nth, text = ORDINALS[position], say(scene.lines[position])
    above = scene.lines[: position + 1]
    question, answer = rng.choice(
        (
            (f"What is the {nth} line?", f"The {nth} line is {text}.{_around(scene, position)}"),
            (f"Read the {nth} line.", f"The {nth} line reads {text}."),
            (
                f"Read from the top down to the {nth} line.",
                f"From the top, {join([f'line {number(i)} is {say(line)}' for i, line in enumerate(above, 1)])}.",
            ),
        )
    )
    return Turn(question, answer, "line", TEXT)


def end_word(rng: random.Random, scene: Lettered) -> Turn:
    place, word = rng.choice((("first", scene.words[0]), ("last", scene.words[-1])))
    row = scene.lines[0 if place == "first" else -1]
    return Turn(
        f"What is the {place} word on the {kind_noun(scene)}?",
        f"The {place} word is {word}, and it stands in this line: {say(row)}.",
        "word",
        TEXT,
    )


def neighbor(rng: random.Random, scene: Lettered) -> Turn | None:
    """The word behind another one, or the line below another one."""
    pairs = [line for line in scene.lines if len(line) == 2]
    if scene.kind != RECEIPT and pairs and rng.random() < 0.5:
        first, second = rng.choice(pairs)
        return Turn(f"Which word comes after {first}?", f"After {first} comes {second}.", "word", TEXT)
    if len(scene.lines) < 2:
        return None
    position = rng.randrange(len(scene.lines) - 1)
    upper, lower = scene.lines[position : position + 2]
    return Turn(f"What stands below {upper[0]}?", f"Below {upper[0]} stands {say(lower)}.", "line", TEXT)


def where(rng: random.Random, scene: Lettered) -> Turn:
    position = rng.randrange(len(scene.lines))
    word = scene.lines[position][0]
    answer = f"You find {word} in the {ORDINALS[position]} line: {say(scene.lines[position])}."
    answer += _around(scene, position)
    return Turn(f"Where does it say {word}?", answer, "where", TEXT)


def spelled(rng: random.Random, scene: Lettered) -> Turn:
    """A word letter by letter."""
    row = rng.randrange(len(scene.lines) - (scene.kind != SIGN))
    word = scene.lines[row][0]
    if rng.random() < 0.5:
        question = f"Spell the first word of the {ORDINALS[row]} line."
        return Turn(question, f"The word is {word}, and it is spelled {', '.join(word)}.", "spelling", TEXT)
    answer = f"Its letters are {', '.join(word)}, so the word is {word}."
    return Turn(f"Read the first word of the {ORDINALS[row]} line by its letters.", answer, "spelling", TEXT)


def spelled_words(rng: random.Random, scene: Lettered) -> Turn:
    """Every word letter by letter; numbers are left out."""
    words = [word for line in scene.lines for word in line if word[0].isalpha() and word not in UNITS]
    told = " ".join(f"The word {word} is spelled {', '.join(word)}." for word in words)
    return Turn("Spell all words that are printed.", told, "spelling", TEXT)


def line_by_line(rng: random.Random, scene: Lettered) -> Turn:
    told = " ".join(
        f"The {nth} line says {say(line)}." for nth, line in zip(ORDINALS, scene.lines, strict=False)
    )
    if rng.random() < 0.5:
        return Turn("Read it line by line.", told, "text", TEXT)
    board = f"{kind_noun(scene)} is {scene.color}" if scene.color else "paper is white"
    answer = f"{told} The {board}, and its letters are {scene.ink}."
    return Turn("Tell me line by line what is printed.", answer, "text", TEXT)


def there_are(count: int, noun: str) -> str:
    """The last sentence of a count."""
    return f"So there {'is' if count == 1 else 'are'} {counted(count, noun)}."


def count(rng: random.Random, scene: Lettered) -> Turn:
    """Lines, words or items, counted one after the other."""
    lines = len(scene.lines)
    asked = [
        ("How many lines are there?", f"{capital(numbered_lines(scene))}. {there_are(lines, 'line')}"),
        (
            "How many lines does it have?",
            f"Read from the top, {count_up([say(line) for line in scene.lines])}. {there_are(lines, 'line')}",
        ),
    ]
    if scene.kind == RECEIPT:
        bought = there_are(len(scene.items), "item")
        asked = [
            ("How many items were bought?", f"{capital(numbered_items(scene))}. {bought}"),
            (
                "How many items are there?",
                f"Read from the top, {count_up([item for item, _ in scene.items])}. {bought}",
            ),
        ]
    elif scene.kind == SIGN:
        made = f"One after the other, {count_up(scene.words)}. {there_are(len(scene.words), 'word')}"
        asked.append(("How many words are there?", made))
    return Turn(*rng.choice(asked), "count", TEXT)


def listed(rng: random.Random, scene: Lettered) -> Turn:
    """All that is printed, in one form."""
    told = captions.ask(rng, scene, rng.choice(LISTS))
    return Turn(told.question, told.answer, "list", TEXT)


def color(rng: random.Random, scene: Lettered) -> Turn:
    asked = [("What color is the background?", f"The background is {scene.background}.")]
    asked.append(("What color are the letters?", f"The letters are {scene.ink}."))
    if scene.kind == SIGN:
        asked.append(("What color is the board?", f"The board is {scene.color}."))
        asked.append(("What color is the sign?", f"The sign is {scene.color} with {scene.ink} letters."))
    if scene.kind == LABEL:
        asked.append(("What color is the label?", f"The label is {scene.color}."))
        asked.append(("What color is the lid?", f"The lid of the jar is {scene.lid}."))
        asked.append(
            (
                "Which colors do the lid and the label have?",
                f"The lid is {scene.lid}, and the label is {scene.color}.",
            )
        )
    return Turn(*rng.choice(asked), "color", GENERAL)


def what(rng: random.Random, scene: Lettered) -> Turn:
    """The kind of thing in the picture."""
    thing = {
        SIGN: f"{a(scene.color or 'white')} sign on two posts",
        LABEL: f"a jar with {a(scene.color or 'white')} label",
        RECEIPT: "a receipt on white paper",
    }[scene.kind]
    question, answer = rng.choice(
        (
            ("What kind of thing is this?", f"This is {thing}."),
            (
                "Is this a sign, a jar or a receipt?",
                f"It is a {'jar' if scene.kind == LABEL else scene.kind}.",
            ),
        )
    )
    return Turn(question, answer, "kind", GENERAL)


LISTS = (
    captions.bullets, captions.numbered, captions.as_json, captions.as_table, captions.by_words, captions.backward,
)  # fmt: skip
ANY = (
    everything,
    line_by_line,
    spelled,
    spelled_words,
    spelled_words,
    line,
    neighbor,
    where,
    count,
    count,
    listed,
    listed,
    listed,
)
ASKERS = {
    SIGN: (*ANY, line_by_line, line, end_word),
    LABEL: (*ANY, end_word, label_facts, label_facts, label_facts),
    RECEIPT: (*ANY, price, price, has_item, receipt_facts, receipt_facts, receipt_facts),
}  # fmt: skip


def ask(rng: random.Random, scene: Lettered) -> list[Turn] | None:
    turn = rng.choice(ASKERS[scene.kind])(rng, scene)
    return None if turn is None else [turn]


def ask_general(rng: random.Random, scene: Lettered) -> list[Turn]:
    return [rng.choice((color, color, what))(rng, scene)]
