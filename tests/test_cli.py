"""`python -m recap run`: the answer, the one line, the files, and a sentence for everything that can go wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from family_models import FAMILIES, save_tiny
from PIL import Image

from recap import cli, metrics
from recap.command_line import check_writable
from recap.events import Environment, Finished, Iteration, Prefill, Run, StageSeconds

ROOT = Path(__file__).resolve().parent.parent


def make_run(name, tokens_by_pass, pass_seconds, prefill_seconds=0.5):
    """A run whose passes commit the tokens given and take the same time each."""
    seconds = StageSeconds(0.0, pass_seconds, 0.0, 0.0)
    iterations = [
        Iteration(i, 5, 0, 3, (), ids[-1], tuple(ids), None, seconds, None)
        for i, ids in enumerate(tokens_by_pass, 1)
    ]
    output_ids = (1, *(token for ids in tokens_by_pass for token in ids))
    return Run(
        name=name,
        method=name,
        settings=(),
        environment=Environment("CPU", "float32", "-", "-", 1),
        rows=(),
        prefill=Prefill(5, 0, 1, (2.0, 1.0), prefill_seconds, (), None),
        iterations=tuple(iterations),
        finished=Finished(
            output_ids, len(iterations), "length", prefill_seconds, pass_seconds * len(iterations)
        ),
    )


def test_the_line_tells_tokens_passes_acceptance_speedup_and_same_text():
    ar_run = make_run("ar", [[2], [3], [4], [5]], pass_seconds=0.5)  # 5 tokens in 2.5 s
    fast = make_run("recap@63", [[2, 3, 4], [5]], pass_seconds=0.25)  # 5 tokens in 1 s
    assert (
        cli.summary_line(fast, ar_run)
        == "5 tokens in 2 passes · τ 2.00 · S 2.50× against plain decoding · same text"
    )


def test_the_line_tells_where_texts_part():
    ar_run = make_run("ar", [[2], [3]], pass_seconds=0.5)
    assert cli.summary_line(make_run("m", [[2], [9]], 0.5), ar_run).endswith("differs from token 3")


def test_an_answer_of_one_token_has_no_acceptance_length():
    only = make_run("ar", [], 0.5)
    assert "no pass, so no τ" in cli.summary_line(only, only)


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    Image.new("RGB", (60, 60), "red").save(path)
    return path


BAD_INPUT = [
    (["--question", "what?", "--image", "gone.png"], "no picture file"),
    (["--question", "   "], "type a question"),
    (["--question", "what?", "--max-new-tokens", "0"], "from 1 to"),
    (["--question", "what?", "--max-new-tokens", "1000000"], "from 1 to"),
    (["--question", "what?", "--json", "no/such/folder/out.json"], "does not exist"),
    (["--question", "what?", "--trace", "no/such/folder/out.json"], "does not exist"),
    (["--question", "what?", "--json", "."], "is a folder"),
    (["--question", "what?", "--json", "long" * 80], "cannot be written (File name too long)"),
    (["--question", "what?", "--trace", "long" * 80], "cannot be written (File name too long)"),
    (["--question", "what?", "--method", "nonsense"], "no method called 'nonsense'"),
    (["--question", "what?", "--top-p", "0.9"], "give --temperature"),
    (["--question", "what?", "--top-k", "3"], "give --temperature"),
    (["--question", "what?", "--temperature", "0"], "temperature must be above 0"),
    (["--question", "what?", "--temperature", "1", "--top-p", "1.5"], "top_p, must be above 0"),
    (
        ["--question", "what?", "--temperature", "1", "--seed", "-1"],
        "seed must be a whole number of at least 0",
    ),
    (["--question", "what?", "--temperature", "1", "--trace", "run.json"], "leave out --trace"),
    (["--question", "what?", "--model", "no-such-model"], "no folder 'no-such-model'"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD_INPUT)
def test_known_errors_are_one_sentence_and_exit_code_two(picture, capsys, arguments, sentence):
    assert cli.main(["run", "--image", str(picture), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert len(printed.err.strip().splitlines()) == 1


def test_bad_pictures_are_told_before_a_model_is_loaded(tmp_path):
    text, cut = tmp_path / "text.png", tmp_path / "cut.jpg"
    text.write_text("no picture at all", "utf-8")
    Image.effect_noise((200, 200), 50).save(cut)
    cut.write_bytes(cut.read_bytes()[:900])
    for path in (text, cut):
        code = (
            "import sys\nfrom recap.cli import main\n"
            f"code = main(['run', '--image', {str(path)!r}, '--question', 'what?'])\n"
            "print(code, 'torch' in sys.modules, 'numba' in sys.modules)"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert result.stdout.split() == ["2", "False", "False"]
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_run_prints_the_answer_and_writes_files_that_agree_with_it(
    picture, tmp_path, monkeypatch, capsys, teaching_target
):
    import recap.targets.loading

    monkeypatch.setattr(recap.targets.loading, "load_target", lambda model: teaching_target)
    figures_path, trace_path = tmp_path / "figures.json", tmp_path / "trace.json"
    files = ["--json", str(figures_path), "--trace", str(trace_path)]
    arguments = [
        "run",
        "--image",
        str(picture),
        "--question",
        "Describe the picture.",
        "--max-new-tokens",
        "20",
    ]
    started = time.monotonic()
    assert cli.main([*arguments, "--method", "recap@8", *files]) == 0
    took = time.monotonic() - started
    *answer, line = capsys.readouterr().out.rstrip("\n").split("\n")
    figures = json.loads(figures_path.read_text("utf-8"))
    assert figures["answer"] == "\n".join(answer)
    assert line.endswith("same text")
    assert line.startswith(f"{len(figures['output_ids'])} tokens in {figures['passes']} passes")
    assert figures["first_difference"] is None
    assert figures["seconds"] + figures["ar_seconds"] < took
    assert figures["speedup"] == pytest.approx(figures["ar_seconds"] / figures["seconds"])
    trace = json.loads(trace_path.read_text("utf-8"))
    assert [run["name"] for run in trace["runs"]] == ["ar", "recap@8"]
    assert all(run["finished"]["output_ids"] == figures["output_ids"] for run in trace["runs"])
    assert trace["request"]["question"] == "Describe the picture."
    assert trace["request"]["image"]["original_size"] == [60, 60]


def test_a_text_model_is_asked_without_a_picture(tmp_path, capsys):
    folder = save_tiny(FAMILIES["llama"], tmp_path / "model")
    trace_path = tmp_path / "trace.json"
    arguments = [
        "--question",
        "What?",
        "--model",
        str(folder),
        "--max-new-tokens",
        "12",
        "--method",
        "recap@8",
    ]
    assert cli.main(["run", *arguments, "--trace", str(trace_path)]) == 0
    assert capsys.readouterr().out.rstrip("\n").endswith("same text")
    assert json.loads(trace_path.read_text("utf-8"))["request"]["image"] is None


def test_plain_decoding_is_its_own_reference(picture, monkeypatch, capsys, teaching_target):
    import recap.targets.loading

    monkeypatch.setattr(recap.targets.loading, "load_target", lambda model: teaching_target)
    arguments = ["run", "--image", str(picture), "--question", "How many?", "--max-new-tokens", "4"]
    assert cli.main([*arguments, "--method", "ar"]) == 0
    assert "S 1.00× against plain decoding · same text" in capsys.readouterr().out


def test_a_sampled_answer_is_plain_sampling_s_and_follows_the_seed(
    picture, tmp_path, monkeypatch, capsys, teaching_target
):
    import recap.targets.loading

    monkeypatch.setattr(recap.targets.loading, "load_target", lambda model: teaching_target)
    path = tmp_path / "figures.json"
    asked = ["run", "--image", str(picture), "--question", "Describe the picture.", "--max-new-tokens", "30"]
    asked += ["--method", "recap@8", "--json", str(path)]
    texts = []
    for options in (["--seed", "3"], ["--seed", "3"], ["--seed", "4"], ["--top-k", "1"], None):
        drawn = [] if options is None else ["--temperature", "1.5", *options]
        assert cli.main([*asked, *drawn]) == 0
        assert capsys.readouterr().out.rstrip().endswith("same text"), "as plain decoding with the same seed"
        texts.append(json.loads(path.read_text("utf-8"))["output_ids"])
    first, again, other, likeliest, greedy = texts
    assert first == again
    assert first != other
    assert likeliest == greedy != first


def test_a_sampled_run_tells_how_it_was_drawn(teaching_target):
    from recap.recording import SampledRun
    from recap.sampling import Sampler

    request = teaching_target.build_request(None, "How many?", max_new_tokens=6)
    sampled = SampledRun(teaching_target, request, "recap@8", Sampler(0.7, top_p=0.9, seed=5))
    with pytest.raises(ValueError, match="must have begun"):
        sampled.run()
    events = list(sampled)
    run = sampled.run()
    settings = dict(run.settings)
    assert (run.name, run.method) == ("recap@8", "recap")
    assert settings["decoding"] == "sampled"
    assert [settings[name] for name in ("temperature", "top_k", "top_p", "seed")] == [
        "0.7",
        "None",
        "0.9",
        "5",
    ]
    assert [run.prefill, *run.iterations, run.finished] == events
    assert all(iteration.detail is None for iteration in run.iterations)


def test_ctrl_c_ends_with_its_own_code(picture, monkeypatch, capsys):
    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupt)
    assert cli.main(["run", "--image", str(picture), "--question", "what?"]) == 130
    assert capsys.readouterr().err.strip() == "Stopped."


def test_described_figures_are_the_metrics_of_the_run():
    ar_run = make_run("ar", [[2], [3]], pass_seconds=0.5)
    run = make_run("m", [[2, 3]], pass_seconds=0.5)
    figures = cli.describe_run(run, ar_run, "text")
    assert figures["speedup"] == metrics.throughput_ratio(run, ar_run) == 1.5
    assert figures["acceptance_length"] == 2.0
    assert figures["decode_speedup"] == 2.0


def test_readme_s_library_example_runs_as_it_stands(monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    monkeypatch.chdir(ROOT)
    exec(code, {})
    *_, num_passes = capsys.readouterr().out.split()
    assert int(num_passes) > 0


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path):
    old, new, pipe = tmp_path / "old.json", tmp_path / "new.json", tmp_path / "pipe"
    old.write_text("as it was")
    os.mkfifo(pipe)
    check_writable([old, new, pipe, None])
    assert old.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.json", "pipe"]
