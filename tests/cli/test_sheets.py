"""Excel workbooks: one sheet is read with the types of its cells, and what is no such table is refused."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path

import narwhals.stable.v2 as nw
import pytest

from xcid.errors import InvalidData, InvalidFile, XcidError
from xcid.io import readers
from xcid.io.readers import Background
from xcid.io.rows import Rows
from xcid.io.sources import Roles

pytest.importorskip("python_calamine")

TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="xml" ContentType="application/xml"/></Types>"""
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LINKS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
STYLES = f'<styleSheet {SPACE}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'  # 1: a date
CELLS = {
    float: '<c r="{place}"><v>{cell}</v></c>',
    int: '<c r="{place}"><v>{cell}</v></c>',
    str: '<c r="{place}" t="inlineStr"><is><t>{cell}</t></is></c>',
    bool: '<c r="{place}" t="b"><v>{cell:d}</v></c>',
    datetime.date: '<c r="{place}" s="1"><v>{cell}</v></c>',
}


def sheet(rows):
    lines = []
    for at, cells in enumerate(rows, start=1):
        made = [
            CELLS[type(cell)].format(place=f"{chr(65 + column)}{at}", cell=_serial(cell))
            for column, cell in enumerate(cells)
            if cell is not None
        ]
        lines.append(f'<row r="{at}">{"".join(made)}</row>')
    return f"<worksheet {SPACE}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def _serial(cell):
    return (cell - datetime.date(1899, 12, 30)).days if isinstance(cell, datetime.date) else cell


def workbook(path: Path, **sheets: str) -> Path:
    listed = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(sheets, 1))
    targets = "".join(
        f'<Relationship Id="r{at}" Type="{LINK}/worksheet" Target="worksheets/s{at}.xml"/>'
        for at in range(1, len(sheets) + 1)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        start = f'<Relationship Id="r1" Type="{LINK}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", f"<Relationships {LINKS}>{start}</Relationships>")
        archive.writestr("xl/workbook.xml", f'<workbook {SPACE} xmlns:r="{LINK}"><sheets>{listed}</sheets></workbook>')
        styles = f'<Relationship Id="s" Type="{LINK}/styles" Target="styles.xml"/>'
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships {LINKS}>{targets}{styles}</Relationships>")
        archive.writestr("xl/styles.xml", STYLES)
        for at, content in enumerate(sheets.values(), 1):
            archive.writestr(f"xl/worksheets/s{at}.xml", content)
    return path


TABLE = [
    ["whole", "number", "level", "truth", "day", "mixed"],
    [1, 2.5, "x", True, datetime.date(2024, 3, 1), 12],
    [2, None, "y", False, None, "A12"],
]


def test_cells_have_the_types_of_the_workbook(tmp_path):
    source = readers.open_source(workbook(tmp_path / "a.xlsx", only=sheet(TABLE), empty=sheet([])))
    frame = nw.from_native(readers.read_all(source), eager_only=True)
    kinds = [nw.Int64, nw.Float64, nw.String, nw.Boolean, nw.Datetime, nw.String]
    assert [type(dtype) if not isinstance(dtype, type) else dtype for dtype in frame.schema.values()] == kinds
    assert frame["whole"].to_list() == [1, 2]
    assert frame["number"].is_null().to_list() == [False, True]
    assert frame["day"].to_list()[0] == datetime.datetime(2024, 3, 1)
    assert frame["mixed"].to_list() == ["12", "A12"]
    assert source.place(1) == "row 1 (line 3)"


@pytest.mark.parametrize(
    "sheets",
    [
        {"one": sheet(TABLE), "two": sheet(TABLE)},
        {"empty": sheet([])},
        {"only names": sheet(TABLE[:1])},
        {"twice": sheet([["a", "a"], [1, 2]])},
        {"nameless": sheet([["a", None, "c"], [1, 2, 3]])},
    ],
)
def test_what_is_no_table_is_refused(tmp_path, sheets):
    with pytest.raises(InvalidFile):
        readers.open_source(
            workbook(tmp_path / "a.xlsx", **{name.replace(" ", "_"): one for name, one in sheets.items()})
        )


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_cell_far_out_is_refused_before_there_is_room_for_all_before_it(tmp_path, quote):
    far = sheet(TABLE).replace("</sheetData>", f"<row><c r={quote}XFD1048576{quote}><v>1</v></c></row></sheetData>")
    with pytest.raises(InvalidFile, match="refused"):
        readers.open_source(workbook(tmp_path / "a.xlsx", only=far))


def test_a_bomb_is_refused(tmp_path):
    with pytest.raises(InvalidFile, match="refused"):
        readers.open_source(workbook(tmp_path / "a.xlsx", only=sheet(TABLE) + " " * 2**28))


@pytest.mark.parametrize("cut", [3, 200, -30])
def test_damaged_workbooks_are_refused(tmp_path, cut):
    path = workbook(tmp_path / "a.xlsx", only=sheet(TABLE))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(XcidError):
        readers.open_source(path)


def test_the_command_explains_rows_of_a_workbook(command, tmp_path):
    rows = [["a", "b", "y"], *([at, at % 7, "yes" if at % 3 else "no"] for at in range(60))]
    path = workbook(tmp_path / "a.xlsx", only=sheet(rows))
    status, printed, _ = command("explain", path, "--target", "y", "--train", "logistic", "--rows", "0:2")
    assert status == 0
    assert "row 0: predicted" in printed


def dated(day):
    """Rows with a date in each, as it is or as it is written in text."""
    days = [datetime.date(2019, 3, 1) + datetime.timedelta(days=9 * at) for at in range(60)]
    return [["a", "day", "y"], *([at % 7, day(one), "yes" if at % 3 else "no"] for at, one in enumerate(days))]


def test_dates_in_text_are_dates_as_in_other_text_files(command, tmp_path):
    options = ("--target", "y", "--train", "logistic", "--rows", "0:2", "--json")
    text = workbook(tmp_path / "text.xlsx", only=sheet(dated("{:%d.%m.%Y}".format)))
    real = workbook(tmp_path / "real.xlsx", only=sheet(dated(lambda one: one)))
    _, of_text, said = command("explain", text, *options)
    assert "columns with dates are read as dates: day\n" in said
    assert of_text == command("explain", real, *options)[1]
    for files in (("--reference", text, "--data", real), ("--reference", real, "--data", text)):
        assert command("explain", *files, *options)[1] == of_text


def test_a_column_without_cells_holds_no_dates(tmp_path):
    rows = [["a", "empty"], [1, None], [2, "NA"]]
    assert not readers.open_source(workbook(tmp_path / "a.xlsx", only=sheet(rows))).dates


def test_dates_beside_text_that_a_model_file_gets(tmp_path, approved):
    text = workbook(tmp_path / "text.xlsx", only=sheet(dated("{:%d.%m.%Y}".format)))
    real = workbook(tmp_path / "real.xlsx", only=sheet(dated(lambda one: one)))
    reference = Background.read(text, Roles("y"))
    approved(reference.notes[0])
    with pytest.raises(InvalidData) as refused:
        list(Rows(reference.opened(real), reference.layout, range(2)).chunks(2))
    approved(str(refused.value).replace(str(real), real.name))


def test_numbers_beyond_whole_ones_are_read(tmp_path):
    rows = [["id", "a"], *([10**19 + at * 10**15, at] for at in range(3))]
    frame = nw.from_native(readers.read_all(readers.open_source(workbook(tmp_path / "a.xlsx", only=sheet(rows)))))
    assert isinstance(frame.schema["id"], nw.Float64) or frame.schema["id"] == nw.Float64
