"""Counterfactual pictures over many questions: pooling by topic, resampling by picture, and the command."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from statistics import fmean

import numpy as np
import pytest
from tiny_models import picture, tiny_target

from recap.bench.workload import Conversation
from recap.counterfactual import __main__ as command_line
from recap.counterfactual.diagnosis import LENGTH_GROUPS, ROW_SOURCES, Root
from recap.counterfactual.pooled import Diagnosed, TopicRatios, pooled_figures
from recap.counterfactual.question import Diagnosis
from recap.counterfactual.workload import pair_pictures
from recap.errors import InputError


@pytest.fixture(scope="module")
def tiny(teaching_target):
    return tiny_target(teaching_target.processor)


def random_diagnosed(rng, topic, picture_name):
    roots = []
    for index in range(rng.randrange(6)):
        is_eligible = rng.random() < 0.7
        supports = (rng.gauss(0, 1), rng.gauss(0, 1), rng.randrange(-3, 4)) if is_eligible else ()
        changes = rng.random() < 0.4, rng.random() < 0.3
        roots.append(Root(index, rng.randrange(8), 1, *changes, rng.gauss(0, 1), *supports))
    rows = Counter()
    for name in ROW_SOURCES:
        rows[f"{name}/covered"] = rng.randrange(5)
        for kind in ("matching", "swapped"):
            rows[f"{name}/{kind}"] = rng.randint(0, rows[f"{name}/covered"])
    return Diagnosed(topic, picture_name, Diagnosis("?", "!", 9, 9, tuple(roots), rows))


def mean_over_topics(by_topic):
    """Topics weigh the same, however many values each has."""
    return fmean(fmean(values) for values in by_topic.values() if values)


def test_pooled_figures_are_means_of_the_topics_own_figures():
    rng = random.Random(1)
    sizes = {"a": 9, "b": 1, "c": 20}  # the second one has too few roots for quintiles
    diagnosed = [
        random_diagnosed(rng, topic, f"{topic}{i // 2}") for topic, n in sizes.items() for i in range(n)
    ]
    rng.shuffle(diagnosed)
    figures = pooled_figures(diagnosed)
    roots = {
        topic: [r for one in diagnosed if one.topic == topic for r in one.diagnosis.roots] for topic in sizes
    }
    for group in LENGTH_GROUPS:
        own = {t: [r for r in rs if min(r.num_accepted, 5) == int(group[0])] for t, rs in roots.items()}
        found = figures["by_accepted_length"][group]
        assert found["num_roots"] == sum(map(len, own.values()))
        changes = {t: [r.changes_with_mean or r.changes_with_other for r in rs] for t, rs in own.items()}
        assert found["change_rate"]["value"] == pytest.approx(mean_over_topics(changes))
        dependences = {t: [r.dependence for r in rs] for t, rs in own.items()}
        assert found["dependence"]["value"] == pytest.approx(mean_over_topics(dependences))
        assert found["dependence"]["low"] <= found["dependence"]["value"] <= found["dependence"]["high"]
    quintiles = defaultdict(dict)
    for topic, rs in roots.items():
        eligible = [r for r in rs if r.contextual_support is not None]
        eligible.sort(key=lambda r: r.contextual_support - r.token_support)
        assert (len(eligible) < 5) == (topic == "b")
        for index, part in enumerate(np.array_split(range(len(eligible)), 5) if topic != "b" else ()):
            quintiles[index][topic] = [eligible[i].contextual_gain for i in part]
    assert [q["num_roots"] for q in figures["by_relative_support"]] == [
        sum(map(len, quintiles[index].values())) for index in range(5)
    ]
    for index, found in enumerate(figures["by_relative_support"]):
        assert found["contextual_gain"]["value"] == pytest.approx(mean_over_topics(quintiles[index]))
    for name in ROW_SOURCES:
        recalls = {}
        for kind in ("matching", "swapped"):
            sums = {
                topic: [sum(one.diagnosis.row_counts[f"{name}/{key}"] for one in diagnosed if one.topic == topic)
                        for key in (kind, "covered")]
                for topic in sizes
            }  # fmt: skip
            recalls[kind] = fmean(hit / covered for hit, covered in sums.values() if covered)
            assert figures["row_pictures"][name][kind]["value"] == pytest.approx(recalls[kind])
        gain = figures["row_pictures"][name]["gain"]
        assert gain["value"] == pytest.approx(recalls["matching"] - recalls["swapped"])


def test_an_interval_resamples_the_pictures_of_each_topic():
    """Of n pictures with one root each the mean has the standard error s / sqrt(n); two topics' errors add up."""
    arrays = np.random.default_rng(2)
    values = {"a": arrays.normal(0, 1, 60), "b": arrays.normal(5, 3, 90)}
    topics = {
        topic: {str(i): Counter({"sum": float(v), "roots": 1}) for i, v in enumerate(vs)}
        for topic, vs in values.items()
    }
    ratio = TopicRatios(topics)("sum", "roots")
    error = 0.5 * np.sqrt(sum(vs.var() / len(vs) for vs in values.values()))
    assert ratio["value"] == pytest.approx(fmean(vs.mean() for vs in values.values()))
    assert ratio["high"] - ratio["low"] == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_one_picture_a_topic_has_no_interval_and_nothing_counted_no_value():
    ratios = TopicRatios({"a": {"x": Counter(hit=1, all=4)}, "b": {"y": Counter(hit=3, all=4)}})
    assert ratios("hit", "all") == {"value": 0.5, "low": None, "high": None}
    assert ratios("hit", "none") == {"value": None, "low": None, "high": None}
    assert pooled_figures([])["by_relative_support"] == []


