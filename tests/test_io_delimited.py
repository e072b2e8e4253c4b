"""What counting bytes tells of a CSV file is what reading its lines tells; whatever it cannot tell is left to that."""

from __future__ import annotations

import csv
import io
import random

import pandas as pd
import pytest

from xcid.errors import InvalidFile, XcidWarning
from xcid.io import delimited, readers, tables
from xcid.io.readers import Background
from xcid.io.sources import Roles

CELLS = ["1", "2.5", "", "a b", '"x,y"', '"two\nlines"', '"say ""no"""', '""', "ü", "2023-01-31"]
ODD = ['a"b', '"a"b', '"open', "x\x00", "\r", ' "x"', '"""', "\udcff", "c,d"]


def lines_of(path):
    """The number of rows that the slow way finds, or its error."""
    try:
        delimited._check_bytes(path)
        rows = list(delimited._lines(delimited._find_form(path)._replace(separator=",")))
        return len(rows) - 1 if all(len(cells) == len(rows[0][1]) for _, cells in rows) else None
    except InvalidFile:
        return None


@pytest.mark.parametrize("block", [7, 64, 2**20])
@pytest.mark.parametrize("seed", range(60))
def test_counting_agrees_with_reading(tmp_path, monkeypatch, seed, block):
    draw = random.Random(seed)
    monkeypatch.setattr(delimited, "BLOCK", block)
    width, end = draw.choice([1, 2, 3]), draw.choice(["\n", "\r\n"])
    cells = CELLS + (draw.sample(ODD, 1) if seed % 2 else [])
    rows = [[f"n{at}" for at in range(width)], *([draw.choice(cells) for _ in range(width)] for _ in range(20))]
    blank = [end] * draw.choice([0, 0, 2])
    text = "".join(",".join(row) + end for row in rows) + "".join(blank)
    if draw.random() < 0.3:
        text = text.rstrip("\r\n")
    path = tmp_path / "t.csv"
    path.write_bytes((b"\xef\xbb\xbf" if draw.random() < 0.3 else b"") + text.encode("utf-8", "surrogateescape"))
    counted = delimited._n_rows(delimited._find_form(path)._replace(separator=","), width)
    assert counted in (None, lines_of(path))
    assert counted is not None or seed % 2 or width == 1


def test_a_quote_within_the_first_name_opens_no_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a"\nb"\n5\n')
    assert readers.open_source(path).names == ('a"',)
    assert readers.open_source(path).n_rows == 2


def test_codes_that_turn_late(tmp_path):
    """Pieces of a file must not be taken for numbers by themselves."""
    n = 300_000
    path = tmp_path / "t.csv"
    codes = ["007"] * (n - 1) + ["A12"]
    path.write_text("code,y\n" + "".join(f"{code},1\n" for code in codes))
    with pytest.warns(XcidWarning, match="is read as text: 299999 of its 300000 cells are numbers"):
        found = readers.read(path)
    assert found["code"].tolist() == codes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"open,1', "line 5002 .* begins a cell with a quote that never ends"),
        ("a\x00,1", "line 5002 .* has a NUL byte"),
        ("a,1,2", "line 5002 .* has 3 cells"),
        ("ü\udcff,1", "line 5002 .* is not UTF-8 .*: save it as UTF-8"),
        ("\udc81,1", "line 5002 .* is not UTF-8 .*: save it as UTF-8"),
    ],
)
def test_the_place_of_an_error(tmp_path, line, said):
    path = tmp_path / "t.csv"
    text = "a,b\n" + '"x, y",1\n' * 5000 + f"{line}\n" + "z,1\n" * 9
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidFile, match=said):
        readers.open_source(path)


@pytest.mark.parametrize("library", tables.LIBRARIES)
def test_zero_and_one_are_no_truths(tmp_path, monkeypatch, library):
    monkeypatch.setattr(tables, "library", lambda: library)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n0,true\n1,False\nTrue,TRUE\n")
    found = tables.columns(readers.read(path), path)
    assert list(found["a"]) == ["0", "1", "True"]
    assert list(found["b"]) == [True, False, True]


