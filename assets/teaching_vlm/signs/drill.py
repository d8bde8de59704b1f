"""Drill on printed things: one line, word or price in few words, as that takes longest to learn."""

from __future__ import annotations

import random

from family import DRILL
from language import NUMBERS, Turn

from signs.phrases import add, count_letters, count_up, say, subtract
from signs.scene import LABEL, RECEIPT, Lettered, dollars


def _sums(rng: random.Random, scene: Lettered) -> tuple[str, str]:
    """An addition and a subtraction of prices like those of the receipt."""
    has_cents = "." in scene.lines[-1][1]
    step = 50 if has_cents else 100
    total, more = (dollars(step * rng.randint(1, most), has_cents) for most in (rng.choice((9, 30)), 9))
    low, high = (dollars(step * count, has_cents) for count in sorted(rng.sample(range(1, 21), 2)))
    question = f"What are {total} plus {more} and {high} minus {low}?"
    return question, f"{add(scene, total, more)[0]}, and {subtract(scene, high, low)[0]}."


def drill(rng: random.Random, scene: Lettered) -> list[Turn]:
    """One line, word or price in few words."""
    row = rng.randrange(len(scene.lines))
    asked = [("line", f"Line {NUMBERS[row + 1]}?", f"It is {say(scene.lines[row])}.")] * 3
    asked.append(("text", "Read all.", f"It is {', '.join(say(line) for line in scene.lines)}."))
    if scene.kind == RECEIPT:
        position = rng.randrange(len(scene.items))
        item, price = scene.items[position]
        asked += [
            ("price", f"Price of {item}?", f"It is {price}."),
            ("price", f"Price of item {NUMBERS[position + 1]}?", f"It is {price}."),
            ("item", f"Item {NUMBERS[position + 1]}?", f"It is {item}."),
            ("price", "Read the prices.", f"They are {', '.join(price for _, price in scene.items)}."),
            ("item", "Read the items.", f"They are {', '.join(item for item, _ in scene.items)}."),
            ("price", "Total?", f"It is {scene.lines[-1][1]}."),
            *[("sum", *_sums(rng, scene))] * 4,
        ]
    else:
        position = rng.randrange(min(6, len(scene.words)))
        asked += [("word", f"Word {NUMBERS[position + 1]}?", f"It is {scene.words[position]}.")] * 2
        asked.append(("color", "Color?", f"It is {scene.color}."))
    count = f"Here {count_up([say(line) for line in scene.lines])}. So it is {NUMBERS[len(scene.lines)]}."
    asked.append(("count", "How many lines?", count))
    word = scene.words[0]
    spelled = f"Here {count_letters(word)}. So it is {NUMBERS[len(word)]}."
    asked.append(("count", f"How many letters in {word}?", spelled))
    spelled_word = rng.choice([word for word in scene.words if word.isalpha()])
    asked += [("spelling", f"Spell {spelled_word}.", f"It is {', '.join(spelled_word)}.")] * 3
    if scene.kind == LABEL:
        asked.append(("color", "Color of the lid?", f"It is {scene.lid}."))
        asked.append(("amount", "Amount?", f"It is {say(scene.lines[-1])}."))
    kind, question, answer = rng.choice(asked)
    return [Turn(question, answer, kind, DRILL)]
