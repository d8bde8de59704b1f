"""Reports as figures: every number drawn is one of the report's, and the paper's are marked as the paper's."""

from __future__ import annotations

import copy
import io
import json
import random
import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
from contrast import contrast
from PIL import Image
from player_page import assert_quiet, open_page
from test_counterfactual_pooled import random_diagnosed
from test_replay import random_traces
from toy_bench import toy_report

from recap.counterfactual.question import single_report
from recap.counterfactual.workload import LeftOut, Question, pooled_report
from recap.errors import TraceError
from recap.replay.report import build_report
from visualize import __main__ as command_line
from visualize import paper_numbers
from visualize.assets import player_script, player_style, plotly_script
from visualize.bench_figures import (
    acceptance_figure,
    growth_figure,
    latency_figure,
    speedup_figure,
    stage_figure,
)
from visualize.counterfactual_figures import (
    change_rate_figure,
    dependence_figure,
    relative_support_figure,
    swapped_rows_figure,
)
from visualize.page import script_json
from visualize.replay_figures import (
    coverage_recall_figure,
    matched_length_figure,
    rule_recall_figure,
    suffix_figure,
)
from visualize.report_page import parse_report, read_report, report_page, report_payload
from visualize.topic_figure import speedup_by_topic_figure


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


@pytest.fixture(scope="module")
def pictures():
    """Counterfactual reports by kind: of one question with an answer of many passes, and of a workload."""
    rng, target = random.Random(4), SimpleNamespace(name="toy")
    diagnosed = [random_diagnosed(rng, topic, f"{topic}{i // 2}") for topic in "ab" for i in range(12)]
    roots = tuple(root for one in diagnosed for root in one.diagnosis.roots)
    questions = [
        Question(str(i), one.topic, "?", Path(one.picture), Path("x")) for i, one in enumerate(diagnosed)
    ]
    one = replace(diagnosed[0].diagnosis, question="What <b>is</b> it?", num_passes=999, roots=roots)
    left_out = (questions[0]._replace(id="z"), LeftOut("z", "too short"))
    many = [*zip(questions, diagnosed, strict=True), left_out]
    reports = {"one": single_report(target, one), "many": pooled_report(target, many)}
    return json.loads(json.dumps(reports, allow_nan=False))


def traces_of(figure):
    return {trace["name"]: trace for trace in figure.to_plotly_json()["data"]}


def test_overall_speedups_are_the_means_of_the_units_ratios_highest_first(bench):
    report = copy.deepcopy(bench)
    report["methods"]["recap"] = report["methods"].pop("recap@16")
    report["methods"]["hf_greedy"] = {"overall": dict.fromkeys(bench["methods"]["ar"]["overall"])}  # failed
    ratios = defaultdict(list)
    for unit in bench["units"]:
        ratios[{"recap@16": "recap"}.get(unit["method"], unit["method"])].append(unit)
    del ratios["ar"]
    figure = speedup_figure(report)
    ours, paper = figure.to_plotly_json()["data"]
    order = sorted(ratios, key=lambda name: -fmean(unit["ratio"] for unit in ratios[name]))
    assert list(ours["y"]) == order
    for place, name in enumerate(order):
        values = [unit["ratio"] for unit in ratios[name]]
        assert ours["x"][place] == pytest.approx(fmean(values))
        low, high = np.percentile(values, [10, 90])
        assert ours["x"][place] + ours["error_x"]["array"][place] == pytest.approx(max(high, fmean(values)))
        assert ours["x"][place] - ours["error_x"]["arrayminus"][place] == pytest.approx(
            min(low, fmean(values))
        )
        tau = fmean(unit["acceptance_length"] for unit in ratios[name] if unit["passes"])
        same = fmean(unit["identical"] for unit in ratios[name])
        assert f"τ {tau:.2f}<br>same text in {same:.1%}" in ours["hovertext"][place]
    assert (list(paper["x"]), list(paper["y"])) == ([1.89], ["recap"])
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1, line.name) == (1, 1, "plain decoding, ar")
    assert figure.layout.yaxis.autorange == "reversed"  # the first one on top


