"""Scenes of dressed people by seed, what is true of them, and the facts that a text tells."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from figures.scene import GARMENT_COLORS, GARMENTS, make_scene

SEEDS = range(200)
WORN = re.compile(rf"({'|'.join(GARMENT_COLORS)}) ({'|'.join(GARMENTS)})\b")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def scene_of(seed: int, easy: bool = False):
    rng = random.Random(f"figures-test-{seed}")
    return rng, make_scene(rng, easy)


def outfit(person) -> list[tuple[str, str]]:
    return [(garment.color, garment.kind) for garment in person.garments]


def wardrobe(person) -> dict[str, str]:
    return {kind: color for color, kind in outfit(person)}


def truth(scene) -> list[tuple[str, str]]:
    return [fact for person in scene.people for fact in outfit(person)]


def facts_told(text: str) -> list[tuple[str, str]]:
    return [(color.lower(), kind) for color, kind in re.findall(WORN.pattern, text, re.IGNORECASE)]


def answers_of(asker, seeds=SEEDS):
    """Scene and turn of every seed whose scene allows the question; fails where hardly any does."""
    num_asked = 0
    for seed in seeds:
        rng, scene = scene_of(seed)
        if (turn := asker(rng, scene)) is not None:
            num_asked += 1
            yield scene, turn
    assert num_asked >= 20, f"only {num_asked} of {len(seeds)} scenes allow the question of {asker.__name__}"
