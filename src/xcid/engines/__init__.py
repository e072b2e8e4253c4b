"""Engines: where rows are explained.

:class:`Threads` explains a table in this process. :mod:`xcid.engines.dask`, :mod:`xcid.engines.ray` and
:mod:`xcid.engines.spark` explain tables that are spread over a cluster; each has one function, ``explain``.
"""

from xcid.engines import dask, ray, spark
from xcid.engines.threads import Threads

__all__ = ["Threads", "dask", "ray", "spark"]
