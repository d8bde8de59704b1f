"""One run of the page: plain decoding first, then RECAP on the same request; both recorded, as one trace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from demo import texts
from recap.events import Iteration, Prefill, Run, Trace
from recap.metrics import first_difference, run_speedup
from recap.pictures import Picture, describe_picture
from recap.trace_io import dump_trace

GZIP_LEVEL = 5
#: Nodes of a run that are recorded in detail: all of any run with the page's first settings, and at most some 20 MB.
MAX_RECORDED_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Order:
    """What a user asked for, checked.

    Attributes:
        nodes: draft nodes of a pass, or `auto` for as many as are worth their measured time.
    """

    picture: Picture
    question: str
    nodes: int | Literal["auto"]
    max_new_tokens: int
    picture_path: Path
    model: str

    @property
    def asked(self) -> Asked:
        """What is kept of it beside the run."""
        return Asked(self.picture_path, self.question, self.max_new_tokens, self.model)


@dataclass(slots=True)
class Lane:
    """What one method has decoded so far: light enough to be sent while the other clock runs."""

    label: str
    text: str = ""
    num_tokens: int = 0
    num_passes: int = 0
    seconds: float = 0.0

    @property
    def figures(self) -> str:
        """Tokens, passes and seconds so far, in words; empty before the first token."""
        return texts.lane_figures(self.num_tokens, self.num_passes, self.seconds) if self.num_tokens else ""


@dataclass(slots=True)
class Progress:
    """A run as it goes: written by the model's thread, read by the page."""

    sentence: str = ""
    lanes: list[Lane] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a live run was asked, so that it can be asked again; the picture is read anew from its file."""

    picture_path: Path
    question: str
    max_new_tokens: int
    model: str


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run in the two forms that browsers ask for, both gzipped JSON: drawn for the player, and the trace itself.

    `asked` is None for a run that was not made here.
    """

    title: str
    payload: bytes
    trace: bytes
    asked: Asked | None = None

    def page(self) -> bytes:
        """The run as one gzipped HTML file that steps offline."""
        from visualize.page import page_of_payload

        text = page_of_payload(gzip.decompress(self.payload).decode("utf-8"), self.title)
        return gzip.compress(text.encode("utf-8"), GZIP_LEVEL)

    @property
    def num_bytes(self) -> int:
        """What the run takes in memory."""
        return len(self.payload) + len(self.trace)


class KeptReport(KeptRun):
    """A report in the same forms: its plots for the player, and the report itself."""

    def page(self) -> bytes:
        """The report as one gzipped HTML file."""
        from visualize.report_page import report_page

        text = report_page(json.loads(gzip.decompress(self.trace)))
        return gzip.compress(text.encode("utf-8"), GZIP_LEVEL)


def record_run(
    target: Any, memories: Any, order: Order, should_stop: Callable[[], bool], progress: Progress
) -> Trace | None:
    """Decode plainly, then with RECAP; None where a stop came before RECAP's first pass.

    `memories` is the session's stream: U carries over from its earlier requests, and returns to its state before this
    one on a stop or an error. `progress` is kept up to date.
    """
    # torch takes seconds to import, and the page opens before it; whoever has a target has it already.
    from recap.recording import RecordedRun, build_trace

    request = target.build_request(order.picture.image, order.question, max_new_tokens=order.max_new_tokens)
    runs: list[Run] = []
    plan = (
        ("ar", None, texts.PLAIN_LANE, texts.PLAIN_RUNNING),
        (f"recap@{order.nodes}", memories, texts.RECAP_LANE, texts.RECAP_RUNNING),
    )
    for method, stream_memories, label, sentence in plan:
        progress.sentence = sentence
        lane = Lane(label)
        progress.lanes = [*progress.lanes, lane]
        recorded = RecordedRun(target, request, method, stream_memories, should_stop, MAX_RECORDED_NODES)
        try:
            _follow(target, recorded, lane)
        finally:
            recorded.close()
        runs.append(recorded.run())
        if should_stop() and (method == "ar" or not runs[-1].iterations):
            return None
    return build_trace(target, request, order.question, runs, describe_picture(order.picture))


def _follow(target: Any, recorded: Any, lane: Lane) -> None:
    from recap.tokens import TextStream

    stream = TextStream(target.token_bytes, target.is_special)
    for event in recorded:
        if isinstance(event, Prefill):
            lane.text += stream.push([event.first_token_id])
            lane.num_tokens = 1
            lane.seconds = event.seconds
        elif isinstance(event, Iteration):
            lane.text += stream.push(event.committed_ids)
            lane.num_tokens += len(event.committed_ids)
            lane.num_passes = event.index
            lane.seconds += event.seconds.total
        else:
            lane.text += stream.finish()


def keep_run(trace: Trace, asked: Asked | None = None) -> KeptRun:
    """Draw a trace's figures and pack both forms; outside every clock."""
    from visualize.payload import build_payload

    payload = json.dumps(build_payload(trace), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return KeptRun(
        title=trace.title,
        payload=gzip.compress(payload.encode("utf-8"), GZIP_LEVEL),
        trace=gzip.compress(dump_trace(trace).encode("utf-8"), GZIP_LEVEL),
        asked=asked,
    )


def keep_report(report: dict[str, Any], data: bytes) -> KeptReport:
    """Draw a report's plots and pack both forms.

    Raises:
        TraceError: the report lacks what its figures need.
    """
    from visualize.report_page import report_payload

    payload = report_payload(report)
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return KeptReport(
        payload["title"], gzip.compress(text.encode("utf-8"), GZIP_LEVEL), gzip.compress(data, GZIP_LEVEL)
    )


def outcome_sentence(trace: Trace) -> str:
    """How the run ended, in one sentence."""
    ar_run, recap_run = trace.runs
    num_detailed = sum(iteration.detail is not None for iteration in recap_run.iterations)
    cut = "" if num_detailed == len(recap_run.iterations) else " " + texts.recorded_until(num_detailed)
    if recap_run.finished is None or recap_run.finished.stop_reason == "stopped":
        return texts.stopped(len(recap_run.iterations)) + cut
    ratio, difference = run_speedup(recap_run, ar_run), first_difference(recap_run, ar_run)
    return texts.finished(ratio, difference is None) + cut
