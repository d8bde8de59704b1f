"""Compiled code belongs to exactly the sources it came from, and a machine that cannot keep it compiles afresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from recap import jit as jit_module


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "package"
    (package / "drafters").mkdir(parents=True)
    (package / "one.py").write_text("from recap.jit import jit\n")
    (package / "drafters" / "two.py").write_text("from recap.jit import jit\n")
    (package / "plain.py").write_text("# compiles nothing\n")
    monkeypatch.setattr(jit_module, "_PACKAGE", package)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return package


def test_every_compiled_source_changes_the_folder_and_others_do_not(package: Path) -> None:
    before = jit_module._cache_folder()
    assert before is not None
    assert before.is_dir()
    (package / "plain.py").write_text("# still compiles nothing\n")
    assert jit_module._cache_folder() == before
    (package / "drafters" / "two.py").write_text("from recap.jit import jit\n# changed\n")
    assert jit_module._cache_folder() != before


def test_a_constant_that_is_compiled_in_changes_the_folder(package: Path) -> None:
    """Also where one module hands it on to the next."""
    (package / "constants.py").write_text("from recap.sizes import WIDTH\n")
    (package / "sizes.py").write_text("WIDTH = 8\n")
    (package / "one.py").write_text("from recap.constants import WIDTH\nfrom recap.jit import jit\n")
    before = jit_module._cache_folder()
    (package / "sizes.py").write_text("WIDTH = 9\n")
    assert jit_module._cache_folder() != before


def test_a_checkout_that_cannot_be_written_uses_the_users_cache_or_none(
    package: Path, tmp_path: Path
) -> None:
    # A file where the folder should be refuses writers whoever they are, root too.
    (package / "__pycache__").write_text("")
    folder = jit_module._cache_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "cache")
    (tmp_path / "cache" / "recap-vlm").rename(tmp_path / "moved")
    (tmp_path / "cache" / "recap-vlm").write_text("")
    assert jit_module._cache_folder() is None


def test_without_a_cache_functions_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit_module, "_CACHE_FOLDER", None)
    assert jit_module.jit(lambda x: x + 1)(2) == 3
