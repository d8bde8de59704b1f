"""What a recorded run says about its own text: the states it went through, and the row predicted at each.

A *state* is a position of the output from which the target chose a next token: the root and the accepted nodes of every
pass. A pass records the rows that were written to a memory. A node whose last three tokens stood at an earlier node
of the same pass wrote to none (the first occurrence is kept), so its own row is not in the trace; the row that was kept
for these tokens stands in for it, and the stand-ins are counted. A run of `recap@0`, one node a pass, has none.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from recap.config import RecapConfig
from recap.errors import TraceError
from recap.events import Iteration, PredictionRow, Run, Trace
from recap.metrics import output_ids
from recap.prediction_map import MAX_VOCAB_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A text and the rows predicted along it.

    Attributes:
        history: int64 [num_prompt + num_output], prompt and output ids.
        num_prompt: prompt tokens; the first state's history ends with the first output token.
        rows: [num_states], the row predicted at each state. State t has the history up to output token t and chooses
            output token t + 1.
        num_stand_ins: rows among them that another node of the same pass and context left.
        blocked_ids: ids that are never drafted.
        vocab_size: one more than the highest id met.
    """

    history: np.ndarray
    num_prompt: int
    rows: tuple[PredictionRow, ...]
    num_stand_ins: int
    blocked_ids: frozenset[int]
    vocab_size: int

    def history_at(self, state: int) -> np.ndarray:
        """The tokens that the target had read at a state."""
        return self.history[: self.num_prompt + state + 1]

    def continuation_at(self, state: int) -> np.ndarray:
        """What it wrote from there on; the first one is its choice at that state."""
        return self.history[self.num_prompt + state + 1 :]


def read_trajectory(trace: Trace, run: Run) -> Trajectory:
    """The states of a run that was recorded with its memories.

    Raises:
        TraceError: a pass without details, or one that wrote nothing for a state.
    """
    num_prompt = len(trace.request.prompt_ids)
    history = np.array((*trace.request.prompt_ids, *output_ids(run)), np.int64)
    rows: list[PredictionRow] = []
    num_stand_ins = 0
    for iteration in run.iterations:
        if iteration.detail is None:
            raise TraceError(f"Pass {iteration.index} of run {run.name} was not recorded node by node.")
        row_of_node = {write.node: write.row for write in iteration.detail.writes}
        row_of_key = {write.key_ids: write.row for write in iteration.detail.writes}
        for node in state_nodes(iteration):
            key = tuple(history[: num_prompt + len(rows) + 1][-3:].tolist())
            row = row_of_node.get(node, row_of_key.get(key))
            if row is None:
                raise TraceError(
                    f"Pass {iteration.index} of run {run.name} has no row for the state after {key}."
                )
            num_stand_ins += node not in row_of_node
            rows.append(run.rows[row])
    vocab_size = 1 + _highest_id(trace, run)
    if vocab_size >= MAX_VOCAB_SIZE:
        raise TraceError(
            f"Token ids must be below {MAX_VOCAB_SIZE - 1} to be replayed; got {vocab_size - 1}."
        )
    return Trajectory(history, num_prompt, tuple(rows), num_stand_ins, _blocked_ids(trace, run), vocab_size)


def state_nodes(iteration: Iteration) -> tuple[int, ...]:
    """The nodes of a pass that are states of the text, in order: as many as it committed tokens."""
    return (0, *iteration.accepted)[: len(iteration.committed_ids)]


def recorded_config(run: Run) -> RecapConfig | None:
    """The configuration a RECAP run was made with, from its settings' texts; None for other methods."""
    texts = dict(run.settings)
    if "specificity_priors" not in texts:
        return None
    known = {f.name: _value(texts[f.name]) for f in fields(RecapConfig) if f.name in texts}
    try:
        return replace(RecapConfig(), **known)
    except (ValueError, TypeError) as error:
        raise TraceError(f"The settings of run {run.name} cannot be used: {error}.") from error


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _blocked_ids(trace: Trace, run: Run) -> frozenset[int]:
    recorded = _value(dict(run.settings).get("blocked_ids", "()"))
    ids = {token for token in recorded if isinstance(token, int)} if isinstance(recorded, tuple) else set()
    image_token_id = trace.request.image_token_id
    return frozenset(ids if image_token_id is None else ids | {image_token_id})


def _highest_id(trace: Trace, run: Run) -> int:
    """Over everything that becomes a key or a candidate: the maps are sized by it."""
    details = [iteration.detail for iteration in run.iterations if iteration.detail is not None]
    nodes = [node for detail in details for node in detail.nodes]
    ids = {*trace.request.prompt_ids, *output_ids(run)}
    ids.update(*(row.token_ids for row in run.rows))
    ids.update(
        *(write.key_ids for writes in (run.prefill.writes, *(d.writes for d in details)) for write in writes)
    )
    ids.update(*(found.key_ids for node in nodes for found in node.retrieved))
    ids.update(node.token_id for node in nodes)
    return max(ids)
