"""A run that is stopped, closed or fails leaves the stream as it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from bridges import assert_same_contents, found_row
from languages import Language, finished, request_of, target_of
from oracles import DictMemories, greedy_decode
from slot_target import SlotDecoding, SlotTarget

from recap.config import RecapConfig
from recap.drafters import AutoregressiveDrafter, RecapDrafter
from recap.engine import generate
from recap.errors import ModelError
from recap.events import Finished
from recap.memory import Memories
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget
from recap.tree import DraftTree, chain_tree


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


def test_a_rejected_node_whose_scores_are_not_finite_stops_the_run_too() -> None:
    """Its row would be written like any other."""
    language = Language(40, 2, 8)
    memories, before = used_stream(language)
    text = [9, 8, 7, *greedy_decode(language.next_scores, [9, 8, 7], 50, ())[0]]

    def scores_along_the_text(history: Sequence[int]) -> np.ndarray:
        is_text = list(history) == text[: len(history)]
        return np.array(language.next_scores(history)) if is_text else np.full(40, np.nan)

    target = ScriptedTarget(40, scores_along_the_text)
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


class Misdrafted(AutoregressiveDrafter):
    """A drafter of one's own whose tree breaks the rules of the seam."""

    max_tree_nodes = 2

    def __init__(self, root_offset: int, num_drafts: int) -> None:
        self._root_offset, self._num_drafts = root_offset, num_drafts

    def draft(self, history: np.ndarray) -> DraftTree:
        return chain_tree((int(history[-1]) + self._root_offset) % 12, [1] * self._num_drafts)


@pytest.mark.parametrize(
    ("drafter", "said"),
    [
        (Misdrafted(1, 1), "a draft's root must be the last token of the text"),
        (Misdrafted(0, 2), "at most the drafter's max_tree_nodes, 2, root included; got 3 nodes"),
    ],
)
def test_a_tree_that_would_change_the_text_or_overrun_the_target_is_refused(
    drafter: Misdrafted, said: str
) -> None:
    language = Language(12, 2, 3)
    with pytest.raises(ValueError, match=said):
        list(generate(target_of(language), drafter, request_of([1, 2, 3], 9)))
    end = finished(list(generate(target_of(language), Misdrafted(0, 1), request_of([1, 2, 3], 9))))
    assert list(end.output_ids) == greedy_decode(language.next_scores, [1, 2, 3], 9, ())[0]
