"""Generators for research: searches that the paper does not use."""

from xcid_lab.generators.nearest import Nearest

__all__ = ["Nearest"]
