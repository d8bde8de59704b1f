"""The page: what it serves without a model, and the whole of it in a real browser."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from traceback import walk_tb
from types import SimpleNamespace

import pytest
from app_page import (
    LESSON,
    choose_example,
    make_own_run,
    open_app,
    open_panel,
    open_settings,
    pass_index,
    served,
    wait_for_model,
)
from contrast import contrast
from make_traces import make_trace
from player_page import value
from starlette.applications import Starlette
from starlette.testclient import TestClient
from toy_bench import toy_report

from demo import app, texts
from demo.handlers import Handlers
from demo.host import ModelHost
from demo.library import Lessons, RecordedRuns, load_examples
from demo.models import Models
from demo.page import header_value
from demo.routes import FILES, component_head, make_routes
from demo.runs import keep_run
from demo.serve import make_theme
from demo.session import SessionStore
from demo.states import player_source
from recap.errors import RecapError, TraceError
from recap.targets.loading import load_target, warm_up
from recap.trace_io import save_trace

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
MARKUP = """<img src=x onerror="document.title='owned'">"""
#: More than thirty passes in the run that is played.
TRACES = {
    "first": {"seed": 3, "max_nodes": 24, "num_tokens": 150},
    "second": {"seed": 5, "max_nodes": 12, "num_tokens": 20},
}

LESSONS = {
    "good": {},
    "far": {"title": "Too far", "steps": [{"title": "a", "text": "b", "pass": 999}]},
    "elsewhere": {"trace": "unknown"},
    "broken": {"steps": []},
}


@pytest.fixture(scope="module")
def traces_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher") / "traces"
    folder.mkdir()
    for name, options in TRACES.items():
        save_trace(
            make_trace(options["seed"], max_nodes=options["max_nodes"], num_tokens=options["num_tokens"]),
            folder / f"{name}.json",
        )
    save_trace(make_trace(7, max_nodes=4, num_tokens=8), folder.parent / "secret.json")  # not offered
    (folder / "third.json").write_text('{"schema_version": 1, "title": "Broken"}')
    (folder / "not a name.json").write_text("{}")
    (folder / "lessons").mkdir()
    for name, entry in LESSONS.items():
        (folder / "lessons" / f"{name}.json").write_text(json.dumps(LESSON | entry))
    return folder


@pytest.fixture(scope="module")
def recorded(traces_folder):
    return RecordedRuns(traces_folder)


@pytest.fixture
def sessions():
    return SessionStore()


@pytest.fixture(scope="module")
def lessons(recorded, traces_folder):
    return Lessons(traces_folder / "lessons", recorded)


@pytest.fixture
def client(recorded, lessons, sessions):
    return TestClient(Starlette(routes=make_routes(recorded, lessons, sessions, ModelHost(Models({})))))


def test_recorded_runs_are_listed_by_name_with_their_titles(recorded, lessons, traces_folder):
    titles = [json.loads((traces_folder / f"{name}.json").read_text())["title"] for name in TRACES]
    listed = header_value(recorded, lessons)["runs"]
    assert [run["name"] for run in listed] == ["first", "second", "third"]
    for run, title, name in zip(listed, titles, TRACES, strict=False):
        assert re.sub(r" \(\d\)$", "", run["title"]) == (title or name)


def test_runs_with_the_same_title_are_numbered(tmp_path):
    for name, title in (("a", "One?"), ("b", "Two?"), ("c", "One?"), ("d", "")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"title": title}))
    listed = RecordedRuns(tmp_path).list()
    assert [run["title"] for run in listed] == ["One? (1)", "Two?", "One? (2)", "d"]


def test_a_missing_folder_has_no_runs_and_no_examples(tmp_path):
    assert RecordedRuns(tmp_path / "none").list() == []
    assert load_examples(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["{", "[" * 200_000], ids=["cut off", "nested without end"])
def test_a_broken_first_run_does_not_keep_the_page_from_opening(tmp_path, caplog, text):
    (tmp_path / "run.json").write_text(text)
    RecordedRuns(tmp_path).draw_first()
    assert "cannot be played" in caplog.text


def test_examples_that_cannot_be_used_are_left_out(tmp_path):
    (tmp_path / "questions.json").write_text('[{"image": "none.png", "question": "What?"}]')
    assert load_examples(tmp_path) == []
    assert len(load_examples(ROOT / "assets" / "examples")) >= 4


def test_a_drawn_run_and_its_trace_are_served(client, traces_folder):
    payload = client.get("/recap/recorded/first/payload")
    assert payload.headers["content-encoding"] == "gzip"
    assert payload.json()["runs"][0]["name"] == "ar"
    trace = client.get("/recap/recorded/first/trace", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in trace.headers
    assert trace.headers["content-disposition"] == 'attachment; filename="first.json"'
    assert trace.json() == json.loads((traces_folder / "first.json").read_text())


def test_a_run_is_served_as_a_page_that_is_saved_and_never_opened_in_place(client):
    page = client.get("/recap/recorded/first/page")
    assert page.headers["content-disposition"] == 'attachment; filename="first.html"'
    assert page.text.startswith("<!doctype html>")
    assert client.get("/recap/recorded/none/page").status_code == 404


def test_lessons_are_those_whose_runs_the_page_has(client, lessons, tmp_path):
    assert lessons.list() == [{"name": "far", "title": "Too far"}, {"name": "good", "title": "Two passes"}]
    told = client.get("/recap/lessons/good").json()
    assert told["run"] == "first"
    assert [step["pass"] for step in told["lesson"]["steps"]] == [8, 9]
    assert Lessons(tmp_path / "none", RecordedRuns(tmp_path)).list() == []


@pytest.mark.parametrize(
    ("name", "words"), [("far", "stands at pass 999"), ("elsewhere", "no lesson of that name")]
)
def test_a_lesson_that_cannot_be_given_is_one_sentence(client, name, words):
    answer = client.get(f"/recap/lessons/{name}")
    assert answer.status_code == 404
    assert words in answer.json()["sentence"]


def test_a_refusal_that_is_kept_does_not_grow_with_its_readers(lessons):
    depths = []
    for _ in range(5):
        with pytest.raises(RecapError) as refused:
            lessons.get("far")
        depths.append(len(list(walk_tb(refused.value.__traceback__))))
    assert len(set(depths)) == 1


def test_a_run_of_one_s_own_is_served_by_its_key_alone(client, sessions):
    key = sessions.get("a").keep(keep_run(make_trace(5, max_nodes=12, num_tokens=12)))
    assert client.get(f"/recap/runs/{key}/payload").status_code == 200
    assert player_source(key, "live")["url"] == f"recap/runs/{key}"
    sessions.drop("a")
    assert client.get(f"/recap/runs/{key}/payload").json()["sentence"] == texts.RUN_NOT_FOUND


@pytest.mark.parametrize(
    "address",
    [
        "recorded/none/payload",
        "recorded/third/payload",
        "recorded/..%2Fsecret/trace",
        "recorded/not a name/trace",
        "recorded/first/picture",
        "runs/x/payload",
        "files/none",
    ],
)
def test_what_is_not_there_is_not_found(client, address):
    assert client.get(f"/recap/{address}").status_code == 404


def test_the_page_s_files_are_kept_by_browsers_only_under_their_digest(client):
    for name, (read, media_type) in FILES.items():
        plain = client.get(f"/recap/files/{name}")
        assert plain.text == read()
        assert plain.headers["content-type"].startswith(media_type)
        assert plain.headers["cache-control"] == "no-cache"
    address = component_head().split('"')[1]
    assert "immutable" in client.get("/" + address).headers["cache-control"]


def test_the_model_s_state_is_told(client):
    assert client.get("/recap/model").json() == {"state": "none", "sentence": texts.NO_MODEL}


def test_an_opened_trace_is_played_and_a_bad_one_leaves_the_player_alone(
    traces_folder, tmp_path, sessions, monkeypatch
):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path.parent))
    handlers = Handlers(sessions, ModelHost(Models({})), [])
    request = SimpleNamespace(session_hash="a")
    source, note = handlers.open_trace(str(traces_folder / "second.json"), request)
    assert source["kind"] == "uploaded"
    assert note["sentence"] == ""
    for text in ("", "{", "[1]", '{"schema_version": 99}', "a picture?"):
        path = tmp_path / "bad.json"
        path.write_text(text)
        untouched, note = handlers.open_trace(str(path), request)
        assert "url" not in untouched
        assert note["kind"] == "error"
        assert note["sentence"].endswith(".")
    monkeypatch.setattr("demo.opened_files.MAX_TRACE_BYTES", 10)
    _, note = handlers.open_trace(str(traces_folder / "second.json"), request)
    assert note["sentence"] == texts.trace_refused(texts.TRACE_TOO_LARGE)
    assert handlers.open_trace(None, request)[1]["sentence"] == ""


def test_a_report_is_opened_as_plots_and_a_broken_one_is_one_sentence(
    client, tmp_path, sessions, monkeypatch
):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    handlers = Handlers(sessions, ModelHost(Models({})), [])
    request = SimpleNamespace(session_hash="a")
    path = tmp_path / "report.json"
    report = json.loads(json.dumps(toy_report()))
    report["settings"]["num_units"] = 7
    path.write_text(json.dumps(report))
    source, note = handlers.open_trace(str(path), request)
    assert (source["kind"], note["sentence"]) == ("report", "")
    payload = client.get(f"/{source['url']}/payload").json()
    assert payload["kind"] == "report"
    assert [figure["caption"] for figure in payload["figures"]][:2] == [
        "Speedup over the whole workload",
        "Speedup by topic",
    ]
    assert "paper's numbers" in payload["facts"]
    assert client.get(f"/{source['url']}/trace").json() == report
    assert client.get(f"/{source['url']}/page").text.startswith("<!doctype html>")
    for part in ("methods", "settings", "environment"):
        path.write_text(json.dumps({key: value for key, value in report.items() if key != part}))
        untouched, note = handlers.open_trace(str(path), request)
        assert "url" not in untouched
        assert note["sentence"].endswith(f"it has no '{part}'; please make it again.")
    path.write_text(json.dumps(report | {"methods": {"recap": {"overall": [], "topics": 3}}}))
    assert handlers.open_trace(str(path), request)[1]["sentence"].endswith("not whole; please make it again.")


@pytest.mark.parametrize("name", ["../secret", "not a name", "none", ""])
def test_a_recorded_run_that_is_not_offered_is_refused_also_where_its_file_is_there(recorded, name):
    with pytest.raises(TraceError, match="no recorded run of that name"):
        recorded.get(name)


def test_a_taken_port_is_one_sentence(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert app.main(["--port", str(port)]) == 1
    assert (
        capsys.readouterr().err
        == f"Port {port} is taken; please choose another one, for example --port {port + 1}.\n"
    )


def test_an_impossible_address_is_one_sentence(capsys):
    for arguments in (["--port", "70000"], ["--host", "999.1.1.1"], ["--host", "a..b"]):
        assert app.main(arguments) == 1
        assert "please check --host and --port" in capsys.readouterr().err


def test_a_folder_of_traces_that_is_not_there_is_one_sentence(tmp_path, capsys):
    assert app.main(["--port", "0", "--traces", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"There is no folder {tmp_path / 'none'}; please check --traces.\n"


def test_the_port_comes_from_the_environment_where_none_is_given(monkeypatch):
    for name in ("GRADIO_SERVER_PORT", "PORT"):
        monkeypatch.delenv(name, raising=False)
    assert app.build_parser().parse_args([]).port == 7860
    monkeypatch.setenv("PORT", "8001")
    assert app.build_parser().parse_args([]).port == 8001
    monkeypatch.setenv("GRADIO_SERVER_PORT", "8002")
    assert app.build_parser().parse_args([]).port == 8002
    assert app.build_parser().parse_args(["--port", "8003"]).port == 8003


@pytest.mark.parametrize("mode", ["", "_dark"])
def test_a_field_s_example_has_a_contrast_of_at_least_4_5(mode):
    theme = make_theme()
    colours = [getattr(theme, f"input_{part}{mode}") for part in ("placeholder_color", "background_fill")]
    assert contrast(*colours) >= 4.5


def test_the_page_loads_no_torch_before_the_model():
    code = "import sys, demo.serve; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip() == "False"


# -- in a browser ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(traces_folder):
    """The app as people start it, on a free port."""
    # On a fresh machine numba compiles for long, and beside it the page answers late: fill its cache first.
    warm_up(load_target("teaching-qwen"))
    with served("--traces", str(traces_folder), "--model", "teaching-qwen") as address:
        yield address


@pytest.fixture(scope="module")
def page(address, chromium):
    """One page for all browser tests; console errors, failed answers and every request are collected."""
    with open_app(address, chromium) as page:
        yield page


def raw_run(folder, index: int) -> dict:
    """A run of the trace that the page plays, read without the project's own reader."""
    return json.loads((folder / "first.json").read_text())["runs"][index]


