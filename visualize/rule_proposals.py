"""What every fusion rule would have proposed at a recorded node: the same rows, weighed otherwise (Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

from recap.config import FUSION_RULES, RecapConfig
from recap.events import Node, Run
from recap.fusion import fuse

#: Tokens that are shown of each rule.
NUM_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """The kept tokens of one rule, highest q first, and their q (Eq. 6); both empty where the rule finds no row."""

    rule: str
    token_ids: tuple[int, ...]
    q: tuple[float, ...]


def rule_proposals(run: Run, node: Node, config: RecapConfig) -> tuple[Proposal, ...]:
    """One proposal a fusion rule, in the order of `FUSION_RULES`; none where the search found no row at the node."""
    if not node.retrieved:
        return ()
    rows = [run.rows[found.row] for found in node.retrieved]
    width = max(len(row.token_ids) for row in rows)
    ids = [row.token_ids + (-1,) * (width - len(row.token_ids)) for row in rows]
    probabilities = [row.probabilities + (0.0,) * (width - len(row.token_ids)) for row in rows]
    proposals = []
    for rule in FUSION_RULES:
        fused = fuse(
            ids,
            probabilities,
            [row.confidence for row in rows],
            rule,
            config.specificity_priors,
            is_unigram_last=node.retrieved[-1].source == "U",
        )
        proposals.append(Proposal(rule, tuple(fused.token_ids.tolist()), tuple(fused.q.tolist())))
    return tuple(proposals)


def proposals_entry(run: Run, node: Node, config: RecapConfig | None) -> list[list[object]] | None:
    """For the player, a list a rule: place of the target's choice (0: not kept), then token and q of the first few.

    None where no rule differs from another because one row alone was found, or where nothing is known of the rule.
    """
    if config is None or len(node.retrieved) < 2:
        return None
    entries: list[list[object]] = []
    for proposal in rule_proposals(run, node, config):
        ids = proposal.token_ids
        entry: list[object] = [1 + ids.index(node.greedy_id) if node.greedy_id in ids else 0]
        for token_id, q in zip(ids[:NUM_SHOWN], proposal.q, strict=False):
            entry += [token_id, round(q, 5)]
        entries.append(entry)
    return entries
