"""Speed: xcid and its peers side by side in one process, as ratios.

>>> from xcid.bench import Extent, measure
>>> record = measure(Extent.quick(), print)  # doctest: +SKIP
"""

from xcid.bench.extent import Extent
from xcid.bench.run import measure

__all__ = ["Extent", "measure"]
