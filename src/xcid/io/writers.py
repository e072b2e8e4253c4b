"""The one way out: tables packed to bytes, and files that appear under their names only when they are complete.

Columns are packed where they are made, and packed pieces joined to a file: packing is the slow part, which the workers
of a large run do; to join text is to copy bytes.

A name, a level or a label of a row may come from anywhere, and ``=HYPERLINK(...)`` in a CSV file would run when a
spreadsheet opens it. So such text is written with an apostrophe in front; numbers stay numbers, also those that begin
with a sign.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import importlib.util
import io
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile

Columns: TypeAlias = Mapping[str, Any]  # arrays of one length
LINES_OF_A_GROUP = 2**17  # of a Parquet file or a record batch: what one has to hold in memory to write it
LINES_OF_A_SHEET = 2**20
AS_THEY_ARE = {"constant_memory": True, **dict.fromkeys([f"strings_to_{kind}" for kind in ("formulas", "urls")], False)}
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
MARK = "'"
_NUMBER = re.compile(r"[-+]?(\d+(,\d{3})*(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class Format(NamedTuple):
    """How columns become bytes, and how packed pieces become a file."""

    pack: Callable[[Columns], bytes]
    join: Callable[[BinaryIO, Iterable[bytes]], None]


def _lines(columns: Columns, read: Callable[[Any], list[Any]]) -> Iterator[tuple[Any, ...]]:
    """The cells of each line."""
    return zip(*map(read, columns.values()), strict=True)


def _cells(part: Any) -> list[Any]:
    """The cells of a column; None for a number that is none."""
    cells: list[Any] = part.tolist()
    if part.dtype.kind in "iubU" or (part.dtype.kind == "f" and np.isfinite(part).all()):
        return cells
    return [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in cells]


def _defused_cells(part: Any) -> list[Any]:
    """The same cells as they may be written."""
    cells = _cells(part)
    if part.dtype.kind == "U":
        marked = {cell: defuse_cell(cell) for cell in set(cells)}
        return [marked[cell] for cell in cells]
    return cells if part.dtype.kind in "iubf" else list(map(defuse_cell, cells))


def _pack_csv(columns: Columns) -> bytes:
    """Lines for files that spreadsheets open: text that would be a formula is marked."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(map(defuse_cell, columns))
    lines.writerows(_lines(columns, _defused_cells))
    return text.getvalue().encode()


def _join_csv(file: BinaryIO, packed: Iterable[bytes]) -> None:
    for number, part in enumerate(packed):
        file.write(part[part.index(b"\n") + 1 :] if number else part)  # the names once


def pack_json(columns: Columns, more: dict[str, Any] | None = None) -> bytes:
    """One object a line, in strict JSON; the first has what there is to say of all of them besides."""
    lines = zip(_lines(columns, _cells), chain([more or {}], repeat({})), strict=False)
    objects = (dict(zip(columns, line, strict=True)) | added for line, added in lines)
    return "".join(f"{json.dumps(one, ensure_ascii=False, allow_nan=False)}\n" for one in objects).encode()


def array(packed: Iterable[bytes]) -> Iterator[bytes]:
    """One list of the objects of all lines."""
    for number, part in enumerate(packed):
        yield (b",\n" if number else b"[\n") + part.rstrip(b"\n").replace(b"\n", b",\n")
    yield b"\n]\n"


def _pack_arrow(columns: Columns) -> bytes:
    cells, sink = {name: part.tolist() for name, part in columns.items()}, io.BytesIO()
    if importlib.util.find_spec("pyarrow") is not None:
        table = require("pyarrow", extra="pyarrow").table(cells)
        with require("pyarrow.ipc", extra="pyarrow").new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    else:
        require("polars", extra="pyarrow").DataFrame(cells).write_ipc_stream(sink)
    return sink.getvalue()


def _join_arrow(module: str, writer: str, by_polars: str, file: BinaryIO, packed: Iterable[bytes]) -> None:
    """Let a writer of a module of pyarrow write groups of lines, or else a method of polars all at once."""
    if importlib.util.find_spec("pyarrow") is None:
        polars = require("polars", extra="pyarrow")
        getattr(polars.concat([polars.read_ipc_stream(part) for part in packed]), by_polars)(file)
        return
    groups = _groups(packed)
    first = next(groups)
    with getattr(require(module, extra="pyarrow"), writer)(file, first.schema) as out:
        out.write_table(first)
        for group in groups:
            out.write_table(group.cast(first.schema))


