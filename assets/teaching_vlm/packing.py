"""Training batches: one picture and several conversations about it packed into one row.

Every row is [prefix with the picture | conversation | conversation | ... | padding]. A conversation sees the prefix and
itself, never its neighbours, and its positions follow the prefix directly; so each is exactly what the model meets when
asked alone, while picture and vision tower are paid once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from architecture import MERGE_SIZE, NUM_PICTURE_TOKENS, PATCH_SIZE, SYSTEM_PROMPT
from conversations import converse
from language import NUMBERS, Turn
from scenes import (
    BACKGROUNDS,
    CELL_SIZE,
    COLORS,
    COLUMNS,
    PICTURE_SIZE,
    ROWS,
    SHAPES,
    SIZES,
    Scene,
    Thing,
    draw,
    make_scene,
)
from transformers import Qwen2Tokenizer

SIDE = PICTURE_SIZE // (PATCH_SIZE * MERGE_SIZE)  # picture tokens a side
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)
DENSE_WORDS = {
    "shape": (*SHAPES, "nothing"),
    "color": (*COLORS, "nothing"),
    "size": (*SIZES, "nothing"),
    "row": ROWS,
    "column": COLUMNS,
    "background": tuple(BACKGROUNDS),
}
CELL_NAMES = ("shape", "color", "size")
FACT_WORDS = {
    *SHAPES, *COLORS, *SIZES, *BACKGROUNDS, *ROWS, *COLUMNS, *NUMBERS, "no", "none", "yes", "nothing", "empty", "only",
    "both", "all",
}  # fmt: skip
IGNORED = -100
USUAL_LENGTH = 50  # tokens of an answer whose tokens weigh 1
SLIVER, COVERED = 0.01, 0.2  # shares of a thing's bounding box


@dataclass
class Batch:
    """B rows of L tokens: everything one training step reads."""

    patches: torch.Tensor  # [B, 144, 588], normalised pixels in the processor's patch order
    dense: dict[str, torch.Tensor]  # name -> [B, 36], index into DENSE_WORDS[name], or IGNORED
    cells: dict[str, torch.Tensor]  # shape, color, size -> [B, 9], index into DENSE_WORDS[name]
    input_ids: torch.Tensor  # [B, L]
    position_ids: torch.Tensor  # [3, B, L]
    segments: torch.Tensor  # [B, L]: 0 prefix, 1.. conversations, -1 padding
    labels: torch.Tensor  # [B, L]: the token to predict AT each position, or IGNORED
    weights: torch.Tensor  # [B, L]: loss weight of each label
    is_fact: torch.Tensor  # [B, L]: whether the label is a colour, place, number ... word


def patchify(scene: Scene) -> np.ndarray:
    """Pixels of the drawn scene as the processor orders them, one time step: [144, 588]."""
    pixels = (np.asarray(draw(scene), dtype=np.float32) / 255 - MEAN) / STD
    blocks = pixels.reshape(SIDE, MERGE_SIZE, PATCH_SIZE, SIDE, MERGE_SIZE, PATCH_SIZE, 3)
    return blocks.transpose(0, 3, 1, 4, 6, 2, 5).reshape(-1, 3 * PATCH_SIZE**2)


def covered_share(thing: Thing, row: int, column: int) -> float:
    """Share (0..1) of the thing's bounding box that lies under the picture token at `row`, `column` (0..5)."""
    share, token = 1.0, PICTURE_SIZE / SIDE
    for index, cell_index, offset in (
        (row, thing.row, thing.offset[1]),
        (column, thing.column, thing.offset[0]),
    ):
        middle = (cell_index + 0.5) * CELL_SIZE + offset
        low, high = max(middle - thing.radius, index * token), min(middle + thing.radius, (index + 1) * token)
        share *= max(0.0, high - low) / (2 * thing.radius)
    return share


def dense_labels(scene: Scene) -> dict[str, np.ndarray]:
    """For each picture token ([36], row by row) what it covers, where it is, and the background.

    A token that shows a fifth of a thing is labelled with it, one that shows a sliver is left out.
    """
    labels: dict[str, list[int]] = {name: [] for name in DENSE_WORDS}
    for row, column in np.ndindex(SIDE, SIDE):
        grid_row, grid_column = row * 3 // SIDE, column * 3 // SIDE
        thing = scene.at(grid_row * 3 + grid_column)
        share = covered_share(thing, row, column) if thing else 0.0
        for name in ("shape", "color", "size"):
            word = getattr(thing, name) if share >= COVERED else "nothing"
            labels[name].append(DENSE_WORDS[name].index(word) if not SLIVER < share < COVERED else IGNORED)
        labels["row"].append(grid_row)
        labels["column"].append(grid_column)
        labels["background"].append(DENSE_WORDS["background"].index(scene.background))
    return {name: np.array(values) for name, values in labels.items()}


def cell_labels(scene: Scene) -> dict[str, np.ndarray]:
    """For each cell ([9]) the shape, colour and size of its thing, or nothing."""
    things = [scene.at(cell) for cell in range(9)]
    return {
        name: np.array([DENSE_WORDS[name].index(getattr(t, name) if t else "nothing") for t in things])
        for name in CELL_NAMES
    }


