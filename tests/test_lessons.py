"""The lessons that ship: what each says is in its trace, read as plain JSON; and the rules that choose their passes."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

ASSETS = Path(__file__).resolve().parent.parent / "assets"
sys.path.insert(0, str(ASSETS / "lessons"))

from lesson_roots import aliased_root  # noqa: E402 - the folder has to be on the path first
from make_lessons import MissingRunError, lesson_text, load_recorded, main, make_lessons  # noqa: E402
from recorded import AUTO, EMPTY_U, RUN, Recorded  # noqa: E402

WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
NAMES = (
    "1-what-a-pass-does",
    "2-two-contexts",
    "3-specific-or-at-hand",
    "4-confidence",
    "5-why-u-stays",
    "6-budget",
)
BEFORE_THE_VERDICT = ("grow", "suffix")


class Told:
    """A lesson's file and its trace's, both as plain JSON."""

    def __init__(self, name: str) -> None:
        self.lesson = json.loads((ASSETS / "lessons" / f"{name}.json").read_text(encoding="utf-8"))
        self.trace = raw_trace(self.lesson["trace"])
        self.forms = {token["id"]: token["form"] for token in self.trace["tokens"]}

    def run(self, name: str) -> dict:
        return next(run for run in self.trace["runs"] if run["name"] == name)

    def at(self, step: dict) -> tuple[dict, dict]:
        """The run and the pass of a step."""
        run = self.run(step.get("run", self.lesson["run"]))
        return run, run["iterations"][step["pass"] - 1]

    def form(self, ids) -> str:
        return "".join(self.forms[id_] for id_ in (ids if isinstance(ids, list) else [ids]))

    def step(self, title: str) -> dict:
        return next(step for step in self.lesson["steps"] if step["title"] == title)

    def says(self, *phrases: str) -> bool:
        """Whether every phrase stands in the lesson."""
        text = json.dumps(self.lesson, ensure_ascii=False)
        missing = [phrase for phrase in phrases if phrase not in text]
        assert missing == []
        return True

    def found(self, run: dict, iteration: dict) -> dict[str, tuple[dict, dict]]:
        """At the root of a pass: each source's entry and row."""
        retrieved = iteration["detail"]["nodes"][0]["retrieved"]
        return {entry["source"]: (entry, run["rows"][entry["row"]]) for entry in retrieved}


@cache
def raw_trace(name: str) -> dict:
    return json.loads((ASSETS / "traces" / f"{name}.json").read_text(encoding="utf-8"))


@cache
def told(name: str) -> Told:
    return Told(name)


@pytest.fixture(scope="module")
def traces():
    return load_recorded(ASSETS / "traces")


def word(number: int) -> str:
    return WORDS[number] if number < len(WORDS) else str(number)


def first(row: dict) -> int:
    return row["token_ids"][0]


def is_right(found: dict, source: str, root: dict) -> bool:
    return source in found and first(found[source][1]) == root["greedy_id"]


def test_the_files_are_what_the_rules_make_of_the_recorded_runs(traces):
    made = {name: lesson_text(lesson) for name, lesson in make_lessons(traces).items()}
    shipped = {path.stem: path.read_text(encoding="utf-8") for path in (ASSETS / "lessons").glob("*.json")}
    assert tuple(sorted(shipped)) == NAMES
    assert made == shipped, "run assets/lessons/make_lessons.py after recording anew"


@pytest.mark.parametrize("name", NAMES)
def test_every_step_stands_where_its_words_say_and_asks_before_the_verdict(name):
    lesson = told(name)
    asked = [step for step in lesson.lesson["steps"] if "question" in step]
    assert asked[0]["stage"] in BEFORE_THE_VERDICT
    assert lesson.lesson["teacher_note"]
    assert len(lesson.lesson["glossary"]) >= 2
    for step in lesson.lesson["steps"]:
        _, iteration = lesson.at(step)
        assert lesson.form(iteration["committed_ids"]) == step["committed"]
        for text in (step["title"], step["text"], *step.get("question", {}).get("choices", ())):
            assert text == text.strip()
            assert not re.search(r"[{}]|  ", re.sub("“.*?”", "“”", text))
        assert step.get("node", 0) < len(iteration["detail"]["nodes"])


