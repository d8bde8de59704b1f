"""Dense labels of shape scenes: what each picture token covers, and what each of the nine cells holds."""

from __future__ import annotations

from collections import Counter

import numpy as np
from family import IGNORED, TOKEN_SIDE, Region
from labels import CLASSES, NOTHING

from shapes.scene import CELL_SIZE, COLUMNS, PICTURE_SIZE, ROWS, Scene, Thing

SIDE = PICTURE_SIZE // TOKEN_SIDE  # picture tokens a side
SLIVER, COVERED = 0.01, 0.2  # shares of a thing's bounding box
ATTRIBUTES = {
    "thing": "shape",
    "color": "color",
    "size": "size",
}  # name of the label -> of the thing's attribute


def covered_share(thing: Thing, row: int, column: int) -> float:
    """Share (0..1) of the thing's bounding box that lies under the picture token at `row`, `column` (0..5)."""
    share = 1.0
    for index, cell_index, offset in (
        (row, thing.row, thing.offset[1]),
        (column, thing.column, thing.offset[0]),
    ):
        middle = (cell_index + 0.5) * CELL_SIZE + offset
        low, high = (
            max(middle - thing.radius, index * TOKEN_SIDE),
            min(middle + thing.radius, (index + 1) * TOKEN_SIDE),
        )
        share *= max(0.0, high - low) / (2 * thing.radius)
    return share


def label(scene: Scene) -> dict[str, np.ndarray]:
    """For each picture token ([36], row by row) what it covers, where it is, and the background.

    A token that shows a fifth of a thing is labelled with it, one that shows a sliver is left out.
    """
    labels: dict[str, list[int]] = {name: [] for name in (*ATTRIBUTES, "row", "column", "background")}
    for row, column in np.ndindex(SIDE, SIDE):
        grid_row, grid_column = row * 3 // SIDE, column * 3 // SIDE
        thing = scene.at(grid_row * 3 + grid_column)
        share = covered_share(thing, row, column) if thing else 0.0
        for name, attribute in ATTRIBUTES.items():
            word = getattr(thing, attribute) if share >= COVERED else NOTHING
            labels[name].append(CLASSES[name].index(word) if not SLIVER < share < COVERED else IGNORED)
        labels["row"].append(grid_row)
        labels["column"].append(grid_column)
        labels["background"].append(CLASSES["background"].index(scene.background))
    return {name: np.array(values) for name, values in labels.items()}


def mentions(scene: Scene) -> dict[str, dict[str, str]]:
    """'The circle' where there is one only, 'the red circle' where one only is red: the thing's other facts."""
    names = {thing: (thing.shape, f"{thing.color} {thing.shape}") for thing in scene.things}
    often = Counter(name for both in names.values() for name in both)
    return {
        name: {
            "color": thing.color,
            "size": thing.size,
            "row": ROWS[thing.row],
            "column": COLUMNS[thing.column],
        }
        for thing, both in names.items()
        for name in both
        if often[name] == 1
    }


def regions(scene: Scene) -> list[Region]:
    """The nine cells, each with its thing or nothing."""
    found = []
    for cell in range(9):
        thing = scene.at(cell)
        left, top = cell % 3 * CELL_SIZE, cell // 3 * CELL_SIZE
        facts = {
            name: getattr(thing, attribute) if thing else NOTHING for name, attribute in ATTRIBUTES.items()
        }
        found.append(Region((left, top, left + CELL_SIZE, top + CELL_SIZE), facts))
    return found
