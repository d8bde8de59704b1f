"""One decorator for the hot host paths: compiled by numba, readable (and runnable) as plain Python."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable)

_PACKAGE = Path(__file__).resolve().parent


def _compiled_sources() -> list[bytes]:
    """Sources that compile functions, and all that these import from the package: constants are compiled in."""
    sources = {path: path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    reached: set[Path] = set()
    waiting = [path for path, source in sources.items() if b"import jit" in source]
    while waiting:
        path = waiting.pop()
        if path in reached or path not in sources:
            continue
        reached.add(path)
        for name in re.findall(rb"from recap\.([\w.]+) import", sources[path]):
            base = _PACKAGE.joinpath(*name.decode().split("."))
            waiting += [base.with_suffix(".py"), base / "__init__.py"]
    return [source for path, source in sources.items() if path in reached]


def _cache_folder() -> Path | None:
    """A writable folder for compiled code that belongs to exactly these sources; None where there is none.

    numba compares only the file a function stands in. Functions here call each other across files, so code compiled
    from an older version of a callee would be used without a word; a folder a version of the sources rules that out.
    """
    digest = hashlib.sha256()
    for source in _compiled_sources():
        digest.update(source)
    user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for base in (_PACKAGE / "__pycache__", Path(user_cache) / "recap-vlm"):
        folder = base / f"jit-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


_CACHE_FOLDER = _cache_folder()
#: A map or automaton is ten arrays, copied onto the stack by each call that is not inlined: the search takes 2.5 times
#: as long with such calls.
_OPTIONS = {"nogil": True, "forceinline": True}


def jit(function: Function) -> Function:
    """Compile `function` with numba, with an on-disk cache where one can be kept.

    In a read-only checkout without a writable home it is compiled afresh in each process. With NUMBA_DISABLE_JIT=1 the
    function stays plain Python.
    """
    if _CACHE_FOLDER is None:
        return numba.njit(**_OPTIONS)(function)
    # numba reads this setting when a function is decorated; other users of numba keep theirs.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_FOLDER)
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = previous
