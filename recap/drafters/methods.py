"""Every method by name, and what the name means: the one table that messages, reports and the README print."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.drafters.base import Drafter
from recap.drafters.lookahead import LookaheadDrafter
from recap.drafters.prompt_lookup import PromptLookupDrafter
from recap.drafters.sam import SamDrafter
from recap.drafters.sam_viskip import SamViSkipDrafter
from recap.drafters.suffix_tree import SuffixTreeDrafter
from recap.drafters.token_recycling import TokenRecyclingDrafter
from recap.drafters.tree_recycling import TreeRecyclingDrafter


class Variant(NamedTuple):
    """RECAP under a name: what the name means, and the settings in which it differs from the defaults."""

    meaning: str
    settings: dict[str, Any]


class Other(NamedTuple):
    """A method that is not RECAP: what it is, and how it is made from (vocabulary size, blocked ids)."""

    meaning: str
    make: Callable[[int, Iterable[int]], Drafter]


VARIANTS: dict[str, Variant] = {
    "recap": Variant("the paper's method: 63 nodes, confidence times prior, suffix insertion", {}),
    "recap-no-confidence": Variant("fusion by prior alone (c = 1)", {"fusion": "no-confidence"}),
    "recap-no-prior": Variant("fusion by confidence alone (α = 1)", {"fusion": "no-prior"}),
    "recap-uniform": Variant("fusion with equal weights", {"fusion": "uniform"}),
    "recap-hard-gate": Variant("the most confident row alone", {"fusion": "hard-gate"}),
    "recap-back-off": Variant("the most specific row alone", {"fusion": "back-off"}),
    "recap-unigram": Variant("rows of U alone", {"fusion": "unigram"}),
    "recap-soft-priors": Variant(
        "c = 1 and the priors 0.55, 0.30, 0.15 (Appendix I)",
        {"fusion": "no-confidence", "specificity_priors": (0.55, 0.30, 0.15)},
    ),
    "recap-sharp-priors": Variant(
        "c = 1 and the priors 0.85, 0.10, 0.05 (Appendix I)",
        {"fusion": "no-confidence", "specificity_priors": (0.85, 0.10, 0.05)},
    ),
    "recap-fixed": Variant(
        "fixed expansion: breadth-first, two children at every node, until the budget is full",
        {"expansion": "fixed", "width": 2},
    ),
    "recap-no-suffix": Variant("without suffix insertion", {"suffix_max_nodes": 0}),
    "recap-budget-31": Variant(
        "31 nodes, suffix nodes among them", {"max_nodes": 31, "suffix_inside_budget": True}
    ),
    "recap-budget-63": Variant(
        "63 nodes, suffix nodes among them", {"max_nodes": 63, "suffix_inside_budget": True}
    ),
    "recap-budget-127": Variant(
        "127 nodes, suffix nodes among them", {"max_nodes": 127, "suffix_inside_budget": True}
    ),
    "recap-recency": Variant(
        "a root without rows takes the newest row (Appendix H)", {"root_fallback": "recency"}
    ),
    "recap-semantic": Variant(
        "a root without rows takes up to three rows by hidden state (Appendix H)",
        {"root_fallback": "semantic"},
    ),
}

OTHERS: dict[str, Other] = {
    "ar": Other("plain decoding: one token a pass", lambda vocab_size, blocked: AutoregressiveDrafter()),
    "prompt_lookup": Other(
        "Prompt Lookup Decoding: copies behind the last 4 to 1 tokens, at most 10",
        lambda vocab_size, blocked: PromptLookupDrafter(blocked),
    ),
    "lookahead": Other(
        "Lookahead by a trie of 12-token windows, 64 nodes by frequency",
        lambda vocab_size, blocked: LookaheadDrafter(blocked),
    ),
    "tree_recycling": Other("Tree Recycling: width 2, depth 4, this request's rows", TreeRecyclingDrafter),
    "token_recycling": Other("Token Recycling: a fixed tree of 80 nodes, rows kept", TokenRecyclingDrafter),
    "sam": Other(
        "SAM Decoding: copies behind the longest repeated suffix, at most 40",
        lambda vocab_size, blocked: SamDrafter(blocked),
    ),
    "sam_viskip": Other(
        "SAM, with no draft while the target looks at the picture",
        lambda vocab_size, blocked: SamViSkipDrafter(blocked),
    ),
    "suffix_tree": Other(
        "SuffixDecoding: trees of counted continuations of this request and earlier answers",
        lambda vocab_size, blocked: SuffixTreeDrafter(blocked),
    ),
    "suffix_path": Other(
        "SuffixDecoding with the most frequent path in place of a tree",
        lambda vocab_size, blocked: SuffixTreeDrafter(blocked, is_tree=False),
    ),
}

#: Names to meanings: plain decoding, RECAP and its ablations, the other methods.
METHODS: dict[str, str] = {
    "ar": OTHERS["ar"].meaning,
    **{name: variant.meaning for name, variant in VARIANTS.items()},
    **{name: other.meaning for name, other in OTHERS.items()},
}


def variant_settings(name: str) -> dict[str, Any] | None:
    """The settings in which RECAP under a name without nodes differs from the defaults; None where it is no such name.

    A name is one of `VARIANTS`, or several joined: `recap-no-confidence+fixed` has the settings of both. The paper's
    Tables 4, 7, 10 and 12 take single components away where c = 1 already, so their rows have such names.
    """
    first, *others = name.split("+")
    settings: dict[str, Any] = {}
    for variant in (first, *(f"recap-{other}" for other in others)):
        if variant not in VARIANTS or settings.keys() & VARIANTS[variant].settings.keys():
            return None
        settings |= VARIANTS[variant].settings
    return settings


def takes_nodes(name: str) -> bool:
    """Whether `@N` may stand behind the name: RECAP, unless the name has a budget of its own."""
    settings = variant_settings(name)
    return settings is not None and "max_nodes" not in settings


def method_table() -> str:
    """The names and their meanings as a Markdown table."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in METHODS.items()]
    return "\n".join(["| name | meaning |", "|---|---|", *rows])