def test_1_the_long_pass_is_the_accepted_chain_of_first_choices():
    lesson = told("1-what-a-pass-does")
    _, short = lesson.at(lesson.step("One pass, one token"))
    step = next(step for step in lesson.lesson["steps"] if "question" in step)
    run, long = lesson.at(step)
    nodes, path = long["detail"]["nodes"], long["accepted"]
    assert (long["index"], len(short["committed_ids"])) == (short["index"] + 1, len(short["accepted"]) + 1)
    assert [nodes[index]["rank"] for index in path] == [0] * len(path)
    assert set(lesson.found(run, long)) == {"G", "C", "U"}
    count = len(path)
    assert step["question"]["choices"][step["question"]["answer"]].startswith(f"{word(count).capitalize()} ")
    last = nodes[path[-1]]
    assert last["greedy_id"] == long["target_selected_id"]
    assert last["greedy_id"] not in [
        node["token_id"] for node in nodes if node["parent"] == path[-1]
    ]  # the tree had no such branch
    assert lesson.says(
        f"“{lesson.form(long['root_id'])}”: this token is the root",
        f"{word(len(short['accepted']))} of its guesses fitted, so it wrote {word(len(short['committed_ids']))} tokens",
        f"{len(nodes) - 1} guesses",
        f"all {len(nodes)} positions",
        f"up to “{lesson.form(last['token_id'])}”",
        f"wants “{lesson.form(last['greedy_id'])}”",
        f"{word(count + 1)} tokens for one pass",
    )


def test_2_one_key_has_two_contexts_and_u_s_first_choice_is_wrong_there():
    lesson = told("2-two-contexts")
    step = lesson.step("Two rows, two answers")
    run, iteration = lesson.at(step)
    root, found = iteration["detail"]["nodes"][0], lesson.found(run, iteration)
    right = next(source for source in ("G", "C") if is_right(found, source, root))
    assert not is_right(found, "U", root)
    assert root["kept_ids"][0] == root["greedy_id"] == iteration["committed_ids"][0]
    entries, rows = zip(found["U"], found[right], strict=True)
    assert entries[0]["key_ids"] == [iteration["root_id"]]
    assert entries[1]["key_ids"][-1] == iteration["root_id"]
    assert [
        lesson.form(first(row)) in choice
        for row, choice in zip(rows, step["question"]["choices"], strict=True)
    ] == [
        True,
        True,
    ]
    assert step["question"]["answer"] == 1
    says, knows = (lesson.form(first(row)) for row in rows)
    assert lesson.says(
        f"U finds its row by “{lesson.form(iteration['root_id'])}” alone",
        f"the last {word(len(entries[1]['key_ids']))} tokens, “{lesson.form(entries[1]['key_ids'])}”",
        f"“{says}”, with a probability of {rows[0]['probabilities'][0]:.2f}",
        f"“{knows}”, with {rows[1]['probabilities'][0]:.2f}",
        f"{right} with {entries[1]['weight']:.2f}, U with {entries[0]['weight']:.2f}",
        f"the pass brings {word(len(iteration['committed_ids']))} token",
    )
    writers = [step for step in lesson.lesson["steps"] if step["title"].startswith("Where the row of U")]
    for writer in writers:
        _, wrote = lesson.at(writer)
        node = wrote["detail"]["nodes"][writer["node"]]
        assert [
            write["row"]
            for write in wrote["detail"]["writes"]
            if write["node"] == writer["node"] and write["map"] == "U"
        ] == [entries[0]["row"]]
        assert (node["token_id"], node["greedy_id"]) == (iteration["root_id"], first(rows[0]))
        context, at = [], writer["node"]
        while at > 0:
            context.insert(0, wrote["detail"]["nodes"][at]["token_id"])
            at = wrote["detail"]["nodes"][at]["parent"]
        before = [run["prefill"]["first_token_id"]]
        before += [id_ for other in run["iterations"][: wrote["index"] - 1] for id_ in other["committed_ids"]]
        assert f"“{lesson.form((before + context)[-3:])}”" in writer["text"]
        assert f"U's row is of pass {wrote['index']}" in writer["text"]


def test_3_u_is_found_most_often_and_g_right_most_often():
    lesson = told("3-specific-or-at-hand")
    run = lesson.run(RUN)
    found, right, mixed = dict.fromkeys("GCU", 0), dict.fromkeys("GCU", 0), 0
    for iteration in run["iterations"]:
        root, here = iteration["detail"]["nodes"][0], lesson.found(run, iteration)
        mixed += root["kept_ids"][:1] == [root["greedy_id"]]
        for source in here:
            found[source] += 1
            right[source] += is_right(here, source, root)
    assert found["U"] > found["C"] >= found["G"]
    assert right["G"] / found["G"] > right["U"] / found["U"]
    _, alone = lesson.at(lesson.step("Only U knows something"))
    assert set(lesson.found(run, alone)) == {"U"}
    assert is_right(lesson.found(run, alone), "U", alone["detail"]["nodes"][0])
    _, iteration = lesson.at(lesson.step("All three know something"))
    here, root = lesson.found(run, iteration), iteration["detail"]["nodes"][0]
    assert is_right(here, "G", root)
    assert not is_right(here, "U", root)
    says = {source: lesson.form(first(row)) for source, (_, row) in here.items()}
    assert lesson.says(
        f"The text ends with “{lesson.form(alone['root_id'])}”",
        f"brought {word(len(alone['committed_ids']))} token",
        f"G says “{says['G']}”, C says “{says['C']}”, U says “{says['U']}”",
        f"a weight of {here['G'][0]['weight']:.2f}, puts “{says['G']}” first",
        f"U's row, with {here['U'][0]['weight']:.2f}, speaks for",
        f"took {len(run['iterations'])} passes",
        f"U at {found['U']}, C at {found['C']}, G at {found['G']}.",
        f"in {right['G']} of {found['G']} cases",
        f"it was {right['C']} of {found['C']}, for U {right['U']} of {found['U']}",
        f"first at {mixed} of all",
    )


