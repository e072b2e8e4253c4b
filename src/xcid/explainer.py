"""Explainer: the way in. It checks what it is given, holds one Setup, and hands rows to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from xcid import answers, pipeline
from xcid._check import LOG, Progress, as_float, as_int, given_or, require_callable, silent, telling, usual, warn
from xcid.calibration import Precise, Repeats, Stop
from xcid.cid.calibrated import Adjusted, ContributionsAlone
from xcid.cid.generators.growing import Growing
from xcid.cid.generators.search import Generator
from xcid.cid.method import paper_parts
from xcid.cid.per_feature import Score
from xcid.errors import InvalidParameter
from xcid.explanation import Explanation
from xcid.models.predictor import Naming
from xcid.outcomes import Outcome
from xcid.pipeline import Apply
from xcid.records import Density
from xcid.setup import Given, Setup, bind_outcome, ignore, renew
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
        or than half as many as there are features, nothing that is sampled is significant.
    weights : (N,) array, list or series, optional
        Of the reference rows, from 0 up: a row of weight k counts as k rows, one of weight 0 not at all.
    generator : Generator, optional
        Makes the perturbations; by default balanced masks with reference rows, 1,000 for each row (3,000 for
        more than 20 features, 8,000 where trees are read from inside but do not add up), and for rows whose flips are
        so rare that nothing else tells of them, a search of up to 10,000 evaluations
        (:class:`xcid.generators.Growing`).
    score : Score, optional
        Turns perturbations into importance; by default the d1 of each feature, adjusted for the others. One that
        measures no contributions, such as ``PerFeature()``, gives the values, too.
    density : Density, optional
        Shorthand for the default score with another density.
    outcome : Outcome, optional
        What counts as a flip: an object of :mod:`xcid.outcomes` or a function. By default a change of the predicted
        class, by its probability; for a regression a move of the output, by degrees.
    class_names : sequence of str or mapping, optional
        What the classes are called, in the order of the model's or by its labels: ``["no diabetes", "diabetes"]``; or
        the targets of a regressor that has several.
    target : int or str, optional
        Which one of several targets of a regressor is explained, by its place or by its name in ``class_names``.
    feature_names : sequence of str, optional
        For arrays; a data frame brings its own.
    kinds : mapping of str to str, optional
        What single features are, where it is not what is detected: "continuous", "integer", "ordinal", "categorical"
        or "boolean".
    constraints : Constraints, optional
        Frozen features, ranges, allowed levels, monotone directions and groups that every perturbation obeys; and rules
        of the world for counterfactuals.
    scale : "auto", "log_odds", "margins" or "probability"
        What contributions add up on. By default log odds of a class where the model adds up there or gives
        probabilities between 0 and 1, its probability for averages of votes and for labels, and the output's own number
        for a regression. Of several classes, "margins" are log odds of a class against its strongest rival in the row:
        boosted trees and linear models add up there, so that contributions are exact.
    repeats : int
        Independent runs of each row, whose scores are averaged; ``explanation.spread`` says how they differ.
    stop : Stop, optional
        In place of ``repeats``: when to end the runs of a row, such as ``calibration.Decided(k=4)``.
    precision : float, optional
        In place of either: runs are added to a row until its widest limits are this share of its largest contribution,
        or until 100,000 evaluations (``stop=calibration.Precise(width, max_evaluations)`` for others).
    time_limit : float, optional
        Seconds that a run of one row may take; a row that takes longer gets the status "too_slow". It is looked at
        between model calls: a call that never ends is not ended.
    memory : int
        Bytes that a block of rows and its perturbations may take, roughly.
    max_evidence_bytes : int
        Samples are kept with the explanation up to this size, for :meth:`Explanation.evidence` and the plots.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> reference = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, reference, feature_names=["a", "b", "c"])
    >>> explanation = explainer([0.2, 1.5, -0.3])
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
        max_evidence_bytes: int = 2**28,
    ) -> None:
        with telling(InvalidParameter, SETTINGS):
            if score is not None and density is not None:
                raise InvalidParameter("give a score or a density, not both: a score has its own density")
            if stop is not None and repeats != 1:
                raise InvalidParameter("give repeats or stop, not both: a stop decides on the number of runs itself")
            if precision is not None:
                if stop is not None or repeats != 1:
                    raise InvalidParameter("give precision alone, without repeats or stop: it decides on the runs")
                stop = Precise(precision)
            if time_limit is not None and not as_float(time_limit, "time_limit (seconds)") > 0:
                raise InvalidParameter(f"time_limit must be a number of seconds above 0, not {time_limit}")
            stop = given_or(stop, partial(Repeats, repeats), "stop", "xcid.calibration.Decided()")
            if density is not None:
                require_callable(density, "density", "xcid.densities.Mixed()")
            usual = Adjusted if density is None else partial(Adjusted, density)
            score = given_or(score, usual, "score", "xcid.scores.Adjusted()")
            search = Growing() if generator is None else None
            memory = as_int(memory, "memory (bytes)", at_least=1)
            subject = Subject.of(
                model, reference, feature_names, kinds, constraints, memory, weights, Naming(class_names, target)
            )
            given = Given(outcome, generator, scale)
            kept = as_int(max_evidence_bytes, "max_evidence_bytes", at_least=0)
            parts: Any = {"score": score, "stop": stop, "time_limit": time_limit, "memory": memory, "given": given}
            parts |= {"max_evidence_bytes": kept, "search": search} | given.bound(subject, score)
            self._set(Setup(subject, **parts))

    def _set(self, setup: Setup) -> None:
        object.__setattr__(self, "made", setup)

    def __repr__(self) -> str:
        setup, subject = self.made, self.made.subject
        size = f"{len(subject.space.rows):,} reference rows, {len(subject.features.names):,} features"
        parts = f"{setup.generator!r}, {type(setup.score).__name__}, {setup.outcome!r}"
        return f"<xcid.Explainer of a {type(subject.model).__name__}: {size}; {parts}>"

    @property
    def setup(self) -> Setup:
        """All that it knows, of the model as it is now: every use compares the model with what was read of it."""
        return renew(self.made)

    @classmethod
    def paper(
        cls, model: Any, reference: Any, *, m: int = 50, density: Density | None = None, **settings: Any
    ) -> Explainer:
        """Build the paper's standard setting, nothing added.

        DiCE-style random perturbations, m positives and m negatives, a Gaussian kernel with Silverman's bandwidth for
        each set by itself, and the unsigned d1 as the value. The other settings are those of the constructor.
        """
        return cls(model, reference, **paper_parts(model, m=m, density=density, **settings))

    def replace(self, **parts: Any) -> Explainer:
        """The same explainer with other parts of its :class:`~xcid.setup.Setup`."""
        chosen = {name: part for name, part in parts.items() if name in ("outcome", "generator")}
        made = replace(self.made, **{"given": replace(self.made.given, **chosen)} | parts)
        if {"generator", "score"} & parts.keys():
            made = replace(made, contributing=made.given.bound(made.subject, made.score)["contributing"])
        other = object.__new__(type(self))
        other._set(made)
        return other

    def with_outcome(self, outcome: Outcome) -> Explainer:
        """The same explainer with another question."""
        with telling(InvalidParameter, WORK):
            given = replace(self.made.given, outcome=outcome)
            return self.replace(outcome=bind_outcome(outcome, self.made.subject), given=given)

    @property
    def subject(self) -> Subject:
        """The model and the table that it is explained on."""
        return self.setup.subject

    @property
    def space(self) -> FeatureSpace:
        """The columns of the table that is explained."""
        return self.made.subject.space

    def __call__(self, X: Any, *, seed: int = 0, apply: Apply = map, progress: Progress | None = None) -> Explanation:
        """Explain one row or many.

        Parameters
        ----------
        X : table
            A data frame, an array, a sequence of rows or a single row.
        seed : int
            Random numbers are made from the seed, and some generators add the row's values: a row gets the same
            explanation alone, in a batch and in any order.
        apply : callable
            Applies a function to each block of rows, as the built-in ``map`` does; that of a pool of threads spreads
            the blocks over its workers (see :class:`xcid.engines.Threads`).
        progress : callable, optional
            Shows how far it has come, as ``tqdm.tqdm`` does. By default a bar of tqdm, where it is installed, in
            interactive terminals and notebooks, for work of more than two seconds; nothing in scripts. The logger
            "xcid" tells of each block.
        """
        with telling(InvalidParameter, WORK):
            shown = usual() if progress is None else progress
            setup = self.setup
            explanation = pipeline.explain_table(setup, X, as_int(seed, "seed"), apply, shown)
            named = replace(explanation, index=labels(X, len(explanation)))
            return Explanation.of(pipeline.checked(setup, named))

    def contributions(self, X: Any, *, seed: int = 0) -> Explanation:
        """Answer the first question alone, what each value did: values, limits and base values, without importance.

        Where the model is read exactly, nothing is perturbed.
        """
        return self.without_importance()(X, seed=seed, progress=silent)

    def without_importance(self) -> Explainer:
        """The same explainer for the first question alone: engines and runs call it as any other."""
        with telling(InvalidParameter, WORK):
            measured = self if self.made.contributing is not None else self.replace(score=ContributionsAlone())
            other = object.__new__(type(self))
            other._set(replace(measured.made, score=ContributionsAlone(), search=None, max_evidence_bytes=0))
            return other

    def stream(self, pieces: Iterable[Any], *, seed: int = 0, apply: Apply = map) -> Iterator[Explanation]:
        """Explain table after table, such as chunks of a file that does not fit into memory.

        Only one piece is held at a time, and its explanation comes without samples: it takes a few kilobytes a row. A
        piece in which nothing flips has the status for it, since others may have flips.
        """
        if hasattr(pieces, "shape"):
            raise InvalidParameter("stream takes tables one after the other: give a list of pieces, or one by a call")
        bare = self.replace(max_evidence_bytes=0, one_sided=warn)
        return (bare(piece, seed=seed, apply=apply, progress=silent) for piece in pieces)

    def per_class(self, X: Any, *, seed: int = 0) -> dict[str, Explanation]:
        """Explain what would take each row to each class (or out of it, where the row is in it).

        Classes that no perturbation of any row reaches are left out, with a warning. All classes are answered by the
        same evaluations.
        """
        kept = self.replace(one_sided=ignore)
        found = answers.explain_classes(self.setup, lambda: kept(X, seed=seed), as_int(seed, "seed"))
        return {name: Explanation.of(one) for name, one in found.items()}

    def answer(self, explanation: Explanation, outcome: Outcome, *, seed: int = 0) -> Explanation:
        """Answer another question about rows that were explained, by what the model answered then.

        Any class, any threshold, soft or hard: none costs a further evaluation as long as the samples were kept.
        """
        with telling(InvalidParameter, WORK):
            setup = self.with_outcome(outcome).setup
            found = answers.answer_again(setup, explanation, as_int(seed, "seed"))
            return Explanation.of(pipeline.checked(setup, found))

    def interactions(self, X: Any, *, seed: int = 0, n: int | None = None) -> Interactions:
        """Score every pair of features of one row or many: by how much two are worth more together than their sum.

        That is measured in the unit of the contributions: where the model adds up there, no pair interacts.

        Parameters
        ----------
        X : table
            A data frame, an array, a sequence of rows or a single row.
        seed : int
            A row gets the same scores alone, in a batch and in any order.
        n : int, optional
            Perturbations of each row, at least 96; by default 4,000, and 8,000 for more than 18 features.
        """
        from xcid.interactions import explain_pairs

        with telling(InvalidParameter, WORK):
            found = explain_pairs(self.setup, self.space.encode(X), as_int(seed, "seed"), n)
            return replace(found, index=labels(X, len(found)))

    def counterfactuals(self, X: Any, target: Any = None, k: int = 3, *, seed: int = 0) -> Counterfactuals:
        """Search for the smallest changes that give rows the wanted output.

        A line of the record has the row, its kind ("sparsest", "nearest" or "different"; "not reached" where nothing
        gets there), the changes in the order in which they work best, their number, the distance (in mean absolute
        deviations; 1 for another level), the output after and before, what the output is about, its ``plausibility``
        (the distance to the nearest real rows: larger is less plausible) and what that means in words; ``to_frame()``
        gives these as a table. No change of a line can be taken back without losing the wanted output.

        Parameters
        ----------
        X : table
            One row or many.
        target : object, optional
            A class, by name or label; for a regression "raise" or "lower" (by at least a tenth); or any outcome, whose
            far side is wanted: ``xcid.outcomes.Raise(by=0.2)``, ``Lower(by=0.2)``, ``Within(low, high)``, and for the
            probability of a class ``Within(0.7, target="good")``. By default the other side of the explainer's
            question: any other class.
        k : int
            Counterfactuals of each row, at most.
        seed : int
            Of the shares of more than ten changes, the one thing that is drawn.
        """
        from xcid.whatif.engine import find_counterfactuals

        with telling(InvalidParameter, WORK):
            rows, setup = self.space.encode(X), self.setup
            asked = labels(X, len(rows)), target, k, as_int(seed, "seed")
            found = find_counterfactuals(
                setup.subject, setup.outcome, rows, *asked, time_limit=setup.time_limit, memory=setup.memory
            )
        for note in found.notes:
            LOG.warning(note)
        return found

    def actions(self, X: Any, target: Any = None, k: int = 5) -> Actions:
        """Find a few actions that give many rows of a group the wanted output.

        An action is the same for all rows: one or two features are moved by a step, brought up or down to a value, or
        set to a level. A row that may not do so by the constraints stays as it is. A line of ``to_frame()`` has the
        action in words, the share of rows that it flips and their number, its cost (the mean distance of the flips, as
        for counterfactuals) and what share this action and those above it cover together. The first action does most
        for all rows, where a flip counts the more the less it costs; each next one adds most: rows that none above it
        flips, or cheaper flips. Rows that have the wanted output already are left out.

        Parameters
        ----------
        X : table
            The rows of the group.
        target : object, optional
            As for :meth:`counterfactuals`: a class, "raise" or "lower" for a regression; by default any other class.
        k : int
            Most actions.
        """
        from xcid.whatif.actions import find_actions

        with telling(InvalidParameter, WORK):
            rows, setup = self.space.encode(X), self.setup
            return find_actions(setup.subject, setup.outcome, rows, target, k, setup.time_limit)
