"""Finished chunks: one file each, with a line that says what is in it and a checksum of the rest."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from xcid.errors import InvalidFile
from xcid.files.writers import replacing

SUFFIX = ".chunk"


class Fragment(NamedTuple):
    """What is known of a finished chunk without its content: how many of its rows ended how."""

    number: int
    rows: int
    statuses: Counter[str]


def write(folder: Path, fragment: Fragment, packed: bytes) -> None:
    """Keep a finished chunk; it is there as a whole or not at all."""
    content = zlib.compress(packed, 1)
    head = {
        "number": fragment.number,
        "rows": fragment.rows,
        "statuses": dict(sorted(fragment.statuses.items())),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    with replacing(_path(folder, fragment.number)) as temporary, temporary.open("wb") as file:
        file.write(json.dumps(head).encode() + b"\n")
        file.write(content)


def finished(folder: Path, n_chunks: int) -> Iterator[Fragment]:
    """Chunks that are there; one that is damaged is taken away, so that it is made again."""
    for number in range(n_chunks):
        path = _path(folder, number)
        if not path.exists():
            continue
        try:
            yield _read(path, number)[0]
        except InvalidFile:
            path.unlink()


def contents(folder: Path, numbers: Iterable[int]) -> Iterator[bytes]:
    """What is in chunks."""
    for number in numbers:
        yield zlib.decompress(_read(_path(folder, number), number)[1])


def sweep(folder: Path) -> None:
    """Take away what killed workers left half written."""
    for path in folder.glob(f".*{SUFFIX}.*"):
        path.unlink(missing_ok=True)


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"


def _read(path: Path, number: int) -> tuple[Fragment, bytes]:
    """A chunk and its packed content, checked."""
    try:
        line, _, content = path.read_bytes().partition(b"\n")
        head = json.loads(line)
        if head["number"] != number or head["sha256"] != hashlib.sha256(content).hexdigest():
            raise ValueError("the checksum differs")
        return Fragment(number, head["rows"], Counter(head["statuses"])), content
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"the chunk {path} is damaged ({error}): run the same command again") from error
