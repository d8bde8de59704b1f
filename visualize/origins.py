"""Who proposed what: the source behind every node, and behind every token of the output."""

from __future__ import annotations

from dataclasses import dataclass

from recap.events import Iteration, Node, Run
from visualize.theme import Proposer


@dataclass(frozen=True, slots=True)
class Span:
    """One output token: what proposed it, the pass that committed it (0 = prefill), its node (None: no draft node)."""

    token_id: int
    proposer: Proposer
    pass_index: int
    node: int | None


def contributions(run: Run, parent: Node, token_id: int) -> tuple[float, ...]:
    """w_j P_j(token) of each row retrieved at `parent`, in reading order.

    The summands of Eq. 5; a row that does not list the token adds 0.
    """
    shares = []
    for retrieved in parent.retrieved:
        row = run.rows[retrieved.row]
        is_listed = token_id in row.token_ids
        mass = row.probabilities[row.token_ids.index(token_id)] if is_listed else 0.0
        shares.append(retrieved.weight * mass)
    return tuple(shares)


def proposer_of(run: Run, nodes: tuple[Node, ...], index: int) -> Proposer:
    """The source of a node: the row at its parent with the largest w_j P_j(token), the more specific one on a tie.

    The root was chosen by the target; suffix nodes were copied.
    """
    node = nodes[index]
    if node.origin == "root":
        return "target"
    if node.origin == "suffix":
        return "suffix"
    parent = nodes[node.parent]
    shares = contributions(run, parent, node.token_id)
    if not any(shares):
        return "draft"
    return parent.retrieved[shares.index(max(shares))].source


def proposers(run: Run, iteration: Iteration) -> tuple[Proposer, ...]:
    """`proposer_of` for each node of a pass; empty for a pass that was not recorded."""
    if iteration.detail is None:
        return ()
    nodes = iteration.detail.nodes
    return tuple(proposer_of(run, nodes, index) for index in range(len(nodes)))


def output_spans(run: Run) -> tuple[Span, ...]:
    """The output so far, token by token, with what proposed each."""
    spans = [Span(run.prefill.first_token_id, "target", 0, None)]
    for iteration in run.iterations:
        sources = proposers(run, iteration)
        for node, token_id in zip(iteration.accepted, iteration.committed_ids, strict=False):
            spans.append(Span(token_id, sources[node] if sources else "draft", iteration.index, node))
        if iteration.target_selected_id is not None:
            spans.append(Span(iteration.target_selected_id, "target", iteration.index, None))
    return tuple(spans)
