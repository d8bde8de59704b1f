"""Questions that need steps: counting aloud, comparing, taking away, rows, and rules that hold for all shapes."""

from __future__ import annotations

import random

from language import (
    NUMBERS,
    ORDINALS,
    Turn,
    a,
    capital,
    counted,
    full,
    join,
    located,
    number,
    plural,
    short,
    tally,
    unique_names,
)
from scenes import COLORS, COLUMNS, PLACES, ROWS, SIZES, Scene

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
    per_row = [sum(thing.row == i for thing in scene.things) for i in range(3)]
    rows = join(
        [f"the {name} row has {number(per_row[i]) if per_row[i] else 'none'}" for i, name in enumerate(ROWS)]
    )
    answer = f"{capital(rows)}. Together that makes {counted(total, 'shape')}."
    return Turn("Count the shapes in every row and add them up.", answer, "count", TOPIC)


def compare_counts(rng: random.Random, scene: Scene) -> Turn | None:
    attribute = rng.choice(("shape", "color"))
    counts = tally(getattr(thing, attribute) for thing in scene.things)
    if len(counts) < 2:
        return None
    (one, many), (other, few) = rng.sample(counts, 2)
    name = (lambda v, n: counted(n, v)) if attribute == "shape" else (lambda v, n: counted(n, f"{v} shape"))
    names = [plural(v, 2) if attribute == "shape" else f"{v} shapes" for v in (one, other)]
    question = f"Are there more {names[0]} or more {names[1]}?"
    seen = f"I count {name(one, many)} and {name(other, few)}"
    if many == few:
        return Turn(question, f"{seen}, so it is a tie.", "compare counts", TOPIC)
    winner = names[0] if many > few else names[1]
    answer = f"{seen}, so there are more {winner}, by {number(abs(many - few))}."
    return Turn(question, answer, "compare counts", TOPIC)


def take_away(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.things) < 2:
        return None
    attribute = rng.choice(("shape", "color", "size"))
    value = rng.choice([getattr(thing, attribute) for thing in scene.things])
    noun = value if attribute == "shape" else f"{value} shape"
    gone = [thing for thing in scene.things if getattr(thing, attribute) == value]
    left = [thing for thing in scene.things if thing not in gone]
    answer = (
        f"There are {counted(len(scene.things), 'shape')}, and {number(len(gone))} of them {_verb(len(gone))} "
        f"{plural(noun, len(gone)) if attribute == 'shape' else value}. "
        f"{capital(number(len(scene.things)))} minus {number(len(gone))} is {number(len(left))}. "
    )
    answer += f"What remains: {join([located(thing) for thing in left])}." if left else "Nothing remains."
    return Turn(f"If all {plural(noun, 2)} are taken away, what remains?", answer, "take away", TOPIC)


def fullest(rng: random.Random, scene: Scene) -> Turn:
    lines, key = rng.choice(((("row"), ROWS), (("column"), COLUMNS)))
    counts = [sum((t.row if lines == "row" else t.column) == i for t in scene.things) for i in range(3)]
    told = join(
        [f"the {name} {lines} has {number(n) if n else 'none'}" for name, n in zip(key, counts, strict=True)]
    )
    best = [name for name, n in zip(key, counts, strict=True) if n == max(counts)]
    if len(best) == 1:
        end = f"So the {best[0]} {lines} has the most"
    else:
        end = f"So the {join(best)} {lines}s share the first place"
    return Turn(f"Which {lines} has the most shapes?", f"{capital(told)}. {end}.", "fullest", TOPIC)


