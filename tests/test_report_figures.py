"""Reports as figures: every number drawn is one of the report's, and the paper's are marked as the paper's."""

from __future__ import annotations

import copy
import json
import random
import re
from dataclasses import replace

import pytest
from test_replay import random_traces
from toy_bench import toy_report

from recap.errors import TraceError
from recap.replay.report import build_report
from visualize import __main__ as command_line
from visualize import paper_numbers
from visualize.assets import plotly_script
from visualize.bench_figures import (
    acceptance_figure,
    growth_figure,
    latency_figure,
    speedup_by_topic_figure,
    stage_figure,
)
from visualize.replay_figures import coverage_recall_figure, matched_length_figure
from visualize.report_page import read_report, report_page


@pytest.fixture(scope="module")
def bench():
    report = toy_report()
    report["settings"]["num_units"] = 7
    return report


@pytest.fixture(scope="module")
def replay():
    rng = random.Random(1)
    traces = [trace for _ in range(3) for trace in random_traces(rng, "recap@20")]
    report = build_report([replace(trace, title=str(index)) for index, trace in enumerate(traces)])
    return json.loads(json.dumps(report, allow_nan=False))


def traces_of(figure):
    return {trace["name"]: trace for trace in figure.to_plotly_json()["data"]}


def test_speedup_bars_are_the_topics_means_with_their_percentiles(bench):
    traces = traces_of(speedup_by_topic_figure(bench))
    assert set(traces) == {"recap@16", "recap-unigram@4"}  # plain decoding is the line at 1
    for name, trace in traces.items():
        topics = bench["methods"][name]["topics"]
        assert list(trace["x"]) == list(topics)
        assert list(trace["y"]) == [figures["speedup"] for figures in topics.values()]
        for place, figures in enumerate(topics.values()):
            top = trace["y"][place] + trace["error_y"]["array"][place]
            bottom = trace["y"][place] - trace["error_y"]["arrayminus"][place]
            assert top == pytest.approx(max(figures["p90"], figures["speedup"]))
            assert bottom == pytest.approx(min(figures["p10"], figures["speedup"]))


def test_the_paper_s_topics_stand_beside_where_the_workload_has_them(bench):
    report = copy.deepcopy(bench)
    for method in report["methods"].values():
        method["topics"] = {"text vqa": method["topics"]["a"], "other": method["topics"]["b"]}
    (name,) = set(traces_of(speedup_by_topic_figure(report))) - set(report["methods"])
    assert "paper" in name
    trace = traces_of(speedup_by_topic_figure(report))[name]
    assert (list(trace["x"]), list(trace["y"])) == (["text vqa"], [1.26])


def test_acceptance_bars_and_the_paper_s_diamonds(bench):
    report = copy.deepcopy(bench)
    report["methods"] = {"recap@63": bench["methods"]["recap@16"], "sam": bench["methods"]["ar"]}
    report["methods"]["peer"] = {"overall": {"acceptance_length": None}}
    ours, paper = acceptance_figure(report).to_plotly_json()["data"]
    assert list(ours["x"]) == ["recap@63", "sam"]
    assert list(ours["y"]) == [
        m["overall"]["acceptance_length"] for m in list(report["methods"].values())[:2]
    ]
    assert (list(paper["x"]), list(paper["y"])) == (["recap@63", "sam"], [2.77, 1.24])
    assert "paper" in paper["name"]


def test_only_the_paper_s_own_budget_is_compared_with_the_paper():
    model = paper_numbers.MODEL
    assert paper_numbers.overall("recap", model) == paper_numbers.overall("recap@63", model) == (1.89, 2.77)
    for name in ("recap@16", "module:Class"):
        assert paper_numbers.overall(name, model) is None
        assert paper_numbers.speedup_by_topic(name, model) == {}


def test_the_paper_s_own_model_of_the_family_stands_beside(bench):
    assert paper_numbers.overall("recap", paper_numbers.model_for("teaching-llava")) == (1.59, 2.85)
    report = copy.deepcopy(bench)
    report["settings"]["model"] = "llava-hf/llava-v1.6-vicuna-7b-hf"
    report["methods"] = {"sam": bench["methods"]["ar"]}
    _, paper = acceptance_figure(report).to_plotly_json()["data"]
    assert (list(paper["y"]), "LLaVA" in paper["name"]) == ([1.29], True)


@pytest.mark.parametrize("model", paper_numbers.MMSPEC)
def test_the_paper_s_overall_values_are_the_means_of_its_turns(model):
    turns = (100, 100, 100, 100, 100, 223)
    for rows in paper_numbers.MMSPEC[model].values():
        for *topics, whole in rows:
            mean = sum(count * value for count, value in zip(turns, topics, strict=True)) / sum(turns)
            assert whole == pytest.approx(mean, abs=0.0101)


