"""Seeded pictures of coloured shapes on a 3x3 grid, drawn with Pillow alone.

A `Scene` holds everything that is seen, its random jitter included, so a picture is a pure function of its scene and
a scene is a pure function of its seed. Cells are numbered in reading order, 0 (top left) to 8 (bottom right).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw

PICTURE_SIZE = 168  # pixels a side: 12 patches of 14, merged 2x2 to 6x6 picture tokens
CELL_SIZE = 56  # pixels: 2x2 picture tokens
SUPERSAMPLING = 3

COLORS = {
    "red": (214, 40, 40),
    "orange": (245, 140, 20),
    "yellow": (245, 213, 35),
    "green": (42, 157, 68),
    "blue": (38, 92, 220),
    "purple": (122, 48, 168),
    "pink": (243, 130, 186),
    "black": (34, 34, 38),
}
BACKGROUNDS = {
    "white": (255, 255, 255),
    "gray": (216, 218, 222),
    "cream": (253, 240, 206),
    "mint": (206, 240, 220),
    "lavender": (224, 214, 248),
}
SHAPES = ("circle", "square", "triangle", "diamond", "star", "heart", "cross")
SIZES = ("big", "small")
RADII = {"big": (20.0, 23.0), "small": (10.0, 12.5)}  # pixels
PLACES = (
    "top left", "top center", "top right",
    "middle left", "center", "middle right",
    "bottom left", "bottom center", "bottom right",
)  # fmt: skip
ROWS = ("top", "middle", "bottom")
COLUMNS = ("left", "center", "right")
MAX_THINGS, EASY_THINGS = 6, 3


@dataclass(frozen=True)
class Thing:
    """One shape: its cell (0..8), what it is, and how it is drawn (centre offset and radius in pixels)."""

    cell: int
    shape: str
    color: str
    size: str
    offset: tuple[float, float]
    radius: float
    rgb: tuple[int, int, int]

    @property
    def row(self) -> int:
        """0 (top) to 2 (bottom)."""
        return self.cell // 3

    @property
    def column(self) -> int:
        """0 (left) to 2 (right)."""
        return self.cell % 3

    @property
    def place(self) -> str:
        """The cell's name, such as 'top left'."""
        return PLACES[self.cell]


@dataclass(frozen=True)
class Scene:
    """A background and 1 to 6 things in reading order, at most one a cell."""

    background: str
    background_rgb: tuple[int, int, int]
    things: tuple[Thing, ...]

    def at(self, cell: int) -> Thing | None:
        """The thing in `cell` (0..8), or None."""
        return next((thing for thing in self.things if thing.cell == cell), None)


def _jitter(rng: random.Random, rgb: tuple[int, int, int], spread: int) -> tuple[int, int, int]:
    return tuple(min(255, max(0, value + rng.randint(-spread, spread))) for value in rgb)


def make_scene(rng: random.Random, easy: bool = False, num_things: int | None = None) -> Scene:
    """Draw a scene's contents from `rng`; `num_things` in 1..6, or None for any (at most 3 where `easy`).

    Colours and shapes come from a random part of the palette, so that repeats (and so counting) are common.
    """
    count = rng.randint(1, EASY_THINGS if easy else MAX_THINGS) if num_things is None else num_things
    if not 1 <= count <= MAX_THINGS:
        raise ValueError(f"num_things must lie in 1..{MAX_THINGS}; got num_things={count}")
    colors = rng.sample(list(COLORS), rng.randint(2, len(COLORS)))
    shapes = rng.sample(SHAPES, rng.randint(2, len(SHAPES)))
    things = []
    for cell in sorted(rng.sample(range(9), count)):
        color, size = rng.choice(colors), rng.choice(SIZES)
        radius = rng.uniform(*RADII[size])
        slack = CELL_SIZE / 2 - 2 - radius
        offset = (rng.uniform(-slack, slack), rng.uniform(-slack, slack))
        things.append(
            Thing(cell, rng.choice(shapes), color, size, offset, radius, _jitter(rng, COLORS[color], 14))
        )
    background = rng.choice(list(BACKGROUNDS))
    return Scene(background, _jitter(rng, BACKGROUNDS[background], 4), tuple(things))


def _outline(shape: str, x: float, y: float, r: float) -> list[tuple[float, float]]:
    """Corner points of `shape` around (x, y) with radius `r`, in the units of its arguments."""
    if shape == "square":
        s = 0.86 * r
        return [(x - s, y - s), (x + s, y - s), (x + s, y + s), (x - s, y + s)]
    if shape == "triangle":
        return [(x, y - r), (x + r, y + 0.8 * r), (x - r, y + 0.8 * r)]
    if shape == "diamond":
        return [(x, y - r), (x + 0.72 * r, y), (x, y + r), (x - 0.72 * r, y)]
    if shape == "cross":
        a = r / 3
        corners = [
            (-a, -r),
            (a, -r),
            (a, -a),
            (r, -a),
            (r, a),
            (a, a),
            (a, r),
            (-a, r),
            (-a, a),
            (-r, a),
            (-r, -a),
        ]
        return [(x + dx, y + dy) for dx, dy in [*corners, (-a, -a)]]
    if shape == "star":
        spokes = [(r if i % 2 == 0 else 0.42 * r, math.pi * i / 5) for i in range(10)]
        return [(x + length * math.sin(angle), y - length * math.cos(angle)) for length, angle in spokes]
    if shape == "heart":
        turns = [2 * math.pi * i / 48 for i in range(48)]
        return [
            (
                x + r * math.sin(t) ** 3,
                y - r * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 16,
            )
            for t in turns
        ]
    raise ValueError(f"shape must be one of {', '.join(SHAPES)}; got shape={shape!r}")


def draw(scene: Scene) -> Image.Image:
    """Picture of `scene`: RGB, 168 x 168 pixels, with a thin frame that tells where the picture's edges are."""
    side = PICTURE_SIZE * SUPERSAMPLING
    picture = Image.new("RGB", (side, side), scene.background_rgb)
    pen = ImageDraw.Draw(picture)
    frame = tuple(int(0.62 * value) for value in scene.background_rgb)
    pen.rectangle((0, 0, side - 1, side - 1), outline=frame, width=3 * SUPERSAMPLING)
    for thing in scene.things:
        x = (thing.column * CELL_SIZE + CELL_SIZE / 2 + thing.offset[0]) * SUPERSAMPLING
        y = (thing.row * CELL_SIZE + CELL_SIZE / 2 + thing.offset[1]) * SUPERSAMPLING
        r = thing.radius * SUPERSAMPLING
        if thing.shape == "circle":
            pen.ellipse((x - r, y - r, x + r, y + r), fill=thing.rgb)
        else:
            pen.polygon(_outline(thing.shape, x, y, r), fill=thing.rgb)
    return picture.resize((PICTURE_SIZE, PICTURE_SIZE), Image.Resampling.BOX)
