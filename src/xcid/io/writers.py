"""The one way out: files that appear under their names only when they are complete, and tables in them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from xcid.errors import InvalidFile
from xcid.io.formats import FORMATS, Columns


@contextlib.contextmanager
def replacing(target: Path, token: str | None = None) -> Iterator[Path]:
    """Lend a temporary name beside the target; what was there before stays until all went well.

    A token is part of that name: one that is the same each time lets the next try take away what a killed one left.
    Whatever has that name is never written to: it may be a link to something else.
    """
    target = target.absolute()  # a model may change the working directory meanwhile
    temporary = target.with_name(f".{target.name}.{token or secrets.token_hex(4)}")
    try:
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        _keep_name(target.parent)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = error.strerror or error
        raise InvalidFile(f"{target} cannot be written: {reason}; check the folder and its free space") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """Let the new name survive a power cut; some systems cannot open a folder, and then it may not."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def folder(path: Path) -> Path:
    """Make a folder for results, where there is none."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"the folder {path} cannot be made: {error.strerror}") from error
    return path


def check(path: Path, *inputs: Path | None, extensions: Iterable[str] = ()) -> None:
    """Refuse an extension that is not known, a folder that is not there, and a file that is read from."""
    known = tuple(extensions) or tuple(FORMATS)
    if path.suffix.lower() not in known:
        raise InvalidFile(f"{path} cannot be written: the extensions are {', '.join(known)}")
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path} cannot be written: there is no folder {path.absolute().parent}")
    if path.is_dir() or any(
        one is not None and path.exists() and one.exists() and path.samefile(one) for one in inputs
    ):
        raise InvalidFile(f"{path} cannot be written: it is {'a folder' if path.is_dir() else 'read from'}")


def write(path: Path, pieces: Iterable[Columns]) -> None:
    """Write a table piece by piece; the file appears under its name only when it is complete."""
    made = FORMATS[path.suffix.lower()]
    with replacing(path) as temporary, temporary.open("wb") as file:
        made.join(file, map(made.pack, pieces))
