"""Explanations of earlier files: their values were distances made of log odds, about the present output of each row.

They become contributions: the log odds, or the effects on a number, with the base value from which they add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xcid.outcomes.classes import class_names
from xcid.records import Array

GONE = ("direction", "null_mean", "null_quantile")
ENDS = ("", "_lower", "_upper", "_p_values")
LEAST = 1e-15  # a probability of 0


def renew(parts: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """What an explanation has per row, from what an earlier file has; later files are left as they are."""
    if "direction" not in parts:
        return dict(parts)
    kept = {name: part for name, part in parts.items() if name not in GONE and not name.startswith(("moved", "mean"))}
    if parts.get("lower") is None or not np.any(parts["direction"]):
        return kept
    names, outputs = common["output_names"], parts["outputs"]
    is_number = parts.get("moved") is not None
    found = _estimate(parts, "moved") if is_number else _log_odds(parts)
    if parts.get("mean") is not None:
        kept["size"] = found["values"]
        found |= {"values": parts["mean"], "lower": parts["mean_lower"], "upper": parts["mean_upper"]}
    column = np.zeros(len(outputs), dtype=np.int64) if is_number else _column(common, outputs)
    if not is_number and "towards" not in (common.get("settings") or {}) and len(class_names(names)) == 2:
        found, column = _about_second(found, column), np.ones_like(column)
    own = np.take_along_axis(outputs, column[:, None], axis=1)[:, 0]
    if not is_number:
        own = np.log(np.clip(own, LEAST, 1) / np.clip(1 - own, LEAST, 1))
    about = np.full(len(own), "") if is_number else np.array(names)[column]
    return kept | found | {"base_values": own - found["values"].sum(axis=1), "about": about}


def scale_of(parts: Mapping[str, Any]) -> str:
    """The scale of the values that :func:`renew` gives."""
    if "base_values" not in parts:
        return "d1"
    return "number" if not np.any(parts["about"] != "") else "log_odds"


def _estimate(parts: Mapping[str, Any], name: str) -> dict[str, Array]:
    return {own: parts[f"{name}{end}"] for own, end in zip(("values", "lower", "upper", "p_values"), ENDS, strict=True)}


def _log_odds(parts: Mapping[str, Any]) -> dict[str, Array]:
    """The log odds behind signed distances."""
    with np.errstate(divide="ignore"):
        return {
            name: np.sign(parts[name]) * -2 * np.log1p(-np.minimum(np.abs(parts[name]), 1.0))
            for name in ("values", "lower", "upper")
        }


def _column(common: Mapping[str, Any], outputs: Array) -> Any:
    """(n,) the class that signs were about: that of a direction, or the predicted one."""
    towards = (common.get("settings") or {}).get("towards")
    if towards in common["output_names"]:
        return np.full(len(outputs), list(common["output_names"]).index(towards))
    return np.nan_to_num(outputs, nan=-np.inf).argmax(axis=1)


def _about_second(found: Mapping[str, Array], column: Any) -> dict[str, Array]:
    """The same estimate about the second of two classes."""
    is_first = (column == 0)[:, None]
    ends = {"values": "values", "lower": "upper", "upper": "lower"}
    turned = {name: np.where(is_first, -found[other], found[name]) for name, other in ends.items()}
    return {**found, **turned}
