"""How large a packed file gets: a few hundred bytes can unpack to gigabytes, and are refused before they do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import IO

from xcid.errors import InvalidFile
from xcid.io.messages import meant, shown

SMALL = 2**27  # bytes that are always allowed: 16 million cells of one value, which take up to 1.6 GB to learn from
TIMES = 100  # the packed size, beyond that; tables and models rarely exceed 20
CELL = 8  # bytes that a cell takes in memory, whatever it is packed to
MOST_DEPTH = 3  # archives within archives: skops has sparse matrices in them


def plain(path: Path, what: str) -> int:
    """Bytes of a file; refuse what is none, since devices and pipes have no end, and say what it is not."""
    if not path.exists():
        raise InvalidFile(absent(path))
    if not path.is_file() or not path.stat().st_size:
        raise InvalidFile(f"{path} is {what}: it is {'empty' if path.is_file() else 'not a plain file'}")
    return path.stat().st_size


def absent(path: Path) -> str:
    """Say that a file is not there, and which others are."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"{path} cannot be found: there is no folder {folder}"
    try:
        others = sorted(one.name for one in folder.iterdir() if one.suffix.lower() == path.suffix.lower())
    except OSError:
        others = []
    close = meant(path.name, others)
    kind = f"{path.suffix} files" if path.suffix else "files without an extension"
    there = f"; the {kind} there are {shown(others)}" if others else f"; there are no {kind} there"
    return f"{path.name} cannot be found in {folder}{close or there}: check the name and the folder"


def check(name: object, packed: int, unpacked: int, advice: str = "write it less compressed") -> None:
    """Refuse a file that gets too large."""
    if unpacked > max(SMALL, TIMES * packed):
        raise InvalidFile(f"{name} unpacks from {packed:,} to {unpacked:,} bytes: refused, {advice}")


def check_cells(path: Path, n_rows: int, n_columns: int, n_bytes: int = 0) -> None:
    """Refuse a table of too many cells or bytes: some kinds of columns pack any number of cells into nothing."""
    check(path, path.stat().st_size, max(n_bytes, CELL * n_rows * n_columns))


def in_zip(file: IO[bytes], depth: int = 0) -> int:
    """Bytes of all entries; ``zipfile`` gives no more of an entry than the archive says it has.

    An entry that is an archive itself counts with what is in it.
    """
    total = 0
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            total += entry.file_size
            with archive.open(entry) as content:
                is_archive = depth < MOST_DEPTH and content.read(4) == b"PK\x03\x04"
            if is_archive and entry.file_size <= 2 * entry.compress_size + 2**20:  # else it is too large as it is
                with archive.open(entry) as content:
                    total += in_zip(io.BytesIO(content.read()), depth + 1)
    return total
