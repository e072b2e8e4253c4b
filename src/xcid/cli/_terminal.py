"""What is typed at a terminal and shown there: text, scores in colour, and a line that says how far a job is.

There are colours where rich is installed; in pipes and with NO_COLOR the text is plain.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xcid._require import make_printable

if TYPE_CHECKING:
    from xcid.io.writers import Columns

MODELS = ("auto", "logistic", "forest", "boosting", "network")
USUAL_MODEL = "auto"  # what is trained where no model is given: a forest, or boosting on a long table
TABLES_OUT = ".csv, .xlsx (Excel), .parquet, .feather, .arrow, .json, .jsonl"
ROWS_OF_A_SAMPLE = 100  # explained where none are typed, and nothing keeps the others
ROWS_OF_A_CHUNK = 256  # of a large run: as many as an explainer takes at once
SUPPORTS, OPPOSES, UNSIGNED = "#009E73", "#D55E00", "#56B4E9"  # as in pictures and reports
MOST_SECONDS = 10**6
EVERY = 0.1  # seconds between two pictures of the bar
WIDTH = 24
_SCORE = re.compile(r"(?<=\s)([-+ ])\d\.\d{3}(?=\s|$)")
_BAR = re.compile(r"[█▏▎▍▌▋▊▉]+$")
_APART: list[tuple[TextIO, TextIO]] = []  # the streams of a command while a model has those of the process


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Read a number that lies within limits."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise argparse.ArgumentTypeError(f"a whole number {limits}, not {text!r}")
        return int(text)

    return read


def read_names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(name.strip() for name in text.split(","))


def read_seconds(text: str) -> float:
    """Read a time."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 and up to {MOST_SECONDS}, not {text!r}")
    return value


def to_sentences(notes: Sequence[str]) -> list[str]:
    """Notes as they are shown on a page."""
    from xcid.show.wording.names import make_sentence

    return [make_sentence(note) for note in notes]


class Progress:
    """One line that is written over in a terminal; elsewhere only the last one, without a bar.

    It says how much is done of what is counted, on stderr; where it is quiet, it says nothing.
    """

    def __init__(self, what: str, quiet: bool) -> None:
        self.what, self.start, self.first, self.last, self.done = what, time.monotonic(), 0, -EVERY, -1
        self.stream = None if quiet else streams()[1]
        self.rewrites = self.stream is not None and self.stream.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Say how much is done."""
        now = time.monotonic()
        if self.done < 0 or done < self.done:
            self.start, self.first = now, done  # what was done before says nothing of the rate
        if done == self.done or (done < total and (not self.rewrites or now - self.last < EVERY)):
            self.done = done
            return
        self.last, self.done = now, done
        text = f"{done:,} of {total:,} {self.what}{describe_rate(done - self.first, total - done, now - self.start)}"
        if self.stream is not None:
            self._write(f"\r\033[K{draw_bar(done, total, self.stream)} {text}" if self.rewrites else f"{text}\n")
        if self.rewrites and done >= total:
            self._write("\n")

    def note(self, message: str) -> None:
        """Say something in a line of its own."""
        self._write(f"\r\033[K{message}\n" if self.rewrites else f"{message}\n")

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text)
            self.stream.flush()


def describe_rate(done: int, left: int, seconds: float) -> str:
    """How fast it goes and how long it will take, or took.

    Examples
    --------
    >>> describe_rate(300, 600, 2.0), describe_rate(900, 0, 6.0), describe_rate(0, 900, 0.0)
    (', 150 per second, 4 s left', ', 150 per second, 6.0 s', '')
    """
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    shown = f"{speed:,.0f} per second" if speed >= 10 else f"{speed:.1f} per second"
    return f", {shown}, {_format_time(left / speed)} left" if left else f", {shown}, {seconds:.1f} s"


def _format_time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def streams() -> tuple[TextIO, TextIO]:
    """Where a command writes: stdout and stderr, also where these are kept apart from what a model writes."""
    return _APART[-1] if _APART else (sys.stdout, sys.stderr)


def show(text: str, end: str = "\n") -> None:
    """Write to stdout."""
    streams()[0].write(text + end)


def console(stream: TextIO) -> Any | None:
    """What draws on a stream in colour; None where it must be plain."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_scores(text: str) -> None:
    """Show bars: what supports the output in one colour, what works against it in another."""
    text, drawn = make_printable(text), console(streams()[0])
    if drawn is None:
        show(text)
        return
    for at, line in enumerate(text.splitlines()):
        drawn.print(_paint_line(line, is_title=at == 0))


def style_text(text: str, style: str, stream: TextIO) -> str:
    """A text as a stream shows it."""
    drawn = console(stream)
    if drawn is None:
        return text
    with drawn.capture() as captured:
        drawn.print(text, style=style, end="")
    return str(captured.get())


def draw_bar(done: int, total: int, stream: TextIO) -> str:
    """How much is done, as a bar."""
    full, empty = "#." if console(stream) is None else "━ "
    filled = WIDTH * done // max(total, 1)
    return full * filled + empty * (WIDTH - filled)


def _paint_line(line: str, is_title: bool) -> Any:
    from rich.text import Text

    found = Text(line)
    score, drawn = _SCORE.search(line), _BAR.search(line)
    if is_title:
        found.stylize("bold")
    elif score is None:
        found.stylize("dim")
    else:
        colour = {"+": SUPPORTS, "-": OPPOSES}.get(score[1], UNSIGNED)
        for part in (score, drawn):
            if part is not None:
                found.stylize(colour, *part.span())
    return found


@contextlib.contextmanager
def keep_streams_apart(quiet: bool) -> Iterator[None]:
    """Keep stdout and stderr for the command: what models write there, Python or not, goes to stderr or nowhere."""
    own = _open_own(sys.stdout, 1), _open_own(sys.stderr, 2)
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


def _open_own(stream: TextIO, handle: int) -> TextIO:
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


def print_json(columns: Iterator[Columns], more: Callable[[], dict[str, Any]] = dict) -> Iterator[Columns]:
    """Columns that are printed as JSON on their way.

    ``more`` is called once the first piece has come, and gives what the first object has besides.
    """
    from xcid.io.writers import array, pack_json

    ours, theirs = tee(columns)
    packed = (pack_json(piece, None if at else more()) for at, piece in enumerate(ours))
    for text, piece in zip_longest(array(packed), theirs):
        show(text.decode(), end="")
        if piece is not None:
            yield piece


def show_more(total: int, n_shown: int, out: Path | None) -> None:
    """Say how many more rows there are, and where."""
    if total > n_shown:
        where = f"all of them are in {out}" if out is not None else "--out FILE keeps all of them"
        show(f"and {total - n_shown:,} more rows: {where}")
