"""The same text in front of other pictures: forced passes, dependence, support, and rows of a swapped picture."""

from __future__ import annotations

import json
import math
import random
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
import torch
from oracles import scaled
from scripted_runs import known_scores, random_request, random_target
from tiny_models import full_pass, picture, tiny_target

from recap.counterfactual import __main__ as command_line
from recap.counterfactual.diagnosis import (
    Root,
    by_accepted_length,
    by_relative_support,
    compare_row_pictures,
    count_row_pictures,
    diagnose_roots,
    source_candidates,
    visual_support,
)
from recap.counterfactual.teacher_forcing import ForcedText, fit_picture, force_text, mean_picture
from recap.events import PredictionRow
from recap.metrics import output_ids
from recap.recording import RecordedRun, build_trace
from recap.replay.passes import RecordedMemories, last_three, replay_passes
from recap.replay.trajectory import read_trajectory
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget


@pytest.fixture(scope="module")
def tiny(teaching_target):
    return tiny_target(teaching_target.processor)


def run_recap(target, request, method="recap@20"):
    recorded = RecordedRun(target, request, method)
    for _ in recorded:
        pass
    run = recorded.run()
    return run, read_trajectory(build_trace(target, request, "what", [run]), run)


def test_a_forced_pass_has_the_scores_of_one_full_pass_a_token(tiny):
    request = tiny.build_request(picture(1), "What is in the picture?", max_new_tokens=8)
    ids = [5, 300, 7, 300, 7, 19]
    text = force_text(tiny, request, ids)
    assert text.log_probabilities.shape == (5, tiny.vocab_size)
    for state in range(5):
        expected = full_pass(tiny, request, ids[: state + 1]).log_softmax(-1)
        assert np.allclose(text.log_probabilities[state], expected.numpy(), atol=1e-4)
        top = torch.topk(expected, 8)
        assert text.rows[state].token_ids == tuple(top.indices.tolist())
        assert text.rows[state].probabilities == pytest.approx(top.values.softmax(-1).tolist(), abs=1e-4)


def test_other_pictures_leave_the_prompt_as_it_is_token_for_token(tiny):
    image = picture(1, (196, 140))
    pictures = (image, mean_picture(image), fit_picture(picture(2), image.size))
    prompts = [tiny.build_request(p, "What?", max_new_tokens=4).prompt_ids.tolist() for p in pictures]
    assert prompts[0] == prompts[1] == prompts[2]
    assert len(mean_picture(image).getcolors()) == 1
    assert mean_picture(image).getpixel((0, 0)) == pytest.approx(
        np.asarray(image).mean(axis=(0, 1)), abs=0.51
    )


def test_the_same_picture_changes_nothing(tiny):
    request = tiny.build_request(picture(1), "What is in the picture?", max_new_tokens=30)
    run, trajectory = run_recap(tiny, request)
    text = force_text(tiny, request, output_ids(run))
    roots = diagnose_roots(trajectory, run, text, text, text)
    assert [root.pass_index for root in roots] == [it.index for it in run.iterations]
    assert [root.num_accepted for root in roots] == [len(it.accepted) for it in run.iterations]
    assert all(root.dependence == 0 and not root.changes_with_other for root in roots)
    assert {root.contextual_support for root in roots} <= {None, 0.0}
    pictures = compare_row_pictures(count_row_pictures(trajectory, text, text))
    assert all(figures["matching"] == figures["swapped"] for figures in pictures.values())


def forced(rng, num_states, vocab_size):
    """A text with arbitrary scores."""
    scores = rng.normal(0, 3, (num_states, vocab_size))
    return ForcedText((scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))).astype(np.float32), ())


