"""Short questions about what a jar holds and what a receipt lists: names, amounts, items, prices."""

from __future__ import annotations

import random

from family import TEXT
from language import Turn, join, number

from signs.phrases import ORDINALS, money, name, say
from signs.scene import LABEL, RECEIPT, Lettered
from signs.words import ITEMS


def has_item(rng: random.Random, scene: Lettered) -> Turn:
    """Whether something was bought, behind all that was."""
    names = [item for item, _ in scene.items]
    item = rng.choice(names) if rng.random() < 0.5 else rng.choice(ITEMS)
    verdict = "yes, it does" if item in names else "no, it does not"
    looked = " ".join(
        f"Is item {number(i)} {item}? It is {name}: {'yes' if name == item else 'no'}."
        for i, name in enumerate(names, 1)
    )
    answer = f"{looked} So {verdict}."
    return Turn(f"Does the receipt list {item}?", answer, "check", TEXT)


def label_facts(rng: random.Random, scene: Lettered) -> Turn | None:
    if scene.kind != LABEL:
        return None
    amount = say(scene.lines[-1])
    question, answer = rng.choice(
        (
            ("What is in the jar?", f"In the jar there is {name(scene)}, and the amount of it is {amount}."),
            ("How much is in the jar?", f"The jar holds {amount} of {name(scene)} in all."),
            (
                "What is the name on the label?",
                f"The name on the label is {name(scene)}, in {scene.ink} letters on {scene.color}.",
            ),
            (
                "Which amount is printed?",
                f"The printed amount is {amount}, and it stands below {say(scene.lines[-2])}.",
            ),
            ("What is in the jar, and how much of it?", f"The jar holds {amount} of {name(scene)}."),
        )
    )
    return Turn(question, answer, "label", TEXT)


def price(rng: random.Random, scene: Lettered) -> Turn | None:
    if scene.kind != RECEIPT:
        return None
    position = rng.randrange(len(scene.items))
    item, price = scene.items[position]
    question, answer = rng.choice(
        (
            (f"How much is the {item}?", f"The {item} costs {money(price)} at the {say(scene.lines[0])}."),
            (f"What is the price of the {item}?", f"The price of the {item} is {price}."),
            (
                f"Find the {item} and tell me its price.",
                f"The {item} stands in the {ORDINALS[position + 1]} line, and it costs {money(price)}.",
            ),
        )
    )
    return Turn(question, answer, "price", TEXT)


def receipt_facts(rng: random.Random, scene: Lettered) -> Turn | None:
    if scene.kind != RECEIPT:
        return None
    position = rng.randrange(len(scene.items))
    item, price = scene.items[position]
    shop, total, first = scene.lines[0][0], scene.lines[-1][1], scene.items[0][0]
    items = join([item for item, _ in scene.items])
    told = " ".join(f"The {item} costs {price}." for item, price in scene.items)
    question, answer = rng.choice(
        (
            (f"What is the {ORDINALS[position]} item?", f"The {ORDINALS[position]} item is {item} for {money(price)}."),
            ("What is the total?", f"The total is {money(total)}."),
            ("Read all prices and the total.", f"{told} The total is {total}."),
            ("How much was paid in all?", f"In all {money(total)} were paid at the {shop} for {items}."),
            ("Which shop is the receipt from?", f"The receipt is from the {shop}, and it begins with {first}."),
            ("List the items with their prices.", "\n".join(f"- {item}: {price}" for item, price in scene.items)),
            ("Which items were bought?", f"The {shop} sold {items}, and the total is {money(total)}."),
        )
    )  # fmt: skip
    return Turn(question, answer, "receipt", TEXT)
