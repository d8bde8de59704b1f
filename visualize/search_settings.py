"""The settings of a recorded search, read back from a run: what its scores were made of."""

from __future__ import annotations

import ast
from dataclasses import fields, replace
from typing import Any

from recap.config import RecapConfig
from recap.events import Run, Trace


def search_config(run: Run) -> RecapConfig | None:
    """The configuration of a RECAP run; the paper's defaults for what its settings leave out.

    None for other methods, and where a setting cannot be read: nothing is then said about the search.
    """
    if not run.method.startswith("recap"):
        return None
    texts = dict(run.settings)
    known = {f.name: _value(texts[f.name]) for f in fields(RecapConfig) if f.name in texts}
    try:
        return replace(RecapConfig(), **known)
    except (ValueError, TypeError):
        return None


def search_entry(trace: Trace, run: Run) -> dict[str, Any] | None:
    """For the player: eta by depth, the limits of the search, and the ids it may never draft.

    None where the run was not made by a best-first search, so that no path of it can be scored.
    """
    config = search_config(run)
    if config is None or config.expansion != "best-first":
        return None
    blocked = _value(dict(run.settings).get("blocked_ids", "()"))
    ids = (
        {token_id for token_id in blocked if isinstance(token_id, int)}
        if isinstance(blocked, tuple)
        else set()
    )
    if trace.request.image_token_id is not None:
        ids.add(trace.request.image_token_id)
    return {
        "depth_priors": list(config.depth_priors),
        "max_depth": config.max_depth,
        "width": config.width,
        "fusion": config.fusion,
        "blocked_ids": sorted(ids),
        "forbid_repeated_edges": config.forbid_repeated_edges,
    }


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
