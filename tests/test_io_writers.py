"""What is written in pieces can be read back, in every format and by either library."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from xcid.errors import InvalidFile, MissingDependency
from xcid.io import saved, writers

pytest.importorskip("pyarrow")
READ = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".feather": pd.read_feather, ".arrow": pd.read_feather}
READ |= {".json": pd.read_json, ".jsonl": lambda file: pd.read_json(file, lines=True)}
READ |= {".xlsx": lambda file: pd.read_excel(file, engine="calamine")}
NEEDS = {".xlsx": ("xlsxwriter", "python_calamine")}
PIECES = [
    {
        "row": np.arange(at, at + 2),
        "name": np.array(["age", "b,c"]),
        "value": np.array([0.5, np.nan]),
        "level": np.array([at, "x"], dtype=object).astype(str).astype(object),
    }
    for at in (0, 2, 4)
]


def written(suffix):
    """The bytes of a file of all pieces."""
    for name in NEEDS.get(suffix, ()):
        pytest.importorskip(name)
    form, file = writers.FORMATS[suffix], io.BytesIO()
    form.join(file, [form.pack(piece) for piece in PIECES])
    return file.getvalue()


def check(content, suffix):
    frame = READ[suffix](io.BytesIO(content))
    assert frame.columns.tolist() == list(PIECES[0])
    assert frame["row"].tolist() == list(range(6))
    assert frame["name"].tolist() == ["age", "b,c"] * 3
    assert frame["value"].isna().tolist() == [False, True] * 3
    assert frame["value"].dropna().tolist() == [0.5] * 3
    assert frame["level"].astype(str).tolist() == ["0", "x", "2", "x", "4", "x"]


@pytest.mark.parametrize("suffix", writers.FORMATS)
def test_all_pieces_are_there(suffix):
    check(written(suffix), suffix)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_without_pyarrow_polars_writes(monkeypatch, suffix):
    pytest.importorskip("polars")
    asked, require = [], writers.require
    monkeypatch.setattr(writers.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(writers, "require", lambda name, **more: asked.append(name) or require(name, **more))
    check(written(suffix), suffix)
    assert set(asked) == {"polars"}


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_with_pyarrow_polars_is_not_asked(monkeypatch, suffix):
    asked, require = [], writers.require
    monkeypatch.setattr(writers, "require", lambda name, **more: asked.append(name) or require(name, **more))
    written(suffix)
    assert asked
    assert all(name.startswith("pyarrow") for name in asked)


@pytest.mark.parametrize("kind", [float, object])
def test_json_has_no_numbers_that_are_none(kind):
    cells = np.array([1.5, np.nan, np.inf, -np.inf], dtype=kind)
    lines = writers.pack_json({"a": cells}).decode().splitlines()
    assert [json.loads(line)["a"] for line in lines] == [1.5, None, None, None]


def test_all_else_in_a_column_of_objects_stays():
    assert writers._cells(np.array([1, "a", None, 2.5], dtype=object)) == [1, "a", None, 2.5]


def test_small_pieces_make_large_groups(monkeypatch):
    import pyarrow.parquet

    for most, groups in ((writers.LINES_OF_A_GROUP, 1), (4, 2), (1, 3)):
        monkeypatch.setattr(writers, "LINES_OF_A_GROUP", most)
        assert pyarrow.parquet.ParquetFile(io.BytesIO(written(".parquet"))).num_row_groups == groups


def test_a_temporary_file_that_somebody_else_makes_is_not_written_to(monkeypatch, tmp_path):
    monkeypatch.setattr(writers.Path, "unlink", lambda path, **more: path.write_bytes(b"theirs"))
    with pytest.raises(InvalidFile), writers.replacing(tmp_path / "a.csv") as path:
        path.write_bytes(b"ours")


def test_a_package_that_is_missing_is_no_damaged_file(monkeypatch, tmp_path):
    def missing(path):
        raise MissingDependency("polars is needed")

    (tmp_path / "a.npz").write_bytes(b"any")
    monkeypatch.setattr(saved, "_reader", missing)
    with pytest.raises(MissingDependency):
        saved.load(tmp_path / "a.npz")


def test_a_folder_is_made_with_those_that_it_is_in(tmp_path):
    assert writers.folder(tmp_path / "a" / "b").is_dir()
    assert writers.folder(tmp_path / "a" / "b").is_dir()


def test_a_sheet_runs_nothing_and_is_the_same_each_time(tmp_path):
    pytest.importorskip("xlsxwriter")
    from zipfile import ZipFile

    texts = np.array(["=1+1", "https://a.example", "+5", "@x", "007", "<b>"])
    piece = {"=name": texts, "value": np.arange(6) / 4}
    for name in ("a.xlsx", "b.xlsx"):
        writers.write(tmp_path / name, [piece])
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    sheet = ZipFile(tmp_path / "a.xlsx").read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    again = pd.read_excel(tmp_path / "a.xlsx", engine="calamine", dtype={"=name": str})
    assert again["=name"].tolist() == texts.tolist()


def test_what_a_sheet_cannot_hold_is_refused(monkeypatch, tmp_path):
    pytest.importorskip("xlsxwriter")
    monkeypatch.setattr(writers, "LINES_OF_A_SHEET", 4)
    writers.write(tmp_path / "a.xlsx", [{"a": np.arange(3)}])
    with pytest.raises(InvalidFile, match="a sheet holds 3 lines"):
        writers.write(tmp_path / "b.xlsx", [{"a": np.arange(2)}, {"a": np.arange(2)}])
    assert not (tmp_path / "b.xlsx").exists()
