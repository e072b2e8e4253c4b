"""What a file is, how large it gets, and what is said of one that is refused.

A few hundred bytes can unpack to gigabytes, and are refused before they do.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from xcid._check import meant, shown
from xcid.errors import InvalidFile, XcidError

PARQUET, FEATHER = b"PAR1", b"ARROW1"
UNPACK = "unpack it first: packed text is not read"
KNOWN = {
    PARQUET: ("a Parquet file", "name it .parquet"),
    FEATHER: ("a Feather file", "name it .feather"),
    b"\x1f\x8b": ("a gzip archive", UNPACK),
    b"BZh": ("a bzip2 archive", UNPACK),
    b"\xfd7zXZ\x00": ("an xz archive", UNPACK),
    b"\x28\xb5\x2f\xfd": ("a Zstandard archive", UNPACK),
    b"PK\x03\x04": ("a ZIP archive or an Excel file", "save the table as CSV or Parquet"),
    b"\xd0\xcf\x11\xe0": ("an old Excel file", "save the table as CSV or Parquet"),
    b"\xff\xfe": ("text in UTF-16 and not in UTF-8", "save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16 and not in UTF-8", "save it as UTF-8"),
    b"\x00\x00\xfe\xff": ("text in UTF-32 and not in UTF-8", "save it as UTF-8"),
    b"SQLite format 3\x00": ("an SQLite database", "save the table as CSV or Parquet"),
    b"%PDF": ("a PDF document", "save the table as CSV or Parquet"),
}
MOST_SAID = 200  # of a foreign message


def check_text(path: Path) -> None:
    """Refuse a file that is known to hold something else than text."""
    if found := _named(_start(path)):
        raise InvalidFile(f"{path} is {found}")


def check_packed(path: Path, mark: bytes, kind: str) -> None:
    """Refuse a file that does not begin and end as its kind does."""
    start = _start(path)
    if not start.startswith(mark):
        raise InvalidFile(f"{path} is not a {kind} file{f': it is {found}' if (found := _named(start)) else ''}")
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(mark)))
        if path.stat().st_size < 2 * len(mark) or file.read() != mark:
            raise InvalidFile(f"{path} is a {kind} file that is cut off or damaged: its end is missing; copy it again")


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(max(map(len, KNOWN)))


def _named(start: bytes) -> str:
    return next((f"{kind}: {advice}" for mark, (kind, advice) in KNOWN.items() if start.startswith(mark)), "")


def short(error: Exception) -> str:
    """What a library says, which may hold a whole line of the table."""
    text = " ".join(str(error).split())
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def repeated(names: Sequence[str]) -> list[str]:
    """Names that appear more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


@contextlib.contextmanager
def naming(path: object) -> Iterator[None]:
    """Every library fails in its own way: say which file, or which part of one, it was."""
    try:
        yield
    except (XcidError, MemoryError) as error:
        if type(error).__name__ != "ArrowMemoryError":  # pyarrow believed what a file says of its size
            raise
        raise InvalidFile(f"{path} cannot be read: it asks for more memory than there is ({short(error)})") from error
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or short(error)}") from error
    except Exception as error:
        raise InvalidFile(f"{path} cannot be read: {type(error).__name__}: {short(error)}") from error


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


def check_size(name: object, packed: int, unpacked: int, advice: str = "write it less compressed") -> None:
    """Refuse a file that gets too large."""
    if unpacked > max(SMALL, TIMES * packed):
        raise InvalidFile(f"{name} unpacks from {packed:,} to {unpacked:,} bytes: refused, {advice}")


def check_cells(path: Path, n_rows: int, n_columns: int, n_bytes: int = 0) -> None:
    """Refuse a table of too many cells or bytes: some kinds of columns pack any number of cells into nothing."""
    check_size(path, path.stat().st_size, max(n_bytes, CELL * n_rows * n_columns))


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
