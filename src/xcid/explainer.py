"""Explainer: the way in. It checks what it is given, holds one Setup, and hands rows to the pipeline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xcid import pipeline
from xcid._check import Progress, as_int, choose_progress, log_notes, silent, telling, warn
from xcid.calibration import Stop, choose_stop
from xcid.cid.calibrated import ContributionsAlone
from xcid.cid.generators.search import Generator
from xcid.cid.per_feature import Score
from xcid.errors import InvalidParameter
from xcid.explanation import Explanation
from xcid.models.tables import Naming
from xcid.outcomes import Outcome
from xcid.pipeline import Apply
from xcid.records import Density, Integers
from xcid.records.fields import COMPUTATION
from xcid.setup import Given, Setup, bind_outcome, check_budget, choose_score, make_search, renew
from xcid.subject import Subject
from xcid.table import Constraints, FeatureSpace, Kind, labels

if TYPE_CHECKING:
    from xcid.interactions import Interactions
    from xcid.whatif import Actions, Counterfactuals

SETTINGS, WORK = "a setting cannot be used", "a part of the explainer, or what it was given, failed"


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Explainer:
    """Explains single decisions of a model.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or any callable that gives probabilities or labels.
    reference : table
        Rows that show what values are usual: the training data or some hundreds of its rows. With fewer than a dozen,
        or than half as many as features, nothing that is sampled is significant.
    weights : (N,) array, list or series, optional
        Of the reference rows, from 0 up: a row of weight k counts as k rows, one of weight 0 not at all.
    generator : Generator, optional
        Makes the perturbations; by default balanced masks with reference rows, 1,000 for each row (3,000 for more than
        20 features, 8,000 where trees are read but do not add up), and a search of up to 10,000 evaluations
        (:class:`xcid.generators.Growing`) for rows with hardly any flips.
    score : Score, optional
        Makes importance of perturbations; by default d1, adjusted for the other features. One that measures no
        contributions, such as ``PerFeature()``, gives the values, too.
    density : Density, optional
        For the default score with another density.
    outcome : Outcome, optional
        What counts as a flip: an object of :mod:`xcid.outcomes` or a function. By default another predicted class, by
        its probability; for a regression a move of the output, by degrees.
    class_names : sequence of str or mapping, optional
        What classes are called, in the model's order or by its labels, or targets. Two make a logit of one number.
    target : int or str, optional
        Which one of several targets of a regressor is explained, by its place or by its name in ``class_names``.
    feature_names : sequence of str, optional
        For arrays; a data frame brings its own.
    kinds : mapping of str to str, optional
        "continuous", "integer", "ordinal", "categorical" or "boolean" features, where other kinds are detected.
    constraints : Constraints, optional
        What every perturbation obeys: frozen features, ranges, levels, directions, groups; rules of counterfactuals.
    scale : "auto", "log_odds", "margins" or "probability"
        What contributions add up on. By default log odds of a class where the model adds up there or gives
        probabilities between 0 and 1, its probability for votes and labels, and the number of a regression. "margins",
        log odds of a class against its strongest rival, are exact for boosted trees and linear models of more classes.
    repeats : int
        Independent runs of each row, whose scores are averaged; ``explanation.spread`` says how they differ.
    stop : Stop, optional
        In place of ``repeats``: when to end the runs of a row, such as ``calibration.Decided(k=4)``.
    precision : float, optional
        In place of either: until limits are this share of the row's largest contribution, or 100,000 evaluations.
    time_limit : float, optional
        Seconds that a run of one row may take, looked at between model calls; a row that takes longer is "too_slow".
    memory : int
        Bytes that a block of rows and its perturbations may take, roughly.
    max_evidence_bytes : int
        Up to which samples of all rows are kept, for :meth:`Explanation.evidence` and plots: whole, or what these need.
    refits : models, optional
        Models trained again, by ``xcid.refits(model, X, y)``, or files: limits over trainings, and shares of reasons.
    limits : "computation", "reference" or "training"
        What limits and p-values of contributions allow for: our sampling, other reference rows, too, or refits as well.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> reference = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = xcid.Explainer(lambda X: X[:, 1] > 0, reference, feature_names=["a", "b", "c"])([0.2, 1.5, -0.3])
    >>> explanation.feature_names[int(np.argmax(explanation.values[0]))]
    'b'
    """

    made: Setup  # when the explainer was made, of the model as it was then

    def __init__(
        self,
        model: Any,
        reference: Any,
        *,
        weights: Any = None,
        generator: Generator | None = None,
        score: Score | None = None,
        density: Density | None = None,
        outcome: Outcome | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        target: int | str | None = None,
        kinds: Mapping[str, Kind] | None = None,
        constraints: Constraints | None = None,
        scale: str = "auto",
        repeats: int = 1,
        stop: Stop | None = None,
        precision: float | None = None,
        time_limit: float | None = None,
        memory: int = 2**28,
        max_evidence_bytes: int = 5 * 2**27,
        refits: Iterable[Any] | None = None,
        limits: str = COMPUTATION,
    ) -> None:
        with telling(InvalidParameter, SETTINGS):
            parts: Any = {"score": choose_score(score, density), "stop": choose_stop(repeats, stop, precision)}
            parts |= check_budget(time_limit, memory, max_evidence_bytes)
            memory, naming = parts["memory"], Naming(class_names, target)
            subject = Subject.of(model, reference, feature_names, kinds, constraints, memory, weights, naming)
            given, search = Given(outcome, generator, scale), make_search if generator is None else None
            setup = Setup(subject, given=given, search=search, **parts, **given.bound(subject, parts["score"]))
            if refits is not None or limits != COMPUTATION:
                from xcid.uncertainty import find_sources

                setup = replace(setup, sources=find_sources(setup, refits, limits))
            object.__setattr__(self, "made", setup)

    def __repr__(self) -> str:
        setup, subject = self.made, self.made.subject
        size = f"{len(subject.space.rows):,} reference rows, {len(subject.features.names):,} features"
        parts = f"{setup.generator!r}, {type(setup.score).__name__}, {setup.outcome!r}"
        return f"<xcid.Explainer of a {type(subject.model).__name__}: {size}; {parts}>"

    def _repr_html_(self) -> str:
        from xcid.show import notebook

        return notebook.explainer(self)

    @property
    def setup(self) -> Setup:
        """All that it knows, of the model as it is now: every use compares the model with what was read of it."""
        return renew(self.made)

    @classmethod
    def paper(cls, model: Any, reference: Any, *, m: int = 50, **settings: Any) -> Explainer:
        """Build the paper's standard setting, nothing added; the other settings are those of the constructor."""
        from xcid.cid.method import paper_parts

        return cls(model, reference, **paper_parts(model, m=m, **settings))

    def replace(self, **parts: Any) -> Explainer:
        """The same explainer with other parts of its :class:`~xcid.setup.Setup`."""
        chosen = {name: part for name, part in parts.items() if name in ("outcome", "generator")}
        made = replace(self.made, **{"given": replace(self.made.given, **chosen)} | parts)
        if {"generator", "score"} & parts.keys() and "contributing" not in parts:
            made = replace(made, contributing=made.given.bound(made.subject, made.score)["contributing"])
        other = object.__new__(type(self))
        object.__setattr__(other, "made", made)
        return other

    def with_outcome(self, outcome: Outcome) -> Explainer:
        """The same explainer with another question."""
        with telling(InvalidParameter, WORK):
            given = replace(self.made.given, outcome=outcome)
            return self.replace(outcome=bind_outcome(outcome, self.made.subject), given=given)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that :meth:`load` reads: model, reference data and settings, and no code."""
        from xcid.io import explainers

        explainers.save(self.setup, path, Explainer)

    @staticmethod
    def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Explainer:
        """Read what :meth:`save` wrote, running no code; a model may bring types of its own if they are ``trusted``."""
        from xcid.io import explainers

        return explainers.load(path, trusted, Explainer)

    @property
    def subject(self) -> Subject:
        """The model and the table that it is explained on."""
        return self.setup.subject

    @property
    def space(self) -> FeatureSpace:
        """The columns of the table that is explained."""
        return self.made.subject.space

    def __call__(self, X: Any, *, seed: int = 0, apply: Apply = map, progress: Progress | None = None) -> Explanation:
        """Explain one row or many: a data frame, an array, a sequence of rows or a single row.

        The same ``seed`` gives a row the same explanation, alone, in a batch and in any order. ``apply`` applies a
        function to blocks of rows, as ``map`` does (:class:`xcid.engines.Threads`); ``progress``, by default
        ``tqdm.tqdm`` where it is installed, shows how far it has come. The logger "xcid" tells it, too.
        """
        with telling(InvalidParameter, WORK):
            setup, shown = self.setup, choose_progress() if progress is None else progress
            explanation = pipeline.explain_table(setup, X, as_int(seed, "seed"), apply, shown)
            return Explanation.of(pipeline.checked(setup, replace(explanation, index=labels(X, len(explanation)))))

    def contributions(self, X: Any, *, seed: int = 0) -> Explanation:
        """Answer the first question alone, what each value did; models that are read exactly need no samples."""
        return self.without_importance()(X, seed=seed, progress=silent)

    def without_importance(self) -> Explainer:
        """The same explainer for the first question alone: engines and runs call it as any other."""
        with telling(InvalidParameter, WORK):
            measured = self if self.made.contributing is not None else self.replace(score=ContributionsAlone())
            alone: Any = {"contributing": measured.made.contributing, "search": None, "max_evidence_bytes": 0}
            return measured.replace(score=ContributionsAlone(), **alone)

    def stream(self, pieces: Iterable[Any], *, seed: int = 0, apply: Apply = map) -> Iterator[Explanation]:
        """Explain table after table, holding one at a time and no samples; one without flips says so by status."""
        if hasattr(pieces, "shape"):
            raise InvalidParameter("stream takes tables one after the other: give a list of pieces, or one by a call")
        bare = self.replace(max_evidence_bytes=0, one_sided=warn)
        return (bare(piece, seed=seed, apply=apply, progress=silent) for piece in pieces)

    def per_class(self, X: Any, *, seed: int = 0) -> dict[str, Explanation]:
        """Explain what would take each row to each class or out of it, but for classes that nothing reaches."""
        from xcid import answers

        kept = self.replace(one_sided=lambda reason: None)  # other questions may have a decision
        found = answers.explain_classes(self.setup, lambda: kept(X, seed=seed), as_int(seed, "seed"))
        return {name: Explanation.of(one) for name, one in found.items()}

    def answer(self, explanation: Explanation, outcome: Outcome, *, seed: int = 0) -> Explanation:
        """Answer another question about rows that were explained, by their kept samples; anew for another model."""
        from xcid import answers

        with telling(InvalidParameter, WORK):
            setup = self.with_outcome(outcome).setup
            return Explanation.of(pipeline.checked(setup, answers.answer(setup, explanation, as_int(seed, "seed"))))

    def interactions(self, X: Any, *, seed: int = 0, n: int | None = None) -> Interactions:
        """Score every pair of features: by how much two are worth more together than their sum, as contributions.

        ``n`` are the perturbations of each row, at least 96; by default 4,000, and 8,000 for more than 18 features.
        """
        from xcid.interactions import explain_pairs

        with telling(InvalidParameter, WORK):
            found = explain_pairs(self.setup, self.space.encode(X), as_int(seed, "seed"), n)
            return replace(found, index=labels(X, len(found)))

    def counterfactuals(self, X: Any, target: Any = None, k: int = 3, *, seed: int = 0) -> Counterfactuals:
        """Search for the smallest changes that give rows the wanted output, at most ``k`` for each row.

        A line has its row and kind, the changes in the order in which they work best, the distance (in mean absolute
        deviations; 1 for another level), the output after and before, and its ``plausibility`` (the distance to the
        nearest real rows). No change can be taken back without losing the wanted output. Kinds are "sparsest" (the
        fewest changes), "nearest" (the smallest distance along the usual ways where there are such, beside the "nearest
        of all"), "likeliest" (the most like a real row; for k from 3 up), "steady" (should last; for k from 4 up, with
        refits from 3) and "different" (other features), some joined by "and"; "not reached" (the best that was found),
        "already there" and "failed". The ``target`` is a class, by name or label; for a regression "raise" or "lower"
        (by at least a tenth); or any outcome, whose far side is wanted, such as ``xcid.outcomes.Raise(by=0.2)``, or
        ``Within(0.7, target="good")`` for a probability; by default the other side of the explainer's question. Nothing
        is drawn from the ``seed`` but the shares of more than ten changes.
        """
        from xcid.whatif.engine import find_counterfactuals

        with telling(InvalidParameter, WORK):
            rows, setup = self.space.encode(X), self.setup
            refits = () if setup.sources is None else setup.sources.refits
            asked: Any = labels(X, len(rows)), target, k, as_int(seed, "seed"), setup.time_limit, setup.memory, refits
            return log_notes(find_counterfactuals(setup.subject, setup.outcome, rows, *asked))

    def just_above(self, X: Any, against: Any, cut_off: float, *, n: int = 100) -> Integers:
        """Find the ``n`` rows that only just pass a cut-off, by position: an explainer of these compares with them.

        Reasons work ``against`` a class, whose least probability ``cut_off`` is, or "higher" or "lower" numbers.
        """
        from xcid import answers

        with telling(InvalidParameter, WORK):
            return answers.find_just_above(self.subject, X, against, cut_off, n)

    def actions(self, X: Any, target: Any = None, k: int = 5) -> Actions:
        """Find up to k actions that give many rows of a group the wanted output.

        One moves one or two features of all rows that may do so. A line has it in words, the share of rows that it
        flips, its cost (the mean distance of the flips) and what it and those above it cover of other rows.
        """
        from xcid.whatif.actions import find_actions

        with telling(InvalidParameter, WORK):
            rows, setup = self.space.encode(X), self.setup
            return log_notes(find_actions(setup.subject, setup.outcome, rows, target, k, setup.time_limit))
