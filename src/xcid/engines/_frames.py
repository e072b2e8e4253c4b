"""What all engines run: a pure function from a pandas frame of rows to one of scores, and its way to the workers."""

from __future__ import annotations

import contextlib
import functools
import inspect
import pickle
import threading
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from xcid import pipeline
from xcid._check import as_int, meant, shown
from xcid._require import one_core_each, require
from xcid.errors import InvalidData, InvalidParameter, XcidWarning
from xcid.explainer import Explainer
from xcid.records import Array, Explanation
from xcid.records.fields import FEATURE, Declared, list_fields

Kind: TypeAlias = Literal["integer", "number", "text"]
ROWS = 4096  # of a partition at a time: an explanation takes some kilobytes a row until its scores are in the frame
DTYPES: dict[Kind, Any] = {"integer": np.int64, "number": np.float64, "text": str}
KINDS: dict[Any, Kind] = {np.int64: "integer", np.float64: "number", np.str_: "text"}
DEEPEST = 12  # levels at which the part that cannot be pickled is looked for
LEAVES = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType)


@dataclass(frozen=True, slots=True)
class Work:
    """Explain the rows of a pandas frame; it can be pickled, and needs nothing but what it holds."""

    payload: bytes = field(repr=False)  # the explainer
    columns: tuple[str, ...]  # of the reference data: the only ones that are read, with the one that names rows
    feature_names: tuple[str, ...]
    seed: int
    row: str | None  # the column that names rows; None for the index of the frame
    row_kind: Kind

    @classmethod
    def of(
        cls, explainer: Explainer, pickler: Any, seed: int, row: str | None, row_kind: Kind, columns: Iterable[Any]
    ) -> Work:
        """Check all that can be checked before a worker starts; ``columns`` are those of the table."""
        names, known = explainer.space.names, {str(name) for name in columns}
        if missing := [name for name in names if name not in known]:
            lacks, has = shown(missing), shown(sorted(known))
            raise InvalidData(f"the table lacks the columns {lacks} of the reference data; it has {has}")
        if row is not None and row not in known:
            asked = f"{row!r}{meant(row, known)}"
            raise InvalidData(f"the table has no column {asked} to tell rows apart; it has {shown(sorted(known))}")
        payload = check_picklable(explainer, pickler)
        return cls(payload, names, explainer.subject.features.names, as_int(seed, "seed"), row, row_kind)

    @property
    def needed(self) -> list[str]:
        """Columns to read: those of the reference data, and the one that names rows."""
        return list(dict.fromkeys([*self.columns, *([] if self.row is None else [self.row])]))

    @property
    def schema(self) -> dict[str, Kind]:
        """Names of the columns that come out, with what they hold."""
        of_rows, of_features = wide_fields()
        known: dict[str, Kind] = {"row": self.row_kind} | {each.column: KINDS[each.dtype] for each in of_rows}
        both = ((each, name) for name in self.feature_names for each in of_features)
        return known | {f"{each.column}_{name}": KINDS[each.dtype] for each, name in both}

    def empty(self) -> Any:
        """A frame without rows, of the types that come out."""
        pandas = require("pandas", extra="pandas")
        return pandas.DataFrame({name: pandas.Series([], dtype=DTYPES[kind]) for name, kind in self.schema.items()})

    def __call__(self, frame: Any) -> Any:
        """Give one line for each row of a pandas frame, under the same index."""
        pandas = require("pandas", extra="pandas")
        if not len(frame):
            return self.empty().set_index(frame.index)
        explainer: Explainer = loaded(self.payload)
        with _alone_and_quiet:
            pieces = [self._lines(explainer, frame.iloc[at : at + ROWS]) for at in range(0, len(frame), ROWS)]
        return pieces[0] if len(pieces) == 1 else pandas.concat(pieces)

    def _lines(self, explainer: Explainer, frame: Any) -> Any:
        pandas = require("pandas", extra="pandas")
        by_name = {str(name): name for name in frame.columns}
        table = frame[[by_name[name] for name in self.columns]].copy(deep=False)
        for column in explainer.space.columns:
            cells = table[by_name[column.name]]
            if column.unit and cells.dtype == object:  # a day of Arrow is an object in pandas
                table[by_name[column.name]] = pandas.to_datetime(cells)
        names = _check_names(frame.index if self.row is None else frame[by_name[self.row]], self.row_kind)
        explanation = _explain_part(explainer, table, self.seed)
        of_rows, of_features = wide_fields()
        made: dict[str, Any] = {"row": names} | {each.column: getattr(explanation, each.name) for each in of_rows}
        unknown: Array = np.full(explanation.values.shape, np.nan)
        for each in of_features:
            part = getattr(explanation, each.name)
            found = unknown if part is None else part
            made |= {f"{each.column}_{name}": found[:, at] for at, name in enumerate(self.feature_names)}
        kinds = self.schema.items()
        return pandas.DataFrame(
            {name: pandas.Series(made[name], index=frame.index, dtype=DTYPES[kind]) for name, kind in kinds}
        )


