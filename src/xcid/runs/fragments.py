"""Finished chunks: one file each, with a line that says what is in it and a checksum of the rest."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from xcid.errors import InvalidFile
from xcid.io.writers import replacing

SUFFIX = ".chunk"


class Fragment(NamedTuple):
    """What is known of a finished chunk without its content: how many of its rows ended how."""

    number: int
    rows: int
    statuses: Counter[str]
    reason: str = ""  # that the first of its rows is not explained, if there is one
    one_side: str = ""  # that none of its rows has flips, if so


def write(folder: Path, run: str, fragment: Fragment, packed: bytes) -> None:
    """Keep a finished chunk of a run; it is there as a whole or not at all."""
    head = json.dumps({"run": run, **fragment._asdict()}).encode()
    rest = head + b"\n" + zlib.compress(packed, 1)
    with replacing(_path(folder, fragment.number)) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(rest).hexdigest().encode() + b"\n")
        file.write(rest)


def find_finished(folder: Path, run: str, n_chunks: int) -> Iterator[Fragment]:
    """Chunks that are there; one that is damaged or of another run is taken away, so that it is made again."""
    for number in range(n_chunks):
        path = _path(folder, number)
        if not os.path.lexists(path):
            continue
        try:
            yield _read(path, run, number)[0]
        except InvalidFile:
            try:
                path.unlink()
            except OSError as error:
                raise InvalidFile(f"{path} is not a chunk of a run: remove it") from error


def read_contents(folder: Path, run: str, numbers: Iterable[int]) -> Iterator[bytes]:
    """What is in chunks."""
    for number in numbers:
        yield _read(_path(folder, number), run, number)[1]


def sweep(folder: Path) -> None:
    """Take away what killed workers left half written."""
    for path in folder.glob(f".*{SUFFIX}.*"):
        path.unlink(missing_ok=True)


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"


def _read(path: Path, run: str, number: int) -> tuple[Fragment, bytes]:
    """A chunk and its content, checked."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ValueError("it is not a plain file")
        checksum, _, rest = path.read_bytes().partition(b"\n")
        if checksum.decode() != hashlib.sha256(rest).hexdigest():
            raise ValueError("the checksum differs")
        line, _, content = rest.partition(b"\n")
        head = json.loads(line)
        if (head.pop("run"), head["number"]) != (run, number):
            raise ValueError("it is of another run")
        head["statuses"] = Counter({str(name): int(count) for name, count in head["statuses"].items()})
        return Fragment(**head), zlib.decompress(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        raise InvalidFile(f"the chunk {path} is damaged ({error}): run the same command again") from error
