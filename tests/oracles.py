"""Slow, obvious second implementations of the method, in plain Python, that the fast code is compared with.

Nothing here imports `recap`: tokens are ints, rows are tuples, memories are dicts, trees are lists. Each
function states one rule of the method and is written for reading, not for speed.
"""

from __future__ import annotations

import bisect
import itertools
import math
import os
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

ROW_WIDTH = 8
SPECIFICITY_PRIORS = (0.70, 0.20, 0.10)
DEPTH_PRIORS = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
SOURCES = ("G", "C", "U")
#: Tokens of context that each map's key holds.
KEY_LENGTHS = {"G": 3, "C": 2, "U": 1}
RULES = ("recap", "no-confidence", "no-prior", "uniform", "hard-gate", "back-off", "unigram")


def scaled(count: int, at_least: int = 1) -> int:
    """How many random cases to draw: `count` at RECAP_TEST_SCALE=1, a tenth of it by default."""
    return max(at_least, round(count * float(os.environ.get("RECAP_TEST_SCALE", "0.1"))))


# ---------------------------------------------------------------------------------------- rows (Eq. 2)


@dataclass(frozen=True)
class Row:
    """A prediction row: ids by falling probability, their probabilities, and exp(-entropy)."""

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    confidence: float


def entropy(probabilities: Iterable[float]) -> float:
    """Entropy in nats, with 0 log 0 = 0."""
    return -sum(p * math.log(p) for p in probabilities if p > 0)


def confidence_of(probabilities: Iterable[float]) -> float:
    """The confidence exp(-H), in fp32 as rows keep it."""
    return float(np.float32(math.exp(-entropy(probabilities))))


def sum_in_order(values: Iterable[float]) -> float:
    """A plain left-to-right sum; the built-in one rounds differently from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def top_ids(scores: Sequence[float], count: int) -> list[int]:
    """Ids of the `count` highest scores; of equal scores the lower id comes first."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count]


def greedy_id(scores: Sequence[float]) -> int:
    """Argmax, ties to the lowest id."""
    return max(range(len(scores)), key=lambda i: (scores[i], -i))


def prediction_row(scores: Sequence[float], width: int = ROW_WIDTH) -> Row:
    """Softmax over just the `width` highest scores, in fp32."""
    ids = top_ids(scores, width)
    highest = np.float32(scores[ids[0]])
    exponentials = [np.exp(np.float32(scores[i]) - highest) for i in ids]
    total = np.float32(0)
    for value in exponentials:
        total = np.float32(total + value)
    probabilities = tuple(float(np.float32(value / total)) for value in exponentials)
    return Row(tuple(ids), probabilities, confidence_of(probabilities))


# -------------------------------------------------------------------------------------------- memories


@dataclass(frozen=True)
class Write:
    """One row written: the node (or prompt position) that wrote it, and the row it replaced."""

    source: str
    key: tuple[int, ...]
    node: int
    row: Row
    replaced: Row | None


@dataclass
class DictMemories:
    """Three dicts: the last three, two and one tokens of a context, each to the row predicted after it."""

    maps: dict[str, dict[tuple[int, ...], Row]] = field(default_factory=lambda: {s: {} for s in SOURCES})

    def lookup(self, context: Sequence[int]) -> list[tuple[str, Row]]:
        """The rows found under a context, most specific first; none under a key longer than the context."""
        found = []
        for source in SOURCES:
            key = last_tokens(context, KEY_LENGTHS[source])
            if key is not None and key in self.maps[source]:
                found.append((source, self.maps[source][key]))
        return found

    def write_pass(
        self, history: Sequence[int], token_ids: Sequence[int], parents: Sequence[int], rows: Sequence[Row]
    ) -> list[Write]:
        """One target pass: every node writes all maps under its own path.

        Of several nodes with one key the first in packed order counts. `history` ends with the
        root, which is node 0 of the packed tree.
        """
        batch: dict[tuple[str, tuple[int, ...]], int] = {}
        for node in range(len(token_ids)):
            context = list(history[:-1]) + [token_ids[i] for i in path_to(node, parents)]
            for source in SOURCES:
                key = last_tokens(context, KEY_LENGTHS[source])
                if key is not None and (source, key) not in batch:
                    batch[source, key] = node
        writes = [
            Write(source, key, node, rows[node], self.maps[source].get(key))
            for (source, key), node in batch.items()
        ]
        for write in writes:
            self.maps[write.source][write.key] = write.row
        return writes

    def write_prompt(
        self, prompt_ids: Sequence[int], rows: Mapping[int, Row], blocked: Collection[int]
    ) -> None:
        """Prefill seeds U only: the first occurrence of each token that is no placeholder.

        `rows` maps an eligible prompt position to the row predicted there.
        """
        batch: dict[tuple[int, ...], Row] = {}
        for position, token_id in enumerate(prompt_ids):
            if token_id not in blocked and (token_id,) not in batch:
                batch[token_id,] = rows[position]
        self.maps["U"].update(batch)

    def reset_request(self) -> None:
        """G and C live for one request; U lives on."""
        self.maps["G"], self.maps["C"] = {}, {}

    def copy(self) -> DictMemories:
        return DictMemories({source: dict(entries) for source, entries in self.maps.items()})


