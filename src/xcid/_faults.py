"""Rows that cannot be explained, or hardly: the others still are, and a status and a warning say so."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from xcid._check import warn
from xcid.errors import ModelError, NotEnoughFlips, TooSlow, XcidWarning
from xcid.records import POOR, STATUSES, UNKNOWN, Array, Explanation, Failure, fields
from xcid.records.status import meaning

R = TypeVar("R")
T = TypeVar("T")


class Failed(NamedTuple):
    """Rows (n, d) that could not be explained, and why."""

    rows: Array
    error: ModelError


Piece: TypeAlias = Explanation | Failed


def isolated(explain: Callable[[Array], T], rows: Array) -> list[T | Failed]:
    """Explain a block of rows; where the model fails, try halves of it, and single rows once more."""
    try:
        return [explain(rows)]
    except ModelError as error:
        if len(rows) > 1:
            half = len(rows) // 2
            return isolated(explain, rows[:half]) + isolated(explain, rows[half:])
        if isinstance(error, TooSlow):
            return [Failed(rows, error)]
    try:
        return [explain(rows)]
    except ModelError as error:
        return [Failed(rows, error)]


def warn_of_failure(failure: Failure) -> None:
    """Say that some rows could not be explained, and why the first could not."""
    warn(str(failure))


def filled(
    pieces: Sequence[R | Failed],
    reference: Callable[[], Sequence[R | Failed]] = list,
    tell: Callable[[Failure], None] = warn_of_failure,
) -> list[R]:
    """Put rows that failed in their places, with a status and scores of 0, and tell of them.

    Where all of them failed, the model is broken if it fails for the reference data too, and only then its error is
    raised.
    """
    done = [piece for piece in pieces if not isinstance(piece, Failed)]
    failed = [piece for piece in pieces if isinstance(piece, Failed)]
    if not failed:
        return done
    like = done or [piece for piece in reference() if not isinstance(piece, Failed)]
    if not like:
        raise failed[0].error
    sizes = [length(piece) for piece in pieces]
    place = sum(sizes[: next(at for at, piece in enumerate(pieces) if piece is failed[0])])
    count = sum(len(piece.rows) for piece in failed)
    tell(Failure(_status(failed[0]), place, count, sum(sizes), str(failed[0].error)))
    return [_empty(piece, like[0]) if isinstance(piece, Failed) else piece for piece in pieces]


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Let no warning of ours through: who explains parts of a table says of all of them together what there is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)
        yield


def refuse_one_side(pieces: Iterable[tuple[Collection[str], str]]) -> None:
    """Raise where no piece of a table has flips: each has the statuses of its rows, and why it lacks flips, if so."""
    known = [reason for statuses, reason in pieces if not set(statuses) <= set(UNKNOWN)]
    if known and all(known):
        raise NotEnoughFlips(known[0])


def warn_of_few(explanation: Explanation) -> None:
    """Warn of rows that lack perturbations of a kind."""
    poor = np.flatnonzero(np.isin(explanation.status, POOR))
    if poor.size:
        advice = STATUSES[str(explanation.status[poor[0]])].advice
        warn(
            f"{poor.size} of {len(explanation)} rows have too few perturbations that flip, or too few that stay; "
            f"{counted(explanation, int(poor[0]))}: see explanation.status; {advice}"
        )


def warn_of_statuses(statuses: Counter[str], reason: str) -> int:
    """Warn of all rows that are not as they should be, and say why the first that failed did; how many failed."""
    found = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()) if status != "ok")
    if found:
        n_rows, why = statuses.total(), f"; the first that failed is {reason}" if reason else ""
        if not statuses["ok"]:
            why = f": {meaning(statuses.most_common(1)[0][0])}{why}"
        warn(f"{n_rows - statuses['ok']:,} of {n_rows:,} rows do not have the status ok ({found}){why}")
    return sum(statuses[status] for status in UNKNOWN)


def counted(explanation: Explanation, row: int) -> str:
    """Say what a row has; without any flips, how rare they must be at least: (1 - rate) ** evaluations = 5%."""
    flips, evaluations = explanation.n_flips[row], explanation.n_evaluations[row]
    rate = -np.expm1(np.log(0.05) / max(evaluations, 1))
    rare = "" if flips else f", so that flips are rarer than {rate:.2g} of its perturbations (95% confidence)"
    others = explanation.n_negative[row]
    return f"row {row} has {flips} flips and {others:.4g} others in {evaluations:,} evaluations{rare}"


class Deadline:
    """Refuses further model calls when the time of some rows is over; it cannot end a call."""

    def __init__(self, seconds_a_row: float | None, n_rows: int) -> None:
        self.seconds = None if seconds_a_row is None else seconds_a_row * n_rows
        self.start = time.monotonic()

    def check(self) -> None:
        """Raise when the time is over."""
        if self.seconds is not None and time.monotonic() - self.start > self.seconds:
            raise too_slow(self.seconds)


def too_slow(seconds: float | None) -> TooSlow:
    """The error of a row that takes longer than it may."""
    return TooSlow(f"the model took longer than the {seconds:g} s that it may take; raise time_limit")


def length(piece: Any) -> int:
    """How many rows a piece is of."""
    return len(piece.rows) if isinstance(piece, Failed) else len(piece)


def _status(failed: Failed) -> str:
    return "too_slow" if isinstance(failed.error, TooSlow) else "model_failed"


def _empty(failed: Failed, like: R) -> R:
    """Explanations of rows of which nothing is known."""
    n = len(failed.rows)
    status = np.full(n, _status(failed))
    known: dict[str, Any] = {"data": failed.rows, "status": status}
    if isinstance(like, Explanation) and like.cloud is not None:
        known["cloud"] = fields.unknown(like.cloud, n, origin=failed.rows, status=status)
    return fields.unknown(like, n, **known)