def test_plain_decoding_alone_has_no_speedup_to_draw(bench):
    report = copy.deepcopy(bench)
    report["methods"] = {"ar": bench["methods"]["ar"]}
    captions = [figure["caption"] for figure in report_payload(report)["figures"]]
    assert "Speedup over the whole workload" not in captions
    assert "Acceptance length" in captions


def test_an_outside_peer_that_tells_no_passes_is_drawn_and_said_to_tell_none(bench):
    report = copy.deepcopy(bench)
    report["methods"]["recap@16"]["overall"] |= {"acceptance_length": None, "identical_to_ar": None}
    (ours,) = speedup_figure(report).to_plotly_json()["data"]
    told = ours["hovertext"][list(ours["y"]).index("recap@16")]
    assert "τ not told" in told
    assert "same text not compared" in told


def test_fifty_six_methods_look_different_and_the_first_ones_as_ever(bench):
    report = copy.deepcopy(bench)
    method = report["methods"].pop("recap@16")
    units = [unit for unit in report["units"] if unit["method"] == "recap@16"]
    report["methods"] = {f"m{place}": method for place in range(56)}
    report["units"] = [unit | {"method": name} for name in report["methods"] for unit in units]
    for figure in (latency_figure(report), growth_figure(report)):
        lines = [(trace["line"]["color"], trace["line"]["dash"]) for trace in traces_of(figure).values()]
        assert len(set(lines)) == 56
        assert [dash for _, dash in lines[:28:7]] == ["solid", "dash", "dot", "dashdot"]


def topic_report(bench, speedups):
    """A report whose methods have these S, `{method: {topic: S or None}}`, and as overall S their mean."""
    report = copy.deepcopy(bench)
    report["methods"] = {"ar": report["methods"]["ar"]}
    for name, topics in speedups.items():
        measured = [one for one in topics.values() if one is not None]
        report["methods"][name] = copy.deepcopy(bench["methods"]["recap@16"]) | {
            "overall": bench["methods"]["recap@16"]["overall"] | {"speedup": fmean(measured)},
            "topics": {
                topic: {"speedup": one, "p10": one and one - 0.1, "p90": one and one + 0.1}
                for topic, one in topics.items()
            },
        }
    return report


def test_the_table_of_topics_has_the_means_of_the_units_ratios_with_their_percentiles(bench):
    ratios = defaultdict(list)
    for unit in bench["units"]:
        ratios[unit["method"], unit["topic"]].append(unit["ratio"])
    (table,) = speedup_by_topic_figure(bench).to_plotly_json()["data"]
    assert list(table["y"]) == list(speedup_figure(bench).data[0]["y"])  # plain decoding has no row
    assert list(table["x"]) == ["a", "b"]
    for name, numbers, told in zip(table["y"], table["text"], table["hovertext"], strict=True):
        for topic, number, words in zip(table["x"], numbers, told, strict=True):
            values = ratios[name, topic]
            low, high = np.percentile(values, [10, 90])
            assert re.sub("</?b>", "", number) == f"{fmean(values):.2f}"
            assert words == (
                f"<b>{name}</b><br>{topic}<br>S {fmean(values):.2f}×, P10 {low:.2f}×, P90 {high:.2f}×"
            )


def test_a_topic_s_highest_speedup_is_bold_and_the_colour_tells_faster_from_slower(bench):
    speedups = {"slow": {"a": 0.5, "b": 1.0}, "fast": {"a": 2.0, "b": 0.8}, "part": {"a": None, "b": 0.9}}
    (table,) = speedup_by_topic_figure(topic_report(bench, speedups)).to_plotly_json()["data"]
    assert list(table["y"]) == ["fast", "part", "slow"]
    assert [list(row) for row in table["text"]] == [
        ["<b>2.00</b>", "0.80"],
        ["", "0.90"],
        ["0.50", "<b>1.00</b>"],
    ]
    colours = np.array(table["z"], float)
    assert colours[0, 0] == -colours[2, 0] == table["zmax"] == -table["zmin"]  # twice as fast, half as fast
    assert colours[2, 1] == 0
    assert (colours[[0, 1], 1] < 0).all()
    assert np.isnan(colours[1, 0])


