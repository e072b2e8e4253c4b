"""Interactions as a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import as_int
from xcid.errors import InvalidData
from xcid.records import Interactions
from xcid.show import wording
from xcid.show.plots import _style


def interactions(found: Interactions, row: int | None = None, *, ax: Any = None, most: int = 12) -> Any:
    """Draw how features interact: the scores of one row, or their mean absolute values over all rows.

    In the map of a row pairs that are not significant are left white; green pairs support the present output more
    than the sum of both, orange ones less. The strongest pair has the deepest colour. A record of one row needs no
    ``row``. ``most`` features are shown, those with the strongest pairs.
    """
    if not len(found) or len(found.feature_names) < 2:
        raise InvalidData("there are no pairs to draw")
    one = found[row] if row is not None else found
    strength = np.abs(one.values).mean(axis=0)
    shown = np.sort(wording.largest(strength.max(axis=0), as_int(most, "most", at_least=2)))
    names, top = [found.feature_names[at] for at in shown], float(strength.max()) or 1.0
    ax = _style.axes(ax, 1.8 + 0.55 * len(names), 1.8 + 0.55 * len(names))
    if len(one) == 1:
        values = np.where(one.significant[0], one.values[0], np.nan)[np.ix_(shown, shown)]
        _style.heat(ax, values, names, cmap=_style.signed(), vmin=-top, vmax=top)
        title, note = f"interactions, row {one.index[0]}", f"white: {wording.NOT_SIGNIFICANT}"
    else:
        values = np.where(np.eye(len(names), dtype=bool), np.nan, strength[np.ix_(shown, shown)])
        _style.heat(ax, values, names, vmax=top)
        title, note = f"interactions, mean absolute values of {len(one):,} rows", ""
    ax.set_title(_style.plain(title), fontsize=10)
    notes = [note, wording.left_out(len(found.feature_names), len(names))]
    ax.set_xlabel("\n".join(filter(None, notes)), fontsize=_style.SMALL)
    return ax
