"""Files that people send to the page: only what was uploaded here is read, and a trace or a report comes of it."""

from __future__ import annotations

from pathlib import Path

from gradio.utils import get_upload_folder

from demo import texts
from demo.runs import KeptRun, keep_report, keep_run
from recap.errors import InputError, TraceError
from recap.trace_io import parse_trace

MAX_TRACE_BYTES = 48 * 1024 * 1024


def uploaded_file(path: object) -> Path:
    """The path of a file that was uploaded to the page; no other file of this machine is read for a visitor.

    Raises:
        InputError: it lies elsewhere.
    """
    folder = Path(get_upload_folder()).resolve()
    if not isinstance(path, str) or "\0" in path or not Path(path).resolve().is_relative_to(folder):
        raise InputError(texts.NOT_UPLOADED)
    return Path(path)


def read_opened(path: Path) -> KeptRun:
    """A trace or a report, drawn.

    Raises:
        TraceError: it is neither, or too large, or cannot be drawn.
    """
    from visualize.report_page import parse_report

    try:
        if path.stat().st_size > MAX_TRACE_BYTES:
            raise TraceError(texts.TRACE_TOO_LARGE)
        data = path.read_bytes()
    except OSError as error:  # uploaded files are deleted in time
        raise TraceError(texts.TRACE_GONE) from error
    report = parse_report(data)
    if report is not None:
        return keep_report(report, data)
    trace = parse_trace(data)
    try:
        return keep_run(trace)
    except (ValueError, LookupError, TypeError) as error:
        raise TraceError(texts.TRACE_FAILED) from error
