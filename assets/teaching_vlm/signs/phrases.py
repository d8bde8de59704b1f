"""How the answers speak of what is printed: lines, names, amounts, prices."""

from __future__ import annotations

from collections.abc import Sequence

from language import join, number

from signs.scene import LABEL, RECEIPT, Lettered, cents, dollars

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def say(line: tuple[str, ...]) -> str:
    return " ".join(line)


def money(price: str) -> str:
    """'3 dollars', '2.50 dollars'."""
    return f"{price} {'dollar' if price == '1' else 'dollars'}"


def told_lines(scene: Lettered) -> list[str]:
    """What each line says, a receipt's items with their prices in dollars."""
    if scene.kind != RECEIPT:
        return [say(line) for line in scene.lines]
    items = [f"{item} for {money(price)}" for item, price in scene.items]
    return [say(scene.lines[0]), *items, f"a total of {money(scene.lines[-1][1])}"]


def name(scene: Lettered) -> str:
    """A label's name, without its amount."""
    return " ".join(say(line) for line in scene.lines[:-1])


def board(scene: Lettered) -> str:
    """'red sign', 'receipt', 'jar with a red label'."""
    return {"sign": f"{scene.color} sign", "label": f"jar with the {scene.color} label"}.get(
        scene.kind, "receipt"
    )


def is_with_cents(scene: Lettered) -> bool:
    return scene.kind == RECEIPT and "." in scene.lines[-1][1]


def add(scene: Lettered, one: str, other: str) -> tuple[str, str]:
    """'3 plus 4 is 7', and the sum as printed."""
    total = dollars(cents(one) + cents(other), is_with_cents(scene))
    return f"{one} plus {other} is {total}", total


def subtract(scene: Lettered, one: str, other: str) -> tuple[str, str]:
    """'7 minus 4 is 3', the larger first, and the difference as printed."""
    low, high = sorted((one, other), key=cents)
    rest = dollars(cents(high) - cents(low), is_with_cents(scene))
    return f"{high} minus {low} is {rest}", rest


def kind_noun(scene: Lettered) -> str:
    return "label" if scene.kind == LABEL else scene.kind


def count_up(words: Sequence[str], so_far: int = 0) -> str:
    """'stop makes one and dogs makes two', from the number `so_far` on."""
    return join([f"{word} makes {number(i)}" for i, word in enumerate(words, so_far + 1)])


def count_letters(word: str) -> str:
    """'t is one, e is two, a is three'."""
    return ", ".join(f"{letter} is {number(i)}" for i, letter in enumerate(word, 1))


def numbered_lines(scene: Lettered) -> str:
    """'line one is fresh milk and line two is 250 ml'."""
    return join([f"line {number(i)} is {say(line)}" for i, line in enumerate(scene.lines, 1)])


def numbered_items(scene: Lettered) -> str:
    """'item one is milk and item two is bread'."""
    return join([f"item {number(i)} is {item}" for i, (item, _) in enumerate(scene.items, 1)])
