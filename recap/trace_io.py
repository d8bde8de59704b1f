"""Traces as JSON files: written as they are, read back with every fault named in one sentence.

A file is checked in four steps: size, JSON, schema version, then types (pydantic, strict) and the rules between fields
(`trace_rules`). Whatever is wrong with it, `TraceError` is the only exception that leaves this module for a file that
could be opened.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from recap.errors import TraceError
from recap.events import SCHEMA_VERSION, Trace
from recap.trace_rules import check_rules
from recap.trace_values import one_line, shortened, shown

#: Largest trace file that is read, bytes.
MAX_TRACE_BYTES = 64 * 1024 * 1024

_ADAPTER: TypeAdapter[Trace] = TypeAdapter(Trace)


def dump_trace(trace: Trace) -> str:
    """The trace as one line of JSON; the same trace always gives the same text."""
    return _ADAPTER.dump_json(trace).decode()


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write the trace to `path` as JSON (UTF-8)."""
    Path(path).write_text(dump_trace(trace) + "\n", encoding="utf-8")


def load_trace(path: str | Path) -> Trace:
    """Read a trace file; at most 64 MB of it are ever read.

    Raises:
        TraceError: the file cannot be read, or is not a whole and consistent trace of this schema version.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TRACE_BYTES + 1)
    except OSError as error:
        raise TraceError(f"The trace {path.name} cannot be read: {error.strerror or error}.") from error
    return parse_trace(data)


def parse_trace(data: str | bytes) -> Trace:
    """A trace from its JSON text.

    Raises:
        TraceError: one sentence that names the place, e.g. "runs[1].iterations[3].detail.nodes[7].parent must ...".
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > MAX_TRACE_BYTES:
        raise TraceError(
            f"The file is too large for a trace: at most {MAX_TRACE_BYTES // 2**20} MB are read."
        )
    _check_version(data)
    try:
        trace = _ADAPTER.validate_json(data, strict=True, extra="forbid")
    except ValidationError as error:
        raise TraceError(_sentence(error)) from error
    check_rules(trace)
    return trace


def _check_version(data: bytes) -> None:
    """The version is looked at before anything else, so that a newer file is called newer and not broken."""
    if not data.strip():
        raise TraceError("The file is empty; a trace was expected.")
    try:
        content = from_json(data, cache_strings=False)
    except ValueError as error:
        reason = str(error)
        cut_off = " (it looks cut off)" if "EOF" in reason else ""
        raise TraceError(f"The file is not JSON{cut_off}: {reason[:200]}.") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, bool) or not isinstance(version, int):
        raise TraceError("The file is not a RECAP trace: schema_version is missing or is not a whole number.")
    if version > SCHEMA_VERSION:
        raise TraceError(
            f"The trace is newer than this program: schema_version must be {SCHEMA_VERSION}; got {shown(version)}."
        )
    if version != SCHEMA_VERSION:
        raise TraceError(f"schema_version must be {SCHEMA_VERSION}; got {shown(version)}.")


def _sentence(error: ValidationError) -> str:
    """The first fault as one sentence: the place, the rule, and what came."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    place = shortened(place) or "The trace"
    kind = first["type"]
    if kind in ("missing", "missing_argument"):
        return f"{place} is missing."
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{place} is not a field of a trace."
    rule = re.sub(r"^Input should (?:be )?", "must be ", first["msg"])
    rule = rule if rule.startswith("must") else f"must be right: {rule}"
    return f"{place} {one_line(rule)}; got {_described(first['input'])}."


def _described(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    return f"a list of {len(value)}" if isinstance(value, (list, tuple)) else shown(value)
