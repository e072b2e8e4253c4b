"""Explainers in files: an archive of models in their safe formats, the reference table, and settings as text.

::

    explainer.json       format, version, settings, names of models and table
    model-0.ubj, ...     the model, and those that were trained again, each by a reader of ``models.py``
    pandas.arrow         the reference table: of a data frame's library, or array.npy, cells.json, records.json
    arrays.npz           weights of its rows, and what the model predicted for them
    SHA256SUMS           digests of all of these

A name in the settings imports nothing but parts of xcid's own (see ``documents.py``).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile, InvalidParameter, MissingDependency
from xcid.io import documents, models, packed, tables
from xcid.io.writers import replacing
from xcid.models import is_near
from xcid.records import Array
from xcid.records.fields import COMPUTATION
from xcid.table.features import FeatureSpace, digest_reference
from xcid.table.tables import Weighted

if TYPE_CHECKING:
    from xcid.setup import Setup

FORMAT, VERSION = "xcid explainer", 1
HEAD, ARRAYS, SUMS = "explainer.json", "arrays.npz", "SHA256SUMS"
NONE = "not a saved explainer, or it is damaged"
INSTEAD = {
    "outcome": "use one of xcid.outcomes, or save without it and call with_outcome(...) after loading",
    "generator": "use one of xcid.generators",
    "score": "use one of xcid.scores, with parts of xcid",
    "stop": "use one of xcid.calibration",
    "constraints": 'write functions as formulas, such as relations=["months <= 12 * age"]',
    "class_names": "give a list of texts, or a mapping from labels to texts",
}


def save(setup: Setup, path: str | os.PathLike[str], make: Callable[..., Any]) -> None:
    """Write a file that appears under its name only when it was loaded again and predicts the same."""
    refits = () if setup.sources is None else setup.sources.refits
    with replacing(Path(path)) as temporary, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, subject = Path(name), setup.subject
        settings = _describe_settings(setup)
        files = [models.dump(one.model, folder / f"model-{at}") for at, one in enumerate((subject, *refits))]
        table = _write_table(subject.space, folder)
        head = {"format": FORMAT, "version": VERSION, "settings": settings, "table": table}
        head |= {"models": [file.name for file in files], "searches": setup.search is not None}
        head["reference"] = digest_reference(subject.space)
        (folder / HEAD).write_text(json.dumps(head, ensure_ascii=False), encoding="utf-8")
        arrays: dict[str, Any] = {"known": subject.known, "copied": subject.space.copied}
        arrays |= {} if subject.space.weights is None else {"shares": subject.space.weights}
        np.savez(folder / ARRAYS, **arrays)
        trusted = [kind for file in files for kind in models.find_untrusted(file)]
        _pack(folder, temporary)
        load(temporary, trusted, make)


def load(path: str | os.PathLike[str], trusted: Sequence[str], make: Callable[..., Any]) -> Any:
    """Read what :func:`save` wrote; refuse a model that predicts something else than it did."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            tables.plain(Path(path), NONE)
            _unpack(Path(path), Path(folder))
            return _rebuild(Path(folder), trusted, make)
        except MissingDependency:
            raise
        except InvalidFile as error:
            said = str(error).replace(f"{folder}{os.sep}", f"{path}: ")
            raise InvalidFile(said if str(path) in said else f"{path}: {said}") from error
        except Exception as error:  # a damaged archive fails in zipfile, zlib, NumPy, pyarrow or json, each in its way
            raise InvalidFile(f"{path} is {NONE}: {' '.join(str(error).split()):.200}") from error


def _describe_settings(setup: Setup) -> dict[str, Any]:
    """The settings of an explainer as text and numbers; refuse code."""
    subject, given, found = setup.subject, setup.given, dict[str, Any]()
    parts: dict[str, Any] = {"outcome": given.outcome, "generator": given.generator, "score": setup.score}
    parts |= {"stop": setup.stop, "constraints": subject.constraints, "scale": given.scale}
    parts["feature_names"] = list(subject.space.names)
    parts |= {"class_names": subject.naming.names, "target": subject.naming.target, "kinds": _find_kinds(subject.space)}
    parts |= {name: getattr(setup, name) for name in ("time_limit", "memory", "max_evidence_bytes")}
    parts["limits"] = COMPUTATION if setup.sources is None else setup.sources.limits
    for name, part in parts.items():
        try:
            found[name] = documents.describe_part(part)
        except TypeError as error:
            more = INSTEAD.get(name, "give plain text and numbers")
            raise InvalidParameter(
                f"the {name} of this explainer cannot be saved, since a file without code cannot hold code of your "
                f"own: {error}; {more}"
            ) from error
    return found


def _find_kinds(space: FeatureSpace) -> dict[str, str]:
    """The kinds that were given; whole numbers of lists are said to be such, since an array of floats has them, too."""
    whole = {
        column.name: column.kind
        for column, levels in zip(space.columns, space.rounding, strict=True)
        if column.kind == "integer" and not column.unit and levels == 0
    }
    return whole | dict(space.kinds)


