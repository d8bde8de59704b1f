"""RECAP: training-free speculative decoding of vision-language models with recycled predictions (arXiv 2611.05894).

`load_target` opens a model, `make_drafter` a method, and `generate` is the loop; `recap_generate` is the same inside
transformers. Importing this package loads nothing: figures and traces are read without torch, and each name below comes
from its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "Finished": "recap.events",
    "Memories": "recap.memory",
    "Sampler": "recap.sampling",
    "fingerprint": "recap.memory_io",
    "generate": "recap.engine",
    "load_target": "recap.targets.loading",
    "load_unigram": "recap.memory_io",
    "make_drafter": "recap.drafters",
    "open_drafter": "recap.drafters",
    "recap_generate": "recap.generation",
    "save_unigram": "recap.memory_io",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
