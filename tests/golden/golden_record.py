"""From answers of the library to flat arrays, and these to one file and back.

The file holds one vector of all numbers and one text that says which of them belong to what: a thousand small arrays
would cost more in headers than in numbers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import xcid

STORED = Path(__file__).with_name("values.npz")
SAVED = Path(__file__).with_name("saved")
EARLIER = Path(__file__).with_name("earlier.npz")  # what was said, in its own terms, by the version that wrote these
MOST_POINTS = 40  # of a density that are stored
SUMMARY = (" size", " sums")  # all that is stored of groups: points of theirs that tie have no order to rely on
FIELDS = (
    "values", "importance", "lower", "upper", "p_values", "base_values", "about", "exact", "spread",
    "share_significant", "status", "feature_status", "n_evaluations", "n_flips", "n_positive", "n_negative",
    "outputs", "index", "data", "feature_names", "output_names",
)  # fmt: skip
DETAILS = "scales", "column_names", "units"

Found = dict[str, Any]
"""Arrays of numbers or text by name; None for what an explanation does not have."""


def run(case: Callable[[], Found]) -> Found:
    """What a case gives, and how many warnings the library spoke on the way; other warnings are errors."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("error")
        warnings.simplefilter("always", xcid.XcidWarning)
        found = case()
    return {**found, "warnings": len(heard)}


def of_explanation(explanation: Any, *evidence: tuple[int, str]) -> Found:
    """Everything that an explanation says, but for its words; with the evidence of some rows and features."""
    found = {name: getattr(explanation, name) for name in FIELDS}
    found |= {name: getattr(explanation.details, name) for name in DETAILS}
    found |= {"levels": [",".join(names) for names in explanation.details.levels]}
    found |= {"features": [",".join(map(str, columns)) for columns in explanation.details.features]}
    for row, feature in evidence:
        pair = of_pair(explanation.evidence(row, feature), f"evidence {row} {feature}")
        is_group = len(explanation.details.features[explanation.feature_names.index(feature)]) > 1
        found |= {name: part for name, part in pair.items() if not is_group or name.endswith(SUMMARY)}
    return found


def of_pair(pair: Any, name: str) -> Found:
    """Two densities: some of their points, and sums over all of them."""
    parts = {part: getattr(pair, part) for part in ("points", "p", "q", "weights", "atoms")}
    size = len(pair.points)
    chosen = np.unique(np.linspace(0, size - 1, MOST_POINTS).astype(int)) if size else np.empty(0, dtype=int)
    masses = [pair.weights * pair.p, pair.weights * pair.q, pair.weights * np.minimum(pair.p, pair.q)]
    sums = [float(part.sum()) for part in (*masses, pair.weights, np.nan_to_num(pair.points) * pair.weights)]
    found = {f"{name} {part}": array[chosen] for part, array in parts.items()}
    return found | dict(zip([f"{name}{part}" for part in SUMMARY], [size, sums], strict=True))


def of_frame(frame: Any, name: str = "frame") -> Found:
    """The columns of a pandas frame in their order, and their cells."""
    found: Found = {f"{name} columns": list(frame.columns)}
    for column in frame.columns:
        cells = frame[column].to_numpy()
        found[f"{name} {column}"] = cells if cells.dtype.kind in "fiub" else [str(cell) for cell in cells]
    return found


def under(name: str, found: Mapping[str, Any]) -> Found:
    """The same under longer names."""
    return {f"{name} {part}": value for part, value in found.items()}


def save(cases: Mapping[str, Found], path: Path = STORED) -> None:
    """Write all cases to one file."""
    numbers: list[np.ndarray] = []
    layout: dict[str, dict[str, Any]] = {}
    for case, found in cases.items():
        layout[case] = {}
        for name, value in found.items():
            array = None if value is None else np.asarray(value)
            if array is None:
                layout[case][name] = None
            elif array.dtype.kind in "fiub":
                layout[case][name] = {"kind": array.dtype.kind, "shape": array.shape}
                numbers.append(array.astype(np.float64).ravel())
            else:
                layout[case][name] = {"text": array.astype(str).tolist()}
    text = np.frombuffer(json.dumps(layout, ensure_ascii=False, separators=(",", ":")).encode(), dtype=np.uint8)
    np.savez_compressed(path, numbers=np.concatenate(numbers), layout=text)


def load(path: Path = STORED) -> dict[str, Found]:
    """What was written."""
    with np.load(path, allow_pickle=False) as archive:
        numbers, layout = archive["numbers"], json.loads(archive["layout"].tobytes())
    cases: dict[str, Found] = {case: {} for case in layout}
    start = 0
    for case, parts in layout.items():
        for name, part in parts.items():
            if part is None or "text" in part:
                cases[case][name] = part and np.array(part["text"])
                continue
            size = int(np.prod(part["shape"]))
            cells = numbers[start : start + size].reshape(part["shape"])
            cases[case][name] = cells.astype({"f": np.float64, "i": np.int64, "u": np.uint64, "b": bool}[part["kind"]])
            start += size
    return cases


def gap(found: Any, due: Any) -> float:
    """The largest absolute difference; infinite where anything but numbers differs, or their type or shape."""
    if found is None or due is None:
        return 0.0 if found is None and due is None else np.inf
    found, due = np.asarray(found), np.asarray(due)
    if due.dtype.kind not in "fiub":
        return 0.0 if found.astype(str).tolist() == due.tolist() else np.inf
    if found.shape != due.shape or found.dtype.kind != due.dtype.kind:
        return np.inf
    found, due = found.astype(np.float64), due.astype(np.float64)
    same = (found == due) | (np.isnan(found) & np.isnan(due))
    apart = np.where(same, 0.0, np.abs(np.where(same, 0.0, found) - np.where(same, 0.0, due)))
    return float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0))


def gaps(found: Mapping[str, Any], due: Mapping[str, Any]) -> dict[str, float]:
    """The largest absolute difference by name; what only one of them has differs infinitely."""
    names = dict.fromkeys([*due, *found])
    return {name: gap(found[name], due[name]) if name in found and name in due else np.inf for name in names}