def test_the_latency_line_ends_at_one_and_counts_every_unit(bench):
    for name, trace in traces_of(latency_figure(bench)).items():
        seconds = [unit["seconds"] for unit in bench["units"] if unit["method"] == name]
        assert list(trace["x"]) == sorted(seconds)
        assert trace["y"][-1] == 1
        for x, y in zip(trace["x"], trace["y"], strict=True):
            assert y == pytest.approx(sum(value <= x for value in seconds) / len(seconds))


def test_stages_are_stacked_and_the_paper_s_pass_stands_beside(bench):
    traces = traces_of(stage_figure(bench))
    assert set(traces) == {"draft", "verify", "commit", "update"}
    for stage, trace in traces.items():
        values = dict(zip(trace["x"], trace["y"], strict=True))
        assert values.pop("RECAP (paper, A100)") == paper_numbers.STAGE_MS[stage]
        assert values == {name: method["stage_ms"][stage] for name, method in bench["methods"].items()}


def test_growth_is_the_rows_of_u_unit_by_unit(bench):
    traces = traces_of(growth_figure(bench))
    assert set(traces) == {"recap@16", "recap-unigram@4"}
    rows = [unit["memory_rows"] for unit in bench["units"] if unit["method"] == "recap@16"]
    assert list(traces["recap@16"]["y"]) == rows
    assert list(traces["recap@16"]["x"]) == list(range(1, 8))


def test_coverage_and_recall_are_the_report_s_in_percent_and_four_lines_are_the_paper_s(replay):
    traces = traces_of(coverage_recall_figure(replay))
    measured = {name: trace for name, trace in traces.items() if "paper" not in name}
    assert len(traces) - len(measured) == 4
    for trace, kind in zip(measured.values(), ("own_states", "as_the_run_had_them"), strict=True):
        figures = list(replay["memories"][kind].values())
        assert list(trace["x"]) == [100 * f["coverage"]["value"] for f in figures]
        assert list(trace["y"]) == [100 * f["recall_at_8"]["value"] for f in figures]
        for place, f in enumerate(figures):
            high = trace["x"][place] + trace["error_x"]["array"][place]
            assert high == pytest.approx(100 * f["coverage"]["high"])


def test_matched_lengths_are_the_report_s(replay):
    ours, paper = matched_length_figure(replay).to_plotly_json()["data"]
    assert dict(zip(ours["x"], ours["y"], strict=True)) == {
        name: figures["matched_length"]["value"] for name, figures in replay["policies"].items()
    }
    assert "paper" in paper["name"]
    assert dict(zip(paper["x"], paper["y"], strict=True))["U"] == pytest.approx(0.454)


def test_one_picture_draws_no_interval():
    report = build_report(random_traces(random.Random(2), "recap@20", 1))
    assert not coverage_recall_figure(report).data[0].error_x.visible


def test_a_page_holds_everything_and_shows_names_as_they_are(bench):
    report = copy.deepcopy(bench)
    report["methods"]["<b>:X</script>"] = report["methods"].pop("recap@16")
    page = report_page(report)
    assert "</script>:" not in page
    assert "<b>:X" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page.replace(plotly_script(), ""))
    payload = re.search(r'id="figures">(.*?)</script>', page).group(1)
    assert len(json.loads(payload)) == page.count("<figure>") == 5


def test_a_report_becomes_a_page_by_the_command(bench, replay, tmp_path, capsys):
    for name, report in (("bench", bench), ("replay", replay)):
        path, out = tmp_path / f"{name}.json", tmp_path / f"{name}.html"
        path.write_text(json.dumps(report), "utf-8")
        assert command_line.main([str(path), "-o", str(out)]) == 0
        assert out.read_text("utf-8").startswith("<!doctype html>")
        assert command_line.main([str(path), "-o", str(tmp_path / "x.svg")]) == 2
        assert "must end in .html" in capsys.readouterr().err


def test_a_report_that_is_not_whole_is_one_sentence_and_other_files_are_no_reports(bench, tmp_path):
    for part in ("methods", "settings", "environment"):
        broken = {key: value for key, value in bench.items() if key != part}
        with pytest.raises(TraceError, match="not whole"):
            report_page(broken)
    (tmp_path / "a.json").write_text("[1]", "utf-8")
    (tmp_path / "b.json").write_text("[" * 100_000, "utf-8")
    assert read_report(tmp_path / "a.json") is None
    assert read_report(tmp_path / "b.json") is None
    assert read_report(tmp_path / "missing.json") is None
