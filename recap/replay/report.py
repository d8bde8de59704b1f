"""From counts to figures: ratios with bootstrap intervals over pictures, as JSON-ready values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from recap.errors import TraceError
from recap.events import Run, Trace
from recap.memory import SOURCES
from recap.replay.counts import POLICIES, Counts, count_passes, count_states, count_weights
from recap.replay.passes import replay_passes
from recap.replay.trajectory import read_trajectory, recorded_config

SCHEMA = 1
#: Resamples of pictures, as in Appendix B.
NUM_RESAMPLES = 2000


def find_run(trace: Trace, name: str | None) -> Run:
    """The run of that name, or the first that was recorded with its memories.

    Raises:
        TraceError: there is none.
    """
    for run in trace.runs:
        if run.rows and (name is None or run.name == name):
            return run
    asked = f"run {name!r}" if name else "run"
    raise TraceError(
        f"The trace {trace.title!r} has no {asked} that was recorded with memories; "
        f"it has {', '.join(run.name for run in trace.runs)}."
    )


def count_run(trace: Trace, run: Run) -> Counts:
    """All sums of one recorded run."""
    trajectory = read_trajectory(trace, run)
    counts = count_states(trajectory)
    for replayed in replay_passes(trajectory, run, recorded_config(run)):
        counts.update(count_passes(trajectory, replayed))
    counts.update(count_weights(run))
    return counts


def build_report(traces: Sequence[Trace], run_name: str | None = None) -> dict[str, Any]:
    """The whole report. Raises TraceError for a trace without a run to replay."""
    by_picture: dict[str, Counts] = {}
    names: Counter[str] = Counter()
    for trace in traces:
        run = find_run(trace, run_name)
        names[run.name] += 1
        picture = trace.request.image.thumbnail if trace.request.image else f"none: {trace.title}"
        by_picture.setdefault(picture, Counter()).update(count_run(trace, run))
    ratio = Ratios(list(by_picture.values()))
    total = ratio.total
    return {
        "schema": SCHEMA,
        "kind": "replay",
        "num_traces": len(traces),
        "num_pictures": len(by_picture),
        "num_states": total["own/states"],
        "num_stand_ins": total["stand_ins"],
        "runs": dict(names),
        "models": sorted({trace.model for trace in traces}),
        "passes": {
            "num_passes": total["passes"],
            "num_replayed": total["replayed"],
            "same_tree": ratio("same_tree", "replayed"),
            "same_accepted_length": ratio("same_accepted", "replayed"),
            "mean_accepted_tokens": ratio("accepted", "replayed"),
        },
        "memories": {
            kind: {
                source: {
                    "coverage": ratio(f"{prefix}/{source}/covered", f"{prefix}/states"),
                    "recall_at_8": ratio(f"{prefix}/{source}/hit", f"{prefix}/{source}/covered"),
                    "all_query_recall_at_8": ratio(f"{prefix}/{source}/hit", f"{prefix}/states"),
                }
                for source in reversed(SOURCES)
            }
            for kind, prefix in (("own_states", "own"), ("as_the_run_had_them", "run"))
        },
        "policies": {
            name: {
                "matched_length": ratio(f"matched/{name}", "own/states"),
                "all_query_recall_at_8": ratio(f"rule/{name}/hit", "own/states"),
            }
            for name in POLICIES
        },
        "mean_equal_nodes": ratio("nodes", "own/states"),
        "disputed": {
            "share": ratio("disputed", "own/states"),
            **{
                name: {f"recall_at_{k}": ratio(f"disputed/{name}/hit{k}", f"disputed{per}") for k in (1, 8)}
                for name, per in [
                    *((source, f"/{source}") for source in reversed(SOURCES)),
                    *((name, "") for name in POLICIES if name != "U"),
                ]
            },
            # Table 16: the two are compared at the same states, so their difference has an interval of its own.
            "recap_over_hard_gate": {
                f"recall_at_{k}": ratio(f"disputed/gain/hit{k}", "disputed") for k in (1, 8)
            },
        },
        "weights": {
            str(number): {
                "calls": total[f"calls/{number}"],
                "mean": [
                    ratio(f"weight/{number}/{rank}", f"calls/{number}")["value"] for rank in range(number)
                ],
            }
            for number in (2, 3)
        },
    }


class Ratios:
    """Ratios of two sums, each with a 95 % interval from resampling pictures with replacement (Appendix B).

    Attributes:
        total: the sums over all pictures.
    """

    def __init__(self, by_picture: Sequence[Counts]) -> None:
        self.total: Counts = Counter()
        for counts in by_picture:
            self.total.update(counts)
        self._by_picture = by_picture
        number = len(by_picture)
        rng = np.random.default_rng(0)
        #: How often each picture was drawn: [num_resamples, num_pictures].
        self._draws = rng.multinomial(number, np.full(number, 1 / number), NUM_RESAMPLES)

    def __call__(self, part: str, whole: str) -> dict[str, float | None]:
        """`value`, `low` and `high`; None where nothing was counted, or where one picture gives no interval."""
        if not self.total[whole]:
            return {"value": None, "low": None, "high": None}
        low = high = None
        if len(self._by_picture) > 1:
            parts, wholes = (
                self._draws @ np.array([counts[name] for counts in self._by_picture], np.float64)
                for name in (part, whole)
            )
            drawn = wholes > 0
            low, high = np.percentile(parts[drawn] / wholes[drawn], [2.5, 97.5]).tolist()
        return {"value": self.total[part] / self.total[whole], "low": low, "high": high}