def test_dependence_change_support_and_anchors_follow_their_definitions():
    rng = random.Random(1)
    num_eligible = num_gains = 0
    for case in range(scaled(100)):
        vocab_size = rng.choice((12, 40))
        if case % 2:
            target, request = random_target(rng, vocab_size), random_request(rng, vocab_size)
        else:  # a long text that depends on two tokens: rows found under them and under one differ
            target = ScriptedTarget(vocab_size, known_scores(vocab_size, 2, case))
            request = Request(np.arange(30) % 9, 150)
        run, trajectory = run_recap(target, request)
        if not run.iterations:
            continue
        arrays = np.random.default_rng(case)
        texts = [forced(arrays, len(trajectory.rows), vocab_size) for _ in range(3)]
        # The full picture's scores choose what was written, but at some states.
        for state in range(len(trajectory.rows)):
            if rng.random() < 0.8:
                texts[0].log_probabilities[state, trajectory.continuation_at(state)[0]] = -1e-3
        roots = {root.pass_index: root for root in diagnose_roots(trajectory, run, *texts)}
        memories = replay_passes(trajectory, run, None)
        state = 0
        for iteration, replayed in zip(run.iterations, memories, strict=True):
            full, mean, other = (text.log_probabilities[state].astype(float) for text in texts)
            choice = int(trajectory.continuation_at(state)[0])
            assert (iteration.index in roots) == (full.argmax() == choice)
            if root := roots.get(iteration.index):
                assert root.dependence == pytest.approx(full[choice] - max(mean[choice], other[choice]))
                assert root.changes_with_mean == (mean.argmax() != choice)
                assert root.changes_with_other == (other.argmax() != choice)
                expected = expected_support(trajectory, replayed, (full, mean, other))
                found = (root.contextual_support, root.token_support, root.contextual_gain)
                if expected is None:
                    assert found == (None, None, None)
                else:
                    assert found == pytest.approx(expected, abs=1e-4)
                    num_eligible += 1
                num_gains += bool(root.contextual_gain)
            state += len(iteration.committed_ids)
    assert num_eligible > num_gains > 0


def expected_support(trajectory, replayed, texts):
    """E of G and C's candidates, of U's, and the gain of the former's tree, by the oracles; None where not eligible."""
    history = trajectory.history_at(replayed.state).tolist()

    def expand_from(sources):
        def expand(context):
            found = replayed.memories.found(last_three(np.array(context)))
            rows = [(s, as_row(found[s])) for s in sources if s in found]
            return oracles.fuse(rows)

        return expand

    sides = [expand_from(sources) for sources in ("GC", "U")]
    candidates = [[token for token, _ in side(history)] for side in sides]
    count = min(map(len, candidates))
    candidates = [ids[:count] for ids in candidates]
    if count < 2 or len(set(candidates[0]) & set(candidates[1])) > count / 4:
        return None
    supports = []
    for ids in candidates:
        own, *others = (math.log(sum(math.exp(text[token]) for token in ids)) for text in texts)
        supports.append(own - max(others))
    ahead = tuple(trajectory.continuation_at(replayed.state).tolist())
    rules = oracles.SearchRules(blocked_ids=trajectory.blocked_ids)
    trees = [oracles.best_first_tree(history, side, rules)[0] for side in sides]
    smallest = min(map(len, trees))
    lengths = [
        max(
            (len(p.token_ids) for p in tree[:smallest] if p.token_ids == ahead[: len(p.token_ids)]), default=0
        )
        for tree in trees
    ]
    return (*supports, lengths[0] - lengths[1])


def as_row(found):
    is_token = found.token_ids >= 0
    ids, probabilities = (tuple(a[is_token].tolist()) for a in (found.token_ids, found.probabilities))
    return oracles.Row(ids, probabilities, found.confidence)


def test_support_is_the_smaller_fall_of_the_candidates_total_mass():
    full, mean, other = (np.log(np.array(p)) for p in ((0.5, 0.3, 0.2), (0.1, 0.5, 0.4), (0.3, 0.3, 0.4)))
    ids = np.array([0, 1])
    assert visual_support(ids, full, mean, other) == pytest.approx(math.log(0.8 / 0.6))


def test_candidates_are_equally_many_and_overlap_by_a_quarter_at_most():
    def row(*ids):
        return PredictionRow(ids, tuple(1 / len(ids) for _ in ids), 1 / len(ids), 1, 1)

    def candidates(contextual, token_only):
        memories = RecordedMemories(60)
        memories.put([("G", (1, 2, 3), row(*contextual)), ("U", (3,), row(*token_only))])
        return source_candidates(memories, np.array([1, 2, 3]))

    ours, theirs = candidates((10, 11, 12, 13), range(20, 28))
    assert ours.tolist() == [10, 11, 12, 13]
    assert theirs.tolist() == [20, 21, 22, 23]
    assert candidates((10, 11, 12, 13), (10, 21, 22, 23)) is not None
    assert candidates((10, 11, 12, 13), (10, 11, 22, 23)) is None
    assert candidates((10,), (20,)) is None
    assert source_candidates(RecordedMemories(60), np.array([1, 2, 3])) is None


