"""A line on stderr that says how far a job is."""

from __future__ import annotations

import sys
import time
from typing import TextIO

EVERY = 0.1  # seconds between two pictures of the bar
WIDTH = 24


class Progress:
    """One line that is written over in a terminal; elsewhere only the last one, without a bar.

    It says how much is done of what is counted, on a stream; without one it says nothing.
    """

    def __init__(self, what: str, stream: TextIO | None) -> None:
        self.what, self.start, self.first, self.last, self.done = what, time.monotonic(), 0, -EVERY, -1
        self.stream, self.rewrites = stream, stream is not None and stream.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Say how much is done."""
        now = time.monotonic()
        if self.done < 0 or done < self.done:
            self.start, self.first = now, done  # what was done before says nothing of the rate
        if done == self.done or (done < total and (not self.rewrites or now - self.last < EVERY)):
            self.done = done
            return
        self.last, self.done = now, done
        text = f"{done:,} of {total:,} {self.what}{rate(done - self.first, total - done, now - self.start)}"
        filled = WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        self._write(f"\r\033[K{bar} {text}" if self.rewrites else f"{text}\n")
        if self.rewrites and done >= total:
            self._write("\n")

    def note(self, message: str) -> None:
        """Say something in a line of its own."""
        self._write(f"\r\033[K{message}\n" if self.rewrites else f"{message}\n")

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text)
            self.stream.flush()


def rate(done: int, left: int, seconds: float) -> str:
    """How fast it goes and how long it will take, or took.

    Examples
    --------
    >>> rate(300, 600, 2.0), rate(900, 0, 6.0), rate(0, 900, 0.0)
    (', 150 a second, 4 s left', ', 150 a second, 6.0 s', '')
    """
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    shown = f"{speed:,.0f} a second" if speed >= 10 else f"{speed:.1f} a second"
    return f", {shown}, {_time(left / speed)} left" if left else f", {shown}, {seconds:.1f} s"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def progress(what: str, quiet: bool) -> Progress:
    """What ``--quiet`` asks for."""
    return Progress(what, None if quiet else sys.stderr)
