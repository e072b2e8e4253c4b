"""Kinds of columns and of files that unpack from nothing to anything are refused before they are read."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import good

import xcid
from xcid.errors import InvalidFile
from xcid.io import readers

ROOT = Path(__file__).resolve().parents[2]
N = 2**12


def feather(table: pa.Table, path: Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as file:
        file.write_table(table)


def coded(level: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(N, np.int32)), level)


def one_view(n_bytes: int) -> pa.Array:
    """A long text that all rows share."""
    text = pa.array(["x" * n_bytes], pa.string_view())
    views = pa.py_buffer(text.buffers()[1].to_pybytes() * N)
    return pa.Array.from_buffers(text.type, N, [None, views, *text.buffers()[2:]])


LEVEL = pa.array(["x" * 2**20])
RUN = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int64()), pa.array([1.5]))
MANY = pa.table([pa.array(["x" * 2**16] * 2**9)] * 9, [*"abcdefghi"])  # 32 MiB of text a column
BOMBS = {
    "nulls.feather": (pa.nulls(2**31 - 1), "bytes: refused"),
    "runs.feather": (RUN, "no feature has"),
    "views.feather": (one_view(2**20), "column 'a' of .* bytes: refused"),
    "lists.feather": (pa.array([[1]] * N, pa.list_view(pa.int8())), "no feature has|lists"),
    "level.feather": (coded(LEVEL), "column 'a' of .* bytes: refused"),
    "coded-lists.feather": (coded(pa.array([["x"] * 9])), "no feature has"),
    "coded-structs.feather": (coded(pa.array([{"p": "x"}])), "no feature has"),
    "coded-text.parquet": (coded(pa.array(["x" * 2**16])), "column 'a' of .* bytes: refused"),
    "level.parquet": (coded(LEVEL), "column 'a' of .* bytes: refused"),
    "columns.parquet": (MANY, "column 'e' of .* with those before it, .* bytes: refused"),
    "columns.feather": (
        pa.table([column.dictionary_encode() for column in MANY.columns], MANY.column_names),
        "column 'e' of .* with those before it, .* bytes: refused",
    ),
    "fixed.parquet": (pa.array([b"x" * 2**12] * N, pa.binary(2**12)), "no feature has"),
    "lists.parquet": (pa.array([["x" * 2**12]] * N), "has lists or objects in its cells .*flatten it"),
    "structs.parquet": (pa.array([{"p": "x" * 2**12}] * N), "has lists or objects in its cells .*flatten it"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_kinds_that_unpack_to_anything(tmp_path, name):
    path, (column, reason) = tmp_path / name, BOMBS[name]
    table = column if isinstance(column, pa.Table) else pa.table({"a": column})
    pq.write_table(table, path) if path.suffix == ".parquet" else feather(table, path)
    with pytest.raises(InvalidFile, match=f"(?s){reason}") as refused:
        readers.read(path)
    assert name in str(refused.value)


def test_rows_that_a_column_of_parquet_says_it_has(tmp_path):
    """Room is made for as many values as the metadata of each column say."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(3 * 2**20) % 2}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    true = bytes([0x80, 0x80, 0x80, 0x03])  # 3 * 2**20, as Thrift writes it
    at = [at for at in range(len(content)) if content[at : at + 4] == true]
    assert at
    for place in at:
        content[place : place + 4] = bytes([0x80, 0x80, 0x80, 0x7F])
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"t\.parquet unpacks from .* bytes: refused"):
        readers.read(path)