def test_4_the_weights_follow_from_the_confidence_of_the_rows():
    lesson = told("4-confidence")
    run, iteration = lesson.at(lesson.step("A row knows how sure it is"))
    found = lesson.found(run, iteration)
    by_confidence = sorted(found, key=lambda source: found[source][0]["confidence"])
    unsure, sure = by_confidence[0], by_confidence[-1]
    for entry, row in found.values():
        entropy = -sum(p * math.log(p) for p in row["probabilities"] if p > 0)
        assert entry["confidence"] == pytest.approx(math.exp(-entropy), rel=1e-4)
    total = sum(entry["prior"] * entry["confidence"] for entry, _ in found.values())
    for entry, _ in found.values():
        assert entry["weight"] == pytest.approx(entry["prior"] * entry["confidence"] / total, rel=1e-4)
    root = iteration["detail"]["nodes"][0]
    assert is_right(found, sure, root)
    share = found[unsure][0]["prior"] / sum(entry["prior"] for entry, _ in found.values())
    weights = {source: entry["weight"] for source, (entry, _) in found.items()}
    assert weights[unsure] < share
    gives = {source: (lesson.form(first(row)), row["probabilities"][0]) for source, (_, row) in found.items()}
    assert lesson.says(
        f"{sure} gives “{gives[sure][0]}” a probability of {gives[sure][1]:.2f}",
        f"{unsure} gives “{gives[unsure][0]}” {gives[unsure][1]:.2f}",
        f"Here {sure} has {found[sure][0]['confidence']:.2f}, {unsure} {found[unsure][0]['confidence']:.2f}",
        f"{unsure} would have a weight of {share:.2f}",
        f"It falls to {weights[unsure]:.2f}",
        *(f"{s} {e['prior']:.2f} × {e['confidence']:.2f} =" for s, (e, _) in found.items()),
        f"{sure} now weighs {weights[sure]:.2f}, {unsure} {weights[unsure]:.2f}",
        f"The mixture puts “{lesson.form(root['kept_ids'][0])}” first",
        f"The model writes “{lesson.form(iteration['committed_ids'][0])}”",
    )
    turned = [step for step in lesson.lesson["steps"] if step["title"].startswith("More specific")]
    for step in turned:
        other = re.search(r"more specific than (\w)", step["text"]).group(1)
        assert found[unsure][0]["prior"] > found[other][0]["prior"]
        assert weights[unsure] < weights[other]


def test_5_a_kept_u_writes_the_same_text_and_is_ahead_from_the_first_passes_on():
    lesson = told("5-why-u-stays")
    kept, empty = lesson.run(RUN), lesson.run(EMPTY_U)
    assert kept["finished"]["output_ids"] == empty["finished"]["output_ids"]
    passes = lesson.step("A row from an earlier question")
    _, helped = lesson.at(passes)
    _, row = lesson.found(kept, helped)["U"]
    number = kept["rows"][kept["prefill"]["writes"][0]["row"]]["written_in_request"]
    assert row["written_in_request"] < number
    assert is_right(lesson.found(kept, helped), "U", helped["detail"]["nodes"][0])
    empty_rows = {write["row"] for write in empty["prefill"]["writes"]}
    assert all(empty["rows"][row]["written_in_pass"] == 0 for row in empty_rows)
    assert min(row["written_in_request"] for row in empty["rows"]) == 1
    ahead, behind = (
        sum(len(iteration["committed_ids"]) for iteration in run["iterations"][:4]) for run in (kept, empty)
    )
    assert ahead > behind
    assert lesson.says(
        f"{word(number - 1)} question",
        f"More: {ahead} tokens in place of {behind}.",
        f"written in question {row['written_in_request']} of the stream; this is question {number}.",
        f"says “{lesson.form(first(row))}” behind “{lesson.form(helped['root_id'])}”",
        f"Four passes have written {behind} tokens",
        f"{len(kept['iterations'])} passes in place of {len(empty['iterations'])}",
        f"This one wrote {word(len(empty['iterations'][0]['committed_ids']))} token",
    )


