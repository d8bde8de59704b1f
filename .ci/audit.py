"""Look the installed packages up in a database of known faults, where there is one: `.venv/bin/python .ci/audit.py`.

It reports and never fails: without a network, a tool or a database one line says why nothing was looked up, and what is
found is listed with the version that mends it. Raising a pin is a decision; a fault that becomes known overnight must
not turn an unchanged checkout red. The tool (pip-audit) lives in a throwaway environment, as its packages are not ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

#: Seconds that installing the tool, or one look-up of everything, may take.
PATIENCE = 180


class NotLookedUpError(Exception):
    """Nothing could be looked up; the message says why."""


def main() -> None:
    """Print what is known of the packages, or in one line why it was not looked up."""
    packages = installed_packages()
    try:
        with tempfile.TemporaryDirectory() as folder:
            tool = install_tool(Path(folder))
            # Where one cannot be looked up, none can: ask no further.
            look_up(tool, Path(folder), packages[:1])
            lines = describe(look_up(tool, Path(folder), packages))
    except NotLookedUpError as reason:
        lines = [f"known faults of the packages: skipped, {reason}"]
    sys.stdout.write("\n".join(lines) + "\n")


def installed_packages() -> list[str]:
    """Every installed package as `name==version`; local version marks (`+cpu`) are in no database."""
    found = {
        f"{item.metadata['Name'].lower()}=={item.version.partition('+')[0]}"
        for item in metadata.distributions()
        if item.metadata["Name"]
    }
    return sorted(found)


def install_tool(folder: Path) -> Path:
    """pip-audit in an environment of its own below `folder`; the path of its Python. Raises NotLookedUpError."""
    python = folder / "tool" / "bin" / "python"
    run([sys.executable, "-m", "venv", str(folder / "tool")], "no environment for pip-audit could be made")
    options = ["--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "15"]
    run([str(python), "-m", "pip", "install", *options, "pip-audit"], "pip-audit could not be installed")
    return python


def look_up(python: Path, folder: Path, packages: list[str]) -> list[dict[str, Any]]:
    """What the database says of each package. Raises NotLookedUpError: it cannot be reached, or knows none of them."""
    listed = folder / "packages.txt"
    listed.write_text("\n".join(packages) + "\n", encoding="utf-8")
    options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json", "--timeout=15"]
    command = [str(python), "-m", "pip_audit", "--requirement", str(listed), *options]
    # Exit code 1: something was found, or the look-up failed.
    answer = run(command, "its database could not be reached", codes=(0, 1))
    try:
        found = json.loads(answer)["dependencies"]
    except (ValueError, LookupError, TypeError):
        raise NotLookedUpError("its database could not be reached") from None
    if all("skip_reason" in entry for entry in found):
        raise NotLookedUpError("the database that can be reached here knows none of them")
    return found


def describe(found: list[dict[str, Any]]) -> list[str]:
    """A line that counts, and one for each known fault."""
    known = [entry for entry in found if "skip_reason" not in entry]
    faults = []
    for entry in known:
        for fault in entry["vulns"]:
            mended = ", ".join(fault["fix_versions"]) or "no version yet"
            faults.append(f"  {entry['name']} {entry['version']}: {fault['id']}, mended in {mended}")
    unknown = len(found) - len(known)
    beside = f", {unknown} are not in the database" if unknown else ""
    return [f"known faults of the packages: {len(faults)} in {len(known)}{beside}", *faults]


def run(command: list[str], problem: str, codes: tuple[int, ...] = (0,)) -> str:
    """The command's output. Raises NotLookedUpError: it took too long, could not be started or ended otherwise."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotLookedUpError(problem) from error
    if result.returncode not in codes:
        raise NotLookedUpError(problem)
    return result.stdout


if __name__ == "__main__":
    main()
