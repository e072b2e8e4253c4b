"""Explainer: the whole pipeline on one screen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xcid._check import function, whole
from xcid._data import Array, Density, Explanation, Integers, Perturbations
from xcid._kernels.random import content_keys
from xcid.densities import Kernel, Mixed
from xcid.errors import InvalidParameter, NotEnoughFlips, XcidWarning
from xcid.generators import Generator, Marginal, Member, Random
from xcid.models import wrap
from xcid.outcomes import Flip, Outcome
from xcid.scores import PerFeature, Score, held_in_place, unsigned
from xcid.space import FeatureSpace

MOST_ROWS = 256  # of a block: beyond that the calls of the model are long enough
SAMPLES_PER_ROW = 4096  # that a block has room for


class Explainer:
    """Explains single decisions of a model.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or any callable that gives probabilities or labels.
    background : table
        Rows that show what values are usual: the training data or some hundreds of its rows.
    generator : Generator, optional
        Makes the perturbations; independent masks with background values by default.
    score : Score, optional
        Turns perturbations into values; signed d1 of mixed densities by default.
    density : Density, optional
        Shorthand for the default score with another density.
    outcome : Outcome, optional
        What counts as a flip; by default any change of the predicted class.
    feature_names : sequence of str, optional
        For arrays; a data frame brings its own.
    memory : int
        Bytes that a block of rows and its perturbations may take, roughly.
    max_evidence_bytes : int
        Samples are kept with the explanation up to this size, for :meth:`Explanation.evidence` and the plots.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> background = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, background, feature_names=["a", "b", "c"])
    >>> explanation = explainer([0.2, 1.5, -0.3])
    >>> explanation.feature_names[int(np.argmax(explanation.values[0]))]
    'b'
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        generator: Generator | None = None,
        score: Score | None = None,
        density: Density | None = None,
        outcome: Outcome | None = None,
        feature_names: Sequence[str] | None = None,
        memory: int = 2**28,
        max_evidence_bytes: int = 2**28,
    ) -> None:
        if score is not None and density is not None:
            raise InvalidParameter("give a score or a density, not both: a score has its own density")
        density = Mixed() if density is None else density
        function(density, "density", "xcid.densities.Mixed()")
        self.score: Score = PerFeature(density, direction=held_in_place) if score is None else score
        self.generator: Generator = Marginal() if generator is None else generator
        self.outcome: Outcome = Flip() if outcome is None else outcome
        function(self.score, "score", "xcid.scores.PerFeature()")
        function(self.generator, "generator", "xcid.generators.Marginal()")
        function(self.outcome, "outcome", "xcid.outcomes.Flip()")
        self.space = FeatureSpace.of(background, _names(model, background, feature_names))
        self.predict = wrap(model, self.space, whole(memory, "memory (bytes)", at_least=1))
        self.max_evidence_bytes = whole(max_evidence_bytes, "max_evidence_bytes", at_least=0)
        self.rows_at_once = max(1, min(MOST_ROWS, memory // (8 * SAMPLES_PER_ROW * len(self.space.names))))

    @classmethod
    def paper(
        cls, model: Any, background: Any, *, m: int = 50, density: Density | None = None, **settings: Any
    ) -> Explainer:
        """Build the paper's standard setting, nothing added.

        DiCE-style random perturbations, m positives and m negatives, a Gaussian kernel with Silverman's bandwidth for
        each set by itself, and the unsigned d1 as the value. The other settings are those of the constructor.
        """
        density = Kernel("gaussian", bandwidth="silverman") if density is None else density
        score = PerFeature(density, direction=unsigned)
        return cls(model, background, **{"generator": Random(m=m), "score": score, **settings})

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many.

        Parameters
        ----------
        X : table
            A data frame, an array, a sequence of rows or a single row.
        seed : int
            Every row has its own random numbers, made from the seed and the row's values: a row gets the same
            explanation alone, in a batch and in any order.
        """
        seed = whole(seed, "seed")
        rows = self.space.encode(X)
        keys = content_keys(rows, seed)
        outputs = self.predict(rows)
        blocks, kept_bytes = [], 0
        for start in range(0, len(rows), self.rows_at_once):
            part = slice(start, start + self.rows_at_once)
            cloud = self.generator(rows[part], keys[part], self.space, self._member(outputs[part]))
            block = self._explain(cloud, outputs[part], seed)
            kept_bytes += cloud.samples.nbytes
            blocks.append(block if kept_bytes <= self.max_evidence_bytes else replace(block, cloud=None))
        explanation = Explanation.concatenate(blocks)
        self._speak_up(explanation)
        return explanation

    def _member(self, reference: Array) -> Member:
        """Which samples flip the output of the row they come from."""

        def member(samples: Array, owner: Integers) -> Array:
            flips = np.asarray(self.outcome(self.predict(samples), reference[owner]))
            if flips.shape != owner.shape or flips.dtype.kind not in "fiub" or np.isnan(flips).any():
                raise InvalidParameter(
                    f"the outcome gave {flips.dtype} of shape {flips.shape} for {len(owner)} samples: "
                    "it must give one number for each, 1 for a flip and 0 for none"
                )
            return flips

        return member

    def _explain(self, cloud: Perturbations, outputs: Array, seed: int) -> Explanation:
        scores = self.score(cloud)
        settings = {"generator": self.generator, "score": self.score, "outcome": self.outcome, "seed": seed}
        return Explanation(
            values=scores.values,
            importance=scores.importance,
            direction=scores.direction,
            status=cloud.status,
            n_evaluations=cloud.n_evaluations + 1,  # and the row itself
            n_positive=cloud.positive.sum(axis=1),
            n_negative=cloud.negative.sum(axis=1),
            feature_names=self.space.names,
            data=cloud.origin,
            outputs=outputs,
            cloud=cloud,
            density=self.score.density,
            settings={name: repr(value) for name, value in settings.items()},
        )

    def _speak_up(self, explanation: Explanation) -> None:
        """Raise where nothing could be explained, warn where some rows could not."""
        poor = np.flatnonzero(explanation.status != "ok")
        if not poor.size:
            return
        first = int(poor[0])
        found = (
            f"row {first} has {explanation.n_positive[first]:g} flips and {explanation.n_negative[first]:g} others "
            f"in {explanation.n_evaluations[first]:,} evaluations"
        )
        if not explanation.n_positive.any() and self._constant_on_background():
            raise NotEnoughFlips(
                f"the model gives one class only, to all {len(self.space.background)} background rows and to every "
                f"perturbation ({found}): there is no decision to explain; check the model, or give a background "
                "that reaches both sides of the decision"
            )
        warnings.warn(
            f"{poor.size} of {len(explanation)} rows have fewer perturbations of a kind than asked for; {found}: see "
            "explanation.status, and raise max_evaluations of the generator or widen the background",
            XcidWarning,
            stacklevel=3,
        )

    def _constant_on_background(self) -> bool:
        outputs = self.predict(self.space.background)
        return not np.any(self.outcome(outputs, np.repeat(outputs[:1], len(outputs), axis=0)))


def _names(model: Any, background: Any, given: Sequence[str] | None) -> Sequence[str] | None:
    """For an array without names, those that a scikit-learn model was fitted with."""
    if given is None and not hasattr(type(background), "columns"):
        return getattr(model, "feature_names_in_", None)
    return given
