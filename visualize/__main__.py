"""Command line: a trace as HTML, JSON, SVG or PNG. `python -m visualize TRACE [--run NAME] [--step N] -o FILE`.

A report of the benchmark, of the replay or of counterfactual pictures in place of the trace becomes one HTML file.
`--lesson FILE` makes the page begin with a lesson.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from recap.errors import RecapError, TraceError
from recap.events import Run, Trace
from recap.trace_io import load_trace
from visualize.lessons import check_lesson, load_lesson
from visualize.page import standalone_page
from visualize.report_page import read_report, report_page
from visualize.run_figures import accepted_lengths_figure
from visualize.tree_figure import tree_figure

FORMATS = ("html", "json", "svg", "png")
_BROWSERS = ("google-chrome", "chromium", "chromium-browser", "chrome", "msedge")


class ExportError(RecapError):
    """A picture that cannot be drawn on this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status, 2 with one sentence on a fault that the user can mend."""
    parser = argparse.ArgumentParser(prog="python -m visualize", description=__doc__)
    parser.add_argument(
        "trace",
        type=Path,
        help="a trace, or a report of recap.bench, recap.replay or recap.counterfactual (JSON)",
    )
    parser.add_argument("--run", help="name of a run; by default the first that is not plain decoding")
    parser.add_argument("--step", type=int, help="a pass, from 1; without it the whole run")
    parser.add_argument("--lesson", type=Path, help="a lesson on this trace (JSON) to begin the page with")
    parser.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="colours of svg, png and json"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="FILE.html, .json, .svg or .png")
    options = parser.parse_args(arguments)
    try:
        _export(options)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{options.output} cannot be written: {error.strerror or error}.", file=sys.stderr)
        return 2
    return 0


def _export(options: argparse.Namespace) -> None:
    kind = options.output.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise ExportError(f"The output must end in .html, .json, .svg or .png; got {options.output.name}.")
    report = read_report(options.trace)
    if report is not None:
        if kind != "html":
            raise ExportError(
                f"A report becomes a page, so the output must end in .html; got {options.output.name}."
            )
        options.output.write_text(report_page(report), encoding="utf-8")
        return
    trace = load_trace(options.trace)
    run = find_run(trace, options.run)
    lesson = None
    if options.lesson is not None:
        if kind != "html":
            raise ExportError(
                f"A lesson needs a page, so the output must end in .html; got {options.output.name}."
            )
        lesson = load_lesson(options.lesson)
        check_lesson(lesson, trace)
    if options.step is not None and not 1 <= options.step <= len(run.iterations):
        raise TraceError(
            f"--step must be from 1 to {len(run.iterations)} in run {run.name}; got {options.step}."
        )
    if kind == "html":
        options.output.write_text(standalone_page(trace, run.name, options.step, lesson), encoding="utf-8")
        return
    if options.step is None:
        figure = accepted_lengths_figure(run, options.theme)
    else:
        iteration = run.iterations[options.step - 1]
        if iteration.detail is None:
            raise TraceError(
                f"Pass {options.step} of run {run.name} was not recorded node by node: it has no tree."
            )
        figure = tree_figure(trace, run, iteration, options.theme)
    if kind == "json":
        options.output.write_text(figure.to_json() + "\n", encoding="utf-8")
        return
    find_browser()
    try:
        figure.write_image(options.output, format=kind)
    except OSError:
        raise
    # A browser can fail in any way, and kaleido hands each one on as it is.
    except Exception as error:
        raise ExportError(
            f"The browser at {os.environ['BROWSER_PATH']} could not draw the picture."
        ) from error


def find_run(trace: Trace, name: str | None) -> Run:
    """The run of that name, or the first that is not plain decoding.

    Raises:
        TraceError: no run of that name.
    """
    if name is None:
        return next((run for run in trace.runs if run.method != "ar"), trace.runs[0])
    for run in trace.runs:
        if run.name == name:
            return run
    raise TraceError(f"--run must be one of {', '.join(run.name for run in trace.runs)}; got {name}.")


def find_browser() -> None:
    """Tell kaleido where a Chrome or Chromium is.

    Raises:
        ExportError: there is none, or kaleido is not installed.
    """
    try:
        import kaleido  # noqa: F401  (only whether it is there)
    except ImportError as error:
        raise ExportError("SVG and PNG need the kaleido package; HTML and JSON work without it.") from error
    if os.environ.get("BROWSER_PATH"):
        return
    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        raise ExportError(
            "SVG and PNG need Chrome or Chromium, and none was found; HTML and JSON work without one."
        )
    os.environ["BROWSER_PATH"] = path


if __name__ == "__main__":
    sys.exit(main())
