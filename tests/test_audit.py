"""The look-up of known faults on CI: what it says, and that it says why where it could not look."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

CI = Path(__file__).parents[1] / ".ci"
spec = importlib.util.spec_from_file_location("audit", CI / "audit.py")
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

CLEAN = {"name": "numpy", "version": "2.4.0", "vulns": []}
FAULTY = {
    "name": "pillow",
    "version": "1.0",
    "vulns": [{"id": "F-1", "fix_versions": ["1.1", "2.0"]}, {"id": "F-2", "fix_versions": []}],
}
UNKNOWN = {"name": "ours", "skip_reason": "not in the database"}


def answering(monkeypatch, *answers):
    """Each command ends in the next way: an exception, or (exit code, output)."""
    left = list(answers)

    def fake_run(command, **options):
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(returncode=answer[0], stdout=answer[1])

    monkeypatch.setattr(audit.subprocess, "run", fake_run)


def report(*entries) -> tuple[int, str]:
    return int(any(entry.get("vulns") for entry in entries)), json.dumps({"dependencies": entries})


DONE = (0, "")


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([(1, "")], "no environment"),
        ([DONE, (1, "no network")], "could not be installed"),
        ([DONE, subprocess.TimeoutExpired("pip", 1)], "could not be installed"),
        ([DONE, OSError("no such program")], "could not be installed"),
        ([DONE, DONE, (1, "Traceback: no such host")], "could not be reached"),
        ([DONE, DONE, (0, "[]")], "could not be reached"),
        ([DONE, DONE, (2, "")], "could not be reached"),
        ([DONE, DONE, report(UNKNOWN)], "knows none"),
    ],
)
def test_where_nothing_can_be_looked_up_one_line_says_why(monkeypatch, capsys, answers, reason):
    answering(monkeypatch, *answers)
    audit.main()
    printed = capsys.readouterr().out
    assert re.fullmatch(r"known faults of the packages: skipped, .+\n", printed)
    assert reason in printed


def test_what_is_found_is_counted_and_listed_with_what_mends_it(monkeypatch, capsys):
    answering(monkeypatch, DONE, DONE, report(CLEAN), report(CLEAN, FAULTY, UNKNOWN))
    audit.main()
    assert capsys.readouterr().out.splitlines() == [
        "known faults of the packages: 2 in 2, 1 are not in the database",
        "  pillow 1.0: F-1, mended in 1.1, 2.0",
        "  pillow 1.0: F-2, mended in no version yet",
    ]


def test_every_installed_package_is_asked_about_once_in_the_version_that_was_released():
    packages = audit.installed_packages()
    names = [package.partition("==")[0] for package in packages]
    assert {"gradio", "torch", "numpy", "pytest"} <= set(names)
    assert all(re.fullmatch(r"\S+==[^+\s]+", package) for package in packages)


def test_ci_s_result_is_the_tests_alone_and_no_host_is_named(tmp_path):
    """With a fake tests/run: its exit code is CI's, though the look-up cannot even start."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((CI / "run").read_bytes())
    (tmp_path / "bin").mkdir()
    ordinary = tmp_path / "bin" / "id"  # not root, so that nothing is installed on the machine
    ordinary.write_text("#!/bin/sh\necho 1000\n")
    ordinary.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for code in (0, 3):
        fake = tmp_path / "tests" / "run"
        fake.write_text(f'#!/bin/sh\necho asked for "$@"\nexit {code}\n')
        fake.chmod(0o755)
        result = subprocess.run(
            ["bash", str(tmp_path / ".ci" / "run"), "-q"],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
        )
        assert result.returncode == code
        assert "asked for -q" in result.stdout
        assert "skipped, the look-up did not start" in result.stdout
    for path in (CI / "run", CI / "audit.py"):
        assert not re.search(r"https?://|\.org|\.com|\.io\b", path.read_text("utf-8")), path.name
