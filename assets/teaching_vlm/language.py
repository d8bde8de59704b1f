"""Words and phrases that the questions and answers of every family are made of.

One spelling for each number, so that answers can be read back word by word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Turn:
    """A question, its answer, the kind of question and the MMSpec topic it belongs to."""

    question: str
    answer: str
    kind: str
    topic: str


def number(value: int) -> str:
    """Number word for 0..9."""
    return NUMBERS[value]


def plural(noun: str, count: int) -> str:
    if count == 1:
        return noun
    return noun + ("es" if noun.endswith("s") else "s")


def join(phrases: Sequence[str], word: str = "and") -> str:
    """'a', 'a and b', 'a, b and c'."""
    if len(phrases) < 2:
        return "".join(phrases)
    return f"{', '.join(phrases[:-1])} {word} {phrases[-1]}"


def a(phrase: str) -> str:
    """The phrase behind its indefinite article."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def capital(phrase: str) -> str:
    return phrase[0].upper() + phrase[1:]


def counted(count: int, noun: str) -> str:
    """'one circle', 'three circles', 'no circles'."""
    return f"{number(count) if count else 'no'} {plural(noun, count)}"


def versus(one: float, other: float) -> str:
    """'more', 'less' or 'the same': what `one` is against `other`."""
    return "more" if one > other else "less" if one < other else "the same"


def highest(counts: Mapping[str, int]) -> tuple[str, list[str]]:
    """'The highest number is two. Red has two, yes; blue has one, no.', and the names that have it.

    Each name is judged right behind its own number, so that the conclusion has only to repeat those with a yes. Names
    that always come in the same order, those of nothing too, are told without a gap.
    """
    best = max(counts.values())
    told = [
        f"{name} has {number(n) if n else 'none'}, {'yes' if n == best else 'no'}"
        for name, n in counts.items()
    ]
    return (
        f"The highest number is {number(best)}. {capital('; '.join(told))}.",
        [name for name, n in counts.items() if n == best],
    )


def tally(values: Iterable[str]) -> list[tuple[str, int]]:
    """Values with how often they occur, most frequent first, ties in order of first occurrence."""
    return sorted(Counter(values).items(), key=lambda item: -item[1])
