"""Read the facts back out of an answer, word by word, and compare them with those of the right answer.

An answer's facts of one kind (its colours, say) are that kind's words in order. The form of an answer follows from the
wording of its question, so the right answer's facts stand in the same order. Words that the question already holds
prove nothing and are left out.
"""

from __future__ import annotations

import re
from functools import cache

from language import NUMBERS, plural
from scenes import FAMILIES

COMMON: dict[str, frozenset[str]] = {
    "numbers": frozenset((*NUMBERS, "no", "none", "once", "only")),
    "verdicts": frozenset(("yes", "no", "nothing", "empty", "neither", "both", "tie", "all")),
}
FIGURES = "figures"  # whatever is written with digits: values, prices, sums
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


@cache
def fact_kinds(family: str) -> dict[str, frozenset[str]]:
    """The family's own kinds of facts with their words; those of FIGURES are told by their digits."""
    return {**FAMILIES[family].facts, FIGURES: frozenset()}


@cache
def _singulars(family: str) -> dict[str, str]:
    every = frozenset().union(*FAMILIES[family].facts.values())
    return {plural(word, 2): word for word in every if plural(word, 2) not in every}


def words(text: str, family: str) -> list[str]:
    """Lower-case words and numbers, facts in the singular."""
    return [_singulars(family).get(word, word) for word in _WORD.findall(text.lower())]


def facts(answer: str, question: str, family: str, kind: str) -> list[str]:
    """The answer's facts of `kind` that the question does not hold, in order."""
    given = set(words(question, family))
    known = {**fact_kinds(family), **COMMON}[kind]

    def is_fact(word: str) -> bool:
        return word[0].isdigit() if kind == FIGURES else word in known

    return [word for word in words(answer, family) if is_fact(word) and word not in given]


def compare(answer: str, reference: str, question: str, family: str, kind: str) -> tuple[int, int]:
    """Facts of `kind` that both hold in the same order, and the longer one's number of facts.

    The order is compared by the longest common subsequence: a thing left out or made up costs its own facts only.
    """
    said, right = facts(answer, question, family, kind), facts(reference, question, family, kind)
    common = [0] * (len(right) + 1)
    for word in said:
        diagonal = 0
        for index, other in enumerate(right, 1):
            best = diagonal + 1 if word == other else max(common[index], common[index - 1])
            diagonal, common[index] = common[index], best
    return common[-1], max(len(said), len(right))


def is_right(answer: str, reference: str, question: str, family: str) -> bool:
    """Whether every fact of every kind agrees."""
    kinds = [*fact_kinds(family), *COMMON]
    return all(facts(answer, question, family, k) == facts(reference, question, family, k) for k in kinds)


def form(answer: str, family: str) -> str:
    """The answer with every fact masked: what remains is its form."""
    every = frozenset().union(*FAMILIES[family].facts.values(), *COMMON.values())

    def mask(match: re.Match[str]) -> str:
        word = words(match.group(), family)[0]
        return "_" if word in every or word[0].isdigit() else match.group()

    return re.sub(r"[A-Za-z]+|\d+(?:\.\d+)?", mask, answer)
