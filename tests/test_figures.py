"""Dressed people: seeds decide everything, and pixels, labels and regions show what the scene says."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from dressed_people import SEEDS, outfit, scene_of

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from family import IGNORED, PICTURE_SIZES, TOKEN_SIDE
from figures.entry import FAMILY
from figures.scene import GARMENT_COLORS, GARMENTS, HELD, PEOPLE
from labels import CLASSES, NOTHING
from shapes.scene import BACKGROUNDS, COLORS


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
    found = Counter()
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
                found[(index, kind) in seen] += 1
    assert found[True] > 0.96 * found.total()


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
