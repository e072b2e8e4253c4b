"""Rows explained one at a time, each by a model of its own: the network with this row's input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from xcid import pipeline
from xcid._faults import Failed, counted, filled, warn_of_few
from xcid.errors import ModelError, NotEnoughFlips
from xcid.explainer import Explainer
from xcid.pipeline import Setup
from xcid.records import Array, Explanation
from xcid.records.fields import FEATURE, declared

Ask: TypeAlias = Callable[[Any], Any]
MOST_BYTES = 2**28  # of evidence
PADDING = {"p_values": 1.0, "feature_status": "constant"}  # of features that a row does not have; everything else is 0


def setup_of(ask: Ask, table: Array, names: Sequence[str], kind: str, settings: Mapping[str, Any]) -> Setup:
    """The setup of an Explainer of columns that are all of one kind."""
    kinds: dict[str, Any] = dict.fromkeys(names, kind)
    return Explainer(ask, table, feature_names=list(names), kinds=kinds, **settings).setup


def explained(setup: Setup, row: Array, ask: Ask, seed: int) -> Explanation | Failed:
    """Explain a (1, d) row by its own model; what all rows lack is said once, by :func:`gathered`."""
    subject = replace(setup.subject, predict=replace(setup.subject.predict, ask=ask))
    try:
        return pipeline.explain(replace(setup, subject=subject), subject.space.encode(row), seed)
    except ModelError as error:
        return Failed(row, error)


def gathered(pieces: Sequence[Explanation | Failed], settings: Mapping[str, Any]) -> Explanation:
    """Put rows together; those with fewer features than others are filled up, and evidence is kept while it is small.

    NotEnoughFlips is raised where no row has any.
    """
    width = max(map(_width, pieces))
    alike = all(_width(piece) == width for piece in pieces)
    kept = [_padded(piece, width) for piece in pieces]
    size = sum(piece.cloud.nbytes for piece in kept if isinstance(piece, Explanation) and piece.cloud is not None)
    if not alike or size > settings.get("max_evidence_bytes", MOST_BYTES):
        kept = [piece if isinstance(piece, Failed) else replace(piece, cloud=None) for piece in kept]
    joined = replace(Explanation.concatenate(filled(kept)), index=np.arange(len(pieces)))
    if np.char.startswith(joined.status, "insufficient").all() and not joined.n_flips.any():
        raise NotEnoughFlips(
            f"no perturbation of any of {len(joined)} rows changes the output ({counted(joined, 0)}): ask another "
            "question by outcome=, or let perturbations go farther by another background or fill"
        )
    warn_of_few(joined)
    return joined


def _width(piece: Explanation | Failed) -> int:
    return piece.rows.shape[1] if isinstance(piece, Failed) else len(piece.feature_names)


def _padded(piece: Explanation | Failed, width: int) -> Explanation | Failed:
    """Add features that the row does not have: they are constant and score 0."""
    have = _width(piece)
    if have == width:
        return piece

    def padded(part: Any, value: Any) -> Any:
        return np.pad(part, [(0, 0), (0, width - have)], constant_values=value)

    if isinstance(piece, Failed):
        return Failed(padded(piece.rows, np.nan), piece.error)
    more = range(have, width)
    names = tuple(f"{piece.feature_names[0].partition(' ')[0]} {at}" for at in more)
    parts = {each.name: getattr(piece, each.name) for each in declared(piece) if FEATURE in each.axes}
    return replace(
        piece,
        **{name: padded(part, PADDING.get(name, 0.0)) for name, part in parts.items() if part is not None},
        data=padded(piece.data, np.nan),
        features=(*piece.features, *((at,) for at in more)),
        feature_names=(*piece.feature_names, *names),
        column_names=(*piece.column_names, *names),
        levels=(*piece.levels, *((),) * len(more)),
        units=(*piece.units, *("",) * len(more)),
        scales=(*piece.scales, *(0.0,) * len(more)),
        cloud=None,
    )
