"""Explanation as plain data: what decides each row, and how sure that is.

The methods that hand it to other rooms are those of :class:`xcid.Explanation`, in ``explanation.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from xcid._check import meant, position_of, selection, shown
from xcid._numbers import format_number
from xcid.errors import InvalidParameter
from xcid.records import fields
from xcid.records.arrays import Array, Details, Flags, Integers, Texts, benjamini_hochberg, is_significant
from xcid.records.cloud import Perturbations
from xcid.records.fields import COLUMN, FEATURE, LOWER, OUTPUT, REFIT, ROW, UPPER, P, first, per, per_source, same_or
from xcid.records.status import UNKNOWN, Failure, meaning

E = TypeVar("E", bound="Explanation")
D1 = "d1"  # the scale of values that are distances and do not add up
MANY = "the predicted class"  # what an average is about whose rows are about several


def with_details(explanation: E, **changes: Any) -> E:
    """The same explanation with other details."""
    return replace(explanation, details=replace(explanation.details, **changes))


def _recode(explanation: E, levels: tuple[tuple[str, ...], ...]) -> E:
    """The same rows with codes that are places in other levels."""
    data = explanation.data.copy()
    for at, (own, known) in enumerate(zip(explanation.details.levels, levels, strict=True)):
        if own != known[: len(own)]:
            places = np.array([*map(known.index, own), np.nan])
            data[:, at] = places[np.where(np.isnan(data[:, at]), len(own), data[:, at]).astype(np.int64)]
    return replace(with_details(explanation, levels=levels), data=data, cloud=None)


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """What decides each row, and how sure that is.

    Attributes
    ----------
    values : (n, d)
        What did this value do? Contributions on ``scale``, about the class in ``about``: with ``base_values`` they add
        up to the output. In the paper's setting the unsigned d1, and equal to ``importance``.
    lower, upper, p_values : (n, d) or None
        Limits (95%) of ``values``, and p-values against "this feature does nothing"; None where the setting has none.
    limits : "computation", "reference" or "training"
        What these limits allow for: our own sampling; other reference rows as well; another training as well.
    sd_computation, sd_reference, sd_training : (n, d) or None
        Standard deviations of ``values``: over our sampling (0 where they are exact), over samples of as many reference
        rows, and over models trained again; None where they were not asked for.
    p_computation : (n, d) or None
        P-values over our sampling alone, where the others allow for more: reasons are judged by them.
    retrained : (n, d, B) or None
        The values of the same rows by each of B refits of the model.
    base_values : (n,) or None
        The mean output of the reference rows on the same scale; None where values do not add up.
    exact : (n,) bool
        Whether ``values`` are computed and not sampled.
    about : (n,) str
        The class that signs are about: the second of two, the predicted one of several; "" for a number.
    against : (n,) str or None
        Where ``scale`` is "margins": the other class of the log odds, the strongest rival of the one in ``about``.
    scale : "log_odds", "margins", "probability", "number" or "d1"
    importance : (n, d)
        What does the decision hang on? d1 of the evidence, in [0, 1]; NaN where it was not asked for.
    importance_lower, importance_upper, importance_p_values : (n, d) or None
        Limits (95%) of ``importance``, and p-values; None where the setting does not calibrate.
    flips_alone : (n, d) or None
        Share of the feature's usual values with which, nothing else changed, the decision would be different.
    spread : (n, d) or None
        Standard deviation of ``values`` over repeated runs, where there are any.
    status : (n,) str
        "ok", or why a row is explained in part or not at all; :data:`xcid.records.STATUSES` says what each one means.
    feature_status : (n, d) str
        "ok", or why a feature cannot change; see :data:`xcid.records.FEATURE_STATUSES`.
    n_evaluations : (n,)
        Rows that the model was called for.
    n_flips : (n,)
        Perturbations that flip the output (more than half of their weight is in C+).
    n_positive, n_negative : (n,)
        Total weight of C+ and of C- behind the importance of each row.
    index : (n,)
        Names of the rows: the index of a pandas frame, else 0, 1, 2, ...
    feature_names : tuple of str
        What has a score: columns, and groups of columns under their own names.
    data : (n, c)
        The explained rows as numbers: positions for levels, NaN for missing cells. One column for each column of the
        table; without groups these are the features.
    outputs : (n, k)
        The model's outputs for them: one column for each class, or one for a regression.
    output_names : tuple of str
        The classes, or "output", or the name that a number was given.
    every_class : (n, d, k) or None
        Exact contributions to each of several outputs, from which ``towards`` takes those about another class.
    every_reference, every_retrained : (n, d, k) and (n, d, k, B), or None
        Beside them, ``sd_reference`` and ``retrained`` about each of the outputs.
    estimand : "Shapley" or "Banzhaf"
        What ``values`` are where they add up: of so many features that samples are too few, effects with half of the
        others kept (Banzhaf values), to which what their sum lacks was added.
    size, share_significant, n_rows : (n, d), (n, d) and (n,), or None
        Where rows were averaged: mean absolute values, the share of rows where a feature is significant, and how many
        rows there were.
    cloud : Perturbations or None
        The evidence, where it was kept.
    details : Details
        What all rows share: the columns of the table with their levels and units, the spread and the means of outputs,
        the question, the estimator that draws the evidence, and the settings.
    """

    details: Details
    values: Array = per(ROW, FEATURE, unknown=0.0, line="value", runs=np.mean, rows=np.mean, of="values", wide=True)
    importance: Array = per(
        ROW, FEATURE, unknown=0.0, line="importance", runs=np.mean, rows=np.mean, of="importance", wide=True
    )
    status: Texts = per(ROW, dtype=np.str_, line="status", runs=first, rows=first, wide=True)
    feature_status: Texts = per(
        ROW, FEATURE, dtype=np.str_, line="feature_status", runs=first, rows=same_or("ok"), absent="constant"
    )
    n_evaluations: Integers = per(
        ROW, dtype=np.int64, unknown=0, line="n_evaluations", runs=np.sum, rows=np.sum, wide=True
    )
    n_flips: Integers = per(ROW, dtype=np.int64, unknown=0, runs=np.sum, rows=np.sum, wide=True)
    n_positive: Array = per(ROW, unknown=0.0, runs=np.sum, rows=np.sum)
    n_negative: Array = per(ROW, unknown=0.0, runs=np.sum, rows=np.sum)
    index: npt.NDArray[Any] = per(ROW, dtype=None, runs=first, rows=first)
    feature_names: tuple[str, ...] = per(FEATURE)
    data: Array = per(ROW, COLUMN, runs=first, rows=first, absent=np.nan)
    outputs: Array = per(ROW, OUTPUT, unknown=np.nan, runs=first, rows=np.mean)
    output_names: tuple[str, ...] = per(OUTPUT)
    lower: Array | None = per(
        ROW, FEATURE, unknown=np.nan, line="lower", of="values", part=LOWER, wide=True, default=None
    )
    upper: Array | None = per(
        ROW, FEATURE, unknown=np.nan, line="upper", of="values", part=UPPER, wide=True, default=None
    )
    p_values: Array | None = per(
        ROW, FEATURE, unknown=1.0, line="p_value", of="values", part=P, wide=True, default=None
    )
    base_values: Array | None = per(
        ROW, unknown=np.nan, line="base_value", runs=first, rows=np.mean, wide=True, default=None
    )
    exact: Flags | None = per(ROW, dtype=np.bool_, unknown=False, line="exact", runs=first, rows=np.all, default=None)
    about: Texts = per(ROW, dtype=np.str_, line="about", runs=first, rows=same_or(MANY), wide=True, default=None)
    against: Texts | None = per(ROW, dtype=np.str_, line="against", runs=first, rows=first, default=None)
    every_class: Array | None = per(ROW, FEATURE, OUTPUT, unknown=np.nan, runs=first, default=None)
    every_reference: Array | None = per_source(OUTPUT)
    every_retrained: Array | None = per_source(OUTPUT, REFIT)
    importance_lower: Array | None = per(
        ROW, FEATURE, unknown=np.nan, line="importance_lower", of="importance", part=LOWER, default=None
    )
    importance_upper: Array | None = per(
        ROW, FEATURE, unknown=np.nan, line="importance_upper", of="importance", part=UPPER, default=None
    )
    importance_p_values: Array | None = per(
        ROW, FEATURE, unknown=1.0, line="importance_p_value", of="importance", part=P, default=None
    )
    flips_alone: Array | None = per(
        ROW, FEATURE, unknown=np.nan, line="flips_alone", runs=np.mean, rows=np.mean, wide=True, default=None
    )
    spread: Array | None = per(ROW, FEATURE, unknown=0.0, line="spread", of="values", part=fields.NOISE, default=None)
    sd_computation: Array | None = per_source(line="sd_computation", rows=np.mean, of="values", part=fields.COMPUTATION)
    sd_reference: Array | None = per_source(
        line="sd_reference", rows=np.mean, of="values", part=fields.REFERENCE, every="every_reference"
    )
    sd_training: Array | None = per_source(line="sd_training", of="values", part=fields.TRAINING)
    p_computation: Array | None = per(ROW, FEATURE, unknown=1.0, source=True, default=None)
    retrained: Array | None = per_source(REFIT, rows=np.mean, of="values", part=fields.AGAIN, every="every_retrained")
    size: Array | None = per(ROW, FEATURE, unknown=0.0, line="size", default=None)
    share_significant: Array | None = per(ROW, FEATURE, unknown=0.0, line="share_significant", default=None)
    n_rows: Integers | None = per(ROW, dtype=np.int64, unknown=0, default=None)
    cloud: Perturbations | None = per(ROW, dtype=Perturbations, runs=first, default=None)
    scale: str = D1
    estimand: str = "Shapley"
    limits: str = fields.COMPUTATION

    def __post_init__(self) -> None:
        if self.about is None:
            object.__setattr__(self, "about", np.full(len(self.values), ""))
        if self.exact is None:
            object.__setattr__(self, "exact", np.zeros(len(self.values), dtype=bool))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Self:
        """Select rows by a slice, a list of positions or a mask; a single position gives an explanation of one row."""
        return fields.select(self, selection(rows, len(self)))

    @staticmethod
    def concatenate(blocks: list[E]) -> E:
        """Join explanations of the same features made by the same setting; evidence is kept if all blocks have it.

        Blocks that met different levels beyond those of the reference data get the codes of all of them, and lose it.
        """
        if any(one.limits != blocks[0].limits for one in blocks):
            told = sorted({one.limits for one in blocks})
            raise InvalidParameter(f"limits allow for different sources ({', '.join(told)}): join those that are alike")
        if any(one.details.levels != blocks[0].details.levels for one in blocks):
            met = zip(*(one.details.levels for one in blocks), strict=True)
            levels = tuple(tuple(dict.fromkeys(chain(*each))) for each in met)
            blocks = [_recode(one, levels) for one in blocks]
        return fields.join(blocks)

    def __iter__(self) -> Iterator[Self]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        ok = int(np.sum(self.status == "ok"))
        return f"<xcid.Explanation: {len(self)} rows x {len(self.feature_names)} features, {ok} ok>"

    @property
    def odds(self) -> Array:
        """(n, d) what the present value multiplies the odds of the class in ``about`` by."""
        if self.scale not in ("log_odds", "margins"):
            raise InvalidParameter("these values are not log odds: explanation.on('log_odds') gives those that are")
        return np.exp(self.values)

    @property
    def unit(self) -> str:
        """What values are measured in: "log odds of diabetes", "probability of the predicted class", "output".

        Those that are no Shapley values are called by their name: "probability of diabetes, as Banzhaf values".
        """
        return self._scale_in_words() + ("" if self.estimand == "Shapley" else f", as {self.estimand} values")

    def _scale_in_words(self) -> str:
        if self.scale in (D1, "number"):
            return self.scale if self.scale == D1 else self.output_names[-1]
        names = {*self.about.tolist()}
        of_class = names.pop() if len(names) == 1 else "the predicted class"
        if self.against is not None:
            rivals = {*self.against.tolist()}
            return f"log odds of {of_class} against {rivals.pop() if len(rivals) == 1 else 'its strongest rival'}"
        return f"{self.scale.replace('_', ' ')} of {of_class}"

    @property
    def question(self) -> str:
        """What was asked, in words."""
        return self.details.ask(self.output_names, format_number)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The rows that could not be explained, by status: how many there are, and the place of the first."""
        places = {code: np.flatnonzero(self.status == code).tolist() for code in UNKNOWN}
        known = [(code, found[0], len(found)) for code, found in places.items() if found]
        return tuple(Failure(code, place, count, len(self), meaning(code)) for code, place, count in known)

    def row(self, name: object) -> Self:
        """The explanation of the row with this name in ``index``; ``explanation[i]`` finds it by position.

        A text finds a number that is written so: ``explanation.row("553")``.
        """
        found = np.flatnonzero([label == name or str(label) == str(name) for label in self.index])
        if len(found) != 1:
            many = f"{len(found)} rows are" if len(found) else "no row is"
            raise InvalidParameter(f"{many} called {name!r}; explanation.index has the names of all rows")
        return self[int(found[0])]

    def shown(self, row: int, feature: int | str) -> str:
        """The row's own value in words: a number, the name of a level, or "missing"; those of a group in turn."""
        row = position_of(row, len(self), "row")
        columns = sorted(self.details.features[self.position(feature)])
        return ", ".join(self.details.cell(self.data[row, column], column) for column in columns)

    def position(self, feature: int | str) -> int:
        """Find a feature's column from its name or position."""
        if isinstance(feature, str):
            if feature not in self.feature_names:
                asked, known = f"{feature!r}{meant(feature, self.feature_names)}", shown(self.feature_names)
                raise InvalidParameter(f"there is no feature {asked}; the features are {known}")
            return self.feature_names.index(feature)
        return position_of(feature, len(self.feature_names), "feature")

    @property
    def significant(self) -> Flags | None:
        """(n, d) features whose p-value, corrected for those of the row that differ, is at most 0.05, or None."""
        return None if self.p_values is None else is_significant(self.p_values, self.feature_status != "constant")

    def adjusted_p_values(self) -> Array:
        """(n, d) p-values adjusted for the number of features by Benjamini and Hochberg's method."""
        if self.p_values is None:
            raise InvalidParameter("these scores have no p-values: explain with a score that has, such as Adjusted()")
        return benjamini_hochberg(self.p_values, self.feature_status != "constant")
