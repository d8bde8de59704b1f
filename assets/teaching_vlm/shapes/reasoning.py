"""Questions that need steps: counting aloud, comparing, taking away, rows, and rules that hold for all shapes."""

from __future__ import annotations

import random
from collections import Counter

from language import NUMBERS, ORDINALS, Turn, a, capital, counted, highest, join, number, plural, tally

from shapes.phrases import cells_of, check, full, short, unique_names, walk
from shapes.scene import COLORS, COLUMNS, PLACES, ROWS, SHAPES, SIZES, Scene

TOPIC = "complex reasoning pro"


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"


def count_aloud(rng: random.Random, scene: Scene) -> Turn:
    total = len(scene.things)
    if rng.random() < 0.5:
        steps = " ".join(
            f"Number {NUMBERS[i]} is the {short(thing)} in the {thing.place}."
            for i, thing in enumerate(scene.things, 1)
        )
        question = rng.choice(("Count the shapes one by one.", "Count all shapes step by step."))
        return Turn(question, f"{steps} So there {_verb(total)} {counted(total, 'shape')}.", "count", TOPIC)
    counts = [sum(thing.row == row for thing in scene.things) for row in range(3)]
    told = []
    for index, name in enumerate(ROWS):
        things = [thing for thing in scene.things if thing.row == index]
        steps = "; ".join(f"{short(thing)}, {number(i)}" for i, thing in enumerate(things, 1))
        told.append(f"{capital(name)} row: {steps or 'none'}.")
    said = join(
        [f"the {name} row has {number(n) if n else 'none'}" for name, n in zip(ROWS, counts, strict=True)]
    )
    answer = f"{' '.join(told)} So {said}. Together that makes {counted(total, 'shape')}."
    return Turn("Count the shapes in every row and add them up.", answer, "count", TOPIC)


def compare_counts(rng: random.Random, scene: Scene) -> Turn | None:
    """Two kinds counted side by side, then compared."""
    attribute = rng.choice(("shape", "color"))
    counts = tally(getattr(thing, attribute) for thing in scene.things)
    if len(counts) < 2:
        return None
    (one, many), (other, few) = rng.sample(counts, 2)
    nouns = [value if attribute == "shape" else f"{value} shape" for value in (one, other)]
    question = f"Are there more {plural(nouns[0], 2)} or more {plural(nouns[1], 2)}?"
    looked = [walk(scene.things, attribute, value) for value in (one, other)]
    end = f"That is {counted(many, nouns[0])} and {counted(few, nouns[1])}"
    if many == few:
        return Turn(question, f"{' '.join(looked)} {end}, so it is a tie.", "compare counts", TOPIC)
    winner = plural(nouns[0] if many > few else nouns[1], 2)
    answer = f"{' '.join(looked)} {end}, so there are more {winner}, by {number(abs(many - few))}."
    return Turn(question, answer, "compare counts", TOPIC)


def take_away(rng: random.Random, scene: Scene) -> Turn | None:
    """What stays when all things of one kind go, decided thing by thing."""
    if len(scene.things) < 2:
        return None
    attribute = rng.choice(("shape", "color", "size"))
    value = rng.choice([getattr(thing, attribute) for thing in scene.things])
    noun = value if attribute == "shape" else f"{value} shape"
    looked, left = [], 0
    for thing in scene.things:
        stays = getattr(thing, attribute) != value
        left += stays
        fate = f"stays, {number(left)}" if stays else "goes"
        looked.append(f"{check(thing, attribute, value, where=True)}: {fate}.")
    end = (
        f"So {counted(left, 'shape')} {'remains' if left == 1 else 'remain'}."
        if left
        else "So nothing remains."
    )
    question = f"If all {plural(noun, 2)} are taken away, what remains?"
    return Turn(question, f"{' '.join(looked)} {end}", "take away", TOPIC)


def fullest(rng: random.Random, scene: Scene) -> Turn:
    """Every line place by place with running numbers, then the highest of the three."""
    lines = rng.choice(("row", "column"))
    told, counts = [], {}
    for index, name in enumerate(ROWS if lines == "row" else COLUMNS):
        steps, found = [], 0
        for cell in cells_of(index, lines == "row"):
            found += scene.at(cell) is not None
            steps.append(f"{PLACES[cell]} {'empty' if scene.at(cell) is None else f'taken, {number(found)}'}")
        told.append(f"{capital(name)} {lines}: {'; '.join(steps)}.")
        counts[f"the {name} {lines}"] = found
    judged, best = highest(counts)
    end = f"So {best[0]} has the most" if len(best) == 1 else f"So {join(best)} share the first place"
    return Turn(f"Which {lines} has the most shapes?", f"{' '.join(told)} {judged} {end}.", "fullest", TOPIC)


