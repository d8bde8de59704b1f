"""The whole page over a model without weights, as a program: `python tests/scripted_page.py PORT [SECONDS_A_PASS]`.

With a slow enough pass a run can be met at any point of it; answers are known and need no torch.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]


def main() -> None:
    """Serve until it is killed."""
    from page_runs import PageTarget

    from demo.serve import serve

    port, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    serve("127.0.0.1", port, "scripted", lambda: PageTarget(pass_seconds=seconds), ROOT / "assets" / "traces")


if __name__ == "__main__":
    main()
