"""One decorator for the hot host paths: compiled by numba, readable (and runnable) as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable)


def jit(function: Function) -> Function:
    """Compile `function` with numba, with an on-disk cache where one can be kept.

    In a read-only checkout without a writable home numba refuses to cache; then it compiles afresh in each process.
    With NUMBA_DISABLE_JIT=1 the function stays plain Python.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