def _write_table(space: FeatureSpace, folder: Path) -> str:
    """Write the reference rows as the table that they came in; give the name of the file."""
    table = space.decode(space.rows)
    frame = nw.from_native(table, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        arrow, rows, name = require("pyarrow", extra="pyarrow"), frame.to_arrow(), f"{frame.implementation.value}.arrow"
        with arrow.ipc.new_file(str(folder / name), rows.schema) as writer:
            writer.write_table(rows)
    elif isinstance(table, np.ndarray) and table.dtype != object:
        name = "array.npy"
        np.save(folder / name, table, allow_pickle=False)
    elif isinstance(table, np.ndarray | list):
        name = "records.json" if isinstance(table, list) else "cells.json"
        text = json.dumps(table if isinstance(table, list) else table.tolist(), default=lambda cell: cell.item())
        (folder / name).write_text(text, encoding="utf-8")
    else:
        raise InvalidParameter(
            f"the reference data of this explainer cannot be saved as a {type(table).__name__}: give a data frame, or "
            "an array such as reference.toarray()"
        )
    return name


def _read_table(path: Path) -> Any:
    """The reference rows in the kind of table that they came in."""
    if path.name == "array.npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".json":
        cells = json.loads(path.read_text(encoding="utf-8"))
        return cells if path.name == "records.json" else np.array(cells, dtype=object)
    if path.name not in (f"{library}.arrow" for library in tables.LIBRARIES):
        raise InvalidFile(f"a table in a file called {path.name!r} is not understood")
    rows = packed.read_feather(path)
    if path.stem == "polars":
        return require("polars", extra="polars").from_arrow(rows)
    if path.stem == "pyarrow":
        return rows
    frame, known = rows.to_pandas(), (rows.schema.pandas_metadata or {}).get("columns", ())
    objects = [name for name, one in zip(frame.columns, known, strict=False) if one["numpy_type"] == "object"]
    return frame.astype(dict.fromkeys(objects, object))  # pyarrow makes text of them


def _sum(parts: Mapping[str, bytes]) -> bytes:
    """Digests of parts, as ``sha256sum`` lists them."""
    lines = (f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in sorted(parts.items()))
    return "".join(lines).encode()


def _pack(folder: Path, path: Path) -> None:
    """Put files and their digests into one archive, the same for the same files."""
    parts = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in (parts | {SUMS: _sum(parts)}).items():
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)


def _unpack(path: Path, folder: Path) -> None:
    """Take the files out of an archive whose size and digests are right."""
    content = path.read_bytes()
    tables.check_size(path, len(content), tables.in_zip(io.BytesIO(content)))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if parts.pop(SUMS, b"") != _sum(parts):
        raise InvalidFile("its parts are not those that were saved, by their digests: save the explainer anew")
    for name, part in parts.items():
        if Path(name).name != name:
            raise InvalidFile(f"it has a part called {name!r:.60}, which no explainer has")
        (folder / name).write_bytes(part)


def _rebuild(folder: Path, trusted: Sequence[str], make: Callable[..., Any]) -> Any:
    head = json.loads((folder / HEAD).read_text(encoding="utf-8"))
    if (head.get("format"), head.get("version")) != (FORMAT, VERSION):
        found = f"{head.get('format')!r:.60}, version {head.get('version')!r:.60}"
        raise InvalidFile(f"this is {found}; {FORMAT!r}, version {VERSION} is understood")
    names = [head["table"], *head["models"]]
    if not {*names} <= {file.name for file in folder.iterdir()}:
        raise InvalidFile(f"{NONE}: it lacks some of {names}")
    table, (model, *refits) = (
        _read_table(folder / head["table"]),
        (models.load(folder / name, trusted) for name in head["models"]),
    )
    with np.load(folder / ARRAYS, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    settings = {name: documents.restore(part) for name, part in head["settings"].items()}
    if "shares" in arrays:
        settings["weights"] = Weighted(np.arange(len(arrays["shares"])), arrays["shares"], arrays["copied"])
    explainer = make(model, table, refits=refits or None, **settings)
    _check(explainer.made, head["reference"], arrays["known"])
    return explainer if head["searches"] else explainer.replace(search=None)


def _check(made: Setup, reference: str, known: Array) -> None:
    """Refuse a table that is understood otherwise than before, and a model that predicts something else for it."""
    if digest_reference(made.subject.space) != reference:
        raise InvalidFile(
            "the reference data are read otherwise than they were saved: load it with the versions of the libraries "
            "that it was saved with, or make the explainer anew"
        )
    found = made.subject.known
    if found.shape != known.shape or not is_near(found, known, made.subject.predict.precision):
        raise InvalidFile(
            "the model predicts other outputs for the reference data than when it was saved: load it with the version "
            "of its library that it was saved with, or make the explainer anew"
        )
