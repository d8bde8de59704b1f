"""What every method owes: the text of plain decoding, no blocked id, and no trace of a run that failed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracles import scaled
from scripted_runs import known_scores, random_request, random_target, run
from tiny_models import picture, tiny_target

from recap.drafters import METHODS, make_drafter, method_table, open_drafter, parse_method, takes_nodes
from recap.engine import generate
from recap.errors import InputError, ModelError
from recap.memory import Memories
from recap.rows import PredictionRows
from recap.targets.base import Request
from recap.targets.loading import load_target
from recap.targets.scripted import ScriptedTarget
from recap.targets.transformers_vlm import TransformersTarget
from recap.tree import DraftTree

VOCAB_SIZES = (6, 9, 40)
#: One name for each class and each branch of RECAP's code; the other ablations differ from `recap` in numbers alone.
KINDS = [
    *(name for name in METHODS if not name.startswith("recap")),
    "recap-fixed",
    "recap-budget-31",
    "recap-recency",
    "recap-semantic",
]


@pytest.fixture(scope="module")
def tiny() -> TransformersTarget:
    return tiny_target(load_target("teaching-qwen", dtype="float32", device="cpu").processor)


def test_every_method_gives_the_text_of_plain_decoding() -> None:
    rng = random.Random(71)
    num_accepted = dict.fromkeys(METHODS, 0)
    for vocab_size in VOCAB_SIZES:
        drafters = {name: make_drafter(name, vocab_size, [vocab_size - 1]) for name in METHODS}
        for _ in range(scaled(50, 4)):
            target, request = random_target(rng, vocab_size), random_request(rng, vocab_size)
            expected, _ = run(target, drafters["ar"], request)
            for name, drafter in drafters.items():
                finished, passes = run(target, drafter, request)
                assert finished.output_ids == expected.output_ids, name
                assert finished.stop_reason == expected.stop_reason, name
                num_accepted[name] += sum(len(a_pass.accepted) for a_pass in passes)
    assert all(num > 0 for name, num in num_accepted.items() if name != "ar"), num_accepted


def test_every_method_gives_the_text_of_plain_decoding_on_a_real_target(tiny: TransformersTarget) -> None:
    drafters = {name: make_drafter(name, tiny.vocab_size, tiny.blocked_ids) for name in KINDS}
    for seed in range(scaled(30, 3)):
        image = picture(seed) if seed else None
        request = tiny.build_request(image, f"Question {seed}: what is in the picture?", max_new_tokens=20)
        expected, _ = run(tiny, drafters["ar"], request)
        for name, drafter in drafters.items():
            assert run(tiny, drafter, request)[0].output_ids == expected.output_ids, name


@pytest.mark.parametrize("name", KINDS)
def test_no_method_drafts_a_blocked_id_or_more_nodes_than_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(72)
    # id 0 among them: an unseen row of Token Recycling is full of it
    blocked_ids = {0, 5}
    drafter = make_drafter(name, 7, blocked_ids)
    trees: list[DraftTree] = []
    draft = drafter.draft
    monkeypatch.setattr(drafter, "draft", lambda history: trees.append(draft(history)) or trees[-1])
    for _ in range(scaled(60, 6)):
        target = ScriptedTarget(7, known_scores(7, 1, rng.randrange(4)), [], blocked_ids)
        run(target, drafter, random_request(rng, 7))
    for tree in trees:
        assert not blocked_ids & set(tree.token_ids[1:].tolist())
        assert len(tree.token_ids) <= drafter.max_tree_nodes
        assert all(parent < node for node, parent in enumerate(tree.parent_indices.tolist()))
    assert len(trees) > 3


class FailingTarget(ScriptedTarget):
    """Breaks in its third prefill or pass."""

    calls = 0

    def score_histories(self, histories, want_all_scores=False):
        self.calls += 1
        scores = super().score_histories(histories, want_all_scores)
        if self.calls == 3:
            scores.top_scores[:] = np.nan
        return scores


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("how", ["stopped", "closed", "failed"])
def test_a_run_that_does_not_end_leaves_nothing_behind(name: str, how: str) -> None:
    rng = random.Random(73)
    scores = known_scores(12, 1, 1)
    target = ScriptedTarget(12, scores, [], [11])
    lost = Request(np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int64), 25)
    interrupted, undisturbed = (make_drafter(name, 12, [11]) for _ in range(2))
    for _ in range(3):
        request = random_request(rng, 12)
        run(target, interrupted, request)
        run(target, undisturbed, request)
        if how == "stopped":
            answers = iter([False, False, True])
            list(generate(target, interrupted, lost, stop=lambda answers=answers: next(answers)))
        elif how == "closed":
            events = generate(target, interrupted, lost)
            for _ in range(3):
                next(events)
            events.close()
        else:
            with pytest.raises(ModelError):
                list(generate(FailingTarget(12, scores, [], [11]), interrupted, lost))
        request = random_request(rng, 12)
        assert run(target, interrupted, request) == run(target, undisturbed, request)


@pytest.mark.parametrize("name", KINDS)
def test_a_state_can_be_given_back_after_a_whole_run(name: str) -> None:
    rng = random.Random(74)
    target = ScriptedTarget(12, known_scores(12, 1, 2), [], [11])
    drafter = make_drafter(name, 12, [11])
    run(target, drafter, random_request(rng, 12))
    state = drafter.save_state()
    request = Request(np.array([3, 1, 4, 1, 5, 9], np.int64), 25)
    first = run(target, drafter, request)
    for _ in range(2):
        drafter.restore_state(state)
        assert run(target, drafter, request) == first


def test_rows_are_asked_for_only_where_they_are_used() -> None:
    for name in METHODS:
        drafter = make_drafter(name, 9)
        is_recap = name.startswith("recap")
        assert drafter.wants_prompt_rows == (is_recap or name == "tree_recycling"), name
        assert drafter.wants_rows == (is_recap or name in ("tree_recycling", "token_recycling")), name
        wanted = {"sam_viskip": ("image_attention",), "recap-semantic": ("hidden_states",)}.get(name, ())
        assert getattr(drafter, "wants", ()) == wanted


def test_every_name_has_a_meaning_and_a_line_in_the_table() -> None:
    lines = method_table().splitlines()
    assert lines[:2] == ["| name | meaning |", "|---|---|"]
    assert lines[2:] == [f"| `{name}` | {meaning} |" for name, meaning in METHODS.items()]
    assert list(METHODS)[:2] == ["ar", "recap"]
    for name, meaning in METHODS.items():
        assert (parse_method(name) is not None) == name.startswith("recap")
        assert meaning
        assert "|" not in meaning


def test_nodes_stand_behind_the_names_that_take_them() -> None:
    assert parse_method("recap-fixed@16").max_nodes == 16
    assert parse_method("recap-no-suffix@7").suffix_max_nodes == 0
    assert takes_nodes("recap-semantic")
    for name in ("ar", "sam", "recap-budget-31", "nonsense"):
        assert not takes_nodes(name)
        with pytest.raises(InputError, match="There is no method called"):
            make_drafter(f"{name}@16", 9)


@pytest.mark.parametrize("name", ["recap-none", "recap-budget", "token-recycling", "sam ", "suffix"])
def test_unknown_names_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"There is no method called .*token_recycling.*suffix_tree"):
        parse_method(name)


def test_a_reader_gets_what_it_asks_for_before_it_learns() -> None:
    calls: list[object] = []
    target = ScriptedTarget(9, known_scores(9, 1, 3))
    drafter = make_drafter("sam_viskip", 9)
    drafter.read = lambda scores: calls.append("read")
    observe = drafter.observe

    def note(history: np.ndarray, tree: DraftTree, rows: PredictionRows | None, outcome: object) -> None:
        calls.append("observe")
        observe(history, tree, rows, outcome)

    drafter.observe = note
    _, passes = run(target, drafter, Request(np.array([1, 2], np.int64), 10))
    assert calls == ["read", "observe"] * len(passes)


def test_a_stream_of_another_width_is_refused() -> None:
    """A tokenizer knows fewer ids than a padded head has scores: rows could name ids without a slot."""
    target = ScriptedTarget(40, known_scores(40, 1, 0))
    for memories in (Memories(39), Memories(41)):
        with pytest.raises(
            ValueError, match="memories must be as wide as the target's scores, vocab_size=40; got"
        ):
            open_drafter(target, "recap", memories)
    memories = Memories(40)
    assert open_drafter(target, "recap", memories).memories is memories


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name.startswith("recap")] + ["recap@5", "recap@auto"]
)
def test_settings_make_the_drafter_that_their_name_makes(name: str) -> None:
    target = ScriptedTarget(40, known_scores(40, 2, 1), blocked_ids=[39])
    request = Request(np.arange(12) % 7, 30)
    by_name, by_settings = open_drafter(target, name), open_drafter(target, parse_method(name))
    assert type(by_settings) is type(by_name)
    assert run(target, by_settings, request) == run(target, by_name, request)
