"""Pictures of signs, labels and receipts: what is printed can be read back, and every answer is true."""

from __future__ import annotations

import json
import random
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from picture_texts import conversations, words_of

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from family import DRILL, IGNORED, PICTURE_SIZES, TEXT
from labels import CLASSES
from language import NUMBERS
from signs import captions, prices, questions, reasoning
from signs.entry import FAMILY
from signs.scene import KINDS, LABEL, RECEIPT, SIGN, make_scene
from signs.words import FACT_WORDS, ITEMS, SIGN_WORDS

SEEDS = range(120)
SUM = re.compile(r"(\d+(?:\.\d+)?) (plus|minus) (\d+(?:\.\d+)?) is (\d+(?:\.\d+)?)")


def scene_of(seed: int, **given):
    return make_scene(random.Random(f"signs-{seed}"), **given)


def test_the_same_seed_draws_the_same_bytes():
    first, second = (FAMILY.draw(scene_of(7)).tobytes() for _ in range(2))
    assert first == second
    assert first != FAMILY.draw(scene_of(8)).tobytes()


def test_scenes_cover_the_domain():
    scenes = [scene_of(seed) for seed in range(3000)]
    assert {scene.kind for scene in scenes} == set(KINDS)
    assert {word for scene in scenes for word in scene.words if word.isalpha()} == set(SIGN_WORDS)
    assert {FAMILY.draw(scene).size for scene in scenes[:40]} <= set(PICTURE_SIZES)
    assert {len(scene.lines) for scene in scenes if scene.kind == SIGN} == {1, 2, 3}
    assert {len(scene.items) for scene in scenes if scene.kind == RECEIPT} == {2, 3, 4}
    easy = [scene_of(seed, easy=True) for seed in range(50)]
    assert {(scene.kind, len(scene.lines)) for scene in easy} == {(SIGN, 1)}


def test_there_are_some_250_words_of_at_most_eight_letters():
    assert 200 <= len(SIGN_WORDS) == len(set(SIGN_WORDS)) <= 300
    assert all(word == word.lower() and word.isalpha() and len(word) <= 8 for word in SIGN_WORDS)
    assert all(len(item) <= 5 for item in ITEMS)


def test_the_totals_of_receipts_are_right_and_fit_their_line():
    receipts = [scene for scene in map(scene_of, range(300)) if scene.kind == RECEIPT]
    assert len(receipts) > 50
    for scene in receipts:
        assert scene.lines[-1][0] == "total"
        assert sum(Fraction(price) for _, price in scene.items) == Fraction(scene.lines[-1][1])
        assert all(len(f"{left} {right}") <= 10 for left, right in scene.lines[1:])


