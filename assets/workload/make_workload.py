"""Write the workload (mmspec.jsonl and images/) and the page's examples (../examples/), the same bytes each time.

    python assets/workload/make_workload.py

Questions are in MMSpec's format and on its six topics, and answers as long as there as far as the pictures allow: their
length decides how much decoding can save. Scenes come from seeds of their own, apart from training and evaluation.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count, islice
from pathlib import Path
from statistics import fmean
from typing import Any

ASSETS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ASSETS / "teaching_vlm"))

from language import Turn  # noqa: E402  the grammar lives beside the training script
from page_examples import (  # noqa: E402
    CHANGES,
    COLOR_TABLE,
    DESCRIPTION,
    FEET_UP,
    HEAD_DOWN,
    RECEIPT_DETAILS,
    STORY,
    drawings,
)
from PIL import Image  # noqa: E402
from scenes import FAMILIES  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402
from workload_topics import MMSPEC_TOKENS, QUESTIONS, Question  # noqa: E402

MAX_DRAWINGS = 16  # of a question

EXAMPLES = (  # what is asked, and which drawing of those that fit: ones that the model gets right
    (DESCRIPTION, 17),  # one question about two pictures
    (DESCRIPTION, 1),
    (HEAD_DOWN, 8),  # one word, 'her', in two contexts, in either order
    (FEET_UP, 20),
    (COLOR_TABLE, 7),
    (CHANGES, 17),
    (RECEIPT_DETAILS, 0),
    (STORY, 12),
)


@dataclass(frozen=True)
class Row:
    """One line of mmspec.jsonl with its scene."""

    topic: str
    category: str
    family: str
    scene: Any
    turns: tuple[Turn, ...]


def draw(family: str, scene: Any) -> Image.Image:
    """The scene's picture."""
    return FAMILIES[family].draw(scene)


def drawings_for(topic: str, index: int, question: Question) -> Iterator[Row]:
    """Pictures on which the question can be asked, without end."""
    for attempt in count():
        rng = random.Random(f"workload-{topic}-{index}-{attempt}")
        scene = FAMILIES[question.family].make_scene(rng)
        turns = question.turns(rng, scene) if question.fits(scene) else None
        if turns is not None:
            yield Row(topic, question.category(turns), question.family, scene, tuple(turns))


def make_rows(num_tokens: Callable[[Row], int]) -> list[Row]:
    """All questions, topic by topic.

    Of the first few drawings of a question, the one with the longest answer; how many are looked at is the same within
    a topic, and brings its mean length nearest to MMSpec's.
    """
    rows: list[Row] = []
    for topic, questions in QUESTIONS.items():
        longest = []  # of each question, after one drawing, two, ...: (tokens, row)
        for place in enumerate(questions):
            drawings = islice(drawings_for(topic, *place), MAX_DRAWINGS)
            measured = ((num_tokens(row), row) for row in drawings)
            longest.append(accumulate(measured, lambda best, new: new if new[0] > best[0] else best))
        chosen = min(
            zip(*longest, strict=True),
            key=lambda choice: abs(fmean(tokens for tokens, _ in choice) - MMSPEC_TOKENS[topic]),
        )
        rows += [row for _, row in chosen]
    return rows


def make_examples() -> list[tuple[str, Any, Turn]]:
    """Eight pictures (family, scene) with a question each, for the page."""
    return [(example.family, *next(islice(drawings(example), pick, None))) for example, pick in EXAMPLES]


def write_workload(folder: Path, rows: list[Row]) -> None:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for index, row in enumerate(rows, 1):
        image = f"{index:03d}.png"
        draw(row.family, row.scene).save(folder / "images" / image, optimize=True)
        lines.append(
            {
                "id": f"{row.family}-{index:03d}",
                "image": image,
                "turns": [turn.question for turn in row.turns],
                "category": row.category,
                "topic": row.topic,
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "mmspec.jsonl").write_text(text, encoding="utf-8")


def write_examples(folder: Path, examples: list[tuple[str, Any, Turn]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for index, (family, scene, turn) in enumerate(examples, 1):
        name = f"example-{index}.png"
        draw(family, scene).save(folder / name, optimize=True)
        entries.append({"image": name, "question": turn.question})
    (folder / "questions.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def token_counter() -> Callable[[Row], int]:
    """Counts the tokens of a row's right answers, all turns together."""
    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "teaching_vlm" / "qwen", local_files_only=True)
    return lambda row: sum(len(tokenizer(turn.answer)["input_ids"]) for turn in row.turns)


def main() -> None:
    num_tokens = token_counter()
    rows = make_rows(num_tokens)
    write_workload(ASSETS / "workload", rows)
    write_examples(ASSETS / "examples", make_examples())
    print(f"{len(rows)} questions, {sum(len(row.turns) for row in rows)} turns, {len(EXAMPLES)} examples")
    for topic, aim in MMSPEC_TOKENS.items():
        lengths = [num_tokens(row) for row in rows if row.topic == topic]
        print(f"{topic}: {min(lengths)} to {max(lengths)} tokens, mean {fmean(lengths):.1f} (MMSpec {aim})")


if __name__ == "__main__":
    main()
