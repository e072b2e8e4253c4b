"""What happens in a worker: a chunk comes in, a finished one is left in the folder, and its record goes back."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import stat
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xcid import _faults as faults
from xcid._require import one_core_each
from xcid.errors import InvalidFile, XcidError
from xcid.frames import to_columns
from xcid.io.rows import Chunk
from xcid.io.writers import FORMATS, Columns, replacing
from xcid.records import Array, Failure
from xcid.runs.folder import SUFFIX, FileFingerprint, verify_unchanged

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation
    from xcid.pipeline import Blocks


class Task(NamedTuple):
    """What is done with each chunk; it travels to the workers."""

    make: Callable[[], Explainer]  # from files
    seed: int
    format: str  # extension of the result
    folder: Path  # for finished chunks
    cores: int  # that a worker's libraries may use
    run: str  # what its chunks are marked with
    inputs: tuple[FileFingerprint, ...]  # what the explainer is made from
    time_limit: float | None = None  # seconds that a row may take
    columns: Callable[[Explanation], Columns] = to_columns  # what is kept of an explanation


class Ready(NamedTuple):
    """A worker waits for its first chunk."""


class RowDone(NamedTuple):
    """A worker whose rows have a time limit is at the next one."""


class Fragment(NamedTuple):
    """What is known of a finished chunk without its content: how many of its rows ended how."""

    number: int
    rows: int
    statuses: Counter[str]
    reason: str = ""  # that the first of its rows is not explained, if there is one
    one_side: str = ""  # that none of its rows has flips, if so


class ChunkDone(NamedTuple):
    """A chunk is finished."""

    fragment: Fragment


class ChunkFailed(NamedTuple):
    """A chunk cannot be explained: the name of the error's class and what it says."""

    kind: str
    message: str


def serve(connection: Connection, task: Task) -> None:
    """Explain chunks until there are no more, or nobody is left who wants them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches every process of a terminal: the first one decides
    from xcid.pipeline import explain_block  # late: a run that is finished needs none of it

    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # the first process has said it
    with contextlib.suppress(EOFError, OSError):
        try:
            explainer = make_explainer(task)
            if task.time_limit is not None:  # what is done once for all rows is not the first one's time
                explain_block(explainer.setup, explainer.space.background[:1], task.seed)
        except Exception as error:
            connection.send(_to_failed(error))
            return
        connection.send(Ready())
        with one_core_each(model_cores=task.cores):
            while (order := connection.recv()) is not None:
                chunk, slow = order
                connection.send(explain_chunk(explainer, task, chunk, slow, lambda: connection.send(RowDone())))


def make_explainer(task: Task) -> Explainer:
    """The explainer of a task, from the files that the run began with."""
    with verify_unchanged(task.inputs):
        return task.make()


def explain_chunk(
    explainer: Explainer,
    task: Task,
    chunk: Chunk,
    too_slow: frozenset[int] = frozenset(),
    row_done: Callable[[], None] = lambda: None,
) -> ChunkDone | ChunkFailed:
    """Explain a chunk, but for those of its rows that took too long, and keep it."""

    def one_by_one(explain: Callable[[Array], Blocks], rows: Sequence[Array]) -> Iterator[Blocks]:
        for at, row in enumerate(rows):
            yield [faults.Failed(row, faults.too_slow(task.time_limit))] if at in too_slow else explain(row)
            row_done()

    one_side, failures = list[str](), list[Failure]()
    explainer = explainer.replace(one_sided=one_side.append, failed=failures.append)  # other chunks may have flips
    try:
        with faults.quietly():
            if task.time_limit is None:
                explanation = explainer(chunk.frame, seed=task.seed)
            else:  # one row at a time, so that it is known which takes too long, and none depends on others that do
                explanation = explainer.replace(memory=1)(chunk.frame, seed=task.seed, apply=one_by_one)
        explanation = replace(explanation, index=chunk.names)
        fragment = Fragment(
            chunk.number,
            len(explanation),
            Counter(explanation.status.tolist()),
            f"row {chunk.names[failures[0].place]}: {failures[0].reason}" if failures else "",
            "".join(one_side),
        )
        write_fragment(task.folder, task.run, fragment, FORMATS[task.format].pack(task.columns(explanation)))
    except Exception as error:
        return _to_failed(error)
    return ChunkDone(fragment)


def _to_failed(error: Exception) -> ChunkFailed:
    expected = isinstance(error, XcidError | MemoryError)
    return ChunkFailed(type(error).__name__, str(error) if expected else f"{type(error).__name__}: {error}")


def _end_with_the_parent() -> None:
    """Leave no worker behind when the first process is killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def write_fragment(folder: Path, run: str, fragment: Fragment, packed: bytes) -> None:
    """Keep a finished chunk of a run, after a line that says what is in it and a checksum; it is whole or not there."""
    head = json.dumps({"run": run, **fragment._asdict()}).encode()
    rest = head + b"\n" + zlib.compress(packed, 1)
    with replacing(_fragment_path(folder, fragment.number)) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(rest).hexdigest().encode() + b"\n")
        file.write(rest)


def find_finished(folder: Path, run: str, n_chunks: int) -> Iterator[Fragment]:
    """Chunks that are there; one that is damaged or of another run is taken away, so that it is made again."""
    for number in range(n_chunks):
        path = _fragment_path(folder, number)
        try:
            if os.path.lexists(path):
                yield _read_fragment(path, run, number)[0]
        except InvalidFile:
            try:
                path.unlink()
            except OSError as error:
                raise InvalidFile(f"{path} is not a chunk of a run: remove it") from error


def read_contents(folder: Path, run: str, numbers: Iterable[int]) -> Iterator[bytes]:
    """What is in chunks."""
    for number in numbers:
        path = _fragment_path(folder, number)
        try:
            yield zlib.decompress(_read_fragment(path, run, number)[1])
        except zlib.error as error:  # its checksum is right: somebody has written it anew
            path.unlink()
            raise _damaged(path, error) from error


def _fragment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"


def _read_fragment(path: Path, run: str, number: int) -> tuple[Fragment, bytes]:
    """A chunk and its packed content, checked."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ValueError("it is not a plain file")
        checksum, _, rest = path.read_bytes().partition(b"\n")
        if checksum.decode() != hashlib.sha256(rest).hexdigest():
            raise ValueError("the checksum differs")
        line, _, content = rest.partition(b"\n")
        head = json.loads(line)
        if (head.pop("run"), head["number"]) != (run, number):
            raise ValueError("it is of another run")
        head["statuses"] = Counter({str(name): int(count) for name, count in head["statuses"].items()})
        return Fragment(**head), content
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidFile:
    return InvalidFile(f"the chunk {path} is damaged ({error}): run the same command again")
