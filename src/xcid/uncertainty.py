"""Where else contributions could lie: with other reference rows, or with the model trained again."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xcid._check import telling
from xcid._kernels.random import GROUPS, run_key
from xcid.contributions import sources
from xcid.contributions.scale import BASES, Scale, measure_sampled, rival_of, take_output
from xcid.errors import InvalidFile, InvalidParameter, ModelError
from xcid.outcomes.classes import column_of
from xcid.records import Array, Explanation, Integers, Perturbations, Texts, fields
from xcid.records.fields import COMPUTATION, REFERENCE, TRAINING
from xcid.setup import Setup, perturb_by_plan
from xcid.subject import Subject
from xcid.table import FeatureSpace

if TYPE_CHECKING:
    from xcid.native.shapley import Exact

FEWEST = 2  # refits that have a spread


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What tells of other reference rows and of another training.

    Attributes
    ----------
    limits : str
        What limits are to allow for.
    subject : Subject
        Whose reference rows were divided.
    refits : tuple of Subject
        The same table before each model that was trained again.
    groups : tuple of Exact
        Exact values against groups of the reference rows; none where contributions are sampled.
    shares : (g,)
        Of the groups among the reference rows.
    """

    limits: str
    subject: Subject
    refits: tuple[Subject, ...]
    groups: tuple[Exact, ...]
    shares: Array

    @classmethod
    def of(cls, setup: Setup, refits: Sequence[Subject], limits: str) -> Sources:
        """Divide the reference rows, where contributions are exact."""
        subject, how = setup.subject, setup.contributing
        is_exact = how is not None and subject.exact is not None and subject.exact.scale == how.scale.name
        groups, shares = _grouped(subject) if is_exact else ((), np.zeros(0))
        if limits == REFERENCE and not groups:
            raise InvalidParameter(
                "limits='reference' needs contributions that are computed exactly, and those of this model are "
                "sampled: use limits='computation', or explain with other reference rows and compare"
            )
        return cls(limits, subject, tuple(refits), groups, shares)

    @property
    def record(self) -> dict[str, str]:
        """How many models were trained again, and what limits are over, for records of settings."""
        known = {"refits": f"{len(self.refits)} of {type(self.refits[0].model).__name__}"} if self.refits else {}
        lacks = "" if self.groups else ", not over reference rows"
        over = {REFERENCE: "over reference rows", TRAINING: f"over trainings{lacks}"}
        return known | ({"limits": over[self.limits]} if self.limits in over else {})

    def current(self, setup: Setup) -> Sources:
        """The same of the models as they are now."""
        refits = [one.current() for one in self.refits]
        if setup.subject is self.subject and all(map(operator.is_, refits, self.refits)):
            return self
        return Sources.of(setup, refits, self.limits)

    def with_room(self, space: FeatureSpace) -> Sources:
        """The same before a table with room for rows that hold what the reference data do not; models are called."""
        return replace(self, refits=tuple(one.with_room(space) for one in self.refits), groups=())

    def read_with_room(self, space: FeatureSpace) -> Sources:
        """The same for rows for which what was read of the models gives what they predict."""
        room = self.subject.room(space)
        groups = tuple(one.with_room(room) for one in self.groups)
        return replace(self, refits=tuple(one.read_with_room(space) for one in self.refits), groups=groups)


def find_sources(setup: Setup, refits: Any, limits: str) -> Sources | None:
    """What an explainer needs for limits of a kind; None for those of its own sampling alone."""
    sources.check_limits(limits)
    if callable(refits) or hasattr(refits, "fit"):  # a forest can be iterated over: its own trees tell too little
        raise InvalidParameter(
            f"refits is a list of models that were trained again, not one {type(refits).__name__}: give "
            "refits=xcid.refits(model, X, y)"
        )
    if isinstance(refits, str | os.PathLike):
        raise InvalidParameter(f"refits is a list of models, or of their files: give refits=[{str(refits)!r}, ...]")
    models = [] if refits is None else [_load_model(one) for one in refits]
    if not models and limits == COMPUTATION:
        return None
    if limits == TRAINING and not models:
        raise InvalidParameter("limits='training' needs refits: give refits=xcid.refits(model, X, y)")
    if len(models) == 1:
        raise InvalidParameter("one refit has no spread: give at least two, such as xcid.refits(model, X, y, n=20)")
    if setup.contributing is None:
        raise InvalidParameter("refits and limits are about contributions, which the score of this explainer lacks")
    return Sources.of(setup, refit(setup.subject, models), limits)


def _load_model(given: Any) -> Any:
    """A model as it was given, or from the file that was."""
    if not isinstance(given, str | os.PathLike):
        return given
    from xcid.io import models

    path = Path(given)
    if path.suffix.lower() in models.PICKLES:
        raise InvalidFile(
            f"{path} is a pickle, and loading one runs whatever code is in it: save the model with skops.io.dump, or, "
            "if you made this file yourself, load it and give the model"
        )
    return models.load(path, ())


def refit(subject: Subject, models: Sequence[Any]) -> tuple[Subject, ...]:
    """The same table before each model that was trained again."""
    return tuple(_refitted(subject, model, at) for at, model in enumerate(models))


