"""Seeded signs, product labels and receipts: what is printed, where, and in which colors.

Letters stand in cells of 14 pixels on the grid of the model's patches, all in upper case; questions and answers have
the same words in lower case. A picture is a pure function of its scene.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from lettering import PATCH_SIDE, Print, words_in_line
from shapes.scene import BACKGROUNDS, COLORS

from signs.words import ITEMS, ORDERS, PLACES, PRODUCTS, QUALITIES, SHOPS, THINGS, TIMES, TOTAL

SIGN, LABEL, RECEIPT = KINDS = ("sign", "label", "receipt")
WIDE, SQUARE, TALL = (224, 140), (168, 168), (168, 224)  # width, height in pixels
SIZE = 18  # of the font: upper-case letters are 13 pixels high
INKS = {"white": (255, 255, 255), "black": (24, 24, 28)}
INK_CHOICES = {  # board color -> inks that can be read on it
    "red": ("white",), "orange": ("black",), "yellow": ("black",), "green": ("white",),
    "blue": ("white",), "purple": ("white",), "pink": ("black",), "black": ("white",),
}  # fmt: skip


@dataclass(frozen=True)
class Lettered:
    """One sign, label or receipt.

    Attributes:
        kind: one of KINDS.
        size: of the picture (width, height), pixels.
        lines: words of each line in lower case, from top to bottom. A label's last line is its amount, such as
            ("250", "g"); a receipt's are the shop, the items with their prices, and "total" with the sum.
        color, rgb: of the board or label by name and as drawn; a receipt's paper has no color: "".
        ink: "white" or "black".
        lid, lid_rgb: color of a label's lid; "" where there is none.
        background, background_rgb: of the whole picture.
    """

    kind: str
    size: tuple[int, int]
    lines: tuple[tuple[str, ...], ...]
    color: str
    rgb: tuple[int, int, int]
    ink: str
    lid: str
    lid_rgb: tuple[int, int, int]
    background: str
    background_rgb: tuple[int, int, int]

    @property
    def words(self) -> tuple[str, ...]:
        """All words and numbers in reading order."""
        return tuple(word for line in self.lines for word in line)

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """A receipt's items with their prices as printed."""
        return self.lines[1:-1] if self.kind == RECEIPT else ()


def _jitter(rng: random.Random, rgb: tuple[int, int, int], most: int) -> tuple[int, int, int]:
    return tuple(min(255, max(0, value + rng.randint(-most, most))) for value in rgb)


def _sign_line(rng: random.Random, room: int, used: set[str]) -> tuple[str, ...]:
    """One or two new words that fit into `room` letters."""
    nouns = (*ITEMS, *PRODUCTS, *PLACES, *THINGS)
    while True:
        form = rng.randrange(5)
        line = (
            (rng.choice(nouns),),
            (rng.choice(ORDERS),),
            (rng.choice(QUALITIES), rng.choice(nouns)),
            (rng.choice(ORDERS), rng.choice(THINGS)),
            (rng.choice(THINGS), rng.choice(TIMES)),
        )[form]
        if len(" ".join(line)) <= room and not used & set(line) and len(set(line)) == len(line):
            used |= set(line)
            return line


def dollars(cents: int, with_cents: bool) -> str:
    """Price as printed: '3', or '2.50' where the receipt has cents."""
    return f"{cents // 100}.{cents % 100:02d}" if with_cents else str(cents // 100)


def cents(price: str) -> int:
    """The printed price in cents."""
    whole, _, rest = price.partition(".")
    return 100 * int(whole) + int(rest or 0)


def make_scene(rng: random.Random, easy: bool = False) -> Lettered:
    """A random sign, label or receipt; an easy one is a sign of one line."""
    kind = SIGN if easy else rng.choices(KINDS, (4, 3, 3))[0]
    color = rng.choice(list(COLORS))
    rgb = _jitter(rng, COLORS[color], 8)
    background = rng.choice(list(BACKGROUNDS))
    background_rgb = _jitter(rng, BACKGROUNDS[background], 3)
    size, ink, lid = SQUARE, rng.choice(INK_CHOICES[color]), ""
    if kind == SIGN:
        size = rng.choice((WIDE, SQUARE))
        used: set[str] = set()
        room = size[0] // PATCH_SIDE - 2
        lines = [_sign_line(rng, room, used) for _ in range(1 if easy else rng.choice((1, 2, 2, 3, 3)))]
    elif kind == LABEL:
        product = rng.choice((*ITEMS, *PRODUCTS))
        lines = [(rng.choice(QUALITIES),), (product,)][0 if rng.random() < 0.75 else 1 :]
        unit = rng.choice(("g", "ml", "kg"))
        amount = rng.randint(1, 9) if unit == "kg" else 50 * rng.randint(1, 19)
        lines.append((str(amount), unit))
        lid = rng.choice([other for other in COLORS if other != color])
    else:
        size, color, ink = TALL, "", "black"
        with_cents = rng.random() < 0.4
        names = rng.sample(ITEMS, rng.choice((2, 3, 3, 4, 4)))
        most = (
            1900 // len(names) // 100 if with_cents else 9
        )  # a sum with cents stays below ten, to fit its line
        prices = [50 * rng.randint(1, most) if with_cents else 100 * rng.randint(1, most) for _ in names]
        lines = [(rng.choice(SHOPS),)]
        lines += [(name, dollars(price, with_cents)) for name, price in zip(names, prices, strict=True)]
        lines.append((TOTAL, dollars(sum(prices), with_cents)))
        rgb = (255, 255, 255)
    lid_rgb = _jitter(rng, COLORS[lid], 8) if lid else background_rgb
    return Lettered(kind, size, tuple(lines), color, rgb, ink, lid, lid_rgb, background, background_rgb)


def first_rows(scene: Lettered) -> list[int]:
    """Row of patches in which each line stands."""
    count = len(scene.lines)
    if scene.kind == RECEIPT:
        return [2, *range(4, 2 * count, 2), 13]
    middle = {WIDE: 4, SQUARE: 5}[scene.size] + (1 if scene.kind == LABEL else 0)
    return [middle - (count - 1) + 2 * line for line in range(count)]


def prints(scene: Lettered) -> list[Print]:
    """Every printed word in reading order."""
    columns = scene.size[0] // PATCH_SIDE
    printed = []
    for line, row in zip(scene.lines, first_rows(scene), strict=True):
        y = (row + 1) * PATCH_SIDE
        words = [word.upper() for word in line]
        rgb = INKS[scene.ink]
        if scene.kind == RECEIPT and len(line) == 2:  # the price stands at the right end
            printed.append(Print(words[0], PATCH_SIDE, y, SIZE, rgb, PATCH_SIDE))
            x = (columns - 1 - len(words[1])) * PATCH_SIDE
            printed.append(Print(words[1], x, y, SIZE, rgb, PATCH_SIDE))
            continue
        x = (columns - len(" ".join(words))) // 2 * PATCH_SIDE
        printed += words_in_line(words, x, y, SIZE, rgb, PATCH_SIDE)
    return printed
