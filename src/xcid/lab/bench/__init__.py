"""Speed: xcid and its peers side by side in one process, as ratios.

>>> from xcid.lab.bench import Extent, measure
>>> record = measure(Extent.quick(), print)  # doctest: +SKIP
"""

from xcid.lab.bench.extent import Extent
from xcid.lab.bench.run import measure

__all__ = ["Extent", "measure"]
