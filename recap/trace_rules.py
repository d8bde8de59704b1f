"""The rules between the fields of a trace: what figures and the player take for granted.

Types alone do not make a trace: parents precede children, row numbers exist, the accepted nodes are a path, the
committed tokens are that path's, and every number is finite. The first rule that is broken is told as one sentence
with its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recap.config import MAX_NODES_LIMIT, MAX_SUFFIX_NODES_LIMIT, ROW_WIDTH
from recap.events import BudgetChoice, Iteration, MemoryWrite, Node, PassDetail, PredictionRow, Run, Trace
from recap.trace_values import (
    check_finite,
    check_ids,
    check_key,
    check_row_index,
    check_seconds,
    check_shares,
    fail,
)

_MAX_NODES = 1 + MAX_NODES_LIMIT + MAX_SUFFIX_NODES_LIMIT
# Nothing but inline picture data: a trace from elsewhere must not make the page call out.
_THUMBNAIL = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]+")


def check_rules(trace: Trace) -> None:
    """Raise `TraceError` for the first broken rule of `trace`."""
    check_ids("request.prompt_ids", trace.request.prompt_ids)
    if trace.request.image_token_id is not None:
        check_ids("request.image_token_id", (trace.request.image_token_id,))
    image = trace.request.image
    if image is not None:
        if not _THUMBNAIL.fullmatch(image.thumbnail):
            fail("request.image.thumbnail", "must be a base64 data URL of a picture", image.thumbnail[:30])
        for name, size in (("original_size", image.original_size), ("model_size", image.model_size)):
            if min(size) < 1:
                fail(f"request.image.{name}", "must be two positive numbers of pixels", size)
    seen: set[int] = set()
    for index, token in enumerate(trace.tokens):
        place = f"tokens[{index}]"
        check_ids(f"{place}.id", (token.id,))
        if token.id in seen:
            fail(f"{place}.id", "must be unique in the token table", token.id)
        seen.add(token.id)
        if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", token.bytes_hex):
            fail(f"{place}.bytes_hex", "must be pairs of hexadecimal digits", token.bytes_hex[:30])
    if not trace.runs:
        fail("runs", "must hold at least one run", 0)
    names: set[str] = set()
    for index, run in enumerate(trace.runs):
        if not run.name or run.name in names:
            fail(f"runs[{index}].name", "must be non-empty and unique in the trace", run.name)
        names.add(run.name)
        _check_run(f"runs[{index}]", run)


def _check_run(place: str, run: Run) -> None:
    for index, row in enumerate(run.rows):
        _check_row(f"{place}.rows[{index}]", row)
    check_ids(f"{place}.prefill.first_token_id", (run.prefill.first_token_id,))
    check_finite(f"{place}.prefill.top_scores", run.prefill.top_scores)
    check_seconds(f"{place}.prefill.seconds", run.prefill.seconds)
    _check_writes(f"{place}.prefill.writes", run.prefill.writes, len(run.rows), None)
    output_ids = [run.prefill.first_token_id]
    for index, iteration in enumerate(run.iterations):
        here = f"{place}.iterations[{index}]"
        if iteration.index != index + 1:
            fail(f"{here}.index", f"must be {index + 1}, as passes count from 1", iteration.index)
        if iteration.root_id != output_ids[-1]:
            fail(
                f"{here}.root_id",
                f"must be the last token before the pass, {output_ids[-1]}",
                iteration.root_id,
            )
        _check_iteration(here, iteration, len(run.rows))
        output_ids.extend(iteration.committed_ids)
    if run.finished is not None:
        here = f"{place}.finished"
        if run.finished.output_ids != tuple(output_ids):
            fail(f"{here}.output_ids", "must be prefill's token and what the passes committed", "other ids")
        if run.finished.num_passes != len(run.iterations):
            fail(f"{here}.num_passes", f"must be {len(run.iterations)}", run.finished.num_passes)
        check_seconds(f"{here}.prefill_seconds", run.finished.prefill_seconds)
        check_seconds(f"{here}.decode_seconds", run.finished.decode_seconds)


def _check_row(place: str, row: PredictionRow) -> None:
    check_ids(f"{place}.token_ids", row.token_ids)
    if not 1 <= len(row.token_ids) <= ROW_WIDTH:
        fail(f"{place}.token_ids", f"must hold 1 to {ROW_WIDTH} ids", len(row.token_ids))
    if len(row.probabilities) != len(row.token_ids):
        fail(f"{place}.probabilities", f"must have length {len(row.token_ids)}", len(row.probabilities))
    check_shares(f"{place}.probabilities", row.probabilities)
    check_shares(f"{place}.confidence", (row.confidence,))
    if row.confidence * len(row.token_ids) < 1 - 1e-3:  # exp(-entropy) of K probabilities
        fail(f"{place}.confidence", "must be at least one over the number of tokens", row.confidence)


def _check_iteration(place: str, iteration: Iteration, num_rows: int) -> None:
    for name in ("draft", "verify", "commit", "update"):
        check_seconds(f"{place}.seconds.{name}", getattr(iteration.seconds, name))
    if not 0 <= iteration.num_nodes < _MAX_NODES:
        fail(f"{place}.num_nodes", f"must be from 0 to {_MAX_NODES - 1}", iteration.num_nodes)
    for position, node in enumerate(iteration.accepted):
        if not 1 <= node <= iteration.num_nodes:
            fail(f"{place}.accepted[{position}]", f"must be a node from 1 to {iteration.num_nodes}", node)
    check_ids(f"{place}.committed_ids", iteration.committed_ids)
    if not iteration.committed_ids:
        fail(f"{place}.committed_ids", "must hold at least one token", 0)
    num_selected = 0 if iteration.target_selected_id is None else 1
    if len(iteration.committed_ids) != len(iteration.accepted) + num_selected:
        rule = "must be the accepted tokens and the target-selected one"
        fail(f"{place}.committed_ids", rule, len(iteration.committed_ids))
    if num_selected and iteration.committed_ids[-1] != iteration.target_selected_id:
        rule = f"must be the last committed token, {iteration.committed_ids[-1]}"
        fail(f"{place}.target_selected_id", rule, iteration.target_selected_id)
    if iteration.detail is not None:
        _check_detail(f"{place}.detail", iteration, iteration.detail, num_rows)


def _check_detail(place: str, iteration: Iteration, detail: PassDetail, num_rows: int) -> None:
    nodes = detail.nodes
    if len(nodes) != iteration.num_nodes + 1:
        fail(f"{place}.nodes", f"must hold the root and {iteration.num_nodes} nodes", len(nodes))
    for index, node in enumerate(nodes):
        _check_node(f"{place}.nodes[{index}]", index, node, nodes, num_rows)
    if nodes[0].token_id != iteration.root_id:
        fail(f"{place}.nodes[0].token_id", f"must be the root, {iteration.root_id}", nodes[0].token_id)
    if sorted(node.pop_order for node in nodes) != list(range(len(nodes))):
        fail(f"{place}.nodes", "must have the pop orders 0, 1, 2, ... once each", "others")
    parent = 0
    for position, index in enumerate(iteration.accepted):
        here = f"{place[: -len('.detail')]}.accepted[{position}]"
        if nodes[index].parent != parent:
            fail(
                here,
                f"must be a child of node {parent}, as the accepted nodes form a path from the root",
                index,
            )
        if nodes[index].token_id != iteration.committed_ids[position]:
            fail(
                here,
                f"must carry the committed token {iteration.committed_ids[position]}",
                nodes[index].token_id,
            )
        parent = index
    for position, missed in enumerate(detail.missed):
        here = f"{place}.missed[{position}]"
        check_ids(f"{here}.path_ids", missed.path_ids)
        check_shares(f"{here}.q", (missed.q,))
        check_shares(f"{here}.score", (missed.score,))
    if detail.suffix_match is not None:
        check_ids(f"{place}.suffix_match.continuation_ids", detail.suffix_match.continuation_ids)
    _check_writes(f"{place}.writes", detail.writes, num_rows, len(nodes))
    if detail.budget is not None:
        _check_budget(f"{place}.budget", detail.budget)


def _check_budget(place: str, budget: BudgetChoice) -> None:
    counts = budget.node_counts
    if not counts or list(counts) != sorted(set(counts)) or not 0 <= counts[0] <= counts[-1] < _MAX_NODES:
        fail(f"{place}.node_counts", f"must be rising numbers of nodes from 0 to {_MAX_NODES - 1}", counts)
    if budget.num_nodes not in counts:
        fail(f"{place}.num_nodes", "must be one of the node counts", budget.num_nodes)
    for name in ("expected_tokens", "seconds"):
        values = getattr(budget, name)
        if len(values) != len(counts):
            fail(f"{place}.{name}", f"must have length {len(counts)}", len(values))
    check_finite(f"{place}.expected_tokens", budget.expected_tokens)
    for value in budget.seconds:
        check_seconds(f"{place}.seconds", value)


def _check_node(place: str, index: int, node: Node, nodes: Sequence[Node], num_rows: int) -> None:
    check_ids(f"{place}.token_id", (node.token_id,))
    check_ids(f"{place}.greedy_id", (node.greedy_id,))
    if index == 0:
        if node.parent != -1 or node.depth != 0 or node.origin != "root":
            fail(place, "must be the root: parent -1, depth 0, origin root", f"parent {node.parent}")
    elif not 0 <= node.parent < index:
        fail(f"{place}.parent", f"must be a node before it, 0 to {index - 1}", node.parent)
    elif node.depth != nodes[node.parent].depth + 1:
        fail(
            f"{place}.depth",
            f"must be one more than its parent's, {nodes[node.parent].depth + 1}",
            node.depth,
        )
    elif node.origin == "root":
        fail(f"{place}.origin", "must be fusion or suffix", "root")
    if node.rank < 0:
        fail(f"{place}.rank", "must not be negative", node.rank)
    for name, value in (("q", node.q), ("score", node.score)):
        if (value is None) != (node.origin == "suffix"):
            fail(f"{place}.{name}", "must be a number for fusion nodes and null for suffix nodes", value)
        if value is not None:
            check_shares(f"{place}.{name}", (value,))
    check_finite(f"{place}.top_scores", node.top_scores)
    sources = [row.source for row in node.retrieved]
    if sources != sorted(set(sources), key="GCU".index):
        fail(f"{place}.retrieved", "must hold at most one row a map, in the order G, C, U", "".join(sources))
    for position, row in enumerate(node.retrieved):
        here = f"{place}.retrieved[{position}]"
        check_key(here, row.source, row.key_ids)
        check_row_index(f"{here}.row", row.row, num_rows)
        for name in ("prior", "confidence", "weight"):
            check_shares(f"{here}.{name}", (getattr(row, name),))
    check_ids(f"{place}.kept_ids", node.kept_ids)
    if len(node.kept_probabilities) != len(node.kept_ids):
        fail(
            f"{place}.kept_probabilities",
            f"must have length {len(node.kept_ids)}",
            len(node.kept_probabilities),
        )
    check_shares(f"{place}.kept_probabilities", node.kept_probabilities)


def _check_writes(place: str, writes: Sequence[MemoryWrite], num_rows: int, num_nodes: int | None) -> None:
    """`num_nodes` None: the writer is a prompt position, which only must not be negative."""
    for index, write in enumerate(writes):
        here = f"{place}[{index}]"
        check_key(here, write.map, write.key_ids)
        check_row_index(f"{here}.row", write.row, num_rows)
        if write.replaced_row is not None:
            check_row_index(f"{here}.replaced_row", write.replaced_row, num_rows)
        if write.node < 0 or (num_nodes is not None and write.node >= num_nodes):
            fail(f"{here}.node", "must be one of the nodes that the pass evaluated", write.node)
