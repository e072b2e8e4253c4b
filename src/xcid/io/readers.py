"""The one way in: a file is looked through by the reader of its kind, and every error names it.

The reference data are read at once, since all rows are explained against them, and are the measure of other tables.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid._check import MOST_NAMES, MOST_SHOWN, meant, shown
from xcid._require import require
from xcid.errors import InvalidData, InvalidFile
from xcid.io import cells, dates, delimited, objects, packed, sheets, tables
from xcid.io.dates import Writing
from xcid.io.sources import Layout, Roles, Source, hold_frame
from xcid.io.tables import FEATHER, PARQUET, check_packed, naming
from xcid.table import FeatureSpace

NO_ROLES = Roles()
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def open_source(path: Path) -> Source:
    """Look through a file; what kind it is, its extension says."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InvalidFile(f"{path} is packed text, which is not read: unpack it first")
    if suffix not in OPENERS:
        raise InvalidFile(f"{path} is not a table that can be read: the extensions are {', '.join(OPENERS)}")
    with naming(path):
        tables.plain(path, "not a table that can be read")
        source = OPENERS[suffix](path)
        if not source.n_rows or not source.names:
            raise InvalidFile(f"{path} is empty: it has {source.n_rows} rows and {len(source.names)} columns")
        tables.check_names(path, source.names)
    return source


def read_all(source: Source, drop: Sequence[str] = ()) -> Any:
    """Read all rows into a data frame; refuse cells that no model could take."""
    with naming(source.path):
        frame = tables.without(source.joined(), *drop)
        cells.check(source, frame)
    return frame


def read(path: Path) -> Any:
    """Open a file and read all rows into a data frame."""
    return read_all(open_source(path))


def read_with_dates(source: Source, known: Mapping[str, Writing]) -> Any:
    """All rows, with dates in every column of text that holds some; where the file leaves a choice, as is known."""
    writings = {name: next(iter(found)) for name, found in source.dates.items() if len(found) == 1}
    writings |= {name: writing for name, writing in known.items() if writing in source.dates.get(name, ())}
    return dates.convert_dates(read_all(source), writings)


def _open_packed(
    kind: str, mark: bytes, by_pyarrow: Callable[[Path], Source], by_polars: str
) -> Callable[[Path], Source]:
    """Open by pyarrow, which reads pieces, or else by a function of polars, once its schema is looked through."""

    def open_packed(path: Path) -> Source:
        check_packed(path, mark, kind)
        if importlib.util.find_spec("pyarrow") is not None:
            return by_pyarrow(path)
        polars = require("polars", extra="pyarrow")
        lazy = getattr(polars, f"scan_{by_polars}")(path)
        names = lazy.collect_schema().names()
        tables.check_width(path, len(names))
        tables.check_cells(path, lazy.select(polars.len()).collect().item(), len(names))
        cells.check_types(path, polars.DataFrame(schema=lazy.collect_schema()))
        return hold_frame(path, getattr(polars, f"read_{by_polars}")(path))

    return open_packed


