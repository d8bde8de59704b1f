"""The models that the page offers: each is loaded when first asked for, and kept while there is room for it."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from demo import texts
from demo.limits import AUTO_NODES
from recap.errors import ModelError, NotEnoughMemoryError, RecapError

#: `away`: not in memory; it is loaded when somebody asks for it.
ModelState = Literal["none", "away", "loading", "ready", "failed"]
#: Makes a target; told whether it may take whatever memory there is, as no other model is held.
Loader = Callable[[bool], Any]

_log = logging.getLogger(__name__)


def make_ready(target: Any) -> None:
    """Warm a loaded target up for fixed budgets and for the page's own, which has the cost of its passes measured."""
    # with torch, which is imported after the page opens
    from recap.targets.loading import warm_up

    warm_up(target)
    with suppress(ModelError):  # one that cannot check guesses tells it to whoever asks for a run
        warm_up(target, [f"recap@{AUTO_NODES}"])


class Models:
    """The models that the operator allows, by name. One thread loads; any may ask how it goes.

    Attributes:
        names: what can be asked for, the page's first choice first; empty for a page without a model.
    """

    def __init__(self, loaders: Mapping[str, Loader]) -> None:
        """A loader may raise ModelError, whose sentence is shown; NotEnoughMemoryError makes the others give way."""
        self.names = tuple(loaders)
        self._loaders = dict(loaders)
        self._held: dict[str, Any] = {}
        self._failures: dict[str, str] = {}
        self._loading = self.first  # the page opens, and begins with it
        self._started = time.monotonic()

    @property
    def first(self) -> str:
        """The name of the model that the page begins with; empty where there is none."""
        return self.names[0] if self.names else ""

    def state(self, name: str) -> ModelState:
        """How it stands with one model."""
        if name not in self._loaders:
            return "none"
        if name in self._held:
            return "ready"
        if name == self._loading:
            return "loading"
        return "failed" if name in self._failures else "away"

    def sentence(self, name: str) -> str:
        """The state in one sentence; empty where there is nothing to say."""
        sentences = {
            "none": texts.NO_MODEL,
            "loading": self.loading_sentence,
            "failed": self._failures.get(name, ""),
        }
        return sentences.get(self.state(name), "")

    @property
    def loading_sentence(self) -> str:
        """Told while some model is loaded, for which everybody waits; empty otherwise."""
        seconds = int(time.monotonic() - self._started)
        return texts.model_loading(seconds) if self._loading else ""

    def load(self, name: str) -> Any:
        """The model's target, loaded now if it is not held. For the thread that makes the runs.

        Other models are given up where there is no room beside them; they are loaded again when somebody asks.

        Raises:
            ModelError: it cannot be loaded; the others that were held still are, unless they had to make room.
        """
        if name in self._held:
            return self._held[name]
        self._started, self._loading = time.monotonic(), name
        try:
            self._held[name] = self._load_beside_others(name)
        except Exception as error:  # whatever happens here, the page goes on with the other models
            self._failures[name] = sentence_of(error, texts.MODEL_FAILED)
            raise ModelError(self._failures[name]) from error
        finally:
            self._loading = ""
        self._failures.pop(name, None)
        return self._held[name]

    def _load_beside_others(self, name: str) -> Any:
        load = self._loaders[name]
        if self._held:
            try:
                return load(False)
            except NotEnoughMemoryError:
                self._give_up_all()
        return load(True)

    def _give_up_all(self) -> None:
        self._held.clear()
        gc.collect()  # a model's modules know each other
        import torch  # here: the page opens before it is imported, and whoever held a model has it already

        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def sentence_of(error: Exception, otherwise: str) -> str:
    """What to tell people of an error: its own sentence, or `otherwise` where it was not foreseen, which is logged."""
    if isinstance(error, RecapError):
        return str(error)
    _log.error("Unexpected failure", exc_info=error)
    return otherwise
