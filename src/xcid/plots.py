"""Pictures: ``Explanation -> matplotlib Axes``. They never compute and never call ``show``; the extra is ``plot``.

Every plot takes ``ax``, the Axes to draw on, and returns them; without, it makes a figure of a fitting size. ``row`` is
the position of a row, and ``most`` the number of features that are shown, those with the largest values.
"""

from xcid.show.plots import (
    agreement,
    bar,
    beeswarm,
    comparison,
    decision,
    densities,
    heatmap,
    interactions,
    masking_curve,
    scatter,
    stability,
    waterfall,
)

__all__ = [
    "agreement",
    "bar",
    "beeswarm",
    "comparison",
    "decision",
    "densities",
    "heatmap",
    "interactions",
    "masking_curve",
    "scatter",
    "stability",
    "waterfall",
]
