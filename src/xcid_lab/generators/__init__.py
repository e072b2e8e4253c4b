"""Generators for research: searches and samples that the paper does not use."""

from xcid_lab.generators.complements import Complements
from xcid_lab.generators.given import Given
from xcid_lab.generators.nearest import Nearest
from xcid_lab.generators.objectives import Wachter

__all__ = ["Complements", "Given", "Nearest", "Wachter"]
