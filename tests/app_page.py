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

from player_page import BROWSER_ARGUMENTS

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
