"""Everything the browser needs to play a trace, as one JSON-ready dictionary.

Figures and sentences are made here, once, so that the player only chooses what to show. Numbers that people read are
sent as recorded; only coordinates of drawings are rounded. `build_update` sends what a growing run has gained.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from recap import metrics
from recap.config import FUSION_RULES
from recap.events import Run, Trace
from visualize.exactness import exactness_entry
from visualize.origins import output_spans
from visualize.pass_payload import mentioned_ids, pass_entry, sizes_entry, write_entry
from visualize.places import run_bounds
from visualize.run_figures import pass_ends
from visualize.search_settings import search_config, search_entry
from visualize.sentences import is_whole, run_sentence
from visualize.theme import KEYS, LABELS, MARKERS, PALETTES
from visualize.token_forms import TokenForms
from visualize.tree_figure import tree_layout

PAYLOAD_VERSION = 1


def build_payload(trace: Trace) -> dict[str, Any]:
    """The whole trace for the player, ready for `json.dumps`. The same trace always gives the same dictionary."""
    request, forms = trace.request, TokenForms(trace)
    return {
        "version": PAYLOAD_VERSION,
        "title": trace.title,
        "created": trace.created,
        "model": trace.model,
        "request": {
            "question": request.question,
            "num_prompt_tokens": len(request.prompt_ids),
            "max_new_tokens": request.max_new_tokens,
            "image": None if request.image is None else asdict(request.image),
        },
        "tokens": {str(token.id): forms.form(token.id) for token in trace.tokens},
        "theme": {"palettes": PALETTES, "markers": MARKERS, "labels": LABELS, "keys": KEYS},
        "tree_layout": tree_layout([run_bounds([])]),
        "fusion_rules": list(FUSION_RULES),
        "runs": [_run(trace, run) for run in trace.runs],
    }


def build_update(trace: Trace, run_name: str, num_known_passes: int, num_known_rows: int) -> dict[str, Any]:
    """What `run_name` has gained since the counts in the last payload's or update's `known`.

    Raises:
        ValueError: no run of that name.
    """
    run = next((run for run in trace.runs if run.name == run_name), None)
    if run is None:
        names = ", ".join(run.name for run in trace.runs)
        raise ValueError(f"run_name must be one of {names}; got run_name={run_name!r}")
    entry = _run(trace, run, num_known_passes, num_known_rows)
    forms = TokenForms(trace)
    return {
        "run": entry,
        "passes_from": num_known_passes,
        "rows_from": num_known_rows,
        "tokens": {str(id_): forms.form(id_) for id_ in mentioned_ids(run, num_known_passes, num_known_rows)},
        "known": entry["known"],
    }


def _reference(trace: Trace) -> Run | None:
    """The run of plain decoding, which others are measured against."""
    return next((run for run in trace.runs if run.method == "ar" or run.name == "ar"), None)


def _run(trace: Trace, run: Run, first_pass: int = 0, first_row: int = 0) -> dict[str, Any]:
    """One run; passes and rows before `first_pass` and `first_row` are left out, the rest is whole."""
    reference, forms = _reference(trace), TokenForms(trace)
    ends = pass_ends(run)
    spans = output_spans(run)
    pieces = forms.pieces([span.token_id for span in spans])
    totals, config = _totals(run, reference), search_config(run)
    return {
        "name": run.name,
        "method": run.method,
        "is_reference": run is reference,
        "is_live": run.finished is None,
        "environment": asdict(run.environment),
        "settings": [list(pair) for pair in run.settings],
        "totals": totals,
        "exactness": exactness_entry(run, reference) if totals["is_compared"] else None,
        "search": search_entry(trace, run),
        "sentence": run_sentence(run, reference),
        "bounds": list(run_bounds(run.iterations)),
        "prefill": {
            "seconds": run.prefill.seconds,
            "num_prompt_tokens": run.prefill.num_prompt_tokens,
            "num_image_tokens": run.prefill.num_image_tokens,
            "num_writes": len(run.prefill.writes),
            "writes": [write_entry(write) for write in run.prefill.writes],
            "sizes": sizes_entry(run.prefill.memory_sizes),
        },
        "text": [
            [piece, span.proposer, span.pass_index, span.node, span.token_id]
            for piece, span in zip(pieces, spans, strict=True)
        ],
        "ends": list(ends),
        "passes": [pass_entry(forms, run, iteration, config) for iteration in run.iterations[first_pass:]],
        "rows": [
            [
                list(row.token_ids),
                list(row.probabilities),
                row.confidence,
                row.written_in_request,
                row.written_in_pass,
            ]
            for row in run.rows[first_row:]
        ],
        "known": {"passes": len(run.iterations), "rows": len(run.rows)},
    }


def _totals(run: Run, reference: Run | None) -> dict[str, Any]:
    totals: dict[str, Any] = {
        "num_tokens": metrics.num_output_tokens(run),
        "num_passes": len(run.iterations),
        "seconds": metrics.run_seconds(run),
        "prefill_seconds": metrics.prefill_seconds(run),
        "decode_seconds": metrics.decode_seconds(run),
        "acceptance_length": metrics.acceptance_length(run),
        "stop_reason": None if run.finished is None else run.finished.stop_reason,
        "speedup": None,
        "decode_speedup": None,
        "first_difference": None,
        "score_gap": None,
        "is_compared": reference is not None
        and reference is not run
        and is_whole(reference)
        and is_whole(run),
    }
    if totals["is_compared"]:
        totals |= {
            "speedup": metrics.run_speedup(run, reference),
            "decode_speedup": metrics.decode_ratio(run, reference),
            "first_difference": metrics.first_difference(run, reference),
            "score_gap": metrics.score_gap(run, reference),
        }
    return totals
