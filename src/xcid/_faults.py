"""Rows that cannot be explained, or hardly: the others still are, and a status and a warning say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xcid.errors import ModelError, TooSlow, warn
from xcid.records import STATUSES, Array, Explanation, fields


class Failed(NamedTuple):
    """Rows (n, d) that could not be explained, and why."""

    rows: Array
    error: ModelError


def isolated(explain: Callable[[Array], Explanation], rows: Array) -> list[Explanation | Failed]:
    """Explain a block of rows; where the model fails, ask about halves of it, and about single rows once more."""
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


def filled(pieces: Sequence[Explanation | Failed]) -> list[Explanation]:
    """Put rows that failed in their places, with a status and scores of 0; raise where all of them failed."""
    done = [piece for piece in pieces if isinstance(piece, Explanation)]
    failed = [piece for piece in pieces if isinstance(piece, Failed)]
    if not failed:
        return done
    if not done:
        raise failed[0].error
    n_failed, n_rows = sum(len(piece.rows) for piece in failed), sum(_length(piece) for piece in pieces)
    warn(f"{n_failed} of {n_rows} rows could not be explained, see explanation.status; the first: {failed[0].error}")
    return [piece if isinstance(piece, Explanation) else _empty(piece, done[0]) for piece in pieces]


def warn_of_few(explanation: Explanation) -> None:
    """Warn of rows that lack perturbations of a kind."""
    poor = np.flatnonzero(np.char.startswith(explanation.status, "insufficient"))
    if poor.size:
        advice = STATUSES[str(explanation.status[poor[0]])].advice
        warn(
            f"{poor.size} of {len(explanation)} rows have fewer perturbations of a kind than asked for; "
            f"{counted(explanation, int(poor[0]))}: see explanation.status; {advice}"
        )


def counted(explanation: Explanation, row: int) -> str:
    """Say what a row has; without any flips, how rare they must be at least: (1 - rate) ** evaluations = 5 %."""
    flips, evaluations = explanation.n_flips[row], explanation.n_evaluations[row]
    rate = -np.expm1(np.log(0.05) / max(evaluations, 1))
    rare = "" if flips else f", so that flips are rarer than {rate:.2g} of its perturbations (95 % confidence)"
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
            raise TooSlow(f"the model took more than the {self.seconds:g} s that it may take; raise time_limit")


def _length(piece: Explanation | Failed) -> int:
    return len(piece.rows) if isinstance(piece, Failed) else len(piece)


def _empty(failed: Failed, like: Explanation) -> Explanation:
    """Explanations of rows of which nothing is known."""
    n = len(failed.rows)
    status = np.full(n, "too_slow" if isinstance(failed.error, TooSlow) else "model_failed")
    cloud = None if like.cloud is None else fields.unknown(like.cloud, n, origin=failed.rows, status=status)
    return fields.unknown(like, n, data=failed.rows, status=status, cloud=cloud)
