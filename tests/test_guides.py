"""The guides and the README: Python runs as it stands, commands run or at least name only options that there are."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDES = sorted((ROOT / "assets" / "guides").glob("*.md"))
README = ROOT / "README.md"
#: Commands that run here in seconds with the shipped model, by their beginning.
RUN_HERE = (
    "python -m recap.bench run --methods ar,recap@16,my_drafter",
    "python -m recap run --image assets/ex",
)
RUN_HERE += ("python -m visualize run.json", "python -m visualize assets/")
#: Programs whose options are not ours to check.
FOREIGN = ("py",)


def blocks(guide: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", guide.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def commands(guide: Path) -> list[str]:
    text = "".join(blocks(guide, "bash") + blocks(guide, "powershell")).replace("\\", "/")
    return [line for line in text.splitlines() if line.strip()]


def readme_s_commands() -> list[str]:
    """Those in its blocks, and those that stand in its sentences."""
    lines = "".join(blocks(README, "")).replace("\\\n", " ").splitlines()
    told = re.findall(r"`((?:demo/run|python -m) [^`]+)`", README.read_text("utf-8"))
    return [line for line in lines if line.startswith(("demo/run", ".venv/bin/python"))] + told


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder in which the guides' relative paths hold and what they write is nobody's loss."""
    for name in ("assets", "recap", "visualize"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_there_is_a_guide_for_every_place_and_the_readme_links_it() -> None:
    names = {guide.stem for guide in GUIDES}
    assert names == {"api", "classroom", "gpu", "library", "space", "windows"}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in sorted(names) if f"(assets/guides/{name}.md)" not in readme] == []


def test_the_library_guide_runs_from_top_to_bottom(workplace: Path) -> None:
    guide = ROOT / "assets" / "guides" / "library.md"
    script = "\n".join(blocks(guide, "python"))
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=workplace,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == len(re.findall(r"\bprint\(", script))
    ours = [line for line in commands(guide) if line.startswith(RUN_HERE)]
    assert len(ours) == 2
    for line in ours:
        run(line, workplace)
    assert (workplace / "report.json").is_file()


def test_the_classroom_guides_pages_are_made(workplace: Path) -> None:
    ours = [
        line for line in commands(ROOT / "assets" / "guides" / "classroom.md") if line.startswith(RUN_HERE)
    ]
    assert len(ours) == 3
    for line in ours:
        run(line, workplace)
    for page in ("run.html", "lesson.html"):
        assert "<html" in (workplace / page).read_text("utf-8")[:1000]


def run(line: str, folder: Path) -> None:
    program, *arguments = shlex.split(line)
    assert program == "python"
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr


@cache
def known_options(program: tuple[str, ...]) -> str:
    result = subprocess.run(
        [sys.executable, *program, "--help"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def program_has_parts(module: str) -> bool:
    """Whether the next word names a command of the module: `python -m recap run`."""
    return module in ("recap", "recap.bench")


@pytest.mark.parametrize("guide", [*GUIDES, README], ids=lambda guide: guide.stem)
def test_commands_name_programs_and_options_that_there_are(guide: Path) -> None:
    for line in readme_s_commands() if guide == README else commands(guide):
        words = shlex.split(line, comments=True)
        while "=" in words[0]:
            words.pop(0)
        if words[0] in FOREIGN:
            continue
        if words[0] == "demo/run":
            program: tuple[str, ...] = ("demo/app.py",)  # whose options it hands on
            rest = words[1:]
        elif words[0] == "hf":  # comes with transformers; its commands change their names
            end = 3 if words[1] == "repos" else 2
            program, rest = ("-m", "huggingface_hub.cli.hf", *words[1:end]), words[end:]
        else:
            assert words[0].split("/")[-1] == "python", line
            if "pip" in words:
                assert (ROOT / words[words.index("-r") + 1]).is_file()
                continue
            end = 3 if words[1] == "-m" else 2
            end += program_has_parts(words[end - 1]) and words[end : end + 1] not in ([], ["--help"])
            program, rest = tuple(words[1:end]), words[end:]
        options = known_options(program)
        for word in rest:
            if word.startswith("-"):
                assert re.search(rf"(^|[\s,]){re.escape(word)}\b", options), (line, word)
            if word.startswith("assets/"):
                assert (ROOT / word).exists(), line


def test_the_endpoint_guide_asks_as_the_endpoint_is_asked() -> None:
    (script,) = blocks(ROOT / "assets" / "guides" / "api.md", "python")
    from demo import api

    assert f'api_name="/{api.ENDPOINT}"' in script
    compile(script, "api.md", "exec")
    named = set(re.findall(r"^    (\w+)=", script, re.MULTILINE)) - {"api_name"}
    assert named == {"picture", "question", "method", "max_new_tokens"}, "the model is the page's first"
