"""A recorded trace as lessons ask it: passes, their roots, and what the memories said there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recap.events import Iteration, Node, PredictionRow, RetrievedRow, Run, Trace
from visualize.token_forms import TokenForms

#: The runs that the lessons speak of: the paper's budget, the same begun with an empty U, and the measured budget.
RUN = "recap@63"
EMPTY_U = "U empty@63"
AUTO = "recap@auto"
#: Most specific first.
SOURCES = ("G", "C", "U")


@dataclass(frozen=True)
class Recorded:
    """A trace and its name, which is its file's."""

    name: str
    trace: Trace

    def form(self, *token_ids: int) -> str:
        """The visible form of one or several tokens."""
        return TokenForms(self.trace).forms(token_ids)

    def run(self, name: str) -> Run | None:
        """The run of that name, if it has ended and was recorded node by node."""
        run = next((run for run in self.trace.runs if run.name == name), None)
        is_whole = run is not None and run.finished is not None and all(it.detail for it in run.iterations)
        return run if is_whole else None

    def roots(self, run_name: str = RUN) -> list[Root]:
        """The roots of a run in order; none where the run is missing."""
        run = self.run(run_name)
        return [] if run is None else [Root(self, run, iteration) for iteration in run.iterations]


class Found(NamedTuple):
    """A row that was found at a root, and its first choice."""

    found: RetrievedRow
    row: PredictionRow

    @property
    def first_id(self) -> int:
        """The likeliest token after the row's key."""
        return self.row.token_ids[0]

    @property
    def probability(self) -> float:
        """That token's probability."""
        return self.row.probabilities[0]


@dataclass(frozen=True)
class Root:
    """The root of one pass of a run."""

    recorded: Recorded
    run: Run
    iteration: Iteration

    @property
    def node(self) -> Node:
        """Its node."""
        return self.iteration.detail.nodes[0]

    @property
    def rows(self) -> dict[str, Found]:
        """The rows found here by source."""
        return {row.source: Found(row, self.run.rows[row.row]) for row in self.node.retrieved}

    @property
    def is_open(self) -> bool:
        """Whether nothing cut the pass: it ended with a token of the target's own."""
        return self.iteration.target_selected_id is not None

    @property
    def is_first_choice_right(self) -> bool:
        """Whether the mixture's first choice is the target's."""
        return bool(self.node.kept_ids) and self.node.kept_ids[0] == self.node.greedy_id

    @property
    def num_written(self) -> int:
        """Tokens that the pass committed."""
        return len(self.iteration.committed_ids)

    @property
    def num_words(self) -> int:
        """Tokens that the pass committed and that begin a word."""
        return sum(self.form(token_id).startswith("·") for token_id in self.iteration.committed_ids)

    def is_right(self, source: str) -> bool:
        """Whether that source has a row here, and its first choice is the target's."""
        return source in self.rows and self.rows[source].first_id == self.node.greedy_id

    def form(self, *token_ids: int) -> str:
        """The visible form of one or several tokens."""
        return self.recorded.form(*token_ids)


class Chosen(NamedTuple):
    """What a rule has found: where the steps of a lesson stand, and what is told there, all read from the trace."""

    places: dict[str, Root]
    facts: dict[str, str | int | float]


def request_number(run: Run) -> int:
    """The request's number in its stream, from 1: that of the rows which the prompt wrote."""
    return run.rows[run.prefill.writes[0].row].written_in_request


def all_roots(traces: Sequence[Recorded]) -> Iterator[Root]:
    """The roots of all traces' runs with the paper's budget."""
    for recorded in traces:
        yield from recorded.roots()
