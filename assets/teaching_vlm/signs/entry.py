"""The family of signs: what it shows, how it talks, which facts count."""

from __future__ import annotations

from family import CAPTION, DRILL, GENERAL, MULTI_TURN, REASONING, TEXT, Family
from shapes.scene import BACKGROUNDS, COLORS

from signs import captions, conversations, drill, questions, reasoning
from signs.dense import label, mentions, regions
from signs.drawing import draw
from signs.scene import make_scene
from signs.words import FACT_WORDS, UNITS

FAMILY = Family(
    name="signs",
    make_scene=make_scene,
    draw=draw,
    label=label,
    regions=regions,
    mentions=mentions,
    conversations={
        GENERAL: questions.ask_general,
        TEXT: questions.ask,
        CAPTION: lambda rng, scene: [captions.ask(rng, scene)],
        REASONING: reasoning.ask,
        MULTI_TURN: conversations.multi_turn,
        DRILL: drill.drill,
    },
    facts={
        "words": frozenset((*FACT_WORDS, *UNITS)),
        "colors": frozenset((*COLORS, "white")),
        "backgrounds": frozenset(BACKGROUNDS) - {"white"},
        "findings": frozenset(("same", "more", "less", "stays", "sign", "jar", "receipt")),
    },
)
