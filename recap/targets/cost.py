"""What a pass of a target costs on this machine, by the number of its rows, and where that is remembered."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from recap.budget import CostCurve
from recap.events import Environment
from recap.memory import Memories
from recap.rows import make_rows
from recap.targets.base import Request, Target
from recap.tree import pack_tree, path_contexts

#: Kernels of a CPU work on eight rows at a time: the ninth costs as much as several before it, so both sides of the
#: steps are timed.
ROWS = (1, 2, 4, 8, 9, 12, 16, 17, 20, 24, 25, 28, 32, 33, 40, 41, 48, 49, 56, 57, 64, 65, 68)
PREFIX_LENGTH = 256
_NUM_REPEATS = 7
#: Passes of one size in each turn; the first one does not count.
_NUM_IN_A_ROW = 3


def measure_pass_seconds(
    target: Target,
    rows: Sequence[int] = ROWS,
    prefix_length: int = PREFIX_LENGTH,
    repeats: int = _NUM_REPEATS,
) -> CostCurve:
    """Time passes over trees of so many rows behind a text of `prefix_length` tokens; rows rising, from 1.

    A pass is verification and the writing of its rows, behind another of its size, as in a run: a single row takes a
    tenth longer behind 68. All counts take turns, so that a busy moment does not bend the curve. The lower quartile
    counts: what else a machine does adds time, and the single fastest pass is a matter of luck (over six measurements,
    its ratio of 16 rows to one varied three times as much).
    """
    token_ids = [token for token in range(target.vocab_size) if token not in target.blocked_ids]
    prompt = np.resize(np.array(token_ids[:64], np.int64), prefix_length)
    decoding = target.prefill(Request(prompt, 1), False, max(rows))
    memories = Memories(target.vocab_size)
    # Binary trees: deep and wide, as drafted ones are.
    trees = [
        pack_tree(
            [token_ids[i % len(token_ids)] for i in range(num_rows)],
            [-1, *((i - 1) // 2 for i in range(1, num_rows))],
        )
        for num_rows in rows
    ]
    seconds = np.empty((repeats, _NUM_IN_A_ROW, len(rows)))
    for repeat in range(repeats):
        for place, tree in enumerate(trees):
            contexts = path_contexts(tree.token_ids, tree.parent_indices, np.int64(-1), np.int64(-1))
            for again in range(_NUM_IN_A_ROW):
                started = time.perf_counter()
                scores = decoding.verify(tree)
                memories.write(contexts, make_rows(scores.top_ids, scores.top_scores))
                seconds[repeat, again, place] = time.perf_counter() - started
    decoding.close()
    quartile = np.quantile(seconds[:, 1:].reshape(-1, len(rows)), 0.25, axis=0)
    return CostCurve(tuple(rows), tuple(quartile.tolist()))


def cost_file(config_text: str, environment: Environment, prefix_length: int) -> Path:
    """Where the curve of a model's shape (`config_text`) is kept: one file a shape, machine, versions,
    prefix and row counts."""
    how = [prefix_length, ROWS, _NUM_IN_A_ROW]
    known = json.dumps([config_text, dataclasses.asdict(environment), *how], sort_keys=True)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "recap-vlm" / f"cost-{hashlib.sha256(known.encode()).hexdigest()[:16]}.json"


def read_curve(path: Path) -> CostCurve | None:
    """The curve kept there; None where there is none, or none that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text("utf-8"))
        rows, seconds = tuple(map(int, kept["rows"])), tuple(map(float, kept["seconds"]))
        if rows[:1] == (1,) and len(rows) == len(seconds) and min(seconds) > 0:
            return CostCurve(rows, seconds)
    return None


def write_curve(path: Path, curve: CostCurve) -> None:
    """Keep a curve, where the machine lets us: it can always be measured again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"rows": curve.rows, "seconds": curve.seconds}) + "\n", "utf-8")
