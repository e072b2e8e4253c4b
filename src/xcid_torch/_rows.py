"""Rows explained one at a time, each by a model of its own: the network with this row's input.

Where the features are parts of the input that are kept or filled (images, text, units that are switched off), a row of
the table says to a generator where each part comes from: 0 is the input itself, and 1, 2, ... are fills. To the score
all fills are one: what was kept and what was filled. So fills differ like donors do, and chance among them is in the
limits, but no score depends on how they are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from xcid import pipeline
from xcid._faults import Failed, Piece, counted, filled, warn_of_few
from xcid.cid.per_feature import Score
from xcid.contributions.effects import Measured
from xcid.contributions.sampled import Measure
from xcid.errors import InvalidParameter, ModelError, NotEnoughFlips
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.generators import Balanced
from xcid.outcomes import Interval, Outcome
from xcid.records import Array, Density, Integers, Perturbations, Scores, with_details
from xcid.records.fields import COLUMN, FEATURE, list_fields
from xcid.scores import Adjusted
from xcid.setup import Setup

Ask: TypeAlias = Callable[[Any], Any]
MOST_BYTES = 2**29  # of evidence
ENOUGH = 16  # rows of the table: with fewer than a dozen no score is significant


def setup_of(ask: Ask, table: Array, names: Sequence[str], kind: str, settings: Mapping[str, Any]) -> Setup:
    """The setup of an Explainer of columns that are all of one kind."""
    kinds: dict[str, Any] = dict.fromkeys(names, kind)
    return Explainer(ask, table, feature_names=list(names), kinds=kinds, **settings).setup


def explained(setup: Setup, row: Array, ask: Ask, seed: int) -> Piece:
    """Explain a (1, d) row by its own model; what all rows lack is said once, by :func:`gathered`."""
    subject, how = setup.subject.answered_by(ask), setup.contributing
    if how is not None:
        how = replace(how, scale=replace(how.scale, least=subject.usual["least"]))
    own = replace(setup, subject=subject, contributing=how)
    (piece,) = pipeline.explain_block(own, subject.space.encode(row), seed)
    return piece


def attempted(explain: Callable[[], Piece], width: int = 0) -> Piece:
    """Explain a row; where its model fails before there are any values of its features, they are not known."""
    try:
        return explain()
    except ModelError as error:
        return Failed(np.full((1, width), np.nan), error)


def gathered(
    pieces: Sequence[Piece],
    settings: Mapping[str, Any],
    reference: Callable[[], Sequence[Piece]],
) -> Explanation:
    """Put rows together; those with fewer features than others are filled up, and evidence is kept while it is small.

    Where all rows failed, the model is called with the reference, and its error is raised if it fails for that too.
    NotEnoughFlips is raised where no row has any.
    """
    done = [piece for piece in pieces if not isinstance(piece, Failed)]
    like = [] if done else [piece for piece in reference() if not isinstance(piece, Failed)]
    width = max(map(_width, [*pieces, *like]))
    alike = all(_width(piece) == width for piece in done)
    if len(done) > 1:  # each begins at a base of its own, of which a record of many rows has one
        pieces = [_without_outputs(piece) for piece in pieces]
    kept = [_padded(piece, width) for piece in pieces]
    size = sum(piece.cloud.nbytes for piece in kept if not isinstance(piece, Failed) and piece.cloud is not None)
    if not alike or size > settings.get("max_evidence_bytes", MOST_BYTES):
        kept = [piece if isinstance(piece, Failed) else replace(piece, cloud=None) for piece in kept]
    joined = replace(
        Explanation.concatenate(filled(kept, lambda: [_padded(piece, width) for piece in like])),
        index=np.arange(len(pieces)),
    )
    if pipeline.is_nothing(joined):
        raise NotEnoughFlips(
            f"no perturbation of any of {len(joined)} rows changes the output ({counted(joined, 0)}): ask another "
            "question by outcome=, or let perturbations go farther by another background or fill"
        )
    warn_of_few(joined)
    return Explanation.of(joined)


def _without_outputs(piece: Piece) -> Piece:
    if isinstance(piece, Failed) or piece.cloud is None:
        return piece
    return replace(piece, cloud=replace(piece.cloud, outputs=None))


def _width(piece: Piece) -> int:
    return piece.rows.shape[1] if isinstance(piece, Failed) else len(piece.feature_names)


def _padded(piece: Piece, width: int) -> Piece:
    """Add features that the row does not have: they are constant and score 0."""
    have = _width(piece)
    if have == width:
        return piece

    def padded(part: Any, value: Any) -> Any:
        if isinstance(part, tuple):
            return part + (value,) * (width - have)
        return np.pad(part, [(0, 0), (0, width - have)], constant_values=value)

    if isinstance(piece, Failed):
        return Failed(padded(piece.rows, np.nan), piece.error)
    more = range(have, width)
    names = tuple(f"{piece.feature_names[0].partition(' ')[0]} {at}" for at in more)
    own, shared = (
        {
            each.name: padded(getattr(record, each.name), each.absent)
            for each in list_fields(record)
            if {FEATURE, COLUMN} & set(each.axes) and getattr(record, each.name) is not None
        }
        for record in (piece, piece.details)
    )
    shared["column_names"] = piece.details.column_names + names
    shared["features"] = piece.details.features + tuple((at,) for at in more)
    own |= {"feature_names": piece.feature_names + names, "details": replace(piece.details, **shared), "cloud": None}
    return replace(piece, **own)


@dataclass(frozen=True, slots=True)
class Kept:
    """Another score, which sees only what was kept and what was filled."""

    score: Score = field(default_factory=Adjusted)

    @property
    def density(self) -> Density:
        """The density that draws the evidence of the other score."""
        return self.score.density

    def __call__(self, cloud: Perturbations) -> Scores:
        return self.score(binary(cloud))

    @property
    def measured(self) -> Measure | None:
        """How the other score measures effects, if it does."""
        measure = getattr(self.score, "measured", None)
        return None if measure is None else partial(_measured, measure)


def _measured(measure: Measure, cloud: Perturbations, numbers: Array) -> Measured:
    return measure(binary(cloud), numbers)


def binary(cloud: Perturbations) -> Perturbations:
    """The same cloud with 1 for what was kept and 0 for what was filled."""
    origin = np.ones(cloud.origin.shape)
    if cloud.plan is None or cloud.given is not None:
        return replace(cloud, origin=origin, given=(cloud.samples == 0).astype(np.float64))
    plan = cloud.plan.once(
        "kept or filled",
        lambda plan: replace(
            plan, **{name: 0 * getattr(plan, name) for name in ("values", "alone", "rest", "background")}
        ),
    )
    return replace(cloud, origin=origin, plans=(plan,))


class Distinct:
    """Evaluates equal (s, f) sources of parts once, and counts evaluations: with few parts there are few sources."""

    def __init__(self, ask: Callable[[Integers], Any]) -> None:
        self.ask, self.asked = ask, 0

    def __call__(self, rows: Any) -> Array:
        sources, place = np.unique(np.asarray(rows).astype(np.int64), axis=0, return_inverse=True)
        self.asked += len(sources)
        return np.asarray(self.ask(sources))[place.reshape(-1)]


def parts_setup(ask: Distinct, names: Sequence[str], n_fills: int, settings: dict[str, Any]) -> Setup:
    """What explains parts; ``settings`` are those of :class:`xcid.Explainer`, and ``n`` perturbations."""
    clash = sorted({"feature_names", "kinds", "density", "constraints", "weights"} & set(settings))
    if clash:
        raise InvalidParameter(f"the features are parts of an input: {', '.join(clash)} cannot be set")
    n = settings.get("n")
    if n is not None and "generator" in settings:
        raise InvalidParameter("give n or a generator, not both: a generator has its own number of perturbations")
    n_rows = n_fills * -(-max(ENOUGH, len(names) // 2 + 1) // n_fills)
    table = np.repeat(1.0 + np.arange(n_rows)[:, None] % n_fills, len(names), axis=1)
    chosen = {"generator": Balanced(n), **settings}
    chosen["score"] = Kept(settings.get("score", Adjusted()))
    chosen.pop("n", None)
    return setup_of(ask, table, names, "integer", chosen)


def question(outcome: Outcome | None, outputs: Array) -> Outcome | None:
    """The question that was asked; where it is about numbers, with the spread of those of the background.

    An Explainer of parts knows the outputs of filled inputs only, which may all be the same.
    """
    numbers = outputs.reshape(len(outputs), -1).astype(np.float64)
    if numbers.shape[1] > 1 or (outcome is None and numbers.min() >= 0 and numbers.max() <= 1):
        return outcome
    asked = Interval(soft=True) if outcome is None else outcome
    return asked.bind(("output",), numbers) if isinstance(asked, Interval) else asked


def explained_parts(setup: Setup, ask: Distinct, seed: int) -> Piece:
    """Explain one input by its sources; its evaluations are those that were asked for."""
    piece = explained(setup, np.zeros((1, len(setup.subject.space.names))), ask, seed)
    return piece if isinstance(piece, Failed) else replace(piece, n_evaluations=np.array([ask.asked]))


def by_parts(piece: Piece, levels: Sequence[tuple[str, ...]] | None = None, codes: Array | None = None) -> Piece:
    """An explanation of sources as one of parts: level 0 of each is what it is filled with, ``codes`` (f,) what it is.

    By default a part is "kept" or "filled".
    """
    if isinstance(piece, Failed):
        return piece
    n_parts, cloud = len(piece.feature_names), piece.cloud
    levels = [("filled", "kept")] * n_parts if levels is None else levels
    codes = np.ones(n_parts) if codes is None else codes
    if cloud is not None:
        cloud = binary(cloud)
        given = None if cloud.given is None else cloud.given * codes
        cloud = replace(cloud, origin=codes[None], given=given, discrete=np.ones(n_parts, dtype=bool))
    return replace(with_details(piece, levels=tuple(levels)), data=codes[None], cloud=cloud)
