"""Tables of every Arrow type, whole, damaged and with sizes that lie: each is read by a child with limits.

``python soak/tables.py --count 500``: prints one line; the exit status is 1 where a file takes more than 2 GB or 20
seconds, ends the child, or is refused otherwise than by one error of xcid that names it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from verdict import verdict

MOST_BYTES, MOST_SECONDS, PATIENCE = 2 * 2**30, 20, 60  # seconds of work, and of waiting on a busy machine
LARGE = (2**18, 2**21, 2**23)  # cells of one value
ENDLESS = 2**31 - 1  # cells that take no room
LONG = (2**12, 2**20)  # bytes of one text
MOST_WRITTEN = 2**27  # bytes that a writer of Parquet may make of codes
READER = """
import json, resource, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import pandas, pyarrow.parquet, pyarrow.feather, xcid
from xcid.errors import InvalidData, InvalidFile
from xcid.io import readers
def table(path):
    source = readers.open_source(path)
    readers.read_all(source)
    if path.suffix != ".jsonl":  # rows to explain come in pieces
        for first, _ in source.pieces(0, None): pass
for line in sys.stdin:
    path = Path(line.strip())
    said, start = "read", time.process_time()
    for read in (table, xcid.load):
        try:
            read(path)
        except (InvalidFile, InvalidData) as error:
            text = str(error)
            said = "refused" if path.name in text and "\\n" not in text else f"unnamed: {text!r:.200}"
        except BaseException as error:
            said = f"{type(error).__name__}: {error!s:.200}"
        if said not in ("read", "refused"): break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps([said, peak, time.process_time() - start]), flush=True)
