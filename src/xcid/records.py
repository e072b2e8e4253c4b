"""The values that flow through the library: all of them are frozen.

row -> Perturbations -> DensityPair -> Explanation
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xcid._check import position_of, selection
from xcid.errors import EvidenceNotKept, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

T = TypeVar("T")

SIGNIFICANT = 0.05  # a feature with a larger p-value is marked as noise


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the samples of all rows have in common, so that what is computed from it is computed once.

    The samples are pairs: the first p of them take some features from a donor row, and the p others, their
    complements, take all other features from the same donors. All of them count with weight 1.

    Attributes
    ----------
    masks : (p, f) bool
        Features that the first sample of each pair takes from its donor.
    free : (f,) bool
        Features that are taken at all; the others stay as they are in all samples.
    fitted : (f,) bool
        Features of which constraints forbid some values: each row gets others in their place.
    values : (p, d)
        The donors.
    background : (N, d)
        The rows that donors come from, each as likely as any other.
    features : tuple of tuples of int
        The columns of each feature.
    """

    masks: Flags
    free: Flags
    fitted: Flags
    values: Array
    background: Array
    features: tuple[tuple[int, ...], ...]
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> tuple[Any, ...]:
        """What is computed from a plan does not travel with it."""
        return tuple({} if each.name == "_made" else getattr(self, each.name) for each in fields(self))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for each, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, each.name, value)

    @property
    def taken(self) -> Flags:
        """(2p, f) what each sample takes from its donor."""
        return np.concatenate([self.masks, ~self.masks]) & self.free

    def samples(self, rows: Array) -> Array:
        """(n, 2p, d) the samples of (n, d) rows, where no feature is fitted to them."""
        new = self.once("new", lambda plan: np.concatenate([plan.values, plan.values]))
        return np.where(self.once("columns taken", _columns_taken), new, rows[:, None])

    def once(self, key: Any, make: Callable[[Plan], T]) -> T:
        """Make something of this plan, or give what was made under the same key before."""
        if key not in self._made:
            self._made[key] = make(self)
        made: T = self._made[key]
        return made


def _columns_taken(plan: Plan) -> Flags:
    """(2p, d) the columns that each sample takes from its donor."""
    taken = np.zeros((2 * len(plan.masks), plan.values.shape[1]), dtype=bool)
    for feature, columns in enumerate(plan.features):
        taken[:, list(columns)] = plan.taken[:, feature, None]
    return taken


@dataclass(frozen=True, slots=True, eq=False)
class Perturbations:
    """Clouds of perturbed rows, with the weight of every sample in C+ and in C-.

    The two sets of the paper are weights of 0 and 1 over one cloud. A sample that belongs to neither set (an empty
    place in the rectangle) has weight 0 in both; a probability splits a sample between them.

    Attributes
    ----------
    origin : (n, d)
        The rows that were perturbed.
    given : (n, s, d) or None
        The perturbed rows; None where they follow from the plan.
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
    plan : Plan or None
        Where the samples of all rows were made by one plan: what they have in common.
    """

    origin: Array
    given: Array | None
    positive: Array
    negative: Array
    n_evaluations: Integers
    status: npt.NDArray[np.str_]
    discrete: Flags
    features: tuple[tuple[int, ...], ...] = ()
    plan: Plan | None = None

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

    @property
    def samples(self) -> Array:
        """(n, s, d) the perturbed rows."""
        if self.given is None and self.plan is not None:
            return self.plan.samples(self.origin)
        given: Array = np.asarray(self.given)
        return given

    @property
    def nbytes(self) -> int:
        """Bytes that the rows and their samples take."""
        held = (self.origin, self.given, self.positive, self.negative)
        return sum(part.nbytes for part in held if part is not None)

    @staticmethod
    def concatenate(blocks: list[Perturbations]) -> Perturbations:
        """Join clouds of the same features with the same number of samples a row."""
        if len(blocks) == 1:
            return blocks[0]
        if not all(block.plan is blocks[0].plan for block in blocks):
            blocks = [replace(block, given=block.samples, plan=None) for block in blocks]
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in _PER_ROW
            if getattr(blocks[0], name) is not None
        }
        return replace(blocks[0], **joined)


def _single(n_columns: int) -> tuple[tuple[int, ...], ...]:
    """Every column is a feature."""
    return tuple((column,) for column in range(n_columns))


_PER_ROW = ("origin", "given", "positive", "negative", "n_evaluations", "status")


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
        return DensityPair(*(getattr(self, each.name)[index] for each in fields(self)))

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
        perturbation flips the output and the scores rest on probabilities alone; "model_failed" and "too_slow" where
        the model did not answer: nothing is known of such a row, and its scores are 0.
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
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return Explanation(
            **{name: part if name in _COMMON or part is None else part[rows] for name, part in named.items()}
        )

    @staticmethod
    def concatenate(blocks: list[Explanation]) -> Explanation:
        """Join explanations of the same features made by the same setting; evidence is kept if all blocks have it."""
        joined: dict[str, Any] = {}
        for each in fields(Explanation):
            parts = [getattr(block, each.name) for block in blocks]
            if each.name in _COMMON:
                joined[each.name] = parts[0]
            elif any(part is None for part in parts):
                joined[each.name] = None
            elif each.name == "cloud":
                joined[each.name] = Perturbations.concatenate(parts)
            else:
                joined[each.name] = np.concatenate(parts)
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

    def _repr_html_(self) -> str:
        from xcid import notebook

        return notebook.html(self)

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
        return self.levels[column][int(code)] if self.levels[column] else f"{code + 0.0:.6g}"

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
        from xcid import frames

        return frames.to_frame(self, backend)

    def to_shap(self) -> Any:
        """Give a ``shap.Explanation`` with the same values, for SHAP's plots."""
        from xcid import frames

        return frames.to_shap(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :func:`xcid.load` reads, without pickle.

        A name that ends in ``.json`` or ``.parquet`` makes a document that other languages read, without the evidence;
        any other name an archive of everything, evidence included.
        """
        from xcid.files import saved

        saved.save(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        notes: Sequence[str] = (),
        values: Literal["shown", "hidden"] = "shown",
    ) -> None:
        """Write one HTML file to look at every row, its scores and their evidence; it needs nothing else.

        Parameters
        ----------
        path : path of the file
            A file that is there is replaced when the new one is complete.
        title : str, optional
        notes : sequence of str
            What else a reader should know, such as what the model is and how well it does.
        values : {"shown", "hidden"}
            Hidden: no value of the table is in the file, only names, scores, probabilities and shapes.
        """
        from xcid.report import report

        report([self], path, title=title, notes=notes, values=values)


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
        from xcid import frames

        return frames.pairs_to_frame(self, backend)
