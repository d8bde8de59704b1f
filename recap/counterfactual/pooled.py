"""Figures over many questions, as the paper pools them (Appendix E): every topic weighs the same.

An interval resamples pictures within each topic, 10,000 times; all questions about a picture are drawn together.
Quintiles are made within a topic, and stay as they are in the resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recap.counterfactual.diagnosis import (
    LENGTH_GROUPS,
    NUM_QUINTILES,
    ROW_SOURCES,
    length_group,
    support_quintiles,
)
from recap.counterfactual.question import Diagnosis
from recap.replay.counts import Counts

NUM_RESAMPLES = 10_000


class Diagnosed(NamedTuple):
    """A diagnosis and where it belongs: its topic, and the picture by which questions are drawn together."""

    topic: str
    picture: str
    diagnosis: Diagnosis


def pooled_figures(diagnosed: Sequence[Diagnosed]) -> dict[str, Any]:
    """The three figures of `single_report` over all questions; each value is `{value, low, high}`."""
    ratio = TopicRatios(count_topics(diagnosed))
    total = ratio.total
    return {
        "by_accepted_length": {
            group: {
                "num_roots": total[f"length/{group}/roots"],
                "change_rate": ratio(f"length/{group}/changes", f"length/{group}/roots"),
                "dependence": ratio(f"length/{group}/dependence", f"length/{group}/roots"),
            }
            for group in LENGTH_GROUPS
        },
        "by_relative_support": [
            {
                "num_roots": total[f"quintile/{index}/roots"],
                **{
                    name: ratio(f"quintile/{index}/{name}", f"quintile/{index}/roots")
                    for name in ("relative_support", "contextual_share", "contextual_gain")
                },
            }
            for index in range(NUM_QUINTILES)
            if total[f"quintile/{index}/roots"]
        ],
        "row_pictures": {
            name: {
                "num_states": total[f"rows/{name}/covered"],
                **{
                    kind: ratio(f"rows/{name}/{kind}", f"rows/{name}/covered")
                    for kind in ("matching", "swapped", "gain")
                },
            }
            for name in ROW_SOURCES
        },
    }


def count_topics(diagnosed: Iterable[Diagnosed]) -> dict[str, dict[str, Counts]]:
    """Sums by topic and picture."""
    topics: dict[str, list[Diagnosed]] = {}
    for one in diagnosed:
        topics.setdefault(one.topic, []).append(one)
    return {topic: _count_pictures(group) for topic, group in topics.items()}


def _count_pictures(group: Sequence[Diagnosed]) -> dict[str, Counts]:
    counts: dict[str, Counts] = {one.picture: Counter() for one in group}
    # By identity: equal roots of two pictures are two roots.
    picture_of = {id(root): one.picture for one in group for root in one.diagnosis.roots}
    for one in group:
        own = counts[one.picture]
        for root in one.diagnosis.roots:
            name = f"length/{length_group(root)}"
            own.update({f"{name}/roots": 1, f"{name}/changes": int(root.changes)})
            own[f"{name}/dependence"] += root.dependence
        rows = one.diagnosis.row_counts
        own.update({f"rows/{name}": count for name, count in rows.items()})
        for name in ROW_SOURCES:
            own[f"rows/{name}/gain"] += rows[f"{name}/matching"] - rows[f"{name}/swapped"]
    roots = [root for one in group for root in one.diagnosis.roots]
    for index, quintile in enumerate(support_quintiles(roots)):
        for root in quintile:
            own = counts[picture_of[id(root)]]
            own[f"quintile/{index}/roots"] += 1
            for name in ("relative_support", "contextual_share", "contextual_gain"):
                own[f"quintile/{index}/{name}"] += getattr(root, name)
    return counts


class TopicRatios:
    """Ratios of two sums: each topic's own, and of these the mean, over the topics that have any.

    Attributes:
        total: the sums over everything.
    """

    def __init__(self, topics: Mapping[str, Mapping[str, Counts]]) -> None:
        """`topics`: sums by topic and picture."""
        self._topics = [list(pictures.values()) for pictures in topics.values()]
        self.total: Counts = Counter()
        for pictures in self._topics:
            for counts in pictures:
                self.total.update(counts)
        rng = np.random.default_rng(0)
        #: For each topic how often each of its pictures was drawn: [num_resamples, num_pictures].
        self._draws = [
            rng.multinomial(len(pictures), np.full(len(pictures), 1 / len(pictures)), NUM_RESAMPLES)
            for pictures in self._topics
        ]

    def __call__(self, part: str, whole: str) -> dict[str, float | None]:
        """`value` and a 95 % interval `low` to `high`; None where nothing was counted or could be resampled."""
        if not self.total[whole]:
            return {"value": None, "low": None, "high": None}
        value = self._mean([np.ones((1, len(pictures))) for pictures in self._topics], part, whole)[0]
        low = high = None
        if any(len(pictures) > 1 for pictures in self._topics):
            drawn = self._mean(self._draws, part, whole)
            low, high = np.percentile(drawn[~np.isnan(drawn)], [2.5, 97.5]).tolist()
        return {"value": float(value), "low": low, "high": high}

    def _mean(self, draws: Sequence[np.ndarray], part: str, whole: str) -> np.ndarray:
        """Mean over topics of part / whole, [num_resamples]; NaN in a resample that drew nothing."""
        ratios = []
        for drawn, pictures in zip(draws, self._topics, strict=True):
            parts, wholes = (
                drawn @ np.array([counts[name] for counts in pictures], np.float64) for name in (part, whole)
            )
            ratios.append(np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0))
        known = ~np.isnan(ratios)
        number = known.sum(axis=0)
        return np.divide(
            np.where(known, ratios, 0).sum(axis=0), number, out=np.full(len(number), np.nan), where=number > 0
        )