@pytest.mark.parametrize("library", tables.LIBRARIES)
@pytest.mark.parametrize("hole", ["", "3"])
def test_digits_that_are_rounded_are_said(tmp_path, monkeypatch, library, hole):
    monkeypatch.setattr(tables, "library", lambda: library)
    path = tmp_path / "t.csv"
    path.write_text(f"code,x,y\n9007199254740993,1.5,0\n{hole},1e20,1\n")
    with pytest.warns(XcidWarning, match=r"column 'code' .*--drop code\); names of rows are --id code") as heard:
        Background.read(path, Roles("y"))
    assert len(heard) == 1  # 1e20 beside 1.5 is no code
    assert Background.read(path, Roles("y", id="code")).notes == ()


@pytest.mark.parametrize("late", [False, True])
def test_dates_are_looked_through_to_the_end(tmp_path, late):
    days = pd.date_range("2020-01-01", periods=3000).strftime("%d/%m/%Y").tolist()
    cells = ["02/03/2020"] * 2999 + ["14/03/2020"] if late else days
    path = tmp_path / "t.csv"
    out = io.StringIO()
    csv.writer(out).writerows([["day", "x"], *([cell, "1.5"] for cell in cells)])
    path.write_text(out.getvalue())
    assert readers.open_source(path).dates == {"day": frozenset({"31/12/2023"})}
    path.write_text(out.getvalue() + "soon,2\n")
    assert readers.open_source(path).dates == {}


LETTERS = "gr\xfcn \u20ac \u201equote\u201c"


@pytest.mark.parametrize("library", tables.LIBRARIES)
@pytest.mark.parametrize("n_rows", [3, 40_000])
def test_what_windows_writes_is_read(tmp_path, monkeypatch, library, n_rows):
    monkeypatch.setattr(tables, "library", lambda: library)
    monkeypatch.setattr(delimited, "BLOCK", 1000)
    monkeypatch.setattr(tables, "BLOCK", 1000)
    path = tmp_path / "t.csv"
    rows = [f"{at};{at / 8:.3f};{LETTERS if at == n_rows - 1 else 'red'}".replace(".", ",") for at in range(n_rows)]
    path.write_bytes("\r\n".join(["h\xf6he;x;level", *rows, ""]).encode("cp1252"))
    source = readers.open_source(path)
    assert source.names == ("h\xf6he", "x", "level")
    found = tables.columns(source.joined(), path)
    assert (found["level"][-1], found["x"][-1]) == (LETTERS, (n_rows - 1) / 8)
    assert next(readers.note_writing(source)) == "t.csv is not UTF-8, and is read in the letters of Windows (cp1252)"
    (_, cells) = next(iter(source.pieces(n_rows - 1, Background.read(path, Roles("x")).layout)))
    assert list(cells["level"]) == [LETTERS]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 2**20])
def test_which_letters_there_are(tmp_path, monkeypatch, block):
    monkeypatch.setattr(tables, "BLOCK", block)
    path = tmp_path / "t.csv"
    known = {"utf-8-sig": ["a,b", "\xfc,b", "\u20ac\n\xfc,\U0001f600"], "cp1252": ["\xfc,b", "a,\u20ac\nb", "a\n\xdf"]}
    for encoding, texts in known.items():
        for text in texts:
            path.write_bytes(text.encode(encoding.removesuffix("-sig")))
            assert tables.find_encoding(path) == encoding, text
    for damaged in (b"\xc3\xbc,\xfc", b"\xfc,\xc3\xbc", b"\x81", b"a\n\xe2\x82\xac\xff"):
        path.write_bytes(damaged)
        assert tables.find_encoding(path) == "utf-8-sig", damaged
