"""Explanation: the record that users hold, with everything that can be done with it.

The data are those of :class:`xcid.records.Explanation`. Each method hands them to the room that does the work, which is
imported when it is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict, Unpack, overload

from xcid import records
from xcid.errors import InvalidParameter
from xcid.records import Array, Backend, Density, DensityPair, Flags, Outcome

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from xcid.comparison import Comparison
    from xcid.frames import AnyFrame
    from xcid.show.reasons import Reasons
    from xcid.whatif import Counterfactuals

ReasonTexts: TypeAlias = Mapping[str, str | Callable[[Any], str]] | None  # what is said of features


class ReasonFilter(TypedDict, total=False):
    """Which reasons, whatever the library of their frame."""

    against: str | None
    min_share: float
    reference: Explanation | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(records.Explanation):
    """What decides each row, and how sure that is; its data are those of :class:`xcid.records.Explanation`.

    What did each value do? ``values`` with ``lower``, ``upper`` and ``p_values``, from ``base_values`` to the output,
    in the ``unit`` and ``about`` the class that these name; ``odds``; ``towards(name)`` turns signs, ``on(scale)``
    changes the scale; ``significant``, ``in_top(k)`` and ``stable(k)`` say how sure that is, ``exact`` that nothing was
    sampled. What does the decision hang on? ``importance`` with limits and p-values, ``flips_alone``, and
    ``evidence(row, feature)``. What would change it? ``sampled_flips(row)``, and in your own words
    ``reasons(k, texts)``. Many rows: ``aggregate(by)``, ``compare(other)``, ``explanation[rows]``, ``row(name)``.
    Elsewhere: ``to_frame()``, ``to_shap()``, ``report(path)``, ``save(path)``, ``print``. Beside them: ``data`` and
    ``shown(row, feature)``, ``outputs``, ``status``, ``n_evaluations`` and ``question``.
    """

    @classmethod
    def of(cls, record: records.Explanation) -> Self:
        """The same data with these methods."""
        if isinstance(record, cls):
            return record
        return cls(**{each.name: getattr(record, each.name) for each in fields(record)})

    def __str__(self) -> str:
        from xcid.show import text

        if not len(self):
            return repr(self)
        left = len(self) - 1
        more = f"\n(and {left} more {'row' if left == 1 else 'rows'}: print(explanation[i]))" if left else ""
        return text.bars(self) + more

    def _repr_html_(self) -> str:
        from xcid.show import notebook

        return notebook.html(self)

    def towards(self, name: str) -> Self:
        """The same explanation with every sign about a class; the model is not called again."""
        from xcid import directions

        return directions.towards(self, name)

    def on(self, scale: Literal["log_odds", "margins", "probability"]) -> Self:
        """The same explanation on another scale, by the same evaluations: the model is not called again."""
        from xcid import directions

        return directions.on(self, scale)

    def evidence(self, row: int, feature: int | str) -> DensityPair:
        """Give the two densities whose d1, without the noise of few samples, one importance is.

        Parameters
        ----------
        row : int
            Position of the row.
        feature : int or str
            Position or name of the feature.
        """
        from xcid import directions

        return directions.evidence(self, row, feature)

    def sampled_flips(
        self,
        row: int = 0,
        *,
        nearest: int = 3,
        diverse: int = 3,
        backend: Backend = "pandas",
    ) -> Any:
        """Give the nearest and the most diverse perturbations that flip a row's output, as a readable frame of changes.

        They are taken from the samples of the explanation. ``Explainer.counterfactuals`` searches for near and sparse
        ones instead.
        """
        from xcid.whatif.samples import frame_flips

        return frame_flips(self, row, nearest, diverse, backend)

    @overload
    def reasons(
        self,
        k: int = 4,
        texts: ReasonTexts = None,
        *,
        against: str | None = None,
        min_share: float = 0.0,
        reference: Explanation | None = None,
        backend: Literal["pandas"] = "pandas",
    ) -> pd.DataFrame: ...
    @overload
    def reasons(
        self, k: int = 4, texts: ReasonTexts = None, *, backend: Literal["polars"], **more: Unpack[ReasonFilter]
    ) -> pl.DataFrame: ...
    @overload
    def reasons(
        self, k: int = 4, texts: ReasonTexts = None, *, backend: Literal["pyarrow"], **more: Unpack[ReasonFilter]
    ) -> pa.Table: ...
    def reasons(
        self,
        k: int = 4,
        texts: ReasonTexts = None,
        *,
        against: str | None = None,
        min_share: float = 0.0,
        reference: Explanation | None = None,
        backend: Backend = "pandas",
    ) -> AnyFrame:
        """Give the k strongest significant features that work against an outcome, in your own texts.

        Features are significant by :attr:`significant`. One line per row and reason: row, rank, feature, text,
        value, worth, p_value (adjusted), tied_with, the features whose limits overlap its own, so that their order is
        not decided, and a note where the constraints freeze it: it stays a reason. With refits there is a share, too:
        of models trained again that have the feature among their first k, with the same sign. Equal scores stand in the
        order of the columns. A row with fewer reasons has fewer lines; one without any has a line of rank 0 that says
        why.

        Parameters
        ----------
        k : int
            Most reasons of a row.
        texts : mapping of str to str or callable, optional
            What to say of a feature: a text, in which ``{value}`` stands for the present value, or a function of that
            value. A feature without one has its name and value.
        against : str, optional
            The outcome: a class, or "higher" or "lower" for a regression, which needs it. By default reasons support
            the prediction, so that they work against every other class.
        min_share : float
            Leave out reasons with a smaller share; it needs an explainer with refits.
        reference : Explanation, optional
            Of the same rows against other reference rows, such as those just above a cut-off. ``other_rank`` is then
            the rank of the same reason there, 0 where it is not among its first k.
        backend : str
            The library of the frame: "pandas", "polars" or "pyarrow".
        """
        from xcid.show.reasons import Reasons

        return Reasons(k, {} if texts is None else texts, against, min_share).frame(self, backend, reference)

    def in_top(self, k: int) -> Array:
        """(n, d) probability that each feature is truly among the k with the largest absolute values."""
        from xcid import calibration

        return calibration.in_top(self, k)

    def stable(self, k: int = 4, confidence: float = 0.95) -> Flags:
        """(n,) whether the k largest are decided: this share of them is expected to be truly there."""
        from xcid import calibration

        return calibration.top_agreement(self, min(k, len(self.feature_names))) >= confidence

    def aggregate(self, by: Any = None) -> Self:
        """Average the rows, all of them or by (n,) labels of subgroups, into an explanation of one row for each."""
        from xcid import calibration

        return calibration.aggregate(self, by)

    def compare(
        self,
        other: Explanation,
        names: tuple[str, str] = ("the first", "the second"),
        *,
        towards: str | None = None,
    ) -> Comparison:
        """Compare with another explanation of the same features: other rows, another model, another month.

        Differences are the other less this one, and ``names`` what the two are called. The same rows explained by two
        models are compared row by row, two single rows by their limits, and other rows by their means. Signs are about
        the class ``towards``, by default the second of two, and "up" for a regression.
        """
        from xcid.comparison import compare

        return compare(self, other, names, towards)

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: Backend = "pandas") -> AnyFrame:
        """Give one line for each row and feature as a data frame of pandas, polars or pyarrow.

        ``value`` is about the class in ``about``, ``output`` is the probability of the one that is ``predicted``.
        """
        from xcid import frames

        return frames.to_frame(self, backend)

    def to_shap(self) -> Any:
        """Give a ``shap.Explanation`` of the same values and base values for SHAP's plots."""
        from xcid import frames

        return frames.to_shap(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :func:`xcid.load` reads, without pickle.

        A name that ends in ``.json`` or ``.parquet`` makes a document that other languages read, without the evidence;
        any other name an archive of everything, evidence included.
        """
        from xcid.io import saved

        saved.save(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        notes: Sequence[str] = (),
        values: Literal["shown", "hidden"] = "shown",
        reasons: Reasons | None = None,
        counterfactuals: Counterfactuals | None = None,
    ) -> None:
        """Write one HTML file to look at every row, its scores and their evidence; it needs nothing else.

        With ``reasons=xcid.Reasons(k, texts, against)`` every row has a line of reasons. With ``counterfactuals``,
        the record of ``explainer.counterfactuals(X)`` of the same rows, the page has these, with what each change adds;
        else it has the nearest samples that flip.
        """
        from xcid.show.report import report

        self._check_rows(counterfactuals)
        settings: Any = {"title": title, "notes": notes, "values": values, "reasons": reasons}
        report([self], path, **settings, search=lambda piece: counterfactuals)

    def letter(
        self,
        path: str | os.PathLike[str],
        *,
        language: str | os.PathLike[str] = "en",
        reasons: Reasons | None = None,
        counterfactuals: Counterfactuals | None = None,
    ) -> None:
        """Write a page for the person whom each row is about: what decided it, what would change it, how sure that is.

        ``language`` is "en", "de" or "es", or a ``.json`` file with a translation of your own. Reasons are those of
        ``xcid.Reasons(k, texts, against)``, four by default; a text is used where a value works against that outcome.
        Changes are those of ``explainer.counterfactuals(X)``.
        """
        from xcid.show.report.letter import read_words, write_letters

        self._check_rows(counterfactuals)
        write_letters([self], path, read_words(language), reasons, lambda piece: counterfactuals)

    def _check_rows(self, counterfactuals: Counterfactuals | None) -> None:
        if counterfactuals is not None and not counterfactuals.are_of(self.data, self.outputs, self.output_names):
            raise InvalidParameter(
                "the counterfactuals are not those of these rows by the same model: give explainer.counterfactuals(X)"
            )


def load(
    path: str | os.PathLike[str], *, density: Density | None = None, outcome: Outcome | None = None
) -> Explanation:
    """Read what :meth:`Explanation.save` wrote; nothing in the file is ever run.

    Give the ``density`` and the ``outcome`` of the explanation where they are your own: a file keeps only xcid's.
    """
    from xcid.io import saved

    return Explanation.of(saved.load(path, density=density, outcome=outcome))
