"""Pictures and the grammar: seeds decide everything, and every answer is true of its scene."""

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

from family import IGNORED
from labels import CLASSES
from language import NUMBERS
from reading import compare, form, is_right
from shapes import captions, questions, reasoning
from shapes.entry import FAMILY
from shapes.labels import COVERED, SLIVER, covered_share, label, regions
from shapes.scene import BACKGROUNDS, COLORS, PLACES, SHAPES, SIZES, _outline, draw, make_scene

SEEDS = range(150)
THING = re.compile(rf"({'|'.join(SIZES)}) ({'|'.join(COLORS)}) ({'|'.join(SHAPES)})")
PLACE = re.compile("|".join(sorted(PLACES, key=len, reverse=True)))


def scene_of(seed: int, num_things: int | None = None):
    rng = random.Random(f"test-{seed}")
    return rng, make_scene(rng, num_things=num_things)


def truth(scene) -> list[tuple[str, str, str, str]]:
    return [(t.size, t.color, t.shape, t.place) for t in scene.things]


def test_the_same_seed_draws_the_same_bytes():
    first, second = (draw(scene_of(7)[1]).tobytes() for _ in range(2))
    assert first == second
    assert first != draw(scene_of(8)[1]).tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_every_thing_stays_inside_its_cell_and_shows_its_color(seed):
    _, scene = scene_of(seed)
    pixels = np.asarray(draw(scene)).astype(int)
    assert pixels.shape == (168, 168, 3)
    for thing in scene.things:
        match = (np.abs(pixels - np.array(thing.rgb)) <= 2).all(axis=2)
        rows, columns = np.nonzero(
            match[thing.row * 56 : thing.row * 56 + 56, thing.column * 56 : thing.column * 56 + 56]
        )
        assert len(rows) > 60
        extent = max(np.ptp(rows), np.ptp(columns)) + 1
        assert extent > 30 if thing.size == "big" else extent < 27
    empty = [cell for cell in range(9) if scene.at(cell) is None]
    for cell in empty:
        row, column = divmod(cell, 3)
        inner = pixels[row * 56 + 4 : row * 56 + 52, column * 56 + 4 : column * 56 + 52]
        assert (inner == np.array(scene.background_rgb)).all()


def test_scenes_reject_numbers_of_things_the_grid_cannot_hold():
    with pytest.raises(ValueError, match=r"num_things must lie in 1..6; got num_things=7"):
        make_scene(random.Random(0), num_things=7)


def test_an_unknown_shape_is_named():
    with pytest.raises(ValueError, match=r"shape must be one of .*; got shape='hexagon'"):
        _outline("hexagon", 0, 0, 1)


def test_all_colors_shapes_sizes_backgrounds_and_places_occur():
    scenes = [scene_of(seed)[1] for seed in SEEDS]
    things = [thing for scene in scenes for thing in scene.things]
    assert {t.color for t in things} == set(COLORS)
    assert {t.shape for t in things} == set(SHAPES)
    assert {t.size for t in things} == set(SIZES)
    assert {t.place for t in things} == set(PLACES)
    assert {scene.background for scene in scenes} == set(BACKGROUNDS)
    assert {len(scene.things) for scene in scenes} == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("caption", [captions.plain, captions.seen, captions.numbered, captions.bullets])
def test_descriptions_name_every_thing_with_its_place(caption):
    for seed in SEEDS:
        _, scene = scene_of(seed)
        text = caption(scene)
        # Independent reading: pair each place with the thing in the same clause.
        clauses = list(
            re.split(r"[.\n]|(?<=left),|(?<=right),|(?<=center),|(?<=center) and|(?<=t) and", text)
        )
        read = []
        for clause in clauses:
            thing, place = THING.search(clause), PLACE.search(clause)
            if thing and place:
                read.append((*thing.groups(), place.group()))
        assert sorted(read) == sorted(truth(scene)), text


def test_json_captions_parse_to_the_scene():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        told = json.loads(captions.as_json(scene))
        assert told["background"] == scene.background
        assert told["count"] == len(scene.things)
        assert [(t["size"], t["color"], t["shape"], t["position"]) for t in told["shapes"]] == truth(scene)


def test_tables_have_a_row_for_every_thing():
    for seed in SEEDS:
        _, scene = scene_of(seed)
        _, _, *rows = captions.as_table(scene).split("\n")
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        assert [(size, color, shape, place) for shape, color, size, place in cells] == truth(scene)


