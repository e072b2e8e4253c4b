"""Pictures: ``Explanation -> matplotlib Axes``. They never compute and never call ``show``; the extra is ``plot``.

Every plot takes ``ax``, the Axes to draw on, and returns them; without, it makes a figure of a fitting size. ``row`` is
the position of a row, and ``most`` the number of features that are shown, those with the largest values.
"""

from __future__ import annotations

from xcid.show.plots.comparisons import agreement, comparison, interactions, masking_curve
from xcid.show.plots.evidence import densities
from xcid.show.plots.scores import bar, beeswarm, scatter, stability
from xcid.show.plots.sums import decision, heatmap, waterfall
