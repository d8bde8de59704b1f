"""What the workload asks under each topic: twenty questions, each with the family of pictures it is about.

No topic asks the same thing twice: where a family has more askers than places, those with more to say come first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any

from charts import captions as chart_captions
from charts import questions as chart_questions
from charts import reasoning as chart_reasoning
from family import CAPTION, CHART, GENERAL, MULTI_TURN, REASONING, TEXT
from figures import captions as figure_captions
from figures import questions as figure_questions
from figures import reasoning as figure_reasoning
from language import Turn
from scenes import FAMILIES
from shapes import captions as shape_captions
from shapes import questions as shape_questions
from shapes import reasoning as shape_reasoning
from signs import captions as sign_captions
from signs import contents, prices
from signs import questions as sign_questions
from signs import reasoning as sign_reasoning
from signs.scene import LABEL, RECEIPT, SIGN

# Mean tokens of an answer in MMSpec itself (its page on GitHub), all turns of a conversation together.
MMSPEC_TOKENS = {
    GENERAL: 46.98,
    TEXT: 63.15,
    CAPTION: 191.90,
    CHART: 68.56,
    REASONING: 285.60,
    MULTI_TURN: 747.65,
}
MIN_SHAPES, MIN_PEOPLE, MIN_VALUES, MIN_LINES = 5, 2, 4, 3  # full pictures: long answers
FULL: dict[str, Callable[[Any], bool]] = {
    "shapes": lambda scene: len(scene.things) >= MIN_SHAPES,
    "figures": lambda scene: len(scene.people) >= MIN_PEOPLE,
    "charts": lambda chart: len(chart.labels) >= MIN_VALUES,
    "signs": lambda scene: len(scene.lines) >= MIN_LINES,
}
Asker = Callable[[random.Random, Any], "Turn | None"]


@dataclass(frozen=True)
class Question:
    """One question of the workload, before its picture is drawn.

    Attributes:
        family: name of the family of pictures.
        turns: (rng, scene) -> what is asked and answered, or None where this scene allows no such question.
        kind: which kind of sign has to be in the picture; "" where any will do, and for other families.
        form: the category where the form of the answer makes it, as "list: table"; "" elsewhere.
    """

    family: str
    turns: Callable[[random.Random, Any], list[Turn] | None]
    kind: str = ""
    form: str = ""

    def fits(self, scene: Any) -> bool:
        """Whether the scene holds enough, and what is asked about."""
        return FULL[self.family](scene) and self.kind in ("", getattr(scene, "kind", ""))

    def category(self, turns: Sequence[Turn]) -> str:
        """The grammar's own name for the kind of question; a conversation is called after what it is about first."""
        return self.form or next(turn.kind for turn in turns if turn.kind != "opening")


def _single(asker: Asker, rng: random.Random, scene: Any) -> list[Turn] | None:
    turn = asker(rng, scene)
    return None if turn is None else [turn]


def _ask(family: str, *askers: Asker, kind: str = "") -> list[Question]:
    return [Question(family, partial(_single, asker), kind) for asker in askers]


def _tell(
    name: str, family: str, captions: ModuleType, *forms: Callable[[Any], str], kind: str = ""
) -> list[Question]:
    """Questions about the whole picture, one a form of answer; such a question is called `name`."""
    return [
        Question(
            family,
            partial(_single, partial(captions.ask, form=form)),
            kind,
            f"{name}: {form.__name__.removeprefix('as_').replace('_', ' ')}",
        )
        for form in forms
    ]


def _opening(family: str, opening: str, num_turns: int, rng: random.Random, scene: Any) -> list[Turn] | None:
    turns = FAMILIES[family].conversations[MULTI_TURN](rng, scene)
    return turns if turns is not None and (turns[0].kind, len(turns)) == (opening, num_turns) else None


def _converse(family: str, *openings: str) -> list[Question]:
    """Conversations by the kind of their first turn, of three turns and of two in turn."""
    return [
        Question(family, partial(_opening, family, opening, 3 - index % 2))
        for index, opening in enumerate(openings)
    ]


def _in_turn(*families: Sequence[Question]) -> tuple[Question, ...]:
    """The first question of each family, then the second of each, ..."""
    return tuple(chain.from_iterable(zip(*families, strict=True)))