class Packer:
    """Turns seeds into batches for one tokenizer."""

    def __init__(self, tokenizer: Qwen2Tokenizer, row_length: int, fact_weight: float):
        self.tokenizer = tokenizer
        self.row_length = row_length
        head = f"<|im_start|>system\n{SYSTEM_PROMPT}<|im_end|>\n<|im_start|>user\n<|vision_start|>"
        picture = "<|image_pad|>" * NUM_PICTURE_TOKENS
        self.prefix_ids: list[int] = self.encode(f"{head}{picture}<|vision_end|>")
        self.picture_start = len(self.encode(head))
        self.prefix_positions = self._prefix_positions()
        vocabulary = tokenizer.get_vocab().items()
        self.weight_of_token = np.ones(max(i for _, i in vocabulary) + 1, dtype=np.float32)
        for token, index in vocabulary:
            if token.replace("Ġ", "").lower() in FACT_WORDS:
                self.weight_of_token[index] = fact_weight

    @staticmethod
    def seed(stage: str, run: int, step: int) -> str:
        """Seed of one training batch; `stage` keeps it apart from the seeds of evaluation and workload."""
        return f"{stage}-{run}-{step}"

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens included."""
        return self.tokenizer(text)["input_ids"]

    def _prefix_positions(self) -> np.ndarray:
        """M-RoPE positions of the prefix, [3, P]: the picture spans its side on two axes and nothing in time."""
        rows, columns = np.divmod(np.arange(NUM_PICTURE_TOKENS), SIDE)
        start = self.picture_start
        picture = np.stack([np.zeros_like(rows), rows, columns]) + start
        before = np.broadcast_to(np.arange(start), (3, start))
        after = np.full((3, 1), start + SIDE)
        return np.concatenate([before, picture, after], axis=1)

    def conversation_ids(self, turns: list[Turn]) -> tuple[list[int], list[float]]:
        """Token ids behind the picture, and the loss weight of each: 0 where the model only listens.

        A token of a short answer weighs more, so that an answer counts by the root of its length.
        """
        ids, said = [], []
        for index, turn in enumerate(turns):
            opening = "\n<|im_start|>user\n" if index else ""
            asked = self.encode(f"{opening}{turn.question}<|im_end|>\n<|im_start|>assistant\n")
            answered = self.encode(f"{turn.answer}<|im_end|>")
            ids += asked + answered
            said += [0.0] * len(asked) + [(USUAL_LENGTH / len(answered)) ** 0.5] * len(answered)
        return ids, said

    def fill_row(self, rng: random.Random, scene: Scene, shares: Sequence[float]) -> dict[str, np.ndarray]:
        """One packed row; conversations are drawn until one does not fit."""
        length, prefix = self.row_length, len(self.prefix_ids)
        row = {
            "input_ids": np.full(length, self.tokenizer.pad_token_id),
            "position_ids": np.zeros((3, length), dtype=np.int64),
            "segments": np.full(length, -1),
            "labels": np.full(length, IGNORED),
            "weights": np.zeros(length, dtype=np.float32),
            "is_fact": np.zeros(length, dtype=bool),
        }
        row["input_ids"][:prefix] = self.prefix_ids
        row["position_ids"][:, :prefix] = self.prefix_positions
        row["segments"][:prefix] = 0
        start, segment, asked = prefix, 1, set()
        first_position = int(self.prefix_positions.max()) + 1
        for _ in range(12):
            turns = converse(rng, scene, shares)
            ids, said = self.conversation_ids(turns)
            end = start + len(ids)
            if end > length or turns[0].question in asked:
                continue
            asked.add(turns[0].question)
            row["input_ids"][start:end] = ids
            row["position_ids"][:, start:end] = first_position + np.arange(len(ids))
            row["segments"][start:end] = segment
            targets = np.where(said, ids, IGNORED)
            row["labels"][start : end - 1] = targets[1:]
            row["weights"][start : end - 1] = (np.array(said) * self.weight_of_token[ids])[1:]
            row["is_fact"][start : end - 1] = (np.array(said) > 0)[1:] & (self.weight_of_token[ids] > 1)[1:]
            start, segment = end, segment + 1
            if length - start < 20:
                break
        return row

    def batch(
        self,
        seed: str,
        num_pictures: int,
        max_things: int,
        shares: Sequence[float],
        with_text: bool = True,
    ) -> Batch:
        """Batch of `num_pictures` pictures of 1..max_things things; the same seed gives the same batch."""
        rng = random.Random(seed)
        scenes = [make_scene(rng, rng.randint(1, max_things)) for _ in range(num_pictures)]
        rows = [self.fill_row(rng, scene, shares) for scene in scenes] if with_text else []
        dense = [dense_labels(scene) for scene in scenes]
        cells = [cell_labels(scene) for scene in scenes]

        def stack(key: str, axis: int = 0) -> torch.Tensor:
            return torch.from_numpy(np.stack([row[key] for row in rows], axis)) if rows else torch.empty(0)

        return Batch(
            patches=torch.from_numpy(np.stack([patchify(scene) for scene in scenes])),
            dense={
                name: torch.from_numpy(np.stack([labels[name] for labels in dense])) for name in DENSE_WORDS
            },
            cells={
                name: torch.from_numpy(np.stack([labels[name] for labels in cells])) for name in CELL_NAMES
            },
            input_ids=stack("input_ids"),
            position_ids=stack("position_ids", 1),
            segments=stack("segments"),
            labels=stack("labels"),
            weights=stack("weights"),
            is_fact=stack("is_fact"),
        )
