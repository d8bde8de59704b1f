"""Seeded scenes of one to three dressed people side by side.

A `Scene` holds everything that is seen, its random jitter included. People stand from left to right, no two of them
of the same kind, and each wears at most one garment a part of the body, told from head to feet.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from shapes.scene import BACKGROUNDS, COLORS, SHAPES

RGB = tuple[int, int, int]

PEOPLE = ("woman", "man", "girl", "boy")
CHILDREN = ("girl", "boy")
GARMENTS = ("hat", "scarf", "shirt", "coat", "gloves", "trousers", "skirt", "shoes")  # from head to feet
OPTIONAL = ("hat", "scarf", "gloves", "shoes")
HELD = ("balloon", "flag", "board")
GARMENT_COLORS = tuple(color for color in COLORS if color != "orange")  # orange is too close to skin
SKINS = ((250, 220, 190), (226, 176, 134), (164, 108, 72), (112, 72, 50))
HAIRS = ((92, 60, 40), (150, 92, 48), (222, 188, 112), (150, 148, 150))  # the gray ones are old
PLACES = {1: ("center",), 2: ("left", "right"), 3: ("left", "center", "right")}
SIZES = {1: (168, 224), 2: (224, 168), 3: (224, 168)}  # width, height in pixels
CENTERS = {1: (80,), 2: (42, 154), 3: (40, 112, 184)}  # pixels; pairs stand in the middle of a picture token
JITTER = {1: 4, 2: 3, 3: 1}  # pixels to each side
CHILD = 0.84  # the height of a child as a share of an adult's
MAX_OPTIONAL = {1: 4, 2: 4, 3: 2}  # keeps descriptions of three people short


@dataclass(frozen=True)
class Garment:
    """One garment (of GARMENTS), its color (of GARMENT_COLORS) and the color it is drawn in."""

    kind: str
    color: str
    rgb: RGB


@dataclass(frozen=True)
class Held:
    """What a raised hand holds (of HELD) in one color; a board shows a `shape` of that color, the rest show none."""

    kind: str
    color: str
    rgb: RGB
    shape: str | None


@dataclass(frozen=True)
class Person:
    """One person: kind (of PEOPLE), place ('left', 'center' or 'right'), x of the body's axis in pixels."""

    kind: str
    place: str
    x: int
    skin: RGB
    hair: RGB
    garments: tuple[Garment, ...]
    held: Held | None

    @property
    def is_child(self) -> bool:
        """Whether the person is a girl or a boy, who are shorter."""
        return self.kind in CHILDREN

    @property
    def is_female(self) -> bool:
        """Whether one says 'she' and 'her' of the person."""
        return self.kind in ("woman", "girl")

    def wears(self, kind: str) -> Garment | None:
        """The garment of that kind, or None."""
        return next((garment for garment in self.garments if garment.kind == kind), None)


@dataclass(frozen=True)
class Scene:
    """A background and one to three people from left to right."""

    background: str
    background_rgb: RGB
    people: tuple[Person, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return SIZES[len(self.people)]


def _jitter(rng: random.Random, rgb: RGB, spread: int) -> RGB:
    return tuple(min(255, max(0, value + rng.randint(-spread, spread))) for value in rgb)


def _dress(rng: random.Random, kind: str, palette: list[str], num_optional: int) -> tuple[Garment, ...]:
    """Garments from head to feet; scarf and gloves stand out from the sleeves they lie on."""
    optional = rng.sample(OPTIONAL, num_optional)
    lower = "skirt" if kind in ("woman", "girl") and rng.random() < 0.65 else "trousers"
    upper = "coat" if lower == "trousers" and rng.random() < 0.35 else "shirt"
    above = rng.choice(palette)
    worn = []
    for garment in GARMENTS:
        if garment not in (*optional, lower, upper):
            continue
        color = above if garment == upper else rng.choice(palette)
        while garment in ("scarf", "gloves", lower) and color == above:
            color = rng.choice(palette)
        worn.append(Garment(garment, color, _jitter(rng, COLORS[color], 10)))
    return tuple(worn)


def make_scene(rng: random.Random, easy: bool = False) -> Scene:
    """Draw a scene's contents from `rng`; `easy` asks for few people with few garments and nothing held.

    Colors come from a random part of the palette, so that repeats (and so counting) are common.
    """
    count = rng.choice((1, 1, 2)) if easy else rng.choice((1, 1, 2, 2, 2, 2, 2, 2, 3, 3))
    kinds = rng.sample(PEOPLE, count)
    if count == 2 and rng.random() < 0.2:
        kinds = rng.sample(("woman", "girl"), 2)
    palette = rng.sample(GARMENT_COLORS, rng.randint(3, len(GARMENT_COLORS)))
    holder = rng.randrange(count) if count < 3 and not easy and rng.random() < 0.4 else None
    people = []
    for index, kind in enumerate(kinds):
        num_optional = rng.randint(0, 1) if easy else min(rng.randint(1, 4), MAX_OPTIONAL[count])
        held = None
        if index == holder:
            what, color = rng.choice(HELD), rng.choice(GARMENT_COLORS)
            shape = rng.choice(SHAPES) if what == "board" else None
            held = Held(what, color, _jitter(rng, COLORS[color], 10), shape)
        people.append(
            Person(
                kind,
                PLACES[count][index],
                CENTERS[count][index] + rng.randint(-JITTER[count], JITTER[count]),
                _jitter(rng, rng.choice(SKINS), 4),
                _jitter(rng, rng.choice(HAIRS[: 3 if kind in CHILDREN else 4]), 6),
                _dress(rng, kind, palette, num_optional),
                held,
            )
        )
    background = rng.choice(list(BACKGROUNDS))
    return Scene(background, _jitter(rng, BACKGROUNDS[background], 4), tuple(people))
