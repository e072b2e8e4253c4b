"""Explainer: the whole pipeline on one screen."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from xcid._check import as_float, as_int, require_callable
from xcid._faults import Deadline, Failed, counted, filled, isolated, warn_of_few
from xcid._kernels.random import run_key
from xcid.calibration import Repeats, Stop
from xcid.densities import Kernel, Mixed
from xcid.errors import InvalidParameter, NotEnoughFlips, warn
from xcid.generators import Balanced, Generator, Genetic, Marginal, Random
from xcid.models import names_for, wrap
from xcid.outcomes import OTHER_LABEL, Flip, Interval, Outcome, SoftFlip, ToClass, are_probabilities
from xcid.records import Array, Density, Explanation, Integers, Interactions, Perturbations, Unsigned
from xcid.scores import Adjusted, PerFeature, Score, Scores, pairs, unsigned
from xcid.space import Backend, Constraints, Features, FeatureSpace, Kind, labels

Blocks: TypeAlias = list[Explanation | Failed]
Apply: TypeAlias = Callable[[Callable[[Array], Blocks], list[Array]], Iterable[Blocks]]
MOST_ROWS = 256  # of a block: beyond that the calls of the model are long enough
SAMPLES_PER_ROW = 4096  # that a block has room for


class Explainer:
    """Explains single decisions of a model.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or any callable that gives probabilities or labels.
    background : table
        Rows that show what values are usual: the training data or some hundreds of its rows. With fewer than a dozen,
        or than half as many as there are features, no score is told from noise.
    generator : Generator, optional
        Makes the perturbations; by default balanced masks with rows of the background.
    score : Score, optional
        Turns perturbations into values; by default the signed d1 of each feature, adjusted for the others.
    density : Density, optional
        Shorthand for the default score with another density.
    outcome : Outcome, optional
        What counts as a flip: an object of :mod:`xcid.outcomes` or a function. By default any change of the predicted
        class, by its probability; for a regression a move by more than half a standard deviation of the background's
        outputs.
    feature_names : sequence of str, optional
        For arrays; a data frame brings its own.
    kinds : mapping of str to str, optional
        What single features are, where it is not what is detected: "continuous", "integer", "ordinal", "categorical"
        or "boolean".
    constraints : Constraints, optional
        Frozen features, ranges, allowed levels, monotone directions and groups that every perturbation obeys.
    repeats : int
        Independent runs of each row, whose scores are averaged; ``explanation.spread`` says how they differ.
    stop : Stop, optional
        In place of ``repeats``: when to end the runs of a row, such as ``calibration.Decided(k=4)``.
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
        kinds: Mapping[str, Kind] | None = None,
        constraints: Constraints | None = None,
        repeats: int = 1,
        stop: Stop | None = None,
        time_limit: float | None = None,
        memory: int = 2**28,
        max_evidence_bytes: int = 2**28,
    ) -> None:
        if score is not None and density is not None:
            raise InvalidParameter("give a score or a density, not both: a score has its own density")
        if stop is not None and repeats != 1:
            raise InvalidParameter("give repeats or stop, not both: a stop decides on the number of runs itself")
        self.stop: Stop = Repeats(repeats) if stop is None else stop
        require_callable(self.stop, "stop", "xcid.calibration.Decided()")
        density = Mixed() if density is None else density
        require_callable(density, "density", "xcid.densities.Mixed()")
        self.score: Score = Adjusted(density) if score is None else score
        self.generator: Generator = Balanced() if generator is None else generator
        require_callable(self.score, "score", "xcid.scores.Adjusted()")
        require_callable(self.generator, "generator", "xcid.generators.Balanced()")
        constraints = Constraints() if constraints is None else constraints
        self.space = FeatureSpace.of(background, names_for(model, background, feature_names), kinds, constraints)
        self.features, self.scales = Features.of(self.space, constraints), tuple(self.space.scales.tolist())
        memory, self.model = as_int(memory, "memory (bytes)", at_least=1), model
        self.predict, self.background_outputs = wrap(model, self.space, memory)
        bind = getattr(self.generator, "bind", None)
        if bind is not None:
            self.generator = bind(self.features.space, self.background_outputs)
        self.outcome = self._bound(self._default_outcome() if outcome is None else outcome)
        if time_limit is not None and not as_float(time_limit, "time_limit (seconds)") > 0:
            raise InvalidParameter(f"time_limit must be a number of seconds above 0, not {time_limit}")
        self.time_limit = time_limit
        self.max_evidence_bytes = as_int(max_evidence_bytes, "max_evidence_bytes", at_least=0)
        self.rows_at_once = max(1, min(MOST_ROWS, memory // (8 * SAMPLES_PER_ROW * len(self.space.names))))

    @classmethod
    def paper(
        cls, model: Any, background: Any, *, m: int = 50, density: Density | None = None, **settings: Any
    ) -> Explainer:
        """Build the paper's standard setting, nothing added.

        DiCE-style random perturbations, m positives and m negatives, a Gaussian kernel with Silverman's bandwidth for
        each set by itself, and the unsigned d1 as the value. The other settings are those of the constructor.
        """
        if "generator" in settings or "score" in settings:
            raise InvalidParameter("the paper's setting has its own generator and score: use Explainer for others")
        density = Kernel("gaussian", bandwidth="silverman") if density is None else density
        score = PerFeature(density, direction=unsigned)
        explainer = cls(model, background, generator=Random(m=m), score=score, **settings)
        is_default = settings.get("outcome") is None and isinstance(explainer.outcome, SoftFlip)
        return explainer.asking(Flip()) if is_default else explainer

    def asking(self, outcome: Outcome) -> Explainer:
        """The same explainer with another question."""
        other = copy.copy(self)
        other.outcome = self._bound(outcome)
        return other

    def per_class(self, X: Any, *, seed: int = 0) -> dict[str, Explanation]:
        """Explain what would take each row to each class (or out of it, where the row is in it).

        Classes that no perturbation of any row reaches are left out, with a warning.
        """
        names = [name for name in self.predict.read.names if name != OTHER_LABEL]
        if len(names) < 2:
            raise InvalidParameter("a regression has no classes: ask with outcomes.Interval, Threshold or Within")
        explanations = {}
        for name in names:
            with contextlib.suppress(NotEnoughFlips):
                explanations[name] = self.asking(ToClass(name))(X, seed=seed)
        left_out = [name for name in names if name not in explanations]
        if not explanations:
            raise NotEnoughFlips(f"no perturbation changes the class; the model's classes are {names}")
        if left_out:
            warn(f"no perturbation of any row reaches {left_out}")
        return explanations

    def __call__(self, X: Any, *, seed: int = 0, apply: Apply = map) -> Explanation:
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
        """
        rows = self.space.encode(X)
        starts = range(0, max(len(rows), 1), self.rows_at_once)
        parts = [rows[start : start + self.rows_at_once] for start in starts]
        pieces: list[Explanation | Failed] = []
        kept_bytes = 0
        for block in apply(functools.partial(self._block, seed=as_int(seed, "seed")), parts):
            for piece in block:
                if isinstance(piece, Explanation) and piece.cloud is not None:
                    kept_bytes += piece.cloud.nbytes
                    piece = piece if kept_bytes <= self.max_evidence_bytes else replace(piece, cloud=None)
                pieces.append(piece)
        return self.checked(replace(Explanation.concatenate(filled(pieces)), index=labels(X, len(rows))))

    def stream(self, pieces: Iterable[Any], *, seed: int = 0, apply: Apply = map) -> Iterator[Explanation]:
        """Explain table after table, such as chunks of a file that does not fit into memory.

        Only one piece is held at a time, and its explanation comes without samples: it takes a few kilobytes a row.

        Parameters
        ----------
        pieces : iterable of tables
        seed : int
        apply : callable
            As in a plain call.
        """
        if hasattr(pieces, "shape"):
            raise InvalidParameter("stream takes tables one after the other: give a list of pieces, or one by a call")
        bare = copy.copy(self)
        bare.max_evidence_bytes = 0
        return (bare(piece, seed=seed, apply=apply) for piece in pieces)

    def interactions(
        self, row: Any, *, seed: int = 0, shuffles: int = 99, generator: Generator | None = None
    ) -> Interactions:
        """Score every pair of features by how much their joint d1 exceeds what the two single ones explain.

        Parameters
        ----------
        row : table
            A single row.
        seed : int
        shuffles : int
            How often the two features of a pair are shuffled against each other to see what the single ones explain.
        generator : Generator, optional
            By default independent masks and values: features that only depend on each other in the background do not
            interact.
        """
        generator = Marginal(m=400, max_evaluations=8_000) if generator is None else generator
        require_callable(generator, "generator", "xcid.generators.Marginal()")
        rows = self.space.encode(row)
        if len(rows) != 1:
            raise InvalidParameter(f"interactions are those of one row, and this table has {len(rows)}")
        keys = self.space.keys(rows, as_int(seed, "seed"))
        cloud = self._perturb(generator, rows, keys, self.predict(rows))
        if not (cloud.positive.any() and cloud.negative.any()):
            raise NotEnoughFlips(
                f"{cloud.n_evaluations[0]:,} perturbations of this row lie on one side of {self.outcome!r}: "
                "there is nothing to compare"
            )
        return Interactions.of(self.features.names, cloud.status[0], *pairs(cloud, 0, keys[0], shuffles))

    def counterfactuals(
        self,
        row: Any,
        *,
        nearest: int = 3,
        diverse: int = 3,
        seed: int = 0,
        generator: Generator | None = None,
        backend: Backend = "pandas",
    ) -> Any:
        """Search for changes that flip the output of one row, and give them as a readable frame.

        Parameters
        ----------
        row : table
            A single row.
        nearest, diverse : int
            How many of the nearest flips, and of those that are farthest from them and from each other.
        seed : int
        generator : Generator, optional
            By default a genetic search for few and small changes.
        backend : {"pandas", "polars", "pyarrow"}
            Library of the frame.
        """
        rows = self.space.encode(row)
        if len(rows) != 1:
            raise InvalidParameter(f"counterfactuals are those of one row, and this table has {len(rows)}")
        search = copy.copy(self)
        search.max_evidence_bytes = 2**62
        search.generator = Genetic() if generator is None else generator
        search.score, search.stop = PerFeature(direction=unsigned), Repeats(1)
        return search(row, seed=seed).counterfactuals(0, nearest=nearest, diverse=diverse, backend=backend)

    def _block(self, rows: Array, seed: int) -> list[Explanation | Failed]:
        """Explain a block of rows, without those that the model fails for."""

        def explain(some: Array) -> Explanation:
            more = functools.partial(self._run, some, self.predict(some), seed)
            return self.stop(more(slice(None), 0), more)

        return isolated(explain, rows)

    def _run(self, rows: Array, outputs: Array, seed: int, chosen: Any, replicate: int) -> Explanation:
        """Explain some rows of a block once."""
        rows, outputs = rows[chosen], outputs[chosen]
        keys, draw = self.space.keys(rows, seed, replicate), getattr(self.generator, "draw", None)
        generator = self.generator if draw is None else draw(self.features.space, run_key(seed, replicate))
        return self._explain(self._perturb(generator, rows, keys, outputs), outputs, seed)

    def _perturb(self, generator: Generator, rows: Array, keys: Unsigned, outputs: Array) -> Perturbations:
        """Let a generator perturb the features, and give its cloud back in columns of the table."""
        member = Membership(self, rows, outputs)
        cloud = generator(self.features.fold(rows), keys, self.features.space, member)
        return self.features.unfold_cloud(cloud, rows, self.space)

    def side(self, outputs: Array, reference: Array) -> Array:
        """(N,) how far (N, k) outputs lie on the far side of the question, for rows with (N, k) outputs; checked."""
        side = np.asarray(self.outcome(outputs, reference))
        if (
            side.shape != (len(outputs),)
            or side.dtype.kind not in "fiub"
            or (side.size and not (side.min() >= 0 and side.max() <= 1))  # false for NaN
        ):
            raise InvalidParameter(
                f"the outcome gave {side.dtype} of shape {side.shape} for {len(outputs)} samples: it must give each of "
                "them 1 for the far side of the question, 0 for the near one, or a share between"
            )
        return side.astype(np.float64, copy=False)

    def _default_outcome(self) -> Outcome:
        if are_probabilities(self.background_outputs):
            return SoftFlip()
        return Flip() if len(self.predict.read.names) > 1 else Interval()

    def _bound(self, outcome: Outcome) -> Outcome:
        """Tell an outcome that wants to know them the names of the outputs and the background's outputs."""
        require_callable(outcome, "outcome", "xcid.outcomes.Flip()")
        bind = getattr(outcome, "bind", None)
        if bind is None:
            return outcome
        return bind(self.predict.read.names, self.background_outputs)

    def _explain(self, cloud: Perturbations, outputs: Array, seed: int) -> Explanation:
        return self.record(
            self.score(cloud),
            outputs,
            seed,
            origin=cloud.origin,
            status=cloud.status,
            n_evaluations=cloud.n_evaluations,
            n_flips=np.sum(cloud.positive > 0.5, axis=1),
            n_positive=cloud.positive.sum(axis=1),
            n_negative=cloud.negative.sum(axis=1),
            features=cloud.features,
            cloud=cloud,
        )

    def record(
        self,
        scores: Scores,
        outputs: Array,
        seed: int,
        *,
        origin: Array,
        status: Any,
        n_evaluations: Integers,
        n_flips: Integers,
        **known: Any,
    ) -> Explanation:
        """Put the scores of (n, d) rows together with all that is known of them; for engines."""
        settings = {
            "generator": self.generator,
            "score": self.score,
            "outcome": self.outcome,
            "stop": self.stop,
            "seed": seed,
        }
        return Explanation(
            **scores._asdict(),
            **known,
            status=np.where((status == "ok") & (n_flips == 0), "no_flips", status),
            feature_status=self.features.status(self.features.fold(origin)),
            n_evaluations=n_evaluations + 1,  # and the row itself
            n_flips=n_flips,
            index=np.arange(len(origin)),
            feature_names=self.features.names,
            data=origin,
            column_names=self.space.names,
            outputs=outputs,
            output_names=self.predict.read.names,
            units=tuple(column.unit for column in self.space.columns),
            scales=self.scales,
            levels=tuple(tuple(str(level) for level in column.levels) for column in self.space.columns),
            density=self.score.density,
            settings={name: repr(value) for name, value in settings.items()},
        )

    def checked(self, explanation: Explanation) -> Explanation:
        """Raise where nothing could be explained, warn where some rows could not; for engines."""
        if not explanation.n_flips.any() and self._constant_on_background():
            raise NotEnoughFlips(
                f"all {len(self.space.background)} background rows and all perturbations lie on one side of "
                f"{self.outcome!r}: one class only, no decision to explain ({counted(explanation, 0)}); check the "
                "model and the outcome, or give a background that reaches both sides"
            )
        warn_of_few(explanation)
        return explanation

    def _constant_on_background(self) -> bool:
        outputs = self.background_outputs
        side = self.side(outputs, np.repeat(outputs[:1], len(outputs), axis=0))
        return bool(np.all((side > 0.5) == (side[0] > 0.5)))


class Membership:
    """How far samples lie on the other side of the question than the row they come from."""

    def __init__(self, explainer: Explainer, rows: Array, reference: Array) -> None:
        self.explainer, self.rows, self.reference = explainer, rows, reference
        self.deadline = Deadline(explainer.time_limit, len(rows))
        self.own = (explainer.side(reference, reference) > 0.5).astype(np.float64)

    def __call__(self, samples: Array, owner: Integers) -> Array:
        """(N,) weights in C+ of (N, f) samples; every one is an evaluation."""
        explainer = self.explainer
        self.deadline.check()
        outputs = explainer.predict(explainer.features.unfold(samples, self.rows, owner))
        self.deadline.check()
        side = explainer.side(outputs, self.reference[owner])
        return np.abs(self.own[owner] - side)