def _refitted(subject: Subject, model: Any, at: int) -> Subject:
    """The same table before a model that was trained again."""
    with telling(ModelError, f"refit {at} cannot be called"):
        try:
            found = subject.of_model(model)
        except ModelError as error:
            raise ModelError(f"refit {at} of the model: {error}") from error
    if found.output_names != subject.output_names:
        raise InvalidParameter(
            f"refit {at} has the outputs {list(found.output_names)}, and the model {list(subject.output_names)}: "
            "refits are the same kind of model, trained on the same classes"
        )
    return found


def _grouped(subject: Subject) -> tuple[tuple[Exact, ...], Array]:
    """Exact values against random groups of the reference rows, and the shares of the groups."""
    from xcid.native.shapley import Exact

    space = subject.space
    given = np.ones(len(space.rows)) if space.weights is None else np.asarray(space.weights, dtype=np.float64)
    used = np.flatnonzero(given)
    used = used[np.argsort(GROUPS.constant(np.arange(len(used), dtype=np.uint64)))]
    parts = [used[at :: sources.N_GROUPS] for at in range(min(sources.N_GROUPS, len(used)))]
    made = [Exact.of(subject.predict.native, space.rows[at], given[at], subject.features.columns) for at in parts]
    known = tuple(one for one in made if one is not None)
    shares = np.array([given[at].sum() for at in parts])
    return (known, shares / shares.sum()) if 1 < len(known) == len(parts) else ((), np.zeros(0))


def allow_for(setup: Setup, found: Explanation, rows: Array, seed: int) -> Explanation:
    """The explanation of (n, d) rows with what is known of other reference rows and other trainings."""
    asked, estimate = setup.sources, fields.estimate(found, "values")
    if asked is None or estimate is None or setup.contributing is None:
        return found
    scale = setup.contributing.scale
    about, every = About.of(found, scale), About.of_each(found, scale)
    known = {COMPUTATION: sources.of_computation(estimate)}
    more: dict[str, Any] = {"limits": asked.limits, "p_computation": estimate.p}
    if asked.groups:
        by_group = [exact(rows)[0] for exact in asked.groups]
        spreads = [
            sources.of_reference(np.stack([one.pick(values) for values in by_group]), asked.shares)
            for one in (about, *every)
        ]
        known[REFERENCE] = spreads[0]
        more["every_reference"] = np.stack(spreads[1:], axis=2) if every else None
    elif asked.shares.size:  # of a row that is sampled, where others are exact
        more["sd_reference"] = np.full(found.values.shape, np.nan)
    if asked.refits:
        each = [_exact_by(refit, rows, scale) for refit in asked.refits]
        more["retrained"] = np.stack(
            [
                _sampled_by(setup, refit, rows, seed, about) if one is None else about.pick(one)
                for one, refit in zip(each, asked.refits, strict=True)
            ],
            axis=-1,
        )
        read = [values for values in each if values is not None]
        if every and len(read) == len(each):
            by_refit = [np.stack([one.pick(values) for one in every], axis=2) for values in read]
            more["every_retrained"] = np.stack(by_refit, axis=-1)
        known[TRAINING] = sources.of_training(found.values, more["retrained"])
    more |= {f"sd_{name}": spread for name, spread in known.items()}
    return sources.widen(replace(found, **more), asked.limits)


class About(NamedTuple):
    """What the contributions of the model that is shown are about; those of all others are about the same."""

    column: Integers  # (n,) the output
    rival: Integers | None  # (n,) the one that it is held against, by margins
    scale: Scale

    @classmethod
    def of(cls, found: Explanation, scale: Scale) -> About:
        """The outputs that an explanation names."""
        names = found.output_names

        def places(known: Texts) -> Integers:
            return np.array([0 if len(names) == 1 else column_of(name, names) for name in known], dtype=np.int64)

        return cls(places(found.about), None if found.against is None else places(found.against), scale)

    @classmethod
    def of_each(cls, found: Explanation, scale: Scale) -> list[About]:
        """Each output in turn, where exact contributions are known to all of them."""
        columns = [] if found.every_class is None else np.indices(found.outputs.shape)[1].T
        return [cls(one, rival_of(found.outputs, one) if scale.name == "margins" else None, scale) for one in columns]

    def pick(self, values: Array) -> Array:
        """(n, f) values of (n, f, q) about every output."""
        return take_output(values, self.scale, self.column, self.rival)


def _exact_by(subject: Subject, rows: Array, scale: Scale) -> Array | None:
    """(n, f, q) contributions by a refit that is read, against the same reference rows."""
    return None if subject.exact is None or subject.exact.scale != scale.name else subject.exact(rows)[0]


def _sampled_by(setup: Setup, subject: Subject, rows: Array, seed: int, about: About) -> Array:
    """(n, f) contributions by a refit that is called, against the same reference rows and by the same plan."""
    how, outputs = setup.contributing, subject.predict.own(rows)
    assert how is not None
    if how.generator is not None and how.features is not None:
        subject = replace(subject, features=how.features)
    other = replace(setup, subject=subject, generator=how.generator or setup.generator)
    keys, run = subject.space.keys(rows, seed), functools.partial(run_key, seed, 0)
    parts, clouds = perturb_by_plan(other, rows, keys, outputs, run)
    cloud = Perturbations.concatenate(clouds, parts)
    bases = about.scale.bases(subject.known, subject.space.weights).tolist()
    usual = dict.fromkeys(("base_outputs", *BASES.values()), bases)
    found: Array = measure_sampled(cloud, outputs, *about, usual, how.measure)[1].value
    return found
