"""The whole page over a model without weights: `python tests/scripted_page.py PORT [SECONDS_A_PASS [LOG]]`.

With a slow enough pass a run can be met at any point of it; answers are known and need no torch. LOG is a file to which
every run that was made is written: a JSON line of its arrival, its start and its end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]


def watch_queue(path: Path) -> None:
    """Write down, seconds on one clock, when each run was asked for, and when the model began and ended it."""
    from demo.host import ModelHost

    submit = ModelHost.submit
    log = path.open("a", encoding="utf-8", buffering=1)

    def watched(self, job, *asker, **model):
        arrival = time.monotonic()

        def timed(target, ticket):
            start = time.monotonic()
            try:
                job(target, ticket)
            finally:
                log.write(json.dumps([arrival, start, time.monotonic()]) + "\n")

        return submit(self, timed, *asker, **model)

    ModelHost.submit = watched


def main() -> None:
    """Serve until it is killed."""
    from page_runs import PageTarget

    from demo.serve import serve

    port, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    if len(sys.argv) > 3:
        watch_queue(Path(sys.argv[3]))
    loaders = {"scripted": lambda _: PageTarget(pass_seconds=seconds)}
    serve("127.0.0.1", port, loaders, ROOT / "assets" / "traces")


if __name__ == "__main__":
    main()
