"""Finished pieces on disk: a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of arrays, one file for each piece, named after what made it."""

    folder: Path

    def piece(self, name: str, key: Mapping[str, object], make: Callable[[], Arrays]) -> Arrays:
        """Read a piece that was made with the same key, or make and keep it.

        A file appears under its name only when it is complete; one that cannot be read is made anew.
        """
        path = self.folder / f"{name}-{digest(key)}.npz"
        found = _read(path)
        if found is None:
            _write(path, make())
            found = _read(path)  # so that a resumed run computes with the very same arrays
        assert found is not None
        return found


def digest(key: Mapping[str, object]) -> str:
    """Twelve letters for a mapping of plain values.

    Examples
    --------
    >>> digest({"m": 50, "rows": None}) == digest({"rows": None, "m": 50})
    True
    """
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is either complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


def _write(path: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_bytes(path, buffer.getvalue())


def _read(path: Path) -> Arrays | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
