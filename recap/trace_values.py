"""Rules for single values of a trace; each raises `TraceError` with the value's place for the first that breaks it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NoReturn

from recap.errors import TraceError

#: Longest value that a message shows, characters.
_MAX_SHOWN = 80
#: Ids fit a signed 32-bit integer; above it a browser would round them sooner or later.
MAX_TOKEN_ID = 2**31 - 1
MIN_SECONDS, MAX_SECONDS = 1e-9, 1e9
_KEY_LENGTH = {"G": 3, "C": 2, "U": 1}


def check_key(place: str, source: str, key_ids: Sequence[int]) -> None:
    """A memory key: valid ids, as many as the map is keyed by."""
    check_ids(f"{place}.key_ids", key_ids)
    if len(key_ids) != _KEY_LENGTH[source]:
        fail(f"{place}.key_ids", f"must have length {_KEY_LENGTH[source]} in map {source}", len(key_ids))


def check_row_index(place: str, row: int, num_rows: int) -> None:
    """A number of a row in the run's table."""
    if not 0 <= row < num_rows:
        fail(place, f"must be a row of the run's table of {num_rows}", row)


def check_ids(place: str, token_ids: Iterable[int]) -> None:
    """Token ids that are not negative and that a browser can hold."""
    for token_id in token_ids:
        if not 0 <= token_id <= MAX_TOKEN_ID:
            fail(place, f"must hold token ids from 0 to {MAX_TOKEN_ID}", token_id)


def check_shares(place: str, values: Iterable[float]) -> None:
    """Numbers from 0 to 1, with room for rounding."""
    for value in values:
        if not 0 <= value <= 1 + 1e-6:
            fail(place, "must be from 0 to 1", value)


def check_finite(place: str, values: Iterable[float]) -> None:
    """Numbers that are neither infinite nor undefined."""
    for value in values:
        if not math.isfinite(value):
            fail(place, "must be finite", value)


def check_seconds(place: str, value: float) -> None:
    """A duration that a clock can show: zero, or long and short enough for ratios of two to be finite."""
    if value != 0 and not MIN_SECONDS <= value <= MAX_SECONDS:
        fail(place, "must be zero or a number of seconds from 1e-9 to 1e9", value)


def fail(place: str, rule: str, got: object) -> NoReturn:
    """Raise `TraceError` with the place, the rule and what came, as one sentence."""
    raise TraceError(f"{place} {rule}; got {shown(got)}.")


def shown(value: object) -> str:
    """A value as messages show it: on one line, cut where it is long."""
    try:
        return shortened(repr(value))
    except ValueError:  # a whole number with more digits than Python prints
        return "a huge number"


def shortened(text: str) -> str:
    """Text on one line, cut where it is long."""
    text = one_line(text)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def one_line(text: str) -> str:
    """Text without line breaks and halves of characters, which no message may hold."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
