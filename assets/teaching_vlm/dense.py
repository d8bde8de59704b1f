"""Dense labels of a batch: what each picture token shows, wherever the architecture looks.

Families label the grid of 28-pixel tokens over their drawn picture. An architecture whose tokens lie elsewhere takes
the label of the grid token that holds its token's centre.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from family import IGNORED, TOKEN_SIDE, Family
from labels import CLASSES, DENSE_NAMES, REGION_NAMES, SLOTS

View = tuple[
    Family, object, tuple[int, int], np.ndarray
]  # family, scene, (width, height), centers [tokens, 2]


def _empty(name: str, num_tokens: int) -> np.ndarray:
    return np.full((num_tokens, SLOTS) if name == "character" else num_tokens, IGNORED, dtype=np.int64)


def dense_labels(views: Sequence[View]) -> dict[str, torch.Tensor]:
    """Labels of all picture tokens of all pictures, one after the other: name -> [T] or [T, SLOTS]."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in DENSE_NAMES}
    for family, scene, (width, _), centers in views:
        given = family.label(scene)
        seen = ~np.isnan(centers[:, 0])
        column, row = (centers[seen] // TOKEN_SIDE).astype(int).T
        at = row * (width // TOKEN_SIDE) + column
        for name, values in parts.items():
            labels = _empty(name, len(centers))
            if name in given:
                labels[seen] = np.asarray(given[name])[at]
            values.append(labels)
    return {name: torch.from_numpy(np.concatenate(values)) for name, values in parts.items()}


def region_labels(views: Sequence[View]) -> dict[str, torch.Tensor]:
    """The facts of each region at its last picture token.

    Attention is causal, so the last token inside a region is the first that can have seen it all; one summary a
    region is what counting and finding need.
    """
    parts: dict[str, list[np.ndarray]] = {name: [] for name in REGION_NAMES}
    for family, scene, _, centers in views:
        labels = {name: _empty(name, len(centers)) for name in parts}
        for region in family.regions(scene):
            left, top, right, bottom = region.box
            inside = (
                (centers[:, 0] >= left)
                & (centers[:, 0] < right)
                & (centers[:, 1] >= top)
                & (centers[:, 1] < bottom)
            )
            if inside.any():
                last = int(np.flatnonzero(inside)[-1])
                for name, word in region.facts.items():
                    labels[name][last] = CLASSES[name].index(word)
        for name, values in labels.items():
            parts[name].append(values)
    return {name: torch.from_numpy(np.concatenate(values)) for name, values in parts.items()}
