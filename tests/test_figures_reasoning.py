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
        judged, _, conclusion = end.partition(" So ")
        assert judged.startswith(f"number is {NUMBERS[max(counts)]}. ")
        for person, count in zip(scene.people, counts, strict=True):
            verdict = "yes" if count == max(counts) else "no"
            assert f"the {person.kind} has {NUMBERS[count]}, {verdict}" in judged.lower()
        best = [p.kind for p, count in zip(scene.people, counts, strict=True) if count == max(counts)]
        assert re.findall(rf"\b({'|'.join(PEOPLE)})\b", conclusion) == best


def test_step_by_step_counts_end_with_the_number_that_is_there():
    for asker, of in ((reasoning.count_aloud, 1), (reasoning.count_color, 0)):
        for scene, turn in answers_of(asker):
            wanted = re.search("|".join((GARMENT_COLORS, GARMENTS)[of]), turn.question).group()
            right = sum(fact[of] == wanted for fact in truth(scene))
            assert turn.answer.rstrip(".").split()[-1] == NUMBERS[right]


def _tally(told: str) -> list[tuple[str, str, str]]:
    """Kind, color and running number of every garment told."""
    each = rf"({'|'.join(GARMENTS)})(?: of the \w+)? (?:is|are) (\w+) number (\w+)"
    return re.findall(each, told)


def test_colors_worn_twice_are_found_person_by_person():
    for scene, turn in answers_of(reasoning.twice):
        *told, _ = turn.answer.split(". ")
        for person, sentence in zip(scene.people, told, strict=True):
            steps = _tally(sentence)
            assert [(color, kind) for kind, color, _ in steps] == outfit(person)
            colors = [color for color, _ in outfit(person)]
            assert [n for _, _, n in steps] == [
                NUMBERS[colors[: i + 1].count(c)] for i, c in enumerate(colors)
            ]
            assert sentence.endswith("yes" if len(set(colors)) < len(colors) else "no")


def test_the_most_common_color_is_found_by_its_count():
    for scene, turn in answers_of(reasoning.commonest):
        counts = Counter(color for color, _ in truth(scene))
        best = {color for color, count in counts.items() if count == max(counts.values())}
        evidence, judged, conclusion = re.split(" The highest | So ", turn.answer)
        seen: Counter[str] = Counter()
        steps = _tally(evidence)
        assert [(color, kind) for kind, color, _ in steps] == truth(scene)
        for _, color, count in steps:
            seen[color] += 1
            assert count == NUMBERS[seen[color]]
        told = re.findall(r"(\w+) has (\w+), (yes|no)", judged.lower())
        assert [color for color, *_ in told] == list(GARMENT_COLORS)
        assert all(counts[color] == (NUMBERS.index(n) if n != "none" else 0) for color, n, _ in told)
        assert {color for color, _, verdict in told if verdict == "yes"} == best
        assert set(re.findall("|".join(COLORS), conclusion)) == best


def test_comparisons_put_both_colors_side_by_side_and_count_the_equal_ones():
    for asker in (reasoning.compare, reasoning.matches):
        for scene, turn in answers_of(asker):
            mine, theirs = (
                next(p for p in scene.people if p.kind == kind)
                for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
            )
            one, other = wardrobe(mine), wardrobe(theirs)
            evidence, _, conclusion = turn.answer.partition(" So ")
            walked, _, listed = evidence.partition(f" The {theirs.kind} has ")
            assert facts_told(walked)[: len(one)] == outfit(mine)
            if asker is reasoning.compare:
                wearers = re.findall(r"(?:an? )?(\w+), (both|only s?he)", listed)
                she = "she" if theirs.kind in ("girl", "woman") else "he"
                assert wearers == [(kind, "both" if kind in one else f"only {she}") for kind in other]
            verdicts = re.findall(
                rf"(\w+) of the {theirs.kind} (\w+)\? (?:It is|They are|There is|There are) (\w+): (\w+)",
                walked,
            )
            assert [step[:3] for step in verdicts] == [(k, one[k], other.get(k, "none")) for k in one]
            equal = [kind for kind in one if other.get(kind) == one[kind]]
            running = iter(NUMBERS[1:])
            assert [step[3] for step in verdicts] == [next(running) if k in equal else "no" for k in one]
            if asker is reasoning.compare:
                assert conclusion.startswith(NUMBERS[len(equal)] if equal else "no ")
            else:
                assert re.findall(rf"\b({'|'.join(GARMENTS)})\b", conclusion) == equal


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


def test_what_only_one_has_follows_the_verdicts_garment_by_garment():
    for scene, turn in answers_of(reasoning.differ):
        one, other = (
            wardrobe(next(p for p in scene.people if p.kind == kind))
            for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
        )
        evidence, conclusion = turn.answer.split(" So ")
        verdicts = [step.rpartition(": ")[2].rstrip(".").split() for step in evidence.split("; ")]
        assert [verdict[0] for verdict in verdicts] == ["both" if kind in other else "only" for kind in one]
        assert [verdict[-1] for verdict in verdicts if verdict[0] == "only"] == [
            k for k in one if k not in other
        ]
        kept = [kind for kind in one if kind not in other]
        assert re.findall(rf"\b({'|'.join(GARMENTS)})\b", conclusion) == kept


def test_a_swap_of_one_garment_gives_each_the_others_color():
    for scene, turn in answers_of(reasoning.swap):
        one, other = (
            next(p for p in scene.people if p.kind == kind)
            for kind in re.findall(rf"the ({'|'.join(PEOPLE)})", turn.question)
        )
        now, after = turn.answer.split(": ", 1)
        (mine, kind), (yours, _) = facts_told(now)
        assert (wardrobe(one)[kind], wardrobe(other)[kind]) == (mine, yours)
        assert ("nobody will notice" in after) == (mine == yours)
        _, then, after = after.split(". ", 2)
        assert facts_told(then) == [(yours, kind), (mine, kind)]
        swapped = [
            (color if found != kind else new, found)
            for person, new in ((one, yours), (other, mine))
            for color, found in outfit(person)
        ]
        assert facts_told(after) == swapped
