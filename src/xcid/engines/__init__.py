"""Engines: where rows are explained.

:class:`Threads` explains a table in this process. :mod:`xcid.engines.dask`, :mod:`xcid.engines.ray` and
:mod:`xcid.engines.spark` explain tables that are spread over a cluster. Each has one function, ``explain``: it reads
only the columns of the reference data, sends the explainer to the workers by cloudpickle (what cannot be pickled is
refused at once), and gives a lazy table with one line a row. Its columns are ``row``, ``status``, ``n_evaluations``,
``n_flips``, and for each feature ``value_NAME``, ``importance_NAME``, ``lower_NAME``, ``upper_NAME`` and
``p_value_NAME`` (the last three are NaN where the setting does not calibrate).
"""

from xcid.engines import dask, ray, spark
from xcid.engines.threads import Threads

__all__ = ["Threads", "dask", "ray", "spark"]
