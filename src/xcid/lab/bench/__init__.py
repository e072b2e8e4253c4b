"""Speed: xcid and its peers side by side in one process, as ratios.

>>> from xcid.lab.bench import EXTENTS, measure
>>> record = measure(EXTENTS["quick"], print)  # doctest: +SKIP
"""

from xcid.lab.bench.extent import EXTENTS, Extent
from xcid.lab.bench.run import measure

__all__ = ["EXTENTS", "Extent", "measure"]
