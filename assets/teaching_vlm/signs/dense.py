"""What lies under each picture token of a sign, label or receipt: words, characters, colors."""

from __future__ import annotations

import numpy as np
from family import TOKEN_SIDE, Region
from labels import CLASSES, NOTHING
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
    """Each word at its last token, the row of each item with its price, and the board or label with its color."""
    found = [Region(board(scene), {"color": scene.color})] if scene.color else []
    found += [word_region(printed) for printed in prints(scene) if printed.text.isalpha()]
    if scene.kind == RECEIPT:
        for (item, price), row in zip(scene.lines[1:], first_rows(scene)[1:], strict=True):
            top = row // 2 * TOKEN_SIDE
            facts = {"word": item}
            if price in CLASSES["value"]:
                facts["value"] = price
            found.append(Region((0, top, scene.size[0], top + TOKEN_SIDE), facts))
    return found
