"""What lies under each picture token of a sign, label or receipt: words, characters, colors."""

from __future__ import annotations

import numpy as np
from family import TOKEN_SIDE, Region
from labels import CLASSES, NOTHING
from language import NUMBERS
from lettering import character_labels, cover_labels, index, place_labels, word_labels, word_region

from signs.drawing import board, lid
from signs.scene import RECEIPT, Lettered, first_rows, prints


def label(scene: Lettered) -> dict[str, np.ndarray]:
    """Dense labels over the picture's tokens; posts, glass and paper have no color."""
    columns, rows = (side // TOKEN_SIDE for side in scene.size)
    colors, printed = index("color"), prints(scene)
    colored = [(colors[scene.color], board(scene))] if scene.color else []
    colored += [(colors[scene.lid], lid(scene))] if scene.lid else []
    return {
        "word": word_labels(printed, rows, columns),
        "character": character_labels(printed, rows, columns),
        "color": cover_labels(colored, rows, columns, colors[NOTHING]),
        **place_labels(*scene.size, scene.background),
    }


def regions(scene: Lettered) -> list[Region]:
    """Each word at its last token, the row of each item with its price, and the board or label with its color.

    Words know their line and how many words they end, so that "line two" and "the next word" find them; in a receipt
    the lines alone count.
    """
    found = [Region(board(scene), {"color": scene.color})] if scene.color else []
    lines = [number for number, line in enumerate(scene.lines, 1) for _ in line]
    for order, (line, printed) in enumerate(zip(lines, prints(scene), strict=True), 1):
        found.append(word_region(printed, line, None if scene.kind == RECEIPT else order))
    if scene.kind == RECEIPT:
        for order, ((item, price), row) in enumerate(
            zip(scene.lines[1:], first_rows(scene)[1:], strict=True), 1
        ):
            top = row // 2 * TOKEN_SIDE
            facts = {"word": item, "order": NUMBERS[order], "line": NUMBERS[order + 1]}
            if price in CLASSES["value"]:
                facts["value"] = price
            found.append(Region((0, top, scene.size[0], top + TOKEN_SIDE), facts))
    return found


def mentions(scene: Lettered) -> dict[str, dict[str, str]]:
    """A word that is printed once means its place among the lines, an item of a receipt its price as well."""
    found = {}
    for number, line in enumerate(scene.lines, 1):
        for word in line:
            if word.isalpha() and scene.words.count(word) == 1:
                found[word] = {"line": NUMBERS[number]}
    for order, (item, price) in enumerate(scene.items, 1):
        found[item]["order"] = NUMBERS[order]
        if price in CLASSES["value"]:
            found[item]["value"] = price
    return found
