"""From a scene to pixels: every part of a person is a stroke, painted back to front.

The same strokes are painted twice: in their colors for the picture, and in their numbers for the map of what is seen
where, from which the dense labels are read. Lengths are units of the body; an adult is 160 units high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from shapes.scene import SUPERSAMPLING
from shapes.scene import _outline as outline

from figures.scene import CHILD, Held, Person, Scene

RGB = tuple[int, int, int]
HEIGHT = 160  # units: from the top of the hat to the soles
FLOOR = 5  # pixels between the soles and the picture's bottom edge
INK = (52, 42, 46)
REACH = 42  # units from the body's axis to the middle of what is held


@dataclass(frozen=True)
class Stroke:
    """One filled figure in pixels: 'polygon', 'ellipse', 'rectangle' or 'line'; `part` is (person, what) or None."""

    part: tuple[int, str] | None
    figure: str
    points: tuple[tuple[float, float], ...]
    rgb: RGB
    width: float = 0.0  # pixels: thickness of a line, radius of a rectangle's corners
    has_edge: bool = True


def shade(rgb: RGB, share: float = 0.66) -> RGB:
    """The color darkened to `share` of its light."""
    return tuple(int(share * value) for value in rgb)


class _Body:
    """Strokes of one person, given in units from the body's axis (x) and from the top of the hat (y)."""

    def __init__(self, index: int, person: Person, height: int) -> None:
        self.index, self.x = index, person.x
        self.adult = (height - FLOOR - 3) / HEIGHT  # pixels a unit
        self.unit = self.adult * (CHILD if person.is_child else 1.0)
        self.top = height - FLOOR - HEIGHT * self.unit
        self.strokes: list[Stroke] = []

    def add(
        self, what: str | None, figure: str, points: Any, rgb: RGB, width: float = 0.0, edge=True
    ) -> None:
        spots = tuple((self.x + x * self.unit, self.top + y * self.unit) for x, y in points)
        part = None if what is None else (self.index, what)
        self.strokes.append(Stroke(part, figure, spots, rgb, width * self.unit, edge))

    def both(self, what: str | None, figure: str, points: Any, rgb: RGB, width: float = 0.0) -> None:
        """The stroke and its mirror image."""
        self.add(what, figure, points, rgb, width)
        mirrored = [(-x, y) for x, y in points]
        if figure in ("ellipse", "rectangle"):
            (left, top), (right, bottom) = mirrored
            mirrored = [(right, top), (left, bottom)]
        self.add(what, figure, mirrored, rgb, width)


def _hair_behind(body: _Body, person: Person) -> None:
    if person.kind == "woman":
        body.add(person.kind, "rectangle", [(-20, 16), (20, 66)], person.hair, 14)
    if person.kind == "girl":
        body.both(person.kind, "ellipse", [(13, 36), (29, 66)], person.hair)


def _head(body: _Body, person: Person) -> None:
    name = person.kind
    body.add(name, "ellipse", [(-15, 17), (15, 51)], person.skin)
    if person.kind == "man":
        beard = [(-15, 34), (-9, 40), (9, 40), (15, 34), (13, 46), (6, 53), (-6, 53), (-13, 46)]
        body.add(name, "polygon", beard, person.hair)
    fringe = [(-16, 32), (-16, 22), (-9, 15), (9, 15), (16, 22), (16, 32), (11, 26), (-11, 26)]
    body.add(name, "polygon", fringe, person.hair)
    for x in (-6, 6):
        body.add(name, "ellipse", [(x - 2.7, 30.4), (x + 2.7, 36.4)], (255, 255, 255), edge=False)
        body.add(name, "ellipse", [(x - 1.9, 31.2), (x + 1.9, 35.8)], INK, edge=False)
    smile = [(-4, 43), (0, 45), (4, 43)]
    body.add(name, "line", smile, (190, 70, 70) if person.kind == "man" else INK, 1.6, False)


