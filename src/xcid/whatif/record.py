"""Counterfactuals as a record, a readable frame and Python code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from xcid._check import position_of
from xcid._kernels.arrays import same
from xcid._numbers import format_number, format_probability, percent
from xcid.records import Array, Flags, Integers, Texts, in_words
from xcid.table import Backend, Column, frame_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from xcid.frames import AnyFrame

NOT_REACHED, ALREADY, FAILED = "not reached", "already there", "failed"
SAME = 1e-5  # of outputs: no further apart by one model, in single precision, too
PROVED = {
    "nearest": "proved: nothing nearer",
    "sparsest": "proved: no fewer changes",
    "none exists": "proved: there is none within the rules",
    "found": "not proved",
}
USUAL = "nothing nearer in the usual directions"
HURTS = "usually hurts", "makes a reason worse", "way not known"


class Change(NamedTuple):
    """One change of a counterfactual: in words, what it adds to the output, and the output when it is made."""

    feature: str
    before: str
    after: str
    share: float
    output: float


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactuals:
    """Counterfactuals of n rows, m lines in all; f features, d columns of the table.

    A line whose ``kind`` is "not reached" has the best that was found; one that is "already there", or whose row the
    model "failed" for, has no changes. Cells are codes, as in :class:`xcid.Explanation`: numbers, positions of levels,
    NaN where missing; ``table()`` has them as the model sees them. ``about`` says what ``was`` and ``output`` are: it
    names the class whose probability they are. Those of a regression are numbers, and it says whether the number gets
    "higher" or "lower"; it is empty where nothing moves, as in a row that is already there.
    """

    index: Any  # (n,) names of the rows
    data: Array  # (n, d) the rows
    n_evaluations: Integers  # (n,) rows that were evaluated
    row: Integers  # (m,) which of the rows a line belongs to
    kind: Texts  # (m,) "sparsest", "nearest", "steady", "likeliest", "different", some with "and"; or why there is none
    rows: Array  # (m, d) the changed rows
    moved: Flags  # (m, f) which features change; not those that are derived from others
    contrary: Flags  # (m, f) numbers that go the way that usually hurts, or, as reasons, away from usual values; levels
    # that are worse reasons
    unknown: Flags  # (m, f) such levels, and numbers that change of which it is not known which way usually hurts
    distance: Array  # (m,) in mean absolute deviations, 1 for another level, 1 more for a filled cell, times costs
    was: Array  # (m,) the output before: the probability of the class in ``about``, or the number of a regression
    output: Array  # (m,) and after
    digits: Integers  # (m,) decimals of probabilities with which both are on their sides of what is wanted
    about: Texts  # (m,) that class; for a regression "higher" or "lower", "" where the output stays as it was
    plausibility: Array  # (m,) distance to the nearest real row with the wanted output; larger is less plausible
    likeness: Texts  # (m,) the same in words
    proof: Texts  # (m,) "nearest", "sparsest", "within" (a bound), "none exists", "found" (nothing is proved), or ""
    bound: Array  # (m,) the distance over the least for which it is not proved that there is nothing; NaN: not known
    among: Texts  # (m,) changes that the proof is about: "all", or "usual ways" that go none that usually hurts; or ""
    survival: Array  # (m,) the chance that a model trained on other data agrees; NaN: not measured
    shares: Array  # (m, f) what each change adds to the output; they sum to output - was
    order: Integers  # (m, f) in which order changes work best, from 1; 0 for features that do not change
    path: Array  # (m, f) the output when a change is made in this order; NaN for features that do not change
    feature_names: tuple[str, ...]
    features: tuple[tuple[int, ...], ...]  # columns of each feature
    columns: tuple[Column, ...]
    notes: tuple[str, ...]  # what there is to know beside
    decode: Callable[[Array], Any]

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        rows, there = len(self.data), len(np.unique(self.row[self.reached]))
        return f"<xcid.whatif.Counterfactuals: {len(self):,} lines; {there:,} of {rows:,} rows reach the target>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.changes(self)

    def _repr_html_(self) -> str:
        from xcid.show import notebook

        return notebook.counterfactuals(self)

    def are_of(self, rows: Array, outputs: Array, names: Sequence[str]) -> bool:
        """Whether these are counterfactuals of (n, d) rows by a model with these (n, k) outputs."""
        if not np.array_equal(self.data, rows, equal_nan=True):
            return False
        columns = [names.index(name) if name in names else 0 for name in self.about.tolist()]
        due, known = outputs[self.row, columns], (self.about != "") & ~np.isnan(self.was)
        return bool(np.allclose(self.was[known], due[known], rtol=SAME, atol=SAME))

    @property
    def reached(self) -> Flags:
        """(m,) lines whose changed row has the wanted output."""
        return ~np.isin(self.kind, (NOT_REACHED, FAILED))

    @property
    def n_changes(self) -> Integers:
        """(m,) features that change."""
        return self.moved.sum(axis=1)

    def table(self) -> Any:
        """The changed rows as a table of the reference data's own kind."""
        return self.decode(self.rows)

    def changes(self, line: int) -> tuple[Change, ...]:
        """The changes of a line, in the order in which they work best."""
        own = self.data[self.row[line := position_of(line, len(self), "line")]]
        return tuple(
            Change(
                self.feature_names[at],
                self._shown(own, self.features[at]),
                self._shown(self.rows[line], self.features[at]),
                float(self.shares[line, at]),
                float(self.path[line, at]),
            )
            for at in self.in_order(line)
        )

    def derived(self, line: int) -> tuple[Change, ...]:
        """Columns that change because they follow from others: what they add is in the shares of those."""
        line = position_of(line, len(self), "line")
        own, new = self.data[self.row[line]], self.rows[line]
        return tuple(
            Change(column.name, word_cell(column, own[at]), word_cell(column, new[at]), np.nan, np.nan)
            for at, column in ((at, self.columns[at]) for at in self._list_derived(line))
        )

    def in_words(self, line: int) -> str:
        """The changes of a line: "Glucose 148 -> 112, BMI 33.6 -> 30"; derived columns follow in brackets."""
        line = position_of(line, len(self), "line")
        told, n_derived = [self._change(line, at) for at in self.moved_columns(line)], len(self._list_derived(line))
        derived = ", ".join(told[len(told) - n_derived :])
        return ", ".join(told[: len(told) - n_derived]) + (f" ({derived})" if derived else "")

    def proved(self, line: int) -> str:
        """What is proved of a line, in words: "proved: nothing nearer", "not proved"; empty without changes."""
        line = position_of(line, len(self), "line")
        said, is_usual = str(self.proof[line]), self.among[line] == "usual ways"
        if said == "within":
            within = f"at most {np.ceil(100 * self.bound[line] - 1e-6) / 100:g} times as far as the nearest"
            return f"proved: {USUAL}, and {within} in any" if is_usual else f"proved: {within}"
        return PROVED.get(said, "") + (f", and {USUAL}" if is_usual else "")

    def hurts(self, line: int) -> str:
        """Which numbers go a way that usually hurts, or that is not known: "usually hurts: deposit"; empty for none."""
        contrary, unknown = (part[position_of(line, len(self), "line")] for part in (self.contrary, self.unknown))
        said = zip(HURTS, (contrary & ~unknown, contrary & unknown, unknown & ~contrary), strict=True)
        return "; ".join(f"{words}: {self._name(line, flags)}" for words, flags in said if flags.any())

    def survives(self, line: int) -> str:
        """How likely a line holds in a model trained on other data: "83%", or that this was not measured."""
        survival = self.survival[position_of(line, len(self), "line")]
        return "not measured" if np.isnan(survival) else percent(survival)

    def lasts(self, line: int) -> str:
        """The same in full: "83% likely to last"; empty where a line is no answer, or this was not measured."""
        return "" if np.isnan(self.survival[line]) else f"{self.survives(line)} likely to last"

    def code(self, line: int) -> str:
        """Python code that makes the changes of a line one by one, with the output before and after."""
        line = position_of(line, len(self), "line")
        number = "" if np.isnan(self.was[line]) else f"  # {self.was[line]:.4g}"
        made = "import pandas as pd", "", row_code(self.columns, self.data[self.row[line]]) + number
        return "\n".join([*made, *self.steps(line)])

    def steps(self, line: int) -> list[str]:
        """Lines of code that make the changes of a line, in a frame ``row``, with the output after each."""
        line = position_of(line, len(self), "line")
        new, lines = self.rows[line], list[str]()
        for at in self.in_order(line):
            made = [cell_code(self.columns[column], new[column]) for column in self._list_moved(line, at)]
            lines += [*made[:-1], f"{made[-1]}  # {self.path[line, at]:.4g}"]
        return [*lines, *(cell_code(self.columns[at], new[at]) for at in self._list_derived(line))]

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: Backend = "pandas") -> AnyFrame:
        """One line each: row, kind, changes, n_changes, distance, output, was, about, proof, survival, contrary ...."""
        return frame_of(self.to_columns(), backend)

    def to_columns(self) -> dict[str, Any]:
        """The columns of :meth:`to_frame` as arrays by name."""
        return {
            "row": self.index[self.row],
            "kind": self.kind,
            "changes": np.array([self.in_words(line) for line in range(len(self))], dtype=np.str_),
            "n_changes": self.n_changes,
            "distance": self.distance,
            "output": self.output,
            "was": self.was,
            "about": self.about,
            "plausibility": self.plausibility,
            "likeness": self.likeness,
            "proof": self.proof,
            "bound": self.bound,
            "survival": self.survival,
            "contrary": self._name_all(self.contrary),
            "way_unknown": self._name_all(self.unknown),
            "among": self.among,
        }

    def is_number(self, line: int) -> bool:
        """Whether the output of a line is the number of a regression, or none, and not the probability of a class."""
        return str(self.about[line]) in ("higher", "lower", "")

    def word_output(self, line: int, value: float) -> str:
        """An output of a line in words: a probability with as many decimals as show on which side it is."""
        if self.is_number(line):
            return format_number(value)
        return format_probability(value, int(self.digits[line]))

    def in_order(self, line: int) -> list[int]:
        """Places of the features that change, in the order in which they work best."""
        features = np.flatnonzero(self.moved[line])
        ordered: list[int] = features[np.argsort(self.order[line, features], kind="stable")].tolist()
        return ordered

    def moved_columns(self, line: int) -> list[int]:
        """Places of the columns that change, in the order in which their changes work best; derived ones are last."""
        moved = (at for feature in self.in_order(line) for at in self._list_moved(line, feature))
        return [*moved, *self._list_derived(line)]

    def _list_derived(self, line: int) -> list[int]:
        """Columns that change although their features do not change by themselves."""
        changed = ~same(self.rows[line], self.data[self.row[line]])
        changed[[column for at in np.flatnonzero(self.moved[line]) for column in self.features[at]]] = False
        found: list[int] = np.flatnonzero(changed).tolist()
        return found

    def _name(self, line: int, flags: Flags) -> str:
        """The names of some features, in the order in which their changes work best."""
        return ", ".join(self.feature_names[at] for at in self.in_order(line) if flags[at])

    def _name_all(self, flags: Flags) -> Texts:
        return np.array([self._name(line, one) for line, one in enumerate(flags)], dtype=np.str_)

    def _shown(self, row: Array, columns: tuple[int, ...]) -> str:
        return ", ".join(word_cell(self.columns[at], row[at]) for at in sorted(columns))

    def _list_moved(self, line: int, feature: int) -> list[int]:
        """Columns of a feature that change."""
        changed = ~same(self.rows[line], self.data[self.row[line]])
        return [at for at in sorted(self.features[feature]) if changed[at]]

    def _change(self, line: int, at: int) -> str:
        column, own = self.columns[at], self.data[self.row[line], at]
        return f"{column.name} {word_cell(column, own)} -> {word_cell(column, self.rows[line, at])}"


def word_cell(column: Column, code: float) -> str:
    """A cell as text."""
    return in_words(code, column.unit, tuple(str(level) for level in column.levels))


def row_code(columns: tuple[Column, ...], row: Array) -> str:
    """Python code that makes a frame ``row`` of the (d,) codes of a row."""
    cells = ", ".join(f"{column.name!r}: {_literal(column, code)}" for column, code in zip(columns, row, strict=True))
    return f"row = pd.DataFrame([{{{cells}}}])"


def cell_code(column: Column, code: float) -> str:
    """Python code that changes a cell of a frame ``row``."""
    return f"row[{column.name!r}] = {_literal(column, code)}"


def _literal(column: Column, code: float) -> str:
    """A cell as Python writes it."""
    if np.isnan(code):
        return "None"
    if column.unit:
        return f"pd.Timestamp({word_cell(column, code)!r})"
    if column.levels:
        level = column.levels[int(code)]
        return repr(level.item() if isinstance(level, np.generic) else level)
    return repr(int(code)) if float(code).is_integer() and column.kind == "integer" else repr(float(code))
