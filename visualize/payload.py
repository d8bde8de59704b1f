"""Everything the browser needs to play a trace, as one JSON-ready dictionary.

Figures and sentences are made here, once, so that the player only chooses what to show. Numbers that people read are
sent as recorded; only coordinates of drawings are rounded. `build_update` sends what a growing run has gained.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from recap import metrics
from recap.events import Iteration, MemoryWrite, Node, Run, Trace
from visualize.fusion_figure import kept_shares
from visualize.origins import output_spans, proposers
from visualize.run_figures import pass_ends
from visualize.sentences import node_sentence, pass_sentence, run_sentence
from visualize.theme import KEYS, LABELS, MARKERS, PALETTES
from visualize.token_forms import TokenForms
from visualize.tree_figure import run_bounds, tree_data, tree_layout

PAYLOAD_VERSION = 1


def build_payload(trace: Trace) -> dict[str, Any]:
    """The whole trace for the player. The same trace always gives the same dictionary; `json.dumps` takes it as it is."""
    request = trace.request
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
        "tokens": _token_table(trace, 0),
        "theme": {"palettes": PALETTES, "markers": MARKERS, "labels": LABELS, "keys": KEYS},
        "tree_layout": tree_layout([run_bounds([])]),
        "runs": [_run(trace, run) for run in trace.runs],
    }


def build_update(
    trace: Trace, run_name: str, num_known_passes: int, num_known_rows: int, num_known_tokens: int = 0
) -> dict[str, Any]:
    """What `run_name` has gained since the counts in the last payload's or update's `known`.

    Raises:
        ValueError: no run of that name.
    """
    run = next((run for run in trace.runs if run.name == run_name), None)
    if run is None:
        names = ", ".join(run.name for run in trace.runs)
        raise ValueError(f"run_name must be one of {names}; got run_name={run_name!r}")
    entry = _run(trace, run, num_known_passes, num_known_rows)
    return {
        "run": entry,
        "passes_from": num_known_passes,
        "rows_from": num_known_rows,
        "tokens": _token_table(trace, num_known_tokens),
        "known": entry["known"] | {"tokens": len(trace.tokens)},
    }


def _token_table(trace: Trace, start: int) -> dict[str, str]:
    forms = TokenForms(trace)
    return {str(token.id): forms.form(token.id) for token in trace.tokens[start:]}


def _reference(trace: Trace) -> Run | None:
    """The run of plain decoding, which others are measured against."""
    return next((run for run in trace.runs if run.method == "ar" or run.name == "ar"), None)


def _run(trace: Trace, run: Run, first_pass: int = 0, first_row: int = 0) -> dict[str, Any]:
    """One run; passes and rows before `first_pass` and `first_row` are left out, the rest is whole."""
    reference, forms = _reference(trace), TokenForms(trace)
    ends = pass_ends(run)
    spans = output_spans(run)
    pieces = forms.pieces([span.token_id for span in spans])
    return {
        "name": run.name,
        "method": run.method,
        "is_reference": run is reference,
        "is_live": run.finished is None,
        "environment": asdict(run.environment),
        "settings": [list(pair) for pair in run.settings],
        "totals": _totals(run, reference),
        "sentence": run_sentence(run, reference),
        "bounds": list(run_bounds(run.iterations)),
        "prefill": {
            "seconds": run.prefill.seconds,
            "num_prompt_tokens": run.prefill.num_prompt_tokens,
            "num_image_tokens": run.prefill.num_image_tokens,
            "num_writes": len(run.prefill.writes),
            "sizes": _sizes(run.prefill.memory_sizes),
        },
        "text": [
            [piece, span.proposer, span.pass_index, span.node, span.token_id]
            for piece, span in zip(pieces, spans, strict=True)
        ],
        "ends": list(ends),
        "passes": [_pass(forms, run, iteration) for iteration in run.iterations[first_pass:]],
        "rows": [
            [list(row.token_ids), list(row.probabilities), row.confidence, row.written_in_request, row.written_in_pass]
            for row in run.rows[first_row:]
        ],
        "known": {"passes": len(run.iterations), "rows": len(run.rows), "tokens": len(trace.tokens)},
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
        "is_compared": reference is not None and reference is not run and run.finished is not None,
    }
    if totals["is_compared"]:
        totals |= {
            "speedup": metrics.throughput_ratio(run, reference),
            "decode_speedup": metrics.decode_ratio(run, reference),
            "first_difference": metrics.first_difference(run, reference),
            "score_gap": metrics.score_gap(run, reference),
        }
    return totals


def _sizes(sizes: Any) -> list[int] | None:
    return None if sizes is None else [sizes.trigram, sizes.bigram, sizes.unigram]


def _pass(forms: TokenForms, run: Run, iteration: Iteration) -> dict[str, Any]:
    seconds, detail = iteration.seconds, iteration.detail
    shared = {
        "index": iteration.index,
        "sentence": pass_sentence(forms, run, iteration),
        "prefix_length": iteration.prefix_length,
        "num_nodes": iteration.num_nodes,
        "accepted": list(iteration.accepted),
        "committed": list(iteration.committed_ids),
        "target_selected": iteration.target_selected_id,
        "stop_reason": iteration.stop_reason,
        "seconds": [seconds.draft, seconds.verify, seconds.commit, seconds.update],
        "tree": None,
    }
    if detail is None:
        return shared
    sources = proposers(run, iteration)
    indices = range(len(detail.nodes))
    return shared | {
        "tree": tree_data(forms, run, iteration),
        "nodes": [_node(run, iteration, index, node, sources[index]) for index, node in enumerate(detail.nodes)],
        "node_sentences": [node_sentence(forms, run, iteration, index) for index in indices],
        "missed": [[list(missed.path_ids), missed.q, missed.score] for missed in detail.missed],
        "suffix": None if detail.suffix_match is None else _values(detail.suffix_match),
        "writes": [_write(write) for write in detail.writes],
        "sizes": _sizes(detail.memory_sizes),
    }


def _node(run: Run, iteration: Iteration, index: int, node: Node, source: str) -> list[Any]:
    """token, parent, depth, pop order, source, q, score, greedy id, two scores, rows found, kept [id, q, shares]."""
    shares = kept_shares(run, iteration, index)
    return [
        node.token_id,
        node.parent,
        node.depth,
        node.pop_order,
        source,
        node.q,
        node.score,
        node.greedy_id,
        list(node.top_scores),
        [
            [row.source, list(row.key_ids), row.row, row.prior, row.confidence, row.weight, row.age_in_passes]
            for row in node.retrieved
        ],
        [
            # The shares are lengths of drawn bars only.
            [token_id, q, [round(part, 3) for part in parts]]
            for token_id, q, parts in zip(node.kept_ids, node.kept_probabilities, shares, strict=True)
        ],
    ]


def _values(match: Any) -> dict[str, Any]:
    return {"length": match.length, "end": match.end, "continuation": list(match.continuation_ids)}


def _write(write: MemoryWrite) -> list[Any]:
    return [write.map, list(write.key_ids), write.node, write.row, write.replaced_row]