QUESTIONS: dict[str, tuple[Question, ...]] = {
    GENERAL: _in_turn(
        _ask(
            "shapes",
            shape_questions.everything, shape_questions.exists, shape_questions.where_color, shape_questions.line,
            shape_questions.count, shape_questions.position, shape_questions.palette, shape_questions.neighbor,
            shape_questions.color, shape_questions.point,
        ),
        _ask(
            "figures",
            figure_questions.everyone, figure_questions.in_color, figure_questions.who_wears_color,
            figure_questions.is_there, figure_questions.count, figure_questions.people, figure_questions.who_wears,
            figure_questions.dressed, figure_questions.on_the_body, figure_questions.color,
        ),
    ),
    TEXT: tuple(
        _ask("signs", sign_questions.line_by_line, contents.price, sign_questions.where, kind=RECEIPT)
        + _tell("list", "signs", sign_captions, sign_captions.as_table, sign_captions.numbered, kind=RECEIPT)
        + _ask("signs", sign_questions.spelled_words, sign_questions.everything, sign_questions.count, kind=SIGN)
        + _tell("list", "signs", sign_captions, sign_captions.by_words, kind=SIGN)
        + _ask("signs", contents.label_facts, sign_questions.end_word, kind=LABEL)
        + _tell("list", "signs", sign_captions, sign_captions.as_json, kind=LABEL)
        + _ask("signs", contents.has_item, contents.receipt_facts, sign_questions.spelled_words, kind=RECEIPT)
        + _tell("list", "signs", sign_captions, sign_captions.bullets, sign_captions.backward, kind=RECEIPT)
        + _ask("signs", sign_questions.line, sign_questions.spelled, sign_questions.neighbor, kind=SIGN)
    ),
    CAPTION: _in_turn(
        _tell(
            "caption", "shapes", shape_captions,
            shape_captions.plain, shape_captions.as_json, shape_captions.guided, shape_captions.poem,
            shape_captions.by_rows,
        ),
        _tell(
            "caption", "figures", figure_captions,
            figure_captions.story, figure_captions.detailed, figure_captions.side_by_side, figure_captions.catalogue,
            figure_captions.feet_up,
        ),
        _tell(
            "caption", "charts", chart_captions,
            chart_captions.complete, chart_captions.report, chart_captions.guided, chart_captions.compared,
            chart_captions.colors,
        ),
        _tell(
            "caption", "signs", sign_captions,
            sign_captions.complete, sign_captions.spoken, sign_captions.plain, sign_captions.detailed,
            sign_captions.guided,
        ),
    ),
    CHART: tuple(
        chain.from_iterable(
            zip(
                _ask(
                    "charts",
                    chart_questions.highest, chart_questions.above, chart_questions.trend, chart_questions.value,
                    chart_questions.together, chart_questions.title_of, chart_questions.lowest, chart_questions.count,
                ),
                _tell("list", "charts", chart_captions, *chart_questions.LISTS),
                strict=True,
            )
        )
    ) + tuple(
        _ask(
            "charts",
            chart_questions.difference, chart_questions.compare, chart_questions.categories, chart_questions.holder,
        )
    ),
    REASONING: _in_turn(
        _ask(
            "shapes",
            shape_reasoning.mirror, shape_reasoning.take_away, shape_reasoning.repaint, shape_reasoning.check_each,
            shape_reasoning.compare_counts,
        ),
        _ask(
            "figures",
            figure_reasoning.exchange, figure_reasoning.compare, figure_reasoning.commonest,
            figure_reasoning.trade_places, figure_reasoning.count_color,
        ),
        _ask(
            "charts",
            chart_reasoning.total, chart_reasoning.growth, chart_reasoning.order, chart_reasoning.what_if,
            chart_reasoning.scan,
        ),
        _ask("signs", prices.check_total, kind=RECEIPT)
        + _ask("signs", sign_reasoning.longer, kind=SIGN)
        + _ask("signs", prices.affordable, kind=RECEIPT)
        + _ask("signs", sign_reasoning.two_jars, kind=LABEL)
        + _ask("signs", sign_reasoning.has_word, kind=RECEIPT),
    ),
    MULTI_TURN: _in_turn(
        _converse("shapes", "caption", "caption", "opening", "caption", "caption"),
        _converse("figures", "caption", "caption", "opening", "opening", "caption"),
        _converse("charts", "caption", "caption", "extreme", "value", "title"),
        _converse("signs", "caption", "caption", "price", "label", "line"),
    ),
}  # fmt: skip
