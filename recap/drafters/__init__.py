"""Methods by name: one drafter a file, all behind the seam of `drafters.base`."""

from __future__ import annotations

from collections.abc import Iterable

from recap.budget import CostCurve
from recap.config import RecapConfig
from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.drafters.base import Drafter
from recap.drafters.methods import METHODS, OTHERS, method_table, takes_nodes, variant_settings
from recap.drafters.recap import RecapDrafter
from recap.drafters.recap_auto import RecapAutoDrafter
from recap.drafters.root_fallback import RootFallbackDrafter
from recap.errors import InputError
from recap.memory import Memories
from recap.targets.base import Target

__all__ = [
    "AUTO",
    "METHODS",
    "AutoregressiveDrafter",
    "Drafter",
    "RecapDrafter",
    "make_drafter",
    "method_table",
    "open_drafter",
    "parse_method",
    "takes_nodes",
]

#: Behind `@`: the budget follows the cost of a pass.
AUTO = "auto"


def parse_method(name: str) -> RecapConfig | None:
    """The configuration that a method's name stands for; None for methods other than RECAP.

    `METHODS` lists the names. RECAP's may be joined (see `variant_settings`). They take `@N` for N draft nodes,
    `recap@16` or `recap-back-off@63`, or `@auto` for as many of 63 as are worth their time, but those with a budget of
    their own.

    Raises:
        InputError: no such method.
    """
    if name in OTHERS:
        return None
    variant, at, nodes = name.partition("@")
    settings = variant_settings(variant)
    if settings is None or (at and not (takes_nodes(variant) and (nodes.isdecimal() or nodes == AUTO))):
        known = ", ".join(METHODS)
        raise InputError(
            f"There is no method called {name!r}. Use one of {known}, with @N for N draft nodes or @auto behind a "
            "recap name that holds no number. Recap names that change different settings may be joined, as in "
            "recap-no-confidence+fixed."
        )
    try:
        budget = {"follows_cost": True} if nodes == AUTO else {"max_nodes": int(nodes)} if at else {}
        return RecapConfig(**settings, **budget)
    except ValueError as error:
        raise InputError(f"The method {name!r} cannot be used: {error}.") from error


def open_drafter(target: Target, method: str | RecapConfig, memories: Memories | None = None) -> Drafter:
    """A drafter for a target; what its passes cost is measured if the method asks. See `make_drafter`."""
    config = method if isinstance(method, RecapConfig) else parse_method(method)
    cost = target.cost_curve if config is not None and config.follows_cost else None
    return make_drafter(method, target.vocab_size, target.blocked_ids, memories, cost)


def make_drafter(
    method: str | RecapConfig,
    vocab_size: int,
    blocked_ids: Iterable[int] = (),
    memories: Memories | None = None,
    cost: CostCurve | None = None,
) -> Drafter:
    """A drafter by its method's name or RECAP's settings, with a stream of its own.

    Args:
        method: a name, see `parse_method`; or settings of RECAP.
        vocab_size: width V of the target's scores.
        blocked_ids: image placeholders and padding.
        memories: the stream to continue, for RECAP alone.
        cost: what a pass of the target costs; `@auto` needs it.

    Raises:
        InputError: no such method.
        ValueError: `@auto` without a cost, or a stream of another width.
    """
    config = method if isinstance(method, RecapConfig) else parse_method(method)
    if config is None:
        return OTHERS[method].make(vocab_size, blocked_ids)
    memories = Memories(vocab_size) if memories is None else memories
    if memories.vocab_size != vocab_size:
        raise ValueError(
            f"memories must be as wide as the target's scores, vocab_size={vocab_size}; "
            f"got vocab_size={memories.vocab_size} (a tokenizer may know fewer ids than there are scores)"
        )
    if config.follows_cost:
        if cost is None:
            raise ValueError(
                f"cost must be given for methods with @{AUTO}; got cost=None (method {method!r})"
            )
        return RecapAutoDrafter(config, memories, blocked_ids, cost)
    make = RecapDrafter if config.root_fallback == "none" else RootFallbackDrafter
    return make(config, memories, blocked_ids)
