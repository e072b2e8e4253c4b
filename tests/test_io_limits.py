"""Limits to the last cell and what is said, in places of the code that reads tables where tests missed a change."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from xcid.errors import InvalidData, InvalidFile
from xcid.io import objects, packed, readers, sheets, sources, tables
from xcid.io.readers import Background

SECURITY = Path(__file__).parents[1] / "SECURITY.md"


@pytest.fixture
def room(monkeypatch):
    """Allow so many bytes, however little a file is packed."""

    def allow(n_bytes):
        monkeypatch.setattr(tables, "SMALL", n_bytes)
        monkeypatch.setattr(tables, "TIMES", 0)

    return allow


@pytest.mark.parametrize("lacks", [0, 1])
def test_lists_count_to_the_last_cell(room, tmp_path, lacks):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": 2}\n' * 3)
    room(objects.CELL * 2 * 3 - lacks)
    if lacks:
        with pytest.raises(InvalidFile, match=r"unpacks from \d+ to 96 bytes"):
            readers.open_source(path)
    else:
        assert readers.open_source(path).n_rows == 3


def test_names_are_looked_at_in_every_kind_of_file(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, " ": 2}\n')
    with pytest.raises(InvalidFile, match="have no name"):
        readers.open_source(tmp_path / "t.jsonl")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_polars_counts_cells_before_it_reads_them(room, tmp_path, monkeypatch, kind):
    pytest.importorskip("polars", reason="needs the extra polars")
    path, table = tmp_path / f"t.{kind}", pa.table({"a": [1] * 1_000})
    pq.write_table(table, path) if kind == "parquet" else pyarrow.feather.write_feather(table, path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(readers, "hold_frame", lambda path, frame: pytest.fail("it was read"))
    room(tables.CELL * 1_000 - 1)
    with pytest.raises(InvalidFile, match=r"to 8,000 bytes"):
        readers.open_source(path)


def test_two_rows_can_be_reference_data(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n")
    assert len(Background.read(tmp_path / "t.csv").features) == 2
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidData, match="has 1 row"):
        Background.read(tmp_path / "t.csv")


class PanicException(BaseException):
    """As compiled code raises it."""


@pytest.mark.parametrize("error", [PanicException, KeyboardInterrupt])
def test_a_panic_of_compiled_code_is_a_damaged_file(monkeypatch, tmp_path, error):
    def fails(path):
        raise error("index")

    seen = InvalidFile if error is PanicException else error
    reader = SimpleNamespace(CalamineWorkbook=SimpleNamespace(from_path=fails))
    monkeypatch.setattr(sheets, "require", lambda *asked, **options: reader)
    with pytest.raises(seen, match="it is damaged" if seen is InvalidFile else "index"):
        sheets._read_cells(tmp_path / "t.xlsx")


@pytest.mark.parametrize(("letters", "number"), [(b"A", 1), (b"Z", 26), (b"AA", 27), (b"AMJ", 1024), (b"XFD", 16_384)])
def test_columns_of_a_sheet_are_counted(letters, number):
    assert sheets._number_column(letters) == number


def test_limits_are_those_that_are_promised():
    text = SECURITY.read_text(encoding="utf-8")
    assert f"more than {tables.SMALL // 2**20} MiB and to more than {tables.TIMES} times" in text
    assert f"({packed.ROWS_OF_A_BATCH:,} rows of a Parquet file whose footer lies" in text
    assert re.search(rf"a cell counts {tables.CELL} bytes at least.*and {objects.CELL} where", text, re.DOTALL)


def test_pieces_of_a_feather_file_have_every_row(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROWS_AT_ONCE", 4)
    pyarrow.feather.write_feather(pa.table({"a": range(11)}), tmp_path / "t.feather", chunksize=6)
    found = Background.read(tmp_path / "t.feather")
    assert found.features["a"].to_list() == list(range(11))
    pieces = list(found.source.pieces(0, found.layout))
    assert [start for start, _ in pieces] == [0, 4, 6, 10]
    assert [cell for _, columns in pieces for cell in columns["a"]] == list(range(11))


def test_pieces_of_text_have_every_cell(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,1\n2,,\n3,y,2.5\n")
    found = Background.read(tmp_path / "t.csv")
    ((start, columns),) = found.source.pieces(0, found.layout)
    assert start == 0
    assert [list(columns[name]) for name in "ab"] == [[1, 2, 3], ["x", None, "y"]]
    assert list(columns["c"]) == [1, None, 2.5]


@pytest.mark.parametrize(("separator", "commas"), [(";", {"a"}), (",", set())])
def test_decimal_commas_are_looked_for_where_semicolons_part_cells(tmp_path, separator, commas):
    rows = [("a", "b"), ('"1,5"', "x"), ('"2,5"', "y"), ('"3,5"', "x")]
    (tmp_path / "t.csv").write_text("".join(f"{separator.join(row)}\n" for row in rows))
    assert readers.open_source(tmp_path / "t.csv").commas == commas


@pytest.mark.parametrize(
    ("first", "said"),
    [("24.03.2021", "as a model file may expect"), ("04/03/2021", "since its day and its month cannot be told apart")],
)
def test_why_dates_are_read_as_text(tmp_path, first, said):
    (tmp_path / "t.csv").write_text(f"day,a\n{first},1\n{first.replace('2021', '2020')},2\n")
    (note,) = Background.read(tmp_path / "t.csv").notes
    assert f"{said}: --dates day" in note
