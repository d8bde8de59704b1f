"""Printed words: how they are drawn, and which word and which characters lie under each picture token.

Every letter stands at whole pixels and is drawn by itself, so a word looks the same wherever it is printed and on any
machine, with or without a text-shaping library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from family import IGNORED, TOKEN_SIDE, Region
from labels import CLASSES, NOTHING, SLOTS
from language import NUMBERS
from PIL import ImageDraw, ImageFont

PATCH_SIDE = TOKEN_SIDE // 2  # pixels
COVERED, SLIVER = 0.25, 0.2  # shares above which a word counts as seen, and below which it does not


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


@cache
def _advance(character: str, size: int) -> int:
    """Pixels from a letter's pen position to the next one's."""
    return round(_font(size).getlength(character))


@cache
def _ink(character: str, size: int) -> tuple[int, int, int, int]:
    """Box of the letter's ink (left, top, right, bottom), pixels from its pen position on the baseline."""
    return tuple(int(edge) for edge in _font(size).getbbox(character, anchor="ls"))


def width(text: str, size: int, pitch: int = 0) -> int:
    """Pixels that `text` takes."""
    return pitch * len(text) if pitch else sum(_advance(character, size) for character in text)


@dataclass(frozen=True)
class Print:
    """One printed word.

    Attributes:
        text: as printed; its lower-case form is the word.
        x, y: left end and baseline, pixels.
        size: of the font, pixels.
        rgb: the ink.
        pitch: pixels a letter, each in the middle of its own cell; 0 for the font's own advances.
    """

    text: str
    x: int
    y: int
    size: int
    rgb: tuple[int, int, int]
    pitch: int = 0

    def pens(self) -> list[tuple[str, int]]:
        """Each letter with the x of its pen."""
        placed, x = [], self.x
        for character in self.text:
            advance = _advance(character, self.size)
            placed.append((character, x + (self.pitch - advance) // 2 if self.pitch else x))
            x += self.pitch or advance
        return placed

    def boxes(self) -> list[tuple[str, tuple[int, int, int, int]]]:
        """Each letter with the box of its ink (left, top, right, bottom)."""
        return [
            (character, (x + ink[0], self.y + ink[1], x + ink[2], self.y + ink[3]))
            for character, x in self.pens()
            for ink in [_ink(character, self.size)]
        ]

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Box of the whole word's ink."""
        edges = np.array([box for _, box in self.boxes()])
        return (*edges[:, :2].min(axis=0).tolist(), *edges[:, 2:].max(axis=0).tolist())

    def draw(self, pen: ImageDraw.ImageDraw) -> None:
        """Draw the word on a picture, changed in place."""
        for character, x in self.pens():
            pen.text((x, self.y), character, fill=self.rgb, font=_font(self.size), anchor="ls")


def centered(text: str, x: int, y: int, size: int, rgb: tuple[int, int, int]) -> Print:
    """`text` with its middle at `x`, rounded to the left, and its baseline at `y`."""
    return Print(text, x - width(text, size) // 2, y, size, rgb)


def words_in_line(
    words: Sequence[str], x: int, y: int, size: int, rgb: tuple[int, int, int], pitch: int = 0
) -> list[Print]:
    """The words of one line from `x` on, each behind a space."""
    prints = []
    for word in words:
        prints.append(Print(word, x, y, size, rgb, pitch))
        x += width(f"{word} ", size, pitch)
    return prints


@cache
def index(name: str) -> dict[str, int]:
    """Class index of each word of the dense label `name`."""
    return {word: position for position, word in enumerate(CLASSES[name])}


def _overlaps(box: Sequence[int], side: int, rows: int, columns: int) -> list[tuple[int, int, float]]:
    """Row, column and share of each square of `side` pixels that `box` touches.

    The share is of what the square could show of the box: 1 when it is full of it or holds all of it.
    """
    left, top, right, bottom = box
    most = min(side, max(1, right - left)) * min(side, max(1, bottom - top))
    found = []
    for row in range(max(0, top // side), min(rows, -(-bottom // side))):
        for column in range(max(0, left // side), min(columns, -(-right // side))):
            high = min(bottom, (row + 1) * side) - max(top, row * side)
            wide = min(right, (column + 1) * side) - max(left, column * side)
            found.append((row, column, high * wide / most))
    return found


def _best(
    boxes: Sequence[tuple[int, Sequence[int]]], side: int, rows: int, columns: int, nothing: int
) -> np.ndarray:
    """For each square ([rows, columns]) the class that covers it most, `nothing`, or IGNORED between the two."""
    best = np.zeros((rows, columns))
    found = np.full((rows, columns), nothing)
    for value, box in boxes:
        for row, column, share in _overlaps(box, side, rows, columns):
            if share > best[row, column]:
                best[row, column] = share
                found[row, column] = value
    found[best < SLIVER] = nothing
    found[(best >= SLIVER) & (best < COVERED)] = IGNORED
    return found


def word_labels(prints: Sequence[Print], rows: int, columns: int) -> np.ndarray:
    """Word under each picture token ([rows * columns]); numbers have no word and are left out."""
    words = index("word")
    boxes = [(words.get(printed.text.lower(), IGNORED), printed.box) for printed in prints]
    return _best(boxes, TOKEN_SIDE, rows, columns, words[NOTHING]).reshape(-1)


def character_labels(prints: Sequence[Print], rows: int, columns: int) -> np.ndarray:
    """Character under each of the four patches of each picture token ([rows * columns, SLOTS])."""
    characters = index("character")
    boxes = [(characters[character], box) for printed in prints for character, box in printed.boxes()]
    found = _best(boxes, PATCH_SIDE, 2 * rows, 2 * columns, characters[" "])
    return found.reshape(rows, 2, columns, 2).transpose(0, 2, 1, 3).reshape(rows * columns, SLOTS)


def cover_labels(
    boxes: Sequence[tuple[int, Sequence[int]]], rows: int, columns: int, nothing: int
) -> np.ndarray:
    """Class of the box (class, (left, top, right, bottom)) that covers each picture token most ([rows * columns])."""
    return _best(boxes, TOKEN_SIDE, rows, columns, nothing).reshape(-1)


def place_labels(wide: int, high: int, background: str) -> dict[str, np.ndarray]:
    """Thirds of a picture of `wide` x `high` pixels and its background, for each token ([tokens])."""
    columns, rows = wide // TOKEN_SIDE, high // TOKEN_SIDE
    row, column = np.divmod(np.arange(rows * columns), columns)
    return {
        "row": (2 * row + 1) * 3 // (2 * rows),
        "column": (2 * column + 1) * 3 // (2 * columns),
        "background": np.full(rows * columns, index("background")[background]),
    }


def word_region(printed: Print, line: int, order: int | None = None) -> Region:
    """The tokens of a word or number up to the one that shows at least half a patch of its end.

    `line` counts the lines of print, `order` the words in reading order, both from 1.
    """
    left, top, right, bottom = printed.box
    last = max(left, right - PATCH_SIDE // 2) // TOKEN_SIDE
    row = (top + bottom) // 2 // TOKEN_SIDE
    box = (min(left, last * TOKEN_SIDE), row * TOKEN_SIDE, (last + 1) * TOKEN_SIDE, (row + 1) * TOKEN_SIDE)
    facts = {"line": NUMBERS[line]}
    if printed.text.isalpha():
        facts["word"] = printed.text.lower()
    if order is not None:
        facts["order"] = NUMBERS[order]
    return Region(box, facts)
