"""Dask: partitions of a data frame on the workers of a cluster."""

from __future__ import annotations

from typing import Any

from xcid._require import require
from xcid.engines._frames import Kind, Work
from xcid.errors import InvalidData
from xcid.explainer import Explainer


def explain(explainer: Explainer, frame: Any, *, row: str | None = None, seed: int = 0) -> Any:
    """Explain the rows of a ``dask.dataframe.DataFrame``, lazily.

    The columns that come out are those of :mod:`xcid.engines`. The partitions and the index are those of ``frame``, so
    that ``frame.join(scores)`` moves no data. ``row`` is the column that names rows; by default the index does.
    """
    dataframe = require("dask.dataframe", extra="dask")
    if not isinstance(frame, dataframe.DataFrame):
        raise InvalidData(f"this is no Dask data frame but a {type(frame).__name__}: make one by dask.dataframe")
    columns = {str(name): name for name in frame.columns}
    empty = require("dask.dataframe.dispatch", extra="dask").make_meta(frame)
    names = empty.index if row is None or row not in columns else empty[columns[row]]
    kind: Kind = "integer" if names.dtype.kind in "iu" else "text"
    work = Work.of(explainer, require("cloudpickle", extra="dask"), seed, row, kind, columns)
    part = frame[[columns[name] for name in work.needed]]
    # A node of the graph by itself: each worker gets the explainer once, not with each of its partitions.
    shared = require("dask", extra="dask").delayed(work, traverse=False, pure=True)
    return part.map_partitions(_lines, shared, meta=work.empty().set_index(empty.index))


def _lines(frame: Any, work: Work) -> Any:
    return work(frame)
