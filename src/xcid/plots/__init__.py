"""Pictures: ``Explanation -> matplotlib Axes``. They never compute and never call ``show``; the extra is ``plot``."""

from xcid.plots.bars import bar
from xcid.plots.comparisons import agreement, masking_curve
from xcid.plots.evidence import densities
from xcid.plots.swarms import beeswarm, stability

__all__ = ["agreement", "bar", "beeswarm", "densities", "masking_curve", "stability"]
