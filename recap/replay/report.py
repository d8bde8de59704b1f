"""From counts to figures: ratios with bootstrap intervals over pictures, as JSON-ready values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from recap.errors import TraceError
from recap.events import Run, Trace
from recap.memory import SOURCES
from recap.replay.counts import POLICIES, Counts, count_passes, count_states, count_weights
from recap.replay.passes import replay_passes
from recap.replay.prompt_seeded import count_seeded_states
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
    counts.update(count_seeded_states(trajectory, run))
    for replayed in replay_passes(trajectory, run, recorded_config(run)):
        counts.update(count_passes(trajectory, replayed))
    counts.update(count_weights(run))
    return counts


def build_report(traces: Iterable[Trace], run_name: str | None = None) -> dict[str, Any]:
    """The whole report; traces are taken one at a time, as a folder of them may not fit the memory.

    Raises TraceError for a trace without a run to replay.
    """
    by_picture: dict[str, Counts] = {}
    names: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for trace in traces:
        run = find_run(trace, run_name)
        names[run.name] += 1
        models[trace.model] += 1
        picture = trace.request.image.thumbnail if trace.request.image else f"none: {trace.title}"
        by_picture.setdefault(picture, Counter()).update(count_run(trace, run))
    ratio = Ratios(list(by_picture.values()))
    total = ratio.total
    return {
        "schema": SCHEMA,
        "kind": "replay",
        "num_traces": models.total(),
        "num_pictures": len(by_picture),
        "num_states": total["own/states"],
        "num_stand_ins": total["stand_ins"],
        "runs": dict(names),
        "models": sorted(models),
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
        "disputed": _disputed(ratio, ""),
        "prompt_seeded": _prompt_seeded(ratio),
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


def _disputed(ratio: Ratios, prefix: str) -> dict[str, Any]:
    """Recall where the rows found name different first tokens (Figure 7, Table 16)."""

    def recalls(name: str, whole: str) -> dict[str, Any]:
        return {
            f"recall_at_{k}": ratio(f"{prefix}disputed/{name}/hit{k}", f"{prefix}{whole}") for k in (1, 8)
        }

    return {
        "share": ratio(f"{prefix}disputed", "own/states"),
        **{source: recalls(source, f"disputed/{source}") for source in reversed(SOURCES)},
        **{name: recalls(name, "disputed") for name in POLICIES if name != "U"},
        # The two are compared at the same states, so their difference has an interval of its own.
        "recap_over_hard_gate": recalls("gain", "disputed"),
    }


def _prompt_seeded(ratio: Ratios) -> dict[str, Any]:
    """What is counted where U starts with the prompt's rows; recalls are shares, lengths are in tokens."""
    return {
        # Table 14
        "rules": {
            name: {
                "all_query_recall_at_8": ratio(f"seeded/rule/{name}/hit", "own/states"),
                "over_no_confidence": ratio(f"seeded/rule/{name}/gain", "own/states"),
            }
            for name in POLICIES
        },
        "disputed": _disputed(ratio, "seeded/"),
        # Section 5.2: states where both have a row
        "trigram_over_unigram": {
            "share": ratio("seeded/both", "own/states"),
            **{source: ratio(f"seeded/both/{source}/hit", "seeded/both") for source in ("U", "G")},
            "gain": ratio("seeded/both/gain", "seeded/both"),
        },
        # Table 7
        "suffix": {
            "fusion": ratio("seeded/matched/fusion", "own/states"),
            "fusion_and_suffix": ratio("seeded/matched/suffix", "own/states"),
            "gain": ratio("seeded/suffix/gain", "own/states"),
            "new_first_tokens": ratio("seeded/suffix/new_first", "own/states"),
            "mean_equal_nodes": ratio("seeded/suffix/nodes", "own/states"),
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
