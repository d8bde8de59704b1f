"""What a run leaves behind: frozen records of plain values, from one looked-up row to a whole trace.

The engine yields a `Prefill`, one `Iteration` a verification pass, and a `Finished`. A `Trace` is one request with the
runs made on it. Every field is an int, float, string, bool, None or a tuple of records, so a trace can be saved,
sent and compared without the model. Passes count from 1; nodes are numbered by packed index, the root is node 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 1

Source = Literal["G", "C", "U"]
Origin = Literal["root", "fusion", "suffix"]
StopReason = Literal["end_token", "length", "stopped"]


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """Top-K of the target at one evaluated position (Eq. 2).

    `token_ids` and `probabilities` have length K, probabilities descending and summing to 1 over the K; `confidence`
    is exp(-entropy), in [1/K, 1]. `written_in_request` and `written_in_pass` tell the writer: the request's number in
    its stream (from 1) and the pass in that request (0 = prefill).
    """

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    confidence: float
    written_in_request: int
    written_in_pass: int


@dataclass(frozen=True, slots=True)
class RetrievedRow:
    """One row found when a node was expanded, most specific first.

    `row` is an index into the run's `rows`; `prior` is alpha by rank (1 where the rule drops it), `confidence` the c
    that the rule used (1 where it drops it), `weight` the normalised w of Eq. 4; `age_in_passes` counts target passes
    of the stream since the row was written (1 = the pass before this one).
    """

    source: Source
    key_ids: tuple[int, ...]
    row: int
    prior: float
    confidence: float
    weight: float
    age_in_passes: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the verified tree. `parent` is a packed index, -1 for the root.

    `pop_order` numbers nodes as the search made them (root 0, then 1, 2, ...; suffix nodes after all of them). `rank`
    is the place among the siblings. `q` (Eq. 6) and `score` (phi, Eq. 8) are None for suffix nodes; both are 1 at the
    root.
    `greedy_id` is the target's choice after this node; `top_scores` its two highest raw scores (logits).
    `retrieved` holds the rows found here when the search expanded this node (empty: never expanded, or no row),
    `kept_ids`/`kept_probabilities` the fused top-K that its children were drawn from.
    """

    token_id: int
    parent: int
    depth: int
    rank: int
    pop_order: int
    origin: Origin
    q: float | None
    score: float | None
    greedy_id: int
    top_scores: tuple[float, float]
    retrieved: tuple[RetrievedRow, ...]
    kept_ids: tuple[int, ...]
    kept_probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MissedPath:
    """A path that the search would have made a node next had the budget been larger, best first."""

    path_ids: tuple[int, ...]
    q: float
    score: float


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """One row written: `node` is the packed index that produced it (or the prompt position, at prefill)."""

    map: Source
    key_ids: tuple[int, ...]
    node: int
    row: int
    replaced_row: int | None


@dataclass(frozen=True, slots=True)
class SuffixMatch:
    """The longest suffix of the history seen before, and what followed its latest occurrence.

    `end` is the history index just behind that earlier occurrence; `continuation_ids` are the tokens copied from there.
    """

    length: int
    end: int
    continuation_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemorySizes:
    """Rows alive in each map."""

    trigram: int
    bigram: int
    unigram: int


@dataclass(frozen=True, slots=True)
class BudgetChoice:
    """What a pass chose its number of nodes from, in methods whose budget follows the cost of a pass.

    `num_nodes` searched nodes promised the most over the pace of the run. Beside it other node counts, rising, 0 and
    the most that were possible among them, with the tokens that a pass of so many was expected to commit, and its
    seconds by the measured cost.
    """

    num_nodes: int
    node_counts: tuple[int, ...]
    expected_tokens: tuple[float, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PassDetail:
    """All that the debugger shows of one pass; absent from runs that are not recorded.

    `budget` is None for methods with a fixed number of nodes, and in traces from before it was recorded.
    """

    nodes: tuple[Node, ...]
    missed: tuple[MissedPath, ...]
    suffix_match: SuffixMatch | None
    writes: tuple[MemoryWrite, ...]
    memory_sizes: MemorySizes | None
    budget: BudgetChoice | None = None


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """Seconds of one pass by stage. `draft`: lookup, fusion, search, suffix, packing. `verify`: the target pass and its
    top-K. `commit`: acceptance and the cache gather. `update`: memory writes and the suffix automaton."""

    draft: float
    verify: float
    commit: float
    update: float

    @property
    def total(self) -> float:
        """Sum of the stages, seconds."""
        return self.draft + self.verify + self.commit + self.update


@dataclass(frozen=True, slots=True)
class Prefill:
    """The prompt has been read. `seconds` covers image encoding, prefill and the first token, without input building.

    `first_token_id` is the first output token, chosen by the target alone. `writes` are the rows that seeded U.
    """

    num_prompt_tokens: int
    num_image_tokens: int
    first_token_id: int
    top_scores: tuple[float, float]
    seconds: float
    writes: tuple[MemoryWrite, ...]
    memory_sizes: MemorySizes | None


@dataclass(frozen=True, slots=True)
class Iteration:
    """One verification pass.

    `prefix_length` counts the cached positions before it (prompt and committed tokens without the root). `num_nodes`
    counts draft nodes, the root not included. `accepted` are packed indices of the accepted path after any cut, in
    path order; `committed_ids` their tokens plus the target-selected token (`target_selected_id`, None where an end
    token or the length cap cut before it). `stop_reason` is set on the pass that ended the run.
    """

    index: int
    prefix_length: int
    root_id: int
    num_nodes: int
    accepted: tuple[int, ...]
    target_selected_id: int | None
    committed_ids: tuple[int, ...]
    stop_reason: StopReason | None
    seconds: StageSeconds
    detail: PassDetail | None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run: all output ids, prefill's token first, and the clock (prefill and passes; no recording)."""

    output_ids: tuple[int, ...]
    num_passes: int
    stop_reason: StopReason
    prefill_seconds: float
    decode_seconds: float


Event = Prefill | Iteration | Finished


@dataclass(frozen=True, slots=True)
class TokenForm:
    """A token as bytes (hexadecimal) and in the visible form to show; `is_special` marks control tokens."""

    id: int
    bytes_hex: str
    form: str
    is_special: bool


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """The picture of a request: a thumbnail as a data URL, sizes in pixels (width, height), and what was changed."""

    thumbnail: str
    original_size: tuple[int, int]
    model_size: tuple[int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What was asked. `prompt_ids` are the ids the target read, image placeholders expanded (`image_token_id`)."""

    question: str
    prompt_ids: tuple[int, ...]
    image_token_id: int | None
    image: ImageInfo | None
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a run was measured."""

    device: str
    dtype: str
    torch_version: str
    transformers_version: str
    num_threads: int


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one request. `name` is unique in its trace (`ar`, `recap@63`); `settings` are (name, value) pairs
    in text; `finished` is None while a live run is still growing; `rows` is the row table that events refer to."""

    name: str
    method: str
    settings: tuple[tuple[str, str], ...]
    environment: Environment
    rows: tuple[PredictionRow, ...]
    prefill: Prefill
    iterations: tuple[Iteration, ...]
    finished: Finished | None


@dataclass(frozen=True, slots=True)
class Trace:
    """One request and the runs made on it: the file that the page plays, and that tests, lessons and exports share."""

    schema_version: int
    created: str
    title: str
    model: str
    request: RequestInfo
    tokens: tuple[TokenForm, ...]
    runs: tuple[Run, ...]