def test_the_characters_under_the_patches_spell_what_is_printed():
    for seed in SEEDS:
        scene = scene_of(seed)
        columns, rows = (side // 14 for side in scene.size)
        slots = FAMILY.label(scene)["character"]
        read = []
        for row in range(rows):
            text = ""
            for column in range(columns):
                name = slots[row // 2 * (columns // 2) + column // 2][row % 2 * 2 + column % 2]
                text += "?" if name == IGNORED else CLASSES["character"][name]
            if text.strip():
                read.append(tuple(text.lower().split()))
        assert read == list(scene.lines), seed


def test_ink_lies_under_the_patches_with_characters_only():
    for seed in range(30):
        scene = scene_of(seed)
        pixels = np.asarray(FAMILY.draw(scene)).astype(int)
        columns = scene.size[0] // 28
        for token, slots in enumerate(FAMILY.label(scene)["character"]):
            for slot, name in enumerate(slots):
                top, left = token // columns * 28 + slot // 2 * 14, token % columns * 28 + slot % 2 * 14
                patch = pixels[top : top + 14, left : left + 14]
                inked = (np.abs(patch - np.array(scene.rgb)).sum(axis=2) > 90).sum()
                if name != IGNORED and CLASSES["character"][name] != " ":
                    assert inked >= 4, (seed, token, slot)
                elif (patch == patch[0, 0]).all() and tuple(patch[0, 0]) == scene.rgb:
                    assert CLASSES["character"][name] == " "


def test_color_labels_agree_with_the_pixels_under_each_token():
    for seed in range(40):
        scene = scene_of(seed)
        pixels = np.asarray(FAMILY.draw(scene)).astype(int)
        columns = scene.size[0] // 28
        rgbs = {scene.color: scene.rgb, scene.lid: scene.lid_rgb}
        seen = set()
        for token, name in enumerate(FAMILY.label(scene)["color"]):
            top, left = token // columns * 28, token % columns * 28
            patch = pixels[top : top + 28, left : left + 28]
            shares = {
                c: (np.abs(patch - np.array(rgb)).sum(axis=2) < 12).mean() for c, rgb in rgbs.items() if c
            }
            if name != IGNORED and CLASSES["color"][name] != "nothing":
                seen.add(CLASSES["color"][name])
                assert shares[CLASSES["color"][name]] > 0.1
            elif name != IGNORED:
                assert all(share < 0.2 for share in shares.values())
        assert seen == {color for color in (scene.color, scene.lid) if color}


def test_word_labels_and_regions_name_every_word():
    for seed in SEEDS:
        scene = scene_of(seed)
        printed = {word for word in scene.words if word.isalpha()}
        seen = {CLASSES["word"][i] for i in FAMILY.label(scene)["word"] if i != IGNORED} - {"nothing"}
        assert printed - {"g", "ml", "kg"} <= seen <= printed
        told = [region.facts["word"] for region in FAMILY.regions(scene) if "word" in region.facts]
        assert set(told) == printed


def test_regions_count_words_and_lines_from_the_top():
    for seed in SEEDS:
        scene = scene_of(seed)
        regions = [region for region in FAMILY.regions(scene) if "line" in region.facts]
        tops = sorted({region.box[1] for region in regions})
        assert [NUMBERS[1 + tops.index(region.box[1])] for region in regions] == [
            region.facts["line"] for region in regions
        ]
        counted = [region for region in regions if "order" in region.facts]
        for region in counted:
            if scene.kind == RECEIPT:
                assert scene.lines[NUMBERS.index(region.facts["order"])][0] == region.facts["word"]
            elif "word" in region.facts:
                assert scene.words[NUMBERS.index(region.facts["order"]) - 1] == region.facts["word"]
        assert len(counted) == (len(scene.items) + 1 if scene.kind == RECEIPT else len(scene.words))


def test_json_and_tables_hold_what_is_printed():
    for seed in SEEDS:
        scene = scene_of(seed)
        told = json.loads(captions.as_json(scene))
        rows = [
            [cell.strip() for cell in row.strip("|").split("|")]
            for row in captions.as_table(scene).split("\n")[2:]
        ]
        lines = [" ".join(line) for line in scene.lines]
        assert told["kind"] == scene.kind
        if scene.kind == RECEIPT:
            assert told["items"] == [f"{i}. {line}" for i, line in enumerate(lines[1:-1], 1)]
            assert (told["shop"], told["total"]) == (f"the {lines[0]}", scene.lines[-1][1])
            assert [" ".join(row) for row in rows] == lines[1:]
        else:
            assert [text for _, text in rows] == lines
            assert told["color"] == scene.color
        if scene.kind == LABEL:
            assert f"{told['jar']} {told['amount']}" == f"1 jar of {' '.join(scene.words)}"
        if scene.kind == SIGN:
            assert told["lines"] == [f"{i}. {line}" for i, line in enumerate(lines, 1)]


def test_answers_say_printed_words_only_and_calculate_right():
    facts, sums = set(FACT_WORDS), 0
    for seed in SEEDS:
        scene = scene_of(seed)
        for turns in conversations(FAMILY, scene, tries=4):
            for turn in turns:
                assert set(words_of(turn.answer)) & facts <= {*scene.words, *words_of(turn.question)}, turn
                for one, word, other, result in SUM.findall(turn.answer):
                    a, b = Fraction(one), Fraction(other)
                    assert (a + b if word == "plus" else a - b) == Fraction(result), turn
                    sums += 1
    assert sums > 80


def test_no_question_holds_a_printed_word_by_chance():
    """Words of a question prove nothing, so what is asked in general terms must not use the facts' words."""
    for seed in range(60):
        scene = scene_of(seed)
        for turns in conversations(FAMILY, scene, tries=4):
            for turn in turns:
                found = set(words_of(turn.question)) & set(FACT_WORDS)
                assert found <= set(scene.words) or turn.kind == "check", turn


def test_lines_words_and_prices_are_those_asked_for():
    nths = ("first", "second", "third", "fourth", "fifth", "sixth")
    numbers = ("one", "two", "three", "four", "five", "six")
    asked = 0
    for seed in SEEDS:
        scene = scene_of(seed)
        for attempt in range(40):
            rng = random.Random(attempt)
            turn = FAMILY.converse(rng, scene, rng.choice((TEXT, DRILL)))[0]
            words = words_of(turn.question)
            if turn.kind == "line" and (place := [w for w in words if w in (*nths, *numbers)]):
                row = (nths if place[0] in nths else numbers).index(place[0])
                assert " ".join(scene.lines[row]) in turn.answer
                asked += 1
            elif turn.kind == "word" and words[0] == "word":
                assert turn.answer == f"It is {scene.words[numbers.index(words[1])]}."
            elif turn.kind == "price" and (named := [i for i in scene.items if i[0] in words]):
                assert named[0][1] in re.findall(r"\d+(?:\.\d+)?", turn.answer)
                asked += 1
    assert asked > 500


def test_counts_run_up_to_the_number_they_end_with():
    numbers = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    asked = 0
    for seed in SEEDS:
        scene = scene_of(seed)
        turn = questions.count(random.Random(seed), scene)
        assert turn.kind == "count"
        evidence, conclusion = turn.answer.split(" So there ")
        things = {"lines": scene.lines, "items": scene.items, "words": scene.words}
        right = len(next(things[word] for word in words_of(turn.question) if word in things))
        found = [re.findall(form, evidence) for form in (r"makes (\w+)", r"(?:[Ll]ine|[Ii]tem) (\w+)")]
        assert list(numbers[1 : right + 1]) in found, turn
        assert conclusion.split()[1] == numbers[right]
        for asker in (reasoning.letters, reasoning.longer):
            turn = asker(random.Random(seed), scene)
            for word, end in re.findall(
                r"(?:word is|[Ii]n) (\w+)[.,].*?(\w+)\.", turn.answer if turn else ""
            ):
                assert end == numbers[len(word)], turn
                asked += 1
    assert asked > 200


def test_reasoning_finds_the_cheapest_and_the_change():
    for scene in [scene for scene in map(scene_of, range(300)) if scene.kind == RECEIPT]:
        price_of = {item: Fraction(price) for item, price in scene.items}
        turn = prices.extreme(random.Random(0), scene)
        if turn is not None:
            wanted = (
                min(price_of, key=price_of.get)
                if "cheapest" in turn.question
                else max(price_of, key=price_of.get)
            )
            assert wanted in words_of(turn.answer.split("So with")[1])
            pick, bar = (min if "cheapest" in turn.question else max), None
            steps = re.findall(
                r"costs ([\d.]+)(?: against ([\d.]+), which is (more|less|the same))?", turn.answer
            )
            assert len(steps) == len(price_of)
            for price, before, relation in ((Fraction(step[0]), *step[1:]) for step in steps):
                if bar is None:
                    assert (before, relation) == ("", "")
                    bar = price
                    continue
                assert Fraction(before) == bar
                assert relation == ("more" if price > bar else "less" if price < bar else "the same")
                bar = pick(bar, price)
            assert bar == price_of[wanted]
        turn = prices.by_price(random.Random(0), scene)
        if turn is not None:
            evidence, order = turn.answer.split(" So the order is ")
            by_price = sorted(price_of, key=price_of.get)
            assert [word for word in words_of(order) if word in price_of] == by_price
            last = evidence.rsplit(": ", 1)[1].rstrip(".").split(", ")
            assert [Fraction(price) for price in last] == sorted(price_of.values())
        turn = prices.change(random.Random(0), scene)
        note, back = re.search(r"note of (\d+) .* change is ([\d.]+) dollars?", turn.answer).groups()
        assert int(note) - sum(price_of.values()) == Fraction(back)


def test_the_questions_so_far_decide_the_answer():
    """Greedy decoding can only be right if one conversation about one picture has one continuation."""
    for seed in range(60):
        answers: dict[tuple[str, ...], set[str]] = {}
        for turns in conversations(FAMILY, scene_of(seed), tries=25):
            asked: tuple[str, ...] = ()
            for turn in turns:
                answers.setdefault((*asked, turn.question), set()).add(turn.answer)
                asked = (*asked, turn.question, turn.answer)
        assert all(len(found) == 1 for found in answers.values())


def test_every_form_and_kind_is_reached_with_answers_of_good_length():
    kinds, lengths = set(), []
    for seed in range(300):
        rng = random.Random(seed)
        scene = scene_of(seed)
        for form, wordings in captions.FORMS:
            assert captions.ask(rng, scene, form).question in wordings
        for topic in FAMILY.conversations:
            turns = FAMILY.converse(rng, scene, topic)
            kinds |= {(topic, turn.kind) for turn in turns}
            lengths += [len(re.findall(r"[a-z]+|\d|[^\w\s]|\n", turn.answer.lower())) for turn in turns]
    assert len(captions.FORMS) >= 12
    assert len({kind for topic, kind in kinds if topic == TEXT}) >= 8
    assert min(lengths) >= 3
    assert max(lengths) <= 200
    wordings = [wording for _, questions in captions.FORMS for wording in questions]
    assert len(wordings) == len(set(wordings))


def test_the_alphabet_is_told_by_the_places_of_the_letters():
    asked = 0
    for scene in map(scene_of, range(300)):
        turn = None if scene.kind == RECEIPT else reasoning.alphabet(random.Random(0), scene)
        if turn is None:
            continue
        one, other = re.search(r"alphabet, (\w+) or (\w+)\?", turn.question).groups()
        places = [int(place) for place in re.findall(r"which is letter (\d+)", turn.answer)]
        assert [chr(ord("a") + place - 1) for place in places] == [one[0], other[0]]
        assert turn.answer.endswith(f"so {min(one, other)} comes first.")
        asked += 1
    assert asked > 50
