"""What is said of a file that is refused: what it really is, names, one cell and what a library says, cut short."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from xcid._check import MOST_SHOWN, differing, meant, shown
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
