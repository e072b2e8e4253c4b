"""Comparison: by how much two explanations differ. Groups of rows, the same rows explained twice, single rows.

The error of a mean over rows is seen in how the rows differ; whether two groups do is judged by dealing their rows out
anew (``_kernels.permutations``). One part of the error is not seen: rows of a run follow one of a few plans, and those
of a plan share what chance does. Between groups of one run that cancels, as far as their rows are alike. Else each mean
gets the error of a row, by its limits, as if the rows of a plan shared all of it; this errs on the safe side. The
errors of two single rows are taken as independent.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from xcid import directions
from xcid._kernels.permutations import NORMAL, Kind, RowValues, compare_means
from xcid.contributions import sources
from xcid.errors import InvalidData, InvalidParameter
from xcid.outcomes.classes import class_names
from xcid.records import UNKNOWN, Array, Backend, Explanation, Flags, benjamini_hochberg, is_significant
from xcid.records.fields import COMPUTATION
from xcid.table import frame_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from xcid.frames import AnyFrame


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """By how much two explanations differ, feature by feature, and how sure that is.

    Attributes
    ----------
    first, second : (d,)
        Mean contributions over the rows of each, on the same scale and about the same class.
    difference : (d,)
        ``second - first``.
    lower, upper : (d,)
        Confidence limits (95%) of ``difference``.
    p_values : (d,)
        Against "these two do not differ".
    feature_names : tuple of str
    names : tuple of two str
        What the two are called.
    n_rows : tuple of two int
        The rows behind the means; rows of which nothing is known are left out.
    kind : "groups", "pairs" or "rows"
        Two groups of rows, the same rows explained twice and compared row by row, or two single rows.
    about : str
        The class that signs are about; "" for a number.
    scale, unit : str
        What differences are measured in, as ``Explanation.scale`` and ``Explanation.unit``.
    question : str
        What was asked, in words.
    shown : tuple of (str, str)
        The values of each feature in two single rows, in words; empty where there are more rows.
    sizes : Comparison, optional
        The same about sizes, the means of absolute contributions: a feature that counts more in one of the two, up in
        some rows and down in others, differs here and not in ``difference``.
    limits : "computation", "reference" or "training"
        What those of the two explanations allow for; limits of averages allow for other rows besides.
    """

    first: Array
    second: Array
    difference: Array
    lower: Array
    upper: Array
    p_values: Array
    feature_names: tuple[str, ...]
    names: tuple[str, str]
    n_rows: tuple[int, int]
    kind: Kind
    about: str
    scale: str
    unit: str
    question: str = ""
    shown: tuple[tuple[str, str], ...] = ()
    sizes: Comparison | None = None
    limits: str = COMPUTATION

    def __len__(self) -> int:
        return len(self.difference)

    def __repr__(self) -> str:
        first, second = self.n_rows
        return f"<xcid.Comparison: {len(self)} features, {first} and {second} rows, compared as {self.kind}>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.comparison(self)

    def _repr_html_(self) -> str:
        from xcid.show import notebook

        return notebook.comparison(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write one HTML file with sentences, a picture and a table; it needs nothing else."""
        from xcid.show.report.comparison import report

        report(self, path, title=title)

    @property
    def significant(self) -> Flags:
        """(d,) differences whose p-value, corrected for the features, is at most 0.05."""
        return np.asarray(is_significant(self.p_values[None])[0])

    def adjusted_p_values(self) -> Array:
        """(d,) p-values adjusted for the number of features by Benjamini and Hochberg's method."""
        return np.asarray(benjamini_hochberg(self.p_values[None])[0])

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: Backend = "pandas") -> AnyFrame:
        """Give one line for each feature as a data frame of pandas, polars or pyarrow."""
        return frame_of(self.to_columns(), backend)

    def to_columns(self) -> dict[str, Any]:
        """The columns of :meth:`to_frame` as arrays by name."""
        parts = ("first", "second", "difference", "lower", "upper")
        columns: dict[str, Any] = {"feature": np.array(self.feature_names)}
        columns |= {name: getattr(self, name) for name in parts} | {"p_value": self.p_values}
        columns |= {name: np.repeat(getattr(self, name), len(self)) for name in ("about", "unit")}
        if self.sizes is not None:
            columns |= {f"size_{name}": getattr(self.sizes, name) for name in parts[:3]}
            columns["size_p_value"] = self.sizes.p_values
        return columns


