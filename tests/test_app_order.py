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
@pytest.mark.parametrize("held_back", ["answer", "request"])
def test_a_late_answer_to_an_earlier_act_does_not_replace_what_was_said_since(chromium, held_back):
    """An example is chosen; its answer, or on a slow machine the call itself, comes after Run was pressed."""
    with scripted_page() as (address, _), open_app(f"{address}/", chromium) as page:
        page.click("#recap-try")
        status = page.get_by_test_id("recap-status")
        status.wait_for()
        held = []

        def hold(route):
            # The server has acted when the answer is held back: it knows the example's picture.
            held.append((route, route.fetch() if held_back == "answer" else None))

        page.route("**/run/predict*", hold, times=1)
        page.locator("#recap-examples button").first.click()
        for _ in range(600):
            if held:
                break
            page.wait_for_timeout(50)
        page.click("#recap-run")
        refusal = texts.NO_QUESTION if held_back == "answer" else texts.NO_PICTURE
        told(page, refusal)
        route, answer = held[0]
        if answer:
            route.fulfill(response=answer)
        else:
            route.continue_()
        page.wait_for_function("() => document.querySelector('#recap-question textarea').value !== ''")
        page.wait_for_timeout(500)  # parts of one answer are drawn one by one
        assert status.inner_text() == refusal
        assert page.get_by_text("pixels.").is_visible()


@pytest.mark.browser
def test_choosing_another_picture_ends_what_was_said_of_the_one_before(chromium, tmp_path):
    fake = tmp_path / "text.png"
    fake.write_text("not a picture")
    with scripted_page() as (address, _), open_app(f"{address}/", chromium) as page:
        page.click("#recap-try")
        page.click("#recap-run")
        told(page, texts.NO_PICTURE)
        page.locator("#recap-picture input[type=file]").set_input_files(fake)
        refusal = page.locator("#recap-picture-refusal .recap-error")
        refusal.get_by_text("text file").wait_for()
        told(page, texts.IDLE)
        page.click("#recap-run")
        told(page, texts.NO_PICTURE)
        page.get_by_test_id("recap-example-1").click()
        refusal.wait_for(state="hidden")
        told(page, texts.IDLE)


def told(page, sentence: str) -> None:
    """Wait until the status line says so."""
    page.wait_for_function(
        "expected => document.querySelector('[data-testid=recap-status]').innerText === expected",
        arg=sentence,
    )


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
