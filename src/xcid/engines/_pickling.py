"""An explainer as bytes for other processes, or a message that names what in it cannot travel."""

from __future__ import annotations

import functools
import inspect
import pickle
import types
from collections.abc import Iterator, Mapping
from typing import Any

from xcid.errors import InvalidParameter

DEEPEST = 12  # levels at which the part that cannot be pickled is looked for
LEAVES = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType)


def check_picklable(explainer: Any, pickler: Any = pickle) -> bytes:
    """Give an explainer as bytes that a worker can load, or say which part of it cannot travel.

    The pickler has ``dumps``: the engine's own cloudpickle, which also takes lambdas, or the standard library's pickle.
    """
    try:
        payload: bytes = pickler.dumps(explainer)
    except Exception as error:  # every class fails in its own way
        path, part = _culprit(explainer, "explainer", pickler)
        raise InvalidParameter(
            f"this explainer cannot be sent to workers: {path} is a {_name_of(type(part))}, which cannot be pickled "
            f"({type(error).__name__}: {error}); wrap the model in an object of a class whose __getstate__ leaves "
            "that part out (keep the path of a file, say) and which makes it when it is first asked"
        ) from error
    try:
        pickle.loads(payload)
    except Exception as error:
        raise InvalidParameter(
            f"this explainer can be pickled, but not be loaded again ({type(error).__name__}: {error}): mend "
            "__setstate__ or __reduce__ of the model"
        ) from error
    return payload


@functools.lru_cache(maxsize=2)
def loaded(payload: bytes) -> Any:
    """Load an explainer once in each process, so that what it computes once serves all partitions there."""
    return pickle.loads(payload)


def _culprit(what: Any, path: str, pickler: Any) -> tuple[str, Any]:
    """Follow the parts that fail, down to one whose own parts are all sound."""
    for _ in range(DEEPEST):
        failing = next((found for found in _parts(what) if not _travels(found[1], pickler)), None)
        if failing is None:
            break
        path, what = path + failing[0], failing[1]
    return path, what


def _travels(part: Any, pickler: Any) -> bool:
    try:
        return isinstance(part, LEAVES) or bool(pickler.dumps(part))
    except Exception:
        return False


def _parts(what: Any) -> Iterator[tuple[str, Any]]:
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
        names = [*getattr(what, "__dict__", ()), *(name for cls in type(what).__mro__ for name in _slots(cls))]
        yield from ((f".{name}", getattr(what, name)) for name in names if hasattr(what, name))


def _slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _name_of(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