_feather = _open_packed("Feather", FEATHER, packed.open_feather, "ipc")
OPENERS: dict[str, Callable[[Path], Source]] = {
    ".csv": delimited.open_source,
    ".tsv": delimited.open_source,
    ".parquet": _open_packed("Parquet", PARQUET, packed.open_parquet, "parquet"),
    ".feather": _feather,
    ".arrow": _feather,
    ".jsonl": objects.of_lines,
    ".ndjson": objects.of_lines,
    ".json": objects.of_list,
    ".xlsx": sheets.open_sheet,
}


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Usual rows, read and checked, with all that rows to explain are held to."""

    source: Source
    table: Any  # a data frame, with the target where there is one
    features: Any  # the same without the target
    weights: Any  # (N,) of the rows, where a column has them
    space: FeatureSpace
    layout: Layout  # what rows to explain must be
    positions: Sequence[int]  # of the rows in the file
    notes: tuple[str, ...] = ()  # what a user should know of how it was read

    @classmethod
    def read(cls, path: Path, roles: Roles = NO_ROLES) -> Background:
        """Read reference data for a model that there is: it wants every column, and gets text as text."""
        source = open_source(path)
        _check_roles(source, roles)
        frame = read_all(source, roles.drop)
        for name in _empty(frame, roles):
            raise InvalidData(
                f"column {name!r} of {path} is missing in all {source.n_rows} rows: give reference data with some "
                f"values there; if the model does not use it, --drop {name}"
            )
        return cls._of(source, frame, roles, range(source.n_rows), tuple(_text_notes(source, frame, roles)))

    @classmethod
    def to_train(cls, path: Path, roles: Roles) -> Background:
        """Read reference data for a model that is trained on them: text that holds dates becomes dates.

        Rows without a target and columns without a value are left out; the notes say so.
        """
        source = open_source(path)
        _check_roles(source, roles)
        frame = read_all(source, roles.drop)
        is_known = ~tables.missing(tables.column_of(frame, str(roles.target)))
        kept, notes = np.flatnonzero(is_known).tolist(), list[str]()
        if not kept:
            raise InvalidData(f"no row of {path} has a target {roles.target!r}: name a column with values by --target")
        if len(kept) < source.n_rows:
            n_left, frame = source.n_rows - len(kept), tables.part(frame, kept)
            notes.append(
                f"{n_left:,} of {source.n_rows:,} rows have no target {roles.target!r}, and the model does not learn "
                f"from them; the first is {source.place(int(is_known.argmin()))}"
            )
        empty = tuple(_empty(frame, roles))
        if empty:
            notes.append(f"columns without any value are left out: {_list_names(empty)}")
        known = (*roles.left_out, *empty)
        found = tuple(name for name, some in source.dates.items() if len(some) == 1 and name not in known)
        if found:
            notes.append(f"columns with dates are read as dates: {_list_names(found)}")
        unasked = tuple(name for name in found if name not in roles.dates)
        wanted = roles._replace(drop=(*roles.drop, *empty), found=unasked)
        notes += _text_notes(source, frame, wanted)
        return cls._of(source, tables.without(frame, *empty), wanted, kept, notes)

    @classmethod
    def _of(
        cls, source: Source, frame: Any, roles: Roles, positions: Sequence[int], notes: Sequence[str]
    ) -> Background:
        """Refuse a table that nothing can be learnt from; a column that names rows is no feature."""
        path, writings = source.path, _writings(source, frame, roles)
        table, found = tables.split_weights(
            tables.without(dates.convert_dates(frame, writings), roles.id), roles.weights
        )
        if tables.names(table) == (roles.target,):
            raise InvalidData(
                f"no feature is left in {path}: a column is needed beside the target {roles.target!r} that has values "
                "and is not dropped"
            )
        cells.check_marks(source, cells.find_numbers(table), source.commas)
        features = tables.without(table, roles.target)
        if len(positions) < 2:
            raise InvalidData(f"{path} has 1 row: reference data need at least 2 rows, preferably a few hundred")
        with naming(path):
            space = FeatureSpace.of(features, weights=found)
        layout = Layout.of(features, space, roles, writings)
        for (name, rule), values in zip(layout.columns.items(), space.background.T, strict=True):
            if rule.kind in ("number", "whole number"):
                cells.note_rounded(path, name, values)
        return cls(source, table, features, found, space, layout, positions, (*note_writing(source), *notes))

    def opened(self, path: Path | None) -> Source:
        """Open a table of rows to explain, by default the reference data themselves, with all rows of its file."""
        if path is None and self.layout.roles.id is None and len(self.positions) == self.source.n_rows:
            return hold_frame(self.source.path, self.features, self.source.line)
        source = self.source if path is None else open_source(path)
        self.layout.check_names(source.path, source.names)
        numbers = [name for name, rule in self.layout.columns.items() if rule.kind in ("number", "whole number")]
        cells.check_marks(source, numbers, self.source.commas | source.commas)
        return source

    @property
    def writings(self) -> dict[str, Writing]:
        """How dates are written, by column, where the file is text."""
        return {name: rule.writing for name, rule in self.layout.columns.items() if rule.writing is not None}

    def like(self, path: Path) -> Any:
        """All rows of another table as a data frame, with its target, and with dates where these data have them."""
        source = open_source(path)
        frame = tables.without(
            read_all(source, self.layout.roles.drop), self.layout.roles.id, self.layout.roles.weights
        )
        cells.check_marks(source, cells.find_numbers(frame), self.source.commas | source.commas)
        asked = tuple(name for name in self.writings if name in tables.names(frame))
        writings = _writings(source, frame, Roles(dates=asked), self.writings)
        return dates.convert_dates(frame, writings)


def note_writing(source: Source) -> Iterator[str]:
    """Notes where text was read in Windows' own letters, and numbers with decimal commas."""
    if source.encoding == tables.WINDOWS:
        yield f"{source.path.name} is not UTF-8, and is read in the letters of Windows ({tables.WINDOWS})"
    if source.commas:
        yield f"{source.path.name} has decimal commas, read as such in the columns {_list_names(sorted(source.commas))}"


