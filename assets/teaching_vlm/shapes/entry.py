"""The family of coloured shapes on a grid."""

from family import Family

from shapes.conversations import CONVERSATIONS
from shapes.labels import label, mentions, regions
from shapes.scene import BACKGROUNDS, COLORS, COLUMNS, ROWS, SHAPES, SIZES, draw, make_scene

FAMILY = Family(
    name="shapes",
    make_scene=make_scene,
    draw=draw,
    label=label,
    conversations=CONVERSATIONS,
    facts={
        "colors": frozenset(COLORS),
        "shapes": frozenset(SHAPES),
        "sizes": frozenset(SIZES),
        "positions": frozenset((*ROWS, *COLUMNS)),
        "backgrounds": frozenset(BACKGROUNDS),
    },
    regions=regions,
    mentions=mentions,
)
