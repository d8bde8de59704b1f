"""Checks of what people type: they hold in our functions, since a slider's limits hold in the page only."""

from __future__ import annotations

import threading
from typing import Literal

from demo import texts
from recap.errors import InputError
from recap.questions import is_blank, is_broken

NEW_TOKENS_RANGE = (1, 512)
NODES_RANGE = (0, 128)
DEFAULT_NEW_TOKENS = 200
#: The budget that follows the measured cost of a pass: in place of a number, and what a run begins with.
AUTO_NODES: Literal["auto"] = "auto"
MAX_QUESTION_CHARACTERS = 4000
#: Pictures and traces that are opened at once; more wait. Each may take hundreds of megabytes while it is read.
HEAVY_WORK = threading.BoundedSemaphore(2)


def check_whole_number(value: object, name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`; 64.0 counts as one, as browsers send it.

    Raises:
        InputError: anything else; the sentence names the range.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # The range comes first: it leaves out what is not finite, and whole numbers too long for a float.
    if not is_number or not low <= value <= high or value != int(value):
        raise InputError(texts.not_in_range(name, low, high))
    return int(value)


def check_new_tokens(value: object) -> int:
    """The length cap of an answer. Raises InputError."""
    return check_whole_number(value, texts.NEW_TOKENS_LABEL, *NEW_TOKENS_RANGE)


def check_nodes(value: object) -> int | Literal["auto"]:
    """The draft nodes of a pass: a whole number, also as its digits, or `auto`. Raises InputError."""
    if isinstance(value, str):
        value = value.strip().lower()
        if value == AUTO_NODES:
            return AUTO_NODES
        if value.isdecimal() and len(value) <= len(str(NODES_RANGE[1])):
            value = int(value)
    try:
        return check_whole_number(value, texts.NODES_LABEL, *NODES_RANGE)
    except InputError as error:
        raise InputError(texts.nodes_not_in_range(*NODES_RANGE)) from error


def check_question(value: object) -> str:
    """A question that shows something, trimmed. Raises InputError."""
    if not isinstance(value, str) or is_blank(value):
        raise InputError(texts.NO_QUESTION)
    if len(value) > MAX_QUESTION_CHARACTERS:
        raise InputError(texts.question_too_long(len(value), MAX_QUESTION_CHARACTERS))
    if is_broken(value):
        raise InputError(texts.BROKEN_CHARACTER)
    return value.strip()
