"""Kill a large run again and again, and look whether the file is the one of a run that nothing disturbed.

``python soak/kills.py --kills 20``: each round starts the command, kills none, one or all of its workers at a random
moment, and the first process at another. At the end the command may finish. The exit status is 1 where a byte of the
result is another than is due.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from verdict import verdict

CHUNK, CHUNKS_A_ROUND, WORKERS = 4, 24, 2
PATIENCE = 300.0  # seconds for anything to happen


def kills(count: int, seed: int, folder: Path, suffix: str = ".csv") -> tuple[int, int]:
    """Kill a run as many times; how many kills hit it, and how many bytes of the result differ from what is due."""
    command, draw = _command(folder, count * CHUNKS_A_ROUND * CHUNK, suffix), random.Random(seed)
    quiet = subprocess.DEVNULL
    due, found = folder / f"due{suffix}", folder / f"found{suffix}"
    subprocess.run([*command, "--run", str(folder / "calm"), "--out", str(due)], check=True, stdout=quiet)
    arguments = [*command, "--run", str(folder / "killed"), "--out", str(found)]
    survived = 0
    while survived < count:
        process = subprocess.Popen(arguments, stdout=quiet, stderr=quiet)
        hits = _disturb(process, folder / "killed", draw)
        if not hits:  # it ended before
            break
        survived += hits
    subprocess.run(arguments, check=True, stdout=quiet)
    return survived, _difference(due.read_bytes(), found.read_bytes())


def _disturb(process: subprocess.Popen[bytes], folder: Path, draw: random.Random) -> int:
    """Kill some workers and then the first process, each at a random moment; how many kills hit."""
    hits = 0
    for victims in (draw.choice([0, 1, WORKERS]), None):
        _wait(process, folder, _chunks(folder) + draw.randint(0, CHUNKS_A_ROUND // 3))
        time.sleep(draw.random() * 0.05)  # anywhere within a chunk
        for pid in [process.pid] if victims is None else _workers(folder, process.pid)[:victims]:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    hits += 1
    process.wait(PATIENCE)
    return hits


def _wait(process: subprocess.Popen[bytes], folder: Path, n_chunks: int) -> None:
    """Wait until there are so many chunks and a worker, or the process has ended."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and (_chunks(folder) < n_chunks or not _workers(folder, process.pid)):
        if time.monotonic() > end:
            raise TimeoutError("nothing happened")
        time.sleep(0.001)


def _chunks(folder: Path) -> int:
    return len(list(folder.glob("chunks/*.chunk")))


def _workers(folder: Path, parent: int) -> list[int]:
    """Workers of a run that are alive, by its log."""
    log = folder / "log.txt"
    lines = [line.split() for line in (log.read_text(encoding="utf-8") if log.exists() else "").splitlines()]
    started = [int(words[3]) for words in lines if words[-1] == "started" and int(words[1]) == parent]
    return [pid for pid in started if Path(f"/proc/{pid}").exists()]


def _command(folder: Path, rows: int, suffix: str) -> list[str]:
    """A cheap model, its table and the command that explains it."""
    random_rows = np.random.default_rng(0).normal(size=(rows + 200, 5)).round(4)
    table = pd.DataFrame(random_rows, columns=list("abcde"))
    model = LogisticRegression().fit(table[:200], table["a"][:200] + table["b"][:200] > 0)
    joblib.dump(model, folder / "model.joblib")
    table[:200].to_csv(folder / "train.csv", index=False)
    table[200:].to_csv(folder / "rows.csv", index=False)
    options = ("--background", folder / "train.csv", "--data", folder / "rows.csv", "--model", folder / "model.joblib",
               "--unsafe-pickle", "--chunk", CHUNK, "--workers", WORKERS, "--quiet")  # fmt: skip
    return [sys.executable, "-m", "xcid", "explain", *map(str, options)]


def _difference(due: bytes, found: bytes) -> int:
    same = sum(one == other for one, other in zip(due, found, strict=False)) if due != found else len(due)
    return max(len(due), len(found)) - same


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", default=".csv", help="extension of the result")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        survived, lost = kills(options.kills, options.seed, Path(folder), options.format)
    return verdict("kills", survived, [f"{lost} bytes of the result are not those that are due"] * bool(lost))


if __name__ == "__main__":
    sys.exit(main())
