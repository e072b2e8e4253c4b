"""Spark: partitions of a data frame in the executors' Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xcid._require import require
from xcid.engines._frames import Kind, Work
from xcid.errors import InvalidData
from xcid.explainer import Explainer

WHOLE = ("tinyint", "smallint", "int", "bigint")


def explain(explainer: Explainer, frame: Any, *, row: str, seed: int = 0) -> Any:
    """Explain the rows of a Spark data frame, lazily.

    Parameters
    ----------
    explainer : Explainer
        It travels to the workers by Spark's cloudpickle; what cannot be pickled is refused at once.
    frame : pyspark.sql.DataFrame
        Only the columns of the background are read. Others may be there.
    row : str
        The column that tells rows apart: a Spark data frame has no index and no order.
    seed : int

    Returns
    -------
    pyspark.sql.DataFrame
        One line a row; the columns are ``row``, ``status``, ``n_evaluations``, ``n_flips``, and ``value_NAME``,
        ``importance_NAME``, ``lower_NAME``, ``upper_NAME`` and ``p_value_NAME`` for each feature.
    """
    types = require("pyspark.sql.types", extra="spark")
    if not hasattr(frame, "mapInPandas"):
        raise InvalidData(f"this is no Spark data frame but a {type(frame).__name__}: make one by a SparkSession")
    known = dict(frame.dtypes)
    kind: Kind = "whole" if known.get(row) in WHOLE else "text"
    pickler = require("pyspark.cloudpickle", extra="spark")
    work = Work.of(explainer, pickler, seed=seed, row=row, columns=known, row_kind=kind)
    of_kind = {"whole": types.LongType(), "number": types.DoubleType(), "text": types.StringType()}
    schema = types.StructType([types.StructField(name, of_kind[kind]) for name, kind in work.schema.items()])

    def lines(frames: Iterator[Any]) -> Iterator[Any]:
        return (work(one) for one in frames)

    return frame.select(*(f"`{name.replace('`', '``')}`" for name in work.needed)).mapInPandas(lines, schema)
