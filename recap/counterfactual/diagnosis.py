"""How much each root owed to the picture, and whose candidates the picture supports (Figure 1, Appendices C and E)."""

from __future__ import annotations

from collections import Counter
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
from recap.replay.counts import MAX_NODES, Counts, Policy, count_states, restrict
from recap.replay.passes import RecordedMemories, last_three, matched_length, replay_passes
from recap.replay.trajectory import Trajectory
from recap.search import TreeBuilder

#: Accepted lengths from here on form one group.
LONG = 5
#: Appendix E: fewest candidates a source, and the largest share that both may have in common.
MIN_CANDIDATES = 2
MAX_OVERLAP = 0.25
NUM_QUINTILES = 5

#: Whose rows are compared between pictures.
ROW_SOURCES = ("fused", *SOURCES)

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

    @property
    def changes(self) -> bool:
        """Whether the choice is another one in front of either picture."""
        return self.changes_with_mean or self.changes_with_other

    @property
    def relative_support(self) -> float:
        """E_GC - E_U of an eligible root, nats."""
        return self.contextual_support - self.token_support

    @property
    def contextual_share(self) -> float:
        """exp(E_GC) / (exp(E_GC) + exp(E_U)) of an eligible root."""
        return float(1 / (1 + np.exp(-self.relative_support)))


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


def length_group(root: Root) -> str:
    """The group of Figure 1, left, that a root belongs to: how many draft tokens its pass accepted, `5+` the last."""
    return f"{LONG}+" if root.num_accepted >= LONG else str(root.num_accepted)


#: All groups, from rejection on.
LENGTH_GROUPS = (*(str(length) for length in range(LONG)), f"{LONG}+")


def by_accepted_length(roots: Sequence[Root]) -> dict[str, dict[str, Any]]:
    """Figure 1, left: each group's share of roots that change under either picture, and mean dependence (nats)."""
    groups: dict[str, list[Root]] = {name: [] for name in LENGTH_GROUPS}
    for root in roots:
        groups[length_group(root)].append(root)
    return {
        name: {
            "num_roots": len(group),
            "change_rate": fmean(root.changes for root in group) if group else None,
            "dependence": fmean(root.dependence for root in group) if group else None,
        }
        for name, group in groups.items()
    }


def support_quintiles(roots: Sequence[Root]) -> list[list[Root]]:
    """Eligible roots in quintiles of E_GC - E_U, from token-aligned to context-aligned; none below five of them."""
    eligible = sorted(
        (r for r in roots if r.contextual_support is not None), key=lambda r: r.relative_support
    )
    if len(eligible) < NUM_QUINTILES:
        return []
    parts = np.array_split(range(len(eligible)), NUM_QUINTILES)
    return [[eligible[index] for index in part] for part in parts]


def by_relative_support(roots: Sequence[Root]) -> list[dict[str, Any]]:
    """Figure 1, right: means of each quintile. Supports are in nats, gains in tokens."""
    return [
        {
            "num_roots": len(group),
            "relative_support": fmean(root.relative_support for root in group),
            "contextual_share": fmean(root.contextual_share for root in group),
            "contextual_gain": fmean(root.contextual_gain for root in group),
        }
        for group in support_quintiles(roots)
    ]


def count_row_pictures(trajectory: Trajectory, full: ForcedText, other: ForcedText) -> Counts:
    """Appendix C: query, text and keys stay; the rows were computed in front of this picture, or of the other one.

    Of each source, and of all of them `fused` with fixed priors (c = 1): the states that it covers, the same for both
    pictures, and those where the rows hold the token that was chosen.
    """
    names = {source: (f"own/{source}/covered", f"own/{source}/hit") for source in SOURCES}
    names = {"fused": ("own/U/covered", "rule/no-confidence/hit")} | names
    counts: Counts = Counter()
    for kind, text in (("matching", full), ("swapped", other)):
        counted = count_states(replace(trajectory, rows=text.rows))
        for name, (covered, hit) in names.items():
            counts[f"{name}/covered"] = counted[covered]
            counts[f"{name}/{kind}"] = counted[hit]
    return counts


def compare_row_pictures(counts: Counts) -> dict[str, Any]:
    """Recall@8 of the rows of both pictures where a source has some; from `count_row_pictures`."""
    return {
        name: {
            "num_states": (covered := counts[f"{name}/covered"]),
            **{
                kind: counts[f"{name}/{kind}"] / covered if covered else None
                for kind in ("matching", "swapped")
            },
        }
        for name in ROW_SOURCES
    }
