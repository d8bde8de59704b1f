"""What is counted, compared or changed in a picture of dressed people follows from the scene."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from dressed_people import NUMBERS, answers_of, facts_told, outfit, truth, wardrobe

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from figures import questions, reasoning
from figures.scene import GARMENT_COLORS, GARMENTS, PEOPLE
from shapes.scene import COLORS


def test_running_numbers_go_up_by_one_to_the_number_in_the_conclusion():
    for asker, sum_of in (
        (questions.count, None),
        (questions.people, None),
        (reasoning.count_color, "total"),
        (reasoning.compare, None),
    ):
        for scene, turn in answers_of(asker):
            assert turn.kind == "count"
            evidence, end = re.split(" The total " if sum_of else " So ", turn.answer)
            steps = re.findall(rf"[,:] ({'|'.join(NUMBERS)})\b", evidence)
            assert steps == list(NUMBERS[1 : len(steps) + 1])
            said = re.search(rf"\b({'|'.join(NUMBERS)}|no|nobody)\b", end).group()
            assert said == NUMBERS[len(steps)] or (not steps and said in ("no", "nobody"))
            if asker is questions.count:
                kind = re.search("|".join(GARMENTS), turn.question).group()
                assert len(steps) == sum(kind in wardrobe(person) for person in scene.people)
            elif asker is questions.people:
                assert len(steps) == len(scene.people)


def test_whoever_wears_the_most_is_found_by_the_last_of_the_running_numbers():
    for scene, turn in answers_of(reasoning.most):
        counts = [len(person.garments) for person in scene.people]
        evidence, _, end = turn.answer.partition(" The highest ")
        last = [re.findall("|".join(NUMBERS), sentence)[-1] for sentence in evidence.split(". ")]
        assert last == [NUMBERS[count] for count in counts]
        assert f"is {NUMBERS[max(counts)]}," in end
        best = [p.kind for p, count in zip(scene.people, counts, strict=True) if count == max(counts)]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", end) == best


def test_step_by_step_counts_end_with_the_number_that_is_there():
    for asker, of in ((reasoning.count_aloud, 1), (reasoning.count_color, 0)):
        for scene, turn in answers_of(asker):
            wanted = re.search("|".join((GARMENT_COLORS, GARMENTS)[of]), turn.question).group()
            right = sum(fact[of] == wanted for fact in truth(scene))
            assert turn.answer.rstrip(".").split()[-1] == NUMBERS[right]


def test_the_most_common_color_is_found_by_its_count():
    for scene, turn in answers_of(reasoning.commonest):
        counts = Counter(color for color, _ in truth(scene))
        best = {color for color, count in counts.items() if count == max(counts.values())}
        assert set(re.findall("|".join(COLORS), turn.answer.rpartition("So ")[2])) == best


def test_comparisons_put_both_colors_side_by_side_and_count_the_equal_ones():
    for scene, turn in answers_of(reasoning.compare):
        one, other = (
            wardrobe(next(p for p in scene.people if p.kind == kind))
            for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
        )
        rows = re.findall(r"On the \w+: ([\w ]+) and ([\w ]+)", turn.answer)
        for worn, side in ((one, 0), (other, 1)):
            read = [row[side].removeprefix("a ").split(" ") for row in rows if row[side] != "nothing"]
            assert [(kind, color) for color, kind in read] == list(worn.items())
        equal = len(one.items() & other.items())
        assert f"So {NUMBERS[equal] if equal else 'no'} garment" in turn.answer


def test_repainted_clothes_change_nothing_but_the_color():
    for scene, turn in answers_of(reasoning.repaint):
        old, new = re.match(r"If all (\w+) clothes turn (\w+),", turn.question).groups()
        assert facts_told(turn.answer) == [
            (new if color == old else color, kind) for color, kind in truth(scene)
        ]


def test_those_who_swap_all_clothes_wear_the_others():
    for scene, turn in answers_of(reasoning.exchange):
        one, other = (
            next(person for person in scene.people if person.kind == kind)
            for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
        )
        assert facts_told(turn.answer) == [*outfit(other), *outfit(one)]
        first = re.findall(r"\b(her|his)\b", turn.answer)[: len(other.garments)]
        assert set(first) == {"her" if one.kind in ("woman", "girl") else "his"}


def test_what_remains_is_everything_but_the_garment_taken_off():
    for scene, turn in answers_of(reasoning.take_off):
        who, kind = re.match(r"If the (\w+) takes off the (\w+)", turn.question).groups()
        person = next(person for person in scene.people if person.kind == who)
        left = facts_told(turn.answer.partition("remains:")[2])
        assert left == [fact for fact in outfit(person) if fact[1] != kind]


def test_differences_of_numbers_follow_the_numbers():
    for scene, turn in answers_of(reasoning.how_many_more):
        counts = [
            len(next(p for p in scene.people if p.kind == kind).garments)
            for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
        ]
        sum_told = re.search(r"(\w+) minus (\w+) is (\w+)\.$", turn.answer)
        assert (sum_told is not None) == (counts[0] > counts[1])
        if sum_told:
            said = [NUMBERS.index(word.lower()) for word in sum_told.groups()]
            assert said == [*counts, counts[0] - counts[1]]