def test_the_other_picture_is_of_the_same_topic_and_never_the_own_one(tmp_path):
    def talk(id_, topic, name):
        return Conversation(id_, topic, name and tmp_path / name, ("first", "second"))

    everything = [
        talk("1", "a", "x"),
        talk("2", "a", "y"),
        talk("3", "b", "z"),
        talk("4", "a", "x"),
        talk("5", "b", None),
    ]
    pairs = {q.id: (q.question, q.image.name, q.other.name) for q in pair_pictures(everything, everything)}
    assert pairs == {
        "1": ("first", "x", "y"),
        "2": ("first", "y", "x"),
        "3": ("first", "z", "x"),  # the only one of its topic
        "4": ("first", "x", "y"),
    }
    with pytest.raises(InputError, match="Two pictures are needed"):
        pair_pictures(everything[:1], everything[:1])


@pytest.fixture
def workload(tmp_path):
    (tmp_path / "images").mkdir()
    lines = []
    for seed in range(4):
        picture(seed).save(tmp_path / "images" / f"{seed}.png")
        turns = ["What is it?", "And now?"] if seed else ["x" * 5000]
        lines.append({"id": str(seed), "image": f"{seed}.png", "topic": "ab"[seed % 2], "turns": turns})
    lines.insert(0, {"id": "text", "topic": "a", "turns": ["No picture at all?"]})
    (tmp_path / "mmspec.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return tmp_path


def test_the_command_pools_the_first_turns_of_a_workload(workload, monkeypatch, tiny, capsys):
    monkeypatch.setattr(command_line, "load_target", lambda model: tiny)
    out = workload / "out.json"
    arguments = ["--workload", str(workload), "--max-new-tokens", "20", "--json", str(out)]
    assert command_line.main(arguments) == 0
    report = json.loads(out.read_text("utf-8"))
    assert report["kind"] == "counterfactual-workload"
    assert [(q["id"], q["other"]) for q in report["questions"]] == [
        ("1", "3.png"),
        ("2", "0.png"),
        ("3", "1.png"),
    ]
    assert report["topics"] == {"a": 1, "b": 2}
    assert report["num_roots"] == sum(len(q["roots"]) for q in report["questions"]) > 0
    assert sum(g["num_roots"] for g in report["by_accepted_length"].values()) == report["num_roots"]
    printed = capsys.readouterr()
    assert "3 questions about 3 pictures" in printed.out
    assert "0: left out: The question has" in printed.err  # too long for the model
    assert [left["id"] for left in report["left_out"]] == ["0"]
    assert command_line.main([*arguments, "--limit", "1", "--topics", "b"]) == 0
    assert [q["id"] for q in json.loads(out.read_text("utf-8"))["questions"]] == ["1"]
    assert command_line.main([*arguments, "--limit", "3"]) == 0
    asked = json.loads(out.read_text("utf-8"))
    assert len(asked["questions"]) + len(asked["left_out"]) == 3, "what has no picture takes no place"
    assert "Questions without a picture, which are left out: 1." in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--image", "x.png", "--question", "?"],
        ["--workload", "w", "--question", "?"],
        ["--workload", "w", "--image", "x.png", "--question", "?", "--other", "y.png"],
    ],
)
def test_one_question_and_a_workload_exclude_each_other(arguments, tmp_path, capsys):
    assert command_line.main([*arguments, "--json", str(tmp_path / "x.json")]) == 2
    assert "Give --workload, or --image, --question and --other together." in capsys.readouterr().err
