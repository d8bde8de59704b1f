"""Drafters from elsewhere, named `module:Class`.

The class is imported from Python's path, the working folder included, and called with two arguments: `vocab_size`, the
width V of the target's scores, and `blocked_ids`, the ids that may never be drafted (image placeholders, padding). What
comes back is one stream: a `recap.drafters.base.Drafter`. A new one is made whenever the stream starts anew.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from recap.drafters.base import Drafter
from recap.errors import InputError

#: Makes a drafter from (vocabulary size, blocked ids).
DrafterClass = Callable[[int, Iterable[int]], Drafter]


def is_foreign(name: str) -> bool:
    """Whether a method's name is a `module:Class`."""
    return ":" in name


def load_drafter_class(name: str) -> DrafterClass:
    """The class that a `module:Class` names.

    Raises:
        InputError: no such module, no such class in it, or one that lacks a drafter's methods.
    """
    module_name, _, class_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    # A module from elsewhere can raise anything while it is imported, and a wrong name a ValueError.
    except Exception as error:
        raise InputError(
            f"The method {name!r} could not be imported ({type(error).__name__}: {error})."
        ) from error
    drafter_class = getattr(module, class_name, None)
    if not callable(drafter_class):
        raise InputError(f"The module {module_name} has no class {class_name!r}, which --methods asks for.")
    needed = ("begin", "draft", "observe", "save_state", "restore_state")
    if missing := [method for method in needed if not hasattr(drafter_class, method)]:
        raise InputError(f"{name} is not a drafter: it lacks {', '.join(missing)}.")
    return drafter_class


def make_foreign_drafter(name: str, vocab_size: int, blocked_ids: Iterable[int]) -> Drafter:
    """A new stream of the class that a `module:Class` names.

    Raises:
        InputError: see `load_drafter_class`, or the class cannot be called with these two arguments.
    """
    drafter_class = load_drafter_class(name)
    try:
        return drafter_class(vocab_size, blocked_ids)
    # A class from elsewhere can raise anything.
    except Exception as error:
        raise InputError(
            f"{name} could not be made from (vocab_size, blocked_ids): {type(error).__name__}: {error}."
        ) from error
