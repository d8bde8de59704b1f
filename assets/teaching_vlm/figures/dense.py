"""Dense labels: what the dressed people show at each picture token, and where each garment lies."""

from __future__ import annotations

from collections import Counter

import labels
import numpy as np
from family import IGNORED, TOKEN_SIDE, Region
from shapes.scene import COLUMNS, ROWS

from figures.drawing import visible_parts
from figures.phrases import the, where
from figures.scene import GARMENTS, PEOPLE, Scene

COVERED = 0.15  # share of a token that a part must cover to name it (a glove fills a third of a token)
SLIVER = 0.04  # share below which a part is not worth a word
CLEAR = 1.15  # how many times more than the runner-up
SMALL = {
    "scarf": 1.8,
    "gloves": 1.8,
}  # these count more than the sleeves and coats they lie on, which show elsewhere
MIDDLE = (0.3, 0.7)  # quantiles of a garment's pixels: its last token should be no neighbor's
KNOT = (0.0, 0.5)  # of a scarf's rows: its ends hang over the shirt
MARGIN = 10  # pixels around that, so that even a glove's box holds the center of a token


def color_of(scene: Scene, part: tuple[int, str]) -> str | None:
    """The color word of a visible part; None for heads and for a board, whose colors have no word."""
    person = scene.people[part[0]]
    garment = person.wears(part[1])
    if garment is not None:
        return garment.color
    if part[1] in PEOPLE or part[1] == "board":
        return None
    return person.held.color


def _leader(shares: Counter) -> str | None:
    """The name that clearly covers most; 'nothing' where hardly anything is; None where it is ambiguous."""
    ranked = shares.most_common(2)
    if not ranked or ranked[0][1] < SLIVER:
        return labels.NOTHING
    if ranked[0][1] < COVERED or (len(ranked) > 1 and ranked[0][1] < CLEAR * ranked[1][1]):
        return None
    return ranked[0][0]


def label(scene: Scene) -> dict[str, np.ndarray]:
    """Indices into `labels.CLASSES` for 'thing', 'color', 'row', 'column' and 'background': int [tokens] each."""
    width, height = (side // TOKEN_SIDE for side in scene.size)
    seen, parts = visible_parts(scene)
    rows: dict[str, list[int]] = {name: [] for name in ("thing", "color", "row", "column", "background")}
    for row in range(height):
        for column in range(width):
            top, left = row * TOKEN_SIDE, column * TOKEN_SIDE
            patch = seen[top : top + TOKEN_SIDE, left : left + TOKEN_SIDE]
            things: Counter = Counter()
            colors: Counter = Counter()
            for number, count in zip(*np.unique(patch[patch >= 0], return_counts=True), strict=True):
                part = parts[number]
                weight = count / patch.size * SMALL.get(part[1], 1.0)
                things[part[1]] += weight
                if (color := color_of(scene, part)) is not None:
                    colors[color] += weight
            words = {
                "thing": _leader(things),
                "color": _leader(colors),
                "row": ROWS[int((row + 0.5) * 3 / height)],
                "column": COLUMNS[int((column + 0.5) * 3 / width)],
                "background": scene.background,
            }
            for name, word in words.items():
                rows[name].append(IGNORED if word is None else labels.CLASSES[name].index(word))
    return {name: np.array(values, dtype=np.int64) for name, values in rows.items()}


def regions(scene: Scene) -> list[Region]:
    """A box around each garment and what is held: what it is, its color if that has a word, and its place."""
    seen, parts = visible_parts(scene)
    found = []
    for number, part in enumerate(parts):
        rows, columns = np.nonzero(seen == number)
        if part[1] in PEOPLE or len(rows) == 0:  # heads would end where scarves do
            continue
        left, right = np.quantile(columns, MIDDLE)
        top, bottom = np.quantile(rows, KNOT if part[1] == "scarf" else MIDDLE)
        box = (left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN)
        person = scene.people[part[0]]
        facts = {"thing": part[1], "column": person.place, "person": person.kind}
        if (color := color_of(scene, part)) is not None:
            facts["color"] = color
        found.append(Region(tuple(float(side) for side in box), facts))
    return found


def mentions(scene: Scene) -> dict[str, dict[str, str]]:
    """'The hat of the woman' and, where nobody else has one, 'hat'; who stands where; what someone holds."""
    found: dict[str, dict[str, str]] = {}
    wearers = Counter(garment.kind for person in scene.people for garment in person.garments)
    for person in scene.people:
        held = labels.NOTHING if person.held is None else person.held.kind
        found[person.kind] = {"column": person.place, "thing": held}
        found[f"person {where(person)}"] = {"person": person.kind, "thing": held}
        for kind in GARMENTS:
            garment = person.wears(kind)
            facts = {"color": labels.NOTHING if garment is None else garment.color}
            for whose in (the(person), f"the person {where(person)}"):
                found[f"{kind} of {whose}"] = facts
            if garment is not None and wearers[kind] == 1:
                found[kind] = {**facts, "person": person.kind}
        if person.held is not None:
            found[held] = {"person": person.kind, "color": person.held.color}
    return found