def test_a_new_name_in_each_line(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"k{at}": 1}}\n' for at in range(3_000)))
    with pytest.raises(InvalidFile, match=r"t\.jsonl unpacks from .* give all rows the same names"):
        readers.read(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_more_columns_than_can_be_explained(tmp_path, suffix):
    path, names = tmp_path / f"t{suffix}", [f"k{at}" for at in range(10_001)]
    if suffix == ".parquet":
        pq.write_table(pa.table([[1]] * len(names), names), path)
    else:
        line = ",".join("1" * len(names)) if suffix == ".csv" else json.dumps(dict.fromkeys(names, 1))
        path.write_text(f"{','.join(names)}\n{line}\n" if suffix == ".csv" else f"{line}\n")
    with pytest.raises(InvalidFile, match=r"has 10,001 columns, and 10,000 are the most"):
        readers.read(path)


@pytest.mark.parametrize("read", [readers.read, xcid.load])
def test_devices_and_pipes(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to("/dev/null")  # first: one that does no harm where this promise is broken
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("null.csv", "pipe.csv", "device.csv"):
        with pytest.raises(InvalidFile, match=f"{name} is .*: it is not a plain file"):
            read(tmp_path / name)


def test_text_of_a_saved_explanation_is_as_long_as_it_is(tmp_path):
    """Each text of an array takes the room of the longest, whatever the file says it is."""
    table = np.random.default_rng(0).normal(size=(30, 2)).round(2)
    explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table)(table[:2])
    explanation.save(tmp_path / "e.json")
    text = (tmp_path / "e.json").read_text()
    (tmp_path / "wide.json").write_text(text.replace('"<i8"', '"<U200000000"'))
    assert xcid.load(tmp_path / "wide.json").index.tolist() == ["0", "1"]
    rows = text.index('"rows": [{') + len('"rows": [')
    row = text[rows : text.index("}", rows) + 1]
    long = row.replace('"status": "', f'"status": "{"x" * 2**20}', 1)
    (tmp_path / "long.json").write_text(text[:rows] + ", ".join([long, *[row] * 100_000]) + "]}")
    with pytest.raises(InvalidFile, match=r"long\.json.* bytes: refused"):
        xcid.load(tmp_path / "long.json")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_text_that_is_not_utf_8(tmp_path, command, suffix):
    table = pa.Table.from_pandas(good(), preserve_index=False)
    bad = pa.Array.from_buffers(pa.string(), 40, pa.array([b"\xff\xfe"] * 40).buffers())
    path = tmp_path / f"t{suffix}"
    table = table.append_column("bad", bad)
    pq.write_table(table, path) if suffix == ".parquet" else feather(table, path)
    status, _, said = command("explain", "--background", path, "--target", "y", "--train", "logistic", "--rows", "0:2")
    assert status == 2
    assert path.name in said
    assert "UTF8" in said


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_what_polars_writes(tmp_path, suffix):
    """Views and codes that are honest."""
    frame = pl.DataFrame({"s": ["a", "b" * 99, None], "c": ["x", "y", "x"], "n": [1, None, 3]})
    frame = frame.with_columns(pl.col("c").cast(pl.Categorical), e=pl.col("c").cast(pl.Enum(["y", "x"])))
    path = tmp_path / f"t{suffix}"
    frame.write_parquet(path) if suffix == ".parquet" else frame.write_ipc(path)
    found = readers.read(path)
    assert found["s"].tolist()[:2] == ["a", "b" * 99]
    assert found["c"].tolist() == found["e"].tolist() == ["x", "y", "x"]
    source = readers.open_source(path)
    ((_, columns),) = source.pieces(0, None)
    assert columns["c"].tolist() == ["x", "y", "x"]


def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    names = {ast.Name: lambda part: part.id, ast.Attribute: lambda part: part.attr}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(names.get(type(one.func), lambda part: "")(one.func), one) for one in found]


def test_parquet_is_opened_by_its_name():
    """Reading it from an open file leaves a thread that may end the process with status 134."""
    opened = 0
    for file in (ROOT / "src" / "xcid").rglob("*.py"):
        for name, call in calls(ast.parse(file.read_text("utf-8"))):
            assert name not in ("read_table", "read_pandas", "ParquetDataset", "read_parquet_file"), file
            if name in ("ParquetFile", "read_schema", "read_metadata", "open_file") and file.name == "packed.py":
                opened += 1
                assert ast.unparse(call.args[0]) in ("path", "arrow.memory_map(str(path))"), file
            else:
                assert name != "ParquetFile", file
    assert opened == 3
