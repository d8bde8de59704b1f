"""Tokens as people read them: a visible form for one token, and running text for a stream of tokens.

Token bytes are not text: a token may hold half a character, a control code or nothing but a space. Every byte shows up
in some form here, and the replacement character U+FFFD is never produced.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator

LEADING_SPACE = "\u00b7"
_NAMED = {"\n": "\u21b5", "\t": "\u21e5"}
_REPLACEMENT = "\ufffd"
#: Joiners and the emoji selector: part of ordinary words and emoji in running text, invisible alone.
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
#: Letters and marks that draw nothing at all.
_BLANK = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible_form(data: bytes, is_special: bool = False, name: str = "") -> str:
    """One token in a form in which every byte shows.

    Leading and trailing spaces become a middle dot, newline and tab their arrows, bytes that are no whole UTF-8
    character their hexadecimal in angle brackets, and characters that draw nothing their code point. Special tokens
    show `name`.

    Returns: a non-empty string without U+FFFD, line breaks or invisible characters.
    """
    if is_special and name:
        data = name.encode("utf-8", "surrogatepass")
    text = "".join(part if isinstance(part, str) else _hex(part) for part in _parts(data))
    body = text.strip(" ")
    if not body:
        return LEADING_SPACE * len(text) or "\u27e8\u27e9"
    num_leading = len(text) - len(text.lstrip(" "))
    num_trailing = len(text) - len(text.rstrip(" "))
    return LEADING_SPACE * num_leading + visible_text(body) + LEADING_SPACE * num_trailing


def visible_text(text: str) -> str:
    """Text with every character that draws nothing replaced by a visible one; spaces stay."""
    shown = "".join(_visible_character(character) for character in text)
    # A combining mark alone would attach itself to whatever is drawn before it.
    return "\u25cc" + shown if shown and unicodedata.category(shown[0]) in ("Mn", "Me") else shown


def _visible_character(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character == _REPLACEMENT:
        return _hex(character.encode())
    category = unicodedata.category(character)
    is_odd_space = category == "Zs" and character != " "
    if category in _INVISIBLE_CATEGORIES or is_odd_space or character in _BLANK or character in _JOINERS:
        return f"\u27e8U+{ord(character):04X}\u27e9"
    return character


def draws_nothing(character: str) -> bool:
    """Whether a character is a space or leaves no ink of its own; half a character counts as ink."""
    category = unicodedata.category(character)
    is_unseen = category in _INVISIBLE_CATEGORIES - {"Cs", "Co", "Cn"} or character in _BLANK | _JOINERS
    return is_unseen or category == "Zs"


def readable_text(text: str) -> str:
    """Running text, safe to show: line breaks, tabs and joiners stay; what else draws nothing becomes visible."""
    kept = {"\n", "\t"} | _JOINERS
    return "".join(c if c in kept or unicodedata.category(c) == "Zs" else _visible_character(c) for c in text)


class TextStream:
    """Turns token ids into text as they come, holding back the bytes of an unfinished character.

    `token_bytes` gives the bytes of an id; ids for which `is_special` holds add no text.
    """

    def __init__(
        self, token_bytes: Callable[[int], bytes], is_special: Callable[[int], bool] | None = None
    ) -> None:
        self._token_bytes = token_bytes
        self._is_special = is_special or (lambda token_id: False)
        self._held = b""

    def push(self, token_ids: Iterable[int]) -> str:
        """The text that these tokens complete; the bytes of a character still unfinished are held for the next call."""
        shown = [token_id for token_id in token_ids if not self._is_special(token_id)]
        data = self._held + b"".join(self._token_bytes(token_id) for token_id in shown)
        self._held = _unfinished_tail(data)
        return self._decode(data[: len(data) - len(self._held)])

    def finish(self) -> str:
        """What is still held, as hexadecimal in angle brackets; the stream is empty afterwards."""
        held, self._held = self._held, b""
        return _hex(held) if held else ""

    @staticmethod
    def _decode(data: bytes) -> str:
        pieces = (part if isinstance(part, str) else _hex(part) for part in _parts(data))
        return "".join(pieces).replace(_REPLACEMENT, _hex(_REPLACEMENT.encode()))


def _parts(data: bytes) -> Iterator[str | bytes]:
    """`data` in order, as strings where it is UTF-8 and as runs of bytes where it is not."""
    broken = b""
    while data:
        try:
            text, rest = data.decode("utf-8"), b""
        except UnicodeDecodeError as error:
            text = data[: error.start].decode("utf-8")
            rest = data[error.start :]
        if text:
            if broken:
                yield broken
                broken = b""
            yield text
        if rest:
            # One byte at a time: the next bytes may start a whole character.
            broken, rest = broken + rest[:1], rest[1:]
        data = rest
    if broken:
        yield broken


def _unfinished_tail(data: bytes) -> bytes:
    """The last bytes of `data` that begin a character and lack its end, at most three of them."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        for length in (3, 2, 1):
            try:
                data[-length:].decode("utf-8")
            except UnicodeDecodeError as error:
                if error.start == 0 and error.reason == "unexpected end of data":
                    return data[-length:]
    return b""


def _hex(data: bytes) -> str:
    return "\u27e8" + data.hex(" ").upper() + "\u27e9"
