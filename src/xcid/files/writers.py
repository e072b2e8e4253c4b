"""The one way out: tables into files, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xcid.errors import InvalidFile
from xcid.files.atomic import replacing
from xcid.files.formats import FORMATS, Columns


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