def test_nearly_equal_speedups_stay_pale(bench):
    (table,) = speedup_by_topic_figure(topic_report(bench, {"m": {"a": 1.01}})).to_plotly_json()["data"]
    assert table["z"][0][0] < 0.05 * table["zmax"]


def test_the_paper_s_topics_stand_below_where_the_workload_has_them(bench):
    report = topic_report(bench, {"m": {"text vqa": 1.5, "other": 1.2}})
    table, paper = speedup_by_topic_figure(report).to_plotly_json()["data"]
    assert "paper" in paper["name"]
    assert (list(paper["x"]), list(paper["text"])) == (["text vqa"], ["1.26"])
    (row,) = paper["y"]
    assert row not in table["y"]
    assert row.startswith("◆")
    assert row.endswith(paper_numbers.MODEL)


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


def test_the_suffix_s_gain_is_the_report_s_and_the_paper_s_mean_stands_beside(replay):
    ours, paper = suffix_figure(replay).to_plotly_json()["data"]
    figures = [replay["prompt_seeded"]["suffix"][name] for name in ("fusion", "fusion_and_suffix", "gain")]
    assert list(ours["y"]) == [f["value"] for f in figures]
    for place, f in enumerate(figures):
        assert ours["y"][place] + ours["error_y"]["array"][place] == pytest.approx(f["high"])
        assert ours["y"][place] - ours["error_y"]["arrayminus"][place] == pytest.approx(f["low"])
    assert ours["y"][1] - ours["y"][0] == pytest.approx(ours["y"][2])
    assert list(paper["x"]) == list(ours["x"])
    assert list(paper["y"]) == pytest.approx([0.91125, 1.0325, 0.12125])


def test_rules_are_compared_with_fixed_priors_in_points(replay):
    ours, paper = rule_recall_figure(replay).to_plotly_json()["data"]
    rules = replay["prompt_seeded"]["rules"]
    assert set(ours["x"]) == set(rules) - {"U", "U+C back-off", "no-confidence"}
    fixed = rules["no-confidence"]["all_query_recall_at_8"]["value"]
    for place, name in enumerate(ours["x"]):
        recall = rules[name]["all_query_recall_at_8"]["value"]
        assert ours["y"][place] == pytest.approx(100 * (recall - fixed))
        low = ours["y"][place] - ours["error_y"]["arrayminus"][place]
        assert low == pytest.approx(100 * rules[name]["over_no_confidence"]["low"])
    values = dict(zip(paper["x"], paper["y"], strict=True))
    assert values["hard-gate"] == pytest.approx(-1.1425)
    assert values["U+C+G back-off"] == pytest.approx(0.235)


@pytest.mark.parametrize(
    ("draw", "name", "scale", "paper"),
    [
        (change_rate_figure, "change_rate", 100, [34.9, 12.4]),
        (dependence_figure, "dependence", 1, [0.62, 0.198]),
    ],
)
def test_roots_are_drawn_by_accepted_length(pictures, draw, name, scale, paper):
    of_one = {
        "change_rate": lambda root: root["changes_with_mean"] or root["changes_with_other"],
        "dependence": lambda root: root["dependence"],
    }[name]
    groups = defaultdict(list)
    for root in pictures["one"]["roots"]:
        groups[min(root["num_accepted"], 5)].append(of_one(root))
    bars, diamonds = draw(pictures["one"]).to_plotly_json()["data"]
    assert list(bars["x"]) == ["0", "1", "2", "3", "4", "5+"]
    assert list(bars["y"]) == pytest.approx([scale * fmean(groups[length]) for length in range(6)])
    assert list(bars["customdata"]) == [len(groups[length]) for length in range(6)]
    assert not bars["error_y"]["visible"]  # one question has no interval
    assert (list(diamonds["x"]), list(diamonds["y"])) == (["0", "5+"], paper)
    bars, _ = draw(pictures["many"]).to_plotly_json()["data"]
    for place, group in enumerate(pictures["many"]["by_accepted_length"].values()):
        assert bars["y"][place] == pytest.approx(scale * group[name]["value"])
        high = bars["y"][place] + bars["error_y"]["array"][place]
        assert high == pytest.approx(scale * group[name]["high"])


