"""Attack large runs: files are replaced as they work, their folders are tampered with, and workers are killed.

``python soak/runs.py --seconds 60``: an attack holds if the command ends with the result that is due, byte for byte, or
with status 2, one line on stderr and no result; after that, with everything put back, the result that is due must come;
and nothing outside the folder may change. Most attacks run in this process; every twentieth has processes of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from verdict import verdict

from xcid.cli import main as xcid
from xcid.errors import InvalidFile
from xcid.runs import run as runs
from xcid.runs import worker

ROWS, CHUNK, BACKGROUND = 40, 4, 60
PATIENCE = 60  # seconds for a command
PROCESSES = 20  # of so many attacks one has processes of its own
SECRET = "nobody may change this"
INPUTS = ("model.joblib", "train.csv", "rows.csv")


class Place:
    """A folder with two versions of all inputs, a calm run of the first, and what it wrote."""

    def __init__(self, path: Path, n_rows: int = ROWS) -> None:
        self.path, self.out, self.run, self.victim = path, path / "out.csv", path / "run", path / "victim"
        self.n_chunks = -(-n_rows // CHUNK)
        for version, seed in (("a", 0), ("b", 1)):
            (path / version).mkdir()
            table = pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows + BACKGROUND, 4)).round(4))
            table.columns = list("abcd")
            known = table[:BACKGROUND]
            weights = known["a"] + (-1) ** seed * known["b"]
            joblib.dump(LogisticRegression().fit(known, weights > 0), path / version / "model.joblib")
            known.to_csv(path / version / "train.csv", index=False)
            table[BACKGROUND:].to_csv(path / version / "rows.csv", index=False)
        self.victim.write_text(SECRET)
        self.restore()
        self.due, self.swapped = self.finished(path / "calm"), dict[str, bytes]()
        for name in INPUTS:
            self.replace(name, "b", shutil.copy)
            self.swapped[name] = self.finished(path / f"swapped-{name}")
            self.restore()
        for name in INPUTS:
            self.replace(name, "b", shutil.copy)
        self.finished(path / "other")
        self.restore()

    def command(self, folder: Path, n_workers: int = 1) -> list[str]:
        model, train, rows = (str(self.path / name) for name in INPUTS)
        files = ["--model", model, "--unsafe-pickle", "--background", train, "--data", rows]
        where = ["--run", str(folder), "--out", str(self.out), "--chunk", str(CHUNK), "--workers", str(n_workers)]
        return ["explain", *files, *where, "--quiet"]

    def restore(self) -> None:
        for name in INPUTS:
            self.replace(name, "a", shutil.copy)
        shutil.rmtree(self.run, ignore_errors=True)
        for path in (*self.path.glob(".out.csv.*"), self.out):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)

    def replace(self, name: str, version: str, how: Callable[[Path, Path], object]) -> None:
        if (self.path / name).is_symlink():
            (self.path / name).unlink()
        how(self.path / version / name, self.path / name)

    def finished(self, folder: Path) -> bytes:
        assert self.ended(folder)[0] == 0
        return self.out.read_bytes()

    def ended(self, folder: Path) -> tuple[int, str]:
        """Run the command in this process: exit status and stderr."""
        err = io.StringIO()
        worker_here = mock.patch.object(runs, "explain_chunks", in_this_process)
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()), _patience(), worker_here:
            return xcid(self.command(folder)), err.getvalue()

    def began_with(self, name: str) -> bool:
        """Whether the run is, as a whole, one of the other version of a file, which was there before it began."""
        digest = hashlib.sha256((self.path / "b" / name).read_bytes()).hexdigest()
        known = json.loads((self.run / "manifest.json").read_text())["inputs"].values()
        return digest in [file["sha256"] for file in known] and self.out.read_bytes() == self.swapped[name]

    def fault(self, status: int, said: str) -> str:
        """What is wrong with how a command ended, if anything."""
        if self.victim.read_text() != SECRET:
            self.victim.write_text(SECRET)
            return "a file of others was changed"
        if status == 0:
            return "" if self.out.read_bytes() == self.due else "another result than is due, with status 0"
        if status != 2 or said.count("\n") != 1 or not said.startswith("xcid: "):
            return f"status {status}: {said[-300:]!r}"
        return "status 2, and a result" if self.out.exists() else ""


def in_this_process(chunks, task, n_workers, log):  # type: ignore[no-untyped-def]
    """A worker that is a call."""
    explainer = worker.make_explainer(task)
    for chunk in chunks:
        answer = worker.explain_chunk(explainer, task, chunk)
        if isinstance(answer, worker.ChunkFailed):
            raise InvalidFile(answer.message)
        yield answer.fragment


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"it took more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# What may stand where a file of the run should be.


def _special(path: Path, draw: random.Random, place: Place) -> str:
    """Something that is no file, or another one."""
    kind = draw.choice(["folder", "full folder", "zero", "full", "fifo", "victim", "nothing", "loop"])
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if "folder" in kind:
        path.mkdir()
        if kind == "full folder":
            (path / "precious.chunk").write_text("precious")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        targets = {"zero": "/dev/zero", "full": "/dev/full", "victim": place.victim, "loop": path}
        path.symlink_to(targets.get(kind, place.path / "nothing"))
    return kind


def _bytes(data: bytes, draw: random.Random) -> bytes:
    """Damaged bytes."""
    at = draw.randrange(len(data))
    cut = [data[:at], data[at:], data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :], b"", b"\n"]
    return draw.choice([*cut, data + b"x", b"\0" * len(data), data[:at] + data])


def _value(draw: random.Random) -> object:
    deep: object = 0
    for _ in range(draw.choice([3, 900, 5_000])):
        deep = [deep]
    return draw.choice([None, {}, [], "", "\ud800", -1, 10**400, 1e999, True, {"a": None}, [[]], "x" * 10**5, deep])


def _dumped(value: object) -> bytes:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return json.dumps(value).encode()
    finally:
        sys.setrecursionlimit(limit)


def _changed(document: dict[str, object], draw: random.Random) -> bytes:
    """JSON with a part that is something else, deeper or less deep, or is not there."""
    part, parts = document, [document]
    while inner := [value for value in part.values() if isinstance(value, dict)]:
        part = draw.choice(inner)
        parts.append(part)
    part = draw.choice(parts)
    key = draw.choice(list(part)) if part else "x"
    if draw.random() < 0.3:
        part.pop(key, None)
    else:
        part[key] = _value(draw)
    return _dumped(document if draw.random() < 0.9 else _value(draw))


def chunk_bytes(place: Place, draw: random.Random) -> str:
    path = draw.choice(sorted(place.run.glob("chunks/*.chunk")))
    path.write_bytes(_bytes(path.read_bytes(), draw))
    return f"{path.name}: bytes"


def chunk_head(place: Place, draw: random.Random) -> str:
    """A head that says something else, under a checksum that fits."""
    path = draw.choice(sorted(place.run.glob("chunks/*.chunk")))
    _, line, content = path.read_bytes().split(b"\n", 2)
    head = json.loads(line)
    key = draw.choice(["number", "run", "rows", "statuses"])
    head[key] = _value(draw) if key != "rows" else [1]
    if key == "rows":
        head.pop("run")
    rest = _dumped(head) + b"\n" + content
    path.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
    return f"{path.name}: {key}"


def chunk_of_others(place: Place, draw: random.Random) -> str:
    """A whole chunk, of another run or of another place."""
    path = draw.choice(sorted(place.run.glob("chunks/*.chunk")))
    other = draw.choice(sorted(place.path.glob(f"other/chunks/{path.name}")) + sorted(place.path.glob("calm/chunks/*")))
    shutil.copy(other, path)
    return f"{path.name}: {other.parent.parent.name}/{other.name}"


def special_file(place: Place, draw: random.Random) -> str:
    chunk = draw.choice(sorted(place.run.glob("chunks/*.chunk"))).name
    name = draw.choice(["manifest.json", "lock", "log.txt", "chunks", f"chunks/{chunk}", f"chunks/{chunk}"])
    return f"{name}: {_special(place.run / name, draw, place)}"


def manifest(place: Place, draw: random.Random) -> str:
    path = place.run / "manifest.json"
    data = path.read_bytes()
    path.write_bytes(_changed(json.loads(data), draw) if draw.random() < 0.8 else _bytes(data, draw))
    return path.read_bytes()[:80].decode(errors="replace")


def planted_name(place: Place, draw: random.Random) -> str:
    """A link where the result is put together."""
    import zlib

    token = f"{zlib.crc32(os.fsencode(place.run.resolve())):08x}"
    return _special(place.path / f".out.csv.{token}", draw, place)


def tampered(place: Place, draw: random.Random) -> str:
    """Tamper with a folder that is finished or half finished."""
    shutil.copytree(place.path / "calm", place.run)
    for path in sorted(place.run.glob("chunks/*.chunk"))[draw.randint(1, place.n_chunks) :]:
        path.unlink()
    attacks = (chunk_bytes, chunk_head, chunk_of_others, special_file, manifest, planted_name)
    attack = draw.choice(attacks)
    what = f"{attack.__name__}: {attack(place, draw)}"
    try:
        fault = place.fault(*place.ended(place.run))
    except BaseException as error:  # whatever comes out of the command is a fault
        fault = f"{type(error).__name__}: {error}"[:300]
    return f"{what}: {fault}" if fault else ""


def replaced(place: Place, draw: random.Random) -> str:
    """Replace a file, and kill one worker or all, as real processes are at work."""
    name, how = draw.choice(INPUTS), draw.choice([_moved, _overwritten, _linked])
    process = subprocess.Popen(
        [sys.executable, "-m", "xcid", *place.command(place.run, 2)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wanted, end = draw.randint(0, place.n_chunks // 3), time.monotonic() + PATIENCE
    while process.poll() is None and len(list(place.run.glob("chunks/*.chunk"))) < wanted and time.monotonic() < end:
        time.sleep(0.002)
    if draw.random() < 0.9:
        place.replace(name, "b", how)
    for pid in _workers(place.run, process.pid)[: draw.randint(1, 2)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE)
    if process.returncode == 0 and place.began_with(name):
        return ""
    fault = place.fault(process.returncode, said)
    if not fault:
        for one in INPUTS:
            place.replace(one, "a", shutil.copy)
        place.out.unlink(missing_ok=True)
        again = place.ended(place.run)
        fault = place.fault(*again) or ("it could not be resumed: " + again[1] if again[0] else "")
    return f"{name} {how.__name__}, {wanted} chunks: {fault}" if fault else ""


def _moved(source: Path, target: Path) -> None:
    shutil.copy(source, target.with_name("new"))
    target.with_name("new").replace(target)


def _overwritten(source: Path, target: Path) -> None:
    times = target.stat()
    target.write_bytes(source.read_bytes())
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _linked(source: Path, target: Path) -> None:
    target.with_name("new").symlink_to(source)
    target.with_name("new").replace(target)


def _workers(folder: Path, parent: int) -> list[int]:
    log = folder / "log.txt"
    lines = [line.split() for line in (log.read_text(encoding="utf-8") if log.exists() else "").splitlines()]
    return [int(words[3]) for words in lines if words[-1] == "started" and int(words[1]) == parent]


def main(arguments: list[str] | None = None) -> int:
    """Run it as typed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="of so many attacks one has its own")
    options = parser.parse_args(arguments)
    count = options.count if options.count is not None else (10**9 if options.seconds < float("inf") else 200)
    tried, faults, end = 0, list[str](), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        while tried < count and time.monotonic() < end:
            draw = random.Random(f"{options.seed} {tried}")
            attack = replaced if tried % options.processes == options.processes - 1 else tampered
            place.restore()
            faults += filter(None, [attack(place, draw)])
            tried += 1
    return verdict("runs", tried, faults)


if __name__ == "__main__":
    sys.exit(main())