def answer(page, sentence, act) -> None:
    """The act brings a sentence that was not there, in under a second; a busy machine may try five times."""
    seconds = []
    for _ in range(5):
        page.get_by_test_id("recap-example-1").click()
        sentence.wait_for(state="hidden")
        page.locator("#recap-picture img").wait_for()  # else the browser may drop what is chosen meanwhile
        started = time.perf_counter()
        act()
        sentence.wait_for()
        seconds.append(time.perf_counter() - started)
        if seconds[-1] < 1:
            return
    raise AssertionError(f"no answer within a second: {seconds}")


def tell(page, act, expected: str) -> None:
    """The page answers an act with a sentence that holds `expected`, in under a second.

    Answers to earlier acts may still come in, so only a new one counts. Every act must be answered, and fittingly: a
    busy machine may answer late up to five times, but nothing that is typed may be lost even once.
    """
    box = page.locator(".recap-status")
    seconds = []
    for _ in range(5):
        before = box.get_attribute("data-act")
        started = time.perf_counter()
        act()
        page.wait_for_function(
            "before => { const box = document.querySelector('.recap-status');"
            " return box.dataset.act !== before && /recap-(error|done)/.test(box.className); }",
            arg=before,
        )
        seconds.append(time.perf_counter() - started)
        assert expected in box.inner_text()
        if seconds[-1] < 1:
            return
    raise AssertionError(f"{expected!r} is not told within a second: {seconds}")


