"""The app as people start it, and its page in a browser, for the tests that drive it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from player_page import BROWSER_ARGUMENTS, settle

ROOT = Path(__file__).resolve().parent.parent
LESSON = {
    "schema_version": 1,
    "title": "Two passes",
    "trace": "first",
    "run": "recap@24",
    "steps": [
        {
            "title": "Guess",
            "text": "The tree has grown.",
            "pass": 8,
            "stage": "grow",
            "question": {"text": "Who is right?", "choices": ["G", "U"], "answer": 0, "after": "It was G."},
        },
        {"title": "Seen", "text": "The target has spoken.", "pass": 9},
    ],
}


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The app on a free port; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "demo/app.py", "--port", str(port), *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        for line in process.stdout:
            if "is open at" in line:
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@contextmanager
def open_app(address: str, chromium: str) -> Iterator[Any]:
    """The page with its first run drawn; console errors and every request are collected on it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.set_default_timeout(120_000)
        page.faults, page.requested = [], set()
        page.on(
            "console", lambda message: page.faults.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.requested.add(request.url.split("?")[0]))
        page.goto(address)
        page.get_by_test_id("recap-tree").locator(".main-svg").first.wait_for()
        yield page
        browser.close()


def pass_index(page) -> int:
    """The pass that is shown."""
    return int(page.get_by_test_id("recap-pass-index").inner_text().split()[1])


def wait_for_model(page) -> None:
    """Until the model is loaded."""
    page.wait_for_function(
        "fetch('recap/model').then(a => a.json()).then(a => a.state === 'ready')", timeout=240_000
    )


def open_panel(page) -> None:
    """Open the panel "Try yours" where it is closed."""
    if page.locator("#recap-try").get_attribute("aria-expanded") == "false":
        page.click("#recap-try")


def choose_example(page, index: int) -> str:
    """Click an example; the question that now stands in the panel, beside its picture."""
    page.locator("#recap-question textarea").fill("")
    example = page.get_by_test_id(f"recap-example-{index}")
    question = example.get_attribute("title")
    example.click()
    # The answer sets the question last: then the picture stands too.
    page.wait_for_function(
        "asked => document.querySelector('#recap-question textarea').value === asked", arg=question
    )
    return question


def open_settings(page) -> None:
    """Open the settings for the first time, and wait until what is typed into them stays.

    gradio makes what is folded away only when it is first opened, and in the next animation frame hands every part its
    first value once more, over whatever was typed meanwhile; two frames later that is over.
    """
    page.click("#recap-settings button")
    page.locator("#recap-new-tokens input").wait_for()
    settle(page)


def make_own_run(page) -> None:
    """Ask an example's question, whatever was done on the page before, and wait until the new run is open."""
    wait_for_model(page)
    open_panel(page)
    choose_example(page, 0)
    saved = page.locator("#recap-save")
    before = saved.get_attribute("href")
    page.click("#recap-run")
    page.wait_for_function(
        "before => { const href = document.querySelector('#recap-save').getAttribute('href');"
        " return href.startsWith('recap/runs/') && href !== before; }",
        arg=before,
    )
