"""Baselines of how the page looks and reads: compared, or with --update-screenshots written anew.

Pictures depend on the machine's browser and fonts, so they lie in a folder per platform beside the versions they were
made with, and are compared only where those are the same. What the page reads as is the same everywhere.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from pixelmatch.contrib.PIL import pixelmatch

FOLDER = Path(__file__).resolve().parent / "baselines"
#: How far a pixel's colour may be off, 0..1, and the share of pixels from which a picture is another one.
PIXEL_THRESHOLD, MOST_DIFFERENT = 0.05, 0.002


class Baselines:
    """Compares what a test sees with what was accepted before."""

    def __init__(self, browser_version: str, is_update: bool, actual_folder: Path) -> None:
        """What differs is written to `actual_folder`, beside what was expected."""
        self._is_update = is_update
        self._actual = actual_folder
        self._versions = {"chromium": browser_version, "font": _font(), "gradio": _gradio_version()}
        self._pictures = FOLDER / sys.platform

    def check_text(self, name: str, text: str) -> None:
        """A text is the accepted one; a missing baseline is written and fails."""
        path = FOLDER / "text" / f"{name}.txt"
        if self._is_new(path, text.encode("utf-8")):
            return
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            (self._actual / f"{name}.txt").write_text(text, encoding="utf-8")
        assert text == expected, f"{name} reads otherwise than accepted; see {self._actual}"

    def check_picture(self, name: str, png: bytes) -> None:
        """A picture is the accepted one; skipped where another browser or font draws."""
        versions = self._pictures / "versions.json"
        path = self._pictures / f"{name}.png"
        if self._is_update or not versions.exists():
            versions.parent.mkdir(parents=True, exist_ok=True)
            versions.write_text(json.dumps(self._versions, indent=1) + "\n", encoding="utf-8")
        made_with = json.loads(versions.read_text(encoding="utf-8"))
        if made_with != self._versions:
            pytest.skip(f"the pictures were made with {made_with}, here is {self._versions}")
        if self._is_new(path, png):
            return
        share, difference = different_share(path.read_bytes(), png)
        if share >= MOST_DIFFERENT:
            (self._actual / f"{name}-actual.png").write_bytes(png)
            shutil.copy(path, self._actual / f"{name}-expected.png")
            if difference is not None:
                difference.save(self._actual / f"{name}-difference.png")
        assert share < MOST_DIFFERENT, f"{share:.2%} of {name} look otherwise; see {self._actual}"

    def _is_new(self, path: Path, content: bytes) -> bool:
        """Write where asked to; whether there is nothing left to compare."""
        is_missing = not path.exists()
        if self._is_update or is_missing:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        assert self._is_update or not is_missing, (
            f"{path.name} had no baseline; look at the one written to {path}"
        )
        return self._is_update


def different_share(expected_png: bytes, actual_png: bytes) -> tuple[float, Image.Image | None]:
    """Share of pixels that differ, and a picture of where; 1 and None for pictures of different sizes."""
    expected, actual = (Image.open(io.BytesIO(png)).convert("RGBA") for png in (expected_png, actual_png))
    if expected.size != actual.size:
        return 1.0, None
    difference = Image.new("RGBA", expected.size)
    count = pixelmatch(expected, actual, difference, threshold=PIXEL_THRESHOLD)
    return count / (expected.width * expected.height), difference


def steady_shot(page, selector: str) -> bytes:
    """A picture of an element, once two in a row are equal."""
    element = page.locator(selector)
    before = element.screenshot(animations="disabled", caret="hide")
    for _ in range(20):
        now = element.screenshot(animations="disabled", caret="hide")
        if now == before:
            return now
        before = now
    raise AssertionError(f"{selector} never came to rest")


def _font() -> str:
    """The font that `system-ui` is drawn with, as far as the system tells."""
    try:
        command = ["fc-match", "-f", "%{family} %{fontversion}", "system-ui"]
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip() or "unknown"
    except OSError:
        return "unknown"


def _gradio_version() -> str:
    from importlib.metadata import version

    return version("gradio")
