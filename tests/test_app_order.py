"""Acts and answers that cross: a run that is stopped, and answers that arrive after a later act."""

from __future__ import annotations

import pytest
from app_page import open_app
from page_client import scripted_page
from player_page import value

from demo import texts
from demo.states import next_act


def test_acts_are_numbered_in_their_order():
    numbers = [next_act() for _ in range(1000)]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] < 2**53, "a browser holds it exactly"


@pytest.mark.browser
def test_a_late_answer_to_an_earlier_act_does_not_replace_what_was_said_since(chromium):
    """An example is chosen and its answer held back; meanwhile Run is pressed without a question."""
    with scripted_page() as (address, _), open_app(f"{address}/", chromium) as page:
        page.click("#recap-try")
        status = page.get_by_test_id("recap-status")
        status.wait_for()
        question = page.locator("#recap-question textarea")
        held = []
        # The server has acted when the answer is held back: it knows the example's picture.
        page.route("**/run/predict*", lambda route: held.append((route, route.fetch())), times=1)
        page.locator("#recap-examples button").first.click()
        for _ in range(600):
            if held:
                break
            page.wait_for_timeout(50)
        page.click("#recap-run")
        page.wait_for_function(
            "expected => document.querySelector('[data-testid=recap-status]').innerText === expected",
            arg=texts.NO_QUESTION,
        )
        route, answer = held[0]
        route.fulfill(response=answer)
        page.wait_for_function("() => document.querySelector('#recap-question textarea').value !== ''")
        page.wait_for_timeout(500)  # parts of one answer are drawn one by one
        assert question.input_value().endswith((".", "?"))
        assert status.inner_text() == texts.NO_QUESTION
        assert texts.IDLE in answer.text(), "the late answer said something else"


@pytest.mark.browser
def test_stop_ends_a_run_and_the_page_keeps_the_one_it_had(chromium):
    """Every pass takes a tenth of a second, so the run of hundreds is still going on however slow the machine is."""
    with scripted_page(pass_seconds=0.1) as (address, _), open_app(f"{address}/", chromium) as page:
        speedup = value(page, "recap-speedup")
        page.click("#recap-try")
        page.get_by_test_id("recap-example-0").click()
        page.wait_for_function("document.querySelector('#recap-question textarea').value !== ''")
        page.click("#recap-run")
        page.click("#recap-stop:not([disabled])")
        page.wait_for_function("document.querySelector('.recap-status').className.includes('recap-done')")
        assert "Stopped" in page.get_by_test_id("recap-status").inner_text()
        assert value(page, "recap-speedup") == speedup
        page.keyboard.press("Escape")
        page.wait_for_function("!document.body.classList.contains('recap-trying')")
