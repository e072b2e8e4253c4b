"""What a validation works on: an explainer, rows, and variants of the explainer that differ in one thing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid import Explainer, pipeline
from xcid._kernels.arrays import thinned
from xcid.cid.calibrated import ContributionsAlone
from xcid.contributions.scale import column_in_question, rival_of
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import UNKNOWN, Array, Explanation, Flags, Integers
from xcid.setup import Setup
from xcid.subject import Subject
from xcid.table import Features, FeatureSpace, encode_unseen, labels
from xcid_lab.validation.records import Effort

MOST_ROWS = 2_000  # of those to explain whose distribution is looked at
TIMED = 4  # rows, to see how long a model takes


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """An explainer with rows that it explains."""

    explainer: Explainer  # as it was given
    setup: Setup  # what it knows of the model as it is now
    rows: Array  # (n, d) that are explained, of those whose cells the reference data know
    names: tuple[str, ...]  # of these rows
    all_rows: Array  # (N, d) all of those, at most so many
    unseen: tuple[str, ...]  # names of the rows that hold what the reference data do not
    found: Explanation  # of the rows
    effort: Effort
    seed: int

    @classmethod
    def of(cls, explainer: Explainer, X: Any, index: Any, effort: Effort | None, seed: int, seconds: float) -> Case:
        """Explain some of the rows; of a model that takes long, fewer."""
        if explainer.made.contributing is None:
            raise InvalidParameter("validate an xcid.Explainer: scores of another kind have no limits to hold")
        setup = quiet(explainer.setup)
        _, rows, unseen = encode_unseen(setup.subject.space, X)
        names = np.array([str(name) for name in (labels(X, len(rows)) if index is None else index)])
        known = np.flatnonzero(~unseen)
        if not known.size:
            raise InvalidData(f"none of the {len(rows)} rows is like the reference data: each has a level they lack")
        wanted = _affordable(setup, rows[known], seconds) if effort is None else effort
        some = known[thinned(len(known), wanted.rows)]
        kept = known[thinned(len(known), MOST_ROWS)]
        found = pipeline.explain(setup, rows[some], seed)
        return cls(
            explainer, setup, rows[some], tuple(names[some].tolist()), rows[kept], tuple(names[unseen].tolist()),
            found, wanted, seed,
        )  # fmt: skip

    @property
    def told(self) -> Flags:
        """(n,) rows that were explained."""
        return ~np.isin(self.found.status, UNKNOWN)

    @property
    def is_exact(self) -> bool:
        """Whether contributions are counted out."""
        return bool(self.found.exact is not None and self.found.exact[self.told].all())

    @property
    def spread(self) -> float:
        """How far outputs of the reference data are apart, at least as far as single precision tells."""
        return max(float(np.std(self.setup.subject.outputs, axis=0).max()), 1e-12)


def quiet(setup: Setup) -> Setup:
    """The same without samples that are kept, and without a word about rows: the record has them."""
    return replace(setup, max_evidence_bytes=0, one_sided=lambda reason: None, failed=lambda failure: None)


def by_itself(setup: Setup) -> Setup:
    """Without the models that were trained again."""
    return replace(setup, sources=None)


def alone(setup: Setup) -> Setup:
    """Contributions alone."""
    return replace(setup, score=ContributionsAlone(), search=None)


def called(setup: Setup) -> Setup:
    """The same model as a function that nobody reads from inside: its contributions are sampled."""
    subject = setup.subject
    return rebound(setup, replace(subject, predict=replace(subject.predict, native=None), exact=None))


def rebound(setup: Setup, subject: Subject) -> Setup:
    """The same question on the same scale about another subject."""
    how = setup.contributing
    assert how is not None
    given = replace(setup.given, scale="auto" if how.scale.name == "number" else how.scale.name)
    return replace(setup, subject=subject, given=given, sources=None, **given.bound(subject, setup.score))


def on_part(setup: Setup, chosen: Integers) -> Setup:
    """The same model against some of the reference rows."""
    from xcid.native.shapley import Exact

    subject = setup.subject
    space = _part(subject.space, chosen)
    features = Features.of(space, subject.constraints)
    part = replace(subject, space=space, features=features).answered_by(subject.predict.call)
    native = part.predict.native
    if native is not None and subject.exact is not None:
        part = replace(part, exact=Exact.of(native, space.rows, None, features.columns))
    return rebound(setup, part)


def _part(space: FeatureSpace, chosen: Integers) -> FeatureSpace:
    """Some of the reference rows, in which a row of weight k stands k times."""
    rows = space.background[chosen]
    missing = np.isnan(rows).mean(axis=0)
    part = replace(space, rows=rows, background=rows, weights=None, copied=np.arange(len(rows)), missing=missing)
    return part.unlimited()


def planted(setup: Setup, rows: Array, n_columns: int, rng: np.random.Generator) -> tuple[Setup, Array]:
    """The same model and rows, of a table that has so many columns more, which the model never gets to see.

    They are real columns whose cells are shuffled, so that nothing tells them from others but that they do nothing.
    """
    subject, space = setup.subject, setup.subject.space
    varies = np.flatnonzero([len(np.unique(column[~np.isnan(column)])) > 1 for column in space.rows.T])
    if not varies.size:
        raise InvalidData("every column of the reference data is constant")
    chosen = np.resize(rng.permutation(varies), n_columns)
    wide = _widened(space, chosen, rng)
    decode = partial(_decode_first, subject.predict.decode, len(space.columns))
    features = Features.of(wide, subject.constraints)
    predict = replace(subject.predict, decode=decode, native=None)
    other = replace(subject, space=wide, features=features, predict=predict, exact=None)
    cells = [rng.choice(space.background[:, at], len(rows)) for at in chosen]
    return rebound(setup, other), np.column_stack([rows, *cells])


def _widened(space: FeatureSpace, chosen: Integers, rng: np.random.Generator) -> FeatureSpace:
    shuffled = [rng.permutation(space.rows[:, at]) for at in chosen]
    rows = np.column_stack([space.rows, *shuffled])
    free, places = space.unlimited(), np.concatenate([np.arange(len(space.columns)), chosen])
    names = set(space.names)
    copies = []
    for at in chosen:
        name = f"{space.columns[at].name} shuffled"
        while name in names:
            name += "'"
        names.add(name)
        copies.append(replace(space.columns[at], name=name))
    pools = [
        type(one)(
            np.column_stack([one.values, other.values[:, chosen]]),
            np.concatenate([one.sizes, other.sizes[chosen]]),
            np.concatenate([one.n_missing, other.n_missing[chosen]]),
        )
        for one, other in ((space.pools, free.pools), (space.distinct, free.distinct))
    ]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(space, name), getattr(free, name)[chosen]])
        for name in ("lower", "upper", "frozen", "direction")
    }
    same: dict[str, Any] = {
        name: getattr(space, name)[places] for name in ("resolution", "rounding", "missing", "scales")
    }
    rank = np.concatenate([space.rank, len(space.columns) + np.arange(len(chosen))])
    return replace(
        space, columns=(*space.columns, *copies), rows=rows, background=rows[space.copied], pools=pools[0],
        distinct=pools[1], rank=rank, **joined, **same,
    )  # fmt: skip


def _decode_first(decode: Callable[[Array], Any], width: int, matrix: Array) -> Any:
    return decode(matrix[:, :width])


class About(NamedTuple):
    """What the contributions of a row are about: an output, and the one that it is held against, if any."""

    column: int
    rival: int | None


def number_of(setup: Setup, rows: Array) -> tuple[Callable[[Array, About], Array], list[About]]:
    """From rows, and what is asked of them, to the number that contributions add up to, by calls of the model alone.

    Beside it, what the contributions of (n, d) rows are about.
    """
    subject, how = setup.subject, setup.contributing
    assert how is not None
    scale, outputs = how.scale, subject.predict(rows)
    column = column_in_question(setup.outcome, outputs, subject.output_names)
    rivals = rival_of(outputs, column).tolist() if scale.name == "margins" else [None] * len(rows)

    def number(some: Array, about: About) -> Array:
        rival = None if about.rival is None else np.full(len(some), about.rival)
        return np.asarray(scale(subject.predict(some), np.full(len(some), about.column), rival))

    return number, list(map(About, column.tolist(), rivals))


def _affordable(setup: Setup, rows: Array, seconds: float) -> Effort:
    """As much as fits into so many seconds, roughly, by how long a few rows of the called model take."""
    usual = Effort()
    some = rows[thinned(len(rows), TIMED)]
    slow = called(setup)
    pipeline.explain(slow, some, 0)  # what is made once
    start = time.perf_counter()
    pipeline.explain(slow, some, 1)
    each = (time.perf_counter() - start) / len(some)
    walk = 2 * usual.walks * (len(setup.subject.features.names) + 1) / 1_000  # in explanations of a row
    runs = (2 * usual.seeds + usual.parts + 2) * usual.rows + usual.walked * walk
    return usual.of(min(1.0, seconds / (each * runs)))
