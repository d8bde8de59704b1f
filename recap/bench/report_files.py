"""Where a benchmark's reports go: JSON, and the same as Markdown tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recap.bench.report import to_markdown
from recap.errors import InputError


def check_writable(paths: Sequence[Path | None]) -> None:
    """A report that cannot be written must be known before an hour of measuring, not after it. Raises InputError."""
    for path in paths:
        if path and not path.parent.is_dir():
            raise InputError(f"The folder {path.parent} does not exist; make it first, or name another file.")
        if path and path.is_dir():
            raise InputError(f"{path} is a folder; name a file in it.")


def write_report(report: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the report to `options.json`, its tables to `options.markdown` if that is named, and print these."""
    options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    write_markdown(report, options.markdown)


def write_markdown(report: dict[str, Any], path: Path | None) -> None:
    """Print the report's tables; write them to `path`, too, if there is one."""
    markdown = to_markdown(report)
    if path:
        path.write_text(markdown, "utf-8")
    print(markdown)