@pytest.mark.browser
def test_all_six_parts_of_a_recorded_run_are_seen_without_scrolling(page):
    for name in ("lanes", "tree", "fusion", "text", "scrubber", "next"):
        box = page.get_by_test_id(f"recap-{name}").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800, name
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    assert page.title() == texts.PAGE_TITLE


@pytest.mark.browser
def test_figures_on_the_page_equal_the_trace_s(page, traces_folder):
    plain, recap = raw_run(traces_folder, 0), raw_run(traces_folder, 1)
    rates = []
    for run in (plain, recap):
        finished = run["finished"]
        rates.append(len(finished["output_ids"]) / (finished["prefill_seconds"] + finished["decode_seconds"]))
    accepted = [len(iteration["committed_ids"]) - 1 for iteration in recap["iterations"]]
    assert value(page, "recap-speedup") == pytest.approx(rates[1] / rates[0], rel=1e-6)
    assert value(page, "recap-tau") == pytest.approx(1 + sum(accepted) / len(accepted), rel=1e-6)
    assert value(page, "recap-passes") == recap["finished"]["num_passes"] == len(recap["iterations"])


@pytest.mark.browser
def test_thirty_quick_presses_advance_thirty_passes(page, traces_folder):
    assert len(raw_run(traces_folder, 1)["iterations"]) > 31
    page.keyboard.press("Home")
    page.evaluate("document.activeElement.blur()")
    assert pass_index(page) == 1
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert pass_index(page) == 31


