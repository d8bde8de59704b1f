"""How much each root owed to the picture, and whose candidates the picture supports (Figure 1, Appendices C and E)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from recap.config import ROW_WIDTH, RecapConfig
from recap.counterfactual.teacher_forcing import ForcedText
from recap.events import Run
from recap.fusion import fuse
from recap.memory import SOURCES
from recap.replay.counts import MAX_NODES, Policy, count_states, restrict
from recap.replay.passes import RecordedMemories, last_three, matched_length, replay_passes
from recap.replay.trajectory import Trajectory
from recap.search import TreeBuilder

#: Accepted lengths from here on form one group.
LONG = 5
#: Appendix E: fewest candidates a source, and the largest share that both may have in common.
MIN_CANDIDATES = 2
MAX_OVERLAP = 0.25
NUM_QUINTILES = 5

_CONTEXTUAL = Policy(("G", "C"), "recap")
_TOKEN_ONLY = Policy(("U",), "recap")


@dataclass(frozen=True, slots=True)
class Root:
    """One pass's root under both other pictures.

    `dependence` is the smaller fall of the chosen token's log-probability. `contextual_support` and
    `token_support` are E of Eq. 13 for the candidates of G and C, and of U, and `contextual_gain` is how many more
    tokens a tree of the former alone has accepted than one of the latter, at equal nodes; all three are None where the
    state is not eligible.
    """

    pass_index: int
    num_accepted: int
    token_id: int
    changes_with_mean: bool
    changes_with_other: bool
    dependence: float
    contextual_support: float | None = None
    token_support: float | None = None
    contextual_gain: int | None = None


def diagnose_roots(
    trajectory: Trajectory, run: Run, full: ForcedText, mean: ForcedText, other: ForcedText
) -> list[Root]:
    """All roots of a recorded run whose choice the full picture's forced pass confirms (a valid anchor)."""
    roots = []
    for replayed in replay_passes(trajectory, run, None):
        state = replayed.state
        token_id = int(trajectory.continuation_at(state)[0])
        if full.greedy_ids[state] != token_id:
            continue
        falls = [float(full.log_probabilities[state, token_id] - text.log_probabilities[state, token_id])
                 for text in (mean, other)]  # fmt: skip
        root = Root(
            pass_index=replayed.iteration.index,
            num_accepted=len(replayed.iteration.accepted),
            token_id=token_id,
            changes_with_mean=bool(mean.greedy_ids[state] != token_id),
            changes_with_other=bool(other.greedy_ids[state] != token_id),
            dependence=min(falls),
        )
        candidates = source_candidates(replayed.memories, trajectory.history_at(state))
        if candidates is not None:
            contextual, token_only = (
                visual_support(ids, *(text.log_probabilities[state] for text in (full, mean, other)))
                for ids in candidates
            )
            gain = _contextual_gain(trajectory, replayed.memories, state)
            root = replace(
                root, contextual_support=contextual, token_support=token_only, contextual_gain=gain
            )
        roots.append(root)
    return roots


def source_candidates(
    memories: RecordedMemories, history: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The candidates of G and C together, and of U: equally many, 2 to 8; None where Appendix E leaves a state out."""
    found = memories.found(last_three(history))
    contextual = [found[source] for source in _CONTEXTUAL.sources if source in found]
    if not contextual or "U" not in found:
        return None
    ids = fuse(*zip(*contextual, strict=True), rule="recap", is_unigram_last=False).token_ids
    token_only = found["U"].token_ids
    count = min(len(ids), int((token_only >= 0).sum()), ROW_WIDTH)
    ids, token_only = ids[:count], token_only[:count]
    if count < MIN_CANDIDATES or len(set(ids.tolist()) & set(token_only.tolist())) > MAX_OVERLAP * count:
        return None
    return ids, token_only


def visual_support(token_ids: np.ndarray, full: np.ndarray, mean: np.ndarray, other: np.ndarray) -> float:
    """E = min over the other pictures of L(full) - L(other), L the log of the candidates' total probability.

    Eqs. 12-13. The last three are log-probabilities [V] of one state.
    """
    full_mass, *other_masses = (float(np.logaddexp.reduce(text[token_ids])) for text in (full, mean, other))
    return min(full_mass - mass for mass in other_masses)


def _contextual_gain(trajectory: Trajectory, memories: RecordedMemories, state: int) -> int:
    builder = TreeBuilder(RecapConfig(suffix_max_nodes=0), trajectory.blocked_ids)
    trees = [
        builder.search(restrict(memories, policy.sources), trajectory.history_at(state), MAX_NODES)[:2]
        for policy in (_CONTEXTUAL, _TOKEN_ONLY)
    ]
    count = min(len(token_ids) for token_ids, _ in trees)
    contextual, token_only = (
        matched_length(token_ids[:count], parents[:count], trajectory.continuation_at(state))
        for token_ids, parents in trees
    )
    return contextual - token_only


def by_accepted_length(roots: Sequence[Root]) -> dict[str, dict[str, Any]]:
    """Figure 1, left: roots grouped by how many draft tokens their pass accepted, `5+` the last group."""
    groups: dict[str, list[Root]] = {str(length): [] for length in range(LONG)} | {f"{LONG}+": []}
    for root in roots:
        groups[f"{LONG}+" if root.num_accepted >= LONG else str(root.num_accepted)].append(root)
    return {
        name: {
            "num_roots": len(group),
            "change_rate": fmean(r.changes_with_mean or r.changes_with_other for r in group)
            if group
            else None,
            "dependence": fmean(r.dependence for r in group) if group else None,
        }
        for name, group in groups.items()
    }


def by_relative_support(roots: Sequence[Root]) -> list[dict[str, Any]]:
    """Figure 1, right: eligible roots in quintiles of E_GC - E_U, from token-aligned to context-aligned.

    `contextual_share` is exp(E_GC) / (exp(E_GC) + exp(E_U)). Empty below five eligible roots.
    """
    eligible = [root for root in roots if root.contextual_support is not None]
    eligible.sort(key=lambda root: root.contextual_support - root.token_support)
    if len(eligible) < NUM_QUINTILES:
        return []
    return [
        {
            "num_roots": len(group),
            "relative_support": fmean(r.contextual_support - r.token_support for r in group),
            "contextual_share": fmean(
                1 / (1 + np.exp(r.token_support - r.contextual_support)) for r in group
            ),
            "contextual_gain": fmean(r.contextual_gain for r in group),
        }
        for group in (
            [eligible[i] for i in part] for part in np.array_split(range(len(eligible)), NUM_QUINTILES)
        )
    ]


def compare_row_pictures(trajectory: Trajectory, full: ForcedText, other: ForcedText) -> dict[str, Any]:
    """Appendix C: query, text and keys stay; the rows were computed in front of this picture, or of the other one.

    Recall@8 over the states that a memory covers, which are the same for both; `fused` has fixed priors (c = 1).
    """
    counts = [count_states(replace(trajectory, rows=text.rows)) for text in (full, other)]
    covered = {"fused": "own/U/covered"} | {source: f"own/{source}/covered" for source in SOURCES}
    hits = {"fused": "rule/no-confidence/hit"} | {source: f"own/{source}/hit" for source in SOURCES}
    return {
        name: {
            "num_states": counts[0][covered[name]],
            **{
                kind: count[hits[name]] / count[covered[name]] if count[covered[name]] else None
                for kind, count in zip(("matching", "swapped"), counts, strict=True)
            },
        }
        for name in covered
    }
