"""Distances between two densities: ``distance(p, q, weights) -> (...,)``, batched over leading axes.

Any function with that signature is one. ``d_k`` is the paper's; ``xcid.cid.distances.total_variation`` is there to
compare with.
"""

from xcid.cid.distances import d_k, overlap

__all__ = ["d_k", "overlap"]
