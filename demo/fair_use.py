"""Who may start a run: how many within a minute, and how much of the queue one asker and all programs may take."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from demo import texts
from recap.errors import InputError

#: Runs that one asker may start within `WINDOW_SECONDS`.
RUNS_A_MINUTE = 20
WINDOW_SECONDS = 60.0
#: Of all runs that may wait, the part that other programs may take: the page always has the rest.
PROGRAMS_SHARE = 0.5
#: Runs of one program, waiting or being made, at a time.
MAX_RUNS_OF_ONE_PROGRAM = 2


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a run.

    Attributes:
        name: a tab's session hash, or the address a program calls from; empty for the page's own work, which is not
            limited.
        is_program: asked through the public endpoint and not on the page. A tab has one run at a time anyway.
    """

    name: str = ""
    is_program: bool = False


NOBODY = Asker()


class RunLimiter:
    """Counts the runs that each asker started within the last minute."""

    def __init__(
        self,
        limit: int = RUNS_A_MINUTE,
        seconds: float = WINDOW_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` is the clock, seconds."""
        self._limit, self._seconds, self._now = limit, seconds, now
        self._starts: dict[Asker, deque[float]] = {}
        self._lock = threading.Lock()

    @property
    def num_askers(self) -> int:
        """Askers that are remembered: those who started a run within the last minute."""
        return len(self._starts)

    def check(self, asker: Asker) -> None:
        """Refuse who has started as many as may be.

        Raises:
            InputError: the sentence says in how many seconds there is room again.
        """
        with self._lock:
            now = self._now()
            self._forget(now)
            starts = self._starts.get(asker, ())
            if asker.name and len(starts) >= self._limit:
                wait = math.ceil(starts[-self._limit] + self._seconds - now)
                raise InputError(texts.too_many_runs(self._limit, max(1, wait)))

    def note(self, asker: Asker) -> None:
        """A run of theirs has been taken in."""
        with self._lock:
            if asker.name:
                self._starts.setdefault(asker, deque()).append(self._now())

    def _forget(self, now: float) -> None:
        for asker, starts in list(self._starts.items()):
            while starts and starts[0] <= now - self._seconds:
                starts.popleft()
            if not starts:
                del self._starts[asker]


def check_share(asker: Asker, waiting: list[Asker], running: Asker | None, max_waiting: int) -> None:
    """Refuse a program where it, or all of them together, have their part of the queue already.

    Raises:
        InputError: the sentence says to wait for the earlier answers, or to try again later.
    """
    if not asker.is_program:
        return
    if [*waiting, running].count(asker) >= MAX_RUNS_OF_ONE_PROGRAM:
        raise InputError(texts.program_too_busy(MAX_RUNS_OF_ONE_PROGRAM))
    share = max(1, int(max_waiting * PROGRAMS_SHARE))
    if sum(other.is_program for other in waiting) >= share:
        raise InputError(texts.programs_queue_full(share))
