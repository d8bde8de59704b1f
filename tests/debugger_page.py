"""The run that the tests of the debugger look at, as the JSON of its trace, and how its page is driven by keys."""

from __future__ import annotations

import json
from functools import cache

from make_traces import make_trace
from player_page import settle

from recap.trace_io import dump_trace

RUN = 1
PRIORS = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
#: A pass of the trace with accepted nodes of several sources, a long text before it and full memories.
STEP = 31


@cache
def trace():
    return make_trace(2, max_nodes=24, num_tokens=50)


@cache
def raw() -> dict:
    """The trace's JSON, read without the project's own reader."""
    return json.loads(dump_trace(trace()))


def passes() -> list[dict]:
    return raw()["runs"][RUN]["iterations"]


def form(token_id: int) -> str:
    return next(token["form"] for token in raw()["tokens"] if token["id"] == token_id)


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def tab_to(page, selector: str) -> None:
    """Move the focus by Tab alone until it stands on the element."""
    for _ in range(80):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {selector}")
