"""Training batches: one picture and several conversations about it packed into one row.

Every row is [prefix with the picture | conversation | conversation | ... | padding]. A conversation sees the prefix and
itself, never its neighbours, and its positions follow the prefix directly; so each is exactly what the model meets when
asked alone, while picture and vision tower are paid once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from architectures import Architecture
from architectures.base import Prefix
from dense import dense_labels, region_labels
from family import IGNORED
from labels import REGION_NAMES
from language import NUMBERS, Turn
from mentions import MentionFinder
from scenes import FAMILIES
from tokenization import END
from transformers import PreTrainedTokenizerBase

DECISIONS = (
    "yes",
    "no",
    "so",
    "makes",
    "does",
    "stays",
    "goes",
    "more",
    "less",
    "neither",
    "both",
    "all",
    "none",
    "only",
    "above",
    "not",
    "same",
)
COMMON_FACTS = frozenset((*NUMBERS, *DECISIONS, "nothing", "empty", "once"))
USUAL_LENGTH = 50  # tokens of an answer whose tokens weigh 1
MIN_SPACE = 20  # tokens: less room than this is left empty
MAX_TRIES = 12  # conversations drawn for one row


@dataclass
class Batch:
    """B rows of L tokens about B pictures of T picture tokens in all: everything one training step reads."""

    pictures: Any  # as the architecture prepares them
    dense: dict[str, torch.Tensor]  # name -> [T] or [T, slots], index into labels.CLASSES[name], or IGNORED
    regions: dict[
        str, torch.Tensor
    ]  # the same, known at the last picture token of a region after a few layers
    input_ids: torch.Tensor  # [B, L]
    is_picture: torch.Tensor  # [B, L]: where the picture vectors go
    position_ids: torch.Tensor  # [axes, B, L]
    segments: torch.Tensor  # [B, L]: 0 prefix, 1.. conversations, -1 padding
    labels: torch.Tensor  # [B, L]: the token to predict AT each position, or IGNORED
    mentions: dict[
        str, torch.Tensor
    ]  # name -> [B, L]: fact of what a phrase means, at its last token, or IGNORED
    weights: torch.Tensor  # [B, L]: loss weight of each label
    is_fact: torch.Tensor  # [B, L]: whether the label is a colour, place, number ... word


class Packer:
    """Turns seeds into batches for one architecture and tokenizer."""

    def __init__(
        self,
        architecture: Architecture,
        tokenizer: PreTrainedTokenizerBase,
        row_length: int,
        fact_weight: float,
    ):
        self.architecture, self.tokenizer, self.row_length = architecture, tokenizer, row_length
        facts = COMMON_FACTS.union(
            *(words for family in FAMILIES.values() for words in family.facts.values())
        )
        vocabulary = tokenizer.get_vocab().items()
        self.weight_of_token = np.ones(max(i for _, i in vocabulary) + 1, dtype=np.float32)
        for token, index in vocabulary:
            word = token.replace("Ġ", "").lower()
            if word in facts or word.isdigit():
                self.weight_of_token[index] = fact_weight
        self.mention_finder = MentionFinder(self.encode)
        self.prefix = cache(lambda size: architecture.prefix(tokenizer, size))

    @staticmethod
    def seed(stage: str, run: int, step: int) -> str:
        """Seed of one training batch; `stage` keeps it apart from the seeds of evaluation and workload."""
        return f"{stage}-{run}-{step}"

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens included."""
        return self.tokenizer(text)["input_ids"]

    def conversation_ids(self, turns: list[Turn]) -> tuple[list[int], list[float]]:
        """Token ids behind the picture, and the loss weight of each: 0 where the model only listens.

        A token of a short answer weighs more, so that an answer counts by the root of its length.
        """
        ids, said = [], []
        for index, turn in enumerate(turns):
            opening = "\n<|im_start|>user\n" if index else ""
            asked = self.encode(f"{opening}{turn.question}{END}\n<|im_start|>assistant\n")
            answered = self.encode(f"{turn.answer}{END}")
            ids += asked + answered
            said += [0.0] * len(asked) + [(USUAL_LENGTH / len(answered)) ** 0.5] * len(answered)
        return ids, said

    def fill_row(
        self, rng: random.Random, family: str, scene: Any, prefix: Prefix, topics: Mapping[str, float]
    ) -> dict[str, np.ndarray]:
        """One packed row; conversations are drawn by the weights of `topics` until one does not fit."""
        length, start = self.row_length, len(prefix.ids)
        row = {
            "input_ids": np.full(length, self.tokenizer.pad_token_id),
            "is_picture": np.zeros(length, dtype=bool),
            "position_ids": np.zeros((len(prefix.position_ids), length), dtype=np.int64),
            "segments": np.full(length, -1),
            "labels": np.full(length, IGNORED),
            "weights": np.zeros(length, dtype=np.float32),
            "is_fact": np.zeros(length, dtype=bool),
        }
        row["input_ids"][:start] = prefix.ids
        row["is_picture"][prefix.picture_start : prefix.picture_start + len(prefix.centers)] = True
        row["position_ids"][:, :start] = prefix.position_ids
        row["segments"][:start] = 0
        row |= {f"mention {name}": np.full(length, IGNORED) for name in REGION_NAMES}
        mentions = FAMILIES[family].mentions(scene)
        segment, asked = 1, set()
        known = {topic: weight for topic, weight in topics.items() if topic in FAMILIES[family].conversations}
        for _ in range(MAX_TRIES):
            topic = rng.choices(list(known), list(known.values()))[0]
            turns = FAMILIES[family].converse(rng, scene, topic)
            ids, said = self.conversation_ids(turns)
            end = start + len(ids)
            if end > length or turns[0].question in asked:
                continue
            asked.add(turns[0].question)
            row["input_ids"][start:end] = ids
            row["position_ids"][:, start:end] = prefix.next_position + np.arange(len(ids))
            row["segments"][start:end] = segment
            for name, found in self.mention_finder.labels(mentions, ids).items():
                row[f"mention {name}"][start:end] = found
            targets = np.where(said, ids, IGNORED)
            row["labels"][start : end - 1] = targets[1:]
            row["weights"][start : end - 1] = (np.array(said) * self.weight_of_token[ids])[1:]
            row["is_fact"][start : end - 1] = (np.array(said) > 0)[1:] & (self.weight_of_token[ids] > 1)[1:]
            start, segment = end, segment + 1
            if length - start < MIN_SPACE:
                break
        return row

    def batch(
        self,
        seed: str,
        num_pictures: int,
        families: Mapping[str, float],
        topics: Mapping[str, float] | None,
        easy: bool = False,
    ) -> Batch:
        """Batch of `num_pictures` pictures by the weights of `families`; the same seed gives the same batch.

        Without `topics` it holds pictures and dense labels only.
        """
        rng = random.Random(seed)
        names = rng.choices(list(families), list(families.values()), k=num_pictures)
        scenes = [FAMILIES[name].make_scene(rng, easy) for name in names]
        pictures = [FAMILIES[name].draw(scene) for name, scene in zip(names, scenes, strict=True)]
        prefixes = [self.prefix(picture.size) for picture in pictures]
        rows = [
            self.fill_row(rng, name, scene, prefix, topics)
            for name, scene, prefix in zip(names, scenes, prefixes, strict=True)
            if topics is not None
        ]
        views = [
            (FAMILIES[name], scene, picture.size, prefix.centers)
            for name, scene, picture, prefix in zip(names, scenes, pictures, prefixes, strict=True)
        ]

        def stack(key: str, axis: int = 0) -> torch.Tensor:
            return torch.from_numpy(np.stack([row[key] for row in rows], axis)) if rows else torch.empty(0)

        return Batch(
            pictures=self.architecture.prepare(pictures),
            dense=dense_labels(views),
            regions=region_labels(views),
            input_ids=stack("input_ids"),
            is_picture=stack("is_picture"),
            position_ids=stack("position_ids", 1),
            segments=stack("segments"),
            labels=stack("labels"),
            mentions={name: stack(f"mention {name}") for name in REGION_NAMES},
            weights=stack("weights"),
            is_fact=stack("is_fact"),
        )
