"""Write the workload (mmspec.jsonl and images/) and the page's examples (../examples/), the same bytes each time.

    python assets/workload/make_workload.py

Questions are in MMSpec's format and on its six topics. Scenes come from seeds of their own, apart from training and
evaluation.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
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
from workload_topics import QUESTIONS  # noqa: E402

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


def make_rows() -> list[Row]:
    """All questions, topic by topic."""
    rows = []
    for topic, questions in QUESTIONS.items():
        for index, question in enumerate(questions):
            turns, attempt = None, 0
            while turns is None:
                rng = random.Random(f"workload-{topic}-{index}-{attempt}")
                scene = FAMILIES[question.family].make_scene(rng)
                turns = question.turns(rng, scene) if question.fits(scene) else None
                attempt += 1
            rows.append(Row(topic, question.category(turns), question.family, scene, tuple(turns)))
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


def answer_lengths(rows: list[Row]) -> list[int]:
    """Tokens of every turn's right answer."""
    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "teaching_vlm" / "qwen", local_files_only=True)
    return [len(tokenizer(turn.answer)["input_ids"]) for row in rows for turn in row.turns]


def main() -> None:
    rows = make_rows()
    write_workload(ASSETS / "workload", rows)
    write_examples(ASSETS / "examples", make_examples())
    lengths = answer_lengths(rows)
    print(
        f"{len(rows)} questions, {len(lengths)} turns, {len(EXAMPLES)} examples; "
        f"answers of {min(lengths)} to {max(lengths)} tokens, {sum(lengths) / len(lengths):.1f} on average"
    )


if __name__ == "__main__":
    main()
