"""Density estimators: ``density(values, positive, negative) -> DensityPair``, batched over leading axes.

Any function with that signature is one. ``Kernel`` is the paper's, ``Discrete`` counts levels, ``Mixed`` gives values
that pile up an atom of their own and the rest a kernel. ``Joint`` is for the columns of a group.
"""

from xcid.cid.densities.bandwidths import Each, scott, silverman
from xcid.cid.densities.joint import Joint
from xcid.cid.densities.kernel import Kernel
from xcid.cid.densities.mixed import Discrete, Mixed

__all__ = ["Discrete", "Each", "Joint", "Kernel", "Mixed", "scott", "silverman"]
