"""From measured units to the report: figures per method and topic, the JSON and the Markdown table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from statistics import mean
from typing import Any

import numpy as np

from recap.events import StageSeconds

SCHEMA = 1
#: The name of the reference that every ratio is taken against.
REFERENCE = "ar"


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One method on one turn. All fields but `stage_seconds` are the JSON's, in its order.

    `tokens` counts output ids, the end token included. `seconds` covers image encoding, prefill and decoding; over
    repeats it is the median, as are `ratio` (Eq. 9's r against plain decoding in the same repeat) and `decode_ratio`
    (that of the passes alone). What a method does not tell is None (an outside peer's passes and prefill); of a failed
    unit only `error`, a sentence, is there. `num_draft_nodes` and `stage_seconds` (float64 [num_passes, num_stages], in
    the order of `StageSeconds`) are of all passes of the first repeat; `memory_rows` counts the rows of U after it.
    """

    id: str
    turn: int
    topic: str
    method: str
    tokens: int | None = None
    passes: int | None = None
    seconds: float | None = None
    prefill_seconds: float | None = None
    ratio: float | None = None
    acceptance_length: float | None = None
    identical: bool | None = None
    error: str | None = None
    num_draft_nodes: int | None = None
    memory_rows: int | None = None
    decode_ratio: float | None = None
    stage_seconds: np.ndarray | None = field(default=None, compare=False)  # an array is stored in no time


#: Names of a pass's stages.
STAGES = tuple(stage.name for stage in fields(StageSeconds))
UNIT_KEYS = tuple(key.name for key in fields(UnitResult) if key.name != "stage_seconds")


def build_report(
    results: Sequence[UnitResult], environment: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """The whole report as JSON-ready values; method and topic order is that of their first unit."""
    methods = {}
    for method in dict.fromkeys(result.method for result in results):
        own = [result for result in results if result.method == method]
        topics = dict.fromkeys(result.topic for result in own)
        methods[method] = {
            "overall": summarise(own, results),
            "topics": {topic: summarise([r for r in own if r.topic == topic], results) for topic in topics},
            "stage_ms": _stage_medians(own),
        }
    units = [{key: getattr(result, key) for key in UNIT_KEYS} for result in results]
    return {
        "schema": SCHEMA,
        "environment": environment,
        "settings": settings,
        "methods": methods,
        "units": units,
    }


def summarise(own: Sequence[UnitResult], results: Iterable[UnitResult]) -> dict[str, Any]:
    """Figures of one method over some units; null where no unit tells.

    Args:
        own: the method's units.
        results: all results, where plain decoding's of the same units are found. Figures against plain decoding are
            over the units in which both succeeded.
    """
    references = {(r.id, r.turn): r for r in results if r.method == REFERENCE and r.error is None}
    done = [unit for unit in own if unit.error is None]
    pairs = [(unit, references[unit.id, unit.turn]) for unit in done if (unit.id, unit.turn) in references]
    ratios = [unit.ratio for unit in done if unit.ratio is not None]
    decode_ratios = [unit.decode_ratio for unit in done if unit.decode_ratio is not None]
    with_passes = [unit for unit in done if unit.passes]
    num_passes = sum(unit.passes or 0 for unit in done)
    seconds = sum(unit.seconds or 0.0 for unit in done)
    timed_prefill = [unit for unit in done if unit.prefill_seconds is not None]
    p10, p50, p90 = np.percentile(ratios, [10, 50, 90]).tolist() if ratios else (None, None, None)
    return {
        "num_units": len(own),
        "num_failed": len(own) - len(done),
        "num_without_pass": sum(unit.passes == 0 for unit in done),  # left out of the acceptance length
        "speedup": _mean(ratios),
        "speedup_of_totals": _speedup_of_totals(pairs),
        "decode_speedup": _mean(decode_ratios),
        "prefill_share": (
            sum(u.prefill_seconds or 0.0 for u in timed_prefill)
            / sum(u.seconds or 0.0 for u in timed_prefill)
            if timed_prefill
            else None
        ),
        "p10": p10,
        "p50": p50,
        "p90": p90,
        "acceptance_length": _mean(
            [u.acceptance_length for u in with_passes if u.acceptance_length is not None]
        ),
        "tokens_per_second": sum(unit.tokens or 0 for unit in done) / seconds if seconds else None,
        "identical_to_ar": _mean([float(unit.identical) for unit in done if unit.identical is not None]),
        "passes": num_passes or None,
        "mean_nodes": sum(u.num_draft_nodes or 0 for u in with_passes) / num_passes if num_passes else None,
    }


def to_markdown(report: dict[str, Any]) -> str:
    """The report as Markdown: where it was measured, one table over all topics, then speedup by topic."""
    settings, environment = report["settings"], report["environment"]
    names = list(report["methods"])
    topics = list(dict.fromkeys(topic for name in names for topic in report["methods"][name]["topics"]))
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("speedup", "S", _times),
        ("speedup_of_totals", "of totals", _times),
        ("decode_speedup", "decode only", _times),
        ("p10", "P10", _times),
        ("p90", "P90", _times),
        ("acceptance_length", "τ", lambda value: f"{value:.2f}"),
        ("mean_nodes", "nodes", lambda value: f"{value:.1f}"),
        ("tokens_per_second", "tokens/s", lambda value: f"{value:.1f}"),
        ("identical_to_ar", "same text", lambda value: f"{value:.1%}"),
        ("num_units", "units", str),
        ("num_failed", "failed", str),
        ("num_without_pass", "no pass", str),
    ]
    overall = [
        [name, *(_cell(report["methods"][name]["overall"][key], form) for key, _, form in columns)]
        for name in names
    ]
    by_topic = [
        [name, *(_cell(report["methods"][name]["topics"].get(t, {}).get("speedup"), _times) for t in topics)]
        for name in names
    ]
    facts = (
        f"Model {settings['model']}, {environment['dtype']} on {environment['device']} "
        f"({environment['num_threads']} threads), torch {environment['torch_version']}, transformers "
        f"{environment['transformers_version']}; at most {settings['max_new_tokens']} new tokens, repeats: "
        f"{settings['repeats']}, U reset: {settings['reset_u']}.{_streams(settings)}{_stopped(report)}"
    )
    legend = (
        "S: mean of the units' throughput ratios against plain decoding, prefill included; P10, P90: of these ratios. "
        "Of totals: all tokens over all seconds. Decode only: without prefill and its token. τ: tokens gained a pass, "
        "the target-selected one included. Nodes: mean draft nodes a pass. A unit is a turn."
    )
    return "\n\n".join(
        [
            facts,
            markdown_table(["method", *(title for _, title, _ in columns)], overall),
            legend,
            "Speedup S by topic:",
            markdown_table(["method", *topics], by_topic),
            "",
        ]
    )


