"""Whole-picture answers about what is printed. The wording of the question chooses the form, the kind its details."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from family import CAPTION
from language import NUMBERS, Turn, a, counted, join

from signs.phrases import ORDINALS, add, kind_noun, money, name, numbered_items, say, told_lines
from signs.scene import LABEL, RECEIPT, SIGN, Lettered


def plain(scene: Lettered) -> str:
    if scene.kind == SIGN:
        told = join(
            [f"the {nth} line says {line}" for nth, line in zip(ORDINALS, told_lines(scene), strict=False)]
        )
        return (
            f"This is {a(scene.color)} sign on two posts: {told}. The letters on it are {scene.ink}, "
            f"and behind it everything is {scene.background}."
        )
    if scene.kind == LABEL:
        return (
            f"This is a jar with {a(scene.lid)} lid and {a(scene.color)} label. The label says {name(scene)}, "
            f"and below that stands {say(scene.lines[-1])}. The letters are {scene.ink}, and the background is "
            f"{scene.background}."
        )
    shop, *items, total = told_lines(scene)
    openings = ("First comes", "Then there is", "After that one finds", "At the end there is")
    told = " ".join(f"{opening} {item}." for opening, item in zip(openings, items, strict=False))
    return f"This is a receipt from the {shop}. {told} Below the line stands {total}."


def detailed(scene: Lettered) -> str:
    ground = f"The background is {scene.background}."
    if scene.kind == SIGN:
        openings = ("At the top it says", "Below that stands", "The last line reads")
        told, so_far = [], 0
        for opening, line in zip(openings, scene.lines, strict=False):
            so_far += len(line)
            told.append(f"{opening} {say(line)}, that makes {counted(so_far, 'word')}.")
        return (
            f"{ground} On it there is {a(scene.color)} board with {scene.ink} letters, held by two posts. "
            f"{' '.join(told)} Nothing else is printed there."
        )
    if scene.kind == LABEL:
        return (
            f"{ground} In front of it there is a jar. Its lid is {scene.lid}, while the label is {scene.color} with "
            f"{scene.ink} letters. The jar holds {name(scene)}. The amount on the label is {say(scene.lines[-1])}."
        )
    told = join([f"the {item} costs {money(price)}" for item, price in scene.items])
    return (
        f"{ground} On it lies a white receipt. The shop is the {say(scene.lines[0])}. Counted from the top, "
        f"{numbered_items(scene)}. As to the prices, {told}. In total that is {money(scene.lines[-1][1])}."
    )


def complete(scene: Lettered) -> str:
    """Everything there is to tell, with what follows from it."""
    ground = f"The whole background is {scene.background}."
    if scene.kind == SIGN:
        told = " ".join(
            f"The {nth} line holds {join(line)}, so it has {counted(len(line), 'word')}."
            for nth, line in zip(ORDINALS, scene.lines, strict=False)
        )
        return (
            f"{ground} In front of it stands {a(scene.color)} sign with a frame and letters in {scene.ink}, and two "
            f"posts carry it. {told} Read as one, the sign says {', '.join(told_lines(scene))}."
        )
    if scene.kind == LABEL:
        amount, unit = scene.lines[-1]
        return (
            f"{ground} A jar stands there, with {a(scene.lid)} lid at the top and {a(scene.color)} label below it. The "
            f"letters on the label are {scene.ink}. The name of what it holds is {name(scene)}. The number "
            f"at the bottom is {amount}, counted in {unit}. Two such jars hold {amount} plus {amount}, that is "
            f"{2 * int(amount)} {unit}."
        )
    (item, so_far), *others = scene.items
    told = [f"The first item is {item} for {money(so_far)}."]
    for nth, (item, price) in zip(ORDINALS[1:], others, strict=False):
        steps, so_far = add(scene, so_far, price)
        told.append(f"The {nth} item is {item} for {money(price)}, and {steps}.")
    return (
        f"{ground} A receipt from the {say(scene.lines[0])} lies on it, with {scene.ink} letters on white paper. "
        f"{' '.join(told)} The last line gives the total, {money(scene.lines[-1][1])}."
    )


def caption(scene: Lettered) -> str:
    if scene.kind == SIGN:
        return f"{a(scene.color).capitalize()} sign that says {', '.join(told_lines(scene))}."
    if scene.kind == LABEL:
        return f"A jar of {name(scene)}, {say(scene.lines[-1])}."
    return f"A receipt from the {say(scene.lines[0])} over {money(scene.lines[-1][1])}."


def seen(scene: Lettered) -> str:
    if scene.kind == SIGN:
        told = ", ".join(told_lines(scene))
        return (
            f"I see a sign on two posts. It says {told}. The board is {scene.color}, "
            f"and the letters are {scene.ink}."
        )
    if scene.kind == LABEL:
        return (
            f"I see a jar of {name(scene)} with {say(scene.lines[-1])} in it. "
            f"The label is {scene.color}, and the lid is {scene.lid}."
        )
    shop, *items, total = told_lines(scene)
    return f"I see a receipt from the {shop} with {join(items)}. It ends with {total}."


def bullets(scene: Lettered) -> str:
    return "\n".join(["Printed are these lines:", *(f"- {say(line)}" for line in scene.lines)])


def numbered(scene: Lettered) -> str:
    lines = [f"{i}. The line says {say(line)}" for i, line in enumerate(scene.lines, 1)]
    return "\n".join([f"Here is the text of the {kind_noun(scene)}:", *lines])


def as_json(scene: Lettered) -> str:
    """Printed words never stand right behind a quotation mark, so that they are the same tokens as elsewhere."""
    if scene.kind == SIGN:
        lines = [f"{i}. {line}" for i, line in enumerate(told_lines(scene), 1)]
        told = {"kind": "sign", "color": scene.color, "lines": lines}
    elif scene.kind == LABEL:
        told = {"kind": "label", "color": scene.color, "lid": scene.lid, "jar": f"1 jar of {name(scene)}"}
        told["amount"] = say(scene.lines[-1])
    else:
        items = [f"{i}. {say(item)}" for i, item in enumerate(scene.items, 1)]
        told = {"kind": "receipt", "shop": f"the {say(scene.lines[0])}", "items": items}
        told["total"] = scene.lines[-1][1]
    return json.dumps(told)


def as_table(scene: Lettered) -> str:
    if scene.kind == RECEIPT:
        rows = [("item", "price"), ("---", "---"), *scene.items, ("total", scene.lines[-1][1])]
    else:
        rows = [("line", "words"), ("---", "---")]
        rows += [(str(i), say(line)) for i, line in enumerate(scene.lines, 1)]
    return "\n".join(f"| {left} | {right} |" for left, right in rows)


def by_words(scene: Lettered) -> str:
    """Every word by its number; a receipt item by item."""
    if scene.kind == RECEIPT:
        told = [
            f"Item {NUMBERS[i]} is {item} at {money(price)}."
            for i, (item, price) in enumerate(scene.items, 1)
        ]
        return f"{' '.join(told)} They come from the {say(scene.lines[0])}."
    told = [f"word {NUMBERS[i]} is {word}" for i, word in enumerate(scene.words, 1)]
    return f"On the {kind_noun(scene)}, {join(told)}."


def guided(scene: Lettered) -> str:
    if scene.kind == LABEL:
        return (
            f"Imagine a shelf in front of {a(scene.background)} wall. A jar stands there, shut with "
            f"{a(scene.lid)} lid. You turn it and find {a(scene.color)} label. You read {name(scene)}, "
            f"and under it {say(scene.lines[-1])}."
        )
    if scene.kind == SIGN:
        moves = ("You look up and read", "Under it you find", "And at the bottom you see")
        told = " ".join(f"{move} {line}." for move, line in zip(moves, told_lines(scene), strict=False))
        return f"Imagine a sign by the way, {scene.color} with {scene.ink} letters. {told} That is all."
    shop, *items, total = told_lines(scene)
    moves = ("You take", "Next to it you put", "Then you add", "Finally you find")
    told = " ".join(f"{move} {item}." for move, item in zip(moves, items, strict=False))
    return f"Imagine you go to the {shop}. {told} You pay and get a receipt with {total}."


def backward(scene: Lettered) -> str:
    lines = told_lines(scene)[::-1]
    told = " ".join(
        f"{'Above it stands' if i % 2 else 'Higher up is'} {line}." for i, line in enumerate(lines[1:], 1)
    )
    return f"At the bottom stands {lines[0]}. {told} The background is {scene.background}."


def spoken(scene: Lettered) -> str:
    """A story in which somebody reads it out."""
    if scene.kind == RECEIPT:
        told = ", ".join(f"{price} for {item}" for item, price in scene.items)
        return (
            f"A woman comes home from the {say(scene.lines[0])} and reads her receipt: {told}. "
            f"Then she looks at the last line and says: {money(scene.lines[-1][1])}, that is all I had."
        )
    if scene.kind == LABEL:
        return (
            f"A man takes the jar with the {scene.lid} lid and reads its {scene.color} label. It is {name(scene)}, "
            f"he says. Then he looks at the amount: {say(scene.lines[-1])}. That will do, he thinks."
        )
    ends = ("A girl comes by and reads {}.", "Her brother goes on with {}.", "Their father ends with {}.")
    told = " ".join(end.format(line) for end, line in zip(ends, told_lines(scene), strict=False))
    return f"A {scene.color} sign stands by the way. {told} Its letters are {scene.ink}, so all can see them."


def summary(scene: Lettered) -> str:
    if scene.kind == RECEIPT:
        told = join([item for item, _ in scene.items])
        return f"In short: {told} from the {say(scene.lines[0])}, {money(scene.lines[-1][1])} in all."
    what = f"{a(scene.color)} {scene.kind} on a {scene.background} background"
    ends = f"It begins with {scene.words[0]} and ends with {scene.words[-1]}"
    return f"In short: {what}. {ends}, with {scene.ink} letters."


def colors(scene: Lettered) -> str:
    ground = f"the background is {scene.background}"
    if scene.kind == SIGN:
        told = ", ".join(told_lines(scene))
        return f"The board is {scene.color}, its letters are {scene.ink}, and {ground}. It says {told}."
    if scene.kind == LABEL:
        return (
            f"The lid is {scene.lid}, the label is {scene.color}, its letters are {scene.ink}, and {ground}."
        )
    return f"The paper is white, its letters are {scene.ink}, and {ground}."


FORMS: tuple[tuple[Callable[[Lettered], str], tuple[str, ...]], ...] = (
    (plain, ("Describe the picture.", "Describe what the picture shows.", "Please describe this picture.")),
    (detailed, ("Describe this image in detail.", "Give a detailed description of the image.")),
    (complete, ("Tell me everything about the picture.", "Describe all of it, from the background to the text.")),
    (caption, ("Write a short caption.", "Give the picture a short caption.")),
    (seen, ("What do you see?", "What do you see in the picture?", "Tell me what you see.")),
    (bullets, ("List the lines.", "Make a list of what is printed.")),
    (numbered, ("Make a numbered list of the lines.", "Number the lines one after the other.")),
    (as_json, ("Describe the picture as JSON.", "Give me the text as JSON.", "Answer in JSON: what is shown?")),
    (as_table, ("Make a table of what is printed.", "Show the text as a Markdown table.")),
    (by_words, ("Go through it word by word.", "Tell it one by one.")),
    (guided, ("Guide me through the picture.", "Describe it for someone who cannot see it.")),
    (backward, ("Describe the picture backward.", "Read it from the bottom to the top.")),
    (spoken, ("Tell a story about the picture.", "Make a story of it.")),
    (summary, ("Sum up the picture.", "Give a summary of the picture.")),
    (colors, ("Describe the colors of the picture.", "Which colors does the picture have?")),
)  # fmt: skip

LONG = (complete, detailed, guided, spoken)  # asked more often, as long answers have more to learn


def ask(rng: random.Random, scene: Lettered, form: Callable[[Lettered], str] | None = None) -> Turn:
    """A random whole-picture question, or one of `form`, with its answer."""
    entries = [entry for entry in FORMS if form in (None, entry[0])]
    weights = [3 if answer in LONG else 1 for answer, _ in entries]
    answer, questions = rng.choices(entries, weights)[0]
    return Turn(rng.choice(questions), answer(scene), "caption", CAPTION)
