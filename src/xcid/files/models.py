"""Models from files, none of which can run code; pickles, which can, are loaded only by those who say so."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xcid._require import require
from xcid.errors import InvalidFile, XcidError
from xcid.files import trees, unpacked
from xcid.files.vetted import VETTED, makers

PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle", ".sav", ".pt", ".pth")
UNPICKLED = (".pkl", ".pickle", ".joblib", ".sav")  # by joblib, where that is allowed

LIBRARIES = {
    ".skops": "skops.io",
    ".onnx": "onnxruntime",
    ".json": "xgboost",
    ".ubj": "xgboost",
    ".txt": "lightgbm",
    ".cbm": "catboost",
}
LOUD = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "joblib", "torch", "skops", "cloudpickle", "dill"}


def load(path: Path, trusted: Sequence[str], *, unsafe_pickle: bool = False) -> Any:
    """Load a model by the extension of its file, which says how it is read and never that it is safe.

    A skops file may bring the trusted types beside those that skops knows and those in ``vetted``; a file that is named
    as a pickle may run the code that is in it only with ``unsafe_pickle``.
    """
    suffix = path.suffix.lower()
    if suffix in UNPICKLED and unsafe_pickle:
        return _read(path, _pickle, trusted)
    if suffix in PICKLES:
        raise InvalidFile(
            f"{path} is a pickle, and loading one runs whatever code is in it: save the model with "
            'skops.io.dump(model, "model.skops"), in the own format of XGBoost, LightGBM or CatBoost, or as ONNX'
            + ("; or, if you made this file yourself, add --unsafe-pickle" if suffix in UNPICKLED else "")
        )
    if suffix not in LOADERS:
        raise InvalidFile(f"{path} is no model that can be loaded: the extensions are {', '.join(LOADERS)}")
    return _read(path, LOADERS[suffix], trusted)


def _read(path: Path, loader: Callable[[Path, Sequence[str]], Any], trusted: Sequence[str]) -> Any:
    if not path.is_file():
        raise InvalidFile(f"there is no file {path}")
    try:
        return loader(path, trusted)
    except XcidError:
        raise
    except Exception as error:  # every library fails in its own way
        raise InvalidFile(f"{path} cannot be loaded as a model: {type(error).__name__}: {error}") from error


def _skops(path: Path, trusted: Sequence[str]) -> Any:
    if not zipfile.is_zipfile(path):
        raise InvalidFile(f"{path} is no skops file (these are ZIP archives): save the model with skops.io.dump")
    with path.open("rb") as file:  # skops unpacks before it looks
        unpacked.check(path, path.stat().st_size, unpacked.in_zip(file))
    io = require("skops.io", extra="skops")
    found = set(io.get_untrusted_types(file=path))
    unknown = sorted(found - set(trusted) - set(VETTED))
    if unknown:
        raise InvalidFile(f"{path} brings types that skops does not know: {', '.join(unknown)}; {_advice(unknown)}")
    with zipfile.ZipFile(path) as archive:
        _check_makers(path, json.loads(archive.read("schema.json")), trusted)
    model = io.load(path, trusted=sorted(found))
    trees.check(model)
    return model


def _advice(unknown: Sequence[str]) -> str:
    """Offer to trust types of the user's own; of these packages no model needs more than is vetted."""
    loud = [name for name in unknown if name.partition(".")[0] in LOUD]
    if loud:
        return f"a model has no need of {', '.join(loud)}, which may run code or reach files: do not load this file"
    return f"if you trust them and where the file comes from, add --trust {' '.join(unknown)}"


def _check_makers(path: Path, schema: Any, trusted: Sequence[str]) -> None:
    """Refuse a vetted type that is made, or handed on, in another way than it was read for."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            name, maker = f"{node.get('__module__')}.{node.get('__class__')}", node.get("__loader__", "CachedNode")
            if name in VETTED and name not in trusted and maker not in makers(name):
                raise InvalidFile(
                    f"{path} makes {name} by a {maker}, which no model that skops writes does: the file was made to "
                    "do harm; save the model with skops.io.dump"
                )
        stack.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _pickle(path: Path, trusted: Sequence[str]) -> Any:
    """Run what the file says: joblib reads its own files and plain pickles."""
    return require("joblib", extra="cli").load(path)


def _onnx(path: Path, trusted: Sequence[str]) -> Any:
    session = require("onnxruntime", extra="onnx").InferenceSession
    return session(str(path), providers=["CPUExecutionProvider"])


def _booster(package: str) -> Callable[[Path, Sequence[str]], Any]:
    return lambda path, trusted: require(package, extra=package).Booster(model_file=str(path))


LOADERS: dict[str, Callable[[Path, Sequence[str]], Any]] = {
    ".skops": _skops,
    ".onnx": _onnx,
    ".json": _booster("xgboost"),
    ".ubj": _booster("xgboost"),
    ".txt": _booster("lightgbm"),
    ".cbm": lambda path, trusted: require("catboost", extra="catboost").CatBoost().load_model(str(path)),
}
