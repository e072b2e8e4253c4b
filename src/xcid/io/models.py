"""Models from files, none of which can run code; pickles, which can, are loaded only by those who say so."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xcid._check import telling
from xcid._require import require
from xcid.errors import InvalidFile, InvalidParameter, XcidError
from xcid.io import tables
from xcid.io.vetted import VETTED, makers
from xcid.models.libraries import is_instance

PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle", ".sav", ".pt", ".pth")
UNPICKLED = (".pkl", ".pickle", ".joblib", ".sav")  # by joblib, where that is allowed
HIDDEN = tuple(f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "dask", "cupy"))
LOUD = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "joblib", "torch", "skops", "cloudpickle", "dill"}


class Loader(NamedTuple):
    """The library that reads a kind of file, the extra that brings it, and how that is done."""

    library: str
    extra: str
    read: Callable[[Any, Path, Sequence[str]], Any]


def load(path: Path, trusted: Sequence[str], *, unsafe_pickle: bool = False) -> Any:
    """Load a model by the extension of its file, which says how it is read and never that it is safe.

    A skops file may bring the trusted types beside those that skops knows and those in ``vetted``; a file that is named
    as a pickle may run the code that is in it only with ``unsafe_pickle``.
    """
    suffix = path.suffix.lower()
    if suffix in UNPICKLED and unsafe_pickle:
        return _read(path, JOBLIB, trusted)
    if suffix in PICKLES:
        raise InvalidFile(
            f"{path} is a pickle, and loading one runs whatever code is in it: save the model with "
            'skops.io.dump(model, "model.skops"), in the own format of XGBoost, LightGBM or CatBoost, or as ONNX'
            + ("; or, if you made this file yourself, add --unsafe-pickle" if suffix in UNPICKLED else "")
        )
    if suffix not in LOADERS:
        raise InvalidFile(f"{path} is not a model that can be loaded: the extensions are {', '.join(LOADERS)}")
    return _read(path, LOADERS[suffix], trusted)


def dump(model: Any, path: Path) -> Path:
    """Write a model in the safe format of its library: to a file of that name, with the extension that says how."""
    found = (suffix for (package, name), suffix in OWN_FORMATS.items() if is_instance(model, package, name))
    suffix = next(found, ".skops" if hasattr(model, "get_params") else None)
    if suffix is None:
        raise InvalidParameter(
            f"a {type(model).__name__} cannot be saved without code: save a model of scikit-learn, XGBoost, LightGBM "
            "or CatBoost, or export it to ONNX and explain an onnxruntime.InferenceSession"
        )
    file = path.with_suffix(suffix)
    with telling(InvalidParameter, f"this {type(model).__name__} cannot be saved as {suffix}"):
        if suffix == ".skops":
            import_library(LOADERS[suffix]).dump(model, file)
        elif suffix == ".onnx":  # a session keeps what it was made of, and has no other way to give it
            known = vars(model)
            file.write_bytes(known.get("_model_bytes") or Path(known["_model_path"]).read_bytes())
        else:
            model.save_model(str(file))
    return file


def find_untrusted(path: Path) -> list[str]:
    """The types of a file that its reader does not know."""
    if path.suffix != ".skops":
        return []
    found: list[str] = import_library(LOADERS[path.suffix]).get_untrusted_types(file=path)
    return found


def import_library(loader: Loader) -> Any:
    """Import the library that reads a kind of file, in half the time where PyTorch is installed.

    skops lists the estimators of scikit-learn, which imports every package of it that can be imported: also those for
    arrays of PyTorch and Dask, and so these themselves. They are hidden meanwhile.
    """
    hidden = [name for name in HIDDEN if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None: cannot be imported
    try:
        return require(loader.library, extra=loader.extra)
    finally:
        for name in hidden:
            del sys.modules[name]


def _read(path: Path, loader: Loader, trusted: Sequence[str]) -> Any:
    tables.plain(path, "not a model")
    try:
        return loader.read(import_library(loader), path, trusted)
    except XcidError:
        raise
    except Exception as error:  # every library fails in its own way
        raise InvalidFile(f"{path} cannot be loaded as a model: {type(error).__name__}: {error}") from error


def _skops(io: Any, path: Path, trusted: Sequence[str]) -> Any:
    if not zipfile.is_zipfile(path):
        raise InvalidFile(f"{path} is not a skops file (these are ZIP archives): save the model with skops.io.dump")
    with path.open("rb") as file:  # skops unpacks before it looks
        tables.check_size(path, path.stat().st_size, tables.in_zip(file))
    found = set(io.get_untrusted_types(file=path))
    unknown = sorted(found - set(trusted) - set(VETTED))
    if unknown:
        raise InvalidFile(f"{path} brings types that skops does not know: {', '.join(unknown)}; {_advice(unknown)}")
    with zipfile.ZipFile(path) as archive:
        _check_makers(path, json.loads(archive.read("schema.json")), trusted)
    model = io.load(path, trusted=sorted(found))
    _check_parts(path, model)
    return model


def _advice(unknown: Sequence[str]) -> str:
    """Offer to trust types of the user's own; of these packages no model needs more than is vetted."""
    loud = [name for name in unknown if name.partition(".")[0] in LOUD]
    if loud:
        return f"a model has no need of {', '.join(loud)}, which may run code or reach files: do not load this file"
    how = f"--trust {' '.join(unknown)}, in Python trusted={unknown}"
    return f"if you trust them and where the file comes from, add {how}"


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


