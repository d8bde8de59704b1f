"""The commands that time one pass: they do the work they time, say so in full, and keep what they learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recap.bench import __main__ as command_line
from recap.bench import cost as cost_command
from recap.bench.host import PAPER, STAGES, HostSetting, _HostBench, measure_host
from recap.budget import CostCurve
from recap.errors import InputError
from recap.events import Environment
from recap.targets.cost import ROWS, cost_file, read_curve, write_curve
from recap.targets.transformers_vlm import TransformersTarget

SMALL = HostSetting(vocab_size=20_000, num_nodes=20, num_history_tokens=30, num_prompt_tokens=60)


@pytest.mark.parametrize(
    ("vocab_size", "paper"),
    [
        (20_000, ("Qwen2.5-VL-7B", "0.506", "0.391", "0.461", "1.651", "109.140", "386.000")),
        (32_064, ("LLaVA-1.6-7B", "0.592", "0.519", "0.414", "1.849", "23.360", "183.000")),
    ],
)
def test_every_host_figure_is_told_beside_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture, vocab_size: int, paper: tuple[str, ...]
) -> None:
    out = tmp_path / "host.json"
    arguments = [
        "host",
        "--vocab",
        str(vocab_size),
        *["--nodes", "20", "--history", "30", "--prompt", "60", "--json"],
    ]
    assert command_line.main([*arguments, str(out)]) == 0
    measured = json.loads(out.read_text())
    assert all(set(measured) == {*STAGES, "total", "lookup_ns", "memory_mib"} == set(PAPER[m]) for m in PAPER)
    assert all(value > 0 for value in measured.values())
    assert measured["total"] >= max(measured[stage] for stage in STAGES)
    table = capsys.readouterr().out
    assert "paper" in table
    for figure in paper:
        assert figure in table


def test_the_timed_setting_is_the_one_that_is_told() -> None:
    bench = _HostBench(SMALL, np.random.default_rng(0))
    sizes = bench.memories.sizes
    assert (sizes.unigram, sizes.bigram, sizes.trigram) == (20_000, pytest.approx(2000, abs=30), 2000)
    for root in bench._roots[::20]:
        token_ids, parents, *_ = bench._drafter.search(root, 20)
        assert len(token_ids) == 21
        tree_contexts = {-1: root}
        for node in range(21):
            above = tree_contexts[int(parents[node])] if node else root
            context = np.append(above[1:], token_ids[node]) if node else root
            tree_contexts[node] = context
            assert all(bench.memories.lookup(source, tuple(context.tolist())) for source in "GCU")
    num_bytes = bench.memories.num_bytes
    assert len(list(bench.passes())) == 20
    assert bench.memories.num_bytes == num_bytes


@pytest.mark.parametrize("num_nodes", [0, 1])
def test_passes_with_hardly_a_node_are_measured_too(num_nodes: int) -> None:
    figures = measure_host(SMALL._replace(num_nodes=num_nodes), num_rounds=1)
    assert all(figures[stage] > 0 for stage in STAGES)


def test_settings_without_a_pass_are_one_sentence(capsys: pytest.CaptureFixture) -> None:
    for setting in (SMALL._replace(num_prompt_tokens=3), SMALL._replace(vocab_size=0)):
        with pytest.raises(InputError, match="must"):
            measure_host(setting, num_rounds=1)
    assert command_line.main(["cost", "--rows", "4,2"]) == 2
    assert "rising" in capsys.readouterr().err


def test_costs_are_told_by_rows_and_prefix_and_kept_for_auto(
    teaching_target: TransformersTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cost_command, "load_target", lambda *_, **__: teaching_target)
    out = tmp_path / "cost.json"
    assert command_line.main(["cost", "--rows", "1,16", "--prefix", "20,40", "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["rows"] == [1, 16]
    assert report["ms"] == report["by_prefix"]["20"]
    assert report["ratios"]["40"]["t(16)/t(1)"] == pytest.approx(
        report["by_prefix"]["40"][1] / report["by_prefix"]["40"][0]
    )
    assert not teaching_target.cost_file(20).exists()  # only the usual rows are kept
    curve = CostCurve(ROWS, tuple(float(row) for row in ROWS))
    write_curve(teaching_target.cost_file(256), curve)
    teaching_target.__dict__.pop("cost_curve", None)
    try:
        assert teaching_target.cost_curve == curve
    finally:
        teaching_target.__dict__.pop("cost_curve", None)


def test_a_kept_curve_is_read_for_the_same_model_and_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = Environment("CPU", "float32", "2", "5", 1)
    path = cost_file("{}", here, 256)
    assert read_curve(path) is None
    curve = CostCurve((1, 4), (0.5, 1.0))
    write_curve(path, curve)
    assert read_curve(path) == curve
    others = (("{a}", here, 256), ("{}", Environment("CPU", "float32", "2", "5", 2), 256), ("{}", here, 100))
    assert all(cost_file(*other) != path for other in others)
    for broken in ("", "[]", '{"rows": [2], "seconds": [1]}', '{"rows": [1], "seconds": [0]}'):
        path.write_text(broken)
        assert read_curve(path) is None
