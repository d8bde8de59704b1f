"""How far a benchmark is, on stderr."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from recap.bench.report import REFERENCE
from recap.bench.runner import MeasuredUnit

#: Without a terminal, progress is a line at most this often.
SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """One line on stderr: units done, time taken, time left; rewritten in place on a terminal."""

    def __init__(self, num_units: int, num_done: int = 0, stream: TextIO | None = None) -> None:
        self._num_units = num_units
        self._num_resumed = num_done
        self._stream = stream or sys.stderr
        self._started = time.monotonic()
        self._shown = -SECONDS_BETWEEN_LINES
        self._first: float | None = None
        self._num_done = num_done

    def show(self, unit: MeasuredUnit) -> None:
        """Count a unit as done. A failed method is told at once, with its reason."""
        self._num_done += 1
        is_last = self._num_done == self._num_units
        is_terminal = self._stream.isatty()
        for result in unit.results:
            if result.error:
                self._stream.write(
                    ("\r\033[K" if is_terminal else "")
                    + f"{result.method} failed on {result.id}, turn {result.turn}: {result.error}\n"
                )
        elapsed = time.monotonic() - self._started
        if not (is_terminal or is_last) and elapsed - self._shown < SECONDS_BETWEEN_LINES:
            return
        self._shown = elapsed
        # The first unit waited for the warm-up; what it took says little about the others.
        self._first = self._first or elapsed
        num_timed = self._num_done - self._num_resumed - 1
        each = (elapsed - self._first) / num_timed if num_timed else elapsed
        left = each * (self._num_units - self._num_done)
        ratios = ", ".join(
            f"{result.method} {result.ratio:.2f}×"
            for result in unit.results
            if result.ratio is not None and result.method != REFERENCE
        )
        line = (
            f"[{self._num_done}/{self._num_units}] {_clock(elapsed)} elapsed, about {_clock(left)} left"
            f"; {unit.conversation.topic}: {ratios or 'no ratio'}"
        )
        if is_terminal:
            self._stream.write(f"\r\033[K{line}" + ("\n" if is_last else ""))
        else:
            self._stream.write(line + "\n")
        self._stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
