"""The page without a model, in a real browser: recorded runs, lessons on them, and what is taken along."""

from __future__ import annotations

import json

import pytest
from app_page import LESSON, open_app, pass_index, served
from make_traces import make_trace
from player_page import value
from toy_bench import toy_report

from recap.trace_io import save_trace

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app on a teacher's own folder: one trace, one lesson."""
    folder = tmp_path_factory.mktemp("traces")
    save_trace(make_trace(3, max_nodes=24, num_tokens=60), folder / "first.json")
    (folder / "lessons").mkdir()
    (folder / "lessons" / "good.json").write_text(json.dumps(LESSON))
    with served("--no-model", "--traces", str(folder)) as address:
        yield address


@pytest.fixture(scope="module")
def page(address, chromium):
    with open_app(address, chromium) as page:
        yield page


def test_a_step_inside_a_pass_and_the_compare_view_stand_in_the_address(page, address):
    page.goto(f"{address}?run=first&method=recap%4024&step=12&substep=3")
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    assert page.locator(".rp-stage.rp-is-now").get_attribute("data-stage") == "grow"
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_url("**/*substep=4*")
    page.keyboard.press("v")
    page.wait_for_url("**/*view=compare*")
    page.reload()
    page.get_by_test_id("recap-compare-table").wait_for()
    assert pass_index(page) == 12
    page.keyboard.press("v")
    page.wait_for_url(lambda url: "view=" not in url)


def test_a_run_is_seen_before_its_tree_can_be_drawn(page, address):
    """plotly.js takes longer than all else; here it is held back until the rest was looked at."""
    held = []
    page.route("**/files/plotly*", lambda route: held.append(route))
    page.goto(f"{address}?run=first&method=recap%4024&step=12")
    page.get_by_text("The tree is coming").wait_for()
    assert pass_index(page) == 12
    assert len(page.get_by_test_id("recap-text").inner_text()) > 20
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")
    page.get_by_test_id("recap-compare-table").wait_for()
    page.keyboard.press("v")
    for route in held:
        route.continue_()
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    assert pass_index(page) == 13
    assert page.get_by_text("The tree is coming").is_hidden()
    page.unroute("**/files/plotly*")


def test_a_run_is_taken_along_by_keyboard_alone_and_plays_elsewhere(page, tmp_path):
    """The eighth point of what no other tool has: an export that plays elsewhere."""
    page.keyboard.press("e")
    dialog = page.get_by_test_id("recap-export")
    dialog.wait_for()
    for _ in range(10):
        if page.evaluate("document.activeElement.dataset.testid") == "recap-save-page":
            break
        page.keyboard.press("Tab")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    saved = tmp_path / "first.html"
    download.value.save_as(saved)
    # Without a server, and with no way out. A busy machine may need long to read plotly.js.
    other = page.context.browser.new_page()
    other.set_default_timeout(120_000)
    other.context.set_offline(True)
    other.goto(saved.as_uri())
    other.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    other.keyboard.press("ArrowRight")
    assert pass_index(other) == 2
    other.close()


def test_a_lesson_is_opened_from_the_list_and_stands_in_the_address(page, address):
    page.get_by_test_id("recap-choice").select_option("lesson:good")
    page.get_by_test_id("recap-lesson").wait_for()
    page.wait_for_url("**/?lesson=good&part=1")
    assert pass_index(page) == 8
    page.get_by_test_id("recap-answer-0").click()
    page.keyboard.press("PageDown")
    page.wait_for_url("**/?lesson=good&part=2")
    page.reload()
    page.get_by_test_id("recap-lesson").wait_for()
    assert pass_index(page) == 9
    assert value(page, "recap-lesson-place") == 2
    page.get_by_label("Leave the lesson").click()
    page.wait_for_url("**/?run=first*")
    assert page.get_by_test_id("recap-choice").input_value() == "first"


