"""One direction, no way back: who may import whom; the core without the page's packages; one style for all."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: What a GPU machine may lack: the engine, the targets, the benchmark and the command line run there all the same.
MAY_BE_MISSING = ("gradio", "plotly", "pydantic", "networkx", "kaleido", "accelerate", "pytest", "hypothesis")
#: What `visualize` may take from recap: records and pure rules, none of which needs torch.
PURE_MODULES = {"events", "rows", "fusion", "metrics", "tokens", "errors", "config", "trace_io"}


def imported_modules(path: Path) -> set[str]:
    """Dotted names that a file imports anywhere in it, functions included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", sources("recap"), ids=lambda path: str(path.relative_to(ROOT)))
def test_recap_imports_neither_the_page_nor_figures(path):
    forbidden = {"gradio", "plotly", "visualize", "demo", "tests"}
    assert not {name.split(".")[0] for name in imported_modules(path)} & forbidden


@pytest.mark.parametrize("path", sources("visualize"), ids=lambda path: str(path.relative_to(ROOT)))
def test_visualize_imports_only_the_pure_part_of_recap(path):
    names = imported_modules(path)
    assert not {name.split(".")[0] for name in names} & {"torch", "transformers", "gradio", "demo", "tests"}
    from_recap = {name.split(".")[1] for name in names if name.startswith("recap.")}
    assert from_recap <= PURE_MODULES, f"{path.name} takes {sorted(from_recap - PURE_MODULES)} from recap"


def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after running some code."""
    report = f"import sys\n{code}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return set(result.stdout.split())


def test_core_and_benchmark_run_without_the_packages_of_page_and_traces():
    block = "\n".join(f"sys.modules[{name!r}] = None" for name in MAY_BE_MISSING)
    loaded_after(f"{block}\nimport recap.bench.__main__, recap.cli, recap.targets.loading")


def test_the_engine_loads_no_model_library():
    assert "transformers" not in loaded_after("import recap.engine, recap.drafters, recap.targets.scripted")


def test_every_public_name_of_the_library_is_listed_and_found():
    code = "import recap\nassert set(recap.__all__) <= set(dir(recap))\nassert 'torch' not in sys.modules"
    loaded_after(f"{code}\nfor name in recap.__all__: assert getattr(recap, name) is not None, name")


def test_visualize_loads_no_torch():
    assert not loaded_after("import visualize, visualize.page") & {"torch", "transformers", "gradio"}


def test_ruff_finds_nothing():
    run_ruff("check")


def test_ruff_would_format_nothing():
    run_ruff("format", "--check")


def run_ruff(*arguments: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_names_a_package_index():
    """Which index pip asks is the user's setting, never the project's."""
    hosts = ["pypi" + ".org", "python" + "hosted.org", "download.py" + "torch.org", "index" + "-url"]
    for path in [*ROOT.glob("*.t*"), *ROOT.glob("*/*.txt"), *ROOT.glob("*/run"), *ROOT.glob("demo/*.sh")]:
        text = path.read_text(encoding="utf-8")
        assert not [host for host in hosts if host in text], path


def test_no_file_is_too_large_to_ship():
    """Ten megabytes a file, so that the checkout stays light and any host takes it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert not [path for path in paths if path.is_file() and path.stat().st_size > 10_000_000]