def wide_fields(record: type = Explanation) -> list[list[Declared]]:
    """The fields that a line of a row has: once, and for each feature."""
    wide = [each for each in list_fields(record) if each.wide]
    return [[each for each in wide if (FEATURE in each.axes) is is_per_feature] for is_per_feature in (False, True)]


def _check_names(names: Any, kind: Kind) -> Any:
    """Names of rows as integers or text."""
    if (missing := int(names.isna().sum())) > 0:
        raise InvalidData(f"{missing} of {len(names)} rows have no name: the column that tells rows apart has gaps")
    return names.to_numpy().astype(np.int64) if kind == "integer" else [str(name) for name in names]


def _explain_part(explainer: Explainer, table: Any, seed: int) -> Explanation:
    """Explain rows that are part of a larger table: other parts may have the flips that these rows lack."""
    setup = replace(explainer.setup, max_evidence_bytes=0)
    return pipeline.explain_table(setup, table, seed)


class _AloneAndQuiet:
    """One core for matrix products, and no warnings of ours: each row has its status.

    Both are settings of the process, so threads share them: the first to enter makes them, the last to leave
    undoes them.
    """

    _lock, _inside, _settings = threading.Lock(), 0, contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._settings.enter_context(one_core_each())
                self._settings.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", XcidWarning)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._settings.close()


_alone_and_quiet = _AloneAndQuiet()


def check_picklable(explainer: Any, pickler: Any = pickle) -> bytes:
    """Give an explainer as bytes that a worker can load, or say which part of it cannot travel.

    The pickler has ``dumps``: the engine's own cloudpickle, which also takes lambdas, or the standard library's pickle.
    """
    try:
        payload: bytes = pickler.dumps(explainer)
    except Exception as error:  # every class fails in its own way
        path, part = _find_culprit(explainer, "explainer", pickler)
        raise InvalidParameter(
            f"this explainer cannot be sent to workers: {path} is a {_name_class(type(part))}, which cannot be pickled "
            f"({type(error).__name__}: {error}); wrap the model in an object of a class whose __getstate__ leaves "
            "that part out (keep the path of a file, say) and which makes it when it is first asked"
        ) from error
    try:
        pickle.loads(payload)
    except Exception as error:
        raise InvalidParameter(
            f"this explainer can be pickled, but not be loaded again ({type(error).__name__}: {error}): correct "
            "__setstate__ or __reduce__ of the model"
        ) from error
    return payload


@functools.lru_cache(maxsize=2)
def loaded(payload: bytes) -> Any:
    """Load an explainer once in each process, so that what it computes once serves all partitions there."""
    return pickle.loads(payload)


def _find_culprit(what: Any, path: str, pickler: Any) -> tuple[str, Any]:
    """Follow the parts that fail, down to one whose own parts are all sound."""
    for _ in range(DEEPEST):
        failing = next((found for found in _list_parts(what) if not _can_travel(found[1], pickler)), None)
        if failing is None:
            break
        path, what = path + failing[0], failing[1]
    return path, what


def _can_travel(part: Any, pickler: Any) -> bool:
    try:
        return isinstance(part, LEAVES) or bool(pickler.dumps(part))
    except Exception:
        return False


def _list_parts(what: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object, each with the step that leads to it."""
    if isinstance(what, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in what.items())
    elif isinstance(what, list | tuple):
        yield from ((f"[{at}]", part) for at, part in enumerate(what))
    elif isinstance(what, types.MethodType):
        yield ".__self__", what.__self__
    elif isinstance(what, types.FunctionType):
        used = inspect.getclosurevars(what)
        yield from ((f" -> {name}", part) for name, part in {**used.nonlocals, **used.globals}.items())
    else:
        names = [*getattr(what, "__dict__", ()), *(name for cls in type(what).__mro__ for name in _list_slots(cls))]
        yield from ((f".{name}", getattr(what, name)) for name in names if hasattr(what, name))


def _list_slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _name_class(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
