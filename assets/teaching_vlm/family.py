"""What a family of pictures brings: scenes from seeds, their drawing, dense labels, and conversations by topic.

Four families share one tokenizer, one training script and one evaluation; each lives in a folder of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from language import Turn
from PIL import Image

TOKEN_SIDE = 28  # pixels: a picture token covers 2x2 patches of 14
PICTURE_SIZES = (
    (168, 168),
    (224, 168),
    (168, 224),
    (224, 140),
)  # width, height; the processor keeps them as they are
IGNORED = -100  # a label that teaches nothing

GENERAL, TEXT, CAPTION, CHART, REASONING, MULTI_TURN = TOPICS = (
    "general vqa",
    "text vqa",
    "image captioning",
    "chart understanding",
    "complex reasoning pro",
    "multi-turn conversation",
)
DRILL = "drill"  # no topic of the workload: short questions about what takes longest to learn

Converse = Callable[[random.Random, Any], "list[Turn] | None"]


@dataclass(frozen=True)
class Region:
    """A part of a picture and what it holds, as one fact a name of `labels.CLASSES` (the words, not their indices)."""

    box: tuple[float, float, float, float]  # left, top, right, bottom in pixels
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """One family of pictures.

    Attributes:
        name: the folder's name.
        make_scene: (rng, easy=False) -> a scene; `easy` asks for little in the picture.
        draw: the scene's picture, RGB, one of PICTURE_SIZES; the same scene gives the same pixels.
        label: for each picture token, row by row, what lies under it: name -> int array [tokens] or [tokens, slots]
            of indices into `labels.CLASSES[name]`, or IGNORED.
        conversations: topic (or DRILL) -> a conversation of that topic, None where this scene allows none.
        regions: parts of the picture that a few text layers have to sum up, as counting needs them.
        mentions: phrase -> facts of the one thing in the picture that it means, as of a Region.
        facts: kind of fact -> its words in lower case, by which answers are compared with the right ones.
    """

    name: str
    make_scene: Callable[..., Any]
    draw: Callable[[Any], Image.Image]
    label: Callable[[Any], dict[str, np.ndarray]]
    conversations: Mapping[str, Converse]
    facts: Mapping[str, frozenset[str]]
    regions: Callable[[Any], list[Region]]
    mentions: Callable[[Any], Mapping[str, Mapping[str, str]]]

    def converse(self, rng: random.Random, scene: Any, topic: str) -> list[Turn]:
        """A conversation of `topic`; where the scene allows none after several tries, of any topic."""
        for _ in range(20):
            turns = self.conversations[topic](rng, scene)
            if turns is not None:
                return turns
        for other in sorted(self.conversations):
            turns = self.conversations[other](rng, scene)
            if turns is not None:
                return turns
        raise ValueError(f"the {self.name} scene allows no question at all")
