"""What the dense heads tell of each picture token, for all families.

WORDS that the decoder also says are read in the language of its own embeddings, so each must be one token there;
characters and heights of bars have classes of their own.
"""

from __future__ import annotations

import string

from charts.words import CHART_WORDS
from figures.scene import GARMENTS, HELD, PEOPLE
from language import NUMBERS
from shapes.scene import BACKGROUNDS, COLORS, COLUMNS, ROWS, SHAPES, SIZES
from signs.words import SIGN_WORDS

NOTHING = "nothing"
SPOKEN: dict[str, tuple[str, ...]] = {  # classes that are words of the grammar
    "thing": (*SHAPES, *GARMENTS, *HELD, *PEOPLE, NOTHING),
    "color": (*COLORS, NOTHING),
    "size": (*SIZES, NOTHING),
    "row": ROWS,
    "column": COLUMNS,
    "background": tuple(BACKGROUNDS),
    "word": (*sorted({*SIGN_WORDS, *CHART_WORDS}), NOTHING),
    "order": NUMBERS[1:],  # of a word, an item or a bar among its like, in reading order
    "line": NUMBERS[1:],  # of print, from the top
    "person": PEOPLE,  # who wears or holds it
}
CHARACTERS = (*string.ascii_letters, *string.digits, ".", "$", "%", ":", "-", " ")
SLOTS = 4  # the 2x2 patches of a picture token: top left, top right, bottom left, bottom right
CLASSES: dict[str, tuple[str, ...]] = {
    **SPOKEN,
    "character": CHARACTERS,  # [tokens, SLOTS]: the character with the largest share of each patch; " " for none
    "value": tuple(str(value) for value in range(101)),  # the value of the bar or point that the token shows
}
REGION_NAMES = tuple(name for name in CLASSES if name != "character")
#: What comes first and second, and whose a garment is, no token shows by itself: it takes having seen those before.
DENSE_NAMES = tuple(name for name in CLASSES if name not in ("order", "line", "person"))
