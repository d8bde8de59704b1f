"""Start the page: `python demo/app.py [--host 127.0.0.1] [--port 7860] [--model ...] [--no-model] [--traces DIR]`."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # a script's folder stands first on the path; the packages lie one level up
    sys.path[0] = str(ROOT)
# Set before gradio is imported: no request leaves the machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

DEFAULT_PORT = 7860


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the page until it is interrupted; returns the exit code."""
    options = build_parser().parse_args(arguments)
    for complaint in version_problems(ROOT / "requirements.txt"):
        print(complaint, file=sys.stderr)
    problem = listening_problem(options.host, options.port) or folder_problem(options.traces)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    from demo.serve import serve
    from recap.errors import RecapError

    print("Opening the page ...", flush=True)
    names = [] if options.no_model else offered_models(options.model)
    loaders = {name: model_loader(name, options.dtype) for name in names}
    try:
        serve(options.host, options.port, loaders, options.traces)
    except RecapError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The command line's options."""
    parser = argparse.ArgumentParser(
        prog="demo/run",
        description="The RECAP page: watch a vision-language model decode.",
        epilog="GRADIO_SERVER_NAME and GRADIO_SERVER_PORT (or PORT) stand in for --host and --port.",
    )
    host = os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
    parser.add_argument("--host", default=host, help="0.0.0.0 lets other machines in (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=default_port(), help=f"default {DEFAULT_PORT}")
    parser.add_argument(
        "--model",
        action="append",
        help="teaching-qwen, teaching-llava, a folder or a hub name; given several times, visitors may choose "
        "(default: RECAP_MODEL, names with commas between them, else the models that ship)",
    )
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--no-model", action="store_true", help="only play recorded runs")
    parser.add_argument(
        "--traces",
        type=Path,
        default=ROOT / "assets" / "traces",
        help="a folder of recorded runs to offer (default: those in assets/traces)",
    )
    return parser


def offered_models(given: list[str] | None) -> list[str]:
    """The models that visitors may choose from: those given, else RECAP_MODEL's, else those that ship.

    No other model is ever loaded for a visitor.
    """
    named = os.environ.get("RECAP_MODEL", "").split(",")
    shipped = [
        f"teaching-{folder.name}"
        for folder in sorted((ROOT / "assets" / "teaching_vlm").iterdir(), reverse=True)  # qwen before llava
        if (folder / "model.safetensors").is_file()
    ]
    return list(dict.fromkeys(given or [name.strip() for name in named if name.strip()] or shipped))


def default_port() -> int:
    """GRADIO_SERVER_PORT, else PORT, else 7860."""
    for name in ("GRADIO_SERVER_PORT", "PORT"):
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return DEFAULT_PORT


def listening_problem(host: str, port: int) -> str:
    """Why the page cannot listen there, in one sentence; empty when it can."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError, UnicodeError) as error:
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                return f"Port {port} is taken; please choose another one, for example --port {port + 1}."
            return f"The page cannot listen at {host}, port {port}; please check --host and --port."
    return ""


def folder_problem(traces: Path) -> str:
    """Why no recorded runs can be offered from there, in one sentence; empty when they can."""
    return "" if traces.is_dir() else f"There is no folder {traces}; please check --traces."


def version_problems(requirements: Path) -> list[str]:
    """A sentence for each package that is missing or of another version than the tried one; before any is imported."""
    try:
        from packaging.requirements import Requirement

        wanted = [
            Requirement(line.partition("#")[0])
            for line in requirements.read_text(encoding="utf-8").splitlines()
            if line.partition("#")[0].strip()
        ]
    except (ImportError, OSError):
        return [
            "The packages that the page needs could not be checked; start it by demo/run, which installs them."
        ]
    problems = []
    for requirement in wanted:
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            found = ""
        if not found or not requirement.specifier.contains(found, prereleases=True):
            state = (
                f"{requirement.name} {found} is installed"
                if found
                else f"{requirement.name} is not installed"
            )
            problems.append(f"{state}, but this page was tried with {requirement}; demo/run installs it.")
    return problems


def model_loader(model: str, dtype: str) -> Callable[[bool], Any]:
    """Loads and warms the model when called; torch is imported only then, after the page is open.

    The loader is told whether the model may be spread over several GPUs and main memory.
    """

    def load(may_spread: bool) -> Any:
        import torch

        from demo.models import make_ready
        from demo.zero_gpu import is_zero_gpu
        from recap.targets.loading import load_target

        if "OMP_NUM_THREADS" not in os.environ:
            # A core is left to the page: a model's threads wait for each other, and for whoever takes one's core.
            torch.set_num_threads(max(1, torch.get_num_threads() - 1))
        target = load_target(model, dtype, may_spread=may_spread)
        if not is_zero_gpu():  # where each worker does it, as there is no GPU before
            make_ready(target)
        return target

    return load


if __name__ == "__main__":
    sys.exit(main())
