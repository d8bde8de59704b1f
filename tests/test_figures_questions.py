"""Answers about dressed people are true of the scene: colors, finders, verdicts, and conversations."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path

from dressed_people import NUMBERS, SEEDS, answers_of, facts_told, outfit, scene_of, truth, wardrobe

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from family import CAPTION, DRILL, GENERAL, MULTI_TURN, REASONING
from figures import questions, reasoning
from figures.entry import FAMILY
from figures.scene import GARMENTS, PEOPLE
from shapes.scene import COLORS


def test_color_questions_are_answered_with_the_color_worn():
    for asker in (questions.color, questions.color_by_place):
        for scene, turn in answers_of(asker):
            kind = re.search(rf"the ({'|'.join(GARMENTS)}) of", turn.question).group(1)
            [person] = [
                p
                for p in scene.people
                if f"the {p.kind}?" in turn.question
                or re.search(rf"person (on|in) the {p.place}", turn.question)
            ]
            worn = wardrobe(person).get(kind)
            assert (worn or "no") in turn.answer.split(" ")[-1] or f"wears no {kind}" in turn.answer
            assert set(re.findall("|".join(COLORS), turn.answer)) == ({worn} if worn else set())


def checks_told(evidence):
    """Garment, color asked, color seen and verdict of each sentence like 'Is her hat red? It is blue: no'."""
    return re.findall(
        rf"(?:Is|Are) (?:her|his|the) ({'|'.join(GARMENTS)})(?: of the \w+)? (\w+)\? "
        rf"(?:It is|They are) (\w+): (\w+)\.",
        evidence,
    )


def test_finders_name_exactly_those_who_wear_it():
    for scene, turn in answers_of(questions.who_wears_color):
        [(color, kind)] = facts_told(turn.question)
        right = [person.kind for person in scene.people if (color, kind) in outfit(person)]
        evidence, _, end = turn.answer.partition(" So ")
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", evidence) == [person.kind for person in scene.people]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", end) == right
        checks = checks_told(evidence)
        assert [(seen, worn) for worn, _, seen, _ in checks] == [f for f in truth(scene) if f[1] == kind]
        assert all(asked == color for _, asked, _, _ in checks)
        assert all((asked == seen) == (verdict == "yes") for _, asked, seen, verdict in checks)
    for scene, turn in answers_of(questions.who_wears):
        kind = re.search("|".join(GARMENTS), turn.question).group()
        right = [person.kind for person in scene.people if kind in wardrobe(person)]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", turn.answer.partition(" So ")[2]) == right
    for scene, turn in answers_of(questions.who_holds):
        right = [person.kind for person in scene.people if person.held is not None]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", turn.answer.partition(" So ")[2]) == right
    for scene, turn in answers_of(questions.in_color):
        who, color = re.match(r"Which clothes of the (\w+) are (\w+)\?", turn.question).groups()
        owned = outfit(next(person for person in scene.people if person.kind == who))
        evidence, _, end = turn.answer.partition(" So ")
        checks = checks_told(evidence)
        assert [(seen, worn) for worn, _, seen, _ in checks] == owned
        assert all((seen == color) == (verdict == "yes") for _, _, seen, verdict in checks)
        assert re.findall("|".join(GARMENTS), end) == [kind for shade, kind in owned if shade == color]


def test_verdicts_are_true():
    for scene, turn in answers_of(questions.wears):
        who, kind = re.match(rf"Does the (\w+) wear (?:a )?({'|'.join(GARMENTS)})\?", turn.question).groups()
        right = kind in wardrobe(next(person for person in scene.people if person.kind == who))
        assert turn.answer.endswith(("so no.", "so yes.")[right])
    for scene, turn in answers_of(questions.is_color):
        kind, who, asked = re.match(r"\w+ the (\w+) of the (\w+) (\w+)\?", turn.question).groups()
        right = wardrobe(next(person for person in scene.people if person.kind == who))[kind] == asked
        assert turn.answer.endswith(("so no.", "so yes.")[right])
    for scene, turn in answers_of(questions.is_there):
        kind = re.search("|".join(PEOPLE), turn.question).group()
        right = kind in [person.kind for person in scene.people]
        assert re.search(r"So (yes|no),", turn.answer).group(1) == ("no", "yes")[right]
    for scene, turn in answers_of(reasoning.twice):
        right = [p.kind for p in scene.people if max(Counter(wardrobe(p).values()).values()) > 1]
        end = turn.answer.partition(" So ")[2]
        assert end.startswith("yes, " if right else "no, ")
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", end) == right
    for scene, turn in answers_of(reasoning.winter):
        right = [p.kind for p in scene.people if {"hat", "scarf", "gloves"} <= set(wardrobe(p))]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", turn.answer.rpartition(" So ")[2]) == right


def test_no_answer_begins_with_what_only_follows_from_a_look_at_everyone():
    """A model this small looks things up one by one: counts and verdicts stand behind what they follow from."""
    early = re.compile(
        rf"(So|Yes|No|Nobody|None|Neither|There|In all|{'|'.join(NUMBERS)})\b(?! day)", re.IGNORECASE
    )  # "One day" begins a story
    for seed in SEEDS:
        rng, scene = scene_of(seed)
        for topic in FAMILY.conversations:
            for turn in FAMILY.converse(rng, scene, topic):
                assert not early.match(turn.answer), turn
                asks = re.search("how many|the most", turn.question.lower())
                assert not asks or turn.kind == "count", turn


def test_one_question_about_one_picture_has_one_answer():
    """Greedy decoding can only be right if what was asked so far decides what comes."""
    for seed in range(50):
        _, scene = scene_of(seed)
        answers: dict[str, set[str]] = {}
        for trial in range(60):
            rng = random.Random(f"one-{seed}-{trial}")
            for topic in FAMILY.conversations:
                asked = ""
                for turn in FAMILY.converse(rng, scene, topic):
                    asked += turn.question
                    answers.setdefault(asked, set()).add(turn.answer)
                    asked += turn.answer
        assert all(len(found) == 1 for found in answers.values())


def test_every_topic_has_its_conversations_of_fitting_length():
    sizes = {topic: set() for topic in FAMILY.conversations}
    assert set(sizes) == {GENERAL, CAPTION, REASONING, MULTI_TURN, DRILL}
    for seed in SEEDS:
        rng, scene = scene_of(seed)
        for topic, found in sizes.items():
            turns = FAMILY.converse(rng, scene, topic)
            found.add(len(turns))
            for turn in turns:
                assert turn.topic == topic or topic == DRILL
                assert 3 <= len(re.findall(r"\w+|[^\w\s]", turn.answer)) <= 200
                assert turn.answer[0] == turn.answer[0].upper()
    assert sizes.pop(MULTI_TURN) == {2, 3}
    assert all(found == {1} for found in sizes.values())
