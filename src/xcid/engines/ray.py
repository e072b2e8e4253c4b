"""Ray Data: blocks of a dataset in Ray's tasks."""

from __future__ import annotations

from typing import Any

from xcid._require import require
from xcid.engines._frames import Kind, Work
from xcid.errors import InvalidData
from xcid.explainer import Explainer


def explain(explainer: Explainer, dataset: Any, *, row: str, seed: int = 0) -> Any:
    """Explain the rows of a Ray dataset, lazily.

    Parameters
    ----------
    explainer : Explainer
        It travels to the workers by Ray's cloudpickle; what cannot be pickled is refused at once.
    dataset : ray.data.Dataset
        Only the columns of the background are read. Others may be there. Its schema is asked for: where that is not
        known, Ray reads one block.
    row : str
        The column that tells rows apart: a dataset has no index, and its blocks may change places.
    seed : int

    Returns
    -------
    ray.data.Dataset
        One line a row; the columns are ``row``, ``status``, ``n_evaluations``, ``n_flips``, and ``value_NAME``,
        ``importance_NAME``, ``lower_NAME``, ``upper_NAME`` and ``p_value_NAME`` for each feature.
    """
    data = require("ray.data", extra="ray")
    if not isinstance(dataset, data.Dataset):
        raise InvalidData(f"this is no Ray dataset but a {type(dataset).__name__}: make one by ray.data")
    found = dataset.schema()
    types = {} if found is None else dict(zip(found.names, found.types, strict=True))
    kind: Kind = "whole" if str(types.get(row)).lower().startswith(("int", "uint")) else "text"
    pickler = require("ray.cloudpickle", extra="ray")
    work = Work.of(explainer, pickler, seed=seed, row=row, columns=types, row_kind=kind)

    def lines(frame: Any) -> Any:
        return work(frame)

    return dataset.select_columns(work.needed).map_batches(lines, batch_format="pandas", batch_size=None)
