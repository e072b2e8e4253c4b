"""Two public tables that ship with the package, to try things on."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.records import Integers
from xcid.table import Backend, require_backend

__all__ = ["load_diabetes", "load_heart"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table for classification.

    Attributes
    ----------
    data : data frame
        One column for each feature.
    target : (n,) int
        0 or 1.
    descriptions : mapping of str to str
        What each feature means, with its unit.
    target_names : tuple of str
        What 0 and 1 mean.
    source : str
        Where the table comes from and its licence.
    """

    data: Any
    target: Integers
    descriptions: Mapping[str, str]
    target_names: tuple[str, str]
    source: str

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of ``data``."""
        return tuple(self.descriptions)


def load_diabetes(backend: Backend = "pandas") -> Dataset:
    """Load Pima Indians Diabetes: 768 rows, 8 numeric features, no missing cells (zeros stand for some).

    ``backend`` is the library of the data frame: "pandas", "polars" or "pyarrow".

    Examples
    --------
    >>> table = load_diabetes()
    >>> table.data.shape, int(table.target.sum())
    ((768, 8), 268)
    """
    return _load("diabetes", backend)


def load_heart(backend: Backend = "pandas") -> Dataset:
    """Load Heart Disease, Cleveland: 303 rows, 13 numeric or coded features, six missing cells in ca and thal.

    ``backend`` is that of :func:`load_diabetes`.

    Examples
    --------
    >>> int(load_heart().data.isna().sum().sum())
    6
    """
    return _load("heart", backend)


def _load(name: str, backend: Backend) -> Dataset:
    require_backend(backend)
    folder = files("xcid.datasets")
    known = tomllib.loads((folder / "tables.toml").read_text(encoding="utf-8"))[name]
    header, *lines = csv.reader((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines())
    columns = dict(zip(header, map(_type_cells, zip(*lines, strict=True)), strict=True))
    data = {feature: columns.pop(feature) for feature in known["descriptions"]}
    (target,) = columns.values()  # what is left
    frame, (zero, one) = nw.from_dict(data, backend=backend).to_native(), known["target_names"]
    return Dataset(frame, target.astype(np.int64), known["descriptions"], (zero, one), known["source"])


def _type_cells(cells: tuple[str, ...]) -> np.ndarray[Any, np.dtype[Any]]:
    """Integers where all cells are, else floats with NaN for empty cells."""
    if all(cell.lstrip("-").isdigit() for cell in cells):
        return np.array([int(cell) for cell in cells])
    return np.array([float(cell) if cell else np.nan for cell in cells])
