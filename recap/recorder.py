"""Turns a running decoding into records: which rows were found at each node, what was written, what just missed.

All of it happens outside the engine's clock, and only in runs that are recorded.
"""

from __future__ import annotations

import numpy as np

from recap.drafters.base import Drafter
from recap.drafters.recap import RecapDrafter, node_contexts
from recap.drafters.recap_auto import RecapAutoDrafter
from recap.events import (
    Environment,
    Event,
    Finished,
    Iteration,
    MemoryWrite,
    MissedPath,
    Node,
    PassDetail,
    Prefill,
    RetrievedRow,
    Run,
    SuffixMatch,
)
from recap.fusion import fuse
from recap.memory import NO_CONTEXT, SOURCES
from recap.row_table import Context, RowTable, key_ids
from recap.rows import make_rows
from recap.targets.base import Decoding, Scores
from recap.tree import DraftTree

#: Paths beyond the budget that a pass records, best first.
NUM_MISSED = 10


class Recorder:
    """Collects the events of one run and the table of prediction rows that they refer to."""

    def __init__(
        self,
        drafter: Drafter,
        name: str,
        method: str,
        settings: dict[str, object],
        environment: Environment,
        max_nodes: int | None = None,
    ) -> None:
        """`name` is unique in the trace to be; `settings` are shown as text.

        `max_nodes` bounds the record: the pass that would make it longer, and all behind it, are recorded without
        detail, and the setting `recorded_passes` tells how many have theirs.
        """
        self._drafter = drafter
        self._name = name
        self._method = method
        self._settings = tuple((key, str(value)) for key, value in settings.items())
        self._environment = environment
        self._num_nodes_left = max_nodes
        self._num_detailed: int | None = None
        self._table = RowTable(drafter.memories)
        self._prefill: Prefill | None = None
        self._iterations: list[Iteration] = []
        self._finished: Finished | None = None
        self._nodes: tuple[Node, ...] = ()
        self._missed: tuple[MissedPath, ...] = ()
        self._suffix_match: SuffixMatch | None = None
        self._replaced: list[tuple[int | None, ...]] = []
        self._scores: Scores | None = None

    def add(self, event: Event) -> None:
        """Append an event of the run."""
        if isinstance(event, Prefill):
            self._prefill = event
        elif isinstance(event, Iteration):
            self._iterations.append(event)
        else:
            self._finished = event

    def run(self) -> Run:
        """The run as recorded so far. Raises ValueError before prefill has ended."""
        if self._prefill is None:
            raise ValueError("a run must have its prefill event before it can be shown; got no event yet")
        return Run(
            name=self._name,
            method=self._method,
            settings=self._settings + self._cut_setting(),
            environment=self._environment,
            rows=tuple(self._table.rows),
            prefill=self._prefill,
            iterations=tuple(self._iterations),
            finished=self._finished,
        )

    def look_prompt(self, decoding: Decoding) -> None:
        """Note which rows of U the prompt is about to replace."""
        self._replaced = []
        if self._drafter.memories is not None:
            tokens = decoding.prompt_row_ids.tolist()
            self._replaced = [(self._table.find("U", (NO_CONTEXT, NO_CONTEXT, token)),) for token in tokens]

    def prompt_writes(
        self, prompt_ids: np.ndarray, decoding: Decoding, written: np.ndarray | None
    ) -> tuple[MemoryWrite, ...]:
        """The rows that seeded U. To be called right after they were written."""
        if self._drafter.memories is None or written is None or decoding.prompt_rows is None:
            return ()
        writes = []
        for index in np.flatnonzero(written).tolist():
            token = int(decoding.prompt_row_ids[index])
            row = self._table.add(decoding.prompt_rows, index)
            self._table.note("U", (token,), row)
            # Only a token's first occurrence writes, so its first place in the prompt is the row's.
            position = int(np.argmax(prompt_ids == token))
            writes.append(MemoryWrite("U", (token,), position, row, *self._replaced[index]))
        return tuple(writes)

    def look(self, history: np.ndarray, tree: DraftTree, scores: Scores) -> None:
        """Note what the tree was made from, before the pass writes its rows over it."""
        if self._num_nodes_left is not None and self._num_detailed is None:
            self._num_nodes_left -= len(tree.token_ids)
            if self._num_nodes_left < 0:
                self._num_detailed = len(self._iterations)
        if self._num_detailed is not None:
            return
        self._scores = scores
        drafter = self._drafter
        contexts = _contexts(history, tree)
        self._nodes = tuple(self._node(tree, scores, i, context) for i, context in enumerate(contexts))
        self._missed, self._suffix_match, self._replaced = (), None, []
        if isinstance(drafter, RecapDrafter):
            self._missed = _missed_paths(drafter, history, int((~tree.is_suffix).sum()) - 1)
            match = drafter.suffix.match()
            if match.length >= drafter.config.suffix_min_match:
                continuation = tuple(drafter.suffix_continuation().tolist())
                self._suffix_match = SuffixMatch(match.length, match.end, continuation)
        if drafter.memories is not None:
            self._replaced = [
                tuple(self._table.find(source, context) for source in SOURCES) for context in contexts
            ]

    def detail(self, history: np.ndarray, tree: DraftTree, written: np.ndarray | None) -> PassDetail | None:
        """The pass's detail, None behind the bound; `written` bool [num_nodes, 3] says which node wrote G, C and U."""
        if self._num_detailed is not None:
            return None
        memories = self._drafter.memories
        writes = []
        if memories is not None and written is not None:
            assert self._scores is not None, "detail follows look"
            rows = make_rows(self._scores.top_ids, self._scores.top_scores)
            contexts = _contexts(history, tree)
            for node in np.flatnonzero(written.any(axis=1)).tolist():
                row = self._table.add(rows, node)
                for column, source in enumerate(SOURCES):
                    if written[node, column]:
                        key = key_ids(source, contexts[node])
                        self._table.note(source, key, row)
                        writes.append(MemoryWrite(source, key, node, row, self._replaced[node][column]))
        return PassDetail(
            nodes=self._nodes,
            missed=self._missed,
            suffix_match=self._suffix_match,
            writes=tuple(writes),
            memory_sizes=memories.sizes if memories else None,
            budget=self._drafter.choice.record() if isinstance(self._drafter, RecapAutoDrafter) else None,
        )

    def _cut_setting(self) -> tuple[tuple[str, str], ...]:
        return () if self._num_detailed is None else (("recorded_passes", str(self._num_detailed)),)

    def _node(self, tree: DraftTree, scores: Scores, index: int, context: Context) -> Node:
        q, score = float(tree.q[index]), float(tree.scores[index])
        retrieved, kept_ids, kept_q = self._fusion_at(tree, index, context)
        return Node(
            token_id=int(tree.token_ids[index]),
            parent=int(tree.parent_indices[index]),
            depth=int(tree.depths[index]),
            rank=int(tree.ranks[index]),
            pop_order=int(tree.pop_orders[index]),
            # Methods without q propose what the text or a table of theirs holds: copies, as suffix nodes are.
            origin="root" if index == 0 else "suffix" if np.isnan(q) else "fusion",
            q=1.0 if index == 0 else None if np.isnan(q) else q,
            score=1.0 if index == 0 else None if np.isnan(score) else score,
            greedy_id=int(scores.top_ids[index, 0]),
            top_scores=scores.two_highest(index),
            retrieved=retrieved,
            kept_ids=kept_ids,
            kept_probabilities=kept_q,
        )

    def _fusion_at(
        self, tree: DraftTree, index: int, context: Context
    ) -> tuple[tuple[RetrievedRow, ...], tuple[int, ...], tuple[float, ...]]:
        """Rows found and mixture kept, where the search expanded the node (not its last node, none at full depth)."""
        drafter = self._drafter
        if not isinstance(drafter, RecapDrafter) or tree.is_suffix[index]:
            return (), (), ()
        config, memories = drafter.config, drafter.memories
        if tree.pop_orders[index] >= config.max_nodes or tree.depths[index] >= config.max_depth:
            return (), (), ()
        found = [(s, row) for s in SOURCES if (row := memories.lookup(s, context)) is not None]
        if not found:
            return (), (), ()
        fused = fuse(
            [row.token_ids for _, row in found],
            [row.probabilities for _, row in found],
            [row.confidence for _, row in found],
            config.fusion,
            config.specificity_priors,
            is_unigram_last=found[-1][0] == "U",
        )
        retrieved = tuple(
            RetrievedRow(
                source=source,
                key_ids=key_ids(source, context),
                row=self._table.number(source, context, row),
                prior=float(fused.priors[rank]),
                confidence=float(fused.confidences[rank]),
                weight=float(fused.weights[rank]),
                age_in_passes=memories.batch + 1 - row.batch,
            )
            for rank, (source, row) in enumerate(found)
        )
        return retrieved, tuple(fused.token_ids.tolist()), tuple(fused.q.tolist())


def _contexts(history: np.ndarray, tree: DraftTree) -> list[Context]:
    return [tuple(context) for context in node_contexts(history, tree).tolist()]


def _missed_paths(drafter: RecapDrafter, history: np.ndarray, budget: int) -> tuple[MissedPath, ...]:
    """The paths behind the first `budget`: the search's result for a larger budget starts with the same nodes."""
    token_ids, parents, q, scores, _ = drafter.search(history, budget + NUM_MISSED)
    missed = []
    for node in range(budget + 1, len(token_ids)):
        path = []
        above = node
        while above > 0:
            path.append(int(token_ids[above]))
            above = parents[above]
        missed.append(MissedPath(tuple(reversed(path)), float(q[node]), float(scores[node])))
    return tuple(missed)