def compare_sizes(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    question = f"Is the {short(one)} bigger than the {short(other)}?"
    said = f"The {short(one)} is {one.size}, and the {short(other)} is {other.size}"
    verdict = "yes" if (one.size, other.size) == ("big", "small") else "no"
    return Turn(question, f"{said}, so {verdict}.", "compare sizes", TOPIC)


def compare_heights(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    question = f"Which one is higher, the {short(one)} or the {short(other)}?"
    said = f"The {short(one)} is in the {ROWS[one.row]} row, and the {short(other)} is in the {ROWS[other.row]} row"
    if one.row == other.row:
        return Turn(question, f"{said}, so neither is higher.", "compare heights", TOPIC)
    high = min((one, other), key=lambda thing: thing.row)
    return Turn(question, f"{said}, so the {short(high)} is higher.", "compare heights", TOPIC)


def all_same(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.things) < 2:
        return None
    attribute = rng.choice(("color", "size"))
    values = [getattr(thing, attribute) for thing in scene.things]
    end = f"So yes, all of them are {values[0]}" if len(set(values)) == 1 else "So no, they differ"
    answer = f"One after the other they are {join(values)}. {end}."
    return Turn(f"Do all shapes have the same {attribute}? Explain.", answer, "all same", TOPIC)


def empty_places(rng: random.Random, scene: Scene) -> Turn:
    free = [place for cell, place in enumerate(PLACES) if scene.at(cell) is None]
    answer = (
        f"The picture has nine places and {number(len(scene.things))} {_verb(len(scene.things))} taken, so "
        f"{number(len(free))} are empty: {join([f'the {place}' for place in free])}."
    )
    return Turn(
        rng.choice(("Which places are empty?", "Which places hold no shape?")), answer, "empty", TOPIC
    )


def rank(rng: random.Random, scene: Scene) -> Turn | None:
    """Which thing comes n-th in reading order, shown by counting up to it."""
    if len(scene.things) < 2:
        return None
    index = rng.randrange(1, len(scene.things))
    steps = ", ".join(f"the {ORDINALS[i]} is the {short(t)}" for i, t in enumerate(scene.things[: index + 1]))
    question = f"Reading from the top left, which shape is the {ORDINALS[index]}?"
    thing = scene.things[index]
    return Turn(
        question, f"{capital(steps)}. So it is the {full(thing)} in the {thing.place}.", "rank", TOPIC
    )


def odd_one(rng: random.Random, scene: Scene) -> Turn | None:
    """The thing that alone has its size, if there is one, found by counting both sizes."""
    if len(scene.things) < 3:
        return None
    seen: Counter[str] = Counter()
    said = []
    for thing in scene.things:
        seen[thing.size] += 1
        said.append(f"the {short(thing)} is {thing.size} number {number(seen[thing.size])}")
    alone = [thing for thing in scene.things if seen[thing.size] == 1]
    if len(alone) == 1 and len(scene.things) > 2:
        end = f"So it is the {short(alone[0])}: no other one is {alone[0].size}"
    else:
        end = "So none of them does"
    question = "Which shape differs in size from all others?"
    return Turn(question, f"{capital(join(said))}. {end}.", "odd one", TOPIC)


def commonest(rng: random.Random, scene: Scene) -> Turn:
    """Every value with its number so far, then the highest."""
    attribute = rng.choice(("color", "shape"))
    values = [getattr(thing, attribute) for thing in scene.things]
    said = [f"{value} number {number(values[: i + 1].count(value))}" for i, value in enumerate(values)]
    judged, best = highest(
        {name: values.count(name) for name in (COLORS if attribute == "color" else SHAPES)}
    )
    end = f"So {best[0]} is the most common" if len(best) == 1 else f"So {join(best)} are equally common"
    question = f"Which {attribute} is the most common? Explain step by step."
    return Turn(question, f"I find {join(said)}. {judged} {end}.", "commonest", TOPIC)


def compare_pair(rng: random.Random, scene: Scene) -> Turn | None:
    """Everything two things share and everything they differ in."""
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    names = ("color", "shape", "size")
    same = [name for name in names if getattr(one, name) == getattr(other, name)]
    differ = [name for name in names if name not in same]
    said = [f"the {short(thing)} is {thing.size} and lies in the {thing.place}" for thing in (one, other)]
    end = f"They differ in {join(differ)}" + (f", but have the same {join(same)}" if same else "")
    answer = f"{capital(said[0])}, while {said[1]}. {end}."
    return Turn(f"Compare the {short(one)} with the {short(other)}.", answer, "compare pair", TOPIC)


def mirror(rng: random.Random, scene: Scene) -> Turn:
    """Where everything goes when left and right (or top and bottom) change places."""
    sideways = rng.random() < 0.5
    moves = []
    for thing in scene.things:
        cell = thing.row * 3 + 2 - thing.column if sideways else (2 - thing.row) * 3 + thing.column
        if cell == thing.cell:
            moves.append(f"The {short(thing)} stays in the {thing.place}.")
        else:
            moves.append(f"The {short(thing)} moves from the {thing.place} to the {PLACES[cell]}.")
    ends = "left and right" if sideways else "top and bottom"
    return Turn(f"If {ends} change places, where does each shape go?", " ".join(moves), "mirror", TOPIC)


def repaint(rng: random.Random, scene: Scene) -> Turn | None:
    """The picture after one colour has become another."""
    old = rng.choice([thing.color for thing in scene.things])
    new = rng.choice([color for color in COLORS if color != old])
    said = [
        f"{check(thing, 'color', old, where=True)}: {f'now {new}' if thing.color == old else 'it stays'}."
        for thing in scene.things
    ]
    now = [f"{new if thing.color == old else thing.color} {thing.shape}" for thing in scene.things]
    answer = f"{' '.join(said)} So I see {join([a(name) for name in now])}."
    return Turn(f"If all {old} shapes turn {new}, what do you see?", answer, "repaint", TOPIC)


def big_and_small(rng: random.Random, scene: Scene) -> Turn | None:
    """Both sizes counted side by side and compared."""
    if len(scene.things) < 2:
        return None
    said = [walk(scene.things, "size", size, where=True) for size in SIZES]
    big, small = (sum(thing.size == size for thing in scene.things) for size in SIZES)
    verdict = (
        f"there are more {SIZES[big < small]} ones, by {number(abs(big - small))}"
        if big != small
        else "it is a tie"
    )
    end = f"That is {number(big) if big else 'no'} big and {number(small) if small else 'no'} small, so {verdict}."
    question = "Are there more big or more small shapes? List them all."
    return Turn(question, f"{' '.join(said)} {end}", "compare counts", TOPIC)


def check_each(rng: random.Random, scene: Scene) -> Turn | None:
    """Whether all shapes of a kind have one colour, checked one by one."""
    if len(scene.things) < 2:
        return None
    thing = rng.choice(scene.things)
    said = []
    for other in scene.things:
        seen = f"Is the shape in the {other.place} {a(thing.shape)}? It is {a(other.shape)}: "
        if other.shape != thing.shape:
            said.append(f"{seen}no.")
            continue
        verdict = "yes" if other.color == thing.color else "no"
        said.append(f"{seen}yes. Is it {thing.color}? It is {other.color}: {verdict}.")
    true = all(other.color == thing.color for other in scene.things if other.shape == thing.shape)
    kind = plural(thing.shape, 2)
    end = f"So yes, all {kind} are {thing.color}." if true else f"So no, not all {kind} are {thing.color}."
    return Turn(
        f"Are all {kind} {thing.color}? Check each one.", f"{' '.join(said)} {end}", "check each", TOPIC
    )


ASKERS = (
    count_aloud, count_aloud, compare_counts, take_away, take_away, fullest, compare_sizes, compare_heights,
    all_same, empty_places, rank, odd_one, commonest, compare_pair, compare_pair, mirror, mirror, repaint, repaint,
    big_and_small, check_each,
)  # fmt: skip


def ask(rng: random.Random, scene: Scene) -> Turn:
    """A random question of several steps that this scene allows."""
    while True:
        turn = rng.choice(ASKERS)(rng, scene)
        if turn is not None:
            return turn
