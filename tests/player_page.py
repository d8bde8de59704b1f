"""The player in a real browser, for the tests that drive it: how to open it, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: The payload that the page carries, as JavaScript.
PAYLOAD = "JSON.parse(document.getElementById('recap-payload').textContent)"


@contextmanager
def open_page(chromium: str, html: str, path: Path) -> Iterator[Any]:
    """A page of a file; faults on its console and requests to elsewhere are collected on it."""
    from playwright.sync_api import sync_playwright

    path.write_text(html, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        page = browser.new_page(
            viewport={"width": 1280, "height": 800}, color_scheme="light", reduced_motion="reduce"
        )
        # A busy machine may need long to read plotly.js.
        page.set_default_timeout(120_000)
        page.faults, page.outside = [], []
        page.on(
            "console",
            lambda message: (
                page.faults.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.outside.append(request.url))
        page.goto(path.as_uri())
        page.outside.remove(path.as_uri())
        yield page
        browser.close()


def mount_player(page, payload: str = PAYLOAD, **options) -> None:
    """Mount the player anew, as a page would."""
    element = "document.getElementById('recap')"
    page.evaluate(f"(o) => {{ window.player = RecapPlayer.mount({element}, {payload}, o); }}", options)
    settle(page)


def assert_quiet(page) -> None:
    """No fault on the console, no request to elsewhere."""
    assert page.faults == []
    assert [url for url in page.outside if not url.startswith(("data:", "blob:"))] == []


def settle(page) -> None:
    """Wait until the newest figure is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def state(page) -> dict:
    """Where the reader stands."""
    return page.evaluate("() => window.player.state()")


def value(page, testid: str) -> float:
    """The unrounded number of an element."""
    return float(page.get_by_test_id(testid).get_attribute("data-value"))


def values(page, selector: str) -> list[float]:
    """The unrounded numbers of all elements."""
    found = page.eval_on_selector_all(selector, "items => items.map((item) => item.dataset.value)")
    return [float(item) for item in found]


def drawn(page, name: str) -> dict:
    """A trace of the figure as it stands on the page."""
    return page.evaluate(
        """(name) => {
            const found = document.querySelector(".rp-plot").data.find((item) => item.name === name);
            if (!found) return null;
            const { color, opacity } = found.marker || {};
            return { x: found.x, y: found.y, customdata: found.customdata, color, opacity };
        }""",
        name,
    )
