"""What is explained: a table and the model behind a checked call. Explainer, baselines and metrics share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._check import LOG, describe_error, telling, warn
from xcid._kernels.arrays import thinned
from xcid.contributions.scale import measure_reference
from xcid.errors import ModelError
from xcid.models import Predictor, agrees, is_near, names_for, see, wrap
from xcid.models.libraries import trace
from xcid.models.predictor import EXACT, TRIED
from xcid.models.tables import USUAL_NAMING, Naming
from xcid.records import Array, Density, Details, Explanation, Outcome
from xcid.table import Constraints, Features, FeatureSpace, Kind, Rules

if TYPE_CHECKING:
    from xcid.native import Fingerprint
    from xcid.native.seen import Room
    from xcid.native.shapley import Exact

MEMORY = 2**28  # bytes that one call of the model may take
CHANGED = "the model has changed since the explainer was made: it was read and tried anew, as by a new explainer"


def _look_at(model: Any) -> Fingerprint | None:
    """The fingerprint of a model of a known library; a plain function has none."""
    if isinstance(model, FunctionType):
        return None
    from xcid.native import Fingerprint

    return Fingerprint.of(model)


class Standing:
    """Whether a model is still what a subject was made of, and the subject made anew where it is not.

    ``trust`` is "watched" where the model has a fingerprint, and "untold" where it has none: then it is always called.
    Where the fingerprint does not tell all, or there is none, a few reference rows are predicted again each time. What
    came by pickle or deepcopy is "travelled" until it was tried on the model that came with it, and "lost" where the
    model had changed before.
    """

    __slots__ = ("fingerprint", "latest", "lock", "model", "origin", "trust")

    def __init__(self, model: Any, trust: str | None = None) -> None:
        self.model, self.latest, self.lock, self.origin = model, None, Lock(), dict[str, str]()
        self.fingerprint = _look_at(model) if trust is None else None
        self.trust = trust or ("untold" if self.fingerprint is None else "watched")

    latest: Subject | None

    def __reduce__(self) -> tuple[Any, ...]:
        is_same = self.trust != "watched" or self.fingerprint == _look_at(self.model)
        trust = "travelled" if self.trust == "watched" else self.trust
        return Standing, (self.model, trust if is_same else "lost")

    def current(self, subject: Subject, beside: str = "") -> Subject:
        """The subject itself, or one of the model as it is now; a change is said, with what else it means."""
        now = None if self.trust == "untold" else _look_at(self.model)
        held = self._held(subject, now)
        if held is not None and ((now is not None and now.is_whole) or held.predicts_the_same()):
            return held
        with self.lock:
            if self.latest is None or self.latest is held or self.latest.standing.fingerprint != now:
                self.latest = subject.renewed()
                warn(CHANGED + beside)
            return self.latest

    def _held(self, subject: Subject, now: Fingerprint | None) -> Subject | None:
        """What is known of a model with this fingerprint, if anything."""
        with self.lock:
            if self.trust == "travelled":
                self.trust, self.fingerprint = "watched" if subject.is_as_tried() else "lost", now
            if self.latest is not None and self.latest.standing.fingerprint == now:
                return self.latest
            return subject if self.trust != "lost" and now == self.fingerprint else None

    def trace(self, space: FeatureSpace) -> dict[str, str]:
        """Which model and which reference data these are, by their digests, and which versions met; found once."""
        if not self.origin:
            self.origin = trace(self.model, space, self.trust != "untold")
        return self.origin


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model and the table that it is explained on."""

    model: Any  # as the user gave it
    space: FeatureSpace  # the columns of the table
    features: Features  # what is perturbed and scored: columns, and groups of columns
    predict: Predictor
    known: Array  # (N, k) outputs of the rows of the space
    usual: Mapping[str, Any]  # what is recorded of them: their spread and means, and what a probability of 0 means
    rules: Rules  # for counterfactuals
    constraints: Constraints  # that all of this obeys
    memory: int  # bytes that one call of the model may take
    naming: Naming  # of the outputs, as the user gave it
    standing: Standing  # which says whether the model is still the one that all of this was made of
    exact: Exact | None = None  # its Shapley values, where what was read of it adds up
    seen: Array | None = None  # what it predicted for a few reference rows by themselves, where no digest tells all

    @classmethod
    def of(
        cls,
        model: Any,
        reference: Any,
        feature_names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        constraints: Constraints | None = None,
        memory: int = MEMORY,
        weights: Any = None,
        naming: Naming = USUAL_NAMING,
    ) -> Subject:
        """Learn what the table holds, and try the model on it."""
        limits = Constraints() if constraints is None else constraints
        with telling(ModelError, f"this {type(model).__name__} cannot be called"):
            names = names_for(model, reference, feature_names)
        space = FeatureSpace.of(reference, names, kinds, limits, weights)
        features, rules = Features.of(space, limits), limits.rules(space.columns, space.rows)
        standing, predict, known, seen = _tried(model, space, memory, naming)
        usual, exact = measure_reference(known, space), _exact(predict, space, features)
        return cls(model, space, features, predict, known, usual, rules, limits, memory, naming, standing, exact, seen)

    @property
    def outputs(self) -> Array:
        """(N, k) outputs of the reference data, in which a row of weight k stands k times."""
        return self.known if self.space.weights is None else self.known[self.space.copied]

    @property
    def adds_up_on(self) -> str | None:
        """The scale on which what was read of the model adds up, if any."""
        return None if self.exact is None else self.exact.scale

    def unlimited(self) -> Features:
        """The same features, which may take every value that the reference data have."""
        return Features.of(self.space.unlimited(), Constraints(groups=self.constraints.groups))

    def current(self, beside: str = "") -> Subject:
        """Compare the model with what was read of it: give this subject, or one made of the model as it is now."""
        return self.standing.current(self, beside)

    def renewed(self) -> Subject:
        """The same table, and the model tried again."""
        found = self.of_model(self.model)
        if found.known.shape[1] != self.known.shape[1]:
            raise ModelError(
                f"the model has changed since the explainer was made: it has {found.known.shape[1]} outputs, where it "
                f"had {self.known.shape[1]}; make a new explainer"
            )
        return found

    def of_model(self, model: Any) -> Subject:
        """The same table before another model, such as one that was trained again."""
        standing, predict, known, seen = _tried(model, self.space, self.memory, self.naming)
        usual, exact = measure_reference(known, self.space), _exact(predict, self.space, self.features)
        parts: Any = {"usual": usual, "exact": exact, "seen": seen, "standing": standing}
        return replace(self, model=model, predict=predict, known=known, **parts)

    def answered_by(self, call: Any) -> Subject:
        """The same table before another call of a model, whose outputs for the reference rows are the usual ones."""
        predict = replace(self.predict, call=call)
        known = predict(self.space.rows)
        usual = measure_reference(known, self.space) | {"output_scales": self.usual["output_scales"]}
        return replace(self, predict=predict, known=known, usual=usual, exact=None, seen=None)

    def predicts_the_same(self) -> bool:
        """Whether the model still predicts what it did for a few reference rows; nothing tells where it is random."""
        if self.seen is None:
            return True
        found = see(self.model, self.predict, self.space)
        if found is None or is_near(found, self.seen, self.predict.precision):
            return True
        again = see(self.model, self.predict, self.space)
        return again is None or not is_near(again, found, self.predict.precision)

    def is_as_tried(self) -> bool:
        """Whether the model still predicts for some reference rows what it did, and what was read of it."""
        chosen = thinned(len(self.known), TRIED)
        try:
            found, native = self.predict(self.space.rows[chosen]), self.predict.native
            is_same = np.allclose(found, self.known[chosen], rtol=max(EXACT, 10 * self.predict.precision), atol=EXACT)
            return is_same and (native is None or agrees(native, self.predict, self.space))
        except Exception:  # a model that fails fails again when it is tried in earnest
            return False

    def with_room(self, space: FeatureSpace) -> Subject:
        """The same model and table, with room for rows that hold what the table does not; the model is called."""
        self.standing.trace(self.space)  # of the table as it was
        rules = replace(self.rules, columns=space.columns)
        return replace(self, space=space, predict=self.predict.deciding(self.model, space), rules=rules, exact=None)

    def room(self, space: FeatureSpace) -> Room:
        """What makes room for the rows of a space in what was read of the model."""
        from xcid.native.seen import Room

        levels = {at: len(column.levels) for at, column in enumerate(space.columns) if column.levels}
        return Room(self.predict.decode, self.predict.deciding(self.model, space).decode, levels)

    def read_with_room(self, space: FeatureSpace) -> Subject:
        """The same where the model is read, for rows that `Predictor.reads` is true of; called if that fails."""
        called = self.with_room(space)
        if self.predict.native is None:
            return called
        try:
            room = self.room(space)
            predict = replace(self.predict.deciding(self.model, space), native=self.predict.native.with_room(room))
            return replace(called, predict=predict, exact=None if self.exact is None else self.exact.with_room(room))
        except Exception as error:  # of a type without room, or of a step that refuses
            LOG.info("the model is called for rows that the reference data lack, since %s", describe_error(error))
            return called

    @property
    def record(self) -> dict[str, str]:
        """What was chosen about the table, and where all of this comes from, for records of settings."""
        return self.space.weighting | self.constraints.record | self.standing.trace(self.space)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The classes, or "output" for a regression."""
        return self.predict.read.names

    @property
    def is_regression(self) -> bool:
        """One number a row, no classes."""
        return self.known.shape[1] == 1

    def explanation(
        self,
        rows: Array,
        outputs: Array,
        *,
        settings: Mapping[str, str],
        index: Any = None,
        density: Density | None = None,
        outcome: Outcome | None = None,
        **known: Any,
    ) -> Explanation:
        """An explanation of (n, d) rows with (n, k) outputs: what the table says of them, and what else is known."""
        return Explanation(
            feature_status=self.features.status(self.features.fold(rows)),
            feature_names=self.features.names,
            data=rows,
            outputs=outputs,
            output_names=self.output_names,
            index=np.arange(len(rows)) if index is None else index,
            details=self.details(settings, density, outcome),
            **known,
        )

    def details(self, settings: Mapping[str, str], density: Density | None, outcome: Outcome | None) -> Details:
        """What the rows of an explanation share."""
        columns = self.space.columns
        return Details(
            column_names=self.space.names,
            features=self.features.columns,
            levels=tuple(tuple(str(level) for level in column.levels) for column in columns),
            units=tuple(column.unit for column in columns),
            scales=tuple(self.space.scales.tolist()),
            ordered=tuple(column.kind == "ordinal" for column in columns),
            density=density,
            outcome=outcome,
            settings=settings,
            **self.usual,
        )


def _tried(
    model: Any, space: FeatureSpace, memory: int, naming: Naming
) -> tuple[Standing, Predictor, Array, Array | None]:
    """Try a model on the rows of a space: what it is now, how to call it, its outputs for all of them and for a few."""
    standing = Standing(model)
    look = standing.fingerprint
    with telling(ModelError, f"this {type(model).__name__} cannot be called"):
        predict, outputs = wrap(model, space, memory, is_readable=look is not None, naming=naming)
    seen = None if look is not None and look.is_whole else see(model, predict, space)
    return standing, predict, outputs, seen


def _exact(predict: Predictor, space: FeatureSpace, features: Features) -> Exact | None:
    """The exact Shapley values of a model that was read, against all reference rows; None where it does not add up."""
    if predict.native is None:
        return None
    from xcid.native.shapley import Exact

    return Exact.of(predict.native, space.rows, space.weights, features.columns)
