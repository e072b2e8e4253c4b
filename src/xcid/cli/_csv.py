"""Text tables, looked through before a library reads them: a line that is too short or too long is refused.

Libraries of data frames fill up short lines and shift long ones, or rename columns of the same name.
"""

from __future__ import annotations

import csv
from pathlib import Path

from xcid.errors import InvalidFile

ENCODING = "utf-8-sig"  # with or without the mark that some programs put in front
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # the same for all libraries


def check(path: Path, separator: str) -> int:
    """Count the rows; refuse lines with different numbers of cells, and columns that are not well named."""
    try:
        with path.open(encoding=ENCODING, newline="") as file:
            lines = csv.reader(file, delimiter=separator, strict=True)
            names = next(lines, [])
            _check_names(path, names, separator)
            n_rows = 0
            for cells in lines:
                if cells and len(cells) != len(names):
                    raise InvalidFile(
                        f"line {lines.line_num} of {path} has {len(cells)} cells, and the first line has {len(names)}: "
                        "mend that line (a cell with a separator in it needs quotes)"
                    )
                n_rows += bool(cells)
    except csv.Error as error:
        raise InvalidFile(f"{path} cannot be read as a text table: {error} (line {lines.line_num})") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): convert it") from error
    if not n_rows:
        raise InvalidFile(f"{path} has a line of column names and no rows")
    return n_rows


def _check_names(path: Path, names: list[str], separator: str) -> None:
    if not names:
        raise InvalidFile(f"{path} is empty: a line of column names and some rows are needed")
    blank = [position for position, name in enumerate(names) if not name.strip()]
    if blank:
        raise InvalidFile(
            f"columns {blank} of {path} have no name: name them, or leave them out (pandas writes its index like that: "
            "to_csv(..., index=False))"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidFile(f"the columns {repeated} of {path} appear more than once: rename them")
    if len(names) == 1 and any(other in names[0] for other in ";\t" if other != separator):
        raise InvalidFile(f"{path} has one column, {names[0]!r}: separate the cells by {separator!r}")
