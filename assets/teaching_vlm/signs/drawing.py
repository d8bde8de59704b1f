"""Pictures of signs on two posts, of jars with a label, and of receipts with a torn edge."""

from __future__ import annotations

from PIL import Image, ImageDraw

from signs.scene import LABEL, RECEIPT, SIGN, Lettered, first_rows, prints

SUPERSAMPLING = 3
POST_RGB = (134, 124, 116)
GLASS_RGB = (236, 240, 244)
PAPER_RGB = (255, 255, 255)


def board(scene: Lettered) -> tuple[int, int, int, int]:
    """Box (left, top, right, bottom) in pixels of the colored board, label or paper."""
    width, height = scene.size
    if scene.kind == SIGN:
        return (5, 5, width - 5, height - 19)
    if scene.kind == LABEL:
        return (9, 41, width - 9, height - 27)
    return (7, 7, width - 7, height - 7)


def lid(scene: Lettered) -> tuple[int, int, int, int]:
    """Box of a jar's lid."""
    return (28, 6, scene.size[0] - 28, 28)


def _shade(rgb: tuple[int, int, int], factor: float) -> tuple[int, int, int]:
    return tuple(int(factor * value) for value in rgb)


def _scaled(box: tuple[int, ...]) -> tuple[int, ...]:
    """Box in the pixels of the large picture, right and bottom inclusive."""
    left, top, right, bottom = (SUPERSAMPLING * edge for edge in box)
    return (left, top, right - 1, bottom - 1)


def _sign(pen: ImageDraw.ImageDraw, scene: Lettered) -> None:
    width, height = scene.size
    left, top, right, bottom = board(scene)
    for x in (width // 4, 3 * width // 4):
        pen.rectangle(_scaled((x - 4, bottom, x + 4, height)), fill=POST_RGB)
    radius = 9 * SUPERSAMPLING
    pen.rounded_rectangle(_scaled(board(scene)), radius, fill=scene.rgb)
    inner = (left + 3, top + 3, right - 3, bottom - 3)
    ink = (255, 255, 255) if scene.ink == "white" else (24, 24, 28)
    pen.rounded_rectangle(_scaled(inner), radius - 9, outline=ink, width=4)


def _label(pen: ImageDraw.ImageDraw, scene: Lettered) -> None:
    width, height = scene.size
    edge = _shade(scene.background_rgb, 0.7)
    pen.rounded_rectangle(
        _scaled((5, 24, width - 5, height - 4)), 20 * SUPERSAMPLING, fill=GLASS_RGB, outline=edge, width=4
    )
    pen.rounded_rectangle(_scaled(lid(scene)), 4 * SUPERSAMPLING, fill=scene.lid_rgb)
    pen.rectangle(_scaled(board(scene)), fill=scene.rgb)


def _receipt(pen: ImageDraw.ImageDraw, scene: Lettered) -> None:
    left, top, right, bottom = (SUPERSAMPLING * edge for edge in board(scene))
    tooth = (right - left) / 22
    torn = [(right - i * tooth, bottom - (i % 2) * tooth) for i in range(23)]
    outline = [(left, top), (right, top), *torn]
    edge = _shade(scene.background_rgb, 0.72)
    pen.polygon([(x + 4, y + 4) for x, y in outline], fill=edge)
    pen.polygon(outline, fill=PAPER_RGB, outline=edge)
    for row in (first_rows(scene)[0] + 1.5, first_rows(scene)[-1] - 0.5):
        y = int(row * 14 * SUPERSAMPLING)
        for x in range(left + 21, right - 21, 18):
            pen.line((x, y, x + 9, y), fill=(150, 150, 156), width=3)


def draw(scene: Lettered) -> Image.Image:
    """Picture of `scene`: RGB, of the scene's size."""
    width, height = scene.size
    picture = Image.new("RGB", (width * SUPERSAMPLING, height * SUPERSAMPLING), scene.background_rgb)
    {SIGN: _sign, LABEL: _label, RECEIPT: _receipt}[scene.kind](ImageDraw.Draw(picture), scene)
    picture = picture.resize(scene.size, Image.Resampling.BOX)
    pen = ImageDraw.Draw(picture)
    for printed in prints(scene):
        printed.draw(pen)
    return picture