def compare(first: Explanation, second: Explanation, names: tuple[str, str], about: str | None = None) -> Comparison:
    """Compare two explanations of the same features, with signs about the same outcome."""
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidParameter(f"names must be two different names, not {names!r}")
    _check(first, second)
    towards = _direction(first, second) if about is None else str(about)
    parts = (directions.towards(first, towards), directions.towards(second, towards)) if towards else (first, second)
    if parts[0].scale != parts[1].scale:
        parts = parts[0], directions.on(parts[1], parts[0].scale)
    known = [_find_known(part) for part in parts]
    if len({name for part in parts if part.against is not None for name in part.against.tolist()}) > 1:
        raise InvalidParameter(
            "these are margins against another class in each row, which cannot be compared: "
            "explanation.on('log_odds') gives log odds of a class against all others"
        )
    is_paired = _same_rows(first, second)
    if is_paired:
        known = [known[0] & known[1]] * 2
    parts = parts[0][known[0]], parts[1][known[1]]
    if not all(map(len, parts)):
        raise InvalidData(f"there is nothing to compare: no row is explained in {names[not len(parts[1])]}")
    measured = _read_errors(parts[0]), _read_errors(parts[1])
    shares_plans = _is_one_run(first, second)
    kind: Kind = "groups"
    if len(parts[0]) == len(parts[1]) == 1:
        kind = "rows"
    elif is_paired:
        kind = "pairs"
    found = Comparison(
        *(np.zeros(0),) * 6,
        feature_names=first.feature_names,
        names=(str(names[0]), str(names[1])),
        n_rows=(len(parts[0]), len(parts[1])),
        kind=kind,
        about=str(parts[0].about[0]),
        scale=parts[0].scale,
        unit=parts[0].unit,
        question=first.question,
        shown=_list_values(*parts) if kind == "rows" else (),
        limits=max((part.limits for part in parts), key=sources.SOURCES.index),
    )
    numbers = compare_means(found.kind, _with_sizes(measured[0]), _with_sizes(measured[1]), shares_plans)
    halves = slice(None, len(first.feature_names)), slice(len(first.feature_names), None)
    of_values, of_sizes = ({name: part[half] for name, part in numbers.items()} for half in halves)
    return replace(found, **of_values, sizes=replace(found, **of_sizes))


def _with_sizes(one: RowValues) -> RowValues:
    """Values, and beside them their sizes."""
    return RowValues(np.column_stack([one.values, np.abs(one.values)]), np.column_stack([one.errors, one.errors]))


def _list_values(one: Explanation, other: Explanation) -> tuple[tuple[str, str], ...]:
    """The values of each feature of two single rows."""
    return tuple((one.shown(0, at), other.shown(0, at)) for at in range(len(one.feature_names)))


def _check(first: Explanation, second: Explanation) -> None:
    """Refuse what cannot be compared."""
    if first.feature_names != second.feature_names:
        ours, theirs = set(first.feature_names), set(second.feature_names)
        odd = sorted(ours ^ theirs)[:5]
        what = f"only one of them has {odd}" if odd else "they come in another order"
        raise InvalidParameter(f"two explanations of different features cannot be compared: {what}")
    counts = len(first.output_names), len(second.output_names)
    if (counts[0] == 1) != (counts[1] == 1):
        raise InvalidParameter("a regression cannot be compared with a model that has classes")
    if first.output_names != second.output_names:
        raise InvalidParameter(
            f"models with different classes cannot be compared: {list(class_names(first.output_names))} and "
            f"{list(class_names(second.output_names))}"
        )
    for one in (first, second):
        if not len(one):
            raise InvalidData("there is nothing to compare: an explanation has no rows")
        if one.share_significant is not None:
            raise InvalidParameter("averages cannot be compared: compare the explanations of the rows themselves")
        if one.lower is None or one.base_values is None:
            raise InvalidParameter("these scores have no sign and no limits: explain with the recommended setting")
    asked = first.details.outcome, second.details.outcome
    if counts[0] > 1 and None not in asked and asked[0] != asked[1]:
        raise InvalidParameter(
            f"answers to different questions cannot be compared: {first.question!r} and {second.question!r}"
        )


def _direction(first: Explanation, second: Explanation) -> str:
    """Whom signs are about where nobody says; "" for numbers."""
    names, about = class_names(first.output_names), {*first.about.tolist()} | {*second.about.tolist()}
    if len(about) > 1 and len(names) > 2:
        raise InvalidParameter(
            f"there are several classes: name the one that signs are about by towards=, one of {list(names)}"
        )
    return "" if len(names) == 1 else str(first.about[0])


def _find_known(one: Explanation) -> Flags:
    """(n,) rows of which something is known."""
    return ~np.isin(one.status, UNKNOWN) & np.isfinite(one.values).all(axis=1)


def _read_errors(one: Explanation) -> RowValues:
    assert one.lower is not None
    assert one.upper is not None
    return RowValues(one.values, (one.upper - one.lower) / (2 * NORMAL))


def _same_rows(first: Explanation, second: Explanation) -> bool:
    return (
        first.details.levels == second.details.levels
        and np.array_equal(first.index, second.index)
        and np.array_equal(first.data, second.data, equal_nan=True)
    )


def _is_one_run(first: Explanation, second: Explanation) -> bool:
    """Whether rows follow the same plans: one seed and setting, one model and one background."""
    one, other = first.details, second.details
    alike = one.scales == other.scales and one.output_scales == other.output_scales
    return bool(one.settings) and one.settings == other.settings and alike
