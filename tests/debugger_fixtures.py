"""The fixtures `page` and `mount` of the tests of the debugger; a module that imports them has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from debugger_page import trace
from player_page import PAYLOAD, assert_quiet, mount_player, open_page

from visualize.page import standalone_page


@pytest.fixture(name="page", scope="module")
def page_fixture(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One page for all tests of a module; each mounts the debugger anew."""
    with open_page(chromium, standalone_page(trace()), tmp_path_factory.mktemp("page") / "run.html") as page:
        yield page


@pytest.fixture(name="mount")
def mount_fixture(page) -> Iterator[Callable[..., None]]:
    """Mounts the debugger with some options; after the test no fault and no request to elsewhere may stand there."""
    yield lambda payload=PAYLOAD, **options: mount_player(page, payload, **options)
    assert_quiet(page)
