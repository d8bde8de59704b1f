"""The player's files as text, for a page of its own and for the app."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PLAYER_FOLDER = Path(__file__).parent / "player"
#: In the order of their use; the last one offers `window.RecapPlayer.mount`.
SCRIPTS = (
    "words.js",
    "dom.js",
    "state.js",
    "search.js",
    "memories.js",
    "summary.js",
    "labels.js",
    "tree.js",
    "why.js",
    "budget.js",
    "fusion.js",
    "rules.js",
    "memory.js",
    "table.js",
    "answer.js",
    "controls.js",
    "keys.js",
    "legend.js",
    "tools.js",
    "compare.js",
    "heard.js",
    "exports.js",
    "lesson.js",
    "look.js",
    "actions.js",
    "report.js",
    "lab.js",
    "player.js",
)


@cache
def player_script() -> str:
    """The whole player as one script, without a tag around it."""
    return "\n".join((PLAYER_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


@cache
def player_style() -> str:
    """The player's style sheet."""
    return (PLAYER_FOLDER / "player.css").read_text(encoding="utf-8")


@cache
def plotly_script() -> str:
    """plotly.js from the plotly package, so that no page needs a network."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()
