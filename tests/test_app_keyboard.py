"""The panel by keyboard alone: opened, an example chosen, a run made, closed."""

from __future__ import annotations

import pytest
from app_page import open_app
from page_client import scripted_page
from test_app_order import told

from demo import texts

pytestmark = pytest.mark.browser


def focused(page) -> str:
    """Name of what the next key goes to."""
    return page.evaluate(
        "(({ id, dataset, tagName }) => id || dataset.testid || tagName.toLowerCase())(document.activeElement)"
    )


def press_until(page, name: str, key: str = "Tab") -> None:
    """Go on by `key` to an element of that name."""
    for _ in range(40):
        page.keyboard.press(key)
        if focused(page) == name:
            return
    raise AssertionError(f"{name} is not reached; the focus is at {focused(page)}")


def test_a_run_is_asked_for_without_a_mouse(chromium):
    with scripted_page() as (address, _), open_app(f"{address}/", chromium) as page:
        press_until(page, "recap-try")
        page.keyboard.press("Enter")
        page.get_by_test_id("recap-example-0").wait_for()  # a busy machine draws them late
        page.keyboard.press("Tab")
        assert focused(page) == "recap-example-0"
        press_until(page, "recap-run")
        page.keyboard.press("Enter")
        told(page, texts.NO_PICTURE)
        press_until(page, "recap-example-1", "Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('#recap-question textarea').value !== ''")
        press_until(page, "recap-run")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "document.querySelector('#recap-choice').selectedOptions[0].textContent === 'Your run'"
        )
        assert focused(page) == "recap-try", "the panel has closed, and its keys are the player's again"


def test_escape_closes_the_panel_and_gives_the_focus_back(chromium):
    with scripted_page() as (address, _), open_app(f"{address}/", chromium) as page:
        press_until(page, "recap-try")
        page.keyboard.press("Enter")
        press_until(page, "recap-example-1")
        page.keyboard.press("Escape")
        assert focused(page) == "recap-try"
        page.keyboard.press("Tab")
        assert not page.evaluate("document.getElementById('recap-panel').contains(document.activeElement)")