"""


def flat() -> list[pa.DataType]:
    """Every type that holds no other."""
    words = "null bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 date32 date64 string"
    words += " large_string string_view binary large_binary binary_view month_day_nano_interval uuid json_ bool8"
    units = [getattr(pa, word)() for word in words.split() if hasattr(pa, word)]
    times = [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.time32("ms"), pa.time64("us"), pa.duration("us")]
    return [*units, *times, pa.decimal128(9, 2), pa.decimal256(40, 2), pa.binary(7)]


def nested(source: random.Random, depth: int = 0) -> pa.DataType:
    """Any type, of others where chance says so."""
    inner = source.choice(flat()) if depth > 2 or source.random() < 0.5 else nested(source, depth + 1)
    makers: list[Callable[[], pa.DataType]] = [
        lambda: inner,
        lambda: pa.list_(inner),
        lambda: pa.large_list(inner),
        lambda: pa.list_(inner, 2),
        lambda: pa.list_view(inner),
        lambda: pa.struct([("p", inner), ("q", pa.int8())]),
        lambda: pa.map_(pa.string(), inner),
        lambda: pa.dictionary(pa.int32(), inner),
        lambda: pa.run_end_encoded(pa.int32(), inner),
        lambda: pa.sparse_union([pa.field("u", inner), pa.field("v", pa.int8())]),
        lambda: pa.dense_union([pa.field("u", inner)]),
    ]
    return source.choice(makers)()


def cells(source: random.Random, kind: pa.DataType, n_rows: int) -> pa.Array:
    """One value many times, missing ones, or what pyarrow makes of some numbers and texts."""
    for value in source.sample([0, 1, "x", b"1234567", [0, 1], ["x", "y"], {"p": 1, "q": 2}, True, None], 9):
        try:
            return pa.repeat(pa.scalar(value, kind), n_rows)
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError, AttributeError, OverflowError):
            continue
    return pa.nulls(n_rows, kind)


def coded(source: random.Random, n_rows: int) -> pa.Array:
    """One long level, of any type, that many rows share."""
    size = source.choice(LONG)
    level = source.choice(
        [
            pa.array(["x" * size]),
            pa.array(["x" * size], pa.large_string()),
            pa.array(["x" * size], pa.string_view()),
            pa.array([b"x" * size]),
            pa.array([b"x" * size], pa.binary(size)),
            pa.array([[1.0] * (size // 8)]),
            pa.array([{"p": "x" * size}]),
        ]
    )
    if source.random() < 0.3 and pa.types.is_string_view(level.type):  # views that share one text
        views = pa.py_buffer(level.buffers()[1].to_pybytes() * n_rows)
        return pa.Array.from_buffers(level.type, n_rows, [None, views, *level.buffers()[2:]])
    codes = pa.repeat(pa.scalar(0, pa.int32()), n_rows)
    return pa.DictionaryArray.from_arrays(codes, level)


def column(source: random.Random, n_rows: int) -> pa.Array:
    """A column of a bomb: as chance says."""
    way = source.random()
    if way < 0.35:
        return cells(source, source.choice(flat()), n_rows)
    if way < 0.65:
        return cells(source, nested(source), n_rows)
    if way < 0.8:
        return pa.RunEndEncodedArray.from_arrays(pa.array([n_rows], pa.int32()), pa.array([1.5]))
    return coded(source, n_rows)


def written(source: random.Random, path: Path) -> None:
    """Write one or two columns; some writers refuse some types."""
    n_rows = source.choice([2, 40, 5_000, *LARGE]) if source.random() < 0.6 else 40
    columns = [column(source, n_rows) for _ in range(source.choice([1, 2]))]
    table = pa.table([*columns, np.arange(n_rows) % 7], [*"ab"[: len(columns)], "n"])
    packing = source.choice(["zstd", "lz4", "zstd" if n_rows > 5_000 else None])
    if path.suffix != ".parquet" and source.random() < 0.1:
        ends = pa.RunEndEncodedArray.from_arrays(pa.array([ENDLESS], pa.int64()), pa.array([1.5]))
        table = pa.table({"a": source.choice([pa.nulls(ENDLESS), ends])})
    if path.suffix == ".parquet" and max(_size(one) for one in columns) > MOST_WRITTEN:
        raise ValueError("the writer would take the memory that the reader must not")
    if path.suffix == ".parquet":
        options = {"compression": packing or "none", "use_dictionary": source.random() < 0.8}
        pq.write_table(table, path, store_schema=source.random() < 0.7, write_statistics=False, **options)
        return
    options = pa.ipc.IpcWriteOptions(compression=packing, unify_dictionaries=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as file:
        file.write_table(table)


def _size(part: pa.Array) -> int:
    is_written_out = isinstance(part, pa.DictionaryArray) and not pa.types.is_string(part.type.value_type)
    return len(part) * part.dictionary.nbytes if is_written_out else 0


def lies(source: random.Random, content: bytes) -> bytes:
    """Numbers in the metadata that became others: bits, whole words, and what Thrift and FlatBuffers hold."""
    changed = bytearray(content)
    for _ in range(source.randrange(1, 4)):
        at = max(0, len(changed) - 1 - int(source.expovariate(1 / 400)))  # most are near the end
        size = source.choice([1, 1, 2, 4, 8])
        large = source.choice([2**31 - 1, 2**40, 2**62, 0, 2 ** (8 * size) - 1, source.randrange(256)])
        changed[at : at + size] = (large % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(changed)


def lines(source: random.Random, path: Path) -> None:
    """JSON lines: new names, nested cells, long texts, many rows of nothing."""
    n = source.choice([40, 3_000, 30_000])
    way = source.choice(["names", "wide", "nested", "long", "empty", "deep"])
    made = {
        "names": lambda at: {f"k{at}": at},
        "wide": lambda at: {f"k{one}": at for one in range(1_000 if at == 9 else 1)},
        "nested": lambda at: {"a": [at], "b": {"c": at}},
        "long": lambda at: {"a": "x" * (2**20 if at == 7 else 1), "b": at},
        "empty": lambda at: {},
        "deep": lambda at: {"a": at},
    }[way]
    end = "[" * 50_000 + "\n" if way == "deep" else ""
    path.write_text("".join(json.dumps(made(at)) + "\n" for at in range(n)) + end)


def special(folder: Path) -> Iterator[Path]:
    """What is no file: a device, a pipe, a folder, nothing."""
    for suffix in (".csv", ".parquet", ".jsonl", ".npz"):
        (folder / f"device{suffix}").symlink_to("/dev/zero")
        os.mkfifo(folder / f"pipe{suffix}")
        (folder / f"folder{suffix}").mkdir()
        (folder / f"empty{suffix}").touch()
        yield from (folder / f"{name}{suffix}" for name in ("device", "pipe", "folder", "empty", "nothing"))


def attacks(source: random.Random, folder: Path) -> Iterator[Path]:
    """Files without end, one at a time."""
    yield from special(folder)
    number = 0
    while True:
        number += 1
        path = (
            folder / f"t{number}{source.choice(['.parquet', '.parquet', '.feather', '.arrow', '.feather', '.jsonl'])}"
        )
        try:
            (lines if path.suffix == ".jsonl" else written)(source, path)
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            continue  # this type cannot be written to such a file
        if path.suffix != ".jsonl" and source.random() < 0.4:
            path.write_bytes(lies(source, path.read_bytes()))
        yield path
        path.unlink()


class Child:
    """A process with limits that reads files, one after the other."""

    def __init__(self) -> None:
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)  # noqa: E731
        self.process = subprocess.Popen(
            [sys.executable, "-c", READER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limit,
        )  # fmt: skip

    def read(self, path: Path) -> str:
        """What it said of a file: "" where it held."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.end()
            return f"no answer in {PATIENCE} s"
        answer = self.process.stdout.readline()
        if not answer:
            self.process.communicate()
            return f"the process ended with {self.process.returncode}"
        said, n_bytes, seconds = json.loads(answer)
        if n_bytes > MOST_BYTES or seconds > MOST_SECONDS:
            self.end()
            return f"{n_bytes:,} bytes, {seconds:.0f} s"
        return "" if said in ("read", "refused") else said

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def main(arguments: list[str] | None = None) -> int:
    """Try as many files as asked for, or for as long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where files that did not hold are left")
    options = parser.parse_args(arguments)
    tried, failed, end = 0, [], time.monotonic() + options.seconds
    child = Child()
    with tempfile.TemporaryDirectory() as folder:
        for path in attacks(random.Random(options.seed), Path(folder)):
            if tried >= options.count or time.monotonic() > end:
                break
            tried += 1
            said = child.read(path)
            if said:
                failed.append(f"{path.name}: {said}")
                if options.keep and path.is_file():
                    (options.keep / path.name).write_bytes(path.read_bytes())
            if child.process.poll() is not None:
                child = Child()
    child.end()
    return verdict("tables", tried, failed)


if __name__ == "__main__":
    sys.exit(main())
