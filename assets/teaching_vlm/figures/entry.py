"""The family of dressed people, as the trainer and the evaluation take it."""

from family import CAPTION, DRILL, GENERAL, MULTI_TURN, REASONING, Family
from language import NUMBERS
from shapes.scene import BACKGROUNDS, COLORS, COLUMNS, SHAPES

from figures import conversations
from figures.dense import label, mentions, regions
from figures.drawing import draw
from figures.phrases import BODY
from figures.scene import GARMENTS, HELD, PEOPLE, make_scene

FAMILY = Family(
    name="figures",
    make_scene=make_scene,
    draw=draw,
    label=label,
    regions=regions,
    mentions=mentions,
    conversations={
        GENERAL: conversations.general,
        CAPTION: conversations.caption,
        REASONING: conversations.reason,
        MULTI_TURN: conversations.multi_turn,
        DRILL: conversations.drill,
    },
    facts={
        "colors": frozenset(COLORS),
        "backgrounds": frozenset(BACKGROUNDS),
        "garments": frozenset(GARMENTS),
        "held": frozenset((*HELD, *SHAPES)),
        "people": frozenset((*PEOPLE, "nobody", "everyone")),
        "body": frozenset(BODY.values()),
        "places": frozenset(COLUMNS),
        "numbers": frozenset((*NUMBERS, "no", "none", "once")),
    },
)
