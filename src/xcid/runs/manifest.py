"""What the chunks of a run belong to: its inputs, its settings and the versions that made them."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from xcid.errors import InvalidFile
from xcid.files.atomic import replacing

Manifest: TypeAlias = dict[str, Any]
FORMAT, VERSION = "xcid run", 1
PACKAGES = (
    "xcid", "numpy", "scipy", "narwhals", "pandas", "pyarrow", "scikit-learn",
    "xgboost", "lightgbm", "catboost", "onnxruntime",
)  # fmt: skip


def describe(inputs: Mapping[str, Path], settings: Mapping[str, Any]) -> Manifest:
    """Describe a run: equal descriptions give equal results."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": {what: _file(path) for what, path in inputs.items()},
        "settings": dict(settings),
        "versions": {"python": platform.python_version(), "machine": platform.machine(), **dict(_installed())},
    }


def write(path: Path, manifest: Manifest) -> None:
    """Keep a description."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Manifest:
    """Read a description."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT or found["version"] != VERSION:
            raise ValueError(f"it is {found['format']!r}, version {found['version']}, and {VERSION} is understood")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{path} is no manifest of a run ({error}): give another folder") from error
    return dict(found)


def differences(before: Manifest, now: Manifest) -> list[str]:
    """Say how two runs differ, one line for each thing; the name of a file makes no difference, its content does."""
    found: list[str] = []
    for what in ("inputs", "settings", "versions"):
        old, new = before.get(what, {}), now[what]
        for name in dict.fromkeys([*old, *new]):
            one, other = old.get(name), new.get(name)
            if what == "inputs" and one is not None and other is not None:
                if one.get("sha256") != other["sha256"]:
                    found.append(f"the {name} is another file ({_shown_file(one)} then, {_shown_file(other)} now)")
            elif one != other:
                found.append(f"{name} was {_shown(one)} and is {_shown(other)}")
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}") from error


def _file(path: Path) -> dict[str, Any]:
    return {"name": path.name, "sha256": digest(path), "bytes": path.stat().st_size}


def _installed() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def _shown_file(file: Mapping[str, Any]) -> str:
    return f"{file.get('name')}, {file.get('bytes')} bytes, sha256 {str(file.get('sha256'))[:8]}"


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
