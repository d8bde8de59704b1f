"""What the library's command lines share: exit codes, and outputs that are checked before the work begins."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recap.errors import InputError, RecapError

KNOWN_ERROR, STOPPED = 2, 130
#: What `--model` takes, for every command line.
MODEL_HELP = "teaching-qwen (default), teaching-llava, a folder or a hub name"


def exit_code_of(command: Callable[[], int]) -> int:
    """Run a command; its own exit code, or 2 for an error that has a sentence, which is told, or 130 for Ctrl-C."""
    try:
        return command()
    except RecapError as error:
        print(error, file=sys.stderr)
        return KNOWN_ERROR
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return STOPPED


def check_writable(paths: Iterable[Path | None]) -> None:
    """A report that cannot be written must be known before an hour of work, not after it. Raises InputError."""
    for path in paths:
        if path and not path.parent.is_dir():
            raise InputError(f"The folder {path.parent} does not exist; make it first, or name another file.")
        try:
            if path:
                _try_to_open(path)
        except IsADirectoryError as error:
            raise InputError(f"{path} is a folder; name a file in it.") from error
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); name another file.") from error


def _try_to_open(path: Path) -> None:
    """Raise OSError where a file cannot be written; what is there stays as it is."""
    is_new = not path.exists()
    if path.is_fifo():  # whoever reads a pipe would take this for its end
        return
    path.open("ab").close()
    if is_new:
        path.unlink()


def write_json(value: Any, path: Path) -> None:
    """Write a report; NaN and infinity, which JSON does not know, are a fault of ours and raise ValueError."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