def test_groups_and_quintiles_hold_every_root_once():
    rng = random.Random(2)
    roots = [
        Root(
            i,
            rng.randrange(9),
            1,
            rng.random() < 0.5,
            False,
            rng.random(),
            rng.gauss(0, 1),
            rng.gauss(0, 1),
            1,
        )
        for i in range(53)
    ]
    groups = by_accepted_length(roots)
    assert sum(group["num_roots"] for group in groups.values()) == 53
    long = [root for root in roots if root.num_accepted >= 5]
    assert groups["5+"]["dependence"] == pytest.approx(sum(r.dependence for r in long) / len(long))
    assert groups["5+"]["change_rate"] == pytest.approx(sum(r.changes_with_mean for r in long) / len(long))
    bins = by_relative_support(roots)
    assert [b["num_roots"] for b in bins] == [11, 11, 11, 10, 10]
    supports = [b["relative_support"] for b in bins]
    assert supports == sorted(supports)
    ordered = sorted(roots, key=lambda root: root.contextual_support - root.token_support)
    for part, start, end in ((bins[0], 0, 11), (bins[2], 22, 33), (bins[4], 43, 53)):
        powers = [(math.exp(r.contextual_support), math.exp(r.token_support)) for r in ordered[start:end]]
        shares = [contextual / (contextual + token) for contextual, token in powers]
        assert part["contextual_share"] == pytest.approx(sum(shares) / len(shares))
    assert by_relative_support(roots[:4]) == []
    assert by_accepted_length([])["0"] == {"num_roots": 0, "change_rate": None, "dependence": None}


def test_rows_of_a_swapped_picture_are_compared_at_the_same_states():
    rng = random.Random(3)
    target = random_target(rng, 40)
    _, trajectory = run_recap(target, random_request(rng, 40))
    right = SimpleNamespace(rows=trajectory.rows)
    wrong_row = PredictionRow((39,), (1.0,), 1.0, 1, 1)  # a token that is never written
    wrong = SimpleNamespace(rows=tuple(wrong_row for _ in trajectory.rows))
    for figures in compare_row_pictures(count_row_pictures(trajectory, right, wrong)).values():
        if figures["num_states"]:
            assert figures["swapped"] == 0
            assert figures["matching"] > 0


@pytest.fixture
def files(tmp_path):
    for seed in (1, 2):
        picture(seed).save(tmp_path / f"{seed}.png")
    return tmp_path


def test_the_command_writes_a_report_that_holds_together(files, monkeypatch, tiny, capsys):
    monkeypatch.setattr(command_line, "load_target", lambda model: tiny)
    out = files / "out.json"
    code = command_line.main(
        [*["--image", str(files / "1.png"), "--question", "What is it?", "--other", str(files / "2.png")],
         *["--max-new-tokens", "40", "--json", str(out)]]
    )  # fmt: skip
    assert code == 0
    report = json.loads(out.read_text("utf-8"))
    assert report["kind"] == "counterfactual"
    assert 0 < len(report["roots"]) <= report["num_passes"]
    assert sum(g["num_roots"] for g in report["by_accepted_length"].values()) == len(report["roots"])
    assert "roots confirmed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "out", "cap", "sentence"),
    [
        ("none.png", "x.json", "40", "none.png"),
        ("2.png", "no/x.json", "40", "does not exist"),
        ("2.png", ".", "40", "is a folder"),
        ("2.png", "x.json", "1", "one token only"),
    ],
)
def test_a_known_error_is_one_sentence_and_exit_code_two(
    files, monkeypatch, tiny, capsys, other, out, cap, sentence
):
    monkeypatch.setattr(command_line, "load_target", lambda model: tiny)
    code = command_line.main(
        [*["--image", str(files / "1.png"), "--question", "What?", "--other", str(files / other)],
         *["--json", str(files / out), "--max-new-tokens", cap]]
    )  # fmt: skip
    assert code == 2
    assert sentence in capsys.readouterr().err
