"""Methods beside each other: masking curves and agreement."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from xcid.errors import InvalidParameter
from xcid.metrics import feature_agreement
from xcid.metrics.faithfulness import Curves
from xcid.records import Array, Explanation
from xcid.show.plots import _style


def masking_curve(curves: Curves | Mapping[str, Curves], *, ax: Any = None) -> Any:
    """Draw the mean output as ever more features are masked (full lines) or kept (dashed), best first.

    A faithful ranking falls early when its features are masked and rises early when they are kept. Bands are two
    standard errors. The curves are those of :func:`xcid.metrics.masking_curves`; a mapping names several methods.
    """
    named = {"": curves} if isinstance(curves, Curves) else dict(curves)
    if not named:
        raise InvalidParameter("there are no curves to draw")
    ax = _style.axes(ax, 6, 4)
    for colour, (name, one) in zip(itertools.cycle(_style.CYCLE), named.items(), strict=False):
        for part, line, what in ((one.masked, "-", "masked"), (one.kept, "--", "kept")):
            mean, margin = part.mean(axis=0), 2 * part.std(axis=0) / np.sqrt(len(part))
            stages = np.arange(part.shape[1])
            ax.plot(stages, mean, line, color=colour, label=f"{_style.short(name, 40)} {what}".strip())
            ax.fill_between(stages, mean - margin, mean + margin, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel("features masked or kept, best first")
    ax.set_ylabel("mean output")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=_style.SMALL)
    return ax


def agreement(
    scores: Mapping[str, Explanation | Array],
    *,
    k: int = 4,
    by: Callable[..., Array] = feature_agreement,
    ax: Any = None,
) -> Any:
    """Draw how far methods agree with each other, as a heat map of means over rows.

    Parameters
    ----------
    scores : mapping of str to Explanation or (n, d) array
        Methods by name, on the same rows.
    k : int
        Features of a top set.
    by : callable
        ``by(scores_a, scores_b, k) -> (n,)``; the share of common features by default.
    ax : matplotlib Axes, optional
    """
    names = list(scores)
    if len(names) < 2:
        raise InvalidParameter(f"agreement needs at least two methods, not {len(names)}")
    values = [part.values if isinstance(part, Explanation) else np.asarray(part) for part in scores.values()]
    shares = np.array([[float(np.mean(by(a, b, k))) for b in values] for a in values])
    ax = _style.axes(ax, 1.8 + 0.7 * len(names), 1.8 + 0.7 * len(names))
    _style.heat(ax, shares, names)
    ax.set_title(f"agreement, top {k}", fontsize=10)
    return ax
