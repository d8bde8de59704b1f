"""`bench gains`: how much throughput each component of the method adds, paired by input (Eq. 11, Table 4)."""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recap.bench.report import REFERENCE, markdown_table
from recap.bench.shards import read_report
from recap.config import RecapConfig
from recap.drafters import AUTO, parse_method, takes_nodes
from recap.errors import InputError

_NUM_RESAMPLES = 2000


class Comparison(NamedTuple):
    """Two methods that differ in one component.

    Attributes:
        meaning: the component.
        full, reduced: names without `@N`, with the component and without it.
        paper: the paper's gain in per cent (Qwen2.5-VL-7B, A100; Tables 4 and 12), None where it has none.
    """

    meaning: str
    full: str
    reduced: str
    paper: float | None


#: All but its confidence row the paper takes where c = 1, those of copied tokens with these inside the 63 nodes.
COMPARISONS = (
    Comparison(
        "best-first against fixed expansion", "recap-no-confidence", "recap-no-confidence+fixed", 4.90
    ),
    Comparison("back-off against U alone", "recap-back-off", "recap-unigram", 3.03),
    Comparison("uniform fusion against back-off", "recap-uniform", "recap-back-off", 0.75),
    Comparison("priors against uniform fusion", "recap-no-confidence", "recap-uniform", 2.80),
    Comparison("confidence against priors alone", "recap", "recap-no-confidence", 0.73),
    Comparison(
        "suffix insertion against none",
        "recap-no-confidence+budget-63",
        "recap-no-confidence+no-suffix",
        0.61,
    ),
    Comparison(
        "semantic root fallback against none",
        "recap-no-confidence+budget-63+semantic",
        "recap-no-confidence+budget-63",
        -1.46,
    ),
    Comparison(
        "recency root fallback against none",
        "recap-no-confidence+budget-63+recency",
        "recap-no-confidence+budget-63",
        -1.34,
    ),
    # The same components in the method as it is, with its confidence.
    Comparison("best-first against fixed expansion", "recap", "recap-fixed", None),
    Comparison("suffix insertion against none", "recap", "recap-no-suffix", None),
    Comparison("semantic root fallback against none", "recap-semantic", "recap", None),
    Comparison("recency root fallback against none", "recap-recency", "recap", None),
)
#: What keeping U over requests adds where c = 1 (mean of five runs).
PAPER_PERSISTENCE = ("recap-no-confidence", 5.42)


class Gain(NamedTuple):
    """A paired gain, 0.05 for 5 % more throughput; `low` and `high`: 95 % of a bootstrap over inputs, None of one."""

    meaning: str
    full: str
    reduced: str
    num_inputs: int
    gain: float
    low: float | None
    high: float | None
    paper: float | None


def add_command(commands: Any) -> None:
    """The options of `gains`, on argparse's subparsers."""
    parser = commands.add_parser("gains", help="what each component adds, from one report or between two")
    parser.add_argument("report", type=Path, help="what `run --json` wrote, with ablations among its methods")
    parser.add_argument(
        "other",
        type=Path,
        nargs="?",
        help="a report of the same units with another setting, as --reset-u request",
    )
    parser.add_argument("--json", type=Path, help="where the figures go, too")


