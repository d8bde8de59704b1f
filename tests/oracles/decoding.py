"""Plain decoding, and the whole method pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from oracles.fusion import SPECIFICITY_PRIORS, fuse
from oracles.memories import DictMemories, Write
from oracles.rows import Row, greedy_id
from oracles.search import Path, SearchRules, best_first_tree
from oracles.suffix import suffix_continuation
from oracles.trees import PackedTree, pack_tree, path_to
from oracles.verification import Cut, cut_block, walk

#: A context to the target's full scores after it.
NextScores = Callable[[Sequence[int]], Sequence[float]]


def greedy_decode(
    next_scores: NextScores, prompt_ids: Sequence[int], max_new_tokens: int, end_ids: Collection[int]
) -> tuple[list[int], str]:
    """Plain decoding, one token a step: all output ids (an end token included) and why it stopped."""
    output: list[int] = []
    while True:
        output.append(greedy_id(next_scores([*prompt_ids, *output])))
        if output[-1] in end_ids:
            return output, "end_token"
        if len(output) == max_new_tokens:
            return output, "length"


@dataclass(frozen=True)
class Pass:
    """One pass of the whole method, as the oracle sees it."""

    prefix_length: int
    tree: PackedTree
    missed: tuple[Path, ...]
    greedy_ids: tuple[int, ...]
    cut: Cut
    writes: tuple[Write, ...]
    #: The memories before the pass wrote its rows.
    memories_before: DictMemories


def recap_passes(
    next_scores: NextScores,
    make_row: Callable[[Sequence[float]], Row],
    memories: DictMemories,
    prompt_ids: Sequence[int],
    max_new_tokens: int,
    end_ids: Collection[int],
    *,
    rules: SearchRules,
    rule: str = "recap",
    priors: Sequence[float] = SPECIFICITY_PRIORS,
    suffix_min_match: int = 2,
    suffix_max_nodes: int = 4,
    num_missed: int = 10,
) -> Iterator[Pass]:
    """The whole method on one request: seed, draft, verify, commit, write. `memories` is changed in place."""
    memories.reset_request()
    rows = {
        i: make_row(next_scores(prompt_ids[: i + 1]))
        for i, token in enumerate(prompt_ids)
        if token not in rules.blocked_ids
    }
    memories.write_prompt(prompt_ids, rows, rules.blocked_ids)
    output = [greedy_id(next_scores(prompt_ids))]
    if output[0] in end_ids or max_new_tokens == 1:
        return
    while True:
        history = [*prompt_ids, *output]
        paths, missed = best_first_tree(
            history, lambda context: fuse(memories.lookup(context), rule, priors), rules, num_missed
        )
        may_copy = rules.max_nodes > 0 and suffix_max_nodes > 0
        copied = suffix_continuation(history, rules.blocked_ids, suffix_min_match) if may_copy else ()
        tree = pack_tree(history[-1], paths, copied, suffix_max_nodes)
        contexts = [
            history[:-1] + [tree.token_ids[i] for i in path_to(node, tree.parents)]
            for node in range(len(tree))
        ]
        scores = [next_scores(context) for context in contexts]
        greedy_ids = tuple(greedy_id(s) for s in scores)
        accepted, selected = walk(tree.token_ids, tree.parents, greedy_ids)
        cut = cut_block(tree.token_ids, accepted, selected, end_ids, max_new_tokens - len(output))
        before = memories.copy()
        writes = memories.write_pass(history, tree.token_ids, tree.parents, [make_row(s) for s in scores])
        yield Pass(len(history) - 1, tree, tuple(missed), greedy_ids, cut, tuple(writes), before)
        output += cut.committed_ids
        if cut.stop_reason:
            return
