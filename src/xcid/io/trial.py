"""A model file is tried in a process of its own first: what crashes, hangs or wants too much memory does so there.

Compiled code trusts what it is given, and no list of checks is complete. So another process loads the file and calls
the model with some rows, and with rows put together of their cells, as an explanation does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from xcid import errors
from xcid._require import ending
from xcid.errors import InvalidFile, XcidError
from xcid.io import models, tables
from xcid.models import wrap
from xcid.table import FeatureSpace

ROWS = 128
SECONDS = 120.0  # and one more for each MiB of the file
MEMORY = 2**28  # bytes that one call of the model may take
LEAST_MEMORY = 2**33  # bytes of address space, where half of the machine's memory is less
FAILURE = "a process that loaded it and called it with {rows} rows {end}"


@contextlib.contextmanager
def try_file(path: Path, trusted: Sequence[str]) -> Iterator[Callable[[Any], None]]:
    """Start the process that tries a file; the block gets a function that calls it with rows of a data frame.

    It imports what it needs while the block reads its tables. The block loads the file itself after the function came
    back; a file that changed meanwhile is refused. Pickles are not tried: whoever asks for one runs its code, and twice
    would be once too often.
    """
    loader = models.LOADERS.get(path.suffix.lower())
    if loader is None:
        yield lambda features: None  # whoever loads it has words for it
        return
    size, before = tables.plain(path, "not a model"), _signature(path)
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may wait for ever
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, path, trusted), daemon=True)
    try:
        process.start()
        theirs.close()
        yield lambda features: _call_apart(process, ours, path, SECONDS + size / 2**20, features)
    finally:
        process.kill()
        process.join()
        ours.close()
    if _signature(path) != before:
        raise InvalidFile(f"{path} changed while it was read: start again")


def _call_apart(process: BaseProcess, connection: Connection, path: Path, seconds: float, features: Any) -> None:
    models.import_library(models.LOADERS[path.suffix.lower()])  # here too, while the other process does
    positions = np.linspace(0, tables.size(features) - 1, ROWS).astype(int)
    rows = tables.part(features, sorted(set(positions.tolist())))
    try:
        connection.send(rows)
        heard = connection.recv() if connection.poll(seconds) else ("", f"was not done after {seconds:.0f} s")
    except (EOFError, OSError):
        process.join()
        heard = ("", f"ended ({ending(process.exitcode)})")
    if heard is not None:
        kind, said = heard
        if kind:
            raise getattr(errors, kind)(said)
        raise InvalidFile(
            f"{path} cannot be used as a model: {FAILURE.format(rows=tables.size(rows), end=said)}: the file is "
            "damaged, was made to do harm, or asks for more than this machine has; save it anew from its source"
        )


def _child(connection: Connection, path: Path, trusted: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    for stream in (1, 2):  # what a library has to say, it says again
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    _limit_memory()
    with contextlib.suppress(XcidError):  # where it is not installed, the outcome says so
        models.import_library(models.LOADERS[path.suffix.lower()])
    connection.send(outcome(path, trusted, connection.recv()))


def outcome(path: Path, trusted: Sequence[str], rows: Any) -> tuple[str, str] | None:
    """Load and call: None where the parent may do it too, else an error's class and words, or how this process ended.

    That a model fails in Python's own way, the parent finds out for itself.
    """
    try:
        model = models.load(path, trusted)
    except Exception as error:
        if _is_of_memory(error) or not isinstance(error, XcidError):
            return "", f"failed: {type(error).__name__}"
        return type(error).__name__, str(error)
    try:
        space = FeatureSpace.of(rows)
        predict, _ = wrap(model, space, MEMORY)
        predict(np.random.default_rng(0).permuted(space.background, axis=0))
    except (Exception, SystemExit) as error:
        if _is_of_memory(error):
            return "", "wanted more memory than there is for it"
    return None


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError) or "bad_alloc" in str(error):
            return True
        error = error.__cause__
    return False


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on every system
        import resource

        most = max(LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _signature(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
