"""A stopped benchmark as a file beside its report: the finished units, and every stream as it stood after them."""

from __future__ import annotations

import itertools
import json
import os
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recap.bench.report import UnitResult
from recap.bench.shards import read_report
from recap.bench.workload import Conversation
from recap.errors import InputError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a run needs to go on.

    Attributes:
        plan: all that must be equal for the units to belong together: questions, methods, model's name, settings.
        weights: fingerprint of the model's weights, which may have changed under the same name; "" where it has none.
        results: those of all finished units.
        num_units_done: units measured or given up, from the start of the stream.
        history: (question, answer) turns of the conversation in progress.
        lost: why its later turns cannot be asked, or None.
        method_states: what each method keeps across requests, by name.
    """

    plan: tuple[Any, ...]
    weights: str
    results: tuple[UnitResult, ...]
    num_units_done: int
    history: tuple[tuple[str, str], ...]
    lost: str | None
    method_states: dict[str, Any]


def checkpoint_path(report: Path) -> Path:
    """Where the checkpoint of a report lies."""
    return report.with_name(report.name + ".partial")


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write it whole or not at all: a run may be killed at any moment."""
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        pickle.dump(checkpoint, file, protocol=pickle.HIGHEST_PROTOCOL)
    os.replace(beside, path)


def load_checkpoint(path: Path, plan: tuple[Any, ...]) -> Checkpoint | None:
    """The checkpoint of the same plan; None where there is none.

    Raises:
        InputError: the file is not a checkpoint, or one of another plan.
    """
    if not path.exists():
        return None
    advice = "remove it, or start without --resume"
    try:
        with path.open("rb") as file:
            checkpoint = _RecordUnpickler(file).load()
    # A damaged or foreign pickle can raise nearly anything.
    except Exception as error:
        raise InputError(f"{path} cannot be read as a stopped benchmark; {advice}.") from error
    if not isinstance(checkpoint, Checkpoint) or checkpoint.plan != plan:
        raise InputError(f"{path} was stopped with other questions, methods or settings; {advice}.")
    return checkpoint


def read_finished_report(
    path: Path, settings: Mapping[str, Any], conversations: Iterable[Conversation], methods: Iterable[str]
) -> dict[str, Any]:
    """The report that lies where a run without a checkpoint is to go on: whole, and of the same settings and units.

    Raises:
        InputError: no report, one of another plan, or one of a stopped run, which lacks the memories to go on with.
    """
    report = read_report(path)
    advice = "name another file, or start without --resume"
    if report["settings"] != json.loads(json.dumps(settings)):
        raise InputError(f"{path} was measured with other questions, methods or settings; {advice}.")
    turns = [(talk.id, turn) for talk in conversations for turn in range(1, len(talk.turns) + 1)]
    wanted = {(*turn, method) for turn, method in itertools.product(turns, methods)}
    if {(unit["id"], unit["turn"], unit["method"]) for unit in report["units"]} != wanted:
        gone = checkpoint_path(path).name
        raise InputError(
            f"{path} is of a stopped run, and {gone}, from where it could go on, is gone; {advice}."
        )
    return report


#: What a drafter from elsewhere may keep its state in, and the defaults of a `defaultdict`.
_CONTAINERS = {
    *(("collections", name) for name in ("OrderedDict", "deque", "Counter", "defaultdict")),
    *(("builtins", name) for name in ("int", "float", "list", "dict", "set", "frozenset", "tuple")),
}


class _RecordUnpickler(pickle.Unpickler):
    """Reads this project's records and numpy arrays, and refuses whatever else a pickle could name and call."""

    def find_class(self, module: str, name: str) -> Any:
        """The class, or UnpicklingError for one that no checkpoint holds.

        A dotted name would reach through a module for what it imports; of our own modules only their classes are meant.
        """
        is_array = module.startswith("numpy") and name in (
            "ndarray",
            "dtype",
            "_reconstruct",
            "_frombuffer",
            "scalar",
        )
        is_container = (module, name) in _CONTAINERS
        is_path = module.startswith("pathlib") and name in ("PosixPath", "WindowsPath", "Path")
        if is_array or is_container or is_path:
            return super().find_class(module, name)
        if module.startswith("recap.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a checkpoint")
