"""What a run tells of its passes is what the method does, pass by pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import oracles
import pytest
from bridges import as_arrays, assert_same_contents, found_row
from languages import (
    Language,
    finished,
    random_config,
    random_language,
    random_task,
    recorded_run,
    request_of,
    row_of,
    target_of,
)
from oracles import KEY_LENGTHS, SPECIFICITY_PRIORS, DictMemories, Row, SearchRules, recap_passes, scaled

from recap.config import RecapConfig
from recap.drafters import AutoregressiveDrafter, RecapDrafter
from recap.engine import generate
from recap.events import Finished, Iteration, Run, StageSeconds
from recap.memory import Memories
from recap.recorder import Recorder
from recap.row_table import RowTable
from recap.targets.scripted import ScriptedTarget, table_scores


def rules_of(config: RecapConfig, blocked_ids: frozenset[int]) -> SearchRules:
    return SearchRules(
        config.max_nodes,
        config.max_depth,
        config.width,
        config.depth_priors,
        blocked_ids,
        config.forbid_repeated_edges,
    )


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


def test_each_stage_has_its_own_clock_and_recording_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("recap.engine.time", SimpleNamespace(perf_counter=lambda: now))

    def taking(seconds: float, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            nonlocal now
            now += seconds
            return method(*arguments, **options)

        return timed

    def slow_prefill(*arguments: Any) -> Any:
        decoding = ScriptedTarget.prefill(target, *arguments)
        decoding.verify, decoding.keep = taking(16, decoding.verify), taking(32, decoding.keep)
        return decoding

    target, drafter = target_of(Language(12, 2, 3)), RecapDrafter(RecapConfig(), Memories(12))
    recorder = Recorder(drafter, "recap@63", "recap", {}, target.environment)
    target.prefill = taking(8, slow_prefill)
    for name, seconds in (("begin", 1), ("draft", 2), ("observe", 4)):
        setattr(drafter, name, taking(seconds, getattr(drafter, name)))
    for name in ("look_prompt", "prompt_writes", "look", "detail", "add"):
        setattr(recorder, name, taking(1000, getattr(recorder, name)))
    list(generate(target, drafter, request_of([1, 2], 20), recorder=recorder))
    run = recorder.run()
    assert run.prefill.seconds == 8 + 1
    assert {iteration.seconds for iteration in run.iterations} == {
        StageSeconds(draft=2, verify=16, commit=32, update=4)
    }
    assert run.finished is not None
    assert run.finished.prefill_seconds == 9
    assert run.finished.decode_seconds == 54 * len(run.iterations)


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


def test_a_row_has_one_number_until_another_is_written_under_its_key() -> None:
    memories = Memories(20)
    memories.begin_request()
    table = RowTable(memories)
    for value in (4, 5):
        memories.write(np.array([[1, 2, 3]]), as_arrays([Row((value,), (1.0,), 1.0)]))
        assert [table.find("G", (1, 2, 3)) for _ in range(2)] == [value - 4] * 2
    assert [row.token_ids for row in table.rows] == [(4,), (5,)]
    assert table.find("G", (7, 7, 7)) is None


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


class Wrapped:
    """A drafter from elsewhere that keeps memories: RECAP's, behind another class."""

    def __init__(self, drafter: RecapDrafter) -> None:
        self._drafter = drafter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)


def test_the_writes_of_a_drafter_from_elsewhere_are_recorded_as_recap_s_own() -> None:
    rng = random.Random(79)
    for _ in range(scaled(30, 3)):
        language = random_language(rng)
        prompt, cap, end_ids, blocked_ids = random_task(rng, language)
        target, config = target_of(language, end_ids, blocked_ids), random_config(rng)
        runs = []
        for wrap in (lambda drafter: drafter, Wrapped):
            drafter = wrap(RecapDrafter(config, Memories(language.vocab_size), blocked_ids))
            recorder = Recorder(drafter, "mine", "mine", {}, target.environment)
            list(generate(target, drafter, request_of(prompt, cap), recorder=recorder))
            runs.append(recorder.run())
        own, foreign = ([iteration.detail.writes for iteration in run.iterations] for run in runs)
        assert foreign == own
