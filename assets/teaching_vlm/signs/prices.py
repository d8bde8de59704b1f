"""Questions about prices that need steps: adding, comparing, change, what one can pay for."""

from __future__ import annotations

import random

from family import REASONING
from language import Turn, capital, join, versus

from signs.phrases import add, money, subtract
from signs.scene import Lettered, cents


def check_total(rng: random.Random, scene: Lettered) -> Turn:
    (item, so_far), *others = scene.items
    told = [f"Start with {so_far} for the {item}."]
    openings = ("Add {} for the {}:", "Then add {} for the {}:", "Finally, add {} for the {}:")
    for opening, (item, price) in zip(openings, others, strict=False):
        steps, so_far_next = add(scene, so_far, price)
        told.append(f"{opening.format(price, item)} {steps}.")
        so_far = so_far_next
    total = scene.lines[-1][1]
    question, end = rng.choice(
        (
            ("Add up the prices step by step.", f"So together they cost {money(so_far)}."),
            ("Is the total right?", f"The printed total is {total}, so yes, it is right."),
        )
    )
    return Turn(question, f"{' '.join(told)} {end}", "total", REASONING)


def extreme(rng: random.Random, scene: Lettered) -> Turn | None:
    """The cheapest or dearest item, None where two share the place."""
    word, pick = rng.choice((("cheapest", min), ("most expensive", max)))
    best = pick(cents(price) for _, price in scene.items)
    found = [(item, price) for item, price in scene.items if cents(price) == best]
    if len(found) > 1:
        return None
    told, bar = [], None
    for item, price in scene.items:
        remark = "" if bar is None else f" against {bar}, which is {versus(cents(price), cents(bar))}"
        bar = price if bar is None else pick(bar, price, key=cents)
        told.append(f"the {item} costs {price}{remark}")
    answer = f"{capital('; '.join(told))}. So with {found[0][1]}, the {found[0][0]} is the {word} item."
    return Turn(f"Which item is the {word}?", answer, "extreme", REASONING)


def two_of(rng: random.Random, scene: Lettered) -> Turn:
    item, price = rng.choice(scene.items)
    steps, total = add(scene, price, price)
    answer = f"One {item} costs {money(price)}. As {steps}, two of them cost {money(total)}."
    return Turn(f"How much are two of the {item}?", answer, "two of", REASONING)


def both(rng: random.Random, scene: Lettered) -> Turn:
    (one, first), (other, second) = rng.sample(scene.items, 2)
    told = f"The {one} costs {first} and the {other} costs {second}."
    if rng.random() < 0.5:
        steps, total = add(scene, first, second)
        question = f"How much are the {one} and the {other} together?"
        return Turn(question, f"{told} {steps}, so they cost {money(total)} together.", "sum", REASONING)
    question = f"What is the difference in price between the {one} and the {other}?"
    steps, rest = subtract(scene, first, second)
    return Turn(question, f"{told} {steps}, so the difference is {money(rest)}.", "difference", REASONING)


def dearer(rng: random.Random, scene: Lettered) -> Turn:
    (one, first), (other, second) = rng.sample(scene.items, 2)
    relation = versus(cents(first), cents(second))
    answer = (
        f"The {one} costs {first}, and the {other} costs {second}. {first} against {second} is {relation}, "
        f"so the answer is {'yes' if relation == 'more' else 'no'}."
    )
    return Turn(f"Is the {one} more expensive than the {other}?", answer, "compare", REASONING)


def change(rng: random.Random, scene: Lettered) -> Turn:
    total = scene.lines[-1][1]
    note = next(note for note in (10, 20, 50) if 100 * note >= cents(total))
    steps, rest = subtract(scene, f"{note}.00" if "." in total else str(note), total)
    answer = (
        f"The total is {money(total)}. A note of {note} is enough: {steps}, so the change is {money(rest)}."
    )
    return Turn("Which note pays for it, and what is the change?", answer, "change", REASONING)


def without(rng: random.Random, scene: Lettered) -> Turn:
    item, price = rng.choice(scene.items)
    total = scene.lines[-1][1]
    steps, rest = subtract(scene, total, price)
    answer = f"The total is {total}, and the {item} costs {price}. {steps}, so it would be {money(rest)}."
    return Turn(f"What would it cost without the {item}?", answer, "without", REASONING)


def by_price(rng: random.Random, scene: Lettered) -> Turn | None:
    ranked = sorted(scene.items, key=lambda pair: cents(pair[1]))
    if len({price for _, price in ranked}) < len(ranked):
        return None
    row, told = [scene.items[0][1]], [f"Begin with {scene.items[0][1]}."]
    for opening, (_, price) in zip(
        ("Put in {}:", "Then put in {}:", "Last, put in {}:"), scene.items[1:], strict=False
    ):
        row = sorted((*row, price), key=cents)
        told.append(f"{opening.format(price)} {', '.join(row)}.")
    order = join([f"the {item} for {price}" for item, price in ranked])
    answer = f"{' '.join(told)} So the order is {order}."
    return Turn("Put the items in order from the cheapest on.", answer, "order", REASONING)


def affordable(rng: random.Random, scene: Lettered) -> Turn:
    limit = rng.randint(2, 6)
    told, kept = [], []
    openings = ("The {} costs {},", "Then the {} has {},", "Next, the {} costs {},", "Last, the {} has {},")
    for opening, (item, price) in zip(openings, scene.items, strict=False):
        if cents(price) <= 100 * limit:
            kept.append(item)
        relation = "not more" if cents(price) <= 100 * limit else "more"
        told.append(f"{opening.format(item, price)} and {price} against {limit} is {relation}.")
    end = f"So one can pay for {join(kept, 'or')}." if kept else "So there is nothing one can pay for."
    question = f"Someone has {limit} dollars. Check each item: can it be paid for?"
    return Turn(question, f"{' '.join(told)} {end}", "check price", REASONING)


ASKERS = (
    check_total, check_total, extreme, two_of, both, both, dearer, change, without, by_price,
    affordable, affordable,
)  # fmt: skip
