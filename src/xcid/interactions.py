"""Interactions: pairs of features that are worth more, or less, together than their sum."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from xcid import pipeline
from xcid._check import selection
from xcid._faults import filled, isolated
from xcid._kernels.arrays import blocks
from xcid._kernels.random import run_key
from xcid.cid.generators.balanced import Repeated
from xcid.contributions.pairs import pairs
from xcid.contributions.sampled import ROUNDING
from xcid.contributions.scale import Scale, choose_scale, column_in_question, rival_of, take_output
from xcid.errors import NotEnoughFlips
from xcid.records import (
    SIGNIFICANT,
    UNKNOWN,
    Array,
    Backend,
    Flags,
    Integers,
    Perturbations,
    Texts,
    benjamini_hochberg,
    fields,
)
from xcid.records.fields import COLUMN, FEATURE, LOWER, ROW, UPPER, P, per
from xcid.setup import Setup, is_one_sided, perturb_by_plan
from xcid.table import frame_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from xcid.frames import AnyFrame

MOST_CELLS = 2**23  # of the pairs that are held of some rows at a time


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """How the features of each row interact, by pairs, and how sure that is.

    Attributes
    ----------
    values : (n, f, f)
        What the present values of two features add together beyond the sum of both, in the unit and about the class of
        the contributions. Symmetric, and 0 on the diagonal.
    lower, upper : (n, f, f)
        Confidence limits (95%) of ``values``.
    p_values : (n, f, f)
        Against "these two do not interact".
    status : (n,) str
        As in :class:`Explanation`.
    n_evaluations : (n,)
        Rows that the model predicted.
    n_flips : (n,)
        Perturbations that flip the output.
    index : (n,)
        Names of the rows.
    feature_names : tuple of str
    data : (n, c)
        The rows as numbers.
    about : (n,) str
        The class that signs are about, as in :class:`Explanation`.
    against : (n,) str or None
        As in :class:`Explanation`.
    exact : (n,) bool
        Whether ``values`` are Shapley interaction indices, counted out from the inside of the model. What is sampled
        are Banzhaf's interaction indices, which weigh the other features in another way.
    scale : str
        As in :class:`Explanation`.
    """

    values: Array = per(ROW, FEATURE, FEATURE, unknown=0.0, line="value", of="values")
    lower: Array = per(ROW, FEATURE, FEATURE, unknown=np.nan, line="lower", of="values", part=LOWER)
    upper: Array = per(ROW, FEATURE, FEATURE, unknown=np.nan, line="upper", of="values", part=UPPER)
    p_values: Array = per(ROW, FEATURE, FEATURE, unknown=1.0, line="p_value", of="values", part=P)
    status: Texts = per(ROW, dtype=np.str_, line="status")
    n_evaluations: Integers = per(ROW, dtype=np.int64, unknown=0, line="n_evaluations")
    n_flips: Integers = per(ROW, dtype=np.int64, unknown=0)
    index: npt.NDArray[Any] = per(ROW, dtype=None)
    feature_names: tuple[str, ...] = per(FEATURE)
    data: Array = per(ROW, COLUMN)
    about: Texts = per(ROW, dtype=np.str_, line="about")
    exact: Flags = per(ROW, dtype=np.bool_, unknown=False, line="exact")
    against: Texts | None = per(ROW, dtype=np.str_, default=None)
    scale: str = "log_odds"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Interactions:
        """Select rows by a slice, a list of positions or a mask; a single position gives those of one row."""
        return fields.select(self, selection(rows, len(self)))

    def __iter__(self) -> Iterator[Interactions]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<xcid.Interactions: {len(self)} rows x {len(self.pairs)} pairs of {len(self.feature_names)} features>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.pairs(self)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs, the strongest first: by absolute values, averaged over the rows."""
        names = self.feature_names
        return tuple((names[i], names[j]) for i, j in zip(*self.places, strict=True))

    @property
    def places(self) -> tuple[Integers, Integers]:
        """(k,) and (k,) the positions of both features of each of ``pairs``: ``values[(0, *places)]`` is in order."""
        first, second = np.triu_indices(len(self.feature_names), k=1)
        strength = np.abs(self.values).sum(axis=0)[first, second]
        order = np.argsort(-strength, kind="stable")
        return first[order], second[order]

    @property
    def significant(self) -> Flags:
        """(n, f, f) pairs whose p-value, corrected for the pairs of the row, is at most 0.05."""
        return np.asarray(self.adjusted_p_values() <= SIGNIFICANT)

    def adjusted_p_values(self) -> Array:
        """(n, f, f) p-values adjusted for the number of pairs of a row by Benjamini and Hochberg's method."""
        first, second = self.places
        found = np.ones_like(self.p_values)
        if first.size:
            adjusted = benjamini_hochberg(self.p_values[:, first, second])
            found[:, first, second] = found[:, second, first] = adjusted
        return found

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: Backend = "pandas") -> AnyFrame:
        """Give one line for each row and pair, the strongest first, as a data frame of pandas, polars or pyarrow."""
        parts = [_lines(one) for one in self] or [_lines(self)]
        return frame_of({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, backend)


def _lines(one: Interactions) -> dict[str, Any]:
    """The columns of a single row, or of none."""
    names, places = np.array(one.feature_names), one.places
    k = len(places[0])
    columns = {"row": np.repeat(one.index, k)}
    columns |= {side: np.tile(names[at], len(one)) for side, at in zip(("first", "second"), places, strict=True)}
    for each in fields.list_fields(one):
        part = getattr(one, each.name)
        if each.line:
            columns[each.line] = part[:, *places].ravel() if each.axes[1:] else np.repeat(part, k)
    return columns


def explain_pairs(setup: Setup, rows: Array, seed: int, n: int | None) -> Interactions:
    """Score all pairs of features of (n, d) rows, by so many perturbations of each."""
    subject = setup.subject
    how = _scale(setup)
    if subject.adds_up_on == how.name:
        return _count_pairs(setup, rows, how)
    setup = replace(setup, generator=Repeated(n).bind(subject.features.space, subject.outputs))

    def score(some: Array) -> Interactions:
        keys, run = subject.space.keys(some, seed, 0), functools.partial(run_key, seed, 0)
        outputs = subject.predict(some)
        parts, clouds = perturb_by_plan(setup, some, keys, outputs, run)
        each = zip(clouds, parts, strict=True)
        return fields.join([_pair_features(setup, cloud, outputs[part]) for cloud, part in each], parts)

    pieces = [piece for block in pipeline.split(setup, rows) for piece in isolated(score, block)]
    reference = subject.space.rows[: pipeline.REFERENCE_ROWS]
    found = fields.join(filled(pieces, lambda: isolated(score, reference)))
    is_known = not np.isin(found.status, UNKNOWN).all()
    if is_known and not found.n_flips.any() and is_one_sided(setup.outcome, subject):
        raise NotEnoughFlips(
            f"all {len(subject.outputs)} reference rows and all perturbations lie on one side of "
            f"{setup.outcome!r}: there is nothing to compare"
        )
    return found


def _pair_features(setup: Setup, cloud: Perturbations, outputs: Array) -> Interactions:
    names, scale = setup.subject.output_names, _scale(setup)
    column = column_in_question(setup.outcome, outputs, names)
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    numbers = scale(np.asarray(cloud.outputs), column[:, None], None if rival is None else rival[:, None])
    n_flips = np.sum(cloud.positive > 0.5, axis=1)
    return Interactions(
        **fields.name_parts(Interactions, "values", pairs(cloud, numbers)),
        about=np.full(len(cloud), "") if len(names) == 1 else np.array(names)[column],
        against=None if rival is None else np.array(names)[rival],
        exact=np.zeros(len(cloud), dtype=bool),
        scale=scale.name,
        status=np.where((cloud.status == "ok") & (n_flips == 0), "no_flips", cloud.status),
        n_evaluations=cloud.n_evaluations + 1,  # and the row itself
        n_flips=n_flips,
        index=np.arange(len(cloud)),
        feature_names=setup.subject.features.names,
        data=cloud.origin,
    )


def _scale(setup: Setup) -> Scale:
    """What pairs are measured in: as contributions, where the setting has any."""
    how, subject = setup.contributing, setup.subject
    return choose_scale("auto", subject.known, subject.adds_up_on) if how is None else how.scale


def _count_pairs(setup: Setup, rows: Array, scale: Scale) -> Interactions:
    """Exact interactions of all pairs of (n, d) rows, of a model that adds up on the scale."""
    n_pairs, n_outputs = len(setup.subject.features.names) ** 2, setup.subject.known.shape[1]
    some = blocks(len(rows), max(1, MOST_CELLS // (n_pairs * n_outputs)))
    pieces = [
        piece for part in some for piece in isolated(functools.partial(_count_out, setup, scale=scale), rows[part])
    ]
    reference = setup.subject.space.rows[: pipeline.REFERENCE_ROWS]
    return fields.join(filled(pieces, lambda: isolated(functools.partial(_count_out, setup, scale=scale), reference)))


def _count_out(setup: Setup, rows: Array, scale: Scale) -> Interactions:
    subject, names = setup.subject, setup.subject.output_names
    assert subject.exact is not None
    outputs = subject.predict.own(rows)
    column = column_in_question(setup.outcome, outputs, names)
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    values = take_output(subject.exact.pairs(rows), scale, column, rival)
    values = np.where(np.abs(values) < ROUNDING * np.abs(values).max(axis=(1, 2), keepdims=True), 0.0, values)
    return Interactions(
        values=values,
        lower=values,
        upper=values,
        p_values=np.where(values == 0, 1.0, 0.0),
        status=np.full(len(rows), "ok"),
        n_evaluations=np.ones(len(rows), dtype=np.int64),
        n_flips=np.zeros(len(rows), dtype=np.int64),
        index=np.arange(len(rows)),
        feature_names=subject.features.names,
        data=rows,
        about=np.full(len(rows), "") if len(names) == 1 else np.array(names)[column],
        against=None if rival is None else np.array(names)[rival],
        exact=np.ones(len(rows), dtype=bool),
        scale=scale.name,
    )
