"""Explanations as documents that other languages read: JSON, and Parquet with a line for each row.

Both hold everything but the samples behind the scores. The schema has a version, which changes when a name or its
meaning does; names that are added leave it as it is. A number that is none is null.

::

    {"format": "xcid explanation", "version": 1,
     "feature_names": [...], "column_names": [...], "features": [[0], [1, 2]], "output_names": [...],
     "levels": [[...], ...], "units": [...], "scales": [...], "settings": {...}, "index_type": "<i8",
     "rows": [{"index": 7, "status": "ok", "n_evaluations": 1001, "n_flips": 160, "n_positive": 187.2,
               "n_negative": 812.8, "data": [...], "outputs": [...], "values": [...], "importance": [...],
               "direction": [...], "feature_status": [...], "lower": [...], "upper": [...],
               "p_values": [...], ...}, ...]}

In Parquet the rows are the table, and the rest is JSON in the file's metadata under "xcid".
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.files import unpacked
from xcid.records import Explanation

FORMAT = "xcid explanation"
VERSION = 1
KEY = b"xcid"  # in the metadata of Parquet
TEXTS = ("status", "feature_status")
WHOLE = ("n_evaluations", "n_flips")
NUMBERS = ("n_positive", "n_negative", "data", "outputs", "values", "importance", "direction")
OPTIONAL = ("lower", "upper", "p_values", "null_mean", "null_quantile", "spread", "significant")
LISTS = ("feature_names", "column_names", "output_names", "units", "scales")
NESTED = ("features", "levels")
INDEX_KINDS = "iufbUM"


def to_document(explanation: Explanation) -> dict[str, Any]:
    """Lists, texts and numbers that are all of an explanation but its samples."""
    head = {name: list(getattr(explanation, name)) for name in LISTS}
    head |= {name: [list(part) for part in getattr(explanation, name)] for name in NESTED}
    columns: dict[str, Any] = {"index": _plain(explanation.index)}
    for name in (*TEXTS, *WHOLE, *NUMBERS, *OPTIONAL):
        part = getattr(explanation, name)
        if part is not None:
            columns[name] = _plain(part)
    return {
        "format": FORMAT,
        "version": VERSION,
        **head,
        "settings": dict(explanation.settings or {}),
        "index_type": explanation.index.dtype.str,
        "rows": [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)],
    }


def from_document(document: Mapping[str, Any]) -> Explanation:
    """What :func:`to_document` was given, without its samples; names that are not known are passed over."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise InvalidFile(
            f"this is {document.get('format')!r}, version {document.get('version')!r}; "
            f"{FORMAT!r}, version {VERSION} is understood"
        )
    rows = document["rows"]
    n, widths = len(rows), {"data": len(document["column_names"]), "outputs": len(document["output_names"])}
    parts: dict[str, Any] = {name: np.array([row[name] for row in rows], dtype=np.str_) for name in TEXTS}
    parts |= {name: np.array([row[name] for row in rows], dtype=np.int64) for name in WHOLE}
    for name in (*NUMBERS, *OPTIONAL):
        if name in NUMBERS or (rows and rows[0].get(name) is not None):
            parts[name] = np.array([row[name] for row in rows], dtype=np.float64)
    if not n:
        d = len(document["feature_names"])
        parts |= {name: np.empty((0, widths.get(name, d))) for name in NUMBERS if not name.startswith("n_")}
        parts["feature_status"] = np.empty((0, d), dtype=np.str_)
    kind = np.dtype(document["index_type"])
    if kind.kind not in INDEX_KINDS:
        raise InvalidFile(f"an index of the type {kind} is not understood")
    parts |= {name: tuple(document[name]) for name in LISTS}
    parts |= {name: tuple(tuple(part) for part in document[name]) for name in NESTED}
    index = np.array([row["index"] for row in rows], dtype=kind)
    return Explanation(**parts, index=index, settings=dict(document["settings"]))


def write_json(explanation: Explanation, file: BinaryIO) -> None:
    """Write UTF-8 text in strict JSON."""
    text = json.dumps(to_document(explanation), ensure_ascii=False, allow_nan=False)
    file.write(text.encode("utf-8"))


def read_json(file: BinaryIO) -> Explanation:
    """Read what :func:`write_json` wrote."""
    return from_document(json.loads(file.read()))


def write_parquet(explanation: Explanation, file: BinaryIO) -> None:
    """Write one line a row; the scores of its features are lists."""
    arrow, parquet = require("pyarrow", extra="pyarrow"), require("pyarrow.parquet", extra="pyarrow")
    document = to_document(explanation)
    table = arrow.Table.from_pylist(document.pop("rows"))
    parquet.write_table(table.replace_schema_metadata({KEY: json.dumps(document)}), file)


def read_parquet(file: BinaryIO) -> Explanation:
    """Read what :func:`write_parquet` wrote."""
    parquet = require("pyarrow.parquet", extra="pyarrow")
    unpacked.check("the file", file.seek(0, os.SEEK_END), unpacked.in_parquet(file).n_bytes)
    file.seek(0)
    table = parquet.read_table(file)
    head = (table.schema.metadata or {}).get(KEY)
    if head is None:
        raise InvalidFile("this table is no explanation: its metadata have no 'xcid'")
    return from_document({**json.loads(head), "rows": table.to_pylist()})


def _plain(part: Any) -> Any:
    """An array as lists: dates as text, numbers that are none as None."""
    return _without_nan((part.astype(str) if part.dtype.kind == "M" else part).tolist())


def _without_nan(cells: Any) -> Any:
    if isinstance(cells, list):
        return [_without_nan(cell) for cell in cells]
    return None if isinstance(cells, float) and not math.isfinite(cells) else cells
