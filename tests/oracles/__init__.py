"""Slow, obvious second implementations of the method, in plain Python, that the fast code is compared with.

Nothing here imports `recap`: tokens are ints, rows are tuples, memories are dicts, trees are lists. Each function
states one rule of the method and is written for reading, not for speed. A module is what it is the oracle of;
`random_cases` draws what both sides are tried on. Tests import the names from here.
"""

from oracles.decoding import Pass, greedy_decode, recap_passes
from oracles.fusion import RULES, SPECIFICITY_PRIORS, Candidates, fuse, fusion_weights
from oracles.memories import KEY_LENGTHS, SOURCES, DictMemories, last_tokens
from oracles.random_cases import Case, random_case, random_parents, random_row, random_rules, scaled
from oracles.rows import Row, confidence_of, greedy_id, prediction_row, top_ids
from oracles.search import (
    DEPTH_PRIORS,
    Expand,
    Path,
    SearchRules,
    best_first_tree,
    breadth_first_tree,
    brute_force_tree,
    children,
    is_prefix_closed,
)
from oracles.suffix import longest_suffix_match, suffix_continuation
from oracles.trees import PackedTree, ancestor_mask, pack_tree, path_to, positions
from oracles.verification import cut_block, gather, walk

__all__ = [
    "DEPTH_PRIORS",
    "KEY_LENGTHS",
    "RULES",
    "SOURCES",
    "SPECIFICITY_PRIORS",
    "Candidates",
    "Case",
    "DictMemories",
    "Expand",
    "PackedTree",
    "Pass",
    "Path",
    "Row",
    "SearchRules",
    "ancestor_mask",
    "best_first_tree",
    "breadth_first_tree",
    "brute_force_tree",
    "children",
    "confidence_of",
    "cut_block",
    "fuse",
    "fusion_weights",
    "gather",
    "greedy_decode",
    "greedy_id",
    "is_prefix_closed",
    "last_tokens",
    "longest_suffix_match",
    "pack_tree",
    "path_to",
    "positions",
    "prediction_row",
    "random_case",
    "random_parents",
    "random_row",
    "random_rules",
    "recap_passes",
    "scaled",
    "suffix_continuation",
    "top_ids",
    "walk",
]
