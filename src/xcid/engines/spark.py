"""Spark: partitions of a data frame in the executors' Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xcid._require import require
from xcid.engines._frames import Kind, Work
from xcid.errors import InvalidData
from xcid.explainer import Explainer

INTEGERS = ("tinyint", "smallint", "int", "bigint")


def explain(explainer: Explainer, frame: Any, *, row: str, seed: int = 0) -> Any:
    """Explain the rows of a ``pyspark.sql.DataFrame``, lazily.

    The columns that come out are those of :mod:`xcid.engines`. ``row`` is the column that names rows: a Spark data
    frame has no index and no order.
    """
    types = require("pyspark.sql.types", extra="spark")
    if not hasattr(frame, "mapInPandas"):
        raise InvalidData(f"this is no Spark data frame but a {type(frame).__name__}: make one by a SparkSession")
    known = dict(frame.dtypes)
    kind: Kind = "integer" if known.get(row) in INTEGERS else "text"
    work = Work.of(explainer, require("pyspark.cloudpickle", extra="spark"), seed, row, kind, known)
    of_kind = {"integer": types.LongType(), "number": types.DoubleType(), "text": types.StringType()}
    schema = types.StructType([types.StructField(name, of_kind[kind]) for name, kind in work.schema.items()])

    def lines(frames: Iterator[Any]) -> Iterator[Any]:
        return (work(one) for one in frames)

    return frame.select(*(f"`{name.replace('`', '``')}`" for name in work.needed)).mapInPandas(lines, schema)
