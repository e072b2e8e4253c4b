"""Ray Data: blocks of a dataset in Ray's tasks."""

from __future__ import annotations

from typing import Any

from xcid._require import require
from xcid.engines._frames import Kind, Work
from xcid.errors import InvalidData
from xcid.explainer import Explainer


def explain(explainer: Explainer, dataset: Any, *, row: str, seed: int = 0) -> Any:
    """Explain the rows of a ``ray.data.Dataset``, lazily; the columns that come out are those of :mod:`xcid.engines`.

    ``row`` is the column that names rows: a dataset has no index, and its blocks may change places. The schema of the
    dataset is asked for: where that is not known, Ray reads one block.
    """
    data = require("ray.data", extra="ray")
    if not isinstance(dataset, data.Dataset):
        raise InvalidData(f"this is no Ray dataset but a {type(dataset).__name__}: make one by ray.data")
    found = dataset.schema()
    types = {} if found is None else dict(zip(found.names, found.types, strict=True))
    kind: Kind = "integer" if str(types.get(row)).lower().startswith(("int", "uint")) else "text"
    work = Work.of(explainer, require("ray.cloudpickle", extra="ray"), seed, row, kind, types)

    def lines(frame: Any) -> Any:
        return work(frame)

    return dataset.select_columns(work.needed).map_batches(lines, batch_format="pandas", batch_size=None)