def test_6_the_measured_budget_chose_what_promised_more_tokens_a_second_than_63():
    lesson = told("6-budget")
    plain, paper, auto = (lesson.run(name) for name in ("ar", RUN, AUTO))
    assert (
        plain["finished"]["output_ids"] == paper["finished"]["output_ids"] == auto["finished"]["output_ids"]
    )
    assert auto["finished"]["decode_seconds"] < paper["finished"]["decode_seconds"]
    step = lesson.step("What would you choose?")
    _, iteration = lesson.at(step)
    budget = iteration["detail"]["budget"]
    curve = dict(
        zip(
            budget["node_counts"], zip(budget["expected_tokens"], budget["seconds"], strict=True), strict=True
        )
    )
    chosen = budget["num_nodes"]
    (tokens, seconds), (most_tokens, most_seconds) = curve[chosen], curve[63]
    assert tokens / seconds > most_tokens / most_seconds
    assert chosen < 63
    assert step["question"]["choices"][step["question"]["answer"]] == str(chosen)
    assert sum(node["origin"] == "fusion" for node in iteration["detail"]["nodes"]) == chosen
    for another in [step for step in lesson.lesson["steps"] if step["title"].startswith("Another pass")]:
        more = lesson.at(another)[1]["detail"]["budget"]
        assert more["num_nodes"] > chosen
        expected = more["expected_tokens"][more["node_counts"].index(more["num_nodes"])]
        assert f"Here it took {word(more['num_nodes'])} node" in another["text"]
        assert f"of which {expected:.1f} tokens were expected" in another["text"]
    environment = auto["environment"]
    assert lesson.says(
        f"made on {environment['device']}, in {environment['dtype']}, with {word(environment['num_threads'])} thread",
        f"it takes {1000 * seconds:.1f} ms, with 63 nodes {1000 * most_seconds:.1f} ms",
        f"{tokens:.2f} tokens in {1000 * seconds:.2f} ms are {tokens / seconds:.0f} tokens a second",
        f"it would have been {most_tokens / most_seconds:.0f}.",
        *(
            f"{len(run['iterations'])} passes in {run['finished']['decode_seconds']:.2f} s"
            for run in (plain, paper, auto)
        ),
    )


def without_runs(traces, *names: str) -> list[Recorded]:
    return [
        Recorded(
            each.name, replace(each.trace, runs=tuple(r for r in each.trace.runs if r.name not in names))
        )
        for each in traces
    ]


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ((RUN,), "1-what-a-pass-does cannot be made: no recorded run holds a pass that accepts a long row"),
        ((EMPTY_U,), "5-why-u-stays cannot be made: no recorded run holds a question with U kept"),
        ((AUTO,), "6-budget cannot be made: no recorded run holds a run with a measured budget"),
    ],
)
def test_a_lesson_whose_claim_no_run_holds_is_not_made(traces, lost, words):
    with pytest.raises(MissingRunError, match=words):
        make_lessons(without_runs(traces, *lost))


def test_where_one_cannot_be_made_none_is_written(tmp_path, capsys):
    (tmp_path / "old.json").write_text("{}")
    assert main(["--traces", str(tmp_path / "none"), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("please record other questions.") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]


def renamed(recorded: Recorded, old: str | int, new: str) -> Recorded:
    """The same run with a token, given by its form or its id, called otherwise."""
    tokens = tuple(
        replace(token, form=new) if old in (token.form, token.id) else token
        for token in recorded.trace.tokens
    )
    return Recorded(recorded.name, replace(recorded.trace, tokens=tokens))


def test_lesson_2_prefers_the_word_with_two_contexts(traces):
    """Any root that fits is called her: it is chosen over the one that is best otherwise."""
    traces = [renamed(each, "·her", "·its") for each in traces]
    chosen = aliased_root(root for each in traces for root in each.roots()).places["root"]
    others = [
        root
        for each in traces
        for root in each.roots()
        if root.node.token_id != chosen.node.token_id and aliased_root([root])
    ]
    assert others
    other = others[-1]
    changed = renamed(other.recorded, other.node.token_id, "·her")
    roots = [r for each in traces for r in (changed if each.name == changed.name else each).roots()]
    found = aliased_root(roots)
    assert found.facts["root"] == "·her"
    assert found.places["root"].node.token_id == other.node.token_id
