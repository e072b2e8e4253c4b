"""Tables from files: what is read is what is there, or the file is refused."""

from __future__ import annotations

import json

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xcid.errors import InvalidFile, MissingDependency
from xcid.io import tables
from xcid.io.readers import read

LIBRARIES = ["pandas", "polars", "pyarrow"]
WRITE = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".arrow": lambda frame, path: frame.to_feather(path, compression="uncompressed"),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ".ndjson": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ".json": lambda frame, path: frame.to_json(path, orient="records"),
}


def cells(frame):
    """Columns as lists, with None for missing cells."""
    narwhal = nw.from_native(frame, eager_only=True)
    columns = ((name, narwhal[name].is_null().to_list(), narwhal[name].to_list()) for name in narwhal.columns)
    return {name: [None if hole else value for hole, value in zip(*both, strict=True)] for name, *both in columns}


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("suffix", WRITE)
def test_every_format_by_every_library(tmp_path, table, monkeypatch, suffix, backend):
    monkeypatch.setattr(tables, "library", lambda: backend)
    path = tmp_path / f"t{suffix.upper()}"
    WRITE[suffix](table, path)
    found = read(path)
    assert type(found).__module__.split(".")[0] == backend
    assert cells(found) == cells(table)


@pytest.mark.parametrize("backend", LIBRARIES)
def test_missing_cells_of_text_files(tmp_path, monkeypatch, backend):
    monkeypatch.setattr(tables, "library", lambda: backend)
    (tmp_path / "t.csv").write_text("a,b\n1,x\n,NA\nnan,None\n")
    assert cells(read(tmp_path / "t.csv")) == {"a": [1, None, None], "b": ["x", None, "None"]}


@pytest.mark.parametrize("backend", LIBRARIES)
def test_marks_and_quotes(tmp_path, monkeypatch, backend):
    monkeypatch.setattr(tables, "library", lambda: backend)
    (tmp_path / "t.csv").write_text('\ufeffa,b\n1,"x, ""y""\nz"\n2,w\n', encoding="utf-8")
    assert cells(read(tmp_path / "t.csv")) == {"a": [1, 2], "b": ['x, "y"\nz', "w"]}


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("separator", ";\t|")
def test_other_separators(tmp_path, monkeypatch, backend, separator):
    monkeypatch.setattr(tables, "library", lambda: backend)
    text = '"a","b, c"\n1,"x, y"\n2,w\n'.replace('",', f'"{separator}').replace("1,", f"1{separator}")
    (tmp_path / "t.csv").write_text(text.replace("2,", f"2{separator}"), encoding="utf-8")
    assert cells(read(tmp_path / "t.csv")) == {"a": [1, 2], "b, c": ["x, y", "w"]}


@pytest.mark.parametrize("backend", LIBRARIES)
def test_blank_lines_are_no_rows(tmp_path, monkeypatch, backend):
    monkeypatch.setattr(tables, "library", lambda: backend)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n\n3,4\n")
    if backend == "polars":  # makes rows of them
        with pytest.raises(InvalidFile, match="has 2 rows, but 3 are read from it: take out blank lines"):
            read(tmp_path / "t.csv")
    else:
        assert cells(read(tmp_path / "t.csv")) == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3,4,5\n", "line 3 of .* has 3 cells, and the first line has 2"),
        ("a,b\n1,2\n3\n", "line 3 of .* has 1 cells"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 of .* has 3 cells"),  # pandas would take the first column for an index
        ("a,b\n1,2,\n4,5,\n", "line 2 of .* has 3 cells"),
        ("a,a\n1,2\n", r"columns \['a'\] .* more than once"),
        (",a\n0,1\n", r"columns \[0\] .* have no name"),
        ("a;b\n1;2\n3\n", "line 3 of .* has 1 cells"),
        ('a,b\n1,"2,5"\n3,4\n', "holds '2,5' in row 0 .line 2., column 'b', a number with a comma: write it with"),
        ('a,b\n1,"2\n', "cannot be read as a text table"),
    ],
)
def test_text_that_is_refused(tmp_path, monkeypatch, backend, text, message):
    monkeypatch.setattr(tables, "library", lambda: backend)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidFile, match=message):
        read(tmp_path / "t.csv")


