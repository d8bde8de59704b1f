"""One pass as the player receives it: the tree's figure, every node's numbers, what was read and written."""

from __future__ import annotations

from typing import Any

from recap.config import RecapConfig
from recap.events import BudgetChoice, Iteration, MemorySizes, MemoryWrite, Node, Run, SuffixMatch
from visualize.fusion_figure import kept_shares
from visualize.origins import proposers
from visualize.places import slots_before_verdict
from visualize.rule_proposals import proposals_entry
from visualize.sentences import node_sentence, pass_sentence
from visualize.token_forms import TokenForms
from visualize.tree_figure import tree_data


def sizes_entry(sizes: MemorySizes | None) -> list[int] | None:
    """Rows alive in G, C and U, or None where they were not recorded."""
    return None if sizes is None else [sizes.trigram, sizes.bigram, sizes.unigram]


def pass_entry(
    forms: TokenForms, run: Run, iteration: Iteration, config: RecapConfig | None
) -> dict[str, Any]:
    """All of one pass; without its tree where the pass was not recorded node by node.

    `config` is the search's, for what other fusion rules would have proposed; None leaves that out.
    """
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
        "slots_before_verdict": list(slots_before_verdict(iteration)),
        "nodes": [
            _node(run, iteration, index, node, sources[index]) for index, node in enumerate(detail.nodes)
        ],
        # Only nodes at which several rows were found: elsewhere all rules agree.
        "rules": {
            str(index): entry
            for index, node in enumerate(detail.nodes)
            if (entry := proposals_entry(run, node, config)) is not None
        },
        "node_sentences": [node_sentence(forms, run, iteration, index) for index in indices],
        "missed": [[list(missed.path_ids), missed.q, missed.score] for missed in detail.missed],
        "suffix": None if detail.suffix_match is None else _match(detail.suffix_match),
        "budget": None if detail.budget is None else _budget(detail.budget),
        "writes": [write_entry(write) for write in detail.writes],
        "sizes": sizes_entry(detail.memory_sizes),
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


def _budget(budget: BudgetChoice) -> list[Any]:
    """Nodes chosen, then for each count that was weighed: nodes, tokens expected of a pass, its seconds."""
    curve = zip(budget.node_counts, budget.expected_tokens, budget.seconds, strict=True)
    return [budget.num_nodes, [list(point) for point in curve]]


def _match(match: SuffixMatch) -> dict[str, Any]:
    return {"length": match.length, "end": match.end, "continuation": list(match.continuation_ids)}


def write_entry(write: MemoryWrite) -> list[Any]:
    """Map, key ids, node (or prompt position), row, replaced row."""
    return [write.map, list(write.key_ids), write.node, write.row, write.replaced_row]


def mentioned_ids(run: Run, first_pass: int, first_row: int) -> list[int]:
    """Token ids that the passes and rows from these counts on mention, in rising order."""
    ids = {run.prefill.first_token_id}
    for row in run.rows[first_row:]:
        ids.update(row.token_ids)
    for write in run.prefill.writes:
        ids.update(write.key_ids)
    for iteration in run.iterations[first_pass:]:
        ids.update((iteration.root_id, *iteration.committed_ids))
        if iteration.detail is None:
            continue
        for node in iteration.detail.nodes:
            ids.update((node.token_id, node.greedy_id, *node.kept_ids))
            for found in node.retrieved:
                ids.update(found.key_ids)
        for missed in iteration.detail.missed:
            ids.update(missed.path_ids)
        for write in iteration.detail.writes:
            ids.update(write.key_ids)
    return sorted(ids)