def test_lengths_that_no_pass_had_are_left_out(pictures):
    report = copy.deepcopy(pictures["one"])
    report["by_accepted_length"]["3"] = {"num_roots": 0, "change_rate": None, "dependence": None}
    report["by_accepted_length"]["5+"] = {"num_roots": 0, "change_rate": None, "dependence": None}
    bars, diamonds = change_rate_figure(report).to_plotly_json()["data"]
    assert list(bars["x"]) == ["0", "1", "2", "4"]
    assert list(diamonds["x"]) == ["0"]


@pytest.mark.parametrize("kind", ["one", "many"])
def test_rows_of_both_pictures_stand_side_by_side(pictures, kind):
    rows = pictures[kind]["row_pictures"]
    covered = [name for name in rows if rows[name]["num_states"]]
    traces = list(traces_of(swapped_rows_figure(pictures[kind])).values())
    assert len(traces) == 2
    for trace, picture in zip(traces, ("matching", "swapped"), strict=True):
        assert [label.split()[0] for label in trace["x"]] == covered
        for place, name in enumerate(covered):
            recall = rows[name][picture]
            value = recall["value"] if kind == "many" else recall
            assert trace["y"][place] == pytest.approx(100 * value)
            if kind == "many":
                high = trace["y"][place] + trace["error_y"]["array"][place]
                assert high == pytest.approx(100 * recall["high"])


def test_support_and_gain_are_those_of_the_quintiles(pictures):
    eligible = [root for root in pictures["one"]["roots"] if root["contextual_support"] is not None]
    eligible.sort(key=lambda root: root["contextual_support"] - root["token_support"])
    parts = np.array_split(np.arange(len(eligible)), 5)
    (points,) = relative_support_figure(pictures["one"]).to_plotly_json()["data"]
    gains = [fmean(eligible[i]["contextual_gain"] for i in part) for part in parts]
    assert list(points["y"]) == pytest.approx(gains)
    shares = [
        fmean(
            np.exp(eligible[i]["contextual_support"])
            / (np.exp(eligible[i]["contextual_support"]) + np.exp(eligible[i]["token_support"]))
            for i in part
        )
        for part in parts
    ]
    assert list(points["x"]) == pytest.approx([100 * share for share in shares])
    few = pictures["one"] | {"by_relative_support": []}
    assert not relative_support_figure(few).data
    assert len(report_payload(few)["figures"]) == len(report_payload(pictures["one"])["figures"]) - 1


def test_what_was_read_is_said_in_a_sentence(pictures):
    one, many = report_payload(pictures["one"])["facts"], report_payload(pictures["many"])["facts"]
    num_roots = len(pictures["one"]["roots"])
    assert f"“What <b>is</b> it?”: {num_roots} of 999 passes" in one
    assert "<b>" not in report_page(pictures["one"]).split("</h1>")[1].split("<figure>")[0]
    questions = pictures["many"]["questions"]
    assert f"{len(questions)} questions about {len({q['image'] for q in questions})} pictures" in many
    assert "Questions left out: 1." in many


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
    assert len(json.loads(payload)) == page.count("<figure>") == 6


def test_a_report_becomes_a_page_by_the_command(bench, replay, pictures, tmp_path, capsys):
    for name, report in {"bench": bench, "replay": replay, **pictures}.items():
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


def test_reports_of_other_kinds_that_are_not_whole_are_one_sentence(replay, pictures):
    needed = {
        "one": (
            "model",
            "question",
            "num_passes",
            "by_accepted_length",
            "by_relative_support",
            "row_pictures",
        ),
        "many": ("model", "num_questions", "num_pictures", "num_roots", "left_out", "row_pictures"),
        "replay": ("num_states", "memories", "policies", "prompt_seeded"),
    }
    for name, report in {"replay": replay, **pictures}.items():
        for part in needed[name]:
            broken = {key: value for key, value in report.items() if key != part}
            with pytest.raises(TraceError, match=f"it has no '{part}'; please make it again"):
                report_payload(broken)
            if isinstance(report[part], (dict, list)):
                with pytest.raises(TraceError, match="not whole"):
                    report_payload(report | {part: 3})
    for kind in (["replay"], {}, 3):  # no kind of ours
        assert parse_report(json.dumps({"kind": kind}).encode()) is None
        with pytest.raises(TraceError, match="not whole"):
            report_payload({"kind": kind, "units": []})


