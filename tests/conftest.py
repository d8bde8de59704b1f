"""What all tests share: the options of tests/run, the markers' rules, and the seeds."""

from __future__ import annotations

import functools
import os
import shutil
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# Progress bars and look-ups of a model hub have no place in a test; set before any library reads them.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# The models of the tests are small: a second thread only waits for the first, and for whatever else runs beside.
os.environ.setdefault("OMP_NUM_THREADS", "1")

#: The models that ship with the project, by name: laws about any model hold for each of them.
SHIPPED_MODELS = tuple(
    f"teaching-{name}"
    for name in ("qwen", "llava")
    if (Path(__file__).parents[1] / "assets" / "teaching_vlm" / name / "model.safetensors").exists()
)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("full", deadline=None, max_examples=2000)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("recap")
    group.addoption(
        "--full", action="store_true", help="every test at its full size, and the slow ones (hours)"
    )
    group.addoption(
        "--update-screenshots",
        action="store_true",
        help="accept how the page looks now; look at the difference first",
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("full" if config.getoption("--full") else "default")
    if config.getoption("--full"):
        os.environ.setdefault("RECAP_TEST_SCALE", "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run here, each with its reason. On CI a missing browser is an error, not a skip."""
    reasons = {
        "slow": None if config.getoption("--full") else "the full size only; tests/run --full runs it",
        "browser": None if find_chromium() else "no Chromium found; on Debian: apt-get install chromium",
        "requires_cuda": None if has_cuda(items) else "no NVIDIA GPU here",
    }
    if (
        reasons["browser"]
        and os.environ.get("CI") == "true"
        and any(i.get_closest_marker("browser") for i in items)
    ):
        raise pytest.UsageError(f"The browser tests must run on CI: {reasons['browser']}")
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """At the end: how many tests did not run, by reason, and whether random cases were drawn in full number."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"not run: {count} - {reason.removeprefix('Skipped: ')}")
    if not config.getoption("--full"):
        terminalreporter.write_line("random cases: a seeded sample; tests/run --full draws all of them")


def has_cuda(items: list[pytest.Item]) -> bool:
    """Whether torch sees a GPU; torch is imported only where a collected test asks."""
    if not any(item.get_closest_marker("requires_cuda") for item in items):
        return False
    import torch

    return torch.cuda.is_available()


def find_chromium() -> str | None:
    """Path of the Chromium or Chrome that the browser tests drive."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser, for tests marked `browser`."""
    path = find_chromium()
    assert path is not None, "tests that ask for Chromium carry the marker `browser`"
    return path


@pytest.fixture
def is_full(request: pytest.FixtureRequest) -> bool:
    """Whether --full was given: tests of random cases then take their full number."""
    return request.config.getoption("--full")


@functools.cache
def load_shipped(model: str):
    """A model that ships with the project, in fp32 on the CPU; loaded once."""
    from recap.targets.loading import load_target

    return load_target(model, dtype="float32", device="cpu")


@pytest.fixture(scope="session")
def teaching_target():
    """The model that answers by default."""
    return load_shipped("teaching-qwen")


@pytest.fixture(scope="session", params=SHIPPED_MODELS)
def shipped_target(request: pytest.FixtureRequest):
    """Each model that ships, for laws about any model."""
    return load_shipped(request.param)


@pytest.fixture
def picture(tmp_path, monkeypatch):
    """A picture in the folder where the page's uploads lie."""
    from PIL import Image

    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    path = tmp_path / "picture.png"
    Image.new("RGB", (40, 40), "red").save(path)
    return path
