"""Explanations in files: an archive of everything, and documents without the samples."""

from __future__ import annotations

import functools
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xcid.densities import Discrete, Kernel, Mixed
from xcid.errors import InvalidFile, MissingDependency
from xcid.files import documents, unpacked
from xcid.records import Density, Explanation, Perturbations, Plan

FORMAT = "xcid explanation"
VERSION = 3
_ARRAYS = (
    "values", "importance", "direction", "status", "feature_status", "n_evaluations", "n_flips", "n_positive",
    "n_negative", "index", "data", "outputs",
    "lower", "upper", "p_values", "null_mean", "null_quantile",
    "spread", "significant",
)  # fmt: skip
# What evidence is made of: the samples, or the plan that they follow from.
_CLOUD = ("origin", "given", "positive", "negative", "n_evaluations", "status", "discrete")
_PLAN = ("masks", "free", "fitted", "values")
DOCUMENTS = {".json": documents.write_json, ".parquet": documents.write_parquet}


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write a file that appears under its name only when it is complete.

    ``.json`` and ``.parquet`` are documents without the samples (see :mod:`xcid.files.documents`); any other name is a
    compressed NumPy archive of everything.
    """
    target = Path(path)
    write = DOCUMENTS.get(target.suffix.lower(), _write_archive)
    try:
        _replace(target, functools.partial(write, explanation))
    except OSError as error:
        raise InvalidFile(f"{path} cannot be written: {error.strerror}; check the folder and its free space") from error


def _write_archive(explanation: Explanation, file: BinaryIO) -> None:
    arrays = {name: getattr(explanation, name) for name in _ARRAYS if getattr(explanation, name) is not None}
    if explanation.cloud is not None:
        parts = {f"cloud_{name}": getattr(explanation.cloud, name) for name in _CLOUD}
        if explanation.cloud.plan is not None:
            parts |= {f"cloud_plan_{name}": getattr(explanation.cloud.plan, name) for name in _PLAN}
        arrays |= {name: part for name, part in parts.items() if part is not None}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "feature_names": explanation.feature_names,
        "column_names": explanation.column_names,
        "features": explanation.features,
        "output_names": explanation.output_names,
        "levels": explanation.levels,
        "units": explanation.units,
        "scales": explanation.scales,
        "density": _describe(explanation.density),
        "settings": dict(explanation.settings or {}),
    }
    arrays["header"] = np.array(json.dumps(header))
    np.savez_compressed(file, **arrays)


def _replace(target: Path, write: Callable[[BinaryIO], None]) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Explanation:
    """Read what :meth:`Explanation.save` wrote; nothing in the file is ever run."""
    try:
        with Path(path).open("rb") as file:
            explanation = _reader(file)(file)
        _check_shapes(explanation)
        return explanation
    except InvalidFile as error:
        raise InvalidFile(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise InvalidFile(f"there is no file {path}") from error
    except MissingDependency:
        raise
    except Exception as error:  # a damaged archive fails in zipfile, zlib, NumPy's header or json, each in its own way
        raise InvalidFile(f"{path} is not a saved explanation, or it is damaged: {error}") from error


def _reader(file: BinaryIO) -> Callable[[BinaryIO], Explanation]:
    """By what is in the file, whatever its name."""
    start = file.read(4)
    file.seek(0)
    if start == b"PAR1":
        return documents.read_parquet
    return documents.read_json if start.startswith(b"{") else _read_archive


def _read_archive(file: BinaryIO) -> Explanation:
    unpacked.check("the file", file.seek(0, os.SEEK_END), unpacked.in_zip(file))
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        parts = {name: archive[name] for name in archive.files}
    header = json.loads(str(parts.pop("header")))
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise InvalidFile(f"this is {header['format']!r}, version {header['version']}; {VERSION} is understood")
    cloud = {name.removeprefix("cloud_"): parts.pop(name) for name in list(parts) if name.startswith("cloud_")}
    features = tuple(tuple(columns) for columns in header["features"])
    return Explanation(
        **parts,
        feature_names=tuple(header["feature_names"]),
        column_names=tuple(header["column_names"]),
        features=features,
        output_names=tuple(header["output_names"]),
        units=tuple(header["units"]),
        scales=tuple(header["scales"]),
        levels=tuple(tuple(names) for names in header["levels"]),
        cloud=_cloud(cloud, features) if cloud else None,
        density=_restore(header["density"]),
        settings=header["settings"],
    )


def _cloud(parts: Mapping[str, Any], features: tuple[tuple[int, ...], ...]) -> Perturbations:
    planned = {name: parts[f"plan_{name}"] for name in _PLAN if f"plan_{name}" in parts}
    plan = Plan(**planned, background=planned["values"], features=features) if planned else None
    if plan is None and "given" not in parts:
        raise InvalidFile("the file is damaged: it has neither samples nor the plan that they follow from")
    known = {name: parts[name] for name in _CLOUD if name != "given"}
    return Perturbations(**known, given=parts.get("given"), features=features, plan=plan)


def _check_shapes(explanation: Explanation) -> None:
    n, d = len(explanation.status), len(explanation.feature_names)
    due = dict.fromkeys(("values", "importance", "direction", "feature_status"), (n, d))
    due |= dict.fromkeys(("lower", "upper", "p_values", "null_mean", "null_quantile", "spread", "significant"), (n, d))
    for name, shape in {**due, "data": (n, len(explanation.column_names))}.items():
        part = getattr(explanation, name)
        if part is not None and part.shape != shape:
            raise InvalidFile(f"the file is damaged: {name} has the shape {part.shape}, and {shape} is due")
    for name in ("index", "n_evaluations", "n_flips", "n_positive", "n_negative", "outputs", "cloud"):
        part = getattr(explanation, name)
        if part is not None and len(part) != n:
            raise InvalidFile(f"the file is damaged: {name} has {len(part)} rows, and {n} are due")


def _describe(density: Density | None) -> dict[str, Any] | None:
    """Name and parameters of our own densities; a user's own function cannot be written down."""
    if type(density) not in (Kernel, Discrete, Mixed) or not is_dataclass(density):
        return None
    parameters = asdict(density)
    bandwidth = (
        parameters.get("kernel", {}).get("bandwidth") if isinstance(density, Mixed) else parameters.get("bandwidth")
    )
    if not isinstance(bandwidth, str | float | int | None):
        return None
    return {"name": type(density).__name__, **parameters}


def _restore(description: dict[str, Any] | None) -> Density | None:
    if description is None:
        return None
    parameters = dict(description)
    name = parameters.pop("name")
    if name == "Kernel":
        return Kernel(**parameters)
    if name == "Discrete":
        return Discrete()
    if name == "Mixed":
        return Mixed(**{**parameters, "kernel": Kernel(**parameters["kernel"])})
    raise InvalidFile(f"unknown density {name!r}")
