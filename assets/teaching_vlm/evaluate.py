"""How often a teaching model is right on pictures it has never seen, read from parsed answers.

    python assets/teaching_vlm/evaluate.py [--model DIR] [--families NAME ...] --limit N --json OUT

Every picture gets one question of each of its family's topics and two drill questions, all answered by plain greedy
decoding. Pictures come from seeds of their own, apart from training and workload. From the file written here `card.py`
makes the results of a model's card.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from family import CAPTION, DRILL
from language import Turn
from PIL import Image
from reading import form
from scenes import FAMILIES
from shares import headline, is_answer_right, score
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.utils import logging

SHIPPED = {f"teaching-{name}": Path(__file__).parent / name for name in ("qwen", "llava")}
MAX_NEW_TOKENS = 300
QUESTIONS = {DRILL: 2}  # questions a picture of this part; of every topic one


@dataclass(frozen=True)
class Item:
    """A picture, the turns before, the turn to answer, its family, and the topic or drill it was asked under."""

    picture: Image.Image
    history: tuple[Turn, ...]
    turn: Turn
    family: str
    part: str


def make_items(num_pictures: int, families: list[str]) -> list[Item]:
    """All questions about `num_pictures` unseen pictures of each family."""
    items = []
    for name in families:
        family = FAMILIES[name]
        for index in range(num_pictures):
            rng = random.Random(f"evaluate-{name}-{index}")
            scene = family.make_scene(rng)
            picture = family.draw(scene)
            for topic in family.conversations:
                for _ in range(QUESTIONS.get(topic, 1)):
                    *history, last = family.converse(rng, scene, topic)
                    items.append(Item(picture, tuple(history), last, name, topic))
    return items


def _messages(item: Item) -> list[dict]:
    messages: list[dict] = []
    for turn in (*item.history, item.turn):
        content: list[dict] = [{"type": "text", "text": turn.question}]
        if not messages:
            content.insert(0, {"type": "image"})
        messages.append({"role": "user", "content": content})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": turn.answer}]})
    return messages[:-1]


@torch.inference_mode()
def answer_all(model: Any, processor: Any, items: list[Item], batch_size: int) -> list[tuple[str, bool]]:
    """Greedy answers, and whether each ended by itself; items of similar length share a batch."""
    processor.tokenizer.padding_side = "left"
    end = model.generation_config.eos_token_id
    answers: list[tuple[str, bool]] = [("", False)] * len(items)
    order = sorted(range(len(items)), key=lambda i: len(items[i].turn.answer))
    started = time.monotonic()
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        texts = [
            processor.apply_chat_template(_messages(items[i]), add_generation_prompt=True, tokenize=False)
            for i in chosen
        ]
        inputs = processor(
            text=texts, images=[items[i].picture for i in chosen], padding=True, return_tensors="pt"
        ).to(model.device)
        output = model.generate(**inputs, do_sample=False, max_new_tokens=MAX_NEW_TOKENS)
        for i, ids in zip(chosen, output[:, inputs["input_ids"].shape[1] :].tolist(), strict=True):
            said = ids[: ids.index(end)] if end in ids else ids
            answers[i] = (processor.tokenizer.decode(said, skip_special_tokens=True), end in ids)
        done = start + len(chosen)
        left = (time.monotonic() - started) / done * (len(items) - done)
        print(f"{done} of {len(items)} answers, {left:.0f} s left", file=sys.stderr, flush=True)
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy of a teaching model on unseen pictures.")
    parser.add_argument("--model", default="teaching-qwen", help="a shipped model or the folder of one")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--limit", type=int, default=200, help="pictures of each family")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument(
        "--answers", type=Path, help="also write every question, answer and right answer here"
    )
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.limit < 1:
        parser.error(f"limit must be at least 1; got limit={options.limit}")
    torch.set_num_threads(options.threads)
    logging.disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = SHIPPED.get(options.model, Path(options.model))
    processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    items = make_items(options.limit, options.families)
    answers = answer_all(model.to(device).eval(), processor, items, options.batch_size)
    result: dict[str, Any] = {"architecture": model.config.model_type, "pictures": options.limit}
    result |= headline(items, answers)
    for name in options.families:
        chosen = [i for i, item in enumerate(items) if item.family == name]
        shares = score([items[i] for i in chosen], [answers[i] for i in chosen])
        captions = {form(answers[i][0], name) for i in chosen if items[i].part == CAPTION}
        result[name] = {"answers": len(chosen), "caption forms": len(captions), **shares}
    options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))
    if options.answers:
        lines = [
            {"family": item.family, "part": item.part, "kind": item.turn.kind, "question": item.turn.question,
             "answer": answer, "right": item.turn.answer,
             "is_right": is_answer_right(item, answer)}
            for item, (answer, _) in zip(items, answers, strict=True)
        ]  # fmt: skip
        options.answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
