"""What one benchmark measures and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recap.bench.foreign import is_foreign, load_drafter_class
from recap.bench.methods import PEERS
from recap.bench.report import REFERENCE
from recap.drafters import parse_method, takes_nodes
from recap.errors import InputError

ResetU = Literal["never", "request", "topic"]


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Methods and protocol of one benchmark.

    Attributes:
        methods: names as reported, `module:Class` for a drafter from elsewhere; plain decoding is measured first,
            named or not.
        nodes: draft nodes of RECAP methods that do not name a number themselves, or `auto`.
        repeats: how often each unit is measured; its ratio is the median.
        reset_u: when the memories that outlive a request are emptied.
        max_new_tokens: length cap of every answer.

    Raises:
        InputError: an unknown method, or a number out of range.
    """

    methods: tuple[str, ...]
    nodes: int | str = 63
    repeats: int = 1
    reset_u: ResetU = "never"
    max_new_tokens: int = 200

    def __post_init__(self) -> None:
        for name in ("repeats", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)}.")
        for name in self.methods:
            if is_foreign(name):
                load_drafter_class(name)
            elif name not in PEERS:
                parse_method(self.drafter_name(name))

    def drafter_name(self, method: str) -> str:
        """The method's name with its number of nodes: `recap` is `recap@63` unless `nodes` says otherwise."""
        return f"{method}@{self.nodes}" if takes_nodes(method) else method

    @property
    def all_methods(self) -> tuple[str, ...]:
        """The methods named, each once, with plain decoding first."""
        return tuple(dict.fromkeys((REFERENCE, *self.methods)))
