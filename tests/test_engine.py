"""The loop: its text is plain greedy decoding's whatever the memories hold, and its passes are the method's."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Sequence

import numpy as np
import oracles
import pytest
import torch
from bridges import as_row, assert_same_contents, fill, found_row
from oracles import (
    KEY_LENGTHS,
    RULES,
    SOURCES,
    SPECIFICITY_PRIORS,
    DictMemories,
    Row,
    SearchRules,
    greedy_decode,
    random_row,
    recap_passes,
    scaled,
)

from recap.config import RecapConfig
from recap.drafters import AutoregressiveDrafter, RecapDrafter, make_drafter, parse_method
from recap.drafters.base import Drafter
from recap.engine import generate
from recap.errors import InputError, ModelError
from recap.events import Event, Finished, Iteration, Prefill, Run
from recap.memory import Memories
from recap.recorder import Recorder
from recap.rows import make_rows
from recap.targets.base import Request, Scores
from recap.targets.scoring import score_positions
from recap.targets.scripted import ScriptedTarget, random_scores, table_scores
from recap.tree import DraftTree, root_only_tree
from recap.verification import ancestor_mask


class Language:
    """A made-up target: scores that depend on the last few tokens alone, so that texts recur as real ones do.

    With `step` the scores lie on a grid and tie exactly, at the top as well.
    """

    def __init__(self, vocab_size: int, order: int, seed: int, step: float = 0.0) -> None:
        self.vocab_size = vocab_size
        self._order, self._seed, self._step = order, seed, step
        self._known: dict[tuple[int, ...], list[float]] = {}

    def next_scores(self, history: Sequence[int]) -> list[float]:
        """Scores of every token after a history."""
        context = tuple(int(token) for token in history[-self._order :])
        if context not in self._known:
            scores = np.random.default_rng([self._seed, *context]).normal(0, 3, self.vocab_size)
            if self._step:
                scores = np.round(scores / self._step) * self._step
            self._known[context] = scores.astype(np.float32).tolist()
        return self._known[context]


def random_language(rng: random.Random) -> Language:
    vocab_size = rng.choice((5, 7, 8, 12, 40, 300))
    return Language(
        vocab_size, rng.choice((1, 1, 2, 2, 3)), rng.randrange(10**6), rng.choice((0.0, 0.0, 1.0, 4.0))
    )


def row_of(scores: Sequence[float]) -> Row:
    """The row of a score vector: chosen by the oracle, its fp32 softmax by `make_rows` (which has its own tests)."""
    ids = oracles.top_ids(scores, 8)
    rows = make_rows(np.array([ids]), np.array([[scores[i] for i in ids]], np.float32))
    return as_row(rows.token_ids[0], rows.probabilities[0], rows.confidences[0])


def target_of(
    language: Language, end_ids: Sequence[int] = (), blocked_ids: Sequence[int] = ()
) -> ScriptedTarget:
    return ScriptedTarget(
        language.vocab_size, lambda history: np.array(language.next_scores(history)), end_ids, blocked_ids
    )


def request_of(prompt: Sequence[int], max_new_tokens: int, image_id: int | None = None) -> Request:
    return Request(np.array(prompt, np.int64), max_new_tokens, image_id)


def finished(events: Sequence[Event]) -> Finished:
    assert isinstance(events[0], Prefill)
    assert all(isinstance(event, Iteration) for event in events[1:-1])
    assert isinstance(events[-1], Finished)
    return events[-1]


def rubbish(rng: random.Random, vocab_size: int) -> DictMemories:
    """Memories filled with rows that no target ever predicted."""
    memories = DictMemories()
    alphabet = range(vocab_size)
    rows = [random_row(rng, alphabet, vocab_size) for _ in range(30)]
    for source in SOURCES:
        keys = {tuple(rng.choice(alphabet) for _ in range(KEY_LENGTHS[source])) for _ in range(300)}
        memories.maps[source] = {key: rng.choice(rows) for key in sorted(keys)}
    return memories


def random_config(rng: random.Random) -> RecapConfig:
    return RecapConfig(
        max_nodes=rng.choice((0, 1, 6, 24, 63, 63, 256)),
        max_depth=rng.choice((1, 2, 10, 10, 32)),
        width=rng.choice((1, 3, 8, 8)),
        fusion=rng.choice(("recap", *RULES)),
        suffix_min_match=rng.choice((1, 2, 2, 3)),
        suffix_max_nodes=rng.choice((0, 1, 4, 4, 32)),
        forbid_repeated_edges=rng.random() < 0.3,
    )


def rules_of(config: RecapConfig, blocked_ids: frozenset[int]) -> SearchRules:
    return SearchRules(
        config.max_nodes,
        config.max_depth,
        config.width,
        config.depth_priors,
        blocked_ids,
        config.forbid_repeated_edges,
    )


class RubbishDrafter(RecapDrafter):
    """RECAP whose three memories are overwritten with rubbish before every pass."""

    def __init__(self, config: RecapConfig, memories: Memories, blocked: Sequence[int], seed: int) -> None:
        super().__init__(config, memories, blocked)
        self._rng = random.Random(seed)

    def draft(self, history: np.ndarray) -> DraftTree:
        fill(self.memories, rubbish(self._rng, self.memories.vocab_size))
        return super().draft(history)


# ------------------------------------------------------------------------------------------------- the text


def random_task(rng: random.Random, language: Language) -> tuple[list[int], int, list[int], list[int]]:
    """A prompt, a length cap, end ids and blocked ids; the prompt holds a picture where there are blocked ids."""
    vocab_size = language.vocab_size
    end_ids = rng.sample(range(vocab_size), rng.choice((0, 0, 1, 2)))
    blocked_ids = rng.sample(range(vocab_size), rng.choice((0, 1, 2)))
    prompt = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 2, 3, 8, 20)))]
    prompt[: len(prompt) // 3] = blocked_ids[:1] * (len(prompt) // 3) or prompt[: len(prompt) // 3]
    return prompt, rng.choice((1, 2, 3, 7, 40, 60)), end_ids, blocked_ids


def test_output_equals_greedy_for_any_memory() -> None:
    rng = random.Random(71)
    num_accepted = num_passes = 0
    for _ in range(scaled(1_500, 8)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        expected = greedy_decode(language.next_scores, prompt, cap, end_ids)
        memories = fill(Memories(language.vocab_size), rubbish(rng, language.vocab_size))
        config = random_config(rng)
        drafter = (
            RubbishDrafter(config, memories, blocked_ids, rng.randrange(10**6))
            if rng.random() < 0.3
            else RecapDrafter(config, memories, blocked_ids)
        )
        target = target_of(language, end_ids, blocked_ids)
        events = list(generate(target, drafter, request_of(prompt, cap)))
        end = finished(events)
        assert (list(end.output_ids), end.stop_reason) == expected
        num_passes += end.num_passes
        num_accepted += sum(len(event.accepted) for event in events if isinstance(event, Iteration))
    assert num_accepted > num_passes / 4  # drafts were accepted: the law was tested where it could fail


class SlotTarget(ScriptedTarget):
    """A target that sees only what mask, positions and cache let it see: an attention model without weights.

    The cache is a list of (position, token) entries. A node reads the entries of the prefix and those that its mask row
    marks, in order of position; a hole, a doubled position or a foreign entry changes or breaks what it reads.
    """

    def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> SlotDecoding:
        return SlotDecoding(self, request, max_tree_nodes)


class SlotDecoding:
    def __init__(self, target: SlotTarget, request: Request, max_tree_nodes: int) -> None:
        self._target, self._max_tree_nodes = target, max_tree_nodes
        prompt = request.prompt_ids.tolist()
        self.slots: list[tuple[int, int]] = list(enumerate(prompt))
        self._written: list[tuple[int, int]] = []
        eligible = [i for i, token in enumerate(prompt) if token not in target.blocked_ids]
        self.prompt_row_ids = request.prompt_ids[eligible]
        scores = [target.score_histories([prompt[: i + 1]]) for i in eligible]
        self.prompt_rows = make_rows(
            np.concatenate([np.zeros((0, min(8, target.vocab_size)), int), *(s.top_ids for s in scores)]),
            np.concatenate([np.zeros((0, min(8, target.vocab_size))), *(s.top_scores for s in scores)]),
        )
        self.first_scores = target.score_histories([prompt])
        self.is_closed = False

    @property
    def prefix_length(self) -> int:
        return len(self.slots)

    def verify(self, tree: DraftTree, want_all_scores: bool = False, want: object = ()) -> Scores:
        assert len(tree.token_ids) <= self._max_tree_nodes
        mask = ancestor_mask(tree.parent_indices)
        positions = (self.prefix_length + tree.depths).tolist()
        self._written = list(zip(positions, tree.token_ids.tolist(), strict=True))
        histories = []
        for row in mask.tolist():
            seen = sorted([*self.slots, *itertools.compress(self._written, row)])
            assert [position for position, _ in seen] == list(range(len(seen)))
            histories.append([token for _, token in seen])
        return self._target.score_histories(histories)

    def keep(self, accepted_indices: np.ndarray) -> None:
        path = [0, *accepted_indices.tolist()]
        self.slots = oracles.gather([*self.slots, *self._written], len(self.slots), path)  # type: ignore[assignment]

    def close(self) -> None:
        self.is_closed = True


def test_output_equals_greedy_for_a_target_that_sees_only_mask_positions_and_kept_entries() -> None:
    rng = random.Random(72)
    for _ in range(scaled(300, 4)):
        language = Language(
            rng.choice((5, 12)), 40, rng.randrange(10**6)
        )  # remembers far back: a wrong entry shows
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        expected = greedy_decode(language.next_scores, prompt, cap, end_ids)
        target = SlotTarget(
            language.vocab_size,
            lambda history, language=language: np.array(language.next_scores(history)),
            end_ids,
            blocked_ids,
        )
        drafter = RecapDrafter(random_config(rng), Memories(language.vocab_size), blocked_ids)
        end = finished(list(generate(target, drafter, request_of(prompt, cap))))
        assert (list(end.output_ids), end.stop_reason) == expected


def test_plain_decoding_is_greedy_and_takes_a_pass_a_token() -> None:
    rng = random.Random(73)
    for _ in range(scaled(300, 5)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        target = target_of(language, end_ids, blocked_ids)
        events = list(generate(target, AutoregressiveDrafter(), request_of(prompt, cap)))
        end = finished(events)
        assert (list(end.output_ids), end.stop_reason) == greedy_decode(
            language.next_scores, prompt, cap, end_ids
        )
        assert end.num_passes == len(end.output_ids) - 1
        assert all(event.num_nodes == 0 for event in events if isinstance(event, Iteration))


def test_every_length_cap_gives_a_prefix_of_the_longest_run() -> None:
    rng = random.Random(74)
    for _ in range(scaled(60, 3)):
        language = Language(12, 2, rng.randrange(10**6))
        prompt = [rng.randrange(12) for _ in range(6)]
        memories = Memories(12)
        whole = greedy_decode(language.next_scores, prompt, 200, [11])[0]
        for cap in (1, 2, 3, 7, 50, 200):
            drafter = RecapDrafter(RecapConfig(), memories)
            end = finished(list(generate(target_of(language, [11]), drafter, request_of(prompt, cap))))
            assert list(end.output_ids) == whole[:cap]
            assert end.stop_reason == ("end_token" if end.output_ids[-1] == 11 else "length")


def test_an_end_token_that_prefill_chooses_ends_before_the_first_pass() -> None:
    target = ScriptedTarget(10, table_scores(10, {(4,): 9}), end_ids=[9])
    drafter = RecapDrafter(RecapConfig(), Memories(10))
    prefill, end = list(generate(target, drafter, request_of([1, 4], 50)))
    assert isinstance(prefill, Prefill)
    assert isinstance(end, Finished)
    assert (prefill.first_token_id, end.output_ids, end.num_passes, end.stop_reason) == (
        9,
        (9,),
        0,
        "end_token",
    )


def test_a18_memory_of_another_picture_changes_speed_alone() -> None:
    """The same question on five pictures, all placeholders one id: texts are those of empty memories."""
    image_id, prompt = 39, [39] * 9 + [5, 6, 7, 8]
    pictures = [Language(40, 2, seed) for seed in range(5)]
    alone = [greedy_decode(language.next_scores, prompt, 40, [1])[0] for language in pictures]
    assert len({tuple(text) for text in alone}) == 5
    rng = random.Random(75)
    for contents in (DictMemories(), rubbish(rng, 40)):
        memories = fill(Memories(40), contents)
        for language, text in [*zip(pictures, alone, strict=True)] * 2:
            drafter = RecapDrafter(RecapConfig(), memories, [image_id])
            events = generate(target_of(language, [1], [image_id]), drafter, request_of(prompt, 40, image_id))
            prefill = next(events)
            assert isinstance(prefill, Prefill)
            assert (prefill.num_prompt_tokens, prefill.num_image_tokens) == (13, 9)
            # the new request starts without local rows
            assert (memories.sizes.trigram, memories.sizes.bigram) == (0, 0)
            assert list(finished([prefill, *events]).output_ids) == text


def test_repeating_a_request_takes_fewer_passes_than_plain_decoding() -> None:
    language = Language(300, 1, 5)  # a row a token is all there is to know: U alone learns it
    prompt = [3, 1, 4]
    memories = Memories(300)
    for _ in range(2):
        drafter = RecapDrafter(RecapConfig(), memories)
        end = finished(list(generate(target_of(language), drafter, request_of(prompt, 100))))
    assert len(end.output_ids) == 100
    assert end.num_passes < 50


# ------------------------------------------------------------------------------------------------- the passes


def recorded_run(
    target: ScriptedTarget, drafter: Drafter, request: Request, stop: Callable[[], bool] | None = None
) -> Run:
    recorder = Recorder(drafter, "recap@63", "recap", {"max_nodes": 63}, target.environment)
    list(generate(target, drafter, request, stop=stop, recorder=recorder))
    return recorder.run()


def plain_row(run: Run, number: int) -> Row:
    row = run.rows[number]
    return Row(row.token_ids, row.probabilities, row.confidence)


def test_every_pass_equals_the_oracle_through_a_stream_of_requests() -> None:
    """Trees, choices, cuts, missed paths, rows found and written, pass by pass; the memories in the end."""
    rng = random.Random(76)
    num_passes = 0
    for _ in range(scaled(150, 8)):
        language = random_language(rng)
        memories, dicts = Memories(language.vocab_size), DictMemories()
        config = random_config(rng)
        for _ in range(3):
            prompt, cap, end_ids, blocked_ids = random_task(rng, language)
            blocked = frozenset(blocked_ids)
            drafter = RecapDrafter(config, memories, blocked)
            run = recorded_run(target_of(language, end_ids, blocked_ids), drafter, request_of(prompt, cap))
            passes = list(
                recap_passes(
                    language.next_scores,
                    row_of,
                    dicts,
                    prompt,
                    cap,
                    end_ids,
                    rules=rules_of(config, blocked),
                    rule=config.fusion,
                    suffix_min_match=config.suffix_min_match,
                    suffix_max_nodes=config.suffix_max_nodes,
                )
            )
            assert len(run.iterations) == len(passes)
            history = [*prompt, run.prefill.first_token_id]
            for iteration, expected in zip(run.iterations, passes, strict=True):
                assert_same_pass(run, iteration, expected, history, config)
                history += iteration.committed_ids
            assert_same_contents(memories, dicts)
            num_passes += len(passes)
    assert num_passes > 5 * scaled(150, 8)


def assert_same_pass(
    run: Run, iteration: Iteration, expected: oracles.Pass, history: list[int], config: RecapConfig
) -> None:
    tree, cut = expected.tree, expected.cut
    assert (iteration.prefix_length, iteration.root_id) == (expected.prefix_length, history[-1])
    assert iteration.num_nodes == len(tree) - 1
    assert iteration.accepted == cut.accepted
    assert iteration.target_selected_id == cut.target_selected_id
    assert iteration.committed_ids == cut.committed_ids
    assert iteration.stop_reason == cut.stop_reason
    detail = iteration.detail
    assert detail is not None
    assert tuple(node.token_id for node in detail.nodes) == tree.token_ids
    assert tuple(node.parent for node in detail.nodes) == tree.parents
    assert tuple(node.depth for node in detail.nodes) == tree.depths
    assert tuple(node.pop_order for node in detail.nodes) == tree.pop_orders
    assert tuple(node.greedy_id for node in detail.nodes) == expected.greedy_ids
    for node, score in zip(detail.nodes, tree.scores, strict=True):
        assert node.score == (score if score is None else pytest.approx(score, rel=1e-12))
        assert node.origin == ("root" if node.parent < 0 else "suffix" if score is None else "fusion")
    assert [path.path_ids for path in detail.missed] == [path.token_ids for path in expected.missed]
    assert [path.score for path in detail.missed] == pytest.approx([path.score for path in expected.missed])
    assert_same_writes(run, iteration, expected)
    for index, node in enumerate(detail.nodes):
        path = [tree.token_ids[i] for i in oracles.path_to(index, tree.parents)]
        found = expected.memories_before.lookup([*history[:-1], *path])
        is_expanded = (
            node.origin != "suffix" and node.depth < config.max_depth and node.pop_order < config.max_nodes
        )
        assert_same_fusion(
            run, iteration, index, found if is_expanded else [], config, [*history[:-1], *path]
        )


def assert_same_writes(run: Run, iteration: Iteration, expected: oracles.Pass) -> None:
    assert iteration.detail is not None
    writes = iteration.detail.writes
    assert [(w.map, w.key_ids, w.node) for w in writes] == [
        (w.source, w.key, w.node) for w in expected.writes
    ]
    for write, oracle in zip(writes, expected.writes, strict=True):
        assert plain_row(run, write.row) == oracle.row
        assert run.rows[write.row].written_in_pass == iteration.index
        assert (write.replaced_row is None) == (oracle.replaced is None)
        if write.replaced_row is not None:
            assert plain_row(run, write.replaced_row) == oracle.replaced


def assert_same_fusion(
    run: Run,
    iteration: Iteration,
    index: int,
    found: list[tuple[str, Row]],
    config: RecapConfig,
    context: list[int],
) -> None:
    assert iteration.detail is not None
    node = iteration.detail.nodes[index]
    assert [r.source for r in node.retrieved] == [source for source, _ in found]
    assert [plain_row(run, r.row) for r in node.retrieved] == [row for _, row in found]
    kept = oracles.fuse(found, config.fusion)
    assert list(node.kept_ids) == [token_id for token_id, _ in kept]
    assert list(node.kept_probabilities) == pytest.approx([q for _, q in kept], rel=1e-12)
    weights = oracles.fusion_weights(found, config.fusion)
    assert [r.weight for r in node.retrieved] == pytest.approx(weights, rel=1e-12)
    for rank, r in enumerate(node.retrieved):
        assert r.key_ids == tuple(context[-KEY_LENGTHS[r.source] :])
        uses_prior = config.fusion in ("recap", "no-confidence")
        assert r.prior == (SPECIFICITY_PRIORS[rank] if uses_prior else 1)
        row = run.rows[r.row]
        if row.written_in_request == run.rows[-1].written_in_request:
            assert r.age_in_passes == iteration.index - row.written_in_pass
        else:
            assert r.age_in_passes > iteration.index


def test_rows_that_seed_the_unigram_map_name_their_prompt_position() -> None:
    rng = random.Random(80)
    for _ in range(scaled(60, 4)):
        language = random_language(rng)
        memories, image_id = Memories(language.vocab_size), language.vocab_size - 1
        for number in (1, 2):  # the second request of the stream writes over rows of the first
            prompt = [rng.choice((image_id, rng.randrange(language.vocab_size))) for _ in range(12)]
            before = {token: found_row(memories, "U", [token]) for token in range(language.vocab_size)}
            drafter = RecapDrafter(RecapConfig(), memories, [image_id])
            target = target_of(language, range(language.vocab_size), [image_id])  # ends with prefill
            run = recorded_run(target, drafter, request_of(prompt, 5, image_id))
            first = {token: prompt.index(token) for token in prompt if token != image_id}
            assert [(w.map, w.key_ids, w.node) for w in run.prefill.writes] == [
                ("U", (token,), position) for token, position in first.items()
            ]
            for write in run.prefill.writes:
                row = run.rows[write.row]
                assert plain_row(run, write.row) == row_of(language.next_scores(prompt[: write.node + 1]))
                assert (row.written_in_request, row.written_in_pass) == (number, 0)
                replaced = None if write.replaced_row is None else plain_row(run, write.replaced_row)
                assert replaced == before[write.key_ids[0]]


def test_events_account_for_every_token_and_cached_position() -> None:
    rng = random.Random(77)
    for _ in range(scaled(200, 5)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        drafter = RecapDrafter(random_config(rng), Memories(language.vocab_size), blocked_ids)
        events = list(generate(target_of(language, end_ids, blocked_ids), drafter, request_of(prompt, cap)))
        end = finished(events)
        output, prefix = [events[0].first_token_id], len(prompt)  # type: ignore[union-attr]
        passes = [event for event in events if isinstance(event, Iteration)]
        for number, iteration in enumerate(passes, start=1):
            assert iteration.index == number
            assert iteration.prefix_length == prefix
            assert iteration.root_id == output[-1]
            assert len(iteration.committed_ids) - len(iteration.accepted) == (
                iteration.target_selected_id is not None
            )
            assert (iteration.stop_reason is None) == (iteration is not passes[-1])
            assert iteration.detail is None  # nobody recorded
            output += iteration.committed_ids
            prefix += len(iteration.committed_ids)
        assert tuple(output) == end.output_ids
        assert end.num_passes == len(passes)
        assert end.decode_seconds == pytest.approx(sum(iteration.seconds.total for iteration in passes))


def test_recording_changes_neither_text_nor_passes() -> None:
    rng = random.Random(78)
    for _ in range(scaled(60, 3)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        target, config = target_of(language, end_ids, blocked_ids), random_config(rng)
        run = recorded_run(
            target, RecapDrafter(config, Memories(language.vocab_size), blocked_ids), request_of(prompt, cap)
        )
        drafter = RecapDrafter(config, Memories(language.vocab_size), blocked_ids)
        events = list(generate(target, drafter, request_of(prompt, cap)))
        plain = [event.committed_ids for event in events if isinstance(event, Iteration)]
        assert [iteration.committed_ids for iteration in run.iterations] == plain
        assert run.finished is not None
        assert run.finished.output_ids == finished(events).output_ids


def test_rows_of_the_last_pass_are_kept_although_its_block_was_cut() -> None:
    # after 1 comes 2, after 2 comes 3, ...: the suffix repeats, the cap cuts inside the accepted path
    chain = table_scores(20, {(i,): i % 6 + 1 for i in range(1, 7)})
    memories = Memories(20)
    prompt = [1, 2, 3, 4, 5, 6]
    events = list(
        generate(ScriptedTarget(20, chain), RecapDrafter(RecapConfig(), memories), request_of(prompt, 3))
    )
    last = events[-2]
    assert isinstance(last, Iteration)
    assert last.stop_reason == "length"
    assert finished(events).output_ids == (1, 2, 3)
    assert last.num_nodes > len(last.accepted)
    # 3 -> 4 was evaluated behind the cut: its trigram row is there
    assert found_row(memories, "G", [2, 3, 4]) is not None


# ------------------------------------------------------------------------------------------------- stops and errors


def used_stream(language: Language) -> tuple[Memories, DictMemories]:
    """A stream that has answered one request, and its U as a dict."""
    memories, dicts = Memories(language.vocab_size), DictMemories()
    list(generate(target_of(language), RecapDrafter(RecapConfig(), memories), request_of([1, 2, 3], 30)))
    for token_id in range(language.vocab_size):
        row = found_row(memories, "U", [token_id])
        if row is not None:
            dicts.maps["U"][token_id,] = row
    return memories, dicts


def assert_restored(memories: Memories, dicts: DictMemories, language: Language) -> None:
    """U is as before the run, and the next run is right."""
    assert_same_contents(memories, dicts)
    assert memories.request == 1
    drafter = RecapDrafter(RecapConfig(), memories)
    end = finished(list(generate(target_of(language), drafter, request_of([4, 5], 20))))
    assert list(end.output_ids) == greedy_decode(language.next_scores, [4, 5], 20, ())[0]


@pytest.mark.parametrize("at_pass", [0, 1, 4])
def test_a_stop_ends_the_run_before_the_next_pass_and_restores_the_stream(at_pass: int) -> None:
    language = Language(40, 3, 8)
    memories, before = used_stream(language)
    answers = iter([False] * at_pass + [True])
    drafter = RecapDrafter(RecapConfig(max_nodes=6), memories)
    events = list(
        generate(target_of(language), drafter, request_of([9, 8, 7], 50), stop=lambda: next(answers))
    )
    end = finished(events)
    assert (end.stop_reason, end.num_passes) == ("stopped", at_pass)
    whole = greedy_decode(language.next_scores, [9, 8, 7], 50, ())[0]
    assert list(end.output_ids) == whole[: len(end.output_ids)]
    assert len(end.output_ids) > at_pass
    assert_restored(memories, before, language)


@pytest.mark.parametrize("num_events", [1, 3])
def test_closing_the_run_early_restores_the_stream(num_events: int) -> None:
    language = Language(40, 2, 8)
    memories, before = used_stream(language)
    events = generate(target_of(language), RecapDrafter(RecapConfig(), memories), request_of([9, 8, 7], 50))
    for _ in range(num_events):
        next(events)
    events.close()  # type: ignore[attr-defined]
    assert_restored(memories, before, language)


def test_a_finished_run_is_remembered_although_the_generator_is_closed_on_its_last_event() -> None:
    language = Language(40, 2, 8)
    memories, _ = used_stream(language)
    events = generate(target_of(language), RecapDrafter(RecapConfig(), memories), request_of([9, 8, 7], 50))
    for event in events:
        if isinstance(event, Finished):
            break
    events.close()  # type: ignore[attr-defined]
    assert memories.request == 2


# inf - inf while prompt rows are made: compiled code is silent about it, numpy's scalars are not
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("at_length", [3, 4, 9])
def test_scores_that_are_not_finite_stop_the_run_and_restore_the_stream(at_length: int, value: float) -> None:
    language = Language(40, 2, 8)
    memories, before = used_stream(language)

    def broken_scores(history: Sequence[int]) -> np.ndarray:
        scores = np.array(language.next_scores(history))
        if len(history) >= at_length:
            scores[:] = value
        return scores

    target = ScriptedTarget(40, broken_scores)
    with pytest.raises(ModelError, match="scores are not finite"):
        list(generate(target, RecapDrafter(RecapConfig(), memories), request_of([9, 8, 7], 50)))
    assert_restored(memories, before, language)


def test_one_score_that_is_not_a_number_is_enough_to_stop() -> None:
    def broken_scores(history: Sequence[int]) -> np.ndarray:
        scores = np.arange(40.0)
        scores[3] = np.nan
        return scores

    with pytest.raises(ModelError, match="scores are not finite"):
        list(generate(ScriptedTarget(40, broken_scores), AutoregressiveDrafter(), request_of([1], 5)))


def test_masked_out_tokens_of_minus_infinity_are_no_error() -> None:
    def masked_scores(history: Sequence[int]) -> np.ndarray:
        return np.where(np.arange(40) == (history[-1] + 1) % 40, 1.0, -np.inf)

    drafter = RecapDrafter(RecapConfig(), Memories(40))
    end = finished(list(generate(ScriptedTarget(40, masked_scores), drafter, request_of([1], 60))))
    assert end.output_ids == tuple((2 + i) % 40 for i in range(60))


class BrokenDrafter(RecapDrafter):
    """Fails while it drafts its third tree."""

    num_trees = 0

    def draft(self, history: np.ndarray) -> DraftTree:
        self.num_trees += 1
        if self.num_trees == 3:
            raise RuntimeError("out of luck")
        return super().draft(history)


def test_any_error_drops_the_request_and_restores_the_stream() -> None:
    language = Language(40, 3, 8)
    memories, before = used_stream(language)
    made: list[SlotDecoding] = []

    class WatchedTarget(SlotTarget):
        def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> SlotDecoding:
            made.append(super().prefill(request, want_prompt_rows, max_tree_nodes))
            return made[-1]

    target = WatchedTarget(40, lambda history: np.array(language.next_scores(history)))
    with pytest.raises(RuntimeError, match="out of luck"):
        list(generate(target, BrokenDrafter(RecapConfig(max_nodes=6), memories), request_of([9, 8, 7], 50)))
    assert [decoding.is_closed for decoding in made] == [True]
    assert_restored(memories, before, language)


def test_a_prefill_that_fails_restores_the_stream() -> None:
    language = Language(40, 2, 8)
    memories, before = used_stream(language)

    class NoTarget(ScriptedTarget):
        def prefill(self, request: Request, want_prompt_rows: bool, max_tree_nodes: int) -> SlotDecoding:
            raise RuntimeError("no memory left")

    target = NoTarget(40, lambda history: np.array(language.next_scores(history)))
    with pytest.raises(RuntimeError, match="no memory left"):
        list(generate(target, RecapDrafter(RecapConfig(), memories), request_of([9, 8, 7], 50)))
    assert_restored(memories, before, language)


def test_stop_is_asked_before_every_pass() -> None:
    language = Language(40, 3, 8)
    asked = []
    drafter = RecapDrafter(RecapConfig(), Memories(40))
    events = list(
        generate(target_of(language), drafter, request_of([1, 2], 30), stop=lambda: bool(asked.append(1)))  # type: ignore[func-returns-value]
    )
    assert len(asked) == finished(events).num_passes


# ------------------------------------------------------------------------------------------------- the seams


@pytest.mark.parametrize("prompt", [np.zeros(0, np.int64), np.zeros((1, 3), np.int64)])
def test_a_prompt_must_be_one_row_of_ids(prompt: np.ndarray) -> None:
    with pytest.raises(ValueError, match="prompt_ids must be one non-empty row of ids; got shape"):
        Request(prompt, 5)


@pytest.mark.parametrize("cap", [0, -3])
def test_a_request_asks_for_at_least_one_token(cap: int) -> None:
    with pytest.raises(ValueError, match=f"max_new_tokens must be at least 1; got max_new_tokens={cap}"):
        request_of([1], cap)


def test_a_run_cannot_be_shown_before_its_prefill() -> None:
    target = ScriptedTarget(5, table_scores(5, {}))
    recorder = Recorder(AutoregressiveDrafter(), "ar", "ar", {}, target.environment)
    with pytest.raises(ValueError, match="a run must have its prefill event before it can be shown"):
        recorder.run()


def test_a_growing_run_can_be_shown_after_each_event() -> None:
    language = Language(12, 2, 3)
    drafter = RecapDrafter(RecapConfig(), Memories(12))
    target = target_of(language)
    recorder = Recorder(drafter, "recap@63", "recap", {}, target.environment)
    for number, event in enumerate(generate(target, drafter, request_of([1, 2], 20), recorder=recorder)):
        run = recorder.run()
        assert (run.finished is not None) == isinstance(event, Finished)
        assert len(run.iterations) == number - isinstance(event, Finished)


@pytest.mark.parametrize(
    "name", ["", "RECAP", "recap-", "recap@", "recap@x", "recap@-1", "recap-nothing", "sam@3", "ar@3"]
)
def test_an_unknown_method_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        InputError, match=r"There is no method called .* Use one of ar, recap, recap-no-confidence"
    ):
        parse_method(name)


def test_a_method_with_too_many_nodes_is_refused_with_the_limit() -> None:
    with pytest.raises(InputError, match="max_nodes must be a whole number from 0 to 256"):
        make_drafter("recap@257", 10)


def test_methods_are_made_by_name() -> None:
    assert parse_method("ar") is None
    assert parse_method("recap") == RecapConfig()
    assert parse_method("recap@16") == RecapConfig(max_nodes=16)
    for rule in RULES[1:]:
        assert parse_method(f"recap-{rule}@7") == RecapConfig(max_nodes=7, fusion=rule)  # type: ignore[arg-type]
    memories = Memories(10)
    assert make_drafter("recap", 10, [3], memories).memories is memories
    assert isinstance(make_drafter("ar", 10), AutoregressiveDrafter)


def test_a_drafter_says_how_large_its_trees_can_get() -> None:
    assert AutoregressiveDrafter().max_tree_nodes == 1
    for config in (RecapConfig(), RecapConfig(max_nodes=0), RecapConfig(max_nodes=6, suffix_max_nodes=0)):
        limit = RecapDrafter(config, Memories(10)).max_tree_nodes
        assert limit >= 1 + config.max_nodes + (config.suffix_max_nodes if config.max_nodes else 0)


def test_scripted_scores_depend_on_the_last_tokens_alone() -> None:
    scores = random_scores(20, order=2, seed=4)
    assert np.array_equal(scores([1, 2, 3]), scores([9, 2, 3]))
    assert not np.array_equal(scores([1, 2, 3]), scores([1, 9, 3]))
    assert not np.array_equal(scores([1, 2]), random_scores(20, order=2, seed=5)([1, 2]))
    assert scores([1, 2]).shape == (20,)


def test_a_table_of_next_tokens_prefers_the_longest_suffix_listed() -> None:
    scores = table_scores(10, {(1,): 4, (2, 1): 7}, default_id=3)
    assert [oracles.greedy_id(scores(h).tolist()) for h in ([1], [5, 1], [2, 1], [9])] == [4, 4, 7, 3]


def test_a_scripted_pass_scores_every_node_after_its_own_path() -> None:
    rng = random.Random(79)
    for _ in range(scaled(100, 4)):
        language = random_language(rng)
        target = target_of(language)
        prompt = [rng.randrange(language.vocab_size) for _ in range(4)]
        decoding = target.prefill(request_of(prompt, 9), True, 99)
        parents = oracles.random_parents(rng, 12)
        tokens = [rng.randrange(language.vocab_size) for _ in parents]
        tree = root_only_tree(tokens[0])._replace(
            token_ids=np.array(tokens), parent_indices=np.array(parents, np.int32)
        )
        scores = decoding.verify(tree, want_all_scores=True)
        for node in range(12):
            history = prompt + [tokens[i] for i in oracles.path_to(node, parents)]
            expected = language.next_scores(history)
            assert scores.top_ids[node].tolist() == oracles.top_ids(expected, 8)
            assert scores.all_scores is not None
            assert scores.all_scores[node].tolist() == expected
        path = oracles.path_to(11, parents)
        decoding.keep(np.array(path[1:], int))
        assert decoding.prefix_length == 4 + len(path)
        history = [*prompt, *(tokens[i] for i in path), 0]
        after = decoding.verify(root_only_tree(0))
        assert after.top_ids[0].tolist() == oracles.top_ids(language.next_scores(history), 8)


def test_prompt_rows_are_those_of_eligible_positions_in_prompt_order() -> None:
    language = Language(20, 3, 1)
    prompt = [19, 19, 4, 5, 4]
    decoding = target_of(language, (), [19]).prefill(request_of(prompt, 9, 19), True, 1)
    assert decoding.prompt_row_ids.tolist() == [4, 5, 4]
    assert decoding.prompt_rows is not None
    rows = [as_row(*fields) for fields in zip(*decoding.prompt_rows, strict=True)]
    assert rows == [row_of(language.next_scores(prompt[: i + 1])) for i in (2, 3, 4)]
    without = target_of(language, (), [19]).prefill(request_of(prompt, 9, 19), False, 1)
    assert without.prompt_rows is None
    assert without.first_scores.top_ids.tolist() == decoding.first_scores.top_ids.tolist()


def test_scores_of_half_precision_are_those_of_the_rounded_values() -> None:
    logits = torch.tensor([[1.0, 1.001, 0.5]], dtype=torch.bfloat16)
    assert score_positions(logits).top_ids.tolist() == [[0, 1, 2]]


def test_configuration_of_a_request_cannot_change_under_way() -> None:
    request = request_of([1, 2], 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.max_new_tokens = 9  # type: ignore[misc]
