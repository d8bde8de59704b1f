"""Random memories through the whole loop on a target without weights: the text is greedy decoding's, every time."""

from __future__ import annotations

import random

import numpy as np
from bridges import fill
from languages import Language, request_of, target_of
from oracles import KEY_LENGTHS, SOURCES, DictMemories, greedy_decode, random_row

from recap.config import RecapConfig
from recap.drafters import RecapDrafter
from recap.engine import generate
from recap.events import Finished, Iteration
from recap.memory import Memories


def random_language(rng: random.Random) -> Language:
    """Scores by the last one to three tokens of a small vocabulary, some on a coarse grid: ties are common."""
    vocab_size, order = rng.choice((4, 5, 8, 9, 16, 40)), rng.choice((1, 1, 2, 3))
    return Language(vocab_size, order, rng.randrange(10**9), step=1.0 if rng.random() < 0.3 else 0.0)


def random_memories(rng: random.Random, vocab_size: int) -> DictMemories:
    """Rows that no target ever predicted, under few or many keys of some maps or all of them."""
    memories = DictMemories()
    rows = [random_row(rng, range(vocab_size), vocab_size) for _ in range(rng.choice((1, 6)))]
    for source in SOURCES:
        num_keys = rng.choice((0, 3, 40, 40))
        keys = {tuple(rng.randrange(vocab_size) for _ in range(KEY_LENGTHS[source])) for _ in range(num_keys)}
        memories.maps[source] = {key: rng.choice(rows) for key in sorted(keys)}
    return memories


class HostileDrafter(RecapDrafter):
    """RECAP whose memories, G and C included, are random at the start of the request, or again before every pass."""

    def __init__(
        self, rng: random.Random, config: RecapConfig, memories: Memories, blocked: list[int]
    ) -> None:
        super().__init__(config, memories, blocked)
        self._rng, self._is_relentless, self._is_filled = rng, rng.random() < 0.3, False

    def draft(self, history: np.ndarray):
        if self._is_relentless or not self._is_filled:
            fill(self.memories, random_memories(self._rng, self.memories.vocab_size))
            self._is_filled = True
        return super().draft(history)


def test_the_text_is_greedy_decodings_whatever_the_memories_hold(is_full: bool) -> None:
    rng = random.Random(82)
    num_accepted = num_passes = 0
    for _ in range(10_000 if is_full else 150):
        language = random_language(rng)
        ids = range(language.vocab_size)
        end_ids, blocked = rng.sample(ids, rng.choice((0, 0, 1))), rng.sample(ids, rng.choice((0, 1)))
        prompt = [rng.choice(ids) for _ in range(rng.choice((1, 2, 3, 12)))]
        cap = rng.choice((1, 2, 7, 30))
        config = RecapConfig(
            max_nodes=rng.choice((0, 1, 6, 24, 63)),
            max_depth=rng.choice((1, 3, 10)),
            width=rng.choice((1, 3, 8)),
            suffix_max_nodes=rng.choice((0, 4)),
            forbid_repeated_edges=rng.random() < 0.2,
        )
        target = target_of(language, end_ids, blocked)
        drafter = HostileDrafter(rng, config, Memories(language.vocab_size), blocked)
        *events, finished = generate(target, drafter, request_of(prompt, cap))
        assert isinstance(finished, Finished)
        expected = greedy_decode(language.next_scores, prompt, cap, end_ids)
        assert (list(finished.output_ids), finished.stop_reason) == expected
        num_passes += finished.num_passes
        num_accepted += sum(len(event.accepted) for event in events if isinstance(event, Iteration))
    assert num_accepted > num_passes / 4, (
        "drafts must be accepted, or the law is not tried where it could fail"
    )
