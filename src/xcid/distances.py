"""Distances between two densities: ``distance(p, q, weights) -> (...,)``, batched over leading axes.

Any function with that signature is one. ``d_k`` is the paper's; ``total_variation`` is there to compare with.
"""

from xcid.cid.distances import d_k, overlap, total_variation

__all__ = ["d_k", "overlap", "total_variation"]
