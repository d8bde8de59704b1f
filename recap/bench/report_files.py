"""Where a benchmark's reports go: JSON, and the same as Markdown tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from recap.bench.report import to_markdown
from recap.command_line import write_json


def write_report(report: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the report to `options.json`, its tables to `options.markdown` if that is named, and print these."""
    write_json(report, options.json)
    write_markdown(report, options.markdown)


def write_markdown(report: dict[str, Any], path: Path | None) -> None:
    """Print the report's tables; write them to `path`, too, if there is one."""
    markdown = to_markdown(report)
    if path:
        path.write_text(markdown, "utf-8")
    print(markdown)
