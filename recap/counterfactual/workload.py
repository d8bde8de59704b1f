"""All questions of a workload diagnosed, each with another picture of its own topic, and their figures pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recap.bench.workload import Conversation
from recap.counterfactual.pooled import Diagnosed, pooled_figures
from recap.counterfactual.question import diagnose
from recap.errors import InputError, RecapError
from recap.pictures import open_picture
from recap.targets.transformers_vlm import TransformersTarget


class Question(NamedTuple):
    """The first turn of a conversation about `image`, and the picture that does not belong to it."""

    id: str
    topic: str
    question: str
    image: Path
    other: Path


class LeftOut(NamedTuple):
    """A question without figures, and why."""

    id: str
    reason: str


def pair_pictures(asked: Sequence[Conversation], everything: Sequence[Conversation]) -> list[Question]:
    """Each first turn that has a picture, with the next other picture of its topic in `everything`, going round.

    A topic of one picture takes the next one of any topic. Later turns build on answers about the right picture and
    are not asked.

    Raises:
        InputError: there are not two pictures.
    """
    pictures: dict[str | None, list[Path]] = {None: []}
    for talk in everything:
        for group in (pictures.setdefault(talk.topic, []), pictures[None]):
            if talk.image is not None and talk.image not in group:
                group.append(talk.image)
    if len(pictures[None]) < 2:
        raise InputError(
            "Two pictures are needed at least, as every question is asked about another one as well."
        )
    questions = []
    for talk in asked:
        if talk.image is not None:
            group = pictures[talk.topic] if len(pictures[talk.topic]) > 1 else pictures[None]
            other = group[(group.index(talk.image) + 1) % len(group)]
            questions.append(Question(talk.id, talk.topic, talk.turns[0], talk.image, other))
    return questions


def diagnose_all(
    target: TransformersTarget, questions: Sequence[Question], max_new_tokens: int
) -> Iterator[tuple[Question, Diagnosed | LeftOut]]:
    """One question after the other, each a stream of its own; one that cannot be diagnosed is left out by name."""
    for question in questions:
        try:
            image, other = (open_picture(path).image for path in (question.image, question.other))
            diagnosis = diagnose(target, image, question.question, other, max_new_tokens)
        except RecapError as error:
            yield question, LeftOut(question.id, str(error))
        else:
            yield question, Diagnosed(question.topic, str(question.image), diagnosis)


def pooled_report(
    target: TransformersTarget, results: Sequence[tuple[Question, Diagnosed | LeftOut]]
) -> dict[str, Any]:
    """The report of many questions, ready for JSON: pooled figures, and every question's own part."""
    done = [(question, result) for question, result in results if isinstance(result, Diagnosed)]
    return {
        "schema": 1,
        "kind": "counterfactual-workload",
        "model": target.name,
        "topics": Counter(question.topic for question, _ in done),
        "num_questions": len(done),
        "num_pictures": len({question.image for question, _ in done}),
        "num_passes": sum(result.diagnosis.num_passes for _, result in done),
        "num_roots": sum(len(result.diagnosis.roots) for _, result in done),
        "left_out": [result._asdict() for _, result in results if isinstance(result, LeftOut)],
        **pooled_figures([result for _, result in done]),
        "questions": [
            {
                "id": question.id,
                "topic": question.topic,
                "image": question.image.name,
                "other": question.other.name,
                **result.diagnosis.record(),
            }
            for question, result in done
        ],
    }
