"""What share of the answers, and of the facts in them, is right: the figures that an evaluation writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from family import TEXT
from reading import COMMON, FIGURES, compare, fact_kinds, facts, is_right

if TYPE_CHECKING:
    from evaluate import Item

Answer = tuple[str, bool]  # the text, and whether it ended by itself
SHORT_ANSWER = 60  # characters: a fact or two
HEADLINE_FACTS: dict[
    str, tuple[str, tuple[str, ...]]
] = {  # share -> a family and its kinds of facts, put together
    "shape_attributes": ("shapes", ("colors", "shapes", "sizes", "positions")),
    "dressed_attributes": ("figures", ("colors", "garments", "held", "people", "body", "places")),
    "chart_values": ("charts", (FIGURES,)),
}


class _Tally:
    """Counts of what is right and of all there is, by name."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, name: str, right: int, total: int = 1) -> None:
        self._counts[name][0] += right
        self._counts[name][1] += total

    def shares(self) -> dict[str, float]:
        """The shares 0..1; a name of which there was nothing is left out."""
        return {name: right / total for name, (right, total) in self._counts.items() if total}


def is_answer_right(item: Item, answer: str) -> bool:
    """Whether every fact agrees; where the question holds all of them, they prove nothing: the text has to agree."""
    question, reference, family = item.turn.question, item.turn.answer, item.family
    if any(facts(reference, question, family, kind) for kind in (*fact_kinds(family), *COMMON)):
        return is_right(answer, reference, question, family)
    return answer == reference


def score(items: Sequence[Item], answers: Sequence[Answer]) -> dict[str, float]:
    """Shares 0..1: of facts by kind, and of answers with every fact right by topic, of counts, of short answers, ..."""
    tally = _Tally()
    for item, (answer, ended) in zip(items, answers, strict=True):
        question, reference = item.turn.question, item.turn.answer
        for kind in fact_kinds(item.family):
            matched, total = compare(answer, reference, question, item.family, kind)
            tally.add(f"facts: {kind}", matched, total)
            tally.add("facts", matched, total)
        right = is_answer_right(item, answer)
        tally.add(item.part, right)
        tally.add("exact text", answer == reference)
        tally.add("ends", ended)
        if item.turn.kind == "count":
            tally.add("counts", right)
        if item.turn.kind == "compare counts":
            tally.add("comparisons of two counts", right)
        if len(reference) <= SHORT_ANSWER:
            tally.add("short answers", right)
    return dict(sorted(tally.shares().items()))


def headline(items: Sequence[Item], answers: Sequence[Answer]) -> dict[str, float]:
    """The shares 0..1 by which a model is judged, over all families; what was not asked about is left out.

    Attributes and chart values: facts that stand in the right order over all facts. `sign_exact`: answers about what a
    sign says that equal the right one letter by letter. `counts` and `short_answers`: those with every fact right.
    """
    tally = _Tally()
    for item, (answer, ended) in zip(items, answers, strict=True):
        question, reference = item.turn.question, item.turn.answer
        for name, (family, kinds) in HEADLINE_FACTS.items():
            for kind in kinds if item.family == family else ():
                tally.add(name, *compare(answer, reference, question, family, kind))
        right = is_answer_right(item, answer)
        if item.family == "signs" and item.part == TEXT:
            tally.add("sign_exact", answer == reference)
        if item.turn.kind == "count":
            tally.add("counts", right)
        if len(reference) <= SHORT_ANSWER:
            tally.add("short_answers", right)
        tally.add("ends", ended)
    return tally.shares()