def _streams(settings: dict[str, Any]) -> str:
    """What has to be said where the workload was not one stream."""
    if settings.get("shard"):
        return f" Shard {settings['shard']}, a stream of its own."
    if settings.get("num_streams"):
        return f" Merged from {settings['num_streams']} shards, each a stream of its own."
    return ""


def _stopped(report: dict[str, Any]) -> str:
    """What has to be said where a run was stopped before its end."""
    num_done = len({(unit["id"], unit["turn"]) for unit in report["units"]})
    num_units = report["settings"].get("num_units", num_done)
    return f" Stopped after {num_done} of {num_units} units." if num_done < num_units else ""


def _speedup_of_totals(pairs: Sequence[tuple[UnitResult, UnitResult]]) -> float | None:
    if not pairs:
        return None
    rates = [
        sum(result.tokens or 0 for result in side) / sum(result.seconds or 0.0 for result in side)
        for side in zip(*pairs, strict=True)
    ]
    return rates[0] / rates[1]


def _stage_medians(own: Sequence[UnitResult]) -> dict[str, float]:
    """Median milliseconds of one pass by stage; empty for a method whose stages are not timed."""
    passes = [unit.stage_seconds for unit in own if unit.stage_seconds is not None]
    if not sum(map(len, passes)):
        return {}
    return dict(zip(STAGES, (1000 * np.median(np.concatenate(passes), axis=0)).tolist(), strict=True))


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None


def _times(value: float) -> str:
    return f"{value:.2f}×"


def _cell(value: Any, form: Callable[[Any], str]) -> str:
    return "–" if value is None else form(value)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, all columns but the first one to the right."""
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))
