"""Methods by name: one drafter a file, all behind the seam of `drafters.base`."""

from __future__ import annotations

from collections.abc import Iterable

from recap.config import FUSION_RULES, RecapConfig
from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.drafters.base import Drafter
from recap.drafters.recap import RecapDrafter
from recap.errors import InputError
from recap.memory import Memories

__all__ = ["AutoregressiveDrafter", "Drafter", "RecapDrafter", "make_drafter", "parse_method"]


def parse_method(name: str) -> RecapConfig | None:
    """The configuration that a method's name stands for; None for plain decoding (`ar`).

    `recap`, or an ablation such as `recap-uniform`, with `@N` for N draft nodes: `recap@16`, `recap-back-off@63`.

    Raises:
        InputError: no such method.
    """
    if name == "ar":
        return None
    rule, _, nodes = name.partition("@")
    rule = rule.removeprefix("recap-") if rule != "recap" else rule
    if not name.startswith("recap") or rule not in FUSION_RULES or (nodes and not nodes.isdecimal()) or name.endswith("@"):
        known = ", ".join(["ar", "recap", *(f"recap-{rule}" for rule in FUSION_RULES if rule != "recap")])
        raise InputError(f"There is no method called {name!r}. Use one of {known}, with @N for N draft nodes.")
    try:
        return RecapConfig(fusion=rule, **({"max_nodes": int(nodes)} if nodes else {}))
    except ValueError as error:
        raise InputError(f"The method {name!r} cannot be used: {error}.") from error


def make_drafter(
    name: str, vocab_size: int, blocked_ids: Iterable[int] = (), memories: Memories | None = None
) -> Drafter:
    """A drafter by its method's name, with a stream of its own unless `memories` is given.

    Args:
        name: see `parse_method`.
        vocab_size: width V of the target's scores.
        blocked_ids: image placeholders and padding.
        memories: the stream to continue.

    Raises:
        InputError: no such method.
    """
    config = parse_method(name)
    if config is None:
        return AutoregressiveDrafter()
    return RecapDrafter(config, Memories(vocab_size) if memories is None else memories, blocked_ids)