def _legs(body: _Body, person: Person) -> None:
    body.both(None, "rectangle", [(4, 96), (14, 148)], person.skin)
    if (trousers := person.wears("trousers")) is not None:
        legs = [(-18, 94), (18, 94), (19, 146), (2.5, 146), (0, 112), (-2.5, 146), (-19, 146)]
        body.add("trousers", "polygon", legs, trousers.rgb)
    shoes = person.wears("shoes")
    if shoes is None:
        body.both(None, "ellipse", [(3, 145), (18, 158)], person.skin)
    else:
        body.both("shoes", "rectangle", [(1.5, 141), (25, 159)], shoes.rgb, 7)
        body.both("shoes", "line", [(2.5, 156.5), (24, 156.5)], shade(shoes.rgb, 0.5), 2.5)
    if (skirt := person.wears("skirt")) is not None:
        body.add("skirt", "polygon", [(-16, 94), (16, 94), (27, 132), (-27, 132)], skirt.rgb)
        for x in (-8, 0, 8):
            body.add("skirt", "line", [(0.7 * x, 102), (1.3 * x, 130)], shade(skirt.rgb, 0.8), 1.4, False)


def _trunk(body: _Body, person: Person) -> None:
    name = "coat" if person.wears("coat") else "shirt"
    upper = person.wears(name)
    hem, flare, sleeve = (112, 25, 14) if name == "coat" else (99, 18, 12)
    raised = person.held is not None
    hands = ((-27, 94), (32, 52) if raised else (27, 94))
    for side, hand in zip((-1, 1), hands, strict=True):
        wrist = (0.25 * side * 18 + 0.75 * hand[0], 0.25 * 64 + 0.75 * hand[1])
        body.add(name, "line", [(side * 17, 63), wrist], upper.rgb, sleeve)
        gloves = person.wears("gloves")
        radius = 7 if gloves is None else 10
        box = [(hand[0] - radius, hand[1] - radius), (hand[0] + radius, hand[1] + radius)]
        body.add(None if gloves is None else "gloves", "ellipse", box, gloves.rgb if gloves else person.skin)
    body.add(None, "rectangle", [(-6, 46), (6, 60)], person.skin)
    trunk = [(-10, 56), (10, 56), (22, 61), (18, 84), (flare, hem), (-flare, hem), (-18, 84), (-22, 61)]
    body.add(name, "polygon", trunk, upper.rgb)
    if name == "coat":
        light = tuple(min(255, value + 60) for value in upper.rgb)
        body.add(name, "line", [(0, 60), (0, hem)], shade(upper.rgb, 0.5), 1.6, False)
        for y in (76, 88, 101):
            body.add(name, "ellipse", [(3, y - 2.4), (7.8, y + 2.4)], light, edge=False)
    else:
        body.add(None, "polygon", [(-6, 56), (6, 56), (0, 65)], person.skin)


def _hold(body: _Body, held: Held) -> None:
    """What is held is as large in a child's hand as in an adult's."""
    grow = body.adult / body.unit
    x, y, r = REACH * grow, 52 - 32 * grow, 16 * grow
    if held.kind == "balloon":
        body.add(None, "line", [(32, 52), (x, y + r)], INK, 1.4, False)
        body.add("balloon", "ellipse", [(x - 0.9 * r, y - r), (x + 0.9 * r, y + r)], held.rgb)
        body.add("balloon", "ellipse", [(x - 8, y - 9), (x - 3, y - 2)], (255, 255, 255), edge=False)
    elif held.kind == "flag":
        pole = x - 0.9 * r
        body.add(None, "line", [(32, 66), (pole, y - r)], INK, 2.6, False)
        body.add("flag", "polygon", [(pole, y - r), (x + r, y - 0.6 * r), (pole + 1, y + 0.5 * r)], held.rgb)
    else:
        body.add(None, "line", [(32, 66), (x, y)], INK, 2.6, False)
        body.add("board", "rectangle", [(x - r, y - r), (x + r, y + r)], (255, 255, 255), 2)
        shape, r = held.shape, 0.74 * r
        if shape == "circle":
            body.add(shape, "ellipse", [(x - r, y - r), (x + r, y + r)], held.rgb, edge=False)
        else:
            body.add(shape, "polygon", outline(shape, x, y, r), held.rgb, edge=False)