def _groups(packed: Iterable[bytes]) -> Iterator[Any]:
    """Tables of many pieces each: a file of very small groups is slow to read."""
    arrow = require("pyarrow", extra="pyarrow")
    waiting: list[Any] = []
    for part in packed:
        waiting.append(arrow.ipc.open_stream(part).read_all())
        if sum(map(len, waiting)) >= LINES_OF_A_GROUP:
            yield arrow.concat_tables(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield arrow.concat_tables(waiting).combine_chunks()


def _join_excel(file: BinaryIO, packed: Iterable[bytes]) -> None:
    """One sheet of objects in JSON, line after line; text stays text there, whatever it begins with."""
    workbook = require("xlsxwriter", extra="excel").Workbook(file, AS_THEY_ARE)
    with contextlib.closing(workbook):
        workbook.set_properties({"created": datetime.datetime(1980, 1, 1)})  # the same results are the same bytes
        sheet = workbook.add_worksheet("xcid")
        sheet.freeze_panes(1, 1)
        lines = (json.loads(line) for part in packed for line in part.splitlines())
        for number, line in enumerate(lines, start=1):
            if number == 1:
                sheet.write_row(0, 0, [*line])
            if number == LINES_OF_A_SHEET:
                raise InvalidFile(
                    f"a sheet holds {LINES_OF_A_SHEET - 1:,} lines and their names: write .csv or .parquet"
                )
            sheet.write_row(number, 0, line.values())


def defuse_cell(cell: Any) -> Any:
    """Give a cell as it may be written; whatever is not text is left alone.

    Examples
    --------
    >>> [defuse_cell(cell) for cell in ("=1+1", "-1.5", "age", -1.5)]
    ["'=1+1", '-1.5', 'age', -1.5]
    """
    return f"{MARK}{cell}" if isinstance(cell, str) and _is_formula(cell) else cell


def original(cell: str) -> str:
    """Give what :func:`defuse_cell` was given.

    Examples
    --------
    >>> original("'=1+1"), original("'tis"), original("-1.5")
    ('=1+1', "'tis", '-1.5')
    """
    return cell[len(MARK) :] if cell.startswith(MARK) and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    """Marks in front count as part of it: then every text has its own written form."""
    return text.lstrip(MARK).startswith(STARTS) and not _NUMBER.fullmatch(text)


_feather = Format(_pack_arrow, partial(_join_arrow, "pyarrow.ipc", "new_file", "write_ipc"))
FORMATS = {
    ".csv": Format(_pack_csv, _join_csv),
    ".parquet": Format(_pack_arrow, partial(_join_arrow, "pyarrow.parquet", "ParquetWriter", "write_parquet")),
    ".feather": _feather,
    ".arrow": _feather,
    ".json": Format(pack_json, lambda file, packed: file.writelines(array(packed))),
    ".jsonl": Format(pack_json, lambda file, packed: file.writelines(packed)),
    ".xlsx": Format(pack_json, _join_excel),
}


@contextlib.contextmanager
def replacing(target: Path, token: str | None = None) -> Iterator[Path]:
    """Lend a temporary name beside the target; what was there before stays until all went well.

    A token is part of that name: one that is the same each time lets the next try take away what a killed one left.
    Whatever has that name is never written to: it may be a link to something else.
    """
    target = target.absolute()  # a model may change the working directory meanwhile
    temporary = target.with_name(f".{target.name}.{token or secrets.token_hex(4)}")
    try:
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        _keep_name(target.parent)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = error.strerror or error
        raise InvalidFile(f"{target} cannot be written: {reason}; check the folder and its free space") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """Let the new name survive a power cut; some systems cannot open a folder, and then it may not."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def folder(path: Path) -> Path:
    """Make a folder for results, where there is none."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"the folder {path} cannot be made: {error.strerror}") from error
    return path


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
