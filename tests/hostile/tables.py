"""Bad tables, and some that only look bad: what each file holds, and what the command must say of it.

A case makes its files and gives the arguments that name them. It says nothing where the command must work, and else
pieces of the one line that it must end with.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq

N_ROWS = 40
ROUNDED = ("'b'", "last digits are rounded", "--drop b")
NAMES = ("a", "b", "level", "y")
WIDE = 200_000
NO_CATEGORY = pd.Categorical.from_codes([-1] * N_ROWS, list("rgb"))
TWO_KINDS = '{"a": 1, "y": 0}\n{"a": "x", "y": 1}\n'


@dataclass(frozen=True)
class Case:
    """One bad table.

    Attributes
    ----------
    name : str
    make : callable
        From a folder to the arguments that name the files it wrote there.
    says : tuple of str
        What the error has in it; nothing where the command must work.
    notes : tuple of str
        What is said where the command works all the same.
    """

    name: str
    make: Callable[[Path], list[str | Path]]
    says: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def good(n_rows: int = N_ROWS) -> pd.DataFrame:
    """A table that works: the first column decides."""
    random = np.random.default_rng(7)
    a, b = random.normal(size=(2, n_rows)).round(2)
    level = np.array(["red", "green", "blue"])[np.arange(n_rows) % 3]
    return pd.DataFrame({"a": a, "b": b, "level": level, "y": (a > 0).astype(int)})


def lines(separator: str = ",") -> list[str]:
    """The good table as lines of text: that of the names is the first."""
    return good().to_csv(index=False, sep=separator).splitlines()


def cell(row: int, column: str, value: str) -> list[str]:
    """The good table as lines with another text in one cell."""
    changed = lines()
    cells = changed[row + 1].split(",")
    cells[NAMES.index(column)] = value
    changed[row + 1] = ",".join(cells)
    return changed


def column(name: str, values: object) -> pd.DataFrame:
    """The good table with another column."""
    return good().assign(**{name: values})


def bare(content: bytes | str | list[str], name: str = "t.csv") -> Callable[[Path], list[str | Path]]:
    """A file with the given bytes, text or lines in it."""

    def make(folder: Path) -> list[str | Path]:
        text = "\n".join([*content, ""]) if isinstance(content, list) else content
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return ["--background", folder / name]

    return make


def packed(frame: Callable[[], pd.DataFrame | pa.Table], name: str = "t.parquet") -> Callable[[Path], list[str | Path]]:
    """A Parquet or Feather file, or text by pandas."""

    def make(folder: Path) -> list[str | Path]:
        made = frame()
        if name.endswith(".csv"):
            assert isinstance(made, pd.DataFrame)
            made.to_csv(folder / name, index=False)
        else:
            table = pa.Table.from_pandas(made, preserve_index=False) if isinstance(made, pd.DataFrame) else made
            pq.write_table(table, folder / name) if name.endswith(".parquet") else pf.write_feather(
                table, str(folder / name)
            )
        return ["--background", folder / name]

    return make


def part_of(frame: pd.DataFrame, name: str, kept: float, named: str = "") -> Callable[[Path], list[str | Path]]:
    """The first part of a good file."""

    def make(folder: Path) -> list[str | Path]:
        whole = io.BytesIO()
        frame.to_parquet(whole) if name.endswith(".parquet") else frame.to_feather(whole)
        path = folder / (named or name)
        path.write_bytes(whole.getvalue()[: int(len(whole.getvalue()) * kept)])
        return ["--background", path]

    return make


def data(
    content: pd.DataFrame | list[str], background: pd.DataFrame | None = None
) -> Callable[[Path], list[str | Path]]:
    """Rows to explain beside a good background."""

    def make(folder: Path) -> list[str | Path]:
        (good() if background is None else background).to_csv(folder / "train.csv", index=False)
        if isinstance(content, list):
            (folder / "rows.csv").write_text("\n".join([*content, ""]), encoding="utf-8")
        else:
            content.to_csv(folder / "rows.csv", index=False)
        return ["--background", folder / "train.csv", "--data", folder / "rows.csv"]

    return make


def folder_in_place(folder: Path) -> list[str | Path]:
    (folder / "t.csv").mkdir()
    return ["--background", folder / "t.csv"]


def nothing_there(folder: Path) -> list[str | Path]:
    return ["--background", folder / "nowhere.csv"]


def link_to_itself(folder: Path) -> list[str | Path]:
    (folder / "t.csv").symlink_to(folder / "t.csv")
    return ["--background", folder / "t.csv"]


def name_too_long(folder: Path) -> list[str | Path]:
    return ["--background", folder / f"{'n' * 300}.csv"]


def below_a_file(folder: Path) -> list[str | Path]:
    (folder / "file").write_text("x")
    return ["--background", folder / "file" / "t.csv"]


def pipe(folder: Path) -> list[str | Path]:
    import os

    os.mkfifo(folder / "t.csv")
    return ["--background", folder / "t.csv"]


def zipped(name: str) -> Callable[[Path], list[str | Path]]:
    return bare(gzip.compress("\n".join([*lines(), ""]).encode()), name)


def no_groups() -> pa.Table:
    return pa.Table.from_pandas(good(), preserve_index=False).slice(0, 0)


def nested() -> pa.Table:
    table = pa.Table.from_pandas(good(), preserve_index=False)
    return table.append_column("list", pa.array([[1.0, 2.0]] * N_ROWS))


def in_a_struct() -> pa.Table:
    table = pa.Table.from_pandas(good(), preserve_index=False)
    return table.append_column("inner", pa.array([{"p": 1, "q": "x"}] * N_ROWS))


def arrow_column(name: str, values: pa.Array) -> Callable[[], pa.Table]:
    return lambda: pa.Table.from_pandas(good(), preserve_index=False).append_column(name, values)


def twice() -> pa.Table:
    table = pa.Table.from_pandas(good(), preserve_index=False)
    return table.append_column("a", table.column("b"))


def wide(n_rows: int, distinct: bool = True) -> Callable[[Path], list[str | Path]]:
    def make(folder: Path) -> list[str | Path]:
        names = [f"c{at}" if distinct else "c" for at in range(WIDE)]
        row = ",".join(["1"] * WIDE)
        (folder / "t.csv").write_text(
            "\n".join([f"{','.join(names)},y", *[f"{row},{at % 2}" for at in range(n_rows)], ""])
        )
        return ["--background", folder / "t.csv"]

    return make


def nullable() -> pd.DataFrame:
    frame = good().convert_dtypes()
    frame.loc[4, "a"] = pd.NA
    return frame


TEXT = [
    Case("empty file", bare(""), ("t.csv", "empty")),
    Case("blank lines only", bare("\n\n\n"), ("t.csv", "empty")),
    Case("spaces only", bare("   \n"), ("t.csv", "name")),
    Case("names only", bare("a,b,level,y\n"), ("t.csv", "no rows")),
    Case("names without end of line", bare("a,b,level,y"), ("t.csv", "no rows")),
    Case("one row", bare(lines()[:2]), ("t.csv", "1 row")),
    Case("one cell too many", bare([*lines()[:9], "1,2,red,0,9", *lines()[9:]]), ("line 10 of", "t.csv", "5 cells")),
    Case("one cell too few", bare([*lines()[:9], "1,2,red", *lines()[9:]]), ("line 10 of", "t.csv", "3 cells")),
    Case("a comma at each end", bare([lines()[0], *(f"{one}," for one in lines()[1:])]), ("line 2 of", "5 cells")),
    Case("names too few", bare(["a,b,level", *lines()[1:]]), ("line 2 of", "4 cells")),
    Case("byte-order mark", bare(b"\xef\xbb\xbf" + "\n".join([*lines(), ""]).encode())),
    Case("carriage returns", bare("\r\n".join([*lines(), ""]))),
    Case("old ends of lines", bare("\r".join([*lines(), ""]))),
    Case("semicolons", bare(lines(";"))),
    Case("tabs", bare(lines("\t"))),
    Case("bars", bare(lines("|"))),
    Case("tabs in a tsv", bare(lines("\t"), "t.tsv")),
    Case("commas in a tsv", bare(lines(), "t.tsv")),
    Case("1e400", bare(cell(5, "a", "1e400")), ("t.csv", "line 7", "'a'", "infinite")),
    Case("inf", bare(cell(5, "a", "inf")), ("t.csv", "line 7", "'a'", "infinite")),
    Case("-Infinity", bare(cell(5, "b", "-Infinity")), ("t.csv", "line 7", "'b'", "infinite")),
    Case("1e-400", bare(cell(5, "a", "1e-400"))),
    Case("column twice", bare(["a,a,level,y", *lines()[1:]]), ("t.csv", "'a'", "more than once")),
    Case("target twice", bare(["a,y,level,y", *lines()[1:]]), ("t.csv", "'y'", "more than once")),
    Case("column without a name", bare([",b,level,y", *lines()[1:]]), ("t.csv", "[0]", "no name")),
    Case("name of spaces", bare(["a,  ,level,y", *lines()[1:]]), ("t.csv", "[1]", "no name")),
    Case("names that differ by a space", bare(["a, a,level,y", *lines()[1:]])),
    Case("name with a newline", bare(['"a\nb",b,level,y', *lines()[1:]])),
    Case("name with a formula", bare(["=1+1,b,level,y", *lines()[1:]])),
    Case("names are numbers", bare(["1,2,3,y", *lines()[1:]])),
    Case("text among numbers", bare(cell(5, "a", "about 3")), notes=("t.csv", "line 7", "'a'", "'about 3'")),
    Case("one number is text", bare(cell(0, "a", "x")), notes=("t.csv", "line 2", "'a'", "'x'")),
    Case("decimal comma", bare(cell(5, "a", '"3,5"')), notes=("t.csv", "line 7", "'a'", "'3,5'")),
    Case("thousands", bare(cell(5, "a", '"1,234.5"')), notes=("t.csv", "line 7", "'a'", "'1,234.5'")),
    Case("a percentage", bare(cell(5, "a", "35%")), notes=("t.csv", "line 7", "'a'", "'35%'")),
    Case("a space before a number", bare(cell(5, "a", " 3.5"))),
    Case("hexadecimal", bare(cell(5, "a", "0x1F")), notes=("t.csv", "line 7", "'a'", "'0x1F'")),
    Case(
        "huge whole numbers",
        packed(lambda: column("b", [str(10**30 + at) for at in range(N_ROWS)]), "t.csv"),
        notes=ROUNDED,
    ),
    Case("whole numbers of 400 digits", bare(cell(5, "a", "9" * 400)), ("t.csv", "line 7", "'a'", "infinite")),
    Case(
        "dates as text", packed(lambda: column("day", [f"2024-01-{1 + at % 28:02}" for at in range(N_ROWS)]), "t.csv")
    ),
    Case("booleans as text", packed(lambda: column("flag", ["True", "False"] * 20), "t.csv")),
    Case("booleans of several kinds", packed(lambda: column("flag", ["true", "FALSE", "T", "0"] * 10), "t.csv")),
    Case("latin-1", bare(b"a,b,level,y\n1,2,gr\xfcn,0\n"), ("t.csv",)),
    Case("neither UTF-8 nor Windows", bare(b"a,b,level,y\n1,2,gr\x81n,0\n"), ("line 2 of", "t.csv", "UTF-8")),
    Case("utf-16", bare("\n".join([*lines(), ""]).encode("utf-16")), ("t.csv", "UTF-8")),
    Case("utf-32", bare("\n".join([*lines(), ""]).encode("utf-32")), ("t.csv", "UTF-8")),
    Case("a NUL in a cell", bare(cell(5, "level", "r\x00ed")), ("t.csv", "line 7", "NUL")),
    Case("NULs only", bare(b"\x00" * 4096), ("t.csv", "NUL")),
    Case("random bytes", bare(np.random.default_rng(1).bytes(4096)), ("t.csv",)),
    Case("quote without end", bare(cell(5, "level", '"red')), ("t.csv", "quote", "line 7")),
    Case("quote within a cell", bare(cell(5, "level", '"re"d')), ("t.csv", "line 7")),
    Case("newline within quotes", bare(cell(5, "level", '"re\nd"'))),
    Case("a very long cell", bare(cell(5, "level", "x" * 300_000)), ("t.csv", "line 7")),
    Case("target missing in the table", bare(["a,b,level,z", *lines()[1:]]), ("no target column 'y'", "t.csv")),
    Case("target constant", packed(lambda: column("y", 1), "t.csv"), ("'y'", "one value")),
    Case("target constant text", packed(lambda: column("y", "yes"), "t.csv"), ("'y'", "one value")),
    Case("target missing in a cell", bare(cell(5, "y", ""))),
    Case("target missing in all", packed(lambda: column("y", np.nan), "t.csv"), ("t.csv", "no row", "'y'")),
    Case("target infinite", bare(cell(5, "y", "inf")), ("t.csv", "line 7", "'y'", "infinite")),
    Case(
        "target of one class but one row",
        packed(lambda: column("y", [1] + [0] * 39), "t.csv"),
        notes=("no perturbation flips the output",),
    ),
    Case("target only", packed(lambda: good()[["y"]], "t.csv"), ("no feature is left in", "t.csv: a column is needed")),
    Case("column missing in all", packed(lambda: column("b", np.nan), "t.csv")),
    Case("column constant", packed(lambda: column("b", 3.5), "t.csv")),
    Case("all columns constant", packed(lambda: good().assign(a=1, b=1, level="x"), "t.csv"), ("one side",)),
    Case("rows all the same", packed(lambda: pd.concat([good()[:1]] * 30), "t.csv"), ("'y'", "one value")),
    Case("a level for each row", packed(lambda: column("level", [f"id{at}" for at in range(N_ROWS)]), "t.csv")),
    Case("missing written in many ways", bare([*lines(), "NA,N/A,null,1", ",nan,NULL,0"])),
    Case("missing written as a word", bare(cell(5, "a", "missing")), notes=("t.csv", "line 7", "'a'", "'missing'")),
    Case("200,000 columns", wide(4), ("t.csv", "200,001 columns")),
    Case("200,000 columns of one name", wide(1, distinct=False), ("t.csv",)),
    Case("JSON named csv", bare('[{"a": 1}, {"a": 2}]'), ("t.csv",)),
    Case("HTML named csv", bare("<!doctype html>\n<html><body>no, not found</body></html>\n"), ("t.csv",)),
]

FILES = [
    Case("folder in place of a file", folder_in_place, ("t.csv", "not a plain file")),
    Case("no file", nothing_there, ("nowhere.csv", "cannot be found")),
    Case("link to itself", link_to_itself, ("t.csv",)),
    Case("name too long", name_too_long, ("nnn.csv",)),
    Case("below a file", below_a_file, ("t.csv",)),
    Case("a pipe", pipe, ("t.csv", "not a plain file")),
    Case("no extension", bare(lines(), "table"), ("table", "the extensions are")),
    Case("Excel", bare(b"PK\x03\x04", "t.xlsx"), ("t.xlsx", "cannot be read")),
    Case("gzip by its name", zipped("t.csv.gz"), ("t.csv.gz", "unpack it")),
    Case("gzip named csv", zipped("t.csv"), ("t.csv", "gzip", "unpack it")),
    Case("gzip cut off", bare(gzip.compress(b"x" * 999)[:20], "t.csv"), ("t.csv", "gzip")),
    Case("zip named csv", bare(b"PK\x03\x04" + b"\x00" * 99, "t.csv"), ("t.csv", "ZIP")),
    Case("Parquet named csv", part_of(good(), "t.parquet", 1, "t.csv"), ("t.csv", "Parquet", ".parquet")),
    Case("Feather named csv", part_of(good(), "t.feather", 1, "t.csv"), ("t.csv", "Feather", ".feather")),
    Case("csv named Parquet", bare(lines(), "t.parquet"), ("t.parquet", "not a Parquet file")),
    Case("csv named Feather", bare(lines(), "t.feather"), ("t.feather", "not a Feather file")),
    Case("Feather named Parquet", part_of(good(), "t.feather", 1, "t.parquet"), ("t.parquet", "Feather")),
    Case("Parquet named Feather", part_of(good(), "t.parquet", 1, "t.feather"), ("t.feather", "Parquet")),
    Case("half a Parquet", part_of(good(), "t.parquet", 0.5), ("t.parquet", "cut off")),
    Case("most of a Parquet", part_of(good(), "t.parquet", 0.99), ("t.parquet", "cut off")),
    Case("half a Feather", part_of(good(), "t.feather", 0.5), ("t.feather", "cut off")),
    Case("four bytes of a Parquet", bare(b"PAR1", "t.parquet"), ("t.parquet",)),
    Case("Parquet without row groups", packed(no_groups), ("t.parquet", "0 rows")),
    Case("lists in Parquet", packed(nested), ("t.parquet", "'list'", "flatten")),
    Case("structs in Parquet", packed(in_a_struct), ("t.parquet", "'inner'", "flatten")),
    Case("bytes in Parquet", packed(arrow_column("raw", pa.array([b"\xff\x00"] * N_ROWS))), ("t.parquet", "'raw'")),
    Case("times in Parquet", packed(arrow_column("t", pa.array(range(N_ROWS), pa.time64("us")))), ("t.parquet", "'t'")),
    Case("spans in Parquet", packed(arrow_column("t", pa.array(range(N_ROWS), pa.duration("s")))), ("'t'",)),
    Case("decimals in Parquet", packed(arrow_column("d", pa.array(range(N_ROWS), pa.decimal128(9, 2)))), ("'d'",)),
    Case("nothing in Parquet", packed(arrow_column("n", pa.nulls(N_ROWS)))),
    Case("columns twice in Parquet", packed(twice), ("t.parquet", "'a'", "more than once")),
    Case("infinity in Parquet", packed(lambda: column("a", [np.inf] + [1.0] * 39)), ("t.parquet", "row 0", "'a'")),
    Case("name without letters in Parquet", packed(lambda: good().rename(columns={"b": ""})), ("t.parquet", "no name")),
    Case("nullable types", packed(nullable)),
    Case("categories", packed(lambda: good().astype({"level": "category"}))),
    Case("category that is nowhere", packed(lambda: column("level", NO_CATEGORY))),
    Case("dates", packed(lambda: column("day", pd.date_range("2024-01-01", periods=N_ROWS)))),
    Case("dates with a zone", packed(lambda: column("day", pd.date_range("2024-01-01", periods=N_ROWS, tz="UTC")))),
    Case(
        "unsigned 64 bits",
        packed(lambda: column("b", np.arange(N_ROWS, dtype=np.uint64) + np.uint64(2**63))),
        notes=ROUNDED,
    ),
    Case("half precision", packed(arrow_column("h", pa.array(np.arange(N_ROWS, dtype=np.float16))))),
    Case("JSON with nested cells", bare('[{"a": [1], "y": 0}, {"a": [2], "y": 1}]', "t.json"), ("t.json", "'a'")),
    Case("JSON deep down", bare("[" * 100_000, "t.json"), ("t.json",)),
    Case("JSON with a long number", bare(f'[{{"a": {"9" * 5_000}, "y": 0}}]', "t.json"), ("t.json",)),
    Case("JSON lines with NaN", bare('{"a": NaN, "y": 0}\n{"a": Infinity, "y": 1}\n', "t.jsonl"), ("t.jsonl", "'a'")),
    Case("JSON lines with two kinds", bare(TWO_KINDS, "t.jsonl"), ("t.jsonl", "row 1", "'a'")),
    Case("JSON lines with a name twice", bare('{"a": 1, "a": 2, "y": 0}\n', "t.jsonl"), ("t.jsonl", "line 1", "'a'")),
    Case("JSON half a character", bare('[{"a": "\\ud800", "y": 0}, {"a": "x", "y": 1}]', "t.json"), ("t.json", "'a'")),
    Case("JSON list of numbers", bare("[1, 2]", "t.json"), ("t.json", "not a list of objects")),
]  # fmt: skip

ROWS = [
    Case("data without a column", data(good()[["a", "level", "y"]]), ("rows.csv", "missing ['b']")),
    Case("data with more columns", data(good().assign(extra=1, more="x")), ("rows.csv", "unknown ['extra', 'more']")),
    Case("data in another order", data(good()[["y", "level", "b", "a"]])),
    Case("data without the target", data(good()[["a", "b", "level"]])),
    Case("data with other names", data(good().rename(columns=str.upper)), ("rows.csv", "missing", "unknown")),
    Case("level that is not known", data(cell(1, "level", "mauve"))),
    Case("level beyond the rows asked for", data(cell(9, "level", "mauve"))),
    Case("other levels", data(column("level", "seven"))),
    Case("text in place of numbers", data(column("a", "x")), ("rows.csv", "row 0", "'a'", "'x'")),
    Case("missing where the background has none", data(cell(1, "a", ""))),
    Case("infinite in the data", data(cell(1, "a", "inf")), ("rows.csv", "line 3", "'a'", "infinite")),
    Case("column all missing in the data", data(column("b", np.nan))),
    Case("fractions for whole numbers", data(column("k", 2.5), column("k", [1, 2] * 20)), ("rows.csv", "row 0", "'k'")),
    Case("no rows in the data", data(lines()[:1]), ("rows.csv", "no rows")),
    Case("target only in the data", data(good()[["y"]]), ("no feature is left in", "rows.csv: its columns are ['y']")),
]  # fmt: skip

CASES = [*TEXT, *FILES, *ROWS]
