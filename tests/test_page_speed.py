"""How soon the page shows a recorded run, and how soon a step is drawn, by the page's own clock."""

from __future__ import annotations

from statistics import median

import pytest
from app_page import served
from make_traces import make_trace
from player_page import BROWSER_ARGUMENTS, PAYLOAD, mount_player, open_page

from visualize.page import standalone_page

pytestmark = pytest.mark.browser

FIRST_PAINT_MS = 2000
STEP_MS = 100
#: With a debugger attached, as here, V8 notes the source position of every instruction while it reads plotly.js, which
#: costs half a second that no visitor pays.
NO_DEBUGGER_COST = "--js-flags=--no-enable-lazy-source-positions"
#: Notes when an element first stands on the page with something in it, in ms since the page was asked for.
NOTE_FIRST = """
window.firstSeen = {};
const wanted = {
  numbers: "[data-testid=recap-speedup]",
  text: "[data-testid=recap-text]",
  tree: "[data-testid=recap-tree] .main-svg .scatterlayer .point",
};
const look = () => {
  for (const [name, selector] of Object.entries(wanted)) {
    const found = !(name in window.firstSeen) && document.querySelector(selector);
    if (found && (name === "tree" || found.textContent.trim())) window.firstSeen[name] = performance.now();
  }
  if (Object.keys(window.firstSeen).length < Object.keys(wanted).length) requestAnimationFrame(look);
};
look();
"""
#: Presses a key and waits for the frame in which the page has drawn it; the time between in ms.
TIME_STEPS = """async (numSteps) => {
  const frameDrawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let step = 0; step < numSteps; step += 1) {
    const start = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: step % 2 ? "ArrowLeft" : "ArrowRight" }));
    await frameDrawn();
    times.push(performance.now() - start);
  }
  return times;
}"""


def first_seen(address: str, chromium: str) -> dict[str, float]:
    """What a browser that has never been here sees, and when."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=[*BROWSER_ARGUMENTS, NO_DEBUGGER_COST]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(NOTE_FIRST)
        page.goto(address)
        page.wait_for_function("window.firstSeen.numbers && window.firstSeen.text && window.firstSeen.tree")
        seen = page.evaluate("window.firstSeen")
        browser.close()
    return seen


def test_a_recorded_run_is_on_the_page_within_two_seconds(chromium):
    with served("--no-model") as address:
        loads = [first_seen(address, chromium) for _ in range(5)]
    for name in ("numbers", "text", "tree"):
        assert median(load[name] for load in loads) <= FIRST_PAINT_MS, f"{name}: {loads}"


def test_a_step_of_68_nodes_is_drawn_within_a_tenth_of_a_second(chromium, tmp_path):
    trace = make_trace(2, max_nodes=67, num_tokens=70)
    with open_page(chromium, standalone_page(trace), tmp_path / "run.html") as page:
        mount_player(page, step=20)
        sizes = page.evaluate(f"() => [19, 20].map((one) => {PAYLOAD}.runs[1].passes[one].nodes.length)")
        times = page.evaluate(TIME_STEPS, 50)
    assert sizes == [68, 68]
    assert median(times) <= STEP_MS, times
