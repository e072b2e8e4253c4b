"""Pictures: ``Explanation -> matplotlib Axes``. They never compute and never call ``show``; the extra is ``plot``."""

from xcid.plots.bars import bar
from xcid.plots.evidence import densities

__all__ = ["bar", "densities"]
