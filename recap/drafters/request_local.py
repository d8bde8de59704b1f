"""What the methods that remember nothing across requests have in common."""

from __future__ import annotations


class RequestLocal:
    """A drafter (or part of one) whose memory is made anew in `begin`: there is no state to save."""

    memories = None

    def save_state(self) -> None:
        """Nothing outlives a request."""

    def restore_state(self, state: object) -> None:
        """Nothing outlives a request."""
