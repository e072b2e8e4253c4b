"""Files that the lab leaves behind: pages, and finished pieces, from which an interrupted run resumes."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import xcid
from xcid.errors import InvalidData
from xcid.io.writers import folder, replacing

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Keep: TypeAlias = Callable[[Path, Mapping[str, object], Callable[[], Arrays]], Arrays]
"""``keep(path, key, make)``: :func:`piece`, or :func:`stored`."""


def write(path: Path, content: str | bytes) -> None:
    """Write a file that is either complete or not there; its folder is made where there is none."""
    folder(path.parent)
    with replacing(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def piece(path: Path, key: Mapping[str, object], make: Callable[[], Arrays]) -> Arrays:
    """Read a piece that was made with the same key, or make and keep it.

    The key is part of the file's name. A file that cannot be read is made anew.
    """
    path = path.with_name(f"{path.name}-{digest(key)}.npz")
    found = _read(path)
    if found is None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **make())
        write(path, buffer.getvalue())
        found = _read(path)  # so that a resumed run computes with the very same arrays
    assert found is not None
    return found


def stored(path: Path, key: Mapping[str, object], make: Callable[[], Arrays]) -> Arrays:
    """Read a piece that was made with the same key; make nothing."""
    path = path.with_name(f"{path.name}-{digest(key)}.npz")
    found = _read(path)
    if found is None:
        raise InvalidData(
            f"{path} is not there, or cannot be read: pieces are known by their settings and the versions of the "
            "packages, so give the same ones, or leave out --from and let it be computed"
        )
    return found


def digest(key: Mapping[str, object]) -> str:
    """Twelve letters for a mapping of plain values.

    Examples
    --------
    >>> digest({"m": 50, "rows": None}) == digest({"rows": None, "m": 50})
    True
    """
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]


def versions(packages: Sequence[str], missing: str) -> dict[str, str]:
    """Versions of packages, and what to say of those that are not installed."""
    found = dict.fromkeys(packages, missing)
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def describe_versions(packages: Sequence[str], missing: str = "") -> str:
    """Versions of xcid, Python and packages, in one line; without a word for missing ones, these are left out."""
    known = {"xcid": xcid.__version__, "Python": platform.python_version(), **versions(packages, missing)}
    return ", ".join(f"{name} {number}" for name, number in known.items() if number)


def now() -> str:
    """Today and the time, as records say it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _read(path: Path) -> Arrays | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