def of_dates(source: Source, layout: Layout) -> Iterator[str]:
    """Notes where a file has day and month the other way round than the reference data, or leaves that open."""
    for name, rule in layout.columns.items():
        found = source.dates.get(name, frozenset())
        if rule.writing and (other := dates.find_swapped(found, rule.writing)):
            yield (
                f"dates of column {name!r} are read as {other} in {source.path.name}, and as {rule.writing} in the "
                f"reference data: if that is not so, write both as {dates.ISO}"
            )
        elif rule.day_first and len(found) > 1 and rule.choose_writing(found) != rule.writing:
            yield _note_day_first(name, found)


def _note_day_first(name: str, found: frozenset[Writing]) -> str:
    taken = f"dates of column {name!r} are read with the day first: {dates.day_first(found)}"
    return f"{taken}; if the month is first, write them as {dates.ISO}"


def _list_names(names: Sequence[str]) -> str:
    """Names in a note, which is for a person: without the signs of a Python list."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(f'{name:.{MOST_SHOWN}}' for name in names[:MOST_NAMES])}{more}"


def _check_roles(source: Source, roles: Roles) -> None:
    """Refuse names of columns that the reference data do not have."""
    for what, names in (("target column", [roles.target]), ("column", roles.drop), ("column", roles.dates)):
        for name in names:
            if name is not None and name not in source.names:
                asked = f"{what} {name!r}{meant(name, source.names)}"
                raise InvalidData(f"there is no {asked}; the columns are {shown(source.names)} in {source.path}")


def _empty(frame: Any, roles: Roles) -> list[str]:
    """Names of features without any cell."""
    narwhal = nw.from_native(frame, eager_only=True)
    features = [name for name in narwhal.columns if name not in roles.left_out]
    return [name for name in features if tables.missing(narwhal.get_column(name)).all()]


def _text_notes(source: Source, frame: Any, roles: Roles) -> Iterator[str]:
    """Say which columns hold dates and are read as text, or with the day first because they were asked for."""
    narwhal = nw.from_native(frame, eager_only=True)
    for name, found in source.dates.items():
        is_clear = len(found) == 1
        if name in roles.dates and not is_clear:
            yield _note_day_first(name, found)
        elif name not in (*roles.all_dates, *roles.left_out):
            why = "as a model file may expect" if is_clear else "since its day and its month cannot be told apart"
            levels = f"{narwhal.get_column(name).drop_nulls().n_unique():,} levels"
            yield f"column {name!r} holds dates and is read as text with {levels}, {why}: --dates {name} reads dates"


def _writings(
    source: Source, frame: Any, roles: Roles, usual: Mapping[str, Writing] | None = None
) -> dict[str, Writing]:
    """How columns of text that are to be dates are written; refuse a cell that is no date."""
    narwhal, made = nw.from_native(frame, eager_only=True), dict[str, Writing]()
    for name in (name for name in roles.all_dates if name not in roles.left_out):
        column = narwhal.get_column(name)
        if isinstance(column.dtype, nw.Date | nw.Datetime):
            continue
        cells = [
            None if hole else cell for hole, cell in zip(column.is_null().to_list(), column.to_list(), strict=True)
        ]
        texts = [cell for cell in cells if isinstance(cell, str)]
        found = dates.find_shared_writings(texts)
        made[name] = dates.choose_writing(found, (usual or {}).get(name, dates.day_first(found)))
        for row, cell in enumerate(cells):
            if cell is not None and (not isinstance(cell, str) or made[name] not in dates.readings(cell)):
                raise InvalidData(
                    f"{source.path} holds {cell!r:.{MOST_SHOWN}} in {source.place(row)}, column {name!r}, which is no "
                    f"date like the others: write all of them as {dates.ISO}"
                )
    return made