@pytest.mark.browser
def test_the_address_follows_and_opens_the_same_place(page, address):
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/?run=first*step=2*")
    page.goto(f"{address}?run=second&step=3&node=1")
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    assert pass_index(page) == 3
    assert page.get_by_test_id("recap-choice").input_value() == "second"
    page.get_by_test_id("recap-choice").select_option("first")
    page.wait_for_url("**/?run=first*")
    page.goto(f"{address}?step=4")  # of the run that the page opens with
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    assert pass_index(page) == 4
    assert page.get_by_test_id("recap-choice").input_value() == "first"


@pytest.mark.browser
def test_bad_input_gets_a_sentence_in_a_second_and_the_next_good_run_works(page, tmp_path):
    wait_for_model(page)
    speedup = value(page, "recap-speedup")
    open_panel(page)
    upload = page.locator("#recap-picture input[type=file]")
    fake = tmp_path / "text.png"
    fake.write_text("not a picture")
    press = lambda: page.click("#recap-run")  # noqa: E731 - a name for an act
    tell(page, press, texts.NO_PICTURE)
    refused = page.locator("#recap-picture-refusal .recap-error")
    for file, sentence in ((fake, "text file"), (CASES / "truncated_tail.jpg", "cut off")):
        answer(page, refused.get_by_text(sentence), lambda file=file: upload.set_input_files(file))
    good = choose_example(page, 0)
    refused.wait_for(state="hidden")
    question = page.locator("#recap-question textarea")
    question.fill("  \n")
    tell(page, press, texts.NO_QUESTION)
    question.fill(good)
    open_settings(page)
    new_tokens = page.locator("#recap-new-tokens input")
    for number in ("0", "1000000", "2.5"):
        new_tokens.fill(number)
        new_tokens.press("Tab")  # as people leave a field; what stands in it is what will be sent
        assert new_tokens.input_value() == number
        tell(page, press, "1 to 512")
    assert value(page, "recap-speedup") == speedup
    new_tokens.fill("24")
    question.fill(f"{good} {MARKUP}")
    press()
    page.wait_for_function(
        "document.querySelector('#recap-choice').selectedOptions[0].textContent === 'Your run'"
    )
    assert value(page, "recap-passes") >= 1
    assert MARKUP in page.locator(".recap-player").inner_text()
    assert page.title() == texts.PAGE_TITLE
    assert page.get_by_test_id("recap-same-text").get_attribute("data-value") == "same"
    page.wait_for_function("!location.search.includes('run=')")


