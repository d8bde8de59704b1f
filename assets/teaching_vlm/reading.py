"""Read the facts back out of an answer, word by word, and compare them with those of the right answer.

An answer's facts of one kind (its colours, say) are that kind's words in order. The form of an answer follows from the
wording of its question, so the right answer's facts stand in the same order. Words that the question already holds
prove nothing and are left out.
"""

from __future__ import annotations

import re

from language import NUMBERS
from scenes import BACKGROUNDS, COLORS, COLUMNS, ROWS, SHAPES, SIZES

KINDS: dict[str, frozenset[str]] = {
    "colors": frozenset(COLORS),
    "shapes": frozenset(SHAPES),
    "sizes": frozenset(SIZES),
    "positions": frozenset((*ROWS, *COLUMNS)),
    "backgrounds": frozenset(BACKGROUNDS),
    "numbers": frozenset((*NUMBERS, "no", "none", "once", "only")),
    "verdicts": frozenset(("yes", "no", "nothing", "empty", "neither", "both", "tie", "all")),
}
ATTRIBUTES = ("colors", "shapes", "sizes", "positions", "backgrounds")


def words(text: str) -> list[str]:
    """Lower-case words, shapes in the singular."""
    found = re.findall(r"[a-z]+", text.lower())
    singular = {f"{shape}{'es' if shape.endswith('s') else 's'}": shape for shape in SHAPES}
    return [singular.get(word, word) for word in found]


def facts(answer: str, question: str, kind: str) -> list[str]:
    """The answer's words of `kind` that the question does not hold, in order."""
    given = set(words(question))
    return [word for word in words(answer) if word in KINDS[kind] and word not in given]


def compare(answer: str, reference: str, question: str, kind: str) -> tuple[int, int]:
    """Facts of `kind` that both hold in the same order, and the longer one's number of facts.

    The order is compared by the longest common subsequence: a thing left out or made up costs its own facts only.
    """
    said, right = facts(answer, question, kind), facts(reference, question, kind)
    common = [0] * (len(right) + 1)
    for word in said:
        diagonal = 0
        for index, other in enumerate(right, 1):
            best = diagonal + 1 if word == other else max(common[index], common[index - 1])
            diagonal, common[index] = common[index], best
    return common[-1], max(len(said), len(right))


def is_right(answer: str, reference: str, question: str) -> bool:
    """Whether every fact of every kind agrees."""
    return all(facts(answer, question, kind) == facts(reference, question, kind) for kind in KINDS)


def form(answer: str) -> str:
    """The answer with every fact word masked: what remains is its form."""
    every = frozenset().union(*KINDS.values())
    return re.sub(
        r"[A-Za-z]+",
        lambda m: "_" if words(m.group()) and words(m.group())[0] in every else m.group(),
        answer,
    )
