"""The one way out: a table is written piece by piece, and appears under its name only when it is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from xcid.errors import InvalidFile
from xcid.files.atomic import replacing
from xcid.files.formats import FORMATS, Columns

Write: TypeAlias = Callable[[Columns], Any]


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


@contextlib.contextmanager
def writer(path: Path) -> Iterator[Write]:
    """Lend a function that adds columns to a file."""
    made = FORMATS[path.suffix.lower()]
    with replacing(path) as temporary, temporary.open("wb") as file, made.joining(file) as add:
        yield lambda columns: add(made.pack(columns))


@contextlib.contextmanager
def json_writer(stream: TextIO) -> Iterator[Write]:
    """Likewise for a list of objects on a stream of text."""
    made = FORMATS[".json"]
    with made.joining(_Encoded(stream)) as add:
        yield lambda columns: add(made.pack(columns))


class _Encoded:
    """A stream of text that takes bytes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, part: bytes) -> None:
        self.stream.write(part.decode())
