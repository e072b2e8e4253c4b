"""A line on stderr that says how far a job is."""

from __future__ import annotations

import sys
import time
from typing import Protocol

EVERY = 10.0  # seconds between lines where there is no terminal
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
    """One line that is written over in a terminal; elsewhere a line now and then.

    Parameters
    ----------
    what : str
        What is counted.
    """

    def __init__(self, what: str) -> None:
        self.what, self.start, self.last = what, time.monotonic(), time.monotonic()
        self.rewrites, self.done = sys.stderr.isatty(), -1

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        self.start = now if done == 0 else self.start
        if done == self.done or (not self.rewrites and done < total and now - self.last < EVERY):
            return
        self.last, self.done = now, done
        spent = now - self.start
        left = f", {spent / done * (total - done):.0f} s left" if 0 < done < total else f", {spent:.1f} s"
        filled = WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        text = f"{bar} {done:,} of {total:,} {self.what}{left if done else ''}"
        sys.stderr.write(f"\r\033[K{text}" if self.rewrites else f"{text}\n")
        if self.rewrites and done >= total:
            sys.stderr.write("\n")
        sys.stderr.flush()

    def note(self, message: str) -> None:
        """Say something in a line of its own."""
        sys.stderr.write(f"\r\033[K{message}\n" if self.rewrites else f"{message}\n")
        sys.stderr.flush()


def progress(what: str, quiet: bool) -> Progress:
    """What ``--quiet`` asks for."""
    return Silent() if quiet else Line(what)