def test_row_captions_put_every_thing_in_its_row_and_column():
    where = {"on the left": 0, "in the center": 1, "on the right": 2}
    for seed in SEEDS:
        _, scene = scene_of(seed)
        read = []
        for row, sentence in enumerate(captions.by_rows(scene).split(". ")):
            for size, color, shape, side in re.findall(rf"{THING.pattern} ({'|'.join(where)})", sentence):
                read.append((size, color, shape, PLACES[3 * row + where[side]]))
        assert read == truth(scene)


def test_counts_are_those_of_the_scene():
    numbers = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
    asked_kinds = Counter()
    for seed in range(400):
        rng, scene = scene_of(seed)
        turn = questions.count(rng, scene)
        asked = re.match(r"How many (.*?) are (?:there|in)", turn.question).group(1)
        *value, noun = asked.split()
        wanted = [
            t
            for t in scene.things
            if (noun == "shapes" or noun.startswith(t.shape)) and (not value or value[0] in (t.color, t.size))
        ]
        spoken = [numbers[word] for word in re.findall(r"[a-z]+", turn.answer.lower()) if word in numbers]
        assert spoken[-1] == len(wanted), turn
        if value or noun != "shapes":  # counted aloud: one more for each that is wanted
            assert [n for n in spoken[:-1] if n] == list(range(1, len(wanted) + 1)), turn
        asked_kinds[bool(value)] += 1
    assert min(asked_kinds.values()) > 50


def test_taking_away_leaves_the_rest():
    for seed in SEEDS:
        rng, scene = scene_of(seed)
        turn = reasoning.take_away(rng, scene)
        if turn is None:
            assert len(scene.things) == 1
            continue
        words = re.match(r"If all (.*) are taken", turn.question).group(1).split()
        keep = [
            fact
            for fact in truth(scene)
            if words[0] not in fact[:2] and not (len(words) == 1 and words[0].startswith(fact[2]))
        ]
        fates = [sentence for sentence in turn.answer.split(". ") if re.search(": (goes|stays)", sentence)]
        assert [PLACE.search(sentence).group() for sentence in fates] == [fact[3] for fact in truth(scene)]
        left = [PLACE.search(sentence).group() for sentence in fates if ": stays" in sentence]
        assert left == [fact[3] for fact in keep]


def test_mirrored_pictures_move_every_thing_to_the_other_side():
    swap = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
    for seed in SEEDS:
        rng, scene = scene_of(seed)
        turn = reasoning.mirror(rng, scene)
        sides = ("left", "right") if "left and right" in turn.question else ("top", "bottom")
        for thing, sentence in zip(scene.things, turn.answer.rstrip(".").split(". "), strict=True):
            old, new = PLACE.findall(sentence)[0], PLACE.findall(sentence)[-1]
            assert old == thing.place
            assert new == " ".join(swap[w] if w in sides else w for w in old.split())


def test_pointing_answers_hold_what_the_place_holds():
    for seed in range(300):
        rng, scene = scene_of(seed)
        turn = questions.point(rng, scene)
        thing = scene.at(PLACES.index(PLACE.search(turn.question).group()))
        rest = turn.answer.lower()
        if thing is None:
            assert re.search("nothing|empty|no shape", rest)
        else:
            assert thing.shape in rest or thing.color in rest
            assert not any(color in rest for color in set(COLORS) - {thing.color})


def test_the_question_decides_the_form_and_the_answer():
    """Greedy decoding can only be right if one question about one picture has one answer."""
    for seed in range(40):
        _, scene = scene_of(seed)
        answers: dict[tuple[str, ...], set[str]] = {}
        for trial in range(120):
            rng = random.Random(f"form-{seed}-{trial}")
            turns = FAMILY.converse(rng, scene, rng.choice(sorted(FAMILY.conversations)))
            for index, turn in enumerate(turns):
                asked = tuple(earlier.question for earlier in turns[: index + 1])
                answers.setdefault(asked, set()).add(turn.answer)
        assert all(len(found) == 1 for found in answers.values())


def test_captions_take_many_forms():
    forms = Counter(form(captions.ask(*scene_of(seed)).answer, "shapes") for seed in range(500))
    assert len(forms) >= 30


