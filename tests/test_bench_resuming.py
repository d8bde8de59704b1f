"""A benchmark that was stopped goes on where it stood, with the memories it had."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict, deque

import numpy as np
import pytest
from toy_bench import CONVERSATIONS, ToyTarget

from recap.bench.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from recap.bench.runner import BenchRunner
from recap.bench.settings import BenchSettings
from recap.drafters import METHODS
from recap.errors import InputError


def run_until(target, num_units, resumed=None, plan=(), methods=("recap@8", "recap-unigram@4")):
    """Measure up to a number of units in all; returns the checkpoint there."""
    runner = BenchRunner(target, BenchSettings(methods, max_new_tokens=25))
    results = list(resumed.results) if resumed else []
    for unit in runner.run(CONVERSATIONS, resumed):
        results += unit.results
        if runner.num_units_done == num_units:
            break
    return Checkpoint(
        plan,
        "",
        tuple(results),
        runner.num_units_done,
        tuple(runner.history),
        runner.lost,
        runner.method_states(),
    )


def counts(checkpoint):
    return [
        (r.id, r.turn, r.method, r.tokens, r.passes, r.num_draft_nodes, r.identical)
        for r in checkpoint.results
    ]


@pytest.mark.parametrize("stop", range(1, 7))
def test_a_stopped_benchmark_loses_no_unit_repeats_none_and_ends_with_the_same_memories(tmp_path, stop):
    whole = run_until(ToyTarget(), 7)
    path = tmp_path / "report.json.partial"
    save_checkpoint(run_until(ToyTarget(), stop, plan=("p", 1)), path)
    target = ToyTarget()
    resumed = run_until(target, 7, load_checkpoint(path, ("p", 1)))
    assert len(target.histories) == 1 + 7 - stop  # the warm-up asks the first question
    assert counts(resumed) == counts(whole)
    assert resumed.history == whole.history
    for name in ("recap@8", "recap-unigram@4"):
        ours, theirs = resumed.method_states[name], whole.method_states[name]
        assert (ours.request, ours.batch) == (theirs.request, theirs.batch)
        for mine, other in zip(ours.unigram, theirs.unigram, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_every_method_goes_on_from_its_own_state(tmp_path):
    path = tmp_path / "report.json.partial"
    save_checkpoint(run_until(ToyTarget(), 3, methods=tuple(METHODS)), path)
    resumed = run_until(ToyTarget(), 7, load_checkpoint(path, ()), methods=tuple(METHODS))
    assert counts(resumed) == counts(run_until(ToyTarget(), 7, methods=tuple(METHODS)))
    assert {result.method for result in resumed.results} == set(METHODS)
    assert all(result.error is None and result.identical for result in resumed.results)


def test_the_state_of_a_drafter_from_elsewhere_may_lie_in_plain_containers(tmp_path):
    path = tmp_path / "report.json.partial"
    counted = Counter({3: 2})
    state = {
        "counts": counted,
        "next": defaultdict(list, {1: [2]}),
        "seen": {4},
        "held": deque([np.arange(3)], 9),
    }
    save_checkpoint(Checkpoint((), "", (), 1, (), None, {"mine:Drafter": state}), path)
    read = load_checkpoint(path, ()).method_states["mine:Drafter"]
    assert (read["counts"], read["next"], read["seen"]) == (counted, {1: [2]}, {4})
    assert read["next"][7] == []
    assert read["held"][0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["os.system", "os", "save_checkpoint", "Path"])
def test_nothing_but_this_project_s_own_classes_is_named_by_a_checkpoint(tmp_path, name):
    """By a dotted name or an import a module of ours would hand out anything."""
    path = tmp_path / "report.json.partial"
    made = tmp_path / "made"
    command = f"touch {made}".encode()
    module = b"recap.bench.checkpoint"
    path.write_bytes(
        b"\x80\x04" + b"\x8c" + bytes([len(module)]) + module + b"\x8c" + bytes([len(name)]) + name.encode()
        + b"\x93" + b"\x8c" + bytes([len(command)]) + command + b"\x85R."
    )  # fmt: skip
    with pytest.raises(InputError, match="cannot be read as a stopped benchmark") as refused:
        load_checkpoint(path, ())
    assert isinstance(refused.value.__cause__, pickle.UnpicklingError)
    assert not made.exists()


def test_a_checkpoint_of_another_run_or_a_foreign_file_is_one_sentence(tmp_path):
    path = tmp_path / "report.json.partial"
    assert load_checkpoint(path, ()) is None
    save_checkpoint(run_until(ToyTarget(), 1, plan=("p", 1)), path)
    with pytest.raises(InputError, match="other questions, methods or settings"):
        load_checkpoint(path, ("p", 2))
    for foreign in (b"", b"no pickle", path.read_bytes()[:200], pickle.dumps(print), pickle.dumps(eval)):
        path.write_bytes(foreign)
        with pytest.raises(InputError, match="cannot be read as a stopped benchmark"):
            load_checkpoint(path, ("p", 1))
