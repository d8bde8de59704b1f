"""Rules that find the runs which two lessons compare: U kept against U empty, and the budget that follows the cost."""

from __future__ import annotations

from collections.abc import Sequence

from recorded import AUTO, EMPTY_U, RUN, Chosen, Recorded, Root, request_number

from recap.events import BudgetChoice, Run

#: After so many passes a kept U is compared with an empty one: later both know this answer's own words.
FIRST_PASSES = 4
#: The paper's budget, which the measured one is compared with.
PAPER_NODES = 63


def tokens_after(run: Run, num_passes: int = FIRST_PASSES) -> int:
    """Tokens that the first passes committed."""
    return sum(len(iteration.committed_ids) for iteration in run.iterations[:num_passes])


def kept_unigram(traces: Sequence[Recorded]) -> Chosen | None:
    """The question on which a kept U is furthest ahead of an empty one after the first passes, and in the end."""
    found = []
    for recorded in traces:
        kept, empty = recorded.roots(), recorded.roots(EMPTY_U)
        if not FIRST_PASSES <= len(kept) < len(empty):
            continue
        number = request_number(kept[0].run)
        helped = [
            root
            for root in kept[:FIRST_PASSES]
            if root.is_right("U") and root.rows["U"].row.written_in_request < number and root.is_open
        ]
        lead = tokens_after(kept[0].run) - tokens_after(empty[0].run)
        is_same = kept[0].run.finished.output_ids == empty[0].run.finished.output_ids
        if is_same and helped and lead > 0:
            found.append((lead, kept, empty, max(helped, key=lambda root: root.num_written)))
    if not found:
        return None
    _, kept, empty, helped = max(found, key=lambda item: item[0])
    row, number = helped.rows["U"], request_number(helped.run)
    places = {
        "empty_first": empty[0],
        "empty_later": empty[FIRST_PASSES - 1],
        "kept_first": kept[0],
        "helped": helped,
        "kept_later": kept[FIRST_PASSES - 1],
        "kept_last": kept[-1],
    }
    facts = {
        "passes": FIRST_PASSES,
        "empty_written": empty[0].num_written,
        "behind": tokens_after(empty[0].run),
        "ahead": tokens_after(helped.run),
        "number": number,
        "earlier": number - 1,
        "written_in": row.row.written_in_request,
        "first": helped.form(row.first_id),
        "root": helped.form(helped.node.token_id),
        "kept_passes": len(kept),
        "empty_passes": len(empty),
    }
    return Chosen(places, facts)


def measured_budget(traces: Sequence[Recorded]) -> Chosen | None:
    """A run that follows the cost, sooner done than the one with the paper's budget, and one or two of its choices.

    The pass with few nodes weighed the paper's budget as well and expects more tokens a second of its own; of several
    runs the one with the widest gap between its choices.
    """
    found = []
    for recorded in traces:
        runs = [recorded.run(name) for name in ("ar", RUN, AUTO)]
        if None in runs or len({run.finished.output_ids for run in runs}) > 1:
            continue
        if runs[2].finished.decode_seconds >= runs[1].finished.decode_seconds:
            continue
        roots = [root for root in recorded.roots(AUTO) if root.iteration.detail.budget and root.is_open]
        few = min((root for root in roots if _is_worth_telling(root)), key=_num_chosen, default=None)
        many = max(roots, key=_num_chosen, default=None)
        if few is not None:
            found.append((_num_chosen(many) - _num_chosen(few), few, many, runs))
    if not found:
        return None
    _, few, many, (plain, paper, auto) = max(found, key=lambda item: item[0])
    choice, other = few.iteration.detail.budget, many.iteration.detail.budget
    tokens, seconds = _point(choice, choice.num_nodes)
    paper_tokens, paper_seconds = _point(choice, PAPER_NODES)
    facts = {
        "device": auto.environment.device,
        "precision": auto.environment.dtype,
        "threads": auto.environment.num_threads,
        "few": choice.num_nodes,
        "few_ms": 1000 * seconds,
        "few_tokens": tokens,
        "few_rate": tokens / seconds,
        "paper_ms": 1000 * paper_seconds,
        "paper_tokens": paper_tokens,
        "paper_rate": paper_tokens / paper_seconds,
        "many": other.num_nodes,
        "differs": int(other.num_nodes > choice.num_nodes),
        "many_tokens": _point(other, other.num_nodes)[0],
    }
    for name, run in (("plain", plain), ("paper", paper), ("auto", auto)):
        facts |= {f"{name}_passes": len(run.iterations), f"{name}_seconds": run.finished.decode_seconds}
    last = few.recorded.roots(AUTO)[-1]
    return Chosen({"few": few, "many": many, "last": last}, facts)


def _num_chosen(root: Root) -> int:
    return root.iteration.detail.budget.num_nodes


def _point(choice: BudgetChoice, num_nodes: int) -> tuple[float, float]:
    """Tokens expected of a pass with so many nodes, and its seconds."""
    place = choice.node_counts.index(num_nodes)
    return choice.expected_tokens[place], choice.seconds[place]


def _is_worth_telling(root: Root) -> bool:
    choice = root.iteration.detail.budget
    if not 0 < choice.num_nodes < PAPER_NODES or PAPER_NODES not in choice.node_counts:
        return False
    (tokens, seconds), (paper_tokens, paper_seconds) = (
        _point(choice, choice.num_nodes),
        _point(choice, PAPER_NODES),
    )
    return tokens / seconds > paper_tokens / paper_seconds and seconds < paper_seconds
