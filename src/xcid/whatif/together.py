"""Models that must agree as one: their trees side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid.native.ensemble import Ensemble
from xcid.native.models import Alone
from xcid.native.trees import Indicators, Trees, Walk
from xcid.records import Array, Integers


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """What the splits of several models compare, the columns of one after those of the other."""

    models: tuple[Alone, ...]

    def owners(self, features: Sequence[Sequence[int]]) -> Integers:
        """(m,) the feature that each column is made of."""
        each = [(one.seen.owners(features), one.core.indicators.source) for one in self.models]
        return np.concatenate([part for owner, source in each for part in (owner, owner[source])])

    def counted(self, rows: Array) -> Array:
        """(n, m) the numbers that splits compare."""
        return np.concatenate([one.core.compared(one.seen.counted(rows)) for one in self.models], axis=1)


def put_side_by_side(models: Sequence[Any]) -> Alone | None:
    """Several ensembles as one; None where they are none, or add different numbers of sums."""
    known = tuple(one for one in models if isinstance(one, Alone) and isinstance(one.core, Trees))
    walks = [one.core.walk for one in known]
    if len(known) < len(models) or len({walk.value.shape[1] for walk in walks}) > 1:
        return None
    nodes, sums = (
        np.cumsum([0, *sizes])[:-1]
        for sizes in ([len(walk.feature) for walk in walks], [len(one.core.ensemble.base) for one in known])
    )
    widths = [len(one.seen.source) + len(one.core.indicators.source) for one in known]
    columns = np.cumsum([0, *widths])[:-1]
    walk = Walk(
        np.concatenate([walk.feature + at for walk, at in zip(walks, columns, strict=True)]),
        np.concatenate([walk.threshold for walk in walks]),
        np.concatenate([walk.missing_left for walk in walks]),
        np.concatenate([walk.left + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.right + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.value for walk in walks]),
        np.concatenate([walk.roots + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.slot + at for walk, at in zip(walks, sums, strict=True)]),
    )
    base = np.concatenate([one.core.ensemble.base for one in known])
    ensemble = Ensemble((), base, np.asarray, known[0].core.ensemble.link)
    seen: Any = SideBySide(known)
    return Alone(seen, Trees(ensemble, Indicators(np.zeros(0, dtype=np.int64), {}), walk))
