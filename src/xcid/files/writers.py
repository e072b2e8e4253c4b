"""Tables into files, piece by piece: a writer gets columns by name as often as there are pieces."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.files.atomic import replacing
from xcid.files.formulas import defused
from xcid.files.lines import Columns, harmless, json_lines

Write: TypeAlias = Callable[[Columns], None]


def check(path: Path, *inputs: Path | None, extensions: Iterable[str] = ()) -> None:
    """Refuse an extension that is not known, a folder that is not there, and a file that is read from."""
    known = tuple(extensions) or tuple(WRITERS)
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
    """Write a table; the file appears under its name only when it is complete."""
    with replacing(path) as temporary, WRITERS[path.suffix.lower()](temporary) as write:
        yield write


@contextlib.contextmanager
def json_array(file: TextIO) -> Iterator[Write]:
    """Write a list of objects, one a line."""
    started = False

    def write(columns: Columns) -> None:
        nonlocal started
        for line in json_lines(columns):
            file.write(f"{',' if started else '['}\n{line}")
            started = True

    yield write
    file.write("\n]\n" if started else "[]\n")


@contextlib.contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        has_names = False

        def write(columns: Columns) -> None:
            nonlocal has_names
            if not has_names:
                lines.writerow(map(defused, columns))
                has_names = True
            lines.writerows(harmless(columns))

        yield write


@contextlib.contextmanager
def _json(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file, json_array(file) as write:
        yield write


@contextlib.contextmanager
def _jsonl(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda columns: file.writelines(f"{line}\n" for line in json_lines(columns))


def _arrow(open_file: Callable[[Path, Any], Any], at_once: str) -> Callable[[Path], Any]:
    """A writer by pyarrow, piece by piece; by a method of polars at the end where pyarrow is not installed."""

    @contextlib.contextmanager
    def writing(path: Path) -> Iterator[Write]:
        if importlib.util.find_spec("pyarrow") is None:
            with _at_once(path, at_once) as write:
                yield write
            return
        arrow = require("pyarrow", extra="pyarrow")
        with contextlib.ExitStack() as stack:
            opened: list[Any] = []
            schemas: list[Any] = []

            def write(columns: Columns) -> None:
                table = arrow.table({name: arrow.array(part.tolist()) for name, part in columns.items()})
                if not opened:
                    schemas.append(table.schema)
                    opened.append(stack.enter_context(open_file(path, table.schema)))
                opened[0].write_table(table.cast(schemas[0]))

            yield write

    return writing


def _parquet_file(path: Path, schema: Any) -> Any:
    return require("pyarrow.parquet", extra="pyarrow").ParquetWriter(path, schema)


def _feather_file(path: Path, schema: Any) -> Any:
    return require("pyarrow", extra="pyarrow").ipc.new_file(path, schema)


@contextlib.contextmanager
def _at_once(path: Path, method: str) -> Iterator[Write]:
    """By polars, which has no writer for pieces."""
    polars = require("polars", extra="pyarrow")
    pieces: list[Any] = []
    yield lambda columns: pieces.append(polars.DataFrame({name: part.tolist() for name, part in columns.items()}))
    getattr(polars.concat(pieces), method)(path)


_feather = _arrow(_feather_file, "write_ipc")


WRITERS: dict[str, Callable[[Path], contextlib.AbstractContextManager[Write]]] = {
    ".csv": _csv,
    ".parquet": _arrow(_parquet_file, "write_parquet"),
    ".feather": _feather,
    ".arrow": _feather,
    ".json": _json,
    ".jsonl": _jsonl,
}
