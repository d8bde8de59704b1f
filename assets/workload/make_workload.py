"""Write the workload (mmspec.jsonl and images/) and the page's examples (../examples/), the same bytes each time.

    python assets/workload/make_workload.py

Questions are in MMSpec's format, on four of its topics: a picture of shapes has no words or charts to ask about.
Scenes come from seeds of their own, apart from training and evaluation.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ASSETS / "teaching_vlm"))

from language import Turn  # noqa: E402  the grammar lives beside the training script
from shapes import captions, questions, reasoning  # noqa: E402
from shapes.conversations import multi_turn  # noqa: E402
from shapes.scene import Scene, draw, make_scene  # noqa: E402

QUESTIONS_PER_TOPIC = 20
MIN_THINGS, MAX_THINGS = 5, 6  # full pictures: long answers
VQA_ASKERS = (
    questions.everything,
    questions.line,
    questions.where_color,
    questions.everything,
    questions.line,
    questions.palette,
    questions.count,
    questions.everything,
    questions.exists,
    questions.line,
)
REASONING_ASKERS = (
    reasoning.mirror,
    reasoning.repaint,
    reasoning.big_and_small,
    reasoning.take_away,
    reasoning.count_aloud,
    reasoning.mirror,
    reasoning.compare_pair,
    reasoning.check_each,
    reasoning.repaint,
    reasoning.empty_places,
)
EXAMPLES = (  # what is asked, number of things, and which drawing of them: ones that the model gets right
    (partial(captions.ask, form=captions.plain), 5, 1),
    (questions.count, 6, 0),
    (partial(captions.ask, form=captions.as_json), 4, 0),
    (reasoning.mirror, 5, 0),
    (partial(captions.ask, form=captions.guided), 4, 0),
    (partial(captions.ask, form=captions.as_table), 5, 1),
)


@dataclass(frozen=True)
class Row:
    """One line of mmspec.jsonl with its scene."""

    topic: str
    category: str
    scene: Scene
    turns: tuple[Turn, ...]


def _conversation(topic: str, index: int, rng: random.Random, scene: Scene) -> list[Turn] | None:
    """The turns of question `index` of a topic, or None where this scene cannot be asked that."""
    if topic == "image captioning":
        return [captions.ask(rng, scene, captions.FORMS[index % len(captions.FORMS)][0])]
    if topic == "multi-turn conversation":
        turns = multi_turn(rng, scene, 2 + index % 2)
        about_picture = index % 5 > 0  # four in five talk about the whole picture, one about one thing
        return turns if (turns[0].kind == "caption") == about_picture else None
    askers = VQA_ASKERS if topic == "general vqa" else REASONING_ASKERS
    turn = askers[index % len(askers)](rng, scene)
    return None if turn is None else [turn]


TOPICS = ("general vqa", "image captioning", "complex reasoning pro", "multi-turn conversation")


def make_rows() -> list[Row]:
    """All questions, topic by topic."""
    rows = []
    for topic in TOPICS:
        for index in range(QUESTIONS_PER_TOPIC):
            turns, attempt = None, 0
            while turns is None:
                rng = random.Random(f"workload-{topic}-{index}-{attempt}")
                scene = make_scene(rng, num_things=rng.randint(MIN_THINGS, MAX_THINGS))
                turns = _conversation(topic, index, rng, scene)
                attempt += 1
            rows.append(Row(topic, turns[-1].kind, scene, tuple(turns)))
    return rows


def make_examples() -> list[tuple[Scene, Turn]]:
    """Six pictures with a question each, for the page."""
    examples = []
    for index, (asker, num_things, pick) in enumerate(EXAMPLES):
        rng = random.Random(f"example-{index}-{pick}")
        scene = make_scene(rng, num_things=num_things)
        examples.append((scene, asker(rng, scene)))
    return examples


def write_workload(folder: Path, rows: list[Row]) -> None:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for index, row in enumerate(rows, 1):
        image = f"{index:03d}.png"
        draw(row.scene).save(folder / "images" / image, optimize=True)
        lines.append(
            {
                "id": f"shapes-{index:03d}",
                "image": image,
                "turns": [turn.question for turn in row.turns],
                "category": row.category,
                "topic": row.topic,
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "mmspec.jsonl").write_text(text, encoding="utf-8")


def write_examples(folder: Path, examples: list[tuple[Scene, Turn]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for index, (scene, turn) in enumerate(examples, 1):
        name = f"example-{index}.png"
        draw(scene).save(folder / name, optimize=True)
        entries.append({"image": name, "question": turn.question})
    (folder / "questions.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    rows = make_rows()
    write_workload(ASSETS / "workload", rows)
    write_examples(ASSETS / "examples", make_examples())
    print(f"{len(rows)} questions, {sum(len(row.turns) for row in rows)} turns, {len(EXAMPLES)} examples")


if __name__ == "__main__":
    main()
