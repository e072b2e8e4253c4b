"""Explanations as documents that other languages read: JSON, and Parquet with a line for each row.

Both hold everything but the samples. The schema has a version, which changes when a name or its
meaning does; names that are added leave it as it is. A number that is none is null.

::

    {"format": "xcid explanation", "version": 1,
     "feature_names": [...], "column_names": [...], "features": [[0], [1, 2]], "output_names": [...],
     "levels": [[...], ...], "units": [...], "scales": [...], "output_scales": [...], "base_outputs": [...],
     "base_log_odds": [...], "scale": "log_odds", "least": 0.0, "settings": {...},
     "question": "Does the predicted class change? (...)", "index_type": "<i8",
     "rows": [{"index": 7, "status": "ok", "n_evaluations": 1001, "n_flips": 160, "n_positive": 187.2,
               "n_negative": 812.8, "data": [...], "outputs": [...], "values": [...], "importance": [...],
               "base_values": -0.87, "about": "diabetes", "exact": true,
               "feature_status": [...], "lower": [...], "upper": [...], "p_values": [...], ...}, ...]}

In Parquet the rows are the table, and the rest is JSON in the file's metadata under "xcid".

Of densities and outcomes the documents have the names and parameters. Only classes and functions of xcid's own rooms
are written down and made again: a name in a file never imports anything else. One of the user's own is left out, and
given again when the file is loaded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields as parameters_of
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, BinaryIO

import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import earlier, packed, tables
from xcid.records import Details, Explanation, fields

FORMAT = "xcid explanation"
VERSION = 1
KEY = b"xcid"  # in the metadata of Parquet
RENAMED = {"significant": "share_significant"}  # fields that had another name in earlier files
DESCRIBED = ("density", "outcome")
OWN = ("scale", "limits", "estimand")  # texts that all rows share
EARLIER_FIELDS = ("direction", *(f"{name}{end}" for name in ("moved", "mean") for end in earlier.ENDS))
INDEX_KINDS = "iufbUM"
ROOMS = ("xcid.cid", "xcid.outcomes", "xcid.calibration", "xcid.table.constraints")
EARLIER = {  # what outcomes of earlier files are called now
    "xcid.outcomes.classes.SoftFlip": ("xcid.outcomes.classes.Flip", {"soft": True}),
    "xcid.outcomes.classes.SoftToClass": ("xcid.outcomes.classes.ToClass", {"soft": True}),
    "xcid.outcomes.numbers.HardThreshold": ("xcid.outcomes.numbers.Threshold", {"soft": False}),
    "xcid.outcomes.numbers.SoftThreshold": ("xcid.outcomes.numbers.Threshold", {"soft": True}),
    "xcid.outcomes.numbers.SoftInterval": ("xcid.outcomes.numbers.Interval", {"soft": True}),
}
NAME, FUNCTION, FLOAT, LIST, ITEMS = "name", "function", "float", "list", "items"


def head(explanation: Explanation) -> dict[str, Any]:
    """What all rows of an explanation share, as lists, texts and numbers."""
    details = explanation.details
    common = {name: getattr(explanation, name) for name in (*_list_shared(Explanation), *OWN)}
    common |= {name: getattr(details, name) for name in (*_list_shared(Details), "least")}
    described = {name: describe(getattr(details, name)) for name in DESCRIBED}
    asked = {"question": explanation.question, "settings": dict(details.settings or {})}
    return {"format": FORMAT, **common, **described, **asked}


def _list_shared(kind: type[Explanation | Details]) -> dict[str, fields.Declared]:
    """The fields of a record that all rows share."""
    return {each.name: each for each in fields.list_fields(kind) if not each.is_per_row}


def from_head(known: Mapping[str, Any], version: int) -> dict[str, Any]:
    """What :func:`head` gave, by the names of the fields; names that are not known are passed over."""
    if known.get("format") != FORMAT or known.get("version") != version:
        raise InvalidFile(
            f"this is {known.get('format')!r}, version {known.get('version')!r}; "
            f"{FORMAT!r}, version {version} is understood"
        )
    shared = (_list_shared(Explanation) | _list_shared(Details)).values()
    common = {each.name: _tuples(list(known[each.name])) for each in shared if each.is_needed or each.name in known}
    described = {name: restore(known.get(name)) for name in DESCRIBED}
    plain = {name: known[name] for name in (*OWN, "least") if name in known}
    return {**common, **described, **plain, "settings": dict(known["settings"])}


def to_document(explanation: Explanation) -> dict[str, Any]:
    """Lists, texts and numbers that are all of an explanation but its samples."""
    parts = fields.per_row(explanation)
    parts.pop("cloud", None)
    columns = {name: _plain(part) for name, part in parts.items()}
    return {
        **head(explanation),
        "version": VERSION,
        "index_type": explanation.index.dtype.str,
        "rows": [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)],
    }


def from_document(document: Mapping[str, Any], n_bytes: int = 0) -> Explanation:
    """What :func:`to_document` was given, without its samples; the document takes as many bytes in its file."""
    common = from_head(document, VERSION)
    rows = [{RENAMED.get(name, name): cell for name, cell in row.items()} for row in document["rows"]]
    index_type = np.dtype(document["index_type"])
    if index_type.kind not in INDEX_KINDS:
        raise InvalidFile(f"an index of the type {index_type} is not understood")
    widths = {fields.FEATURE: len(common["feature_names"]), fields.COLUMN: len(common["column_names"])}
    widths |= {fields.OUTPUT: len(common["output_names"]), fields.REFIT: 0}
    parts: dict[str, Any] = {}
    for name in EARLIER_FIELDS:
        if rows and rows[0].get(name) is not None:
            parts[name] = np.array([row[name] for row in rows], dtype=np.float64)
    for each in fields.list_fields(Explanation):
        if (
            each.is_per_row
            and each.name != "cloud"
            and (each.is_needed or (rows and rows[0].get(each.name) is not None))
        ):
            cells = _array([row[each.name] for row in rows], np.dtype(each.dtype or index_type), n_bytes)
            parts[each.name] = cells if rows else cells.reshape(0, *(widths[axis] for axis in each.axes[1:]))
    return rebuild_explanation(parts, common)


def rebuild_explanation(parts: Mapping[str, Any], common: Mapping[str, Any]) -> Explanation:
    """The explanation of what a file holds per row and of what all rows share, whatever version wrote it."""
    found = earlier.renew(parts, common)
    own = {name: part for name, part in common.items() if name in {*_list_shared(Explanation), *OWN}}
    details = Details(**{name: part for name, part in common.items() if name not in own})
    return Explanation(**found, **{"scale": earlier.scale_of(found), **own}, details=details)


def _array(cells: list[Any], kind: np.dtype[Any], n_bytes: int) -> Any:
    """Cells as an array; each text in one takes as much room as the longest."""
    if kind.kind != "U":
        return np.array(cells, dtype=kind)
    texts = np.array(cells, dtype=object)
    tables.check_size("its text", n_bytes, 4 * texts.size * max((len(str(text)) for text in texts.flat), default=0))
    return texts.astype(np.str_)


def write_json(explanation: Explanation, file: BinaryIO) -> None:
    """Write UTF-8 text in strict JSON."""
    text = json.dumps(to_document(explanation), ensure_ascii=False, allow_nan=False)
    file.write(text.encode("utf-8"))


def read_json(path: Path) -> Explanation:
    """Read what :func:`write_json` wrote."""
    return from_document(json.loads(path.read_bytes()), path.stat().st_size)


def write_parquet(explanation: Explanation, file: BinaryIO) -> None:
    """Write one line a row; the scores of its features are lists."""
    arrow, parquet = require("pyarrow", extra="pyarrow"), require("pyarrow.parquet", extra="pyarrow")
    document = to_document(explanation)
    table = arrow.Table.from_pylist(document.pop("rows"))
    nothing, numbers = arrow.list_(arrow.null()), arrow.list_(arrow.float64())
    types = [numbers if each.type == nothing else each.type for each in table.schema]  # numbers that are all none
    table = table.cast(arrow.schema(list(zip(table.schema.names, types, strict=True))))
    parquet.write_table(table.replace_schema_metadata({KEY: json.dumps(document)}), file)


def read_parquet(path: Path) -> Explanation:
    """Read what :func:`write_parquet` wrote; other tables are refused by their schema."""
    schema, file = packed.parquet_file(path, packed.list_values)
    head = (schema.metadata or {}).get(KEY)
    needed = {each.name for each in fields.list_fields(Explanation) if each.is_needed and each.is_per_row}
    if head is None or (file.metadata.num_rows and not needed <= set(schema.names)):
        raise InvalidFile("this table is not an explanation: its metadata have no 'xcid', or it lacks columns")
    _, table = packed.read_parquet(path, packed.list_values)
    return from_document({**json.loads(head), "rows": table.to_pylist()}, path.stat().st_size)


WRITERS: dict[str, Callable[[Explanation, BinaryIO], None]] = {".json": write_json, ".parquet": write_parquet}


def _tuples(part: Any) -> Any:
    return tuple(_tuples(each) for each in part) if isinstance(part, list) else part


def _plain(part: Any) -> Any:
    """An array as lists: dates as text, numbers that are none as None."""
    return _without_nan((part.astype(str) if part.dtype.kind == "M" else part).tolist())


def _without_nan(cells: Any) -> Any:
    if isinstance(cells, list):
        return [_without_nan(cell) for cell in cells]
    return None if isinstance(cells, float) and not math.isfinite(cells) else cells


def describe(part: Any) -> Any:
    """Name and parameters of an object, or None where it cannot be written down."""
    try:
        return describe_part(part)
    except TypeError:
        return None


def restore(description: Any) -> Any:
    """What :func:`describe` was given."""
    if isinstance(description, list):
        return tuple(restore(each) for each in description)
    if not isinstance(description, Mapping):
        return description
    parameters = dict(description)
    if LIST in parameters:
        return [restore(each) for each in parameters[LIST]]
    if ITEMS in parameters:
        return {restore(key): restore(value) for key, value in parameters[ITEMS]}
    if FLOAT in parameters:
        return float(parameters[FLOAT])
    if FUNCTION in parameters:
        return _find_named(parameters[FUNCTION], FunctionType)
    name = parameters.pop(NAME, "Kernel")  # files of version 0.1 leave the name of a kernel out
    name, more = EARLIER.get(str(name), (name, {}))
    return _find_named(str(name), type)(**{name: restore(part) for name, part in parameters.items()} | more)


def describe_part(part: Any) -> Any:
    """Name and parameters of an object of xcid, or of text and numbers; a TypeError names what is neither."""
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, float) and not math.isfinite(part):
        return {FLOAT: str(part)}
    if part is None or isinstance(part, str | int | float):
        return part
    if isinstance(part, list):
        return {LIST: [describe_part(each) for each in part]}
    if isinstance(part, tuple):
        return [describe_part(each) for each in part]
    if isinstance(part, Mapping):
        return {ITEMS: [[describe_part(key), describe_part(value)] for key, value in part.items()]}
    if isinstance(part, FunctionType) and _is_ours(part.__module__):
        return {FUNCTION: f"{part.__module__}.{part.__qualname__}"}
    if is_dataclass(part) and _is_ours(type(part).__module__):
        known = {each.name: describe_part(getattr(part, each.name)) for each in parameters_of(part) if each.init}
        return {NAME: f"{type(part).__module__}.{type(part).__qualname__}"} | known
    raise TypeError(f"{part!r:.60} cannot be written down")


def _is_ours(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in ROOMS)


def _find_named(name: str, kind: type) -> Any:
    """A class or a function of one of the rooms; a name without a room is that of a density."""
    module, _, own = name.rpartition(".")
    module = (
        module.replace("xcid.densities", "xcid.cid.densities") or "xcid.densities"
    )  # where earlier files look for them
    found = getattr(import_module(module), own, None) if _is_ours(module) or module == "xcid.densities" else None
    if not isinstance(found, kind) or not _is_ours(found.__module__) or (kind is type and not is_dataclass(found)):
        raise InvalidFile(f"unknown {'class' if kind is type else 'function'} {name!r}")
    return found