def test_text_in_a_number_s_place_is_one_sentence(replay, pictures):
    seeded = copy.deepcopy(replay)
    seeded["prompt_seeded"]["rules"]["recap"]["over_no_confidence"]["value"] = "many"
    coverage = copy.deepcopy(replay)
    coverage["memories"]["own_states"]["U"]["coverage"]["value"] = "many"
    rate = copy.deepcopy(pictures["one"])
    rate["by_accepted_length"]["0"]["change_rate"] = "many"
    for report in (seeded, coverage, rate):
        with pytest.raises(TraceError, match="not whole"):
            report_payload(report)


#: Of each figure: its place on the page, and how far its plot and the words of its legend reach.
BOXES = """() => [...document.querySelectorAll("figure > div")].map((place) => {
    const box = (element) => element.getBoundingClientRect();
    const words = [...place.querySelectorAll(".legendtext, .xtitle")].map((text) => box(text).right);
    return {
        top: box(place).top, bottom: box(place).bottom, right: box(place).right,
        plot: box(place.querySelector(".main-svg")).bottom, width: box(place.querySelector(".main-svg")).right,
        words: Math.max(...words),
    };
})"""


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["bench", "replay", "many"])
def test_a_page_fits_any_width_and_no_figure_covers_another(
    bench, replay, pictures, kind, chromium, tmp_path
):
    report = {"bench": bench, "replay": replay, **pictures}[kind]
    with open_page(chromium, report_page(report), tmp_path / "report.html") as page:
        for width in (390, 920):
            page.set_viewport_size({"width": width, "height": 700})
            page.wait_for_function(
                "[...document.querySelectorAll('figure > div')].every((place) =>"
                " place.querySelector('.main-svg')?.getBoundingClientRect().width === place.clientWidth)"
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            boxes = page.evaluate(BOXES)
            for box in boxes:
                assert box["plot"] <= box["bottom"] + 1
                assert max(box["width"], box["words"]) <= box["right"] + 1
            for upper, lower in pairwise(boxes):
                assert upper["bottom"] < lower["top"]
        assert_quiet(page)


PLAYER_PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>r</title>
<style>{style}</style><div id="report"></div><script>{plotly}</script><script>{player}</script>
<script>RecapPlayer.mountReport(document.getElementById("report"), {payload}, {{ theme: "{theme}" }});</script>"""
#: Of each whisker that lies on its bar for at least 12 px: whether it runs sideways, and a point of it, on the bar.
ON_BARS = """() => [...document.querySelectorAll("path.xerror, path.yerror")].map((whisker) => {
    const bars = whisker.closest(".trace").querySelectorAll(".point path");
    const { left, right, top, bottom } = whisker.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const boxes = [...bars].map((bar) => bar.getBoundingClientRect());
    const is_sideways = whisker.classList.contains("xerror");
    const bar = boxes.find((box) => (is_sideways ? box.top < y && y < box.bottom : box.left < x && x < box.right));
    if (!bar) return null;
    if (is_sideways) return bar.right - left < 12 ? null : [true, (left + bar.right) / 2, y + scrollY];
    return bottom - bar.top < 12 || bar.width < 9 ? null : [false, x, (bar.top + bottom) / 2 + scrollY];
}).filter(Boolean)"""


@pytest.mark.browser
@pytest.mark.parametrize(("kind", "theme"), [("bench", None), ("bench", "dark"), ("many", "dark")])
def test_a_whisker_is_seen_on_any_bar(bench, pictures, kind, theme, chromium, tmp_path):
    report = {"bench": bench, **pictures}[kind]
    parts = {"style": player_style(), "plotly": plotly_script(), "player": player_script(), "theme": theme}
    html = (
        PLAYER_PAGE.format(payload=script_json(report_payload(report)), **parts)
        if theme
        else report_page(report)
    )
    with open_page(chromium, html, tmp_path / "report.html") as page:
        page.wait_for_function("document.querySelectorAll('path.xerror, path.yerror').length > 1")
        found = page.evaluate(ON_BARS)
        assert found
        pixels = np.asarray(Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB"))
    for is_sideways, x, y in found:
        # Across the whisker, no further than its own width to either side: on the bar all along.
        x, y = round(x), round(y)
        across = pixels[y - 4 : y + 5, x] if is_sideways else pixels[y, x - 4 : x + 5]
        assert contrast(*across) >= 3, (is_sideways, x, y)


#: Of the table of topics: the boxes of its words and numbers, and the box that all have to be in.
TABLE_BOXES = """() => {
    const place = [...document.querySelectorAll(".js-plotly-plot")].find((plot) => plot.data[0].type === "heatmap");
    const boxes = (selector) => [...place.querySelectorAll(selector)].map((text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return [left, right, top + scrollY, bottom + scrollY];
    });
    const { left, right, top, bottom } = place.getBoundingClientRect();
    return {
        place: [left, right, top + scrollY, bottom + scrollY],
        numbers: boxes(".heatmap-label text, .scatterlayer text"), names: boxes(".ytick text"),
        words: boxes(".xtick text, .gtitle"),
        written: [...place.querySelectorAll(".ytick text")].map((text) => text.textContent),
    };
}"""


@pytest.mark.browser
@pytest.mark.parametrize("theme", [None, "light", "dark"])
def test_the_topics_of_two_and_of_many_methods_are_read_at_any_width(bench, theme, chromium, tmp_path):
    names = [f"recap@{nodes}" for nodes in range(20)] + ["hf_prompt_lookup", "recap-sharp-priors"]
    names += [
        "recap-no-confidence",
        "peers.drafters:Peer",
        *(f"recap-budget-{nodes}" for nodes in range(60, 64)),
    ]
    rng = random.Random(6)
    # Faster and slower ones, so that the strongest colours stand below numbers.
    speedups = {name: {topic: rng.uniform(0.4, 2.5) for topic in paper_numbers.TOPICS} for name in names}
    for chosen in (names, names[:2]):
        report = topic_report(bench, {name: speedups[name] for name in chosen})
        parts = {
            "style": player_style(),
            "plotly": plotly_script(),
            "player": player_script(),
            "theme": theme,
        }
        html = (
            PLAYER_PAGE.format(payload=script_json(report_payload(report)), **parts)
            if theme
            else report_page(report)
        )
        with open_page(chromium, html, tmp_path / "report.html") as page:
            for width in (390, 920):
                page.set_viewport_size({"width": width, "height": 700})
                page.wait_for_function(
                    "[...document.querySelectorAll('.js-plotly-plot')].length > 4 &&"
                    " [...document.querySelectorAll('.js-plotly-plot')].every((place) =>"
                    " place.querySelector('.main-svg')?.getBoundingClientRect().width === place.clientWidth)"
                )
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                found = page.evaluate(TABLE_BOXES)
                assert len(found["numbers"]) == 6 * (len(chosen) + 1)
                assert set(chosen) < set(found["written"])
                left, right, top, bottom = found["place"]
                boxes = [*found["numbers"], *found["names"], *found["words"]]
                assert all(left <= box[0] and box[1] <= right for box in boxes)
                assert all(top <= box[2] and box[3] <= bottom for box in boxes)
                for kind in ("numbers", "names", "words"):
                    for one, other in combinations(found[kind], 2):
                        beside = one[1] <= other[0] + 1 or other[1] <= one[0] + 1
                        assert beside or one[3] <= other[2] + 3 or other[3] <= one[2] + 3, (
                            width,
                            kind,
                            one,
                            other,
                        )
                picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
                pixels = np.asarray(picture)
                for x0, x1, y0, y1 in found["numbers"]:
                    cell = pixels[round(y0) : round(y1), round(x0) : round(x1)]
                    assert contrast(*cell.reshape(-1, 3)) >= 4.5, (width, x0, y0)
            assert_quiet(page)
