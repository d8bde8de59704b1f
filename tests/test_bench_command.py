"""The command `bench run`: what it writes, what it refuses in one sentence, and what an interruption keeps."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from toy_bench import CONVERSATIONS, ToyTarget

from recap.bench import __main__ as command_line
from recap.bench import run_command


@pytest.fixture
def toy_command(tmp_path, monkeypatch):
    """Runs the command line on the toy; returns (exit code, report or None)."""
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: ToyTarget())
    workload = tmp_path / "mmspec.jsonl"
    lines = [{"id": c.id, "turns": c.turns, "topic": c.topic} for c in CONVERSATIONS]
    workload.write_text("\n".join(map(json.dumps, lines)) + "\n{}\n", "utf-8")

    def run(*arguments):
        out = tmp_path / "report.json"
        code = command_line.main(
            ["run", "--workload", str(workload), "--json", str(out), "--max-new-tokens", "25", *arguments]
        )
        return code, json.loads(out.read_text("utf-8")) if out.exists() else None

    return run


def test_the_command_writes_report_markdown_and_traces(toy_command, tmp_path, capsys):
    markdown, traces = tmp_path / "report.md", tmp_path / "traces"
    code, report = toy_command(
        *["--methods", "recap,recap@4", "--nodes", "16", "--limit", "5"],
        *["--markdown", str(markdown), "--traces", str(traces)],
    )
    assert code == 0
    assert list(report["methods"]) == ["ar", "recap", "recap@4"]
    assert len(report["units"]) == 3 * 5
    assert report["settings"]["nodes"] == 16
    assert [skipped["line"] for skipped in report["settings"]["skipped_lines"]] == [5]
    printed = capsys.readouterr()
    assert markdown.read_text("utf-8") in printed.out
    assert "Line 5 of mmspec.jsonl was left out" in printed.err
    assert "[5/5]" in printed.err
    recorded = [json.loads(path.read_text("utf-8")) for path in sorted(traces.iterdir())]
    assert len(recorded) == 5
    assert all([run["name"] for run in trace["runs"]] == ["ar", "recap", "recap@4"] for trace in recorded)


def test_ids_that_are_no_file_names_have_a_trace_each(toy_command, tmp_path):
    traces = tmp_path / "traces"
    lines = [{"id": id_, "turns": ["abc"], "topic": "a"} for id_ in ("a/b", "a_b", "a:b")]
    (tmp_path / "mmspec.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert toy_command("--traces", str(traces))[0] == 0
    assert len(list(traces.iterdir())) == 3
    assert traces / "a_b-1.json" in traces.iterdir()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--topics", "x"], "no topic 'x'"),
        (["--methods", "x"], "no method called 'x'"),
        (["--strict"], "line 5"),
        (["--markdown", "/no/such/folder/report.md"], "does not exist"),
        (["--markdown", "/"], "is a folder"),
        (["--traces", __file__], "needs a folder"),
    ],
)
def test_a_known_error_is_one_sentence_and_exit_code_two(toy_command, capsys, arguments, sentence):
    code, report = toy_command(*arguments)
    assert (code, report) == (2, None)
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert sentence in message
    assert "Traceback" not in message


@pytest.mark.parametrize("where", ["load_target", "BenchRunner"])
def test_a_run_stopped_before_its_first_unit_leaves_the_report_that_lies_there(
    toy_command, monkeypatch, capsys, where
):
    _, before = toy_command("--methods", "recap@4")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    if where == "load_target":
        monkeypatch.setattr(run_command, "load_target", interrupted)
    else:
        monkeypatch.setattr(run_command.BenchRunner, "run", interrupted)
    code, after = toy_command("--methods", "recap@4")
    assert (code, after) == (130, before)
    assert capsys.readouterr().err.endswith("Stopped.\n")


def test_an_interrupted_run_reports_the_units_it_finished_and_goes_on(
    toy_command, monkeypatch, capsys, tmp_path
):
    show = run_command.Progress.show

    def interrupting(self, unit):
        show(self, unit)
        if self._num_done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_command.Progress, "show", interrupting)
    code, stopped = toy_command("--methods", "recap@4")
    assert code == 130
    assert len(stopped["units"]) == 2 * 3
    assert "Stopped" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: ToyTarget())
    code, report = toy_command("--methods", "recap@8", "--resume")
    assert code == 2
    assert "other questions, methods or settings" in capsys.readouterr().err
    code, report = toy_command("--methods", "recap@4", "--resume")
    assert code == 0
    assert report["units"][:6] == stopped["units"]
    assert [(u["id"], u["turn"]) for u in report["units"][::2]] == [
        (c.id, turn) for c in CONVERSATIONS for turn in range(1, len(c.turns) + 1)
    ]
    assert not list(tmp_path.glob("*.partial*"))


def test_resuming_a_finished_run_measures_nothing(toy_command, monkeypatch, capsys, tmp_path):
    _, report = toy_command("--methods", "recap@4")
    written = (tmp_path / "report.json").read_bytes()
    printed = capsys.readouterr().out
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: pytest.fail("a model was loaded"))
    markdown = tmp_path / "report.md"
    code, again = toy_command("--methods", "recap@4", "--resume", "--markdown", str(markdown))
    assert (code, again) == (0, report)
    assert (tmp_path / "report.json").read_bytes() == written
    output = capsys.readouterr()
    assert output.out == printed
    assert markdown.read_text("utf-8") in printed
    assert "nothing was measured" in output.err


@pytest.mark.parametrize("change", ["methods", "limit", "questions", "units", "no report"])
def test_resuming_beside_another_report_is_refused_and_leaves_it(
    toy_command, monkeypatch, capsys, tmp_path, change
):
    out, workload = tmp_path / "report.json", tmp_path / "mmspec.jsonl"
    _, report = toy_command("--methods", "recap@4")
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: pytest.fail("a model was loaded"))
    arguments = ["--methods", "recap@4", "--resume"]
    sentence = "other questions, methods or settings"
    if change == "methods":
        arguments[1] = "recap@8"
    elif change == "limit":
        arguments += ["--limit", "3"]
    elif change == "questions":
        workload.write_text(workload.read_text("utf-8").replace("tell me more", "tell me less"), "utf-8")
    elif change == "units":
        out.write_text(json.dumps(report | {"units": report["units"][:-2]}), "utf-8")
        sentence = "of a stopped run"
    else:
        out.write_text("{}", "utf-8")
        sentence = "not a benchmark's report"
    before = out.read_bytes()
    assert toy_command(*arguments)[0] == 2
    assert sentence in capsys.readouterr().err
    assert out.read_bytes() == before


def test_a_run_killed_before_its_report_was_written_keeps_its_units(toy_command, monkeypatch, tmp_path):
    def killed(*_):
        raise SystemExit

    monkeypatch.setattr(run_command, "build_report", killed)
    with pytest.raises(SystemExit):
        toy_command("--methods", "recap@4")
    monkeypatch.undo()
    target = ToyTarget()
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: target)
    code, report = toy_command("--methods", "recap@4", "--resume")
    assert code == 0
    assert len(report["units"]) == 2 * sum(len(c.turns) for c in CONVERSATIONS)
    assert len(target.histories) <= 1  # the warm-up
    assert not list(tmp_path.glob("*.partial*"))


def test_a_run_goes_on_with_the_same_weights_only(toy_command, monkeypatch, capsys):
    """Retrained in place, a model keeps its name; its units and the memories of its predictions would be mixed."""

    def weights(name):
        monkeypatch.setattr(run_command, "TransformersTarget", ToyTarget)
        monkeypatch.setattr(run_command, "fingerprint", lambda target: SimpleNamespace(model=name))

    def stopped(*_):
        raise SystemExit

    weights("first")
    monkeypatch.setattr(run_command, "build_report", stopped)
    with pytest.raises(SystemExit):
        toy_command("--methods", "recap@4")
    monkeypatch.undo()
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: ToyTarget())
    weights("second")
    assert toy_command("--methods", "recap@4", "--resume")[0] == 2
    assert "other weights of teaching-qwen" in capsys.readouterr().err
    weights("first")
    assert toy_command("--methods", "recap@4", "--resume")[0] == 0


def test_a_folder_of_traces_that_cannot_be_made_is_told_before_the_work(
    toy_command, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: pytest.fail("a model was loaded"))
    file = tmp_path / "file"
    file.write_text("")
    for folder, sentence in ((file, "needs a folder"), (file / "inside", "cannot be written")):
        assert toy_command("--traces", str(folder))[0] == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            ["run", "--json", "x", "--nodes", "many"],
            "--nodes: must be auto or a whole number from 0; got 'many'",
        ),
        (["run", "--json", "x", "--nodes", "-1"], "--nodes: must be auto or a whole number from 0; got '-1'"),
        (["cost", "--rows", "1,a"], "--rows: must be whole numbers with commas between; got '1,a'"),
    ],
)
def test_a_number_that_is_none_is_told_in_words(command, sentence, capsys):
    with pytest.raises(SystemExit):
        command_line.main(command)
    assert sentence in capsys.readouterr().err
