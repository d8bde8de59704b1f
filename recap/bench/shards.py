"""One benchmark on several machines: a part of the workload each, and the reports merged.

A shard is a stream of its own: its memories start empty and meet its own conversations only. So persistence has less to
give than in one long stream, and a merged report says of how many streams it was made.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recap.bench.report import SCHEMA, UNIT_KEYS, UnitResult, build_report
from recap.bench.workload import Workload
from recap.errors import InputError

#: Which part of how many, from 1: (2, 4) is the second of four.
Shard = tuple[int, int]

#: Settings in which the shards of one benchmark differ.
_OWN_SETTINGS = ("shard", "num_units", "questions", "skipped_lines")


def parse_shard(text: str) -> Shard:
    """`2/4` as (2, 4). Raises InputError."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise InputError(f"A shard is named i/n with 1 <= i <= n, like 2/4; got {text!r}.")
    return int(index), int(count)


def take_shard(workload: Workload, shard: Shard) -> Workload:
    """Every n-th conversation of each topic, so that all shards have the same mix; the file's order is kept.

    Raises:
        InputError: the shard would be empty.
    """
    index, count = shard
    seen: Counter[str] = Counter()
    kept = []
    for conversation in workload.conversations:
        # Topics start at different shards; else the first shard would get every topic's odd one.
        offset = list(seen).index(conversation.topic) if conversation.topic in seen else len(seen)
        if (seen[conversation.topic] + offset) % count == index - 1:
            kept.append(conversation)
        seen[conversation.topic] += 1
    if not kept:
        raise InputError(
            f"Shard {index}/{count} would be empty: the workload is too small for {count} parts."
        )
    return replace(workload, conversations=tuple(kept))


def read_report(path: Path) -> dict[str, Any]:
    """A report of this schema. Raises InputError."""
    try:
        report = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The report {path} cannot be read: {error}.") from error
    is_report = isinstance(report, dict) and {"settings", "environment", "methods", "units"} <= set(report)
    if not is_report or report.get("schema") != SCHEMA:
        raise InputError(f"{path} is not a benchmark's report of schema {SCHEMA}.")
    return report


def merge_reports(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The reports of all shards as one.

    Every figure is computed anew from the units. Only stage times are not in them: they are the mean of the shards'
    medians, weighted by passes.

    Raises:
        InputError: reports of different benchmarks, a shard that is missing or given twice.
    """
    common = [{k: v for k, v in report["settings"].items() if k not in _OWN_SETTINGS} for report in reports]
    for settings in common[1:]:
        if different := [key for key in common[0] | settings if common[0].get(key) != settings.get(key)]:
            raise InputError(f"The reports differ in {', '.join(different)}; they are not of one benchmark.")
    if not all(settings.get("shard") for settings in (report["settings"] for report in reports)):
        raise InputError(
            "A report is of a whole benchmark and not of a shard of one; merge takes reports of --shard."
        )
    shards = [parse_shard(str(report["settings"]["shard"])) for report in reports]
    count = shards[0][1]
    if sorted(shards) != [(index, count) for index in range(1, count + 1)]:
        named = ", ".join(f"{index}/{of}" for index, of in shards)
        raise InputError(f"Every shard is needed once; got {named}.")
    ordered = [report for _, report in sorted(zip(shards, reports, strict=True), key=lambda pair: pair[0])]
    _check_units(ordered)
    results = [
        UnitResult(**{key: unit.get(key) for key in UNIT_KEYS}) for r in ordered for unit in r["units"]
    ]
    settings = common[0] | {
        "num_streams": count,
        "num_units": sum(report["settings"]["num_units"] for report in ordered),
        "skipped_lines": ordered[0]["settings"]["skipped_lines"],
        "environments": [report["environment"] for report in ordered],
    }
    merged = build_report(results, ordered[0]["environment"], settings)
    for name, method in merged["methods"].items():
        method["stage_ms"] = _mean_stages([report["methods"].get(name) for report in ordered])
    return merged


def _check_units(ordered: Sequence[dict[str, Any]]) -> None:
    """Every shard was measured to its end, and no unit is in two of them."""
    seen: set[tuple[str, int]] = set()
    for index, report in enumerate(ordered, 1):
        units = {(unit["id"], unit["turn"]) for unit in report["units"]}
        num_units = report["settings"]["num_units"]
        if len(units) < num_units:
            raise InputError(
                f"Shard {index}/{len(ordered)} was stopped after {len(units)} of its {num_units} units; "
                "measure the others first, with --resume."
            )
        if twice := seen & units:
            id_, turn = min(twice)
            raise InputError(f"Two shards hold turn {turn} of {id_!r}; they are not of one workload.")
        seen |= units


def _mean_stages(parts: Sequence[dict[str, Any] | None]) -> dict[str, float]:
    timed = [part for part in parts if part and part["stage_ms"]]
    weights = [part["overall"]["passes"] for part in timed]
    if not timed:
        return {}
    return {
        stage: sum(w * part["stage_ms"][stage] for w, part in zip(weights, timed, strict=True)) / sum(weights)
        for stage in timed[0]["stage_ms"]
    }
