"""Models read from inside: the outputs of all samples of a plan, without making or predicting a single one.

``read(model, table)`` gives an object with ``planned(plan) -> (rows (n, d) -> outputs (n, s, k))``, or None where a
model is not known here. Models are known by their exact class: what a subclass changes cannot be read.

To add a library, write a module with three tables, by package and class, and add it to ``MODULES``: ``READINGS`` make
an :class:`~xcid.native.ensemble.Ensemble` or a :class:`~xcid.native.models.Linear` of a model's own columns; ``LOOKS``
give all that its outputs follow from, for :class:`Fingerprint`; and ``CELLS``, where the model sees other numbers than
those of its table, say which.

Whether a model is still the one that was read is known by its fingerprint, a digest of all that its outputs follow
from: parameters, fitted attributes, the buffers of trees, and what boosters write about themselves. Attributes that
users add are left out, so that the size of the model bounds the time it takes; a model that is too large to be looked
at before every call has no fingerprint, and is not read.

The digest is a CRC-32: of changes by chance it misses one in 4 billion, none that lies within 32 bits, and takes a
third of the time of SHA-256. Nobody has a reason to aim at it: whoever can change the model runs code in this process.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from xcid.native import boosters, models, nested, scikit
from xcid.native.ensemble import Ensemble
from xcid.native.models import Alone, Native
from xcid.native.seen import Chain, Columns, Kind, Look, Seen, as_numbers, name_of
from xcid.native.trees import Trees
from xcid.records import Array, Integers

MODULES = (scikit, boosters, models)
READINGS: dict[Kind, Callable[[Any], Any]] = {kind: one for module in MODULES for kind, one in module.READINGS.items()}
CELLS: dict[Kind, Callable[[Any, Seen], Seen]] = {kind: one for module in MODULES for kind, one in module.CELLS.items()}
LOOKS: dict[Kind, Look] = {kind: one for module in MODULES for kind, one in module.LOOKS.items()}
PACKAGES = {"sklearn", "scipy", *(package for package, _ in READINGS)}  # whose objects are looked into
DEEPEST, MOST_PARTS, MOST_BYTES = 24, 2**16, 2**27
METHODS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform", "eval_terms")
_METHODS = frozenset(METHODS)
IDLE = {
    "n_jobs", "verbose", "verbosity", "random_state", "_rng", "warm_start", "nthread", "thread_count", "cv_results_",
}  # fmt: skip  # what changes no output, and may be set at any time
_WRITTEN = (np.generic, np.dtype, np.ufunc, type, slice, range)  # what its text tells all of
ATOMS = {type(None), str, bool, int, float, complex, np.float64, np.float32, np.int64, np.int32, np.bool_}


def read(
    model: Any,
    names: Sequence[str],
    decode: Callable[[Array], Any] | None = None,
    coded: Mapping[str, int] | None = None,
) -> Native | None:
    """Read a model of a table whose columns have these names; None where there is no way to.

    ``decode`` makes the tables that the model is given from rows, which hold codes in the ``coded`` columns: so many
    levels each, or dates, of which there are 0.
    """
    order = _order(model, names)
    if len(order) != len(names):
        return None
    picked = Columns(order)
    if decode is None or not coded:
        return _read(model, Seen(order, decode or picked, picked))
    levels = {list(names).index(name): size for name, size in coded.items()} if all(coded.values()) else {}
    return _read(model, Seen(order, decode, Chain((decode, as_numbers)), levels))


def _read(model: Any, seen: Seen) -> Native | None:
    package, name = name_of(model)
    if {"predict", "predict_proba", "decision_function"} & vars(model).keys():
        return None
    if package == "sklearn" and name in nested.READINGS:
        return nested.READINGS[name](_read, model, seen)
    reading = READINGS.get((package, name))
    found = None if reading is None else reading(model)
    if found is None:
        return None
    see = CELLS.get((package, name))
    seen = see(model, seen) if see is not None else seen.by(as_numbers) if seen.levels else seen
    core = Trees.of(found, len(seen.source)) if isinstance(found, Ensemble) else found
    return None if core is None else Alone(seen, core)


def _order(model: Any, names: Sequence[str]) -> Integers:
    """The table's column of each of the model's."""
    known = getattr(model, "feature_names_in_", getattr(model, "feature_names_", None))
    if known is None:  # boosters have no such attribute
        known = getattr(model, "feature_names", None) or getattr(model, "feature_name", lambda: names)()
    own = [str(name) for name in known]
    places = {name: at for at, name in enumerate(names)}
    return np.array([places[name] for name in own] if set(own) == set(names) else range(len(own)), dtype=np.int64)


class Unknowable(Exception):
    """A model that is too large, or too deep, to be looked at before every call."""


class Fingerprint:
    """What a model was made of when it was looked at.

    ``digest`` is of its content. ``kept`` are the classes, functions and foreign objects that it refers to: they stay
    alive, so that no other object can take their place. ``is_whole`` where the insides of none of these matter.
    """

    __slots__ = ("_kinds", "_n_bytes", "_n_parts", "_short", "digest", "is_whole", "kept")

    def __init__(self, model: Any) -> None:
        self.digest, self.kept, self.is_whole = 0, list[Any](), True
        self._n_parts, self._n_bytes, self._kinds, self._short = 0, 0, set[type](), bytearray()
        self._look(model, 0)
        self.digest = zlib.crc32(self._short, self.digest)

    @staticmethod
    def of(model: Any) -> Fingerprint | None:
        """Look at a model; None where it is of no known package, too large, or not to be looked at as it is."""
        if name_of(model)[0] not in PACKAGES:
            return None
        try:
            return Fingerprint(model)
        except Exception:  # of a booster that lost its trees, say: whoever calls it will hear of it
            return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint) or self.digest != other.digest or len(self.kept) != len(other.kept):
            return False
        return all(one is another for one, another in zip(self.kept, other.kept, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _look(self, part: Any, depth: int) -> None:
        kind = type(part)
        self._n_parts += 1
        if self._n_parts > MOST_PARTS or depth > DEEPEST:
            raise Unknowable
        if kind in ATOMS:
            self._note(repr(part))
        elif kind is np.ndarray:
            self._look_at_array(part, depth)
        elif kind is bytes or kind is bytearray:
            self._add(part, len(part))
        elif isinstance(part, list | tuple):
            self._look_at_all(part, depth)
        elif isinstance(part, dict):
            self._look_at_all((one for pair in part.items() for one in pair), depth)
        elif isinstance(part, set | frozenset):
            self._look_at_all(sorted(part, key=repr), depth)
        else:
            self._look_into(part, kind, depth)

    def _look_at_all(self, parts: Iterable[Any], depth: int) -> None:
        for one in parts:
            self._look(one, depth + 1)
        self._note("]")

    def _look_at_array(self, array: Any, depth: int) -> None:
        self._note(f"{array.dtype.char}{array.shape}")
        if array.dtype == object:
            self._look_at_all(array.ravel().tolist(), depth)
        elif array.size:
            whole = np.ascontiguousarray(array)
            self._add(whole.view(np.int64) if array.dtype.kind in "mM" else whole, whole.nbytes)  # times lack buffers

    def _look_into(self, part: Any, kind: type, depth: int) -> None:
        """An object: its class, the methods that it or its class was given, and its state."""
        known = _known(kind)
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.kept += [kind, *(_method(kind, name) for name in METHODS)]
        state: dict[str, Any] = getattr(part, "__dict__", {})
        self._note(kind.__name__)
        if not _METHODS.isdisjoint(state):
            self.kept += [state[name] for name in METHODS if name in state]
            self.is_whole = False  # functions of the user's own
        if known.look is not None:
            self._look_at_all(known.look(part), depth)
        elif not known.is_open or not state:
            self.kept.append(part)  # nothing to look into: it is the same object, or it is not
            self.is_whole &= known.is_open or _is_steady(part)
        else:
            for name, value in state.items():
                if (name[0] == "_" or name[-1] == "_" or name in known.parameters) and name not in IDLE:
                    self._note(name)
                    self._look(value, depth + 1)

    def _note(self, text: str) -> None:
        self._short += text.encode(errors="surrogatepass")
        if len(self._short) > MOST_BYTES:
            raise Unknowable

    def _add(self, data: Any, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > MOST_BYTES:
            raise Unknowable
        self.digest = zlib.crc32(data, self.digest)


class Content(NamedTuple):
    """What a model is made of, for records: it is the same in another process, and on another machine."""

    sha256: str  # "" where a part of it cannot be looked at, such as a function
    packages: tuple[str, ...]  # whose objects it holds


class _RecordLook(Fingerprint):
    """The same look by a digest that nobody can aim at."""

    __slots__ = ("sha256",)

    def __init__(self, model: Any) -> None:
        self.sha256 = hashlib.sha256()
        super().__init__(model)
        self.sha256.update(self._short)

    def _add(self, data: Any, n_bytes: int) -> None:
        super()._add(data, n_bytes)
        self.sha256.update(data)

    def _look_into(self, part: Any, kind: type, depth: int) -> None:
        if isinstance(part, _WRITTEN):
            self._note(repr(part))
        elif isinstance(part, FunctionType) and _is_released(part):
            self._note(f"{part.__module__}.{part.__qualname__}")
        elif not isinstance(part, np.random.Generator | np.random.RandomState):
            super()._look_into(part, kind, depth)
            known = _known(kind)
            self.is_whole &= known.is_open or known.look is not None

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(sorted({kind.__module__.partition(".")[0] for kind in self._kinds}))


def _is_steady(part: Any) -> bool:
    """Whether an object stays what it is as long as it is the same one, for all that a prediction takes of it."""
    if isinstance(part, (*_WRITTEN, np.random.Generator, np.random.RandomState)):
        return True
    home = getattr(part, "__module__", None) if callable(part) and hasattr(part, "__name__") else None
    return str(home).partition(".")[0] in {"numpy", "builtins", "xcid", *PACKAGES}


def _is_released(function: FunctionType) -> bool:
    """Whether a function is what its name says, in a package whose version is told beside the digest."""
    module = sys.modules.get(function.__module__)
    is_known = function.__module__.partition(".")[0] in {"xcid", *PACKAGES}
    return is_known and getattr(module, function.__qualname__, None) is function


def look_for_record(model: Any) -> Content:
    """Look at all that the outputs of a model follow from; a model of no known package has no digest."""
    package = name_of(model)[0]
    if package not in PACKAGES:
        return Content("", (package,))
    try:
        found = _RecordLook(model)
    except Exception:
        return Content("", (package,))
    return Content(found.sha256.hexdigest() if found.is_whole else "", found.packages)


class ClassLook(NamedTuple):
    """How objects of a class are looked at."""

    look: Look | None
    is_open: bool  # of a package whose objects are looked into
    parameters: frozenset[str]


@lru_cache(maxsize=512)
def _known(kind: type) -> ClassLook:
    package, name = kind.__module__.partition(".")[0], kind.__name__
    look, is_open = LOOKS.get((package, name)), package in PACKAGES
    has_own = look is None and is_open and "__init__" in vars(kind)
    return ClassLook(look, is_open, frozenset(inspect.signature(kind).parameters) if has_own else frozenset())


def _method(kind: type, name: str) -> Any:
    """What a class, or one that it inherits from, has under a name, as it is."""
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)
