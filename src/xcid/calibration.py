"""How far scores can be trusted: repeated runs of a row, averages of runs and of rows, decided top sets.

A stop is ``stop(first, more) -> Explanation``: it decides on further runs of rows and joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from scipy import special

from xcid._check import as_float, as_int, given_or
from xcid._kernels.random import TOP, uniform
from xcid.contributions import sources
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Explanation, Flags, Integers, fields
from xcid.table import is_missing

__all__ = ["Decided"]

NORMAL_95 = 1.959964
DRAWS = 400  # rankings that limits allow
ENDLESS = 1e300  # an error of which nothing is known: any order is as likely
MOST_CELLS = 2**22  # of draws held at a time
E = TypeVar("E", bound=Explanation)
More: TypeAlias = Callable[[Integers, int], Explanation]
"""``more(rows, replicate)``: another independent run of some rows of a block."""


class Stop(Protocol):
    """Decides how many runs the rows of a block get, and joins them; a plain function qualifies."""

    def __call__(self, first: Explanation, more: More) -> Explanation: ...


@dataclass(frozen=True, slots=True)
class Repeats:
    """A fixed number of independent runs, averaged."""

    count: int = 1

    def __post_init__(self) -> None:
        as_int(self.count, "repeats", at_least=1)

    def __call__(self, first: Explanation, more: More) -> Explanation:
        """Run all rows again."""
        rows = np.arange(len(first))
        return average([first, *(more(rows, replicate) for replicate in range(1, self.count))])


@dataclass(frozen=True, slots=True)
class Decided:
    """Go on with the rows whose top k is not decided yet.

    Parameters
    ----------
    k : int
    confidence : float
        A top set is decided when this share of it is expected to be truly there.
    max_evaluations : int
        Most evaluations for each row.
    """

    k: int = 4
    confidence: float = 0.95
    max_evaluations: int = 10_000

    def __post_init__(self) -> None:
        as_int(self.k, "k", at_least=1)
        as_int(self.max_evaluations, "max_evaluations", at_least=1)
        if not 0 < as_float(self.confidence, "confidence") < 1:
            raise InvalidParameter(f"confidence must lie in (0, 1), not {self.confidence}")

    def __call__(self, first: Explanation, more: More) -> Explanation:
        """Run the undecided rows again, until they are decided or their budget is spent."""
        if first.lower is None:
            raise InvalidParameter("only a score with limits, such as xcid.scores.Adjusted(), can say what is decided")
        k = min(self.k, first.values.shape[1])
        return _run_while(lambda joined: top_agreement(joined, k) < self.confidence, self.max_evaluations, first, more)


@dataclass(frozen=True, slots=True)
class Precise:
    """Go on with the rows whose limits are wider than a share of their largest contribution.

    Parameters
    ----------
    width : float
        Of the widest limits of a row, from the lower to the upper one, as a share of its largest contribution.
    max_evaluations : int
        Most evaluations for each row.
    """

    width: float = 0.05
    max_evaluations: int = 100_000

    def __post_init__(self) -> None:
        as_int(self.max_evaluations, "max_evaluations", at_least=1)
        if not 0 < as_float(self.width, "precision") < np.inf:
            raise InvalidParameter(f"precision must be a share above 0, not {self.width}")

    def __call__(self, first: Explanation, more: More) -> Explanation:
        """Run the rows again whose limits are too wide, until they are not or their budget is spent."""
        if first.lower is None:
            raise InvalidParameter("only values with limits have a precision: explain by xcid.scores.Adjusted()")
        return _run_while(lambda joined: _widest(joined) > self.width, self.max_evaluations, first, more)


def choose_stop(repeats: int, stop: Stop | None, precision: float | None) -> Stop:
    """When to end the runs of a row, which is said in one of three ways."""
    if stop is not None and repeats != 1:
        raise InvalidParameter("give repeats or stop, not both: a stop decides on the number of runs itself")
    if precision is not None:
        if stop is not None or repeats != 1:
            raise InvalidParameter("give precision alone, without repeats or stop: it decides on the runs")
        return Precise(precision)
    return given_or(stop, partial(Repeats, repeats), "stop", "xcid.calibration.Decided()")


def _widest(explanation: Explanation) -> Array:
    """(n,) the widest limits of each row as a share of its largest value; 0 where runs do not make them narrower."""
    assert explanation.lower is not None
    assert explanation.upper is not None
    widths, largest = (explanation.upper - explanation.lower).max(axis=1), np.abs(explanation.values).max(axis=1)
    is_known = np.isfinite(widths) & (largest > 0)
    return np.divide(widths, largest, out=np.zeros(len(widths)), where=is_known)


def _run_while(
    is_open: Callable[[Explanation], Flags], max_evaluations: int, first: Explanation, more: More
) -> Explanation:
    """Run the rows that are open again, until they are not or their budget is spent; average the runs of each."""
    runs = [(np.arange(len(first)), first)]
    done: dict[int, Explanation] = {}
    while len(rows := runs[-1][0]):
        here = [_of(rows, *run) for run in runs]
        joined = average(here)
        if joined.spread is None:
            joined = replace(joined, spread=np.full(joined.values.shape, np.nan))  # of one run there is none
        open_ = is_open(joined) & (joined.n_evaluations + runs[-1][1].n_evaluations <= max_evaluations)
        done |= {int(row): joined[at] for at, row in enumerate(rows) if not open_[at]}
        rows = rows[open_]
        runs.append((rows, more(rows, len(runs)) if len(rows) else first[[]]))
    return Explanation.concatenate([done[row] for row in range(len(first))])


def _of(rows: Integers, at: Integers, run: Explanation) -> Explanation:
    """Some rows of a run of the rows ``at``."""
    return run[np.searchsorted(at, rows)]


def average(runs: list[Explanation]) -> Explanation:
    """Average independent runs of the same rows; limits shrink with their number, ``spread`` is how they differ."""
    if len(runs) == 1:
        return runs[0]
    joined = fields.over_runs(runs)
    for name in dict.fromkeys(each.of for each in fields.list_fields(joined) if each.of):
        joined = replace(joined, **_pool_runs(runs, name))
    return replace(joined, spread=np.std([run.values for run in runs], axis=0, ddof=1))


def _pool_runs(runs: list[Explanation], name: str) -> dict[str, Any]:
    """An estimate over independent runs, with limits and p-values; nothing where a run lacks them."""
    each = [found for run in runs if (found := fields.estimate(run, name)) is not None]
    if len(each) < len(runs):
        return {}
    shrink, value, lower, upper, p = np.sqrt(len(runs)), *(np.array(part) for part in zip(*each, strict=True))
    centre = value.mean(axis=0)
    pooled = fields.Estimate(
        centre,
        centre - np.mean(value - lower, axis=0) / shrink,
        centre + np.mean(upper - value, axis=0) / shrink,
        _joined_p_values(value, p, 2 if runs[0].base_values is not None and name == "values" else 1),
    )
    return fields.name_parts(runs[0], name, pooled)


def _joined_p_values(values: Array, p_values: Array, sided: int) -> Array:
    """Join the p-values of independent runs by their normal quantiles (Stouffer's method).

    Of signed scores both sides count, and runs of opposite signs cancel; of distances only large ones.
    """
    normal = special.ndtri(np.clip(p_values / sided, 1e-300, 1 - 1e-16))
    if sided == 1:
        return np.asarray(special.ndtr(normal.sum(axis=0) / np.sqrt(len(normal))))
    total = np.sum(np.sign(values) * normal, axis=0) / np.sqrt(len(normal))
    return np.asarray(2 * special.ndtr(-np.abs(total)))


def aggregate(explanation: E, by: Any = None) -> E:
    """Average many rows, all of them or by subgroup: one row of the result for each.

    ``values`` are mean contributions, with limits of that mean, which add up from the mean base value to the mean
    output; ``size`` are mean absolute ones, by which features are ranked, ``importance`` is the mean d1, and
    ``share_significant`` the share of rows where the feature is significant. Of several classes contributions are about
    the predicted one of each row, unless ``towards`` has chosen one. Rows that failed are left out, unless all did.

    Parameters
    ----------
    explanation : Explanation
    by : (n,) labels, optional
        Subgroups, in ascending order in the result.
    """
    labels = ["all"] * len(explanation) if by is None else list(by)
    if len(labels) != len(explanation):
        raise InvalidData(f"by needs one label for each of {len(explanation)} rows, not {len(labels)}")
    if not labels:
        raise InvalidData("the explanation has no rows to average")
    names, which = _sort_labels(labels)
    return Explanation.concatenate([_mean_of(explanation[which == at], name) for at, name in enumerate(names)])


def _sort_labels(labels: list[Any]) -> tuple[list[str], Integers]:
    """Distinct labels as text in ascending order, missing ones last, and the place of each label among them."""
    keys = [None if is_missing(label) else label for label in labels]
    distinct: list[Any] = [key for key in dict.fromkeys(keys) if key is not None]
    try:
        order = sorted(distinct)
    except TypeError:  # labels of several types
        order = sorted(distinct, key=str)
    place = {label: at for at, label in enumerate([*order, None])}
    names = [str(label) for label in order] + ["missing"] * (None in keys)
    return names, np.array([place[key] for key in keys])


def _mean_of(whole: E, name: str) -> E:
    from xcid import directions

    part = directions.explained(whole)
    values, n = part.values, len(part)
    centre = values.mean(axis=0, keepdims=True)
    error = values.std(axis=0, ddof=1, keepdims=True) / np.sqrt(n) if n > 1 else np.zeros_like(centre)
    reach = special.stdtrit(max(n - 1, 1), 0.975) * error
    mean = directions.follow_refits(replace(fields.over_rows(part), values=centre))
    reach = np.hypot(reach, _reach_of_all(part, mean))
    is_level = np.array([bool(levels) for levels in part.details.levels])
    numbers = np.where(is_level, 0.0, part.data)
    n_known = np.sum(~np.isnan(numbers), axis=0)
    middle = np.where(n_known > 0, np.nansum(numbers, axis=0) / np.maximum(n_known, 1), np.nan)
    for column in np.flatnonzero(is_level):
        codes, counts = np.unique(part.data[:, column], return_counts=True)
        middle[column] = codes[np.argmax(counts)]
    return replace(
        mean,
        size=np.abs(values).mean(axis=0, keepdims=True),
        status=np.array(["ok" if np.all(whole.status == "ok") else "some_rows_lack_samples"]),
        index=np.array([name]),
        data=middle[None],
        lower=centre - reach,
        upper=centre + reach,
        share_significant=None if part.significant is None else part.significant.mean(axis=0, keepdims=True),
        n_rows=np.array([n]),
    )


def _reach_of_all(part: Explanation, mean: Explanation) -> Array | float:
    """How far limits of a mean reach for what rows may share: our sampling, reference rows, models trained again."""
    if part.lower is None or part.upper is None:
        return 0.0
    if part.limits == fields.COMPUTATION:
        return np.asarray(np.mean(part.upper - part.lower, axis=0, keepdims=True) / 2)
    wide = sources.widen(mean, part.limits)
    return np.asarray(wide.upper - wide.lower) / 2  # type: ignore[operator]


def in_top(explanation: Explanation, k: int) -> Array:
    """(n, d) probability that each feature is truly among the k largest, by drawing scores within their limits."""
    lower, upper = explanation.lower, explanation.upper
    if lower is None or upper is None:
        raise InvalidParameter("these scores have no limits: explain with a score that has, such as Adjusted()")
    values, d = explanation.values, explanation.values.shape[1]
    if as_int(k, "k", at_least=1) > d:
        raise InvalidParameter(f"k must be at most the number of features, {d}, not {k}")
    error = np.nan_to_num((upper - lower) / (2 * NORMAL_95), nan=0.0, posinf=ENDLESS)
    draws = special.ndtri(uniform(TOP.bits(np.arange(DRAWS, dtype=np.uint64), np.arange(d, dtype=np.uint64))))
    result = np.empty(values.shape)
    block = max(1, MOST_CELLS // (DRAWS * d))
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        drawn = np.abs(values[part, None, :] + error[part, None, :] * draws)
        place = np.argsort(np.argsort(-drawn, axis=2, kind="stable"), axis=2)
        result[part] = np.mean(place < k, axis=1)
    return result


def top_agreement(explanation: Explanation, k: int) -> Array:
    """(n,) share of the k features with the largest scores that is truly among the k largest, as expected."""
    chosen = np.argsort(-np.abs(explanation.values), axis=1, kind="stable")[:, :k]
    share: Array = np.take_along_axis(in_top(explanation, k), chosen, axis=1).mean(axis=1)
    return share
