"""Dressed people: seeds decide everything, the pixels show what the scene says, and every answer is true of it."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from family import CAPTION, DRILL, GENERAL, IGNORED, MULTI_TURN, PICTURE_SIZES, REASONING, TOKEN_SIDE
from figures import captions, questions, reasoning
from figures.entry import FAMILY
from figures.scene import GARMENT_COLORS, GARMENTS, HELD, PEOPLE, make_scene
from labels import CLASSES, NOTHING
from shapes.scene import BACKGROUNDS, COLORS

SEEDS = range(200)
WORN = re.compile(rf"({'|'.join(GARMENT_COLORS)}) ({'|'.join(GARMENTS)})\b")
COVERS = re.compile(  # told by hand, apart from the phrases' own tables
    rf"({'|'.join(GARMENT_COLORS)}) "
    r"(hat covers (?:her|his) head|scarf warms (?:her|his) neck|shirt covers (?:her|his) chest|"
    r"coat covers (?:her|his) back|gloves warm (?:her|his) hands|trousers cover (?:her|his) legs|"
    r"skirt covers (?:her|his) knees|shoes protect (?:her|his) feet)",
    re.IGNORECASE,
)
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def scene_of(seed: int, easy: bool = False):
    rng = random.Random(f"figures-test-{seed}")
    return rng, make_scene(rng, easy)


def outfit(person) -> list[tuple[str, str]]:
    return [(garment.color, garment.kind) for garment in person.garments]


def wardrobe(person) -> dict[str, str]:
    return {kind: color for color, kind in outfit(person)}


def truth(scene) -> list[tuple[str, str]]:
    return [fact for person in scene.people for fact in outfit(person)]


def facts_told(text: str) -> list[tuple[str, str]]:
    return [(color.lower(), kind) for color, kind in re.findall(WORN.pattern, text, re.IGNORECASE)]


def answers_of(asker, seeds=SEEDS):
    """Scene and turn of every seed whose scene allows the question."""
    for seed in seeds:
        rng, scene = scene_of(seed)
        if (turn := asker(rng, scene)) is not None:
            yield scene, turn


def test_the_same_seed_draws_the_same_bytes():
    first, second = (FAMILY.draw(scene_of(3)[1]).tobytes() for _ in range(2))
    assert first == second
    assert first != FAMILY.draw(scene_of(4)[1]).tobytes()


def test_scenes_reach_everything_there_is_to_tell():
    scenes = [scene_of(seed)[1] for seed in SEEDS]
    people = [person for scene in scenes for person in scene.people]
    assert {person.kind for person in people} == set(PEOPLE)
    assert {garment.kind for person in people for garment in person.garments} == set(GARMENTS)
    assert {garment.color for person in people for garment in person.garments} == set(GARMENT_COLORS)
    assert {person.held.kind for person in people if person.held} == set(HELD)
    assert {scene.background for scene in scenes} == set(BACKGROUNDS)
    assert {len(scene.people) for scene in scenes} == {1, 2, 3}


def test_people_differ_in_kind_and_wear_one_garment_for_each_part_from_head_to_feet():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        assert len({person.kind for person in scene.people}) == len(scene.people)
        assert [person.x for person in scene.people] == sorted(person.x for person in scene.people)
        for person in scene.people:
            kinds = [garment.kind for garment in person.garments]
            assert kinds == [kind for kind in GARMENTS if kind in kinds]
            assert len({"trousers", "skirt"} & set(kinds)) == len({"shirt", "coat"} & set(kinds)) == 1


def test_easy_scenes_ask_for_little():
    for seed in SEEDS:
        scene = scene_of(seed, easy=True)[1]
        assert len(scene.people) <= 2
        assert all(len(person.garments) <= 3 and person.held is None for person in scene.people)


def test_labels_name_the_color_of_the_pixels_below_them():
    for seed in range(60):
        _, scene = scene_of(seed)
        picture = FAMILY.draw(scene)
        assert picture.size == scene.size
        assert picture.size in PICTURE_SIZES
        pixels = np.asarray(picture).astype(int)
        labels = FAMILY.label(scene)
        columns = scene.size[0] // TOKEN_SIDE
        assert {len(values) for values in labels.values()} == {columns * (scene.size[1] // TOKEN_SIDE)}
        for token, index in enumerate(labels["color"]):
            row, column = divmod(token, columns)
            patch = pixels[row * 28 : row * 28 + 28, column * 28 : column * 28 + 28]
            if index == IGNORED:
                continue
            word = CLASSES["color"][index]
            if word == NOTHING:
                continue
            near = np.abs(patch - np.array(COLORS[word])).max(axis=2) <= 30
            assert near.mean() > 0.04, (seed, token, word)


def test_labels_name_nearly_every_garment_in_the_half_of_the_picture_where_it_is_worn():
    missed = Counter()
    for seed in SEEDS:
        _, scene = scene_of(seed)
        labels = FAMILY.label(scene)
        columns = scene.size[0] // TOKEN_SIDE
        axes = [person.x for person in scene.people]
        seen = set()
        for token, index in enumerate(labels["thing"]):
            word = NOTHING if index == IGNORED else CLASSES["thing"][index]
            if word in GARMENTS:
                middle = token % columns * TOKEN_SIDE + TOKEN_SIDE / 2
                owners = [p for p in scene.people if p.wears(word)]
                nearest = min(owners, key=lambda person: abs(person.x - middle))
                assert abs(nearest.x - middle) < 56
                seen.add((axes.index(nearest.x), word))
        for index, person in enumerate(scene.people):
            for _, kind in outfit(person):
                missed[(index, kind) in seen] += 1
    assert missed[True] > 0.96 * missed.total()


def test_regions_lie_around_every_garment_and_say_its_color():
    for seed in range(60):
        _, scene = scene_of(seed)
        told = Counter(
            (region.facts["thing"], region.facts["color"], region.facts["column"])
            for region in FAMILY.regions(scene)
            if region.facts["thing"] in GARMENTS
        )
        right = Counter(
            (kind, color, person.place) for person in scene.people for color, kind in outfit(person)
        )
        assert told == right
        pixels = np.asarray(FAMILY.draw(scene)).astype(int)
        for region in FAMILY.regions(scene):
            if region.facts["thing"] in GARMENTS:
                left, top, right_side, bottom = (max(0, int(side)) for side in region.box)
                near = np.abs(pixels[top:bottom, left:right_side] - np.array(COLORS[region.facts["color"]]))
                assert (near.max(axis=2) <= 30).mean() > 0.04


@pytest.mark.parametrize(
    "tell",
    [captions.plain, captions.detailed, captions.seen, captions.bullets, captions.numbered, captions.story,
     captions.catalogue, captions.guided, captions.laundry, captions.by_color],
)  # fmt: skip
def test_descriptions_tell_every_garment_in_order(tell):
    for seed in SEEDS:
        _, scene = scene_of(seed)
        assert facts_told(tell(scene)) == truth(scene), tell(scene)


@pytest.mark.parametrize("tell", [captions.plain, captions.detailed, captions.numbered, captions.guided])
def test_each_garment_covers_its_own_part_of_the_body(tell):
    for seed in SEEDS:
        _, scene = scene_of(seed)
        assert len(COVERS.findall(tell(scene))) == len(truth(scene)), tell(scene)


def test_a_description_of_two_dressed_women_says_covers_her_and_protect_her_twice():
    """What one key of the last token confuses, keys of three tokens tell apart."""
    found = 0
    for seed in range(600):
        _, scene = scene_of(seed)
        if {person.kind for person in scene.people} == {"woman", "girl"} and all(
            person.wears("shoes") for person in scene.people
        ):
            found += 1
            for tell in (captions.plain, captions.detailed, captions.numbered, captions.guided):
                assert tell(scene).count("covers her") >= 2
                assert tell(scene).count("protect her") == 2
    assert found > 20


def test_reversed_descriptions_are_reversed():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        assert facts_told(captions.feet_up(scene)) == [f for p in scene.people for f in outfit(p)[::-1]]
        assert facts_told(captions.right_to_left(scene)) == [f for p in scene.people[::-1] for f in outfit(p)]


def test_json_and_tables_parse_to_the_scene():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        told = json.loads(captions.as_json(scene))
        assert told["background"] == scene.background
        for entry, person in zip(told["people"], scene.people, strict=True):
            assert (entry["person"], entry["position"]) == (person.kind, person.place)
            assert [(color, kind) for kind, color in entry.items() if kind in GARMENTS] == outfit(person)
            assert ("holds" in entry) == (person.held is not None)
        _, _, *rows = captions.as_table(scene).split("\n")
        cells = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows]
        assert cells == [(p.kind, kind, color) for p in scene.people for color, kind in outfit(p)]
        head, _, *rows = captions.side_by_side(scene).split("\n")
        names = [cell.strip() for cell in head.strip("|").split("|")][1:]
        read = {name: [] for name in names}
        for row in rows:
            _, *cells = (cell.strip() for cell in row.strip("|").split("|"))
            for name, cell in zip(names, cells, strict=True):
                read[name] += [] if cell == "nothing" else [tuple(cell.split(" "))]
        assert len(rows) == 6
        assert read == {person.kind: outfit(person) for person in scene.people}


def test_sorted_descriptions_hold_each_garment_once():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        owned = Counter(
            (color, kind, person.kind) for person in scene.people for color, kind in outfit(person)
        )
        read = Counter()
        for sentence in captions.by_color(scene).rstrip(".").split(". "):
            color, _, things = sentence.partition(":")
            read.update((color.lower(), *pair) for pair in re.findall(r"the (\w+) of the (\w+)", things))
        assert read == owned
        told = captions.by_garment(scene)
        read = Counter(
            (color, kind, who)
            for who, color, kind in re.findall(
                rf"the ({'|'.join(PEOPLE)})(?: has)?(?: a)? {WORN.pattern}", told
            )
        )
        assert read == owned
        assert told.count("nothing") == 6 * len(scene.people) - owned.total()


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


def test_captions_take_many_forms_and_all_of_them_are_asked():
    turns = [captions.ask(*scene_of(seed)) for seed in range(500)]
    assert {turn.question for turn in turns} == {q for _, asked in captions.FORMS for q in asked}
    facts = re.compile(
        rf"\b({'|'.join(word for words in FAMILY.facts.values() for word in words)})\b", re.IGNORECASE
    )
    assert len({facts.sub("_", turn.answer) for turn in turns}) >= 30