def _check_parts(path: Path, model: Any) -> None:
    """Refuse parts of a model that would open files, or read what lies beside a row without a crash in the trial."""
    seen, stack = set[int](), [model]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        home, inner = type(part).__module__, dict[Any, Any]()
        if home.startswith(("sklearn.", "xgboost.", "lightgbm.")):
            inner = getattr(part, "__dict__", {})
        if home == "sklearn.feature_extraction.text" and inner.get("input", "content") != "content":
            raise InvalidFile(
                f"{path} has a {type(part).__name__} that would open files that cells name (input={part.input!r}), and "
                "cells are no such names: save it with input='content'"
            )
        trees = [tree.nodes["feature_idx"] for stage in inner.get("_predictors", ()) for tree in stage]
        trees += [inner["tree_"].feature] if hasattr(inner.get("tree_"), "feature") else []
        if any(np.any(features >= inner["n_features_in_"]) for features in trees):
            raise InvalidFile(f"{path} has a tree with a feature beyond those of its model: save the model anew")
        if isinstance(part, np.ndarray) and part.dtype == object:
            part = np.asarray(part).ravel().tolist()  # those under a mask too
        stack.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ())
        stack.extend(inner.values())


def _booster(library: Any, path: Path, trusted: Sequence[str]) -> Any:
    return library.Booster(model_file=str(path))


LOADERS = {
    ".skops": Loader("skops.io", "skops", _skops),
    ".onnx": Loader(
        "onnxruntime",
        "onnx",
        lambda library, path, trusted: library.InferenceSession(str(path), providers=["CPUExecutionProvider"]),
    ),
    ".json": Loader("xgboost", "xgboost", _booster),
    ".ubj": Loader("xgboost", "xgboost", _booster),
    ".txt": Loader("lightgbm", "lightgbm", _booster),
    ".cbm": Loader("catboost", "catboost", lambda library, path, trusted: library.CatBoost().load_model(str(path))),
}
JOBLIB = Loader("joblib", "cli", lambda library, path, trusted: library.load(path))  # its own files and plain pickles
OWN_FORMATS = {
    ("xgboost", "Booster"): ".ubj",
    ("lightgbm", "Booster"): ".txt",
    ("catboost", "CatBoost"): ".cbm",
    ("onnxruntime", "InferenceSession"): ".onnx",
}
