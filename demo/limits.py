"""Checks of what people type: they hold in our functions, since a slider's limits hold in the page only."""

from __future__ import annotations

import math

from demo import texts
from recap.errors import InputError

NEW_TOKENS_RANGE = (1, 512)
NODES_RANGE = (0, 128)
DEFAULT_NEW_TOKENS = 200
DEFAULT_NODES = 63
MAX_QUESTION_CHARACTERS = 4000


def check_whole_number(value: object, name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`; 64.0 counts as one, as browsers send it.

    Raises:
        InputError: anything else; the sentence names the range.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value != int(value) or not low <= value <= high:
        raise InputError(texts.not_in_range(name, low, high))
    return int(value)


def check_new_tokens(value: object) -> int:
    """The length cap of an answer. Raises InputError."""
    return check_whole_number(value, texts.NEW_TOKENS_LABEL, *NEW_TOKENS_RANGE)


def check_nodes(value: object) -> int:
    """The draft nodes of a pass. Raises InputError."""
    return check_whole_number(value, texts.NODES_LABEL, *NODES_RANGE)


def check_question(value: object) -> str:
    """A question with something in it, trimmed. Raises InputError."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(texts.NO_QUESTION)
    if len(value) > MAX_QUESTION_CHARACTERS:
        raise InputError(texts.question_too_long(len(value), MAX_QUESTION_CHARACTERS))
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(texts.BROKEN_CHARACTER)
    return value.strip()
