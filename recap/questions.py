"""The one door for what people type: text is kept as it is, and what is no question gets one sentence.

Control marks, markup, right-to-left and invisible characters are text like any other: they are made harmless where they
are shown (`tokens`) or tokenised (`targets.prompts`), never changed here.
"""

from __future__ import annotations

from recap.errors import InputError
from recap.tokens import draws_nothing


def is_blank(value: object) -> bool:
    """Whether there is nothing in it to see: no text, or only characters that draw nothing."""
    return not isinstance(value, str) or all(draws_nothing(character) for character in value)


def is_broken(text: str) -> bool:
    """Whether it holds half a character (a lone surrogate), which no tokeniser takes."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def check_question(value: object) -> str:
    """A question as it was typed.

    Raises:
        InputError: it is blank or broken.
    """
    if is_blank(value):
        raise InputError("Please type a question about the picture.")
    assert isinstance(value, str), value
    if is_broken(value):
        raise InputError("The question holds half a character; please type it again.")
    return value
