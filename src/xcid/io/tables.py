"""Tables and their files: what a file is, how large it gets, data frames of whichever library, names of columns.

A few hundred bytes can unpack to gigabytes, and are refused before they do.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import narwhals.stable.v2 as nw

from xcid._check import meant, shown
from xcid._require import require
from xcid.errors import InvalidData, InvalidFile, XcidError
from xcid.records import Flags
from xcid.table import Backend
from xcid.table.tables import MOST_COLUMNS, read, time_zone

LIBRARIES: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
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
SMALL = 2**27  # bytes that are always allowed: 16 million cells of one value, which take up to 1.6 GB to learn from
TIMES = 100  # the packed size, beyond that; tables and models rarely exceed 20
CELL = 8  # bytes that a cell takes in memory, whatever it is packed to
BLOCK = 2**20
ENCODING = "utf-8-sig"  # with or without the mark that some programs put in front
WINDOWS = "cp1252"
_IN_UTF_8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
MOST_DEPTH = 3  # archives within archives: skops has sparse matrices in them


def library() -> Backend:
    """The first library of data frames that is installed."""
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    require("pandas", extra="pandas")  # says how to get it
    return "pandas"


def names(frame: Any) -> tuple[str, ...]:
    """Names of the columns."""
    return tuple(map(str, nw.from_native(frame, eager_only=True).columns))


def find_zoned(frame: Any) -> frozenset[str]:
    """Names of the columns whose times have a time zone."""
    narwhal = nw.from_native(frame, eager_only=True)
    return frozenset(name for name in narwhal.columns if time_zone(narwhal.get_column(name)))


def in_utc(frame: Any, names: Sequence[str]) -> Any:
    """The frame, with the zone that the times of some columns are in and do not say."""
    narwhal = nw.from_native(frame, eager_only=True)
    return narwhal.with_columns(*(nw.col(name).dt.replace_time_zone("UTC") for name in names)).to_native()


def size(frame: Any) -> int:
    """Number of rows."""
    return len(nw.from_native(frame, eager_only=True))


def part(frame: Any, positions: Sequence[int]) -> Any:
    """Some rows of a frame."""
    return nw.from_native(frame, eager_only=True)[list(positions)].to_native()


def columns(frame: Any, what: object) -> dict[str, Any]:
    """Cells by column: numbers and dates as arrays of such, all else as objects."""
    found = read(frame, str(what), None)
    return dict(zip(found.names, found.cells, strict=True))


def without(frame: Any, *left_out: str | None) -> Any:
    """The frame without some columns, where it has them; something must be left."""
    narwhal = nw.from_native(frame, eager_only=True)
    found = [name for name in narwhal.columns if name in left_out]
    if not found:
        return frame
    if len(found) == len(narwhal.columns):
        raise InvalidData(f"no feature is left: the columns are {shown(found)}, and all are left out")
    return narwhal.drop(found).to_native()


def split_weights(frame: Any, weights: str | None) -> tuple[Any, Any]:
    """The frame without the column of its weights, and these; None where no column has them."""
    if weights is None:
        return frame, None
    return without(frame, weights), column_of(frame, weights, "weights").to_numpy()


def column_of(frame: Any, name: str, what: str = "target") -> nw.Series[Any]:
    """One column, which must be there."""
    narwhal = nw.from_native(frame, eager_only=True)
    if name not in narwhal.columns:
        column, others = f"{what} column" if what else "column", narwhal.columns
        raise InvalidData(f"there is no {column} {name!r}{meant(name, others)}; the columns are {shown(others)}")
    found: nw.Series[Any] = narwhal.get_column(name)
    return found


def missing(column: nw.Series[Any]) -> Flags:
    """(n,) which cells are missing."""
    holes = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return holes.to_numpy().astype(bool)


def check_known(frame: Any, known: Any) -> None:
    """Refuse columns that the model was not fitted on, where it knows: one of them may be the target."""
    extra = [name for name in nw.from_native(frame, eager_only=True).columns if known is not None and name not in known]
    if extra:
        raise InvalidData(
            f"the reference data have the columns {shown(extra)}, which the model was not fitted on: name the target, "
            f"such as --target {extra[0]}, and leave others out by --drop"
        )


def check_names(path: Path, found: Sequence[str]) -> None:
    """Refuse columns without a name or with the same one, and more of them than can be explained."""
    check_width(path, len(found))
    blank = [position for position, name in enumerate(found) if not str(name).strip()]
    if blank:
        raise InvalidFile(
            f"columns {shown(blank)} of {path} have no name: name them, or leave them out (pandas writes its index "
            "like that: to_csv(..., index=False))"
        )
    twice = find_repeated(found)
    if twice:
        raise InvalidFile(f"the columns {shown(twice)} of {path} appear more than once: rename them")


def check_width(path: Path, n_columns: int) -> None:
    """Refuse more columns than can be explained: the work grows with their square."""
    if n_columns > MOST_COLUMNS:
        raise InvalidFile(
            f"{path} has {n_columns:,} columns, and {MOST_COLUMNS:,} are the most that can be explained: choose some"
        )


def check_text(path: Path) -> None:
    """Refuse a file that is known to hold something else than text."""
    if found := _name_kind(_start(path)):
        raise InvalidFile(f"{path} is {found}")


def check_packed(path: Path, mark: bytes, kind: str) -> None:
    """Refuse a file that does not begin and end as its kind does."""
    start = _start(path)
    if not start.startswith(mark):
        raise InvalidFile(f"{path} is not a {kind} file{f': it is {found}' if (found := _name_kind(start)) else ''}")
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(mark)))
        if path.stat().st_size < 2 * len(mark) or file.read() != mark:
            raise InvalidFile(f"{path} is a {kind} file that is cut off or damaged: its end is missing; copy it again")


def find_encoding(path: Path) -> str:
    """UTF-8, or what Windows writes in the west: where bytes are no UTF-8, none of them is, and all are letters there.

    A file with both is UTF-8 that was damaged, and is read as such to say where.
    """
    is_utf_8, rest = True, b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            odd = rest + block
            rest = b"" if block.isascii() else odd[-3:]  # a letter may go on in the next block
            if odd.isascii():
                continue
            if _IN_UTF_8.search(odd) or not _can_be_windows(block):
                return ENCODING
            is_utf_8 = False
    return ENCODING if is_utf_8 else WINDOWS


def _can_be_windows(block: bytes) -> bool:
    try:
        return "\x00" not in block.decode(WINDOWS)
    except UnicodeDecodeError:
        return False


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(max(map(len, KNOWN)))


def _name_kind(start: bytes) -> str:
    return next((f"{kind}: {advice}" for mark, (kind, advice) in KNOWN.items() if start.startswith(mark)), "")


def short(error: Exception) -> str:
    """What a library says, which may hold a whole line of the table."""
    text = " ".join(str(error).split())
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def find_repeated(names: Sequence[str]) -> list[str]:
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
