"""What the page keeps of each browser tab: its memory U, its picture, its last runs; bounded, and dropped in time."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo.host import Ticket
from demo.runs import KeptRun

MAX_SESSIONS = 64
SESSION_SECONDS = 3600.0
FORGET_EVERY_SECONDS = 60.0
#: Runs of one tab that can still be saved; older ones are dropped.
MAX_KEPT_RUNS = 3
#: What all kept runs together may take, bytes; those of the tab that was used least recently go first.
MAX_KEPT_BYTES = 512 * 1024 * 1024


@dataclass(slots=True)
class Session:
    """One browser tab.

    Attributes:
        model: the name of the model that answers; empty: the page's first.
        streams: the tab's stream (G, C, U) on each model, as one model's rows mean nothing to another; made by the
            first run there, touched by the model's thread alone while a run is going on.
        picture_path: the picture to ask about, None when there is none.
        picture_act: number of the last act that changes it; what an earlier one still brings is out of date.
        is_opening_picture: that act goes on.
        ticket: the tab's last run.
        runs: its last runs by an unguessable key, oldest first.
    """

    model: str = ""
    streams: dict[str, Any] = field(default_factory=dict)
    picture_path: Path | None = None
    picture_act: int = 0
    is_opening_picture: bool = False
    ticket: Ticket | None = None
    runs: OrderedDict[str, KeptRun] = field(default_factory=OrderedDict)
    used: float = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a run of this tab waits or is being made."""
        return self.ticket is not None and not self.ticket.done.is_set()

    def keep(self, run: KeptRun) -> str:
        """Keep a run; returns its key."""
        key = secrets.token_urlsafe(16)
        runs = OrderedDict(self.runs)  # a new one, as other threads look through the old one
        runs[key] = run
        while len(runs) > MAX_KEPT_RUNS:
            runs.popitem(last=False)
        self.runs = runs
        return key

    @property
    def num_kept_bytes(self) -> int:
        """What the kept runs take in memory."""
        return sum(run.num_bytes for run in self.runs.values())

    @property
    def memories(self) -> Any:
        """The stream on the model that answers; None before its first run."""
        return self.streams.get(self.model)

    def num_unigram_rows(self) -> int:
        """Rows in U on the model that answers."""
        return self.memories.sizes.unigram if self.memories is not None else 0


class SessionStore:
    """All sessions by gradio's session hash; the longest unused go first when there are too many."""

    def __init__(self, max_sessions: int = MAX_SESSIONS, seconds: float = SESSION_SECONDS) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._max_sessions = max_sessions
        self._seconds = seconds
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_hash: str) -> Session:
        """The tab's session, made where there is none; without a hash, one that is shared with nobody and not kept."""
        if not session_hash:
            return Session()
        with self._lock:
            session = self._sessions.setdefault(session_hash, Session())
            self._sessions.move_to_end(session_hash)
            session.used = time.monotonic()
            self._expire(keep=session)
        return session

    def drop(self, session_hash: str) -> None:
        """The tab is gone: its run stops, and what was kept of it is forgotten."""
        with self._lock:
            session = self._sessions.pop(session_hash, None)
        if session is not None and session.ticket is not None:
            session.ticket.stop()

    def find_run(self, key: str) -> KeptRun | None:
        """A kept run of any session by its key."""
        with self._lock:
            found = [session.runs[key] for session in self._sessions.values() if key in session.runs]
        return found[0] if found else None

    def forget_unused(self) -> None:
        """Forget what nobody has used for too long."""
        with self._lock:
            self._expire(keep=None)

    def _expire(self, keep: Session | None) -> None:
        oldest_use = time.monotonic() - self._seconds
        for session_hash, session in list(self._sessions.items()):
            is_over = session.used < oldest_use or len(self._sessions) > self._max_sessions
            if is_over and session is not keep and not session.is_running:
                del self._sessions[session_hash]
        num_bytes = sum(session.num_kept_bytes for session in self._sessions.values())
        for session in self._sessions.values():
            if num_bytes > MAX_KEPT_BYTES and session is not keep and not session.is_running:
                num_bytes -= session.num_kept_bytes
                session.runs = OrderedDict()


async def forget_regularly(store: SessionStore) -> None:
    """Forget unused sessions once a minute, also when nobody comes; until cancelled."""
    while True:
        await asyncio.sleep(FORGET_EVERY_SECONDS)
        store.forget_unused()
