"""Picture files changed at random: a picture or one sentence, in bounded time and memory."""

from __future__ import annotations

import functools
import io
import random
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.errors import InputError
from recap.pictures import MAX_PICTURE_BYTES, open_picture
from recap.pixels import MAX_MODEL_PIXELS

CASES = Path(__file__).parent / "cases"
#: Seconds of processor time and bytes that opening one picture may take.
MAX_SECONDS, MAX_BYTES = 2.0, 300 * 1024 * 1024


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@functools.cache
def originals() -> tuple[bytes, ...]:
    """Every format that is read, in its kinds, and the files that broke programs before."""
    noise = np.random.default_rng(7).integers(0, 256, (40, 60, 4), dtype=np.uint8)
    rgba = Image.fromarray(noise)
    rgb, grey = rgba.convert("RGB"), rgba.convert("L")
    palette = rgb.quantize(16)
    wide = Image.fromarray(noise[..., 0].astype(np.uint16) * 200)
    exif = Image.Exif()
    exif[0x0112] = 6
    made = [
        encode(rgb, "PNG", exif=exif), encode(rgba, "PNG"), encode(wide, "PNG"), encode(palette, "PNG", transparency=3),
        encode(rgb, "JPEG", exif=exif), encode(rgb, "JPEG", progressive=True), encode(rgb.convert("CMYK"), "JPEG"),
        encode(palette, "GIF", save_all=True, append_images=[palette.rotate(90)], transparency=2), encode(grey, "GIF"),
        encode(rgb, "WEBP", exif=exif), encode(rgba, "WEBP", lossless=True),
        encode(rgb, "WEBP", save_all=True, append_images=[rgb.rotate(90)]),
        encode(rgb, "BMP"), encode(palette, "BMP"), encode(rgb, "PPM"), encode(wide, "TIFF"), encode(rgb, "AVIF"),
        encode(rgb, "TIFF", compression="tiff_lzw", save_all=True, append_images=[rgb]),
        encode(rgba, "TIFF", compression="tiff_adobe_deflate"), encode(rgb, "TIFF", compression="jpeg", exif=exif),
        encode(grey.convert("1"), "TIFF", compression="group4"),
        encode(Image.fromarray(noise[..., 0] / 9.0).convert("F"), "TIFF"),
    ]  # fmt: skip
    return (
        *made,
        *(path.read_bytes() for path in sorted(CASES.glob("*.[pjg][nip][gf]")) if path.stat().st_size),
    )


def repair_png(data: bytes) -> bytes:
    """A PNG whose chunks' checksums fit again, so that changes reach the decoder behind them."""
    out, at = bytearray(data[:8]), 8
    while at + 8 <= len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        body = data[at + 4 : at + 8 + length]
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return bytes(out)


def change(rng: random.Random, data: bytes) -> bytes:
    """One change: bytes flipped, a number near the start made extreme, a cut, a part doubled, two files mixed."""
    changed, kind = bytearray(data), rng.randrange(8)
    at = rng.randrange(len(changed))
    if kind == 0:
        for _ in range(rng.choice((1, 3, 12))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    elif kind == 1:  # sizes, counts and offsets stand near the start
        at = rng.randrange(min(120, len(changed)))
        number = rng.choice((0, 1, 255, 5_000, 6_300, 16_384, 65_535, 10**6, 2**31 - 1, 2**32 - 1))
        width = rng.choice((2, 4))
        changed[at : at + width] = (number % 256**width).to_bytes(width, rng.choice(("little", "big")))
    elif kind == 2:
        del changed[at:]
    elif kind == 3:
        changed[at:at] = changed[at : at + rng.randrange(1, 400)] * rng.choice((1, 1, 40))
    elif kind == 4:
        changed[at:] = rng.choice(originals())[at:]
    elif kind == 5:
        del changed[at : at + rng.choice((1, 2, 50))]
    else:  # width and height, wherever they stand, say more than there is
        for side in (60, 40):
            number = rng.choice((side, 500, 5_000, 6_300, 16_000))
            for width, order in ((4, "little"), (2, "little"), (4, "big"), (2, "big")):
                found = changed.find(side.to_bytes(width, order), 0, 400)
                if found >= 0:
                    changed[found : found + width] = number.to_bytes(width, order)
                    break
    result = bytes(changed)
    return repair_png(result) if result.startswith(b"\x89PNG") and rng.random() < 0.7 else result


class PeakMemory:
    """The largest resident size since `reset`, above the size then; None where the system does not tell."""

    def __init__(self) -> None:
        self._start = 0

    def reset(self) -> bool:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark to the present size
        except OSError:
            return False
        self._start = self._read("VmRSS")
        return True

    def growth(self) -> int:
        return self._read("VmHWM") - self._start

    @staticmethod
    def _read(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


@pytest.mark.filterwarnings(
    "ignore"
)  # decoders warn about what they mend; outside the tests nobody stops for that
def test_a_changed_picture_is_a_picture_or_a_sentence_in_bounded_time_and_memory(
    is_full: bool, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(84)
    peak, is_measured = PeakMemory(), True
    num_pictures, sentences = 0, set()
    slowest, largest = 0.0, 0
    for _ in range(5_000 if is_full else 300):
        data = rng.choice(originals())
        for _ in range(rng.choice((1, 1, 2))):
            data = change(rng, data) or b"\0"
        is_measured = peak.reset() and is_measured
        started = time.process_time()
        try:
            image = open_picture(data).image
        except InputError as error:
            sentences.add(str(error))
        else:
            num_pictures += 1
            assert image.mode == "RGB"
            assert min(image.size) >= 28
            assert image.width * image.height <= MAX_MODEL_PIXELS
            assert image.tobytes()
        slowest = max(slowest, time.process_time() - started)
        largest = max(largest, peak.growth() if is_measured else 0)
        assert slowest < MAX_SECONDS
        assert largest < MAX_BYTES
    record_property("slowest_seconds", slowest)
    record_property("largest_growth_bytes", largest)
    assert num_pictures > 20
    assert len(sentences) > 3
    assert all(sentence.endswith(".") and sentence.isprintable() for sentence in sentences)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "I;16", "CMYK", "1"])
def test_the_largest_pictures_that_are_taken_stay_within_time_and_memory(mode: str) -> None:
    image = Image.new(mode, (8000, 5000))
    if mode == "P":
        image.putpalette([0, 0, 0] * 256)
    options = {"transparency": 0} if mode == "P" else {}
    data = encode(image, "JPEG" if mode == "CMYK" else "GIF" if mode == "P" else "PNG", **options)
    assert len(data) < MAX_PICTURE_BYTES
    del image
    peak = PeakMemory()
    if not peak.reset():
        pytest.skip("this system does not tell a program's peak memory")
    started = time.process_time()
    picture = open_picture(data)
    assert time.process_time() - started < MAX_SECONDS
    assert peak.growth() < MAX_BYTES
    assert "made smaller" in picture.notes[-1]
