"""Pictures: ``Explanation -> matplotlib Axes``. They never compute and never call ``show``; the extra is ``plot``.

Every plot takes ``ax``, the Axes to draw on, and returns them; without, it makes a figure of a fitting size. ``row`` is
the position of a row, and ``most`` the number of features that are shown, those with the largest scores.
"""

from xcid.show.plots.comparisons import agreement, masking_curve
from xcid.show.plots.differences import comparison
from xcid.show.plots.display import ExplanationDisplay
from xcid.show.plots.evidence import densities
from xcid.show.plots.pairs import interactions
from xcid.show.plots.scores import bar, beeswarm, scatter, stability

__all__ = [
    "ExplanationDisplay",
    "agreement",
    "bar",
    "beeswarm",
    "comparison",
    "densities",
    "interactions",
    "masking_curve",
    "scatter",
    "stability",
]
