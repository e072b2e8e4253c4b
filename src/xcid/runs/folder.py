"""The folder of a run: who holds it, what it belongs to (inputs, settings and versions), and what happened."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from xcid.errors import InvalidFile, InvalidParameter
from xcid.files.writers import replacing
from xcid.runs import fragments

MANIFEST, CHUNKS, LOG, LOCK = "manifest.json", "chunks", "log.txt", "lock"
Manifest: TypeAlias = dict[str, Any]
FORMAT, VERSION = "xcid run", 1
PACKAGES = (
    "xcid", "numpy", "scipy", "narwhals", "pandas", "pyarrow", "scikit-learn",
    "xgboost", "lightgbm", "catboost", "onnxruntime",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a run keeps what it has."""

    path: Path

    @property
    def chunks(self) -> Path:
        """Where finished chunks are."""
        return self.path / CHUNKS

    def log(self, event: str) -> None:
        """Add a line; events hold no data. A full disk ends a run by what it writes, not by what it notes."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with contextlib.suppress(OSError), (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{now} {os.getpid()} {event}\n")

    @property
    def has_chunks(self) -> bool:
        """Whether there are finished chunks, of this run or of another."""
        return any(self.chunks.glob(f"*{fragments.SUFFIX}"))

    def adopt(self, wanted: Manifest) -> None:
        """Take the folder for a run; refuse one whose chunks belong to another."""
        path = self.path / MANIFEST
        found = differences(read(path), wanted) if path.exists() else ["there is no manifest"]
        if found and self.has_chunks:
            raise InvalidParameter(
                f"the run in {self.path} cannot be resumed, for its finished chunks are of another run: "
                f"{'; '.join(found)}; give what was given then, or another folder"
            )
        if found:
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """Make or reopen the folder of a run, and hold it as long as this process lives."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = [one.name for one in path.iterdir() if not one.name.startswith(".")]
        if others and not {MANIFEST, LOCK} & set(others):
            raise InvalidFile(f"{path} is no folder of a run, it has other files ({sorted(others)[0]}): give a new one")
        (path / CHUNKS).mkdir(exist_ok=True)
        lock = (path / LOCK).open("a")
    except OSError as error:
        raise InvalidFile(f"the folder {path} cannot be used: {error.strerror}") from error
    with lock:
        _hold(lock.fileno(), path)
        fragments.sweep(path / CHUNKS)
        yield Folder(path)


def _hold(handle: int, path: Path) -> None:
    """Lock a file until it is closed, by whatever end of the process."""
    try:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InvalidFile(f"another process is at work in the folder {path}: wait for it, or give another") from error


def describe(inputs: Mapping[str, Path], settings: Mapping[str, Any]) -> Manifest:
    """Describe a run: equal descriptions give equal results."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": {
            what: {"name": path.name, "sha256": digest(path), "bytes": path.stat().st_size}
            for what, path in inputs.items()
        },
        "settings": dict(settings),
        "versions": {"python": platform.python_version(), "machine": platform.machine(), **dict(_installed())},
    }


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


def _installed() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def _shown_file(file: Mapping[str, Any]) -> str:
    return f"{file.get('name')}, {file.get('bytes')} bytes, sha256 {str(file.get('sha256'))[:8]}"


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