def _wraps(body: _Body, person: Person) -> None:
    if (scarf := person.wears("scarf")) is not None:
        body.add("scarf", "polygon", [(1, 62), (13, 62), (15, 86), (3, 86)], scarf.rgb)
        body.add("scarf", "rectangle", [(-18, 50), (18, 68)], scarf.rgb, 7)
    if (hat := person.wears("hat")) is not None:
        body.add("hat", "rectangle", [(-14, 1), (14, 24)], hat.rgb, 7)
        body.add("hat", "line", [(-13.5, 18), (13.5, 18)], shade(hat.rgb, 0.6), 3, False)
        body.add("hat", "rectangle", [(-24, 20), (24, 28)], hat.rgb, 4)


def strokes(scene: Scene) -> list[Stroke]:
    """All strokes of the scene, back to front."""
    found = []
    for index, person in enumerate(scene.people):
        body = _Body(index, person, scene.size[1])
        body.add(None, "ellipse", [(-32, 152), (32, 162)], shade(scene.background_rgb, 0.84), edge=False)
        _hair_behind(body, person)
        _legs(body, person)
        _trunk(body, person)
        _head(body, person)
        _wraps(body, person)
        if person.held is not None:
            _hold(body, person.held)
        found += body.strokes
    return found


def _paint(pen: ImageDraw.ImageDraw, stroke: Stroke, scale: float, fill: Any, edge: Any) -> None:
    points = [(x * scale, y * scale) for x, y in stroke.points]
    width = max(1, round(scale)) if stroke.has_edge else 0
    if stroke.figure == "line":
        for thickness, color in ((stroke.width, edge), (stroke.width - 2 * stroke.has_edge, fill)):
            size = max(1, round(thickness * scale))
            pen.line(points, fill=color, width=size, joint="curve")
            for x, y in points:
                if stroke.has_edge:
                    pen.ellipse((x - size / 2, y - size / 2, x + size / 2, y + size / 2), fill=color)
    elif stroke.figure == "polygon":
        pen.polygon(points, fill=fill, outline=edge, width=max(1, width))
    elif stroke.figure == "ellipse":
        pen.ellipse([*points[0], *points[1]], fill=fill, outline=edge, width=max(1, width))
    else:
        pen.rounded_rectangle(
            [*points[0], *points[1]], stroke.width * scale, fill=fill, outline=edge, width=max(1, width)
        )


def draw(scene: Scene) -> Image.Image:
    """Picture of `scene`: RGB, `scene.size` pixels, with a thin frame that tells where its edges are."""
    width, height = (side * SUPERSAMPLING for side in scene.size)
    picture = Image.new("RGB", (width, height), scene.background_rgb)
    pen = ImageDraw.Draw(picture)
    for stroke in strokes(scene):
        _paint(pen, stroke, SUPERSAMPLING, stroke.rgb, shade(stroke.rgb) if stroke.has_edge else stroke.rgb)
    frame = shade(scene.background_rgb, 0.62)
    pen.rectangle((0, 0, width - 1, height - 1), outline=frame, width=3 * SUPERSAMPLING)
    return picture.resize(scene.size, Image.Resampling.BOX)


def visible_parts(scene: Scene) -> tuple[np.ndarray, list[tuple[int, str]]]:
    """What is seen at each pixel: a map [height, width] of indices into the parts that follow, -1 for no part."""
    parts: list[tuple[int, str]] = []
    seen = Image.new("I", scene.size, -1)
    pen = ImageDraw.Draw(seen)
    for stroke in strokes(scene):
        if stroke.part is not None and stroke.part not in parts:
            parts.append(stroke.part)
        number = -1 if stroke.part is None else parts.index(stroke.part)
        _paint(pen, stroke, 1, number, number)
    return np.asarray(seen), parts