def test_a_report_is_opened_by_the_same_button_and_a_broken_one_leaves_it(page, tmp_path):
    report = json.loads(json.dumps(toy_report()))
    report["settings"]["num_units"] = 7
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(report))
    bad.write_text(json.dumps({"units": []}))
    files = page.locator("input[type=file]:near(#recap-open-trace)").last
    files.set_input_files(good)
    plots = page.locator(".rp-report-plot .main-svg")
    page.wait_for_function(
        "[...document.querySelectorAll('.rp-report-plot')].length > 3"
        " && [...document.querySelectorAll('.rp-report-plot')].every((plot) => plot.querySelector('.main-svg'))"
    )
    drawn = plots.count()
    card = page.locator(".rp-report-figures figure").first.bounding_box()
    plot = plots.first.bounding_box()
    assert plot["x"] + plot["width"] <= card["x"] + card["width"]
    files.set_input_files(bad)
    page.locator("#recap-trace-note .recap-error").wait_for()
    assert "please make it again" in page.locator("#recap-trace-note").inner_text()
    assert plots.count() == drawn
    page.keyboard.press("ArrowRight")  # no player listens
    page.get_by_test_id("recap-choice").select_option("first")
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    assert page.locator(".rp-report-plot").count() == 0


@pytest.mark.parametrize("width", [375, 1280])
def test_a_report_of_many_methods_names_them_all_and_leaves_room_for_its_plots(page, tmp_path, width):
    report = json.loads(json.dumps(toy_report()))
    report["settings"]["num_units"] = 7
    (name, method), *_ = (item for item in report["methods"].items() if item[0] != "ar")
    units = [unit for unit in report["units"] if unit["method"] == name]
    for number in range(24):
        report["methods"][f"recap-another-{number}"] = method
        report["units"] += [unit | {"method": f"recap-another-{number}"} for unit in units]
    (tmp_path / "many.json").write_text(json.dumps(report))
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("input[type=file]:near(#recap-open-trace)").last.set_input_files(tmp_path / "many.json")
    page.get_by_text("recap-another-23").first.wait_for()
    page.wait_for_function("document.querySelectorAll('.rp-report-plot .main-svg .legend').length > 3")
    hidden, heights = page.evaluate(LEGENDS)
    assert hidden == 0, "a legend is scrolled"
    assert min(heights) >= 100
    page.get_by_test_id("recap-choice").select_option("first")
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    page.set_viewport_size({"width": 1280, "height": 800})


#: How many names stand outside their legend's frame, and the height of each figure's plot, px.
LEGENDS = """() => {
    const legends = [...document.querySelectorAll(".rp-report-plot .legend")];
    const hidden = legends.flatMap((legend) => {
        const frame = legend.querySelector(".bg").getBoundingClientRect();
        const boxes = [...legend.querySelectorAll(".legendtext")].map((text) => text.getBoundingClientRect());
        return boxes.filter((box) => box.top < frame.top || box.bottom > frame.bottom);
    });
    const plots = [...document.querySelectorAll(".rp-report-plot .nsewdrag")];
    return [hidden.length, plots.map((plot) => plot.getBoundingClientRect().height)];
}"""


@pytest.mark.parametrize("width", [320, 360, 414, 1280])
def test_a_run_is_opened_and_saved_on_any_screen(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
    header = page.locator("#recap-header header").bounding_box()
    shown = [
        page.get_by_test_id("recap-choice"),
        page.get_by_role("button", name="Open file"),
        page.get_by_test_id("recap-save"),
        page.get_by_role("button", name="Light or dark"),
        page.locator("#recap-try"),
    ]
    boxes = [item.bounding_box() for item in shown]
    for box in boxes:
        assert 0 <= box["x"] <= width - box["width"]
        assert header["y"] <= box["y"] <= header["y"] + header["height"] - box["height"]
    places = [(box["y"], box["x"]) for box in boxes]
    assert places == sorted(places), "Tab goes on as one reads"
    with page.expect_file_chooser():
        shown[1].click()
    with page.expect_download() as download:
        shown[2].click()
    assert json.loads(download.value.path().read_text("utf-8"))["runs"]
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_console_is_clean_and_no_request_leaves_the_machine(page, address):
    assert page.faults == []
    assert {url for url in page.requested if not url.startswith((address, "data:", "blob:"))} == set()
