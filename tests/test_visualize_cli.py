"""`python -m visualize`: files of four kinds, and one sentence for what cannot be."""

from __future__ import annotations

import html
import json
import re

import pytest
from make_traces import make_trace

from recap.trace_io import save_trace
from visualize import __main__ as cli


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "trace.json"
    save_trace(make_trace(4, max_nodes=24, num_tokens=40), path)
    return path


def run(path, *arguments) -> int:
    return cli.main([str(path), *map(str, arguments)])


def test_html_is_a_page(path, tmp_path):
    assert run(path, "-o", tmp_path / "run.html") == 0
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_of_a_step_is_its_tree(path, tmp_path):
    assert run(path, "--step", 7, "-o", tmp_path / "tree.json") == 0
    figure = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    record = json.loads(path.read_text(encoding="utf-8"))["runs"][1]["iterations"][6]
    nodes = next(item for item in figure["data"] if item["name"] == "nodes")
    assert nodes["customdata"] == list(range(record["num_nodes"] + 1))


def test_json_without_a_step_is_the_accepted_lengths(path, tmp_path):
    assert run(path, "--run", "ar", "-o", tmp_path / "run.json") == 0
    figure = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert set(figure["data"][1]["y"]) == {1}


@pytest.mark.browser
def test_svg_shows_tokens_as_they_read(path, tmp_path, chromium, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", chromium)
    iterations = json.loads(path.read_text(encoding="utf-8"))["runs"][1]["iterations"]
    step = max(range(len(iterations)), key=lambda index: iterations[index]["num_nodes"]) + 1
    assert run(path, "--step", step, "-o", tmp_path / "tree.svg") == 0
    svg = (tmp_path / "tree.svg").read_text(encoding="utf-8")
    shown = {html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)}
    forms = {token.id: token.form for token in make_trace(4, max_nodes=24, num_tokens=40).tokens}
    nodes = iterations[step - 1]["detail"]["nodes"]
    expected = {
        form if len(form) <= 10 else form[:9] + "\u2026"
        for node in nodes
        if (form := forms[node["token_id"]])
    }
    assert expected <= {text.lstrip("\u00a0") for text in shown}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "run.pdf"), "must end in .html, .json, .svg or .png"),
        (("--run", "none", "-o", "a.html"), "--run must be one of ar, recap@24; got none."),
        (("--step", "0", "-o", "a.html"), "--step must be from 1 to"),
        (("--step", "999", "-o", "a.json"), "--step must be from 1 to"),
        (("-o", "/nowhere/at/all/a.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_is_one_sentence(path, capsys, arguments, words):
    assert run(path, *arguments) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert errors.count("\n") == 1


def test_a_broken_trace_is_one_sentence(tmp_path, capsys):
    (tmp_path / "bad.json").write_text("{")
    assert run(tmp_path / "bad.json", "-o", tmp_path / "a.html") == 2
    assert capsys.readouterr().err.startswith("The file is not JSON")


def test_a_browser_that_fails_is_one_sentence(path, tmp_path, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("it went away")

    monkeypatch.setenv("BROWSER_PATH", "/usr/bin/some-browser")
    monkeypatch.setattr("plotly.graph_objects.Figure.write_image", fail)
    assert run(path, "--step", 1, "-o", tmp_path / "a.png") == 2
    assert capsys.readouterr().err == "The browser at /usr/bin/some-browser could not draw the picture.\n"


def test_pictures_without_a_browser_are_one_sentence(path, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(cli.shutil, "which", lambda name: None)
    assert run(path, "--step", 1, "-o", tmp_path / "a.png") == 2
    assert "none was found" in capsys.readouterr().err
