"""Seeded bar and line charts with printed values, drawn with Pillow alone.

Heights count in steps of 5 pixels, so that a bar can also be measured; a picture is a pure function of its scene.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from lettering import PATCH_SIDE, Print, centered, width, words_in_line
from PIL import Image, ImageDraw
from shapes.scene import BACKGROUNDS, COLORS

from charts.words import GROUPS, LINKS, ORDERED, QUANTITIES, SETTINGS

WIDTH, HEIGHT = 224, 168  # pixels
BARS, SIDEWAYS, LINE = KINDS = ("bar", "sideways", "line")
BAR_STEPS = range(1, 20)  # heights of bars, in steps
POINT_STEPS = range(
    5, 18
)  # of points, which keep clear of axis and title, so that a value fits below or above
STEP_SIDE = 5  # pixels a step
BASE = 140  # y of the axis below bars and points
START = 56  # x of the axis beside sideways bars
CENTERS = {3: (56, 112, 168), 4: (28, 84, 140, 196), 5: (28, 70, 112, 154, 196)}
MIDDLES = {3: (56, 98, 140), 4: (42, 77, 112, 147), 5: (42, 70, 98, 126, 154)}  # y, sideways
TITLE_SIZE, LABEL_SIZE, VALUE_SIZE = 16, 13, 15
INK = (34, 34, 38)
GRID_STEPS = (5, 10, 15, 20)
HALF_PATCH = PATCH_SIDE // 2  # pixels: values stand on this grid from top to bottom


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
        kind: one of KINDS.
        title: its words, in lower case.
        group: what the categories are, a key of `words.GROUPS`.
        labels, values, colors: of the categories from left to right (sideways: from top to bottom); all values differ.
        unit: what one step of height stands for: 1, or 5.
        rgbs: the colors as drawn.
        background, background_rgb: of the whole picture.
    """

    kind: str
    title: tuple[str, ...]
    group: str
    labels: tuple[str, ...]
    values: tuple[int, ...]
    colors: tuple[str, ...]
    unit: int
    rgbs: tuple[tuple[int, int, int], ...]
    background: str
    background_rgb: tuple[int, int, int]

    @property
    def is_colorful(self) -> bool:
        """Whether every category has a color of its own."""
        return len(set(self.colors)) > 1

    def length(self, position: int) -> int:
        """Pixels from the axis to the end of a bar, or to the middle of a point."""
        return self.values[position] // self.unit * STEP_SIDE

    def mark(self, position: int) -> tuple[int, int, int, int]:
        """Box (left, top, right, bottom) of the bar or point."""
        length = self.length(position)
        if self.kind == SIDEWAYS:
            y = MIDDLES[len(self.labels)][position]
            return (START, y - 9, START + length, y + 9)
        x = CENTERS[len(self.labels)][position]
        if self.kind == LINE:
            return (x - 5, BASE - length - 5, x + 5, BASE - length + 5)
        return (x - 14, BASE - length, x + 14, BASE)


def _jitter(rng: random.Random, rgb: tuple[int, int, int], most: int) -> tuple[int, int, int]:
    return tuple(min(255, max(0, value + rng.randint(-most, most))) for value in rgb)


def make_scene(rng: random.Random, easy: bool = False) -> Chart:
    """A random chart; an easy one has three bars."""
    kind = BARS if easy else rng.choices(KINDS, (5, 2, 3))[0]
    count = 3 if easy else rng.choice((3, 4, 4, 5, 5))
    group = rng.choice(ORDERED if kind == LINE else list(GROUPS))
    names = GROUPS[group]
    if group in ORDERED:
        start = rng.randrange(len(names) - count + 1)
        labels = names[start : start + count]
    else:
        labels = tuple(rng.sample(names, count))
    ending = (rng.choice(LINKS), group) if rng.random() < 0.6 else ("at", rng.choice(SETTINGS))
    unit = rng.choice((1, 5))
    steps = POINT_STEPS if kind == LINE else BAR_STEPS
    values = tuple(unit * step for step in rng.sample(steps, count))
    if kind != LINE and rng.random() < 0.6:
        colors = tuple(rng.sample(list(COLORS), count))
    else:
        colors = (rng.choice(list(COLORS)),) * count
    shades = {color: _jitter(rng, COLORS[color], 8) for color in dict.fromkeys(colors)}
    background = rng.choice(list(BACKGROUNDS))
    return Chart(
        kind,
        (rng.choice(QUANTITIES), *ending),
        group,
        labels,
        values,
        colors,
        unit,
        tuple(shades[color] for color in colors),
        background,
        _jitter(rng, BACKGROUNDS[background], 3),
    )