@pytest.mark.browser
def test_the_picture_lab_marks_what_another_picture_would_change(page):
    make_own_run(page)
    page.keyboard.press("5")
    page.get_by_test_id("recap-lab-ask").click()
    page.get_by_test_id("recap-lab-roots").wait_for()
    rows = page.locator("[data-testid=recap-lab-roots] tbody tr")
    assert 0 < rows.count() <= value(page, "recap-passes")
    told = page.get_by_test_id("recap-lab-told").inner_text()
    changed = page.eval_on_selector_all(
        "[data-testid=recap-lab-roots] tbody tr",
        "rows => rows.filter(row => row.querySelectorAll('.rp-form').length > 1).map(row => Number(row.dataset.pass))",
    )
    marked = page.locator(".rp-token.rp-owed")
    assert marked.count() == len(changed) > 0
    assert str(rows.count()) in told
    rows.last.click()
    assert pass_index(page) == int(rows.last.get_attribute("data-pass"))
    has_square = lambda: page.evaluate(  # noqa: E731 - a name for a question
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done("
        "document.querySelector('.rp-plot').data.some((item) => item.name === 'owes to the picture')))))"
    )
    assert has_square() == (pass_index(page) in changed)
    page.keyboard.press("1")


@pytest.mark.browser
def test_a_trace_can_be_saved_and_opened_and_a_bad_one_keeps_the_run(page, tmp_path):
    with page.expect_download() as download:
        page.get_by_test_id("recap-save").click()
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    passes = len(json.loads(saved.read_text())["runs"][1]["iterations"])
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    files = page.locator("input[type=file]:near(#recap-open-trace)").last
    files.set_input_files(bad)
    page.locator("#recap-trace-note .recap-error").wait_for()
    assert value(page, "recap-passes") == passes
    files.set_input_files(saved)
    page.wait_for_function(
        "document.querySelector('#recap-choice').selectedOptions[0].textContent === 'Opened trace'"
    )
    assert value(page, "recap-passes") == passes


@pytest.mark.browser
def test_the_console_is_clean_and_no_request_leaves_the_machine(page, address):
    assert page.faults == []
    assert {url for url in page.requested if not url.startswith((address, "data:", "blob:"))} == set()