def test_text_of_another_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,ü\n".encode("latin-1"))
    assert read(tmp_path / "t.csv")["b"].tolist() == ["ü"]
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x81\n")
    with pytest.raises(InvalidFile, match="not UTF-8"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 of .* is not JSON"),
        ('{"a": 1}\n[1]\n', "line 2 of .* is not an object"),
        ('{"a": [1, 2]}\n', r"columns \['a'\] .* lists or objects"),
        ("\n", "empty"),
        ("{}\n", "empty"),
    ],
)
def test_json_lines_that_are_refused(tmp_path, text, message):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(InvalidFile, match=message):
        read(tmp_path / "t.jsonl")


def test_a_key_that_is_not_there_is_a_missing_cell(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2}\n')
    assert cells(read(tmp_path / "t.jsonl")) == {"a": [1, 2], "b": ["x", None]}


@pytest.mark.parametrize("content", [{"a": 1}, [1, 2]])
def test_json_of_other_things(tmp_path, content):
    (tmp_path / "t.json").write_text(json.dumps(content))
    with pytest.raises(InvalidFile, match="not a list of objects"):
        read(tmp_path / "t.json")


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow", ".json"])
def test_damaged_files(tmp_path, suffix):
    (tmp_path / f"t{suffix}").write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(InvalidFile, match=r"cannot be read|not a Feather file: it is a Parquet file|is a Parquet file"):
        read(tmp_path / f"t{suffix}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t.xls", "the extensions are"),
        ("longer.csv", r"cannot be found in .*; the .csv files there are \['d.csv'\]: check the name"),
        ("longer.tsv", r"cannot be found in .*; there are no .tsv files there: check the name"),
        ("d.csv", "not a plain file"),
    ],
)
def test_files_that_are_none(tmp_path, name, message):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InvalidFile, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("backend", LIBRARIES)
def test_many_cells_in_few_bytes(tmp_path, monkeypatch, backend):
    monkeypatch.setattr(tables, "library", lambda: backend)
    monkeypatch.setattr(tables, "SMALL", 2**23)
    pq.write_table(pa.table({"a": np.zeros(2**21)}), tmp_path / "bomb.parquet", compression="zstd")
    with pytest.raises(InvalidFile, match=r"to 16,777,216 bytes: refused"):
        read(tmp_path / "bomb.parquet")


def test_long_text_in_few_bytes(tmp_path):
    long = pa.table({"a": ["x" * 2**22] * 50, "y": range(50)})
    pq.write_table(long, tmp_path / "bomb.parquet", compression="zstd", write_statistics=False)
    with pytest.raises(InvalidFile, match=r"unpacks from .* bytes: refused"):
        read(tmp_path / "bomb.parquet")


def test_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1, 2], [3, 4]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match=r"columns \['a'\] of .* appear more than once"):
        read(tmp_path / "t.parquet")


def test_empty_tables(tmp_path):
    pd.DataFrame({"a": []}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match="0 rows and 1 columns"):
        read(tmp_path / "t.parquet")


class TestWithoutLibraries:
    @pytest.fixture
    def installed(self, monkeypatch):
        def only(*names):
            monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name in names else None)

        return only

    def test_the_first_that_is_installed(self, installed):
        installed("pyarrow", "polars")
        assert tables.library() == "polars"

    def test_none(self, installed, monkeypatch, csv):
        installed()
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[pandas\]"'):
            read(csv)

    def test_parquet_by_polars_alone(self, installed, table, tmp_path):
        table.to_parquet(tmp_path / "t.parquet")
        installed("polars")
        assert cells(read(tmp_path / "t.parquet")) == cells(table)

    def test_parquet_by_pandas_alone(self, installed, monkeypatch, table, tmp_path):
        table.to_parquet(tmp_path / "t.parquet")
        installed("pandas")
        monkeypatch.setitem(__import__("sys").modules, "polars", None)
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[pyarrow\]"'):
            read(tmp_path / "t.parquet")
