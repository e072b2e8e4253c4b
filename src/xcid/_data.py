"""The values that flow through the library: all of them are frozen.

row -> Perturbations -> DensityPair -> Explanation
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xcid._check import position_of, selection
from xcid.errors import EvidenceNotKept, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

SIGNIFICANT = 0.05  # a feature with a larger p-value is marked as noise


@dataclass(frozen=True, slots=True, eq=False)
class Perturbations:
    """Clouds of perturbed rows, with the weight of every sample in C+ and in C-.

    The two sets of the paper are weights of 0 and 1 over one cloud. A sample that belongs to neither set (an empty
    place in the rectangle) has weight 0 in both; a probability splits a sample between them.

    Attributes
    ----------
    origin : (n, d)
        The rows that were perturbed.
    samples : (n, s, d)
        The perturbed rows.
    positive, negative : (n, s)
        Weights in C+ (the output flips) and in C- (it does not).
    n_evaluations : (n,)
        How many rows the model was asked to predict for each row.
    status : (n,) str
        "ok", or what the search did not find; see :class:`Explanation`.
    discrete : (d,) bool
        Columns made of levels: they have frequencies, no density. NaN in any column is a missing cell.
    features : tuple of tuples of int
        The columns of each feature; by default every column is a feature by itself.
    masks : (n, s // 2, f) bool or None
        Where given, the samples are pairs, the second half of them the complements of the first, and these are the
        features that the first ones take from a donor row; a donor's value may happen to be the row's own.
    donors : (n, s // 2) or None
        Weight in C+ of the donor row of each pair.
    background : (N, d) or None
        Where given, the rows that new values come from, each as likely as any other.
    limited : (f,) bool or None
        Features for which that does not hold, since constraints forbid some of these values; None for no feature.
    """

    origin: Array
    samples: Array
    positive: Array
    negative: Array
    n_evaluations: Integers
    status: npt.NDArray[np.str_]
    discrete: Flags
    features: tuple[tuple[int, ...], ...] = ()
    masks: Flags | None = None
    donors: Array | None = None
    background: Array | None = None
    limited: Flags | None = None

    def __post_init__(self) -> None:
        if not self.features:
            object.__setattr__(self, "features", _single(self.origin.shape[1]))

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, rows: Any) -> Perturbations:
        """Select rows by a slice or a list of positions."""
        parts = {name: getattr(self, name) for name in _PER_ROW}
        chosen: dict[str, Any] = {name: part[rows] for name, part in parts.items() if part is not None}
        return replace(self, **chosen)

    @staticmethod
    def concatenate(blocks: list[Perturbations]) -> Perturbations:
        """Join clouds of the same features with the same number of samples a row."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in _PER_ROW
            if getattr(blocks[0], name) is not None
        }
        return replace(blocks[0], **joined)


def _single(n_columns: int) -> tuple[tuple[int, ...], ...]:
    """Every column is a feature."""
    return tuple((column,) for column in range(n_columns))


_PER_ROW = ("origin", "samples", "positive", "negative", "n_evaluations", "status", "masks", "donors")


@dataclass(frozen=True, slots=True, eq=False)
class DensityPair:
    """Two densities on common points, batched over leading axes.

    A point is a cell of the line with its width as ``weights`` and the mean density over the cell as ``p`` and ``q``,
    or an atom with ``weights`` 1 and its mass as ``p`` and ``q``. Either way ``weights * p`` is a mass, so that one
    formula serves continuous, discrete and mixed features.

    Attributes
    ----------
    points : (..., g)
        Where: the middle of a cell, or the value that carries an atom.
    p, q : (..., g)
        Densities (or masses) of C+ and C-.
    weights : (..., g)
        Widths of the cells; 1 for an atom; 0 for an unused place.
    atoms : (..., g) bool
        Which points are atoms.
    """

    points: Array
    p: Array
    q: Array
    weights: Array
    atoms: Flags

    def __getitem__(self, index: Any) -> DensityPair:
        """Select from the leading axes."""
        return DensityPair(*(getattr(self, field.name)[index] for field in fields(self)))

    def compact(self) -> DensityPair:
        """Drop the unused places of a single pair and sort the rest by value."""
        used = np.flatnonzero(self.weights * (self.p + self.q) > 0)
        order = used[np.argsort(self.points[used], kind="stable")]
        return self[order]


_COMMON = (
    "feature_names",
    "column_names",
    "features",
    "output_names",
    "levels",
    "units",
    "scales",
    "density",
    "settings",
)  # what all rows of an explanation share


class Density(Protocol):
    """Anything that turns weighted samples of features into pairs of densities; a plain function qualifies.

    ``values``, ``positive`` and ``negative`` have a common shape ``(..., s)`` after broadcasting; the result is
    batched over the same leading axes. A density has mass 1 where its weights have a positive sum and 0 elsewhere.
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair: ...


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """What decides each row, and how sure that is.

    Attributes
    ----------
    values : (n, d)
        The score to rank by. Signed: above 0 the present value of the feature holds the present output in place.
        In the paper's setting the unsigned d1.
    importance : (n, d)
        d1 of the evidence, in [0, 1].
    direction : (n, d)
        -1, 0 or +1; 0 where the setting does not tell.
    lower, upper, p_values : (n, d) or None
        Confidence limits (95 %) of ``values``, and p-values against "this feature makes no difference to flipping";
        None where the setting does not calibrate.
    null_mean, null_quantile : (n, d) or None
        Mean and 95 % quantile of the absolute values of a feature that makes no difference, with as much noise.
    spread : (n, d) or None
        Standard deviation of ``values`` over repeated runs, where there are any.
    significant : (n, d) or None
        Share of rows where a feature is told from noise, where rows were averaged.
    status : (n,) str
        "ok", "insufficient_flips" (fewer positives than asked for) or "insufficient_stays" (fewer negatives);
        "rare_flips" and "rare_stays" where a directed search found what chance did not; "no_flips" where no
        perturbation flips the output and the scores rest on probabilities alone.
    feature_status : (n, d) str
        "ok", "frozen" (by the constraints) or "constant" (nothing else is allowed there); the last two score 0.
    n_evaluations : (n,)
        Rows that the model was asked to predict.
    n_flips : (n,)
        Perturbations that flip the output (more than half of their weight is in C+).
    n_positive, n_negative : (n,)
        Total weight of C+ and of C- behind the scores of each row.
    index : (n,)
        Names of the rows: the index of a pandas frame, else 0, 1, 2, ...
    feature_names : tuple of str
        What has a score: columns, and groups of columns under their own names.
    data : (n, c)
        The explained rows as numbers: positions for levels, NaN for missing cells. One column for each column of the
        table; without groups these are the features.
    column_names : tuple of str
    features : tuple of tuples of int
        The columns of each feature.
    outputs : (n, k)
        The model's outputs for them: one column for each class, or one for a regression.
    output_names : tuple of str
        The classes, or "output".
    levels : tuple of tuples of str
        The levels of each column that is made of them, in the order of their codes; empty for numbers.
    units : tuple of str
        "D" or "s" for dates, whose numbers are days or seconds since 1970; else empty.
    scales : tuple of float
        Mean absolute deviation of each column of the background: the unit of distances.
    cloud : Perturbations or None
        The evidence, where it was kept.
    density : Density or None
        The estimator that turns the cloud into pictures.
    settings : mapping of str to str
        What made this explanation, for the record.
    """

    values: Array
    importance: Array
    direction: Array
    status: npt.NDArray[np.str_]
    feature_status: npt.NDArray[np.str_]
    n_evaluations: Integers
    n_flips: Integers
    n_positive: Array
    n_negative: Array
    index: npt.NDArray[Any]
    feature_names: tuple[str, ...]
    data: Array
    column_names: tuple[str, ...]
    features: tuple[tuple[int, ...], ...]
    outputs: Array
    output_names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    units: tuple[str, ...]
    scales: tuple[float, ...]
    lower: Array | None = None
    upper: Array | None = None
    p_values: Array | None = None
    null_mean: Array | None = None
    null_quantile: Array | None = None
    spread: Array | None = None
    significant: Array | None = None
    cloud: Perturbations | None = None
    density: Density | None = None
    settings: Mapping[str, str] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Explanation:
        """Select rows by a slice, a list of positions or a mask; a single position gives an explanation of one row."""
        rows = selection(rows, len(self))
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return Explanation(
            **{name: part if name in _COMMON or part is None else part[rows] for name, part in named.items()}
        )

    @staticmethod
    def concatenate(blocks: list[Explanation]) -> Explanation:
        """Join explanations of the same features made by the same setting; evidence is kept if all blocks have it."""
        joined: dict[str, Any] = {}
        for field in fields(Explanation):
            parts = [getattr(block, field.name) for block in blocks]
            if field.name in _COMMON:
                joined[field.name] = parts[0]
            elif any(part is None for part in parts):
                joined[field.name] = None
            elif field.name == "cloud":
                joined[field.name] = Perturbations.concatenate(parts)
            else:
                joined[field.name] = np.concatenate(parts)
        return Explanation(**joined)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        ok = int(np.sum(self.status == "ok"))
        return f"<xcid.Explanation: {len(self)} rows x {len(self.feature_names)} features, {ok} ok>"

    def __str__(self) -> str:
        from xcid import text

        if not len(self):
            return repr(self)
        more = f"\n(and {len(self) - 1} more rows: print(explanation[i]))" if len(self) > 1 else ""
        return text.bars(self) + more

    def evidence(self, row: int, feature: int | str) -> DensityPair:
        """Give the two densities behind one score.

        Parameters
        ----------
        row : int
            Position of the row.
        feature : int or str
            Position or name of the feature.
        """
        row = position_of(row, len(self), "row")
        column = self.position(feature)
        if self.density is None and self.cloud is not None:
            raise EvidenceNotKept(
                "the density of these scores was a function of your own, which a file does not keep: "
                "put it back with dataclasses.replace(explanation, density=...)"
            )
        if self.cloud is None or self.density is None:
            raise EvidenceNotKept(
                "the samples behind these scores were not kept: explain this row by itself, "
                "or raise max_evidence_bytes of the Explainer"
            )
        from xcid.scores import evidence

        return evidence(self.cloud, row, column, self.density)

    def shown(self, row: int, feature: int | str) -> str:
        """The row's own value in words: a number, the name of a level, or "missing"; those of a group in turn."""
        row = position_of(row, len(self), "row")
        columns = sorted(self.features[self.position(feature)])
        return ", ".join(self.cell(self.data[row, column], column) for column in columns)

    def cell(self, code: float, column: int) -> str:
        """A number of a column in words."""
        if np.isnan(code):
            return "missing"
        if self.units[column]:
            return str(np.array(round(code)).astype(f"datetime64[{self.units[column]}]"))
        return self.levels[column][int(code)] if self.levels[column] else f"{code:.6g}"

    def position(self, feature: int | str) -> int:
        """Find a feature's column from its name or position."""
        if isinstance(feature, str):
            if feature not in self.feature_names:
                raise InvalidParameter(f"there is no feature {feature!r}; the features are {list(self.feature_names)}")
            return self.feature_names.index(feature)
        return position_of(feature, len(self.feature_names), "feature")

    def counterfactuals(
        self,
        row: int = 0,
        *,
        nearest: int = 3,
        diverse: int = 3,
        backend: Literal["pandas", "polars", "pyarrow"] = "pandas",
    ) -> Any:
        """Give the nearest and the most diverse perturbations that flip a row's output, as a readable frame of changes.

        They are taken from the samples behind the scores. ``Explainer.counterfactuals`` searches for near and sparse
        ones instead.
        """
        from xcid import counterfactuals

        return counterfactuals.table(self, row, nearest, diverse, backend)

    def adjusted_p_values(self) -> Array:
        """(n, d) p-values adjusted for the number of features by Benjamini and Hochberg's method."""
        from xcid import calibration

        if self.p_values is None:
            raise InvalidParameter("these scores have no p-values: explain with a score that has, such as Adjusted()")
        return calibration.benjamini_hochberg(self.p_values)

    def in_top(self, k: int) -> Array:
        """(n, d) probability that each feature is truly among the k with the largest absolute values."""
        from xcid import calibration

        return calibration.in_top(self, k)

    def stable(self, k: int = 4, confidence: float = 0.95) -> Flags:
        """(n,) whether the k largest are decided: this share of them is expected to be truly there."""
        from xcid import calibration

        return calibration.top_agreement(self, min(k, len(self.feature_names))) >= confidence

    def aggregate(self, by: Any = None) -> Explanation:
        """Average the rows, all of them or by (n,) labels of subgroups, into an explanation of one row for each."""
        from xcid import calibration

        return calibration.aggregate(self, by)

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Give one line for each row and feature as a data frame of pandas, polars or pyarrow."""
        from xcid import io

        return io.to_frame(self, backend)

    def to_shap(self) -> Any:
        """Give a ``shap.Explanation`` with the same values, for SHAP's plots."""
        from xcid import io

        return io.to_shap(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, evidence included, to one file that :func:`xcid.load` reads; no pickle."""
        from xcid import io

        io.save(self, path)


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """Pairs of features of one row, the strongest first.

    Attributes
    ----------
    pairs : tuple of (str, str)
    values : (p,)
        ``joint - alone``: what the two features tell together and neither by itself. Below 0 they tell the same.
    joint : (p,)
        d1 of the joint distribution of the pair.
    alone : (p,)
        What d1 of the joint distribution would be if the two were independent within C+ and within C-.
    p_values : (p,)
        Against that independence, for ``joint`` above ``alone``.
    status : str
        As in :class:`Explanation`.
    """

    pairs: tuple[tuple[str, str], ...]
    values: Array
    joint: Array
    alone: Array
    p_values: Array
    status: str

    @staticmethod
    def of(names: tuple[str, ...], status: str, joint: Array, alone: Array, p_values: Array) -> Interactions:
        """Take the upper half of (f, f) tables."""
        first, second = np.triu_indices(len(names), k=1)
        excess = (joint - alone)[first, second]
        order = np.argsort(-excess, kind="stable")
        at = first[order], second[order]
        found = tuple((names[i], names[j]) for i, j in zip(*at, strict=True))
        return Interactions(found, excess[order], joint[at], alone[at], p_values[at], str(status))

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        from xcid import text

        return text.pairs(self)

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Give one line for each pair as a data frame of pandas, polars or pyarrow."""
        from xcid import io

        return io.pairs_to_frame(self, backend)
