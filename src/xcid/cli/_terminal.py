"""What is typed at a terminal (verbs, numbers) and shown there: text, and a line that says how far a job is."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

MODELS = ("logistic", "forest", "boosting", "network")
USUAL_MODEL = "forest"  # what is trained where no model is given
ROWS_OF_A_SAMPLE = 100  # explained where none are asked for, and nothing keeps the others
ROWS_OF_A_CHUNK, MOST_OF_A_CHUNK = 256, 65_536  # of a large run; an explainer takes 256 at once
T = TypeVar("T")
MOST_SECONDS = 10**6
EVERY = 0.1  # seconds between two pictures of the bar
WIDTH = 24
_APART: list[tuple[TextIO, TextIO]] = []  # the streams of a command while a model has those of the process


def record(kind: type[T], options: argparse.Namespace, **more: Any) -> T:
    """Make a record of what was typed, by the names of its fields."""
    return kind(**{name: getattr(options, name) for name in kind.__annotations__ if name not in more}, **more)


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Read a number that lies within limits."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise argparse.ArgumentTypeError(f"a whole number {limits}, not {text!r}")
        return int(text)

    return read


def seconds(text: str) -> float:
    """Read a time."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 and up to {MOST_SECONDS}, not {text!r}")
    return value


def printable(text: str) -> str:
    r"""Names from files may hold what a terminal takes for a command.

    Examples
    --------
    >>> printable("a name that turns \x1b[31mred")
    'a name that turns ?[31mred'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def sentences(notes: Sequence[str]) -> list[str]:
    """Notes as they are shown on a page."""
    from xcid.show.wording.names import make_sentence

    return [make_sentence(note) for note in notes]


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
        self._write(f"\r\033[K{self._bar(done, total)} {text}" if self.rewrites else f"{text}\n")
        if self.rewrites and done >= total:
            self._write("\n")

    def note(self, message: str) -> None:
        """Say something in a line of its own."""
        self._write(f"\r\033[K{message}\n" if self.rewrites else f"{message}\n")

    def _bar(self, done: int, total: int) -> str:
        from xcid.cli._colours import bar

        assert self.stream is not None
        return bar(done, total, WIDTH, self.stream)

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text)
            self.stream.flush()


def rate(done: int, left: int, seconds: float) -> str:
    """How fast it goes and how long it will take, or took.

    Examples
    --------
    >>> rate(300, 600, 2.0), rate(900, 0, 6.0), rate(0, 900, 0.0)
    (', 150 per second, 4 s left', ', 150 per second, 6.0 s', '')
    """
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    shown = f"{speed:,.0f} per second" if speed >= 10 else f"{speed:.1f} per second"
    return f", {shown}, {_time(left / speed)} left" if left else f", {shown}, {seconds:.1f} s"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def progress(what: str, quiet: bool) -> Progress:
    """What ``--quiet`` asks for."""
    return Progress(what, None if quiet else streams()[1])


def streams() -> tuple[TextIO, TextIO]:
    """Where a command writes: stdout and stderr, also where these are kept apart from what a model writes."""
    return _APART[-1] if _APART else (sys.stdout, sys.stderr)


def show(text: str, end: str = "\n") -> None:
    """Write to stdout."""
    streams()[0].write(text + end)


@contextlib.contextmanager
def apart(quiet: bool) -> Iterator[None]:
    """Keep stdout and stderr for the command: what models write there, Python or not, goes to stderr or nowhere."""
    own = _own(sys.stdout, 1), _own(sys.stderr, 2)
    before = sys.stdout, os.dup(1), os.dup(2)
    _APART.append(own)
    try:
        sys.stdout = sys.stderr
        if quiet:
            _nowhere(2)
        os.dup2(2, 1)
        yield
        own[0].flush()
    except (KeyboardInterrupt, OSError):
        drop(own[0])
        raise
    finally:
        _APART.pop()
        for stream in {sys.stdout, sys.stderr}:
            with contextlib.suppress(OSError):
                stream.flush()
        sys.stdout = before[0]
        for handle, target in ((before[1], 1), (before[2], 2)):
            os.dup2(handle, target)
            os.close(handle)
        for stream, typed in zip(own, (sys.stdout, sys.stderr), strict=True):
            if stream is not typed:
                with contextlib.suppress(OSError):
                    stream.close()


def _own(stream: TextIO, handle: int) -> TextIO:
    """A stream to where a handle leads now; one that leads elsewhere, such as into a test, is its own."""
    try:
        if stream.fileno() != handle:
            return stream
    except (OSError, ValueError):
        return stream
    stream.flush()
    return os.fdopen(
        os.dup(handle), "w", encoding=stream.encoding, errors="replace", buffering=1 if handle == 2 else -1
    )


def drop(stream: TextIO) -> None:
    """Let what is not yet written go nowhere: at its end the interpreter would wait or complain."""
    with contextlib.suppress(OSError, ValueError):
        _nowhere(stream.fileno())


def _nowhere(handle: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, handle)
    os.close(nowhere)
