"""Methods by name: one drafter a file, all behind the seam of `drafters.base`."""

from __future__ import annotations

from collections.abc import Iterable

from recap.config import RecapConfig
from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.drafters.base import Drafter
from recap.drafters.methods import METHODS, OTHERS, VARIANTS, method_table, takes_nodes
from recap.drafters.recap import RecapDrafter
from recap.drafters.root_fallback import RootFallbackDrafter
from recap.errors import InputError
from recap.memory import Memories

__all__ = [
    "METHODS",
    "AutoregressiveDrafter",
    "Drafter",
    "RecapDrafter",
    "make_drafter",
    "method_table",
    "parse_method",
    "takes_nodes",
]


def parse_method(name: str) -> RecapConfig | None:
    """The configuration that a method's name stands for; None for methods other than RECAP.

    `METHODS` lists the names. RECAP's take `@N` for N draft nodes, `recap@16` or `recap-back-off@63`, but those with a
    budget of their own.

    Raises:
        InputError: no such method.
    """
    if name in OTHERS:
        return None
    variant, at, nodes = name.partition("@")
    if variant not in VARIANTS or (at and not (takes_nodes(variant) and nodes.isdecimal())):
        known = ", ".join(METHODS)
        raise InputError(
            f"There is no method called {name!r}. Use one of {known}, with @N for N draft nodes behind a recap name "
            "that holds no number."
        )
    try:
        return RecapConfig(**VARIANTS[variant].settings, **({"max_nodes": int(nodes)} if at else {}))
    except ValueError as error:
        raise InputError(f"The method {name!r} cannot be used: {error}.") from error


def make_drafter(
    name: str, vocab_size: int, blocked_ids: Iterable[int] = (), memories: Memories | None = None
) -> Drafter:
    """A drafter by its method's name, with a stream of its own.

    Args:
        name: see `parse_method`.
        vocab_size: width V of the target's scores.
        blocked_ids: image placeholders and padding.
        memories: the stream to continue, for RECAP alone.

    Raises:
        InputError: no such method.
    """
    config = parse_method(name)
    if config is None:
        return OTHERS[name].make(vocab_size, blocked_ids)
    make = RecapDrafter if config.root_fallback == "none" else RootFallbackDrafter
    return make(config, Memories(vocab_size) if memories is None else memories, blocked_ids)
