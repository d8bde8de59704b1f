"""The longest suffix of a history that occurred before, and what followed it there."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence


def longest_suffix_match(
    history: Sequence[int], barriers: Collection[int] = (), min_match: int = 2
) -> tuple[int, int] | None:
    """(length, end) of the longest suffix seen earlier: `end` is just behind its LATEST occurrence.

    No match runs over a barrier, in the suffix or in the occurrence.
    """
    best: tuple[int, int] | None = None
    for end in range(1, len(history)):
        length = 0
        while length < end and history[end - 1 - length] == history[-1 - length]:
            if history[end - 1 - length] in barriers:
                break
            length += 1
        if length >= min_match and (best is None or length >= best[0]):
            best = (length, end)
    return best


def suffix_continuation(
    history: Sequence[int], barriers: Collection[int] = (), min_match: int = 2
) -> tuple[int, ...]:
    """What followed the latest occurrence of the longest suffix, up to a barrier or the history's end."""
    match = longest_suffix_match(history, barriers, min_match)
    if match is None:
        return ()
    return tuple(itertools.takewhile(lambda token_id: token_id not in barriers, history[match[1] :]))
