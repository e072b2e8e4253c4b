"""What holds for any bytes: each function takes some and fails only where a promise is broken.

They are tried with few examples in the tests, and for as long as one likes by ``soak/fuzz.py``.
"""

from __future__ import annotations

import functools
import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq

import xcid
from xcid import densities, distances
from xcid.errors import InvalidFile, XcidError
from xcid.io import readers, tables

SUFFIXES = tuple(readers.OPENERS)
TOLERANCE = 1e-6


def read_table(data: bytes) -> None:
    """A reader gives a table or our own error; the first byte chooses the reader."""
    if not data:
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"t{SUFFIXES[data[0] % len(SUFFIXES)]}"
        path.write_bytes(data[1:])
        try:
            frame = readers.read(path)
        except XcidError as error:
            assert path.name in str(error), "the file is not named"  # noqa: PT017
            return
        assert tables.size(frame) > 0
        assert [one.name for one in Path(folder).iterdir()] == [path.name], "a file is left behind"


def read_damaged_table(data: bytes) -> None:
    """Likewise for good files with a few bytes changed: the first chooses the file, the others where and what."""
    if data:
        suffix = SUFFIXES[data[0] % len(SUFFIXES)]
        read_table(data[:1] + damaged(good_tables()[suffix], data[1:]))


def load_explanation(data: bytes) -> None:
    """``xcid.load`` gives an explanation or InvalidFile."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "t"
        path.write_bytes(data)
        try:
            explanation = xcid.load(path)
        except InvalidFile:
            return
        check_explanation(explanation)


def load_damaged_explanation(data: bytes) -> None:
    """Likewise for good files with a few bytes changed."""
    if data:
        files = saved_explanations()
        load_explanation(damaged(files[data[0] % len(files)], data[1:]))


def check_explanation(explanation: xcid.Explanation) -> None:
    """What was loaded can be used: a frame, a text, a selection, and once more a file."""
    n, d = explanation.values.shape
    assert len(explanation.to_frame()) == n * d
    assert len(explanation[:1]) == min(n, 1)
    repr(explanation)
    with tempfile.TemporaryDirectory() as folder:
        explanation.save(Path(folder) / "again.npz")


def one_feature(data: bytes) -> None:
    """d1 of any finite samples lies in [0, 1], is symmetric, and 0 for equal samples; and nothing warns."""
    first, second = samples(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for density in (
            None,
            densities.Kernel(),
            densities.Kernel("epanechnikov", bandwidth="scott"),
            densities.Discrete(),
        ):
            try:
                found, back = xcid.d1(first, second, density), xcid.d1(second, first, density)
                same = xcid.d1(first, first, density)
            except XcidError:
                assert not first.size or not second.size, "finite samples are refused"
                continue
            assert 0 <= found <= 1, found
            assert abs(found - back) < TOLERANCE, (found, back)
            assert abs(same) < TOLERANCE, same


def curves(data: bytes) -> None:
    """Distances of any two curves lie in [0, 1], are symmetric, and 0 for equal curves."""
    first, second = samples(data)
    size = min(first.size, second.size)
    if not size:
        return
    p, q = (np.abs(one[:size]) / max(np.abs(one[:size]).max(), 1e-300) for one in (first, second))
    weights = np.full(size, 1 / size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share, back = distances.overlap(p, q, weights), distances.overlap(q, p, weights)
        assert 0 <= share <= 1, share
        assert abs(share - back) < TOLERANCE
        found = distances.d_k(p, q, weights)
        assert 0 <= found <= 1, found
        if p.any():
            assert abs(distances.d_k(p, p, weights)) < TOLERANCE


def samples(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of finite numbers: raw bits, or small whole numbers with many ties; the first byte chooses."""
    body = data[1:]
    if data[:1] and data[0] % 2:
        values = np.frombuffer(body, dtype=np.int8).astype(float)
    else:
        values = np.frombuffer(body[: len(body) // 8 * 8], dtype="<f8")
    values = values[np.isfinite(values)]
    return values[: len(values) // 2], values[len(values) // 2 :]


def damaged(content: bytes, how: bytes) -> bytes:
    """Change bytes, three of the instructions for each: where (two bytes) and what; an odd rest cuts the end off."""
    changed = bytearray(content)
    for at in range(0, len(how) - 2, 3):
        place = int.from_bytes(how[at : at + 2], "little") * len(changed) // 65_536
        changed[place] ^= how[at + 2]
    if len(how) % 3 == 2:
        del changed[int.from_bytes(how[-2:], "little") * len(changed) // 65_536 :]
    return bytes(changed)


@functools.cache
def good_tables() -> dict[str, bytes]:
    """A small table in every format."""
    frame = pd.DataFrame({"a": [1.5, 2.0, np.nan, -3.25], "b": [1, 2, 3, 4], "c": ["x", "y", None, "z,"]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet, feather, arrow = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    pf.write_feather(table, feather, compression="lz4")
    pf.write_feather(table, arrow, compression="uncompressed")
    lines = frame.to_json(orient="records", lines=True).encode()
    return {
        ".csv": frame.to_csv(index=False).encode(),
        ".tsv": frame.to_csv(index=False, sep="\t").encode(),
        ".parquet": parquet.getvalue(),
        ".feather": feather.getvalue(),
        ".arrow": arrow.getvalue(),
        ".jsonl": lines,
        ".ndjson": lines,
        ".json": frame.to_json(orient="records").encode(),
        ".xlsx": workbook(frame),
    }


def workbook(frame: pd.DataFrame) -> bytes:
    """A frame as the one sheet of a workbook, with nothing in it that is not needed."""
    home = "http://schemas.openxmlformats.org/"
    links, kinds = f"{home}package/2006/relationships", f"{home}officeDocument/2006/relationships"
    rows = [frame.columns.tolist(), *frame.astype(object).where(frame.notna(), None).values.tolist()]
    cells = [
        "".join(
            f'<c t="inlineStr"><is><t>{cell}</t></is></c>' if isinstance(cell, str) else f"<c><v>{cell or 0}</v></c>"
            for cell in row
        )
        for row in rows
    ]
    sheet = "".join(f"<row>{row}</row>" for row in cells)
    space = f'xmlns="{home}spreadsheetml/2006/main"'
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{links}"><Relationship Id="a" Type="{kinds}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{links}"><Relationship Id="b" Type="{kinds}/worksheet" '
            'Target="worksheets/s.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {space} xmlns:r="{kinds}"><sheets><sheet name="s" sheetId="1" r:id="b"/></sheets></workbook>',
        )
        archive.writestr("xl/worksheets/s.xml", f"<worksheet {space}><sheetData>{sheet}</sheetData></worksheet>")
    return found.getvalue()


@functools.cache
def saved_explanations() -> tuple[bytes, ...]:
    """An explanation in every format."""
    table = np.random.default_rng(0).normal(size=(30, 2)).round(2)
    generator = xcid.generators.Marginal(m=5)
    explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table, generator=generator)(table[:2])
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"e{suffix}" for suffix in (".npz", ".json", ".parquet")]
        for path in paths:
            explanation.save(path)
        return tuple(path.read_bytes() for path in paths)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "read_table": read_table,
    "read_damaged_table": read_damaged_table,
    "load_explanation": load_explanation,
    "load_damaged_explanation": load_damaged_explanation,
    "one_feature": one_feature,
    "curves": curves,
}
