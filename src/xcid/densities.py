"""Density estimators: ``density(values, positive, negative) -> DensityPair``, batched over leading axes.

Any function with that signature is one. ``Kernel`` is the paper's, ``Discrete`` counts levels, ``Mixed`` gives values
that pile up an atom of their own and the rest a kernel. Columns of a group have a joint density of their own.
"""

from xcid.cid.densities.bandwidths import Each as Each  # files of earlier versions look for it here
from xcid.cid.densities.joint import Joint as Joint  # likewise
from xcid.cid.densities.kernel import Kernel
from xcid.cid.densities.mixed import Discrete, Mixed

__all__ = ["Discrete", "Kernel", "Mixed"]