def last_tokens(context: Sequence[int], count: int) -> tuple[int, ...] | None:
    """The last `count` tokens, or None where there are fewer."""
    return tuple(context[-count:]) if len(context) >= count else None


# ----------------------------------------------------------------------------------- fusion (Eqs. 4-6)

Candidates = list[tuple[int, float]]


def fusion_weights(
    found: Sequence[tuple[str, Row]], rule: str = "recap", priors: Sequence[float] = SPECIFICITY_PRIORS
) -> list[float]:
    """w_j = a_j c_j / sum of a_i c_i, with a by RANK among the rows found; the variants drop parts of it.

    Always one weight per row found; the rules that use a single row give all other rows the weight 0.
    """
    if rule == "unigram":
        return [1.0 if source == "U" else 0.0 for source, _ in found]
    if rule == "back-off":
        return [1.0 if rank == 0 else 0.0 for rank in range(len(found))]
    if rule == "hard-gate":
        best = max((row.confidence for _, row in found), default=0.0)
        winner = [row.confidence for _, row in found].index(best) if found else -1
        return [1.0 if rank == winner else 0.0 for rank in range(len(found))]
    uses_prior = rule in ("recap", "no-confidence")
    uses_confidence = rule in ("recap", "no-prior")
    raw = [
        (priors[rank] if uses_prior else 1.0) * (row.confidence if uses_confidence else 1.0)
        for rank, (_, row) in enumerate(found)
    ]
    return [value / sum_in_order(raw) for value in raw]


def fuse(
    found: Sequence[tuple[str, Row]],
    rule: str = "recap",
    priors: Sequence[float] = SPECIFICITY_PRIORS,
    width: int = ROW_WIDTH,
) -> Candidates:
    """The kept (token, q) pairs, best first: top `width` of the mixture, renormalised. No row: none."""
    weights = fusion_weights(found, rule, priors)
    used = [(weight, row) for weight, (_, row) in zip(weights, found, strict=True) if weight > 0]
    if not used:
        return []
    if len(used) == 1:
        row = used[0][1]
        return list(zip(row.token_ids, row.probabilities, strict=True))
    mass: dict[int, float] = {}  # a dict keeps the order in which tokens are met
    for weight, row in used:
        for token_id, probability in zip(row.token_ids, row.probabilities, strict=True):
            mass[token_id] = mass.get(token_id, 0.0) + weight * probability
    met = list(mass)
    kept = sorted(met, key=lambda token_id: (-mass[token_id], met.index(token_id)))[:width]
    total = sum_in_order(mass[token_id] for token_id in kept)
    return [(token_id, mass[token_id] / total) for token_id in kept]


# ---------------------------------------------------------------------------------------- tree (Eq. 8)


@dataclass(frozen=True, order=True)
class Path:
    """A path of the search, without the root. Sorts as the search pops: best score, then rank path."""

    minus_score: float
    ranks: tuple[int, ...]
    token_ids: tuple[int, ...] = field(compare=False)
    q: float = field(compare=False)

    @property
    def score(self) -> float:
        return -self.minus_score

    @property
    def parent_ranks(self) -> tuple[int, ...]:
        return self.ranks[:-1]


@dataclass(frozen=True)
class SearchRules:
    """What the search is allowed: see the method's settings."""

    max_nodes: int = 63
    max_depth: int = 10
    width: int = ROW_WIDTH
    depth_priors: tuple[float, ...] = DEPTH_PRIORS
    blocked_ids: frozenset[int] = frozenset()
    forbid_repeated_edges: bool = False


