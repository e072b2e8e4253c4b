"""What is typed and shown: verbs, numbers, rows (5, 0:10, :3, -3:), and the records that options become."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xcid.errors import InvalidParameter

MODELS = ("logistic", "forest", "boosting", "network")
METHODS = ("xcid", "paper", "shap", "lime", "dice", "occlusion", "chance")
ROWS_OF_A_CHUNK, MOST_OF_A_CHUNK = 256, 65_536  # of a large run; an explainer takes 256 at once
T = TypeVar("T")
_ROWS = re.compile(r"-?\d+|-?\d*:-?\d*(:-?\d*)?")


def add_verb(subparsers: Any, document: str, summary: str, **more: Any) -> argparse.ArgumentParser:
    """Add a verb; the docstring of its module names it, and describes it."""
    name, _, description = document.partition(": ")
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name.removeprefix("``xcid ").removesuffix("``"), help=summary, description=description, **more
    )
    return parser


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


def rows(text: str) -> slice:
    """Read positions of rows, counted from 0; below 0 from the end.

    Examples
    --------
    >>> rows("0:10"), rows("-3:"), rows("5"), rows("-1")
    (slice(0, 10, None), slice(-3, None, None), slice(5, 6, None), slice(-1, None, None))
    """
    if not _ROWS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} does not select rows: type 5 for one, 0:10 for the first ten, -3: for the last"
        )
    if ":" not in text:
        return slice(int(text), int(text) + 1 or None)
    return slice(*(int(part) if part else None for part in text.split(":")))


def chosen(selection: slice, size: int) -> range:
    """Positions of the selected rows of a table; it must have some."""
    if selection.step == 0:
        raise InvalidParameter("rows cannot be counted in steps of 0")
    positions = range(size)[selection]
    if not positions:
        start, stop = ("" if part is None else str(part) for part in (selection.start, selection.stop))
        raise InvalidParameter(
            f"--rows {start}:{stop} selects none of the {size} rows, whose positions go from 0 to {size - 1}"
        )
    return positions


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
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
