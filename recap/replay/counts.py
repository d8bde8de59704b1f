"""What is counted at every state: did a memory know, was it right, and how far would each rule's tree have gone.

Section 5.2 and Appendices B and C: the memories start empty with each request and hold the rows of earlier states
only; a state is queried before its own row is written. Trees hold at most 63 nodes and are cut, at each state, to the
smallest number of nodes among the policies: a best-first tree of b nodes is the beginning of a larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recap.config import FusionRule, RecapConfig
from recap.events import PredictionRow, Run, Source
from recap.fusion import fuse
from recap.memory import SOURCES
from recap.prediction_map import MapArrays, empty_map
from recap.replay.passes import (
    FoundRow,
    RecordedMemories,
    ReplayedPass,
    last_three,
    matched_length,
    pass_contexts,
)
from recap.replay.trajectory import Trajectory
from recap.search import TreeBuilder

MAX_NODES = 63


class Policy(NamedTuple):
    """What a tree is made from: which memories, and the rule and priors that fuse their rows."""

    sources: tuple[Source, ...]
    rule: FusionRule
    specificity_priors: tuple[float, float, float] = RecapConfig().specificity_priors


#: Table 6's policies, then the rules of the other ablations, and Table 14's priors with c = 1.
POLICIES: dict[str, Policy] = {
    "U": Policy(("U",), "back-off"),
    "U+C back-off": Policy(("C", "U"), "back-off"),
    "U+C+G back-off": Policy(SOURCES, "back-off"),
    "uniform": Policy(SOURCES, "uniform"),
    "no-confidence": Policy(SOURCES, "no-confidence"),
    "no-prior": Policy(SOURCES, "no-prior"),
    "hard-gate": Policy(SOURCES, "hard-gate"),
    "soft-priors": Policy(SOURCES, "no-confidence", (0.55, 0.30, 0.15)),
    "sharp-priors": Policy(SOURCES, "no-confidence", (0.85, 0.10, 0.05)),
    "recap": Policy(SOURCES, "recap"),
}

#: Sums over states, by name; every figure is a ratio of two of them.
Counts = Counter[str]


class Maps(NamedTuple):
    """What a `TreeBuilder` reads."""

    trigram: MapArrays
    bigram: MapArrays
    unigram: MapArrays


def restrict(memories: RecordedMemories, sources: Sequence[Source]) -> Maps:
    """The maps of these sources, the others empty."""
    vocab_size = len(memories.unigram.slots)
    return Maps(
        *(
            memories.map(source) if source in sources else empty_map(order, vocab_size)
            for source, order in (("G", 3), ("C", 2), ("U", 1))
        )
    )


def count_states(trajectory: Trajectory) -> Counts:
    """All states of a text, with memories that hold the rows of its earlier states."""
    counts: Counts = Counter(stand_ins=trajectory.num_stand_ins)
    memories = RecordedMemories(trajectory.vocab_size)
    builders = {
        name: TreeBuilder(
            RecapConfig(fusion=policy.rule, specificity_priors=policy.specificity_priors, suffix_max_nodes=0),
            trajectory.blocked_ids,
        )
        for name, policy in POLICIES.items()
    }
    for state, row in enumerate(trajectory.rows):
        history, continuation = trajectory.history_at(state), trajectory.continuation_at(state)
        context = last_three(history)
        found = memories.found(context)
        counts.update(count_sources("own", found, int(continuation[0])))
        counts.update(count_rules("", found, int(continuation[0])))
        counts.update(_count_matches(memories, builders, history, continuation))
        put_state(memories, context, row)
    return counts


def put_state(memories: RecordedMemories, context: np.ndarray, row: PredictionRow) -> None:
    """Write the row of a state under its last three tokens [3], as a batch of its own."""
    keys = {source: context[SOURCES.index(source) :] for source in SOURCES}
    memories.put([(source, tuple(key.tolist()), row) for source, key in keys.items() if key.min() >= 0])


def count_sources(prefix: str, found: Mapping[Source, FoundRow], target_id: int) -> Counts:
    """At one state: which memories have a row, and whose row holds the token the target chose."""
    counts: Counts = Counter({f"{prefix}/states": 1})
    for source, row in found.items():
        counts[f"{prefix}/{source}/covered"] = 1
        counts[f"{prefix}/{source}/hit"] = int(target_id in row.token_ids)
    return counts


def count_passes(trajectory: Trajectory, replayed: ReplayedPass) -> Counts:
    """The states of one pass against the memories as the run had them, and whether the pass came out the same."""
    counts: Counts = Counter(passes=1)
    for offset, context in enumerate(pass_contexts(trajectory, replayed)):
        target_id = int(trajectory.continuation_at(replayed.state + offset)[0])
        counts.update(count_sources("run", replayed.memories.found(context), target_id))
    if replayed.tree is not None:
        counts["replayed"] = 1
        counts["same_tree"] = int(replayed.is_same_tree())
        counts["same_accepted"] = int(replayed.num_accepted == len(replayed.iteration.accepted))
        counts["accepted"] = replayed.num_accepted
    return counts


def count_weights(run: Run) -> Counts:
    """Fusion weights by how many rows were found, over all expanded nodes (Table 17)."""
    counts: Counts = Counter()
    nodes = (node for it in run.iterations if it.detail for node in it.detail.nodes)
    for node in nodes:
        number = len(node.retrieved)
        if number > 1:
            counts[f"calls/{number}"] += 1
            for rank, found in enumerate(node.retrieved):
                counts[f"weight/{number}/{rank}"] += found.weight
    return counts


def count_rules(prefix: str, found: Mapping[Source, FoundRow], target_id: int) -> Counts:
    """Which policies keep the target's token, at all states and where the rows found name different first tokens.

    A `gain` is a difference at the same state, so it may be below zero: of each rule over c = 1 (Table 14), and of
    RECAP's over the hard gate where the rows disagree (Table 16).
    """
    counts: Counts = Counter()
    first_ids = {int(row.token_ids[0]) for row in found.values()}
    is_disputed = len(first_ids) > 1
    if is_disputed:
        counts["disputed"] = 1
        for source, row in found.items():
            counts[f"disputed/{source}"] = 1
            counts[f"disputed/{source}/hit8"] = int(target_id in row.token_ids)
            counts[f"disputed/{source}/hit1"] = int(target_id == row.token_ids[0])
    for name, (sources, rule, priors) in POLICIES.items():
        rows = [found[source] for source in sources if source in found]
        if not rows:
            continue
        kept = fuse(*zip(*rows, strict=True), rule, priors).token_ids
        counts[f"rule/{name}/hit"] = int(target_id in kept)
        if is_disputed:
            counts[f"disputed/{name}/hit8"] = int(target_id in kept)
            counts[f"disputed/{name}/hit1"] = int(target_id == kept[0])
    for name in POLICIES:
        counts[f"rule/{name}/gain"] = counts[f"rule/{name}/hit"] - counts["rule/no-confidence/hit"]
    for hit in ("hit1", "hit8"):
        counts[f"disputed/gain/{hit}"] = counts[f"disputed/recap/{hit}"] - counts[f"disputed/hard-gate/{hit}"]
    return Counter({prefix + name: count for name, count in counts.items()})


def _count_matches(
    memories: RecordedMemories,
    builders: Mapping[str, TreeBuilder],
    history: np.ndarray,
    continuation: np.ndarray,
) -> Counts:
    """Matched continuation length of every policy's tree, at equal numbers of nodes."""
    trees = {}
    for name, builder in builders.items():
        maps = restrict(memories, POLICIES[name].sources)
        trees[name] = builder.search(maps, history, MAX_NODES)[:2]
    num_nodes = min(len(token_ids) for token_ids, _ in trees.values())
    counts: Counts = Counter(nodes=num_nodes - 1)
    for name, (token_ids, parents) in trees.items():
        counts[f"matched/{name}"] = matched_length(token_ids[:num_nodes], parents[:num_nodes], continuation)
    return counts
