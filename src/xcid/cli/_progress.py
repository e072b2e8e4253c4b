"""A line on stderr that says how far a job is."""

from __future__ import annotations

import sys
import time
from typing import Protocol

EVERY = 0.1  # seconds between two pictures of the bar
WIDTH = 24


class Progress(Protocol):
    """Anything that is told how much is done, and what there is to say."""

    def __call__(self, done: int, total: int) -> None: ...

    def note(self, message: str) -> None:
        """Say something in a line of its own."""


class Silent:
    """Says nothing."""

    def __call__(self, done: int, total: int) -> None: ...

    def note(self, message: str) -> None:
        """Say nothing."""


class Line:
    """One line that is written over in a terminal; elsewhere only the last one, without a bar.

    Parameters
    ----------
    what : str
        What is counted.
    """

    def __init__(self, what: str) -> None:
        self.what, self.start, self.first, self.last = what, time.monotonic(), 0, -EVERY
        self.rewrites, self.done = sys.stderr.isatty(), -1

    def __call__(self, done: int, total: int) -> None:
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
        sys.stderr.write(f"\r\033[K{bar} {text}" if self.rewrites else f"{text}\n")
        if self.rewrites and done >= total:
            sys.stderr.write("\n")
        sys.stderr.flush()

    def note(self, message: str) -> None:
        """Say something in a line of its own."""
        sys.stderr.write(f"\r\033[K{message}\n" if self.rewrites else f"{message}\n")
        sys.stderr.flush()


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
    return Silent() if quiet else Line(what)
