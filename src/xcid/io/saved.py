"""Explanations in files: an archive of everything, and documents without the samples (see ``documents.py``)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xcid.errors import InvalidFile, MissingDependency
from xcid.io import documents, tables
from xcid.io.writers import replacing
from xcid.outcomes import Outcome
from xcid.records import Density, Explanation, Perturbations, Plan, fields, with_details
from xcid.records.kept import WEIGHTS, in_single

VERSION = 4
NONE = "not a saved explanation, or it is damaged"
CLOUD, PLAN = "cloud_", "cloud_plan_"  # what the names of their arrays begin with
LEAST = CLOUD + "least"
DONORS = ("values", "alone", "rest")
# Weights are in single precision; those in C- are left out where they follow from those in C+.
# Of the plan that samples follow from its background is left out, and so is what the model predicted: no score is
# computed again from a file.
_PLAN = ("masks", "free", "fitted", "values", "alone", "rest")
_CLOUD = tuple(each.name for each in fields.list_fields(Perturbations) if each.name != "outputs")


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write a file that appears under its name only when it is complete.

    ``.json`` and ``.parquet`` are documents without the samples; any other name is a compressed NumPy archive of
    everything.
    """
    target = Path(path)
    write = documents.WRITERS.get(target.suffix.lower(), _write_archive)
    with replacing(target) as temporary, temporary.open("wb") as file:
        write(explanation, file)


def load(
    path: str | os.PathLike[str], *, density: Density | None = None, outcome: Outcome | None = None
) -> Explanation:
    """Read what :func:`save` wrote, with the density and the outcome that are not xcid's own."""
    try:
        tables.plain(Path(path), NONE)
        explanation = _reader(Path(path))(Path(path))
        _check_shapes(explanation)
    except InvalidFile as error:
        raise InvalidFile(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    except MissingDependency:
        raise
    except Exception as error:  # a damaged archive fails in zipfile, zlib, NumPy's header or json, each in its own way
        raise InvalidFile(f"{path} is {NONE}: {' '.join(str(error).split())}") from error
    own = {name: part for name, part in (("density", density), ("outcome", outcome)) if part is not None}
    return with_details(explanation, **own)


def _reader(path: Path) -> Callable[[Path], Explanation]:
    """By what is in the file, whatever its name."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return documents.read_parquet
    return documents.read_json if start.startswith(b"{") else _read_archive


def _write_archive(explanation: Explanation, file: BinaryIO) -> None:
    arrays = fields.per_row(explanation)
    cloud = arrays.pop("cloud", None)
    if cloud is not None:
        if not all(isinstance(plan, Plan) for plan in cloud.plans):
            cloud = replace(cloud, given=cloud.samples, plans=(), follows=None)
        arrays |= {CLOUD + name: getattr(cloud, name) for name in _CLOUD if getattr(cloud, name) is not None}
        arrays |= {CLOUD + name: in_single(arrays[CLOUD + name]) for name in WEIGHTS}
        if np.array_equal(cloud.negative, 1 - cloud.positive):
            del arrays[CLOUD + "negative"]
        arrays |= {} if cloud.least is None else {LEAST: np.array(cloud.least)}
        if cloud.plans:
            plans = {name: np.stack([getattr(plan, name) for plan in cloud.plans]) for name in _PLAN}
            arrays |= {PLAN + name: part for name, part in _number_rows(plans).items()}
    header = documents.head(explanation) | {"version": VERSION}
    np.savez_compressed(file, **arrays, header=np.array(json.dumps(header)))


def _number_rows(plans: dict[str, Any]) -> dict[str, Any]:
    """The same with each row that donors come from once, and its number where it was."""
    numbered, rows = {name: plans[name] for name in DONORS}, []
    for part in numbered.values():
        rows.append(np.ascontiguousarray(part).reshape(-1, part.shape[2]))
    stacked = np.concatenate(rows)
    kind = np.dtype((np.void, stacked.dtype.itemsize * stacked.shape[1]))  # bit for bit: a missing cell is one, too
    _, first, number = np.unique(stacked.view(kind).ravel(), return_index=True, return_inverse=True)
    ends = np.cumsum([len(part) for part in rows])[:-1]
    codes = zip(numbered.items(), np.split(number.astype(np.uint32), ends), strict=True)
    return plans | {name: code.reshape(part.shape[:2]) for (name, part), code in codes} | {"rows": stacked[first]}


def _read_archive(path: Path) -> Explanation:
    with path.open("rb") as file:
        tables.check_size(path, path.stat().st_size, tables.in_zip(file))
    with np.load(path, allow_pickle=False) as archive:
        parts = {documents.RENAMED.get(name, name): archive[name] for name in archive.files}
    header = json.loads(str(parts.pop("header")))
    common = documents.from_head(header, VERSION)
    cloud = {name.removeprefix(CLOUD): parts.pop(name) for name in list(parts) if name.startswith(CLOUD)}
    made = documents.rebuild_explanation(parts, common)
    return replace(made, cloud=_cloud(cloud, common["features"]) if cloud else None)


def _cloud(parts: Mapping[str, Any], features: tuple[tuple[int, ...], ...]) -> Perturbations:
    planned = {name: parts[f"plan_{name}"] for name in _PLAN if f"plan_{name}" in parts}
    if "plan_rows" in parts:
        planned |= {name: parts["plan_rows"][planned[name]] for name in DONORS}
    if not planned and "given" not in parts:
        raise InvalidFile("the file is damaged: it has neither samples nor the plan that they follow from")
    each = (dict(zip(planned, one, strict=True)) for one in zip(*planned.values(), strict=True))
    plans = tuple(Plan(**one, background=one["values"], features=features) for one in each)
    known: dict[str, Any] = dict.fromkeys(("given", "follows"))
    known |= {name: parts[name] for name in _CLOUD if name in parts}
    known |= {name: parts[name].astype(np.float64) for name in WEIGHTS if name in parts}
    known.setdefault("negative", 1 - known["positive"])
    least = float(parts["least"]) if "least" in parts else None
    return Perturbations(**known, features=features, plans=plans, least=least)


def _check_shapes(explanation: Explanation) -> None:
    """Refuse arrays whose axes do not fit together."""
    known = set(range(len(explanation.details.column_names)))
    if not all(columns and known.issuperset(columns) for columns in explanation.details.features):
        raise InvalidFile("the file is damaged: its features are made of columns that it does not have")
    if (explanation.lower is None) != (explanation.upper is None):
        raise InvalidFile("the file is damaged: it has one limit of its scores and not the other")
    sizes = {fields.ROW: len(explanation.status), fields.FEATURE: len(explanation.feature_names)}
    sizes |= {fields.COLUMN: len(explanation.details.column_names), fields.OUTPUT: len(explanation.output_names)}
    sizes[fields.REFIT] = 0 if explanation.retrained is None else explanation.retrained.shape[-1]
    for each in fields.list_fields(explanation):
        part = getattr(explanation, each.name)
        if part is None or not each.is_per_row:
            continue
        shape = part.shape if isinstance(part, np.ndarray) else (len(part),)
        due = tuple(sizes[axis] for axis in each.axes)
        if shape != due:
            raise InvalidFile(f"the file is damaged: {each.name} has the shape {shape}, and {due} is due")
