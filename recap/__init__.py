"""RECAP: training-free speculative decoding of vision-language models with recycled predictions (arXiv 2611.05894).

`load_target` opens a model, `open_drafter` a method (by its name, see `METHODS`, or with your own `RecapConfig`), and
`generate` is the loop; `recap_generate` is the same inside transformers. `RecordedRun` keeps what happened in every
pass; `speedup`, `throughput_ratio` and `acceptance_length` measure its runs. Importing this package loads nothing:
figures and traces are read without torch, and each name below comes from its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "Finished": "recap.events",
    "Iteration": "recap.events",
    "METHODS": "recap.drafters",
    "Memories": "recap.memory",
    "Prefill": "recap.events",
    "RecapConfig": "recap.config",
    "RecordedRun": "recap.recording",
    "Request": "recap.targets.base",
    "Sampler": "recap.sampling",
    "acceptance_length": "recap.metrics",
    "build_trace": "recap.recording",
    "fingerprint": "recap.memory_io",
    "generate": "recap.engine",
    "load_target": "recap.targets.loading",
    "load_trace": "recap.trace_io",
    "load_unigram": "recap.memory_io",
    "make_drafter": "recap.drafters",
    "open_drafter": "recap.drafters",
    "recap_generate": "recap.generation",
    "save_trace": "recap.trace_io",
    "save_unigram": "recap.memory_io",
    "speedup": "recap.metrics",
    "throughput_ratio": "recap.metrics",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
