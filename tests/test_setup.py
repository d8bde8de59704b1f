"""A fresh clone becomes a running page: the set-up script's cases, the package, and what README and pins promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from recap.drafters import method_table

ROOT = Path(__file__).resolve().parent.parent

# A stand-in for a Python: answers what the set-up asks of one, makes an empty environment, notes what pip is asked for.
FAKE_PYTHON = """#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
case "$*" in
    --version) echo "Python 3.12.9" ;;
    -c*"import ensurepip"*) exit ${FAKE_NO_VENV:-0} ;;
    -c*"print(sys.version_info"*) echo "(3, 12)" ;;
    -c*) exit ${FAKE_TOO_OLD:-0} ;;
    "-m venv"*)
        mkdir -p "${*: -1}/bin"
        cp "$0" "${*: -1}/bin/python" ;;
    "-m pip"*)
        echo "pip ${*: -1}" >>"$FAKE_LOG"
        exit ${FAKE_PIP_FAILS:-0} ;;
    *) echo "started $*" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A copy of the start script with a stand-in Python; returns a function that starts it."""
    root, tools = tmp_path / "checkout", tmp_path / "tools"
    for folder in (root / "demo", root / "tests", tools):
        folder.mkdir(parents=True)
    for name in ("demo/run", "demo/setup.sh", "requirements.txt", "tests/run", "tests/requirements.txt"):
        shutil.copy(ROOT / name, root / name)
    (root / "demo" / "app.py").write_text("", "utf-8")
    for name in (
        "bash",
        "dirname",
        "cat",
        "cksum",
        "du",
        "cut",
        "sleep",
        "mkdir",
        "rm",
        "cp",
        "tr",
        "kill",
        "flock",
        "env",
    ):
        path = shutil.which(name)
        if path:
            (tools / name).symlink_to(path)
    log = tmp_path / "pip.log"
    log.touch()

    def start(python="python3.12", command=("demo/run", "--port", "1"), **environment):
        if python:
            path = tools / python
            path.write_text(FAKE_PYTHON, "utf-8")
            path.chmod(0o755)
        result = subprocess.run(
            [str(root / command[0]), *command[1:]],
            env={"PATH": str(tools), "FAKE_LOG": str(log), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        result.installs = len(log.read_text("utf-8").splitlines())
        return result

    start.root, start.tools = root, tools
    return start


def test_first_start_says_the_size_installs_once_and_passes_the_arguments_on(checkout):
    first = checkout()
    assert first.returncode == 0, first.stderr
    assert "3.2 GB" in first.stdout
    assert first.stdout.endswith(f"started {checkout.root}/demo/app.py --port 1\n")
    assert first.installs == 1
    second = checkout()
    assert second.stdout == f"started {checkout.root}/demo/app.py --port 1\n"
    assert second.installs == 1


def test_changed_requirements_are_installed_at_the_next_start(checkout):
    checkout()
    with (checkout.root / "requirements.txt").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert checkout().installs == 2
    assert checkout().installs == 2


def test_an_install_that_failed_is_taken_up_again(checkout):
    failed = checkout(FAKE_PIP_FAILS="1")
    assert failed.returncode == 1
    assert "The next start goes on from here." in failed.stderr
    assert "started" not in failed.stdout
    assert not (checkout.root / ".venv" / "download").exists()
    again = checkout()
    assert (again.returncode, again.installs) == (0, 2)


def test_a_half_made_environment_is_made_again(checkout):
    broken = checkout.root / ".venv" / "bin" / "python"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/bash\nexit 1\n", "utf-8")
    broken.chmod(0o755)
    assert checkout().returncode == 0


@pytest.mark.parametrize(
    ("python", "environment", "sentence"),
    [
        (None, {}, "Python 3.11, 3.12 or 3.13 is needed and none was found"),
        ("python3.12", {"FAKE_TOO_OLD": "1"}, "Python 3.11, 3.12 or 3.13 is needed and none was found"),
        ("python3.12", {"FAKE_NO_VENV": "1"}, "python3.12 comes without the venv module"),
    ],
)
def test_what_is_missing_is_one_sentence(checkout, python, environment, sentence):
    result = checkout(python, **environment)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(sentence)
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_checkout_that_cannot_be_written_to_is_one_sentence(checkout):
    # A file in the way: a folder without write permission would not stop root.
    (checkout.root / ".venv").write_text("", "utf-8")
    result = checkout()
    assert result.returncode == 1
    assert "cannot be written to" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def add_tool(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/bash\n{script}\n", "utf-8")
    path.chmod(0o755)


TESTS = ("tests/run", "-k", "something")


def test_tests_run_installs_both_lists_and_says_when_the_browser_tests_are_skipped(checkout):
    add_tool(checkout.tools, "id", "echo 1000")
    result = checkout(command=TESTS)
    assert result.returncode == 0, result.stderr
    assert result.installs == 2
    assert "No Chromium found: the browser tests will be skipped." in result.stdout
    assert result.stdout.endswith("started -m pytest -rs -k something\n")


def test_ci_insists_on_a_browser(checkout):
    add_tool(checkout.tools, "id", "echo 1000")
    result = checkout(command=TESTS, CI="true")
    assert result.returncode == 1
    assert "CI needs Chromium" in result.stderr
    assert "started" not in result.stdout


def test_root_on_debian_gets_chromium_from_the_distribution(checkout):
    add_tool(checkout.tools, "id", "echo 0")
    chromium = checkout.tools / "chromium"
    add_tool(checkout.tools, "apt-get", f'[ "$1" = update ] || cp "$0" {chromium}')
    result = checkout(command=TESTS, CI="true")
    assert result.returncode == 0, result.stderr
    assert "Installing Chromium" in result.stdout
    assert "skipped" not in result.stdout


def test_the_page_s_front_matter_and_the_pins_agree():
    front_matter = (ROOT / "README.md").read_text("utf-8").split("---\n")[1]
    fields = dict(re.findall(r"^(\w+): *\"?([^\"\n]*)", front_matter, re.MULTILINE))
    pins = dict(
        re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    )
    assert fields["sdk"] == "gradio"
    assert fields["sdk_version"] == pins["gradio"]
    assert (ROOT / fields["app_file"]).is_file()
    assert fields["python_version"] == "3.11"
    assert {"title", "emoji", "colorFrom", "colorTo", "license", "short_description"} <= set(fields)
    assert len(fields["short_description"]) <= 60


def test_every_package_is_listed_and_installs_with_its_data(tmp_path):
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("recap", "visualize"):
        shutil.copytree(ROOT / folder, source / folder, ignore=ignored)
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    folders = {path.parent.relative_to(source) for path in source.rglob("*.py")}
    assert {".".join(folder.parts) for folder in folders} == set(listed)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    result = subprocess.run(
        [*command, "-w", str(tmp_path), str(source)],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    (wheel,) = tmp_path.glob("recap_vlm-*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    wanted = {name for name in wanted if name.startswith(("recap/", "visualize/"))}
    assert packed == wanted


def readme_s_tree() -> dict[str, set[str]]:
    """The Python files that README.md's tree names, by the folder under which it names them."""
    section = (ROOT / "README.md").read_text("utf-8").split("## How a run flows")[1].split("\n## ")[0]
    block = next(
        text for text in re.findall(r"^```\n(.*?)^```", section, re.M | re.S) if text.startswith("demo/")
    )
    named: dict[str, set[str]] = {}
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        if folder := re.match(r" *([\w/]+/)(?= )", line):
            above.append((indent, folder[1]))
        place = "".join(folder for _, folder in above)
        named.setdefault(place, set()).update(re.findall(r"\w+\.py\b", line))
    return named


def test_readme_s_tree_names_every_module_in_its_folder_and_none_that_is_not_there():
    named = readme_s_tree()
    for package in ("recap", "visualize", "demo"):
        for folder in sorted({path.parent for path in (ROOT / package).rglob("*.py")}):
            modules = {path.name for path in folder.glob("*.py")} - {"__init__.py", "__main__.py"}
            assert named[f"{folder.relative_to(ROOT)}/"] == modules
    everywhere = {path.name for folder in ("assets", "tests") for path in (ROOT / folder).rglob("*.py")}
    for folder, names in named.items():
        if folder.startswith(("assets", "tests")):
            assert names <= everywhere, folder


def test_readme_lists_every_method_with_its_meaning():
    assert method_table() in (ROOT / "README.md").read_text("utf-8")
