"""Peak memory of a large run, of all its processes together, for two numbers of rows.

``python soak/memory.py --rows 100000 1000000``: explains as many rows of 20 features, from Parquet to Parquet with two
workers and a cheap model. The sum of what all processes hold (RSS), and of what they hold without counting shared
pages twice (PSS), is taken ten times a second. The exit status is 1 where a peak exceeds the limit, or where
one exceeds the first by more than a fifth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression
from verdict import verdict

FEATURES, BACKGROUND, GROUP = 20, 300, 50_000
NAMES = [f"f{number}" for number in range(FEATURES)]
EVERY = 0.1  # seconds


def peak(rows: int, workers: int, folder: Path, suffix: str) -> tuple[float, float, float]:
    """Explain as many rows; the peaks of RSS and PSS in MB, and seconds."""
    command = _command(rows, workers, folder, suffix)
    started, highest = time.monotonic(), (0.0, 0.0)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        now = _held(_tree(process.pid))
        highest = max(highest[0], now[0]), max(highest[1], now[1])
        time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return *highest, time.monotonic() - started


def _held(pids: list[int]) -> tuple[float, float]:
    """RSS and PSS of processes, in MB."""
    rss = pss = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        fields = {line.split(":")[0]: line.split()[1] for line in lines[1:] if ":" in line}
        rss, pss = rss + int(fields.get("Rss", 0)), pss + int(fields.get("Pss", 0))
    return rss / 1024, pss / 1024


def _tree(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(below for child in children for below in _tree(int(child)))]


def _command(rows: int, workers: int, folder: Path, suffix: str) -> list[str]:
    random = np.random.default_rng(0)
    background = random.normal(size=(BACKGROUND, FEATURES)).round(4)
    model = LogisticRegression().fit(background, background[:, 0] + background[:, 1] > 0)
    joblib.dump(model, folder / "model.joblib")
    _table(background).to_pandas().to_csv(folder / "train.csv", index=False)
    with pq.ParquetWriter(folder / "rows.parquet", _table(background).schema) as file:
        for start in range(0, rows, GROUP):
            file.write_table(_table(random.normal(size=(min(GROUP, rows - start), FEATURES)).round(4)))
    options = ("--background", folder / "train.csv", "--data", folder / "rows.parquet", "--unsafe-pickle", "--model",
               folder / "model.joblib", "--run", folder / "run", "--out", folder / f"scores{suffix}", "--workers",
               workers, "--quiet")  # fmt: skip
    return [sys.executable, "-m", "xcid", "explain", *map(str, options)]


def _table(cells: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(NAMES, cells.T, strict=True)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1_000, help="MB")
    parser.add_argument("--format", default=".parquet", help="extension of the result")
    options = parser.parse_args(arguments)
    peaks, faults = list[float](), list[str]()
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            rss, pss, seconds = peak(rows, options.workers, Path(folder), options.format)
        peaks.append(rss)
        if rss > min(options.limit, 1.2 * peaks[0]):
            faults.append(f"{rows:,} rows take {rss:.0f} MB")
        print(
            f"{rows:,} rows of {FEATURES} features, {options.workers} workers: peak RSS {rss:.0f} MB, "
            f"PSS {pss:.0f} MB, {seconds:.0f} s, {rows / seconds:.0f} rows a second",
            flush=True,
        )
    return verdict("memory", len(peaks), faults)


if __name__ == "__main__":
    sys.exit(main())