def run_command(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The command `gains`: its figures and their table. Raises InputError."""
    report = read_report(options.report)
    gains = between_reports(report, read_report(options.other)) if options.other else within_report(report)
    return {"gains": [gain._asdict() for gain in gains]}, to_markdown(gains)


def within_report(report: Mapping[str, Any]) -> list[Gain]:
    """The gain of every comparison whose two methods stand in the report. Raises InputError where none does."""
    found = []
    for comparison in COMPARISONS:
        full_names, reduced_names = (
            [name for name in report["methods"] if name.partition("@")[0] == wanted]
            for wanted in (comparison.full, comparison.reduced)
        )
        for full, reduced in itertools.product(full_names, reduced_names):
            if _budget(report, full) == _budget(report, reduced):
                rates = _rates(report, full), _rates(report, reduced)
                found.append(_gain(comparison.meaning, full, reduced, *rates, comparison.paper))
    if not found:
        pairs = ", ".join(f"{c.full} with {c.reduced}" for c in COMPARISONS)
        raise InputError(f"The report holds no two methods that differ in one component, such as {pairs}.")
    return found


def between_reports(report: Mapping[str, Any], other: Mapping[str, Any]) -> list[Gain]:
    """The gain of every method of `report` over the same method in `other`; the settings that differ are named.

    Each clock is set against plain decoding's in its own report, as two runs may have met two moods of a machine.
    """
    settings, others = report["settings"], other["settings"]
    told = [
        f"{key}={settings.get(key)} against {others.get(key)}"
        for key in sorted({*settings, *others} - {"methods", "questions", "skipped_lines", "environments"})
        if settings.get(key) != others.get(key)
    ]
    paper_name, paper = PAPER_PERSISTENCE
    is_persistence = (settings.get("reset_u"), others.get("reset_u")) == ("never", "request")
    names = [name for name in report["methods"] if name in other["methods"] and name != REFERENCE]
    if not names:
        raise InputError("The two reports hold no method in common beside plain decoding.")
    return [
        _gain(
            ", ".join(told) or "the same settings",
            name,
            name,
            _rates(report, name),
            _rates(other, name),
            paper if is_persistence and name.partition("@")[0] == paper_name else None,
        )
        for name in names
    ]


def to_markdown(gains: Sequence[Gain]) -> str:
    """The gains as a table, the paper's beside."""
    rows = [
        [
            gain.meaning,
            gain.full if gain.full == gain.reduced else f"{gain.full} / {gain.reduced}",
            f"{gain.gain:+.2%}",
            "–" if gain.low is None else f"{gain.low:+.2%} to {gain.high:+.2%}",
            str(gain.num_inputs),
            "–" if gain.paper is None else f"{gain.paper:+.2f}%",
        ]
        for gain in gains
    ]
    header = ["component", "methods", "gain", "95 %", "inputs", "paper, A100"]
    return markdown_table(header, rows)


def _budget(report: Mapping[str, Any], method: str) -> int | str:
    """Draft nodes of a RECAP method: those of its name, or else of the report's settings."""
    nodes = report["settings"].get("nodes", RecapConfig().max_nodes)
    config = parse_method(f"{method}@{nodes}" if takes_nodes(method) else method)
    assert config is not None, method
    return AUTO if config.follows_cost else config.max_nodes


def _rates(report: Mapping[str, Any], method: str) -> dict[tuple[str, int], tuple[float, ...]]:
    """Of each unit (id, turn) that did not fail: the method's tokens and seconds, then plain decoding's."""
    sides: dict[str, dict[tuple[str, int], tuple[float, float]]] = defaultdict(dict)
    for unit in report["units"]:
        if unit["method"] in (method, REFERENCE) and unit["error"] is None and unit["seconds"]:
            sides[unit["method"]][unit["id"], unit["turn"]] = (unit["tokens"], unit["seconds"])
    references = sides[REFERENCE]
    return {key: (*both, *references[key]) for key, both in sides[method].items() if key in references}


def _gain(
    meaning: str,
    full: str,
    reduced: str,
    with_it: Mapping[tuple[str, int], tuple[float, ...]],
    without: Mapping[tuple[str, int], tuple[float, ...]],
    paper: float | None,
) -> Gain:
    """Eq. 11: the turns of an input are pooled, the ratios of the inputs averaged."""
    pooled: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((2, 4)))
    for key in with_it.keys() & without.keys():
        pooled[key[0]] += np.array([with_it[key], without[key]])
    if not pooled:
        raise InputError(f"No unit was answered by both {full} and {reduced}.")
    ratios = []
    for _, sums in sorted(pooled.items()):
        tokens, seconds, plain_tokens, plain_seconds = sums.T
        speedups = (tokens / seconds) / (plain_tokens / plain_seconds)
        ratios.append(speedups[0] / speedups[1])
    low = high = None
    if len(ratios) > 1:
        drawn = np.random.default_rng(0).integers(len(ratios), size=(_NUM_RESAMPLES, len(ratios)))
        means = np.array(ratios)[drawn].mean(axis=1)
        low, high = (np.percentile(means, [2.5, 97.5]) - 1).tolist()
    return Gain(meaning, full, reduced, len(ratios), float(np.mean(ratios)) - 1, low, high, paper)
