"""What lies under each picture token of a chart: its words, characters, bars with their values and colors."""

from __future__ import annotations

import numpy as np
from family import IGNORED, TOKEN_SIDE, Region
from labels import NOTHING
from language import NUMBERS
from lettering import character_labels, cover_labels, index, place_labels, word_labels, word_region

from charts.scene import CENTERS, HEIGHT, MIDDLES, SIDEWAYS, WIDTH, Chart, text_prints, value_prints

ROWS, COLUMNS = HEIGHT // TOKEN_SIDE, WIDTH // TOKEN_SIDE


def label(chart: Chart) -> dict[str, np.ndarray]:
    """Dense labels over 6 x 8 tokens; a printed value shows its bar's or point's value, too."""
    numbers, values = value_prints(chart), index("value")
    marks = [chart.mark(position) for position in range(len(chart.labels))]
    shown = [values[str(value)] for value in chart.values]
    valued = [*zip(shown, marks, strict=True), *zip(shown, (p.box for p in numbers), strict=True)]
    prints = [*text_prints(chart), *numbers]
    colored = [(index("color")[color], box) for color, box in zip(chart.colors, marks, strict=True)]
    return {
        "word": word_labels(prints, ROWS, COLUMNS),
        "character": character_labels(prints, ROWS, COLUMNS),
        "value": cover_labels(valued, ROWS, COLUMNS, IGNORED),
        "color": cover_labels(colored, ROWS, COLUMNS, index("color")[NOTHING]),
        **place_labels(WIDTH, HEIGHT, chart.background),
    }


def regions(chart: Chart) -> list[Region]:
    """The strip of each category: up to its label below, or to the right end of its row; and the title's words."""
    found, count, half = [], len(chart.labels), TOKEN_SIDE // 2
    for position, (label, value, color) in enumerate(
        zip(chart.labels, chart.values, chart.colors, strict=True)
    ):
        if chart.kind == SIDEWAYS:
            y = MIDDLES[count][position]
            box = (0, y - half, WIDTH, y + half)
        else:
            x = CENTERS[count][position]
            box = (x - half, TOKEN_SIDE, x + half, HEIGHT)
        facts = {"word": label, "value": str(value), "color": color, "order": NUMBERS[position + 1]}
        found.append(Region(box, facts))
    title = text_prints(chart)[: len(chart.title)]
    return [*(word_region(printed, 1, order) for order, printed in enumerate(title, 1)), *found]


def mentions(chart: Chart) -> dict[str, dict[str, str]]:
    """Each label means its bar or point, and so does its value, as no two are alike."""
    found = {}
    for position, (label, value, color) in enumerate(
        zip(chart.labels, chart.values, chart.colors, strict=True)
    ):
        order = NUMBERS[position + 1]
        found[label] = {"value": str(value), "color": color, "order": order}
        found[str(value)] = {"word": label, "order": order}
    return found
