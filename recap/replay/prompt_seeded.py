"""The replay with U seeded by the prompt: what Tables 7 and 14 and the end of Section 5.2 are counted from.

C and G start empty, and U holds what prefill wrote, as at the first request of a stream; otherwise as in `counts`.
"""

from __future__ import annotations

from collections import Counter

from recap.config import RecapConfig
from recap.events import Run
from recap.replay.counts import MAX_NODES, Counts, count_rules, put_state
from recap.replay.passes import RecordedMemories, last_three, matched_length, rows_of
from recap.replay.trajectory import Trajectory
from recap.search import TreeBuilder
from recap.suffix import SuffixAutomaton


def count_seeded_states(trajectory: Trajectory, run: Run) -> Counts:
    """All states of a text; every name begins with `seeded/`."""
    counts: Counts = Counter()
    memories = RecordedMemories(trajectory.vocab_size)
    memories.put(rows_of(run, run.prefill.writes))
    suffix = SuffixAutomaton(trajectory.blocked_ids)
    suffix.extend(trajectory.history_at(0))
    for state, row in enumerate(trajectory.rows):
        context, continuation = last_three(trajectory.history_at(state)), trajectory.continuation_at(state)
        found = memories.found(context)
        target_id = int(continuation[0])
        counts.update(count_rules("seeded/", found, target_id))
        if "G" in found and "U" in found:
            is_hit = {source: int(target_id in found[source].token_ids) for source in ("G", "U")}
            counts["seeded/both"] += 1
            counts["seeded/both/gain"] += is_hit["G"] - is_hit["U"]
            counts.update({f"seeded/both/{source}/hit": hit for source, hit in is_hit.items()})
        counts.update(_count_suffix(trajectory, state, memories, suffix))
        put_state(memories, context, row)
        suffix.extend(continuation[:1])
    return counts


def _count_suffix(
    trajectory: Trajectory, state: int, memories: RecordedMemories, suffix: SuffixAutomaton
) -> Counts:
    """How far fusion alone (c = 1) and fusion with the copied continuation reach, at equal numbers of nodes.

    The copied nodes count inside the budget, so fusion alone has the fewer nodes of the two, and the other tree is made
    as large as that one.
    """
    fusion = RecapConfig(max_nodes=MAX_NODES, fusion="no-confidence", suffix_max_nodes=0)
    alone = TreeBuilder(fusion, trajectory.blocked_ids).search(
        memories, trajectory.history_at(state), MAX_NODES
    )
    num_nodes = len(alone[0]) - 1
    both = RecapConfig(max_nodes=num_nodes, fusion="no-confidence", suffix_inside_budget=True)
    copied = suffix.continuation(both.suffix_min_match, both.max_depth + both.suffix_max_nodes)
    tree = TreeBuilder(both, trajectory.blocked_ids).build(memories, trajectory.history_at(state), copied)
    continuation = trajectory.continuation_at(state)
    lengths = {
        "fusion": matched_length(*alone[:2], continuation),
        "suffix": matched_length(tree.token_ids, tree.parent_indices, continuation),
    }
    return Counter(
        {
            "seeded/suffix/nodes": num_nodes,
            "seeded/suffix/gain": lengths["suffix"] - lengths["fusion"],
            "seeded/suffix/new_first": int(lengths["suffix"] > 0 and lengths["fusion"] == 0),
            **{f"seeded/matched/{name}": length for name, length in lengths.items()},
        }
    )
