"""The edge to users: checks of single settings, what is said of foreign errors, warnings, and progress of long work."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import logging
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import numpy as np

from xcid.errors import InvalidParameter, XcidError, XcidWarning

T = TypeVar("T")
LOG = logging.getLogger("xcid")
DELAY = 2.0  # seconds before a bar appears
Progress: TypeAlias = Callable[..., Iterable[Any]]
"""``progress(steps, total=...)`` gives the steps back one by one, and shows how many are done, as ``tqdm.tqdm``."""
UPWARDS = frozenset(("up", "higher", "raise", "raises", "rise", "rises", "increase", "increases"))
DOWNWARDS = frozenset(("down", "lower", "lowers", "fall", "falls", "decrease", "decreases"))


def as_int(value: Any, name: str, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Take a whole number; True and 2.0 are none.

    Examples
    --------
    >>> as_int(3, "m", at_least=2)
    3
    >>> as_int(2.5, "m")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: m must be a whole number, not 2.5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name} must be a whole number, not {value!r}")
    if at_least is not None and number < at_least:
        raise InvalidParameter(f"{name} must be at least {at_least}, not {number}")
    if at_most is not None and number > at_most:
        raise InvalidParameter(f"{name} must be at most {at_most:,}, not {number}")
    return number


def as_float(value: Any, name: str) -> float:
    """Take a number; NaN and infinity pass, for the range to refuse.

    Examples
    --------
    >>> as_float("x", "share")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: share must be a number, not 'x'
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidParameter(f"{name} must be a number, not {value!r}")
    return float(value)


def sign_of(word: Any) -> int:
    """Take a direction: 1 for a word that means up, -1 for one that means down, 0 for anything else.

    Every setting with a direction takes all of these words, whichever it documents.

    Examples
    --------
    >>> sign_of("rises"), sign_of("Lower"), sign_of("sideways")
    (1, -1, 0)
    """
    said = word.strip().lower() if isinstance(word, str) else ""
    return (said in UPWARDS) - (said in DOWNWARDS)


def require_callable(value: Any, name: str, example: str) -> None:
    """Refuse what cannot be called.

    Examples
    --------
    >>> require_callable("random", "generator", "xcid.generators.Random()")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: generator must be a function or an object like xcid.generators.Random(), not 'random'
    """
    if not callable(value):
        raise InvalidParameter(f"{name} must be a function or an object like {example}, not {value!r}")


def given_or(given: T | None, usual: Callable[[], T], name: str, example: str) -> T:
    """A part of a method that was given, or the usual one, which is then made; it must be callable."""
    part = usual() if given is None else given
    require_callable(part, name, example)
    return part


def selection(rows: Any, size: int) -> Any:
    """A slice as it is, anything else as positions of rows."""
    if isinstance(rows, int | np.integer):
        return [position_of(rows, size, "row")]
    try:
        positions = np.arange(size)[rows]
    except (IndexError, TypeError, ValueError) as error:
        raise InvalidParameter(f"rows {rows!r} cannot be selected: there are {size} rows ({error})") from error
    if positions.ndim != 1:
        raise InvalidParameter(f"rows {rows!r} cannot be selected: give a slice, a list of positions or a mask")
    return rows if isinstance(rows, slice) else positions


def position_of(index: Any, size: int, what: str) -> int:
    """Take a position from the front or, below 0, from the end."""
    index = as_int(index, f"the position of a {what}")
    if not -size <= index < size:
        raise InvalidParameter(f"there is no {what} {index}: positions go from 0 to {size - 1}")
    return index % size


MOST_SHOWN = 60  # letters of a cell or a name
MOST_NAMES = 8


def shown(names: Sequence[object], most: int = MOST_NAMES) -> str:
    """The first of a list that may be long, each of which may be long."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"[{', '.join(f'{name!r:.{MOST_SHOWN}}' for name in names[:most])}]{more}"


def shown_and_meant(names: Sequence[object], known: Iterable[str]) -> str:
    """Names that are not known, and the first of the known that one of them was meant to be.

    Examples
    --------
    >>> shown_and_meant(["weight", "incme"], ["age", "income"])
    "['weight', 'incme'] (did you mean 'income'?)"
    """
    known = list(known)
    return shown(names) + next(filter(None, (meant(str(name), known) for name in names[:MOST_NAMES])), "")


def describe_differences(missing: Sequence[str], unknown: Sequence[str]) -> str:
    """How the columns of a table differ from those that it should have.

    Examples
    --------
    >>> describe_differences(["income"], ["incme"]), describe_differences(["age"], [])
    ("missing ['income'], unknown ['incme'] (did you mean 'income'?)", "missing ['age']")
    """
    parts = [
        f"missing {shown(missing)}" if missing else "",
        f"unknown {shown_and_meant(unknown, missing)}" if unknown else "",
    ]
    return ", ".join(filter(None, parts))


def meant(name: str, known: Iterable[str]) -> str:
    """A question that names what is spelt most like a name that is not known; "" where nothing is like it.

    Examples
    --------
    >>> meant("incme", ["age", "income"]), meant("weight", ["age", "income"])
    (" (did you mean 'income'?)", '')
    """
    folded = {one.casefold(): one for one in map(str, known)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f" (did you mean {folded[close[0]]!r:.{MOST_SHOWN}}?)" if close else ""


def name_class(name: object) -> str:
    """A class in a sentence with other numbers.

    Examples
    --------
    >>> name_class("diabetes"), name_class(1)
    ('diabetes', 'class 1')
    """
    shown = str(name)
    return f"class {shown}" if shown.lstrip("-").replace(".", "", 1).isdigit() else shown


def describe_error(error: BaseException) -> str:
    """The kind of a foreign exception and what it says, if it can say anything."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


@contextmanager
def telling(error: type[XcidError], what: str) -> Iterator[None]:
    """Turn what foreign code raises here into an error of ours that says what could not be done."""
    try:
        yield
    except (XcidError, MemoryError):
        raise
    except Exception as caught:
        raise error(f"{what}: {' '.join(describe_error(caught).split()):.200}") from caught


def warn(message: str) -> None:
    """Warn at the line of the user's own code that led here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "xcid":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, XcidWarning, stacklevel=level)


def log_notes(found: T) -> T:
    """Tell the logger the notes of what was found."""
    for note in getattr(found, "notes", ()):
        LOG.info(note)
    return found


def silent(steps: Iterable[T], total: int) -> Iterable[T]:
    """Show nothing."""
    return steps


def choose_progress() -> Progress:
    """A bar of tqdm in terminals and notebooks, where it is installed; nothing in scripts."""
    watched = "ipykernel" in sys.modules or (hasattr(sys, "ps1") and sys.stderr is not None and sys.stderr.isatty())
    if not watched:
        return silent
    try:
        bar = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return silent
    return functools.partial(bar, desc="xcid", unit="block", delay=DELAY, leave=False)
