"""The folder of a run: who holds it, what it belongs to (inputs, settings, versions), its log and finished chunks."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from xcid.errors import InvalidFile, InvalidParameter
from xcid.io.writers import replacing

MANIFEST, CHUNKS, LOG, LOCK = "manifest.json", "chunks", "log.txt", "lock"
Manifest: TypeAlias = dict[str, Any]
FORMAT, VERSION, SUFFIX = "xcid run", 2, ".chunk"
CHANGING = ("dev", "ino", "mtime_ns", "ctime_ns")
PARTS = ("inputs", "settings", "versions")
PACKAGES = (
    "xcid", "numpy", "scipy", "narwhals", "pandas", "pyarrow", "scikit-learn",
    "xgboost", "lightgbm", "catboost", "onnxruntime",
)  # fmt: skip


def sweep(folder: Path) -> None:
    """Take away what killed workers left half written."""
    for path in folder.glob(f".*{SUFFIX}.*"):
        path.unlink(missing_ok=True)


class FileFingerprint(NamedTuple):
    """A file that a run reads, as it was when the run began; it travels to the workers."""

    path: Path
    sha256: str
    state: tuple[int, ...]  # whatever is done to a file changes it

    def check(self) -> None:
        """Refuse a file that was touched since."""
        if state_of(self.path) != self.state:
            raise InvalidFile(
                f"{self.path} changed while the run was at work: put it back as it was and give the same command "
                "again, or give another folder"
            )


def fingerprint(path: Path) -> FileFingerprint:
    """Take the fingerprint of a file."""
    state = state_of(path)
    found = FileFingerprint(path, digest(path), state)
    found.check()
    return found


def state_of(path: Path) -> tuple[int, ...]:
    """Which file a path leads to, how large it is, and when it was changed, which nobody can set back."""
    try:
        found, link = path.stat(), path.lstat()
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}") from error
    return found.st_size, *(getattr(one, f"st_{name}") for one in (found, link) for name in CHANGING)


@contextlib.contextmanager
def verify_unchanged(files: Iterable[FileFingerprint]) -> Iterator[None]:
    """See to it that what is read here is what the fingerprints are of, whoever replaces files meanwhile."""
    files = tuple(files)
    try:
        yield
    finally:  # also before the error that another content leads to
        for file in files:
            file.check()


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
        return any(self.chunks.glob(f"*{SUFFIX}"))

    def adopt(self, wanted: Manifest) -> None:
        """Take the folder for a run; refuse one whose chunks belong to another."""
        path = self.path / MANIFEST
        found = find_differences(read_manifest(path), wanted) if path.exists() else ["there is no manifest"]
        if found and self.has_chunks:
            raise InvalidParameter(
                f"the run in {self.path} cannot be resumed, for its finished chunks are of another run: "
                f"{'; '.join(found)}; give what was given then, or another folder"
            )
        if found:
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[Folder]:
    """Make or reopen the folder of a run, and hold it as long as this process lives."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = [one.name for one in path.iterdir() if not one.name.startswith(".")]
        if others and not {MANIFEST, LOCK} & set(others):
            raise InvalidFile(
                f"{path} is not the folder of a run, it has other files ({sorted(others)[0]}): give another"
            )
        for name in others:
            kind = stat.S_ISDIR if name == CHUNKS else stat.S_ISREG
            if name in (MANIFEST, CHUNKS, LOG, LOCK) and not kind((path / name).lstat().st_mode):
                raise InvalidFile(f"{path / name} is not what a run left there: take it away, or give another folder")
        (path / CHUNKS).mkdir(exist_ok=True)
        lock = (path / LOCK).open("a")
    except OSError as error:
        raise InvalidFile(f"the folder {path} cannot be used: {error.strerror}") from error
    with lock:
        _hold(lock.fileno(), path)
        sweep(path / CHUNKS)
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


def describe(inputs: Mapping[str, FileFingerprint], settings: Mapping[str, Any]) -> Manifest:
    """Describe a run: equal descriptions give equal results."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": {
            what: {"name": file.path.name, "sha256": file.sha256, "bytes": file.state[0]}
            for what, file in inputs.items()
        },
        "settings": dict(settings),
        "versions": {"python": platform.python_version(), "machine": platform.machine(), **dict(_find_versions())},
    }


def read_manifest(path: Path) -> Manifest:
    """Read a description."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"it is {found['format']!r}")
        version = int(found["version"])
        if version == VERSION and not all(
            isinstance(part, dict) for part in (*(found[what] for what in PARTS), *found["inputs"].values())
        ):
            raise ValueError("its parts are not what they should be")
        json.dumps(found)  # parts within parts as far as memory goes can be read, and not be shown
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidFile(f"{path} is not the manifest of a run ({str(error)[:200]}): give another folder") from error
    if version != VERSION:
        age = "an older" if version < VERSION else "a newer"
        raise InvalidFile(
            f"the run in {path.parent} was begun by {age} version of xcid (its manifest is of version {version}, and "
            f"{VERSION} is read): finish it with that version, or give a new folder and begin again"
        )
    return dict(found)


def identity(manifest: Manifest) -> str:
    """What chunks of a run are marked with: runs with the same give the same results."""
    inputs = {what: file["sha256"] for what, file in manifest["inputs"].items()}
    return hashlib.sha256(json.dumps(manifest | {"inputs": inputs}, sort_keys=True).encode()).hexdigest()


def find_differences(before: Manifest, now: Manifest) -> list[str]:
    """Say how two runs differ, one line for each thing; the name of a file makes no difference, its content does."""
    found: list[str] = []
    for what in PARTS:
        old, new = before[what], now[what]
        for name in dict.fromkeys([*old, *new]):
            one, other = old.get(name), new.get(name)
            if what == "inputs" and one is not None and other is not None:
                if one.get("sha256") != other["sha256"]:
                    then, present = _describe_file(one), _describe_file(other)
                    found.append(f"the {name} is another file ({then} then, {present} now)")
            elif one != other:
                found.append(f"{name} was {_describe_value(one)} and is {_describe_value(other)}")
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}") from error


def _find_versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def _describe_file(file: Mapping[str, Any]) -> str:
    return f"{file.get('name')}, {file.get('bytes')} bytes, sha256 {str(file.get('sha256'))[:8]}"


def _describe_value(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
