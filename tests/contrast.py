"""Contrast of colours as WCAG 2 defines it: 4.5 for text, 3 for marks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def luminance(colour: str | Sequence[int] | np.ndarray) -> np.ndarray:
    """Relative luminance of #RRGGBB, or of sRGB values [..., 3] in 0..255."""
    values = list(bytes.fromhex(colour.removeprefix("#"))) if isinstance(colour, str) else colour
    share = np.array(values) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(*colours: str | Sequence[int] | np.ndarray) -> float:
    """Contrast of the brightest of these solid colours and the darkest, 1..21."""
    found = [luminance(colour) for colour in colours]
    return float((np.max(found) + 0.05) / (np.min(found) + 0.05))
