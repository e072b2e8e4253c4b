"""What is compiled: ``bits.c``, ``exact.c`` and ``nearest.c``, built once for a user where there is a compiler.

Wheels for a platform bring it along (``hatch_build.py``). ``XCID_NATIVE=numpy`` in the environment keeps to NumPy's
form, which gives the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from xcid._check import LOG, describe_error
from xcid.errors import MissingDependency
from xcid.native.planned import Sets
from xcid.native.program import Program
from xcid.records import Array

SOURCES = tuple(Path(__file__).with_name(name) for name in ("bits.c", "exact.c", "nearest.c", "terms.h"))
SHIPPED = Path(__file__).parent  # where a wheel for a platform has a library; its digest is in its name, too
COMPILERS = ("cc", "gcc", "clang")
SWITCH = "XCID_NATIVE"
SECONDS = 60  # that a compiler may take
OPTIONS = ("-std=c11", "-O3", "-shared", "-fPIC")
DIGITS = 32  # of digests in names
MOST_BYTES = 2**24  # of a library
_LOCK = Lock()


def folder() -> Path:
    """The user's folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xcid"


def edition() -> str:
    """What names of libraries of these sources, for this machine, begin with; the digest of the library follows."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:DIGITS]
    return f"bits-{digest}-{platform.system()}-{platform.machine()}-".lower()


def build(target: Path | None = None) -> Path:
    """Compile the library and give its place; no option asks for a certain processor: it hardly gains."""
    compiler, home = next(filter(None, map(shutil.which, COMPILERS)), None), target.parent if target else folder()
    if compiler is None:
        raise MissingDependency(f"building needs a C compiler, and none of {', '.join(COMPILERS)} is on the path")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix="part-") as part:  # others may build at the same time
        made = Path(part) / "bits.so"
        command = [compiler, *OPTIONS, "-o", str(made), *(str(path) for path in SOURCES if path.suffix == ".c")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            raise MissingDependency(f"{compiler} could not build the library: {done.stderr.strip()[-500:]}")
        made.chmod(0o700)
        digest = hashlib.sha256(made.read_bytes()).hexdigest()[:DIGITS]
        return made.replace(target or home / f"{edition()}{digest}.so")


def loaded() -> Any | None:
    """The function of ``bits.c``; None where the library was not built and cannot be."""
    library = whole()
    return None if library is None else library.xcid_sums


def whole() -> Any | None:
    """The library with all its functions. The first thread builds, others wait."""
    with _LOCK:
        return _load()


def forget() -> None:
    """Look for the library again, as in a new process."""
    with _LOCK:
        _load.cache_clear()


def road() -> str:
    """Which form reads trees, in words: "the library in C, shipped with xcid", built in a folder, or "NumPy"."""
    library = whole()
    if library is None:
        return f"NumPy ({SWITCH}=numpy)" if os.environ.get(SWITCH) == "numpy" else "NumPy (no library, no C compiler)"
    made = Path(library._name)  # noqa: SLF001
    return f"the library in C, {'shipped with xcid' if made.parent == SHIPPED else f'built here: {made}'}"


@functools.cache
def _load() -> Any | None:
    if os.environ.get(SWITCH) == "numpy":
        return None
    for path in sorted(SHIPPED.glob(f"compiled-*.{'dll' if os.name == 'nt' else 'so'}")):
        try:
            if _is_intact(path):
                return declared(ctypes.CDLL(str(path)))
            LOG.info("%s is not used: it is not what its name says, or others can write to it", path)
        except (OSError, AttributeError) as error:  # of another system, or not of these sources
            LOG.info("%s is not used: %s", path, describe_error(error))
    try:
        path = next(filter(_is_intact, sorted(folder().glob(f"{edition()}*.so"))), None) or build()
        if not _is_intact(path):
            raise MissingDependency(f"others can write to {path.parent}, or to what is in it")
        return declared(ctypes.CDLL(str(path)))
    except (MissingDependency, OSError, RuntimeError, AttributeError, subprocess.SubprocessError) as error:
        LOG.info("trees are read by NumPy, since the compiled form cannot be had: %s", describe_error(error))
        return None


def declared(library: Any) -> Any:
    """The same library, which knows what its functions take and give; one that lacks any of them is an error."""
    library.xcid_sums.restype = ctypes.c_int
    library.xcid_nearest.restype = ctypes.c_int
    library.xcid_exact_new.restype = ctypes.c_void_p
    library.xcid_exact_values.restype = library.xcid_exact_pairs.restype = ctypes.c_int64
    library.xcid_exact_free.argtypes, library.xcid_exact_free.restype = [ctypes.c_void_p], None
    return library


def _is_intact(path: Path) -> bool:
    """Whether a file holds what its name says, and nobody else can have written it."""
    try:  # a link is not followed, and a pipe not waited for
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            own = os.fstat(file.fileno())
            if not stat.S_ISREG(own.st_mode) or own.st_size > MOST_BYTES or not _is_private(path, own):
                return False
            return path.stem.endswith(f"-{hashlib.sha256(file.read()).hexdigest()[:DIGITS]}")
    except OSError:
        return False


def _is_private(path: Path, own: os.stat_result) -> bool:
    """Whether nobody but this user, or the administrator, can have written a file.

    What is shipped may be written by whoever can write the modules of xcid, and by nobody else.
    """
    if not hasattr(os, "getuid"):
        return True
    owners, bits, places = {0, os.getuid()}, stat.S_IWGRP | stat.S_IWOTH, [own]
    if path.parent == SHIPPED:
        module = Path(__file__).stat()
        owners, bits = owners | {module.st_uid}, bits & ~module.st_mode
    else:
        places = [own, path.parent.stat()]
    return all(one.st_uid in owners and not one.st_mode & bits for one in places)


_GROUP = np.dtype([(name, np.int64) for name in ("start", "stop", "entry", "n_bits", "n_columns", "slot")])
_ARRAYS = ("feature", "place", "threshold", "missing_left", "steps", "groups", "tables", "goes_left")
_COUNTS = ("n_groups", "n_registers", "n_columns", "n_samples", "words", "single")


class _Program(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in _ARRAYS), *((name, ctypes.c_int64) for name in _COUNTS)]


def runner(run: Any, program: Program, known: Sets, n_columns: int) -> Callable[[Array], Array]:
    """The same as :func:`xcid.native.planned.sums` of a program and the sets of a plan."""
    tables = [np.ascontiguousarray(group.table.T).ravel() for group in program.groups]
    entries = np.cumsum([0, *map(len, tables)]).tolist()
    groups = np.array(
        [
            (one.steps.start, one.steps.stop, entry, one.n_bits, one.table.shape[1], one.slot)
            for one, entry in zip(program.groups, entries, strict=False)
        ],
        dtype=_GROUP,
    )
    arrays: tuple[Any, ...] = (
        program.feature,
        known.place,
        program.threshold,
        program.missing_left,
        program.steps,
        groups,
        np.concatenate([np.zeros(0), *tables]),
        known.goes_left,
    )
    arrays = tuple(np.ascontiguousarray(array) for array in arrays)
    words = known.goes_left.shape[1]
    counts = (len(groups), program.n_registers, n_columns, known.n_samples, words, program.single)
    record = _Program(*(array.ctypes.data for array in arrays), *counts)

    def sums(rows: Array, kept: Any = arrays) -> Array:  # the record points into these arrays
        rows = np.ascontiguousarray(rows)
        total = np.empty((len(program.base), len(rows), known.n_samples))
        total[:] = program.base[:, None, None]
        cells, to = (array.ctypes.data_as(ctypes.c_void_p) for array in (rows, total))
        if run(ctypes.byref(record), cells, ctypes.c_int64(len(rows)), to):
            raise MemoryError("there is no room for the sets of samples of one row")
        return total

    return sums
