"""The text twin of the figures: one sentence a pass, one a node, and a table of the tree."""

from __future__ import annotations

from collections import Counter

from recap import metrics
from recap.events import Iteration, Node, Run, Trace
from visualize.origins import proposer_of, proposers
from visualize.theme import LABELS
from visualize.token_forms import TokenForms

TABLE_HEADER = ("node", "parent", "depth", "token", "from", "q", "path score", "target says", "verdict")


def quoted(form: str) -> str:
    """A token form in quotation marks."""
    return f"\u201c{form}\u201d"


def count(number: int, noun: str) -> str:
    """A number and its noun, e.g. "1 node", "3 nodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def run_sentence(run: Run, reference: Run | None) -> str:
    """What a passer-by should take home, in one sentence."""
    tokens, passes = metrics.num_output_tokens(run), len(run.iterations)
    start = f"{count(tokens, 'token')} in {passes} target {'pass' if passes == 1 else 'passes'}"
    if reference is None or reference is run:
        return start + "."
    start += f" instead of {len(reference.iterations)}"
    if not (is_whole(run) and is_whole(reference)):
        return start + " so far." if run.finished is None else start + ", stopped before the end."
    ratio = metrics.run_speedup(run, reference)
    difference = metrics.first_difference(run, reference)
    text = (
        "the text is the same" if difference is None else f"the text differs from token {difference + 1} on"
    )
    return f"{start}: {text}." if ratio is None else f"{start}: {ratio:.2f} times as fast, and {text}."


def is_whole(run: Run) -> bool:
    """Whether the run came to its own end: a stopped one has no speed or text to compare."""
    return run.finished is not None and run.finished.stop_reason != "stopped"


def pass_sentence(forms: TokenForms, run: Run, iteration: Iteration) -> str:
    """What happened in one pass."""
    selected = iteration.target_selected_id
    if selected is not None:
        chosen = f"the target chose {quoted(forms.form(selected))}"
    else:
        chosen = (
            "the text ended there" if iteration.stop_reason == "end_token" else "the length limit cut there"
        )
    if iteration.num_nodes == 0:
        return f"Pass {iteration.index}: nothing was drafted; {chosen}."
    drafted = count(iteration.num_nodes, "draft node")
    if iteration.detail is not None:
        copied = sum(node.origin == "suffix" for node in iteration.detail.nodes)
        drafted += f" ({copied} copied from earlier text)" if copied else ""
    if not iteration.accepted:
        return f"Pass {iteration.index}: {drafted}, none fitted; {chosen}."
    accepted = forms.forms(iteration.committed_ids[: len(iteration.accepted)])
    by = ""
    sources = proposers(run, iteration)
    if sources:
        counts = Counter(sources[node] for node in iteration.accepted)
        by = " (" + ", ".join(f"{number} by {LABELS[source]}" for source, number in counts.items()) + ")"
    return (
        f"Pass {iteration.index}: {drafted}, {len(iteration.accepted)} accepted{by}: {quoted(accepted)}; "
        f"then {chosen}. {count(len(iteration.committed_ids), 'token')} for one target pass."
    )


def node_sentence(forms: TokenForms, run: Run, iteration: Iteration, index: int) -> str:
    """Where a node came from and what became of it."""
    assert iteration.detail is not None, f"pass {iteration.index} was not recorded"
    nodes = iteration.detail.nodes
    node = nodes[index]
    token, says = quoted(forms.form(node.token_id)), quoted(forms.form(node.greedy_id))
    if index == 0:
        found = count(len(node.retrieved), "row")
        return f"The root is {token}, chosen by the target; {found} found for what follows it. The target says {says}."
    if node.origin == "suffix":
        how = "copied from earlier text by the suffix match"
    else:
        source = LABELS[proposer_of(run, nodes, index)]
        how = f"proposed mostly by the {source} row, q {node.q:.3f}, path score {node.score:.4f}"
    return f"Node {index}, {token}, depth {node.depth}: {how}; {_verdict(iteration, node, index)}, target says {says}."


def _verdict(iteration: Iteration, node: Node, index: int) -> str:
    if index == 0:
        return "root"
    if index in iteration.accepted:
        return "accepted"
    assert iteration.detail is not None, f"pass {iteration.index} was not recorded"
    if iteration.detail.nodes[node.parent].greedy_id == node.token_id and node.parent in (
        0,
        *iteration.accepted,
    ):
        return "right, but behind the cut"
    return "rejected"


def tree_table(trace: Trace, run: Run, iteration: Iteration) -> list[tuple[object, ...]]:
    """The tree as rows under `TABLE_HEADER`, numbers unrounded; empty for a pass that was not recorded."""
    if iteration.detail is None:
        return []
    forms, sources = TokenForms(trace), proposers(run, iteration)
    return [
        (index, node.parent, node.depth, forms.form(node.token_id), sources[index], node.q, node.score,
         forms.form(node.greedy_id), _verdict(iteration, node, index))
        for index, node in enumerate(iteration.detail.nodes)
    ]  # fmt: skip
