"""What happens in a worker: a chunk comes in, a finished one is left in the folder, and its record goes back."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xcid.engines.threads import one_core_each
from xcid.errors import XcidError
from xcid.explainer import Explainer
from xcid.files.formats import FORMATS
from xcid.files.rows import Chunk
from xcid.frames import to_columns
from xcid.runs import fragments


class Task(NamedTuple):
    """What is done with each chunk; it travels to the workers."""

    make: Callable[[], Explainer]  # from files
    seed: int
    format: str  # extension of the result
    folder: Path  # for finished chunks
    cores: int  # that a worker's libraries may use


class Ready(NamedTuple):
    """A worker waits for its first chunk."""


class Done(NamedTuple):
    """A chunk is finished."""

    fragment: fragments.Fragment


class Failed(NamedTuple):
    """A chunk cannot be explained: the name of the error's class and what it says."""

    kind: str
    message: str


def serve(connection: Connection, task: Task) -> None:
    """Explain chunks until there are no more, or nobody is left who wants them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches every process of a terminal: the first one decides
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # the first process has said it
    with contextlib.suppress(EOFError, OSError):
        try:
            explainer = task.make()
        except Exception as error:
            connection.send(_failed(error))
            return
        connection.send(Ready())
        with one_core_each(model_cores=task.cores):
            while (chunk := connection.recv()) is not None:
                connection.send(_answer(explainer, task, chunk))


def _answer(explainer: Explainer, task: Task, chunk: Chunk) -> Done | Failed:
    try:
        explanation = replace(explainer(chunk.frame, seed=task.seed), index=np.array(chunk.positions))
        statuses = Counter(explanation.status.tolist())
        fragment = fragments.Fragment(chunk.number, len(chunk.positions), statuses)
        fragments.write(task.folder, fragment, FORMATS[task.format].pack(to_columns(explanation)))
    except Exception as error:
        return _failed(error)
    return Done(fragment)


def _failed(error: Exception) -> Failed:
    expected = isinstance(error, XcidError | MemoryError)
    return Failed(type(error).__name__, str(error) if expected else f"{type(error).__name__}: {error}")


def _end_with_the_parent() -> None:
    """Leave no worker behind when the first process is killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
