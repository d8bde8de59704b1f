"""The family of charts: what it shows, how it talks, which facts count."""

from __future__ import annotations

from family import CAPTION, CHART, DRILL, GENERAL, MULTI_TURN, REASONING, Family
from shapes.scene import BACKGROUNDS, COLORS

from charts import captions, conversations, drill, questions, reasoning
from charts.dense import label, mentions, regions
from charts.scene import draw, make_scene
from charts.words import GROUPS, QUANTITIES, SETTINGS

FAMILY = Family(
    name="charts",
    make_scene=make_scene,
    draw=draw,
    label=label,
    regions=regions,
    mentions=mentions,
    conversations={
        GENERAL: questions.ask_general,
        CHART: questions.ask,
        CAPTION: lambda rng, chart: [captions.ask(rng, chart)],
        REASONING: reasoning.ask,
        MULTI_TURN: conversations.multi_turn,
        DRILL: drill.drill,
    },
    facts={
        "labels": frozenset(label for labels in GROUPS.values() for label in labels),
        "words": frozenset((*QUANTITIES, *SETTINGS)),
        "colors": frozenset(COLORS),
        "backgrounds": frozenset(BACKGROUNDS),
        "findings": frozenset(("up", "down", "rises", "falls", "more", "less", "stays", "bar", "line")),
    },
)
