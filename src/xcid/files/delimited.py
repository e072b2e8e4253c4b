"""Text tables, looked through before a library reads them: a line that is too short or too long is refused.

Libraries of data frames fill up short lines and shift long ones, or rename columns of the same name.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from xcid.errors import InvalidFile
from xcid.files import signatures
from xcid.space.tables import MOST_COLUMNS

ENCODING = "utf-8-sig"  # with or without the mark that some programs put in front
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # the same for all libraries
OTHERS = ",;\t|"
MOST_SHOWN = 60  # letters of a cell or a name in a message
MOST_SAID = 200  # of a foreign message
BLOCK = 2**20


def check(path: Path, separator: str) -> int:
    """Count the rows; refuse lines with different numbers of cells, and columns that are not well named."""
    signatures.check_text(path)
    _check_bytes(path)
    start = 1  # line where the present row begins
    try:
        with path.open(encoding=ENCODING, newline="") as file:
            lines = csv.reader(file, delimiter=separator, strict=True)
            names = next(lines, [])
            _check_names(path, names, separator)
            n_rows = 0
            start = lines.line_num + 1
            for cells in lines:
                if cells and len(cells) != len(names):
                    raise InvalidFile(
                        f"line {lines.line_num} of {path} has {len(cells)} cells, and the first line has {len(names)}: "
                        "mend that line (a cell with a separator in it needs quotes)"
                    )
                n_rows += bool(cells)
                start = lines.line_num + 1
    except csv.Error as error:
        raise InvalidFile(f"line {start} of {path} cannot be read as a text table: {_reason(error)}") from error
    except UnicodeDecodeError as error:
        line = _line_that_is_no_text(path)
        raise InvalidFile(f"line {line} of {path} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    if not n_rows:
        raise InvalidFile(f"{path} has a line of column names and no rows")
    return n_rows


def line_of(path: Path, separator: str, row: int) -> int:
    """Line where a row begins, counted from 1; rows are counted from 0 and blank lines are none."""
    with path.open(encoding=ENCODING, newline="") as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        start = 1
        for cells in lines:
            row -= bool(cells)
            if row < -1:
                break
            start = lines.line_num + 1
    return start


def check_width(path: Path, n_columns: int) -> None:
    """Refuse more columns than can be explained: the work grows with their square."""
    if n_columns > MOST_COLUMNS:
        raise InvalidFile(
            f"{path} has {n_columns:,} columns, and {MOST_COLUMNS:,} are the most that can be explained: choose some"
        )


def shown(names: Sequence[object], most: int = 8) -> str:
    """The first of a list that may be long, each of which may be long."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"[{', '.join(f'{name!r:.{MOST_SHOWN}}' for name in names[:most])}]{more}"


def short(error: Exception) -> str:
    """What a library says, which may hold a whole line of the table."""
    text = " ".join(str(error).split())
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def _check_bytes(path: Path) -> None:
    """Refuse NUL, which libraries cut cells at, drop or keep."""
    n_lines = n_bytes = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            at = block.find(b"\x00")
            if at >= 0:
                line = n_lines + block.count(b"\n", 0, at) + 1
                raise InvalidFile(f"line {line} of {path} has a NUL byte (byte {n_bytes + at}): take it out")
            n_lines, n_bytes = n_lines + block.count(b"\n"), n_bytes + len(block)


def _line_that_is_no_text(path: Path) -> int:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if "\ufffd" in line.decode(errors="replace"):
                return number
    return 1


def _check_names(path: Path, names: list[str], separator: str) -> None:
    if not names:
        raise InvalidFile(f"{path} is empty: a line of column names and some rows are needed")
    check_width(path, len(names))
    blank = [position for position, name in enumerate(names) if not name.strip()]
    if blank:
        raise InvalidFile(
            f"columns {shown(blank)} of {path} have no name: name them, or leave them out (pandas writes its index "
            "like that: to_csv(..., index=False))"
        )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InvalidFile(f"the columns {shown(repeated)} of {path} appear more than once: rename them")
    if len(names) == 1 and any(other in names[0] for other in OTHERS if other != separator):
        raise InvalidFile(f"{path} has one column, {names[0]!r:.{MOST_SHOWN}}: separate the cells by {separator!r}")


def _reason(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return "it begins a cell with a quote that never ends"
    return str(error)