def test_conversations_have_one_to_three_turns_and_refer_to_the_scene():
    lengths = set()
    for seed in SEEDS:
        rng, scene = scene_of(seed)
        lengths.add(len(FAMILY.converse(rng, scene, rng.choice(sorted(FAMILY.conversations)))))
    assert lengths == {1, 2, 3}


def test_dense_labels_agree_with_the_pixels_under_each_token():
    for seed in range(30):
        _, scene = scene_of(seed)
        pixels = np.asarray(draw(scene)).astype(int)
        labels = label(scene)
        for token in range(36):
            row, column = divmod(token, 6)
            patch = pixels[row * 28 : row * 28 + 28, column * 28 : column * 28 + 28]
            name = labels["color"][token]
            if name == IGNORED:
                thing = scene.at(row // 2 * 3 + column // 2)
                assert SLIVER < covered_share(thing, row, column) < COVERED
            elif CLASSES["color"][name] == "nothing":
                inner = patch[4:-4, 4:-4].reshape(-1, 3)
                assert (np.abs(inner - np.array(scene.background_rgb)).sum(axis=1) < 60).mean() > 0.9
            else:
                thing = scene.at(row // 2 * 3 + column // 2)
                assert (np.abs(patch - np.array(thing.rgb)).sum(axis=2) < 30).any()


def test_regions_name_the_thing_in_each_cell():
    for seed in range(30):
        _, scene = scene_of(seed)
        found = regions(scene)
        assert len(found) == 9
        for cell, region in enumerate(found):
            left, top, right, bottom = region.box
            assert (left // 56, top // 56, right - left, bottom - top) == (cell % 3, cell // 3, 56, 56)
            held = [fact[:3] for fact in truth(scene) if fact[3] == PLACES[cell]]
            expected = held[0] if held else ("nothing",) * 3
            assert tuple(region.facts[name] for name in ("size", "color", "thing")) == expected


def test_reading_finds_facts_the_question_does_not_give_away():
    question, right = "What color is the circle?", "The circle is red."
    assert compare("The circle is red.", right, question, "shapes", "colors") == (1, 1)
    assert compare("The circle is blue.", right, question, "shapes", "colors") == (0, 1)
    assert compare("The circle is red.", right, question, "shapes", "shapes") == (0, 0)
    assert compare("red, blue", "red", "?", "shapes", "colors") == (1, 2)
    assert compare("red, green, blue", "red, blue", "?", "shapes", "colors") == (2, 3)
    assert compare("blue, red", "red, blue", "?", "shapes", "colors") == (1, 2)
    assert is_right("It is a red circle.", "A red circle.", "?", "shapes")
    assert not is_right("No, it is red.", "Yes, it is red.", "?", "shapes")


def test_the_fullest_lines_and_commonest_values_are_judged_by_their_own_numbers():
    for seed in range(150):
        rng, scene = scene_of(seed)
        turn = reasoning.fullest(rng, scene)
        by_row = "row" in turn.question
        names = ("top", "middle", "bottom") if by_row else ("left", "center", "right")
        counts = [0, 0, 0]
        for cell in range(9):
            taken = scene.at(cell) is not None
            counts[cell // 3 if by_row else cell % 3] += taken
            assert f"{PLACES[cell]} {'taken' if taken else 'empty'}" in turn.answer
        conclusion = turn.answer.rpartition(" So ")[2]
        best = [name for name, count in zip(names, counts, strict=True) if count == max(counts)]
        assert re.findall(rf"the (\w+) {'row' if by_row else 'column'}", conclusion) == best
        turn = reasoning.commonest(rng, scene)
        attribute = re.match(r"Which (\w+) is", turn.question).group(1)
        tally = Counter(getattr(thing, attribute) for thing in scene.things)
        told = re.findall(r"(\w+) has (\w+), (yes|no)", turn.answer.lower())
        every = list(COLORS if attribute == "color" else SHAPES)
        assert [(name, count) for name, count, _ in told] == [
            (name, NUMBERS[tally[name]] if tally[name] else "none") for name in every
        ]
        best = [name for name in every if tally[name] == max(tally.values())]
        assert [name for name, _, verdict in told if verdict == "yes"] == best
        known = "|".join(COLORS if attribute == "color" else SHAPES)
        assert re.findall(rf"\b({known})\b", turn.answer.rpartition(" So ")[2]) == best
