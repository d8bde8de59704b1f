"""The one door for pictures: a file, its bytes or a PIL image in; an upright RGB picture and what was changed out.

Page, command line and benchmark all come through here, so the preview is what the model gets. A file is judged by its
content, never by its name, and its limits are checked on its header, before a pixel is decoded.
"""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from recap.errors import InputError
from recap.events import ImageInfo
from recap.pixels import flatten_to_rgb

MAX_PICTURE_BYTES = 20 * 1024 * 1024
MAX_PICTURE_PIXELS = 40_000_000
MAX_PICTURE_SIDE = 16_384
#: Formats whose decoders hold the picture several times over are refused earlier, so that no picture takes more than
#: about 300 MB while it is opened.
MAX_COSTLY_PIXELS = {"WEBP": 12_000_000, "AVIF": 12_000_000, "progressive JPEG": 24_000_000}
#: Qwen-VL cuts pictures into squares of 28 pixels; it refuses a side below that and a side ratio above 200.
MIN_SIDE = 28
MAX_SIDE_RATIO = 200
#: Longest side and largest size of the small copy that a trace carries.
THUMBNAIL_SIDE = 240
THUMBNAIL_BYTES = 40_000

READABLE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "AVIF")
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
#: What undoes each way of holding a camera (EXIF's orientation, 2 to 8).
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDE_SWAPS = (_TURNS[5], _TURNS[6], _TURNS[7], _TURNS[8])
_ADVICE = "please choose a PNG, JPEG, WebP or GIF picture."


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture ready for a model.

    `image` is upright, RGB and fully decoded; `original_size` is (width, height) in pixels, upright, before any
    enlarging or padding; `notes` says in plain sentences what was changed.
    """

    image: Image.Image
    original_size: tuple[int, int]
    notes: tuple[str, ...]


def open_picture(source: str | Path | bytes | Image.Image) -> Picture:
    """Decode a picture completely and make it fit for a vision-language model.

    `source` is a path, the bytes of a file, or a PIL image, which is left as it was. A `str` is always a path on this
    machine: nothing is ever fetched.

    Raises:
        InputError: one sentence that says what is wrong with the picture and what to do.
    """
    if isinstance(source, Image.Image):
        opened = source
    else:
        opened = _open_header(source if isinstance(source, bytes) else _read_bytes(Path(source)))
    _check_size(opened)
    notes: list[str] = []
    try:
        turn = _decode(opened, notes)
        image = flatten_to_rgb(opened, notes)
    except MemoryError:
        raise InputError("There is not enough memory for this picture; please scale it down.") from None
    original_size = opened.size
    if turn is not None:
        image, original_size = image.transpose(turn), opened.size[:: -1 if turn in _SIDE_SWAPS else 1]
    if image.width * image.height < original_size[0] * original_size[1]:
        notes.append(f"Very large: made smaller to {image.width} × {image.height} pixels.")
    image = _fit_limits(image, notes)
    return Picture(image=image, original_size=original_size, notes=tuple(notes))


def thumbnail_data_url(image: Image.Image) -> str:
    """A small copy of an RGB picture as a `data:` URL: PNG, or JPEG where PNG would be larger than 40 kB."""
    small = image.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    encoded, kind = io.BytesIO(), "png"
    small.save(encoded, "PNG", optimize=True)
    if encoded.tell() > THUMBNAIL_BYTES:
        encoded, kind = io.BytesIO(), "jpeg"
        small.save(encoded, "JPEG", quality=85)
    return f"data:image/{kind};base64,{base64.b64encode(encoded.getvalue()).decode('ascii')}"


def describe_picture(picture: Picture) -> ImageInfo:
    """The record of a picture for a trace."""
    return ImageInfo(
        thumbnail=thumbnail_data_url(picture.image),
        original_size=picture.original_size,
        model_size=picture.image.size,
        notes=picture.notes,
    )


def _read_bytes(path: Path) -> bytes:
    """At most one byte more than the limit, so that a huge file is refused without being read."""
    try:
        if not path.is_file():
            raise FileNotFoundError
        with path.open("rb") as file:
            return file.read(MAX_PICTURE_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(f"There is no picture file at {path}; please check the name.") from error
    except (OSError, ValueError) as error:
        raise InputError("The picture file cannot be read; please check its name and its rights.") from error


def _open_header(data: bytes) -> Image.Image:
    """Read the header only; the content decides, and a foreign kind is named in the sentence."""
    if not data:
        raise InputError(f"The picture file is empty (0 bytes); {_ADVICE}")
    if len(data) > MAX_PICTURE_BYTES:
        raise InputError("The picture file is larger than 20 MB; please choose a smaller one.")
    try:
        return Image.open(io.BytesIO(data), formats=READABLE_FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(_too_many_pixels("It")) from error
    except UnidentifiedImageError as error:
        raise InputError(_foreign_kind(data)) from error
    except Exception as error:  # decoders meet damaged headers with any kind of exception
        raise InputError(f"This picture file is damaged and cannot be opened; {_ADVICE}") from error


def _foreign_kind(data: bytes) -> str:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"<svg" in head.lower():
        return f"This is an SVG drawing, which is text and has no pixels; {_ADVICE}"
    if head.startswith(b"%PDF"):
        return "This is a PDF document, not a picture; please save the page as PNG or JPEG and choose that."
    if data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS:
        return (
            "This is a HEIC photo, which cannot be read here; please save it as JPEG or PNG and choose that."
        )
    if _is_text(data[:1024]):
        return f"This is a text file, not a picture; {_ADVICE}"
    return f"This file is not a picture that can be read here, or it is damaged; {_ADVICE}"


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8") if error.reason == "unexpected end of data" else "\0"
    return all(character >= " " or character in "\t\r\n\f" for character in text)


def _check_size(opened: Image.Image) -> None:
    width, height = opened.size
    if width < 1 or height < 1:
        raise InputError(f"The picture has no pixels ({width} × {height}); {_ADVICE}")
    kind = "progressive JPEG" if opened.info.get("progressive") else opened.format
    max_pixels = MAX_COSTLY_PIXELS.get(kind or "", MAX_PICTURE_PIXELS)
    if width * height > max_pixels:
        raise InputError(_too_many_pixels(f"{width} × {height}", max_pixels))
    if max(width, height) > MAX_PICTURE_SIDE:
        raise InputError(
            f"The picture is {width} × {height} pixels; a side may have at most {MAX_PICTURE_SIDE}: please crop it."
        )


def _too_many_pixels(size: str, max_pixels: int = MAX_PICTURE_PIXELS) -> str:
    limit = max_pixels // 1_000_000
    return (
        f"The picture is too large ({size} pixels); please scale it down to at most {limit} million pixels."
    )


def _decode(opened: Image.Image, notes: list[str]) -> Image.Transpose | None:
    """Decode all pixels of the first frame, in place; returns the turn that they still need."""
    try:
        has_more_frames = bool(getattr(opened, "is_animated", False))
        noted_turn = _noted_turn(opened)
        opened.load()
    except MemoryError:
        raise
    except Exception as error:  # decoders meet damaged data with any kind of exception
        raise InputError(
            "This picture file is cut off or damaged; please save or download it again and choose the new copy."
        ) from error
    if has_more_frames and opened.format == "TIFF":
        notes.append("Several pages: the first one is used.")
    elif has_more_frames and opened.format != "MPO":  # an MPO is one photo, then previews and depth maps
        notes.append("Animated: the first frame is used.")
    if noted_turn is not None:
        notes.append("Turned upright, as the camera noted.")
    return None if opened.format == "TIFF" else noted_turn  # TIFF's decoder turns by itself


def _noted_turn(opened: Image.Image) -> Image.Transpose | None:
    """The turn that the camera asks for."""
    try:
        return _TURNS.get(opened.getexif().get(0x0112, 1))
    except Exception:  # a broken tag block says nothing about the way up
        return None


def _fit_limits(image: Image.Image, notes: list[str]) -> Image.Image:
    """Pad a ribbon and enlarge a tiny picture, keeping the shape of what is drawn."""
    width, height = image.size
    long_side, short_side = max(width, height), min(width, height)
    if long_side > MAX_SIDE_RATIO * short_side:
        short_side = max(MIN_SIDE, math.ceil(long_side / MAX_SIDE_RATIO))
        padded_size = (width, short_side) if width > height else (short_side, height)
        padded = Image.new("RGB", padded_size, "white")
        padded.paste(image, ((padded_size[0] - width) // 2, (padded_size[1] - height) // 2))
        image = padded
        notes.append(f"Very long and thin: padded with white to {padded_size[0]} × {padded_size[1]} pixels.")
    elif short_side < MIN_SIDE:
        scale = MIN_SIDE / short_side
        size = (max(MIN_SIDE, round(width * scale)), max(MIN_SIDE, round(height * scale)))
        image = image.resize(size, Image.Resampling.BICUBIC)
        notes.append(f"Very small: enlarged to {size[0]} × {size[1]} pixels.")
    return image
