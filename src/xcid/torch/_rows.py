"""Rows explained one at a time, each by a model of its own: the network with this row's input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from xcid import pipeline
from xcid._faults import Failed, filled
from xcid.errors import ModelError, NotEnoughFlips, warn
from xcid.explainer import Explainer
from xcid.records import Array, Explanation

Ask: TypeAlias = Callable[[Any], Any]
PADDED = {"p_values": 1.0}  # of features that a row does not have; everything else is 0


class RowExplainer(Explainer):
    """An Explainer that asks another model for every row; what all rows lack is said once, by :func:`gathered`."""

    def explained(self, row: Array, ask: Ask, seed: int) -> Explanation | Failed:
        """Explain a (1, d) row by its own model."""
        subject = replace(self.subject, predict=replace(self.subject.predict, ask=ask))
        try:
            return pipeline.explain(replace(self.setup, subject=subject), self.space.encode(row), seed)
        except ModelError as error:
            return Failed(row, error)


def gathered(pieces: Sequence[Explanation | Failed], max_evidence_bytes: int) -> Explanation:
    """Put rows together; those with fewer features than others are filled up, and evidence is kept while it is small.

    Raises
    ------
    NotEnoughFlips
        Where no row has any.
    """
    widest = max(_width(piece) for piece in pieces)
    alike = all(_width(piece) == widest for piece in pieces)
    kept = [_padded(piece, widest) for piece in pieces]
    size = sum(piece.cloud.nbytes for piece in kept if isinstance(piece, Explanation) and piece.cloud is not None)
    if not alike or size > max_evidence_bytes:
        kept = [piece if isinstance(piece, Failed) else replace(piece, cloud=None) for piece in kept]
    whole = replace(Explanation.concatenate(filled(kept)), index=np.arange(len(pieces)))
    _warn_of_gaps(whole)
    return whole


def _width(piece: Explanation | Failed) -> int:
    return piece.rows.shape[1] if isinstance(piece, Failed) else len(piece.feature_names)


def _padded(piece: Explanation | Failed, width: int) -> Explanation | Failed:
    """Add features that the row does not have: they are constant and score 0."""
    have = _width(piece)
    if have == width:
        return piece
    if isinstance(piece, Failed):
        return Failed(np.pad(piece.rows, [(0, 0), (0, width - have)], constant_values=np.nan), piece.error)
    names = ("values", "importance", "direction", "lower", "upper", "p_values", "null_mean", "null_quantile", "spread",
             "significant")  # fmt: skip
    added: dict[str, Any] = {}
    for name in names:
        part = getattr(piece, name)
        if part is not None:
            added[name] = np.pad(part, [(0, 0), (0, width - have)], constant_values=PADDED.get(name, 0.0))
    more = range(have, width)
    return replace(
        piece,
        **added,
        feature_status=np.pad(piece.feature_status, [(0, 0), (0, width - have)], constant_values="constant"),
        data=np.pad(piece.data, [(0, 0), (0, width - have)], constant_values=np.nan),
        features=(*piece.features, *((at,) for at in more)),
        feature_names=(*piece.feature_names, *(f"{piece.feature_names[0].partition(' ')[0]} {at}" for at in more)),
        column_names=(*piece.column_names, *(f"{piece.feature_names[0].partition(' ')[0]} {at}" for at in more)),
        levels=(*piece.levels, *((),) * len(more)),
        units=(*piece.units, *("",) * len(more)),
        scales=(*piece.scales, *(0.0,) * len(more)),
        cloud=None,
    )


def _warn_of_gaps(whole: Explanation) -> None:
    poor = np.flatnonzero(np.char.startswith(whole.status, "insufficient"))
    if not poor.size:
        return
    first = int(poor[0])
    found = (
        f"row {first} has {whole.n_flips[first]} flips and {whole.n_negative[first]:.4g} others in "
        f"{whole.n_evaluations[first]:,} evaluations"
    )
    if poor.size == len(whole) and not whole.n_flips.any():
        raise NotEnoughFlips(
            f"no perturbation of any of {len(whole)} rows changes the output ({found}): ask another question by "
            "outcome=, or let perturbations go farther by another background or fill"
        )
    warn(f"{poor.size} of {len(whole)} rows have few perturbations of a kind; {found}: see explanation.status")
