"""The folder of a run: who holds it, what it belongs to, what is done and what happened."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from xcid.errors import InvalidFile, InvalidParameter
from xcid.runs import fragments, manifest

MANIFEST, CHUNKS, LOG, LOCK = "manifest.json", "chunks", "log.txt", "lock"


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

    def adopt(self, wanted: manifest.Manifest) -> None:
        """Take the folder for a run; refuse one whose chunks belong to another."""
        path = self.path / MANIFEST
        found = manifest.differences(manifest.read(path), wanted) if path.exists() else ["there is no manifest"]
        if found and self.has_chunks:
            raise InvalidParameter(
                f"the run in {self.path} cannot be resumed, for its finished chunks are of another run: "
                f"{'; '.join(found)}; give what was given then, or another folder"
            )
        if found:
            manifest.write(path, wanted)


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
