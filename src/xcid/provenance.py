"""Where an explanation comes from: digests of the model and of the reference data, and the versions that met."""

from __future__ import annotations

import hashlib
import platform
import sys
from typing import Any

import numpy as np

from xcid import __version__
from xcid.table import FeatureSpace

UNKNOWN = "unknown"


def trace(model: Any, space: FeatureSpace, is_readable: bool) -> dict[str, str]:
    """Name the model, the reference data and the versions, for records of settings: nothing of it changes by itself.

    Neither a date nor a command is here, so that the same rows give the same files; what a command writes has both.
    """
    from xcid.native.fingerprint import Content, look_for_record

    found = look_for_record(model) if is_readable else Content("", (type(model).__module__.partition(".")[0],))
    sha256 = f"sha256 {found.sha256}" if found.sha256 else f"digest {UNKNOWN}"
    return {
        "model": f"{getattr(model, '__name__', type(model).__name__)}, {sha256}",
        "reference": f"{len(space.rows):,} rows, sha256 {digest_reference(space)}",
        "versions": ", ".join(f"{name} {version}" for name, version in find_versions(found.packages).items()),
    }


def digest_reference(space: FeatureSpace) -> str:
    """SHA-256 of reference data as they are understood: names, levels, weights and numbers, in whatever library."""
    found = hashlib.sha256()
    for column in space.columns:
        found.update(repr((column.name, tuple(map(str, column.levels)), column.unit)).encode(errors="surrogatepass"))
    for part in (space.rows, space.weights):
        found.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def find_versions(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """The versions of xcid, of what it stands on, and of packages that are loaded."""
    known = {"xcid": __version__, "Python": platform.python_version(), "numpy": np.__version__}
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in packages}
    return known | {name: str(version) for name, version in loaded.items() if version is not None}
