"""Pixels of any kind as RGB: 8 bits a channel, nothing transparent, and no more of them than a model reads.

Everything goes strip by strip, as a large picture and its copy would take too much memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

from recap.errors import InputError

#: What Qwen2.5-VL reads at most: 16,384 squares of 28 x 28 pixels. Larger pictures are made smaller here and not by the
#: model's processor, so that the preview is what the model gets.
MAX_MODEL_PIXELS = 16_384 * 28 * 28
_STRIP_PIXELS = 1_000_000
_WIDE_GREY_MODES = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")
_PHOTOMETRIC = 262


def flatten_to_rgb(image: Image.Image, notes: list[str]) -> Image.Image:
    """A decoded picture as RGB of at most `MAX_MODEL_PIXELS`; what was changed is added to `notes`.

    Wide greys are scaled by their range, transparency is laid over white.

    Raises:
        InputError: its colours cannot be converted.
    """
    is_wide = image.mode in _WIDE_GREY_MODES
    flatten = _wide_grey_scale(image) if is_wide else _flatten_strip
    if is_wide:
        notes.append("More than 8 bits per pixel: its range of greys was scaled to 8 bits.")
    scale = min(1.0, math.sqrt(MAX_MODEL_PIXELS / (image.width * image.height)))
    result = Image.new("RGB", (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    is_see_through = False
    for top, bottom in _strips(result):
        # The strip's edges in the large picture lie between its rows, unless nothing is scaled.
        first, last = (row * image.height / result.height for row in (top, bottom))
        strip = image.crop((0, math.floor(first), image.width, min(image.height, math.ceil(last))))
        rgb, has_holes = flatten(strip)
        is_see_through |= has_holes
        if scale < 1:
            box = (
                0.0,
                first - math.floor(first),
                float(image.width),
                min(last - math.floor(first), rgb.height),
            )
            rgb = rgb.resize((result.width, bottom - top), Image.Resampling.BOX, box)
        result.paste(rgb, (0, top))
    if is_see_through:
        notes.append("Transparent parts were laid over white.")
    return result


def _strips(image: Image.Image) -> Iterator[tuple[int, int]]:
    """First row and the row behind the last, for strips of at most `_STRIP_PIXELS`."""
    num_rows = max(1, _STRIP_PIXELS // image.width)
    for top in range(0, image.height, num_rows):
        yield top, min(top + num_rows, image.height)


def _flatten_strip(strip: Image.Image) -> tuple[Image.Image, bool]:
    """A strip as RGB, and whether anything in it was transparent."""
    try:
        if not strip.has_transparency_data:
            return strip.convert("RGB"), False
        layer = strip.convert("RGBA")
    except (ValueError, OSError) as error:
        raise InputError(
            f"The picture's colours ({strip.mode}) cannot be read here; please save it as PNG and choose that."
        ) from error
    if layer.getchannel("A").getextrema()[0] == 255:
        return layer.convert("RGB"), False
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB"), True


def _wide_grey_scale(image: Image.Image) -> Callable[[Image.Image], tuple[Image.Image, bool]]:
    """How the strips of a wide grey become RGB: its own range, from black to white."""
    clear = image.info.get("transparency")
    # TIFF may count from white; Pillow heeds that up to 8 bits only.
    is_negative = image.format == "TIFF" and image.tag_v2.get(_PHOTOMETRIC) == 0
    low, high = math.inf, -math.inf
    for top, bottom in _strips(image):
        values = np.asarray(image.crop((0, top, image.width, bottom)))
        values = values[np.isfinite(values) & (values != (math.nan if clear is None else clear))]
        if values.size:
            low, high = min(low, float(values.min())), max(high, float(values.max()))

    def flatten(strip: Image.Image) -> tuple[Image.Image, bool]:
        values = np.asarray(strip).astype(np.float32)
        holes = values == (math.nan if clear is None else clear)  # nothing equals nan
        values = np.where(np.isfinite(values), values, low if math.isfinite(low) else 0.0)
        if high > low:
            values = (values - low) * (255.0 / (high - low))
        else:  # a flat picture has no range: its level within 16 bits is kept
            values = values / 257.0
        values = np.clip(values, 0, 255)
        values = np.where(holes, 255, 255 - values if is_negative else values)
        return Image.fromarray(np.round(values).astype(np.uint8)).convert("RGB"), bool(holes.any())

    return flatten
