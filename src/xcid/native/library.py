"""The compiled form of a program: ``bits.c``, built once for a user where there is a compiler.

``XCID_NATIVE=numpy`` in the environment keeps to NumPy's form, which gives the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xcid._progress import LOG
from xcid.errors import MissingDependency, said
from xcid.native.planned import Sets
from xcid.native.program import Program
from xcid.records import Array

SOURCE = Path(__file__).with_name("bits.c")
COMPILERS = ("cc", "gcc", "clang")
SWITCH = "XCID_NATIVE"
SECONDS = 60  # that a compiler may take
OPTIONS = ("-std=c11", "-O3", "-shared", "-fPIC")


def place() -> Path:
    """Where the library of this edition of the source lies: in the user's folder for what can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    edition = f"{zlib.crc32(SOURCE.read_bytes()):08x}"
    return Path(home) / "xcid" / f"bits-{edition}-{platform.system()}-{platform.machine()}.so".lower()


def build(target: Path | None = None) -> Path:
    """Compile the library and give its place; no option asks for a certain processor: it hardly gains."""
    compiler, target = next(filter(None, map(shutil.which, COMPILERS)), None), target or place()
    if compiler is None:
        raise MissingDependency(f"building needs a C compiler, and none of {', '.join(COMPILERS)} is on the path")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = target.with_suffix(f".{os.getpid()}.part")  # others may build at the same time
    command = [compiler, *OPTIONS, "-o", str(made), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise MissingDependency(f"{compiler} could not build {SOURCE.name}: {done.stderr.strip()[-500:]}")
    made.replace(target)
    loaded.cache_clear()
    return target


@functools.cache
def loaded() -> Any | None:
    """The library's function; None where it was not built and cannot be."""
    if os.environ.get(SWITCH) == "numpy":
        return None
    try:
        path = place()
        if not path.exists():
            build(path)
        return ctypes.CDLL(str(path)).xcid_sums if _is_own(path) else None
    except (MissingDependency, OSError, RuntimeError, subprocess.SubprocessError) as error:
        LOG.info("trees are read by NumPy, since the compiled form cannot be had: %s", said(error))
        return None


def _is_own(path: Path) -> bool:
    """Whether nobody but this user, or the administrator, can have put a file there."""
    return not hasattr(os, "getuid") or {path.stat().st_uid, path.parent.stat().st_uid} <= {0, os.getuid()}


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
