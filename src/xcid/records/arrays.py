"""Names for the types of arrays and the libraries of data frames, and the arithmetic that records share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


def log_odds(d1: Array) -> Array:
    """The log odds ratio behind signed d1; infinite at 1.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds(np.array([0.0, -0.5])).round(4).tolist()
    [0.0, -1.3863]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.sign(d1) * -2 * np.log1p(-np.minimum(np.abs(d1), 1.0)))


def in_words(code: float, unit: str, levels: tuple[str, ...]) -> str:
    """A number of a column in words: a date where it has a unit, the name of a level where it has levels.

    Examples
    --------
    >>> in_words(1.0, "", ("no", "yes")), in_words(3.0, "", ()), in_words(19000.0, "D", ())
    ('yes', '3', '2022-01-08')
    """
    if np.isnan(code):
        return "missing"
    if unit:
        return str(np.array(round(code)).astype(f"datetime64[{unit}]"))
    return levels[int(code)] if levels else f"{code + 0.0:.6g}"