def compare_sizes(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    question = f"Is the {short(one)} bigger than the {short(other)}?"
    if one.size == other.size:
        answer = f"No, the {short(one)} and the {short(other)} are both {one.size}."
    elif one.size == "big":
        answer = f"Yes, the {short(one)} is big, while the {short(other)} is small."
    else:
        answer = f"No, the {short(one)} is small, but the {short(other)} is big."
    return Turn(question, answer, "compare sizes", TOPIC)


def compare_heights(rng: random.Random, scene: Scene) -> Turn | None:
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    question = f"Which one is higher, the {short(one)} or the {short(other)}?"
    if one.row == other.row:
        answer = f"Neither: both the {short(one)} and the {short(other)} are in the {ROWS[one.row]} row."
    else:
        high, low = sorted((one, other), key=lambda thing: thing.row)
        answer = (
            f"The {short(high)} is higher. It is in the {ROWS[high.row]} row, "
            f"and the {short(low)} is in the {ROWS[low.row]} row."
        )
    return Turn(question, answer, "compare heights", TOPIC)


def all_same(rng: random.Random, scene: Scene) -> Turn | None:
    if len(scene.things) < 2:
        return None
    attribute = rng.choice(("color", "size"))
    question = f"Do all shapes have the same {attribute}? Explain."
    groups = tally(getattr(thing, attribute) for thing in scene.things)
    if len(groups) == 1:
        count = "both" if len(scene.things) == 2 else f"all {number(len(scene.things))}"
        return Turn(question, f"Yes, {count} of them are {groups[0][0]}.", "all same", TOPIC)
    told = join([f"{number(n)} {_verb(n)} {value}" for value, n in groups])
    return Turn(question, f"No, they differ: {told}.", "all same", TOPIC)


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
    """The thing that alone has its size, if there is one."""
    if len(scene.things) < 3:
        return None
    groups = tally(thing.size for thing in scene.things)
    question = "Which shape differs in size from all others?"
    if len(groups) == 2 and groups[1][1] == 1:
        thing = next(t for t in scene.things if t.size == groups[1][0])
        answer = (
            f"The {short(thing)} in the {thing.place}: it is {thing.size}, and all others are {groups[0][0]}."
        )
    else:
        told = join([f"{number(n)} shapes are {value}" for value, n in groups])
        answer = f"None of them does, because {told}."
    return Turn(question, answer, "odd one", TOPIC)


def commonest(rng: random.Random, scene: Scene) -> Turn:
    attribute = rng.choice(("color", "shape"))
    groups = tally(getattr(thing, attribute) for thing in scene.things)
    told = join([f"{value} {'once' if n == 1 else number(n) + ' times'}" for value, n in groups])
    best = [value for value, n in groups if n == groups[0][1]]
    end = f"So {best[0]} is the most common" if len(best) == 1 else f"So {join(best)} are equally common"
    answer = f"I find {told}. {end}."
    return Turn(f"Which {attribute} is the most common? Explain step by step.", answer, "commonest", TOPIC)


def compare_pair(rng: random.Random, scene: Scene) -> Turn | None:
    """Everything two things share and everything they differ in."""
    things = unique_names(scene)
    if len(things) < 2:
        return None
    one, other = rng.sample(things, 2)
    names = ("color", "shape", "size")
    same = [name for name in names if getattr(one, name) == getattr(other, name)]
    differ = [name for name in names if name not in same]
    told = [f"the {short(thing)} is {thing.size} and lies in the {thing.place}" for thing in (one, other)]
    end = f"They differ in {join(differ)}" + (f", but have the same {join(same)}" if same else "")
    answer = f"{capital(told[0])}, while {told[1]}. {end}."
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
    told = [
        f"{a(f'{thing.size} {new if thing.color == old else thing.color} {thing.shape}')} in the {thing.place}"
        for thing in scene.things
    ]
    changed = sum(thing.color == old for thing in scene.things)
    answer = f"{capital(counted(changed, 'shape'))} would change. Then there would be {join(told)}."
    return Turn(f"If all {old} shapes turn {new}, what do you see?", answer, "repaint", TOPIC)


def big_and_small(rng: random.Random, scene: Scene) -> Turn | None:
    """Both sizes listed, counted and compared."""
    if len(scene.things) < 2:
        return None
    groups = [[thing for thing in scene.things if thing.size == size] for size in SIZES]
    lists = [join([f"the {short(thing)} in the {thing.place}" for thing in group]) for group in groups]
    told = [
        f"{capital(size)}: {things or 'nothing'}, so {number(len(group))}."
        for size, things, group in zip(SIZES, lists, groups, strict=True)
    ]
    big, small = len(groups[0]), len(groups[1])
    end = (
        f"There are more {SIZES[big < small]} shapes, by {number(abs(big - small))}."
        if big != small
        else "It is a tie."
    )
    question = "Are there more big or more small shapes? List them all."
    return Turn(question, f"{' '.join(told)} {end}", "big and small", TOPIC)


def check_each(rng: random.Random, scene: Scene) -> Turn | None:
    """Whether all shapes of a kind have one colour, checked one by one."""
    if len(scene.things) < 2:
        return None
    thing = rng.choice(scene.things)
    kin = [other for other in scene.things if other.shape == thing.shape]
    told = " ".join(f"The {other.shape} in the {other.place} is {other.color}." for other in kin)
    true = all(other.color == thing.color for other in kin)
    kind = plural(thing.shape, 2)
    end = f"So yes, all {kind} are {thing.color}." if true else f"So no, not all {kind} are {thing.color}."
    return Turn(f"Are all {kind} {thing.color}? Check each one.", f"{told} {end}", "check each", TOPIC)


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