def value_prints(chart: Chart) -> list[Print]:
    """Each category's value as printed: above a bar, beside a sideways one, off the line at a point.

    The middle of a number lies between two patches, so that each of two digits has a patch of its own.
    """
    prints = []
    for position, value in enumerate(chart.values):
        _, top, right, bottom = chart.mark(position)
        text = str(value)
        if chart.kind == SIDEWAYS:
            x = -(-(right + 3 + width(text, VALUE_SIZE) // 2) // PATCH_SIDE) * PATCH_SIDE
            y = (top + bottom) // 2 + 5
        else:
            x, y = CENTERS[len(chart.labels)][position], (top - 3) // HALF_PATCH * HALF_PATCH
        if chart.kind == LINE:
            before = chart.values[max(0, position - 1)]
            after = chart.values[min(position + 1, len(chart.values) - 1)]
            if value <= before and value <= after:
                y = -(-(bottom + 3) // HALF_PATCH) * HALF_PATCH + 11
            elif before < value < after:  # off the line that rises or falls through the point
                x -= PATCH_SIDE
            elif before > value > after:
                x += PATCH_SIDE
        prints.append(centered(text, x, y, VALUE_SIZE, INK))
    return prints


def text_prints(chart: Chart) -> list[Print]:
    """The title's words and the labels, in reading order."""
    title = (chart.title[0].capitalize(), *chart.title[1:])
    left = (WIDTH - width(" ".join(title), TITLE_SIZE)) // 2
    prints = words_in_line(title, left, 19, TITLE_SIZE, INK)
    for position, label in enumerate(chart.labels):
        if chart.kind == SIDEWAYS:
            y = MIDDLES[len(chart.labels)][position] + 4
            prints.append(Print(label, START - 6 - width(label, LABEL_SIZE), y, LABEL_SIZE, INK))
        else:
            prints.append(centered(label, CENTERS[len(chart.labels)][position], BASE + 17, LABEL_SIZE, INK))
    return prints


def draw(chart: Chart) -> Image.Image:
    """Picture of `chart`: RGB, 224 x 168 pixels."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), chart.background_rgb)
    pen = ImageDraw.Draw(picture)
    grid = tuple(int(0.88 * value) for value in chart.background_rgb)
    for step in GRID_STEPS:
        if chart.kind == SIDEWAYS:
            pen.line((START + step * STEP_SIDE, 32, START + step * STEP_SIDE, 166), fill=grid)
        else:
            pen.line((7, BASE - step * STEP_SIDE, WIDTH - 8, BASE - step * STEP_SIDE), fill=grid)
    marks = [chart.mark(position) for position in range(len(chart.labels))]
    if chart.kind == LINE:
        middles = [((left + right) // 2, (top + bottom) // 2) for left, top, right, bottom in marks]
        pen.line(middles, fill=chart.rgbs[0], width=3, joint="curve")
        for box, rgb in zip(marks, chart.rgbs, strict=True):
            pen.ellipse(box, fill=rgb)
    else:
        for (left, top, right, bottom), rgb in zip(marks, chart.rgbs, strict=True):
            pen.rectangle((left, top, right - 1, bottom - 1), fill=rgb)
    if chart.kind == SIDEWAYS:
        pen.line((START - 1, 32, START - 1, 166), fill=INK, width=2)
    else:
        pen.line((7, BASE, WIDTH - 8, BASE), fill=INK, width=2)
    for printed in value_prints(chart):
        left, top, right, bottom = printed.box
        pen.rectangle((left - 1, top - 1, right, bottom), fill=chart.background_rgb)  # clear of grid and line
        printed.draw(pen)
    for printed in text_prints(chart):
        printed.draw(pen)
    return picture
