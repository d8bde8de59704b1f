"""How often the teaching model is right on pictures it has never seen, read from parsed answers.

    python assets/teaching_vlm/evaluate.py [--model DIR] --limit N --json OUT

Every picture gets a caption, two short questions, a counting, a reasoning and a follow-up question, all answered by
plain greedy decoding. Pictures come from seeds of their own, apart from training and workload.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import captions
import questions
import reasoning
import torch
from conversations import multi_turn
from language import Turn
from PIL import Image
from reading import ATTRIBUTES, compare, form, is_right
from scenes import draw, make_scene
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.utils import logging

SHIPPED = {"teaching-qwen": Path(__file__).parent / "qwen"}
MAX_NEW_TOKENS = 300


@dataclass(frozen=True)
class Item:
    """A picture, the turns before, the turn to answer, and which part of the test it belongs to."""

    picture: Image.Image
    history: tuple[Turn, ...]
    turn: Turn
    part: str


def make_items(num_pictures: int) -> list[Item]:
    """Six questions for each of `num_pictures` unseen pictures."""
    items = []
    for index in range(num_pictures):
        rng = random.Random(f"evaluate-{index}")
        scene = make_scene(rng)
        picture = draw(scene)
        items.append(Item(picture, (), captions.ask(rng, scene), "captions"))
        items += [Item(picture, (), questions.ask(rng, scene), "short") for _ in range(2)]
        counting = rng.choice((questions.count, reasoning.count_aloud))
        items.append(Item(picture, (), counting(rng, scene), "counting"))
        items.append(Item(picture, (), reasoning.ask(rng, scene), "reasoning"))
        *history, last = multi_turn(rng, scene, 2)
        items.append(Item(picture, tuple(history), last, "follow-up"))
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
def answer_all(model, processor, items: list[Item], batch_size: int) -> list[tuple[str, bool]]:
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


def score(items: list[Item], answers: list[tuple[str, bool]]) -> dict[str, float]:
    """Shares 0..1 of facts (colours, shapes, ...) or of answers (counts, short_answers, ends, ...) that are right."""
    right, total, parts, parts_right = Counter(), Counter(), Counter(), Counter()
    for item, (answer, _) in zip(items, answers, strict=True):
        for kind in ATTRIBUTES:
            matched, facts = compare(answer, item.turn.answer, item.turn.question, kind)
            right[kind] += matched
            total[kind] += facts
        parts[item.part] += 1
        parts_right[item.part] += is_right(answer, item.turn.answer, item.turn.question)
        if item.turn.kind == "count":
            parts["counts"] += 1
            parts_right["counts"] += is_right(answer, item.turn.answer, item.turn.question)
    shares = {kind: right[kind] / max(1, total[kind]) for kind in ATTRIBUTES}
    return {
        "shape_attributes": sum(right.values()) / max(1, sum(total.values())),
        **shares,
        "counts": parts_right["counts"] / max(1, parts["counts"]),
        "short_answers": parts_right["short"] / max(1, parts["short"]),
        "captions": parts_right["captions"] / max(1, parts["captions"]),
        "reasoning": parts_right["reasoning"] / max(1, parts["reasoning"]),
        "follow_ups": parts_right["follow-up"] / max(1, parts["follow-up"]),
        "ends": sum(ended for _, ended in answers) / max(1, len(answers)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy of the teaching model on unseen pictures.")
    parser.add_argument("--model", default="teaching-qwen", help="teaching-qwen or the folder of a model")
    parser.add_argument("--limit", type=int, default=200, help="pictures")
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
    items = make_items(options.limit)
    answers = answer_all(model.to(device).eval(), processor, items, options.batch_size)
    shares = score(items, answers)
    forms = {
        form(answer) for item, (answer, _) in zip(items, answers, strict=True) if item.part == "captions"
    }
    result = {**shares, "caption_forms": len(forms), "pictures": options.limit, "answers": len(items)}
    options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))
    if options.answers:
        lines = [
            {"part": item.part, "kind": item.turn.kind, "question": item.turn.question, "answer": answer,
             "right": item.turn.answer, "is_right": is_right(answer, item.turn.answer, item.turn.question)}
            for item, (answer, _) in zip(items, answers, strict=True)
        ]  # fmt: skip
        options.answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
