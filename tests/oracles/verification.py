"""What a pass accepts, commits and keeps in the cache (Eq. 1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


def walk(
    token_ids: Sequence[int], parents: Sequence[int], greedy_ids: Sequence[int]
) -> tuple[list[int], int]:
    """The accepted nodes in path order (without the root), and the target's choice after the last of them."""
    here, accepted = 0, []
    while True:
        kids = [i for i in range(len(parents)) if parents[i] == here and token_ids[i] == greedy_ids[here]]
        if not kids:
            return accepted, greedy_ids[here]
        here = kids[0]
        accepted.append(here)


@dataclass(frozen=True)
class Cut:
    """What a pass commits: accepted nodes and tokens left after a stop, and why it stopped (None: go on)."""

    accepted: tuple[int, ...]
    target_selected_id: int | None
    committed_ids: tuple[int, ...]
    stop_reason: str | None


def cut_block(
    token_ids: Sequence[int],
    accepted: Sequence[int],
    target_selected_id: int,
    end_ids: Collection[int],
    num_left: int,
) -> Cut:
    """Walk the block in order; the first of (end token, length cap) cuts behind that token."""
    block = [token_ids[node] for node in accepted] + [target_selected_id]
    committed: list[int] = []
    reason = None
    for token_id in block:
        committed.append(token_id)
        if token_id in end_ids:
            reason = "end_token"
        elif len(committed) == num_left:
            reason = "length"
        if reason:
            break
    has_selected = len(committed) == len(block)
    return Cut(
        accepted=tuple(accepted[: len(committed)]),
        target_selected_id=target_selected_id if has_selected else None,
        committed_ids=tuple(committed),
        stop_reason=reason,
    )


def gather(cache: Sequence[object], num_prefix: int, path: Sequence[int]) -> list[object]:
    """A layer's cache after a pass: the prefix, then the entries of the path (root first), nothing else."""
    return list(cache[:num_prefix]) + [cache[num_prefix + node] for node in path]