#: Context (history and path) to the fused candidates after it.
Expand = Callable[[Sequence[int]], Candidates]


def depth_prior(depth: int, depth_priors: Sequence[float] = DEPTH_PRIORS) -> float:
    """The depth prior at depth 1, 2, ...; the last value holds for all deeper nodes."""
    return depth_priors[min(depth, len(depth_priors)) - 1]


def children(parent: Path | None, history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """The children that may be tried under a path (None: the root); scores are products along the path."""
    tokens = parent.token_ids if parent else ()
    ranks = parent.ranks if parent else ()
    score = parent.score if parent else 1.0
    depth = len(tokens) + 1
    if depth > rules.max_depth:
        return []
    walked = [history[-1], *tokens]
    edges = set(itertools.pairwise(walked))
    made: list[Path] = []
    for rank, (token_id, q) in enumerate(expand([*history, *tokens])):
        repeats_sibling = any(path.token_ids[-1] == token_id for path in made)
        repeats_edge = rules.forbid_repeated_edges and (walked[-1], token_id) in edges
        if token_id in rules.blocked_ids or repeats_sibling or repeats_edge:
            continue
        child_score = score * depth_prior(depth, rules.depth_priors) * q
        made.append(Path(-child_score, (*ranks, rank), (*tokens, token_id), q))
    return made[: rules.width]  # a filtered token is no child and takes no place


def brute_force_tree(history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """Enumerate EVERY path down to the depth, sort them all, take the first `max_nodes`."""
    every: list[Path] = []
    layer: list[Path | None] = [None]
    while layer:
        layer = [child for parent in layer for child in children(parent, history, expand, rules)]
        every += layer
    return sorted(every)[: rules.max_nodes]


def best_first_tree(
    history: Sequence[int], expand: Expand, rules: SearchRules, num_missed: int = 0
) -> tuple[list[Path], list[Path]]:
    """Pop the best open path, make it a node, push its children. Also the next `num_missed` paths."""
    made: list[Path] = []
    still_open = sorted(children(None, history, expand, rules))
    while still_open and len(made) < rules.max_nodes + num_missed:
        best = still_open.pop(0)
        made.append(best)
        for child in children(best, history, expand, rules):
            bisect.insort(still_open, child)
    return made[: rules.max_nodes], made[rules.max_nodes :]


def breadth_first_tree(history: Sequence[int], expand: Expand, rules: SearchRules) -> list[Path]:
    """Fixed expansion: depth by depth, every node `width` children, until the budget is full."""
    made: list[Path] = []
    layer = children(None, history, expand, rules)
    while layer and len(made) < rules.max_nodes:
        made += layer
        layer = [child for parent in layer for child in children(parent, history, expand, rules)]
    return made[: rules.max_nodes]


def is_prefix_closed(paths: Collection[Path]) -> bool:
    """Whether each path's parent is among the paths (or is the root)."""
    ranks = {path.ranks for path in paths}
    return all(not path.parent_ranks or path.parent_ranks in ranks for path in paths)


# ---------------------------------------------------------------------------------------------- suffix


def longest_suffix_match(
    history: Sequence[int], barriers: Collection[int] = (), min_match: int = 2
) -> tuple[int, int] | None:
    """(length, end) of the longest suffix seen earlier: `end` is just behind its LATEST occurrence.

    No match runs over a barrier, in the suffix or in the occurrence.
    """
    best: tuple[int, int] | None = None
    for end in range(1, len(history)):
        length = 0
        while length < end and history[end - 1 - length] == history[-1 - length]:
            if history[end - 1 - length] in barriers:
                break
            length += 1
        if length >= min_match and (best is None or length >= best[0]):
            best = (length, end)
    return best


def suffix_continuation(
    history: Sequence[int], barriers: Collection[int] = (), min_match: int = 2
) -> tuple[int, ...]:
    """What followed the latest occurrence of the longest suffix, up to a barrier or the history's end."""
    match = longest_suffix_match(history, barriers, min_match)
    if match is None:
        return ()
    return tuple(itertools.takewhile(lambda token_id: token_id not in barriers, history[match[1] :]))


# ----------------------------------------------------------------------------------------- packed tree


@dataclass(frozen=True)
class PackedTree:
    """A tree in packed order; node 0 is the root. `scores`: None for suffix nodes, 1 at the root."""

    token_ids: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    scores: tuple[float | None, ...]
    #: Place in the order of making: the root 0, the search's nodes, then the suffix nodes.
    pop_orders: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.token_ids)


def pack_tree(
    root_id: int, paths: Sequence[Path], continuation: Sequence[int] = (), max_new: int = 0
) -> PackedTree:
    """Depth-first preorder by rank path, after a walk of `continuation`.

    The walk shares what exists and adds at most `max_new` nodes, each the last among its siblings.
    """
    token: dict[tuple[int, ...], int] = {(): root_id}
    score: dict[tuple[int, ...], float | None] = {(): 1.0}
    for path in paths:
        token[path.ranks] = path.token_ids[-1]
        score[path.ranks] = path.score
    here: tuple[int, ...] = ()
    num_new = 0
    for token_id in continuation:
        kids = [ranks for ranks in token if len(ranks) == len(here) + 1 and ranks[:-1] == here]
        same = [ranks for ranks in kids if token[ranks] == token_id]
        if same:
            here = same[0]
            continue
        if num_new == max_new:
            break
        here = (*here, max((ranks[-1] for ranks in kids), default=-1) + 1)
        token[here], score[here] = token_id, None
        num_new += 1
    made = {ranks: order for order, ranks in enumerate(token)}  # dicts keep the order of making
    packed = sorted(token)  # a prefix sorts before its extensions: preorder
    index = {ranks: i for i, ranks in enumerate(packed)}
    return PackedTree(
        token_ids=tuple(token[ranks] for ranks in packed),
        parents=tuple(index[ranks[:-1]] if ranks else -1 for ranks in packed),
        depths=tuple(len(ranks) for ranks in packed),
        scores=tuple(score[ranks] for ranks in packed),
        pop_orders=tuple(made[ranks] for ranks in packed),
    )


# -------------------------------------------------------------------------------- verification (Eq. 1)


def path_to(node: int, parents: Sequence[int]) -> list[int]:
    """Packed indices from the root down to a node."""
    path = [node]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    return path


def ancestor_mask(parents: Sequence[int]) -> list[list[bool]]:
    """mask[i][j]: node i sees node j, which is itself or one of its ancestors."""
    paths = [set(path_to(i, parents)) for i in range(len(parents))]
    return [[j in path for j in range(len(parents))] for path in paths]


def positions(parents: Sequence[int], prefix_length: int) -> list[int]:
    """Prefix length + depth."""
    return [prefix_length + len(path_to(i, parents)) - 1 for i in range(len(parents))]


def walk(
    token_ids: Sequence[int], parents: Sequence[int], greedy_ids: Sequence[int]
) -> tuple[list[int], int]:
    """The accepted nodes in path order (without the root), and the target's choice after the last of them."""
    here, accepted = 0, []
    while True:
        kids = [i for i in range(len(parents)) if parents[i] == here and token_ids[i] == greedy_ids[here]]
        if not kids:
            return accepted, greedy_ids[here]
        here = kids[0]
        accepted.append(here)


@dataclass(frozen=True)
class Cut:
    """What a pass commits: accepted nodes and tokens left after a stop, and why it stopped (None: go on)."""

    accepted: tuple[int, ...]
    target_selected_id: int | None
    committed_ids: tuple[int, ...]
    stop_reason: str | None


def cut_block(
    token_ids: Sequence[int],
    accepted: Sequence[int],
    target_selected_id: int,
    end_ids: Collection[int],
    num_left: int,
) -> Cut:
    """Walk the block in order; the first of (end token, length cap) cuts behind that token."""
    block = [token_ids[node] for node in accepted] + [target_selected_id]
    committed: list[int] = []
    reason = None
    for token_id in block:
        committed.append(token_id)
        if token_id in end_ids:
            reason = "end_token"
        elif len(committed) == num_left:
            reason = "length"
        if reason:
            break
    has_selected = len(committed) == len(block)
    return Cut(
        accepted=tuple(accepted[: len(committed)]),
        target_selected_id=target_selected_id if has_selected else None,
        committed_ids=tuple(committed),
        stop_reason=reason,
    )


def gather(cache: Sequence[object], num_prefix: int, path: Sequence[int]) -> list[object]:
    """A layer's cache after a pass: the prefix, then the entries of the path (root first), nothing else."""
    return list(cache[:num_prefix]) + [cache[num_prefix + node] for node in path]


# -------------------------------------------------------------------------------------------- decoding

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


# ---------------------------------------------------------------------------------------- random cases


def random_probabilities(rng: random.Random, width: int) -> tuple[float, ...]:
    """A falling fp32 distribution of one of the shapes that break code."""
    shape = rng.choice(("one-hot", "flat", "dyadic", "tied", "steep", "mild", "mild"))
    if shape == "one-hot":
        return (1.0, *[0.0] * (width - 1))
    if shape == "dyadic":
        return (*[0.5 ** (i + 1) for i in range(width - 1)], 0.5 ** (width - 1))
    if shape == "flat":
        logits = [0.0] * width
    elif shape == "tied":
        levels = [rng.uniform(0, 3) for _ in range(max(1, width // 3))]
        logits = [rng.choice(levels) for _ in range(width)]
    else:
        logits = [rng.gauss(0, 6 if shape == "steep" else 1) for _ in range(width)]
    logits.sort(reverse=True)
    values = [math.exp(value - logits[0]) for value in logits]
    return tuple(float(np.float32(value / sum(values))) for value in values)


def random_row(rng: random.Random, alphabet: Sequence[int], vocab_size: int) -> Row:
    """A row over the ids of `alphabet`, filled up from the vocabulary; equal probabilities in rising ids."""
    width = min(ROW_WIDTH, vocab_size)
    ids = rng.sample(alphabet, min(width, len(alphabet)))
    while len(ids) < width:
        ids += {rng.randrange(vocab_size)} - set(ids)
    rng.shuffle(ids)
    probabilities = random_probabilities(rng, width)
    ordered = sorted(zip(probabilities, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return Row(tuple(i for _, i in ordered), tuple(p for p, _ in ordered), confidence_of(probabilities))


@dataclass(frozen=True)
class Case:
    """Random memories, with a history that ends inside them."""

    vocab_size: int
    alphabet: tuple[int, ...]
    history: tuple[int, ...]
    memories: DictMemories


VOCAB_SIZES = (5, 6, 8, 9, 17, 60, 300, 4_000, 50_000)


def random_case(rng: random.Random) -> Case:
    """Memories of any filling over few ids of any vocabulary: keys collide, tokens recur on branches."""
    vocab_size = rng.choice(VOCAB_SIZES)
    num_used = min(vocab_size, rng.choice((1, 3, 5, 8, 8, 12, 20)))
    alphabet = tuple({vocab_size - 1, *rng.sample(range(vocab_size), num_used)})
    history = tuple(rng.choice(alphabet) for _ in range(rng.choice((1, 2, 3, 4, 7, 12))))
    rows = [random_row(rng, alphabet, vocab_size) for _ in range(rng.choice((1, 4, 12)))]
    memories = DictMemories()
    for source in SOURCES:
        length = KEY_LENGTHS[source]
        share = rng.choice((0.0, 0.3, 0.7, 1.0, 1.0))
        num_keys = min(2 * len(alphabet) ** length, rng.choice((4, 40, 120)))
        keys = {tuple(rng.choice(alphabet) for _ in range(length)) for _ in range(num_keys)}
        if length <= len(history):
            keys.add(history[-length:])
        # sorted: a set's order must not decide which keys the generator fills
        memories.maps[source] = {key: rng.choice(rows) for key in sorted(keys) if rng.random() < share}
    return Case(vocab_size, alphabet, history, memories)


def random_rules(rng: random.Random, case: Case) -> SearchRules:
    """Search settings of all sizes, the extremes included."""
    return SearchRules(
        max_nodes=rng.choice((0, 1, 6, 24, 24, 63, 63, 63, 256)),
        max_depth=rng.choice((1, 2, 3, 10, 10, 10, 32)),
        width=rng.choice((1, 2, 3, 8, 8, 8)),
        depth_priors=rng.choice((DEPTH_PRIORS, DEPTH_PRIORS, (1.0,), (0.5,), (0.9, 0.25))),
        blocked_ids=frozenset(i for i in case.alphabet if rng.random() < rng.choice((0.0, 0.0, 0.2))),
        forbid_repeated_edges=rng.random() < 0.3,
    )


def random_parents(rng: random.Random, num_nodes: int, max_children: int = ROW_WIDTH) -> list[int]:
    """Parents of a random tree in depth-first preorder: a parent lies on the path to the node before."""
    parents = [-1]
    for node in range(1, num_nodes):
        above = [i for i in path_to(node - 1, parents) if parents.count(i) < max_children]
        parents.append(rng.choice(above))
    return parents
