"""How many rows a second ``examples/service.py`` explains on this machine, over loopback.

    python benchmarks/service_rates.py --workers 2 --seconds 20

It trains boosted trees, saves their explainer, starts the service, and sends single rows: so many a second,
and then as fast as they are answered. It prints rates, how long answers took, and the processor time that they cost: on
a machine with other work that tells more than rates. It needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import xcid

EXAMPLES = Path(__file__).parents[1] / "examples"
AT_ONCE = 64  # requests, when the service is asked as fast as it answers


def save_explainer(path: Path) -> list[dict[str, Any]]:
    """Save an explainer of 100 boosted trees, and give rows to explain."""
    import xgboost

    table = xcid.datasets.load_diabetes()
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1).fit(table.data, table.target)
    xcid.Explainer(model, table.data, class_names=table.target_names).save(path)
    rows: list[dict[str, Any]] = table.data.to_dict("records")
    return rows


def start(path: Path, workers: int) -> tuple[subprocess.Popen[bytes], str]:
    """Start the service on a free port, and wait until it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "service:app", "--factory", "--app-dir", str(EXAMPLES)]
    command += ["--port", str(port), "--workers", str(workers), "--log-level", "warning", "--no-access-log"]
    one_each = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # a process for each core
    process = subprocess.Popen(command, env=os.environ | one_each | {"EXPLAINER": str(path)})
    address, patience = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while True:
        try:
            if httpx.get(f"{address}/health").status_code == 200:
                return process, address
        except httpx.TransportError:
            if process.poll() is not None or time.monotonic() > patience:
                raise
        time.sleep(0.2)


class Connection:
    """Sends one request after the other over one connection: a client that costs less than the service does."""

    def __init__(self, address: str, question: str) -> None:
        self.host, self.question = address.removeprefix("http://"), question
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, body: bytes) -> None:
        """Wait for the answer about a row."""
        if self.streams is None:
            host, port = self.host.split(":")
            self.streams = await asyncio.open_connection(host, int(port))
        reader, writer = self.streams
        head = f"POST {self.question} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        said = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(said.partition("content-length: ")[2].partition("\r\n")[0]))
        if not said.startswith("http/1.1 200"):
            raise RuntimeError(said)


async def measure(connections: list[Connection], bodies: list[bytes], seconds: float, rate: float) -> list[float]:
    """Seconds that each answer took: at so many requests a second, or with all connections busy where that is inf.

    A request that is due while all connections wait for answers counts from when it was due.
    """
    begin, numbers, found = time.perf_counter(), itertools.count(), list[float]()

    async def work(connection: Connection) -> None:
        while (
            due := max((number := next(numbers)) / rate, 0.0)
        ) < seconds and time.perf_counter() < begin + 3 * seconds:
            await asyncio.sleep(begin + due - time.perf_counter())
            asked = begin + due if rate < math.inf else time.perf_counter()
            if asked > begin + seconds:
                return
            await connection.send(bodies[number % len(bodies)])
            found.append(time.perf_counter() - asked)

    await asyncio.gather(*map(work, connections))
    return found


def count_processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Of a service and its workers, as Linux counts them."""
    pids = [str(process.pid), *Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    times = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids]
    return sum(float(time) for pair in times for time in pair) / os.sysconf("SC_CLK_TCK")


def compare(
    process: subprocess.Popen[bytes], address: str, rows: list[dict[str, Any]], seconds: float, rate: float
) -> None:
    """Print what the service does at a rate, and with all connections busy."""
    bodies = [json.dumps(row).encode() for row in rows]
    for question, each in itertools.product(("/explain", "/explain?importance=yes"), (rate, math.inf)):
        before, begin, own = count_processor_seconds(process), time.perf_counter(), time.process_time()
        connections = [Connection(address, question) for _ in range(AT_ONCE)]
        found = asyncio.run(measure(connections, bodies, seconds, each))
        took, own = time.perf_counter() - begin, time.process_time() - own
        spent = 1_000 * (count_processor_seconds(process) - before) / len(found)
        middle, late = 1_000 * np.quantile(found, [0.5, 0.99])
        asked = f"{each:.0f} rows a second" if each < math.inf else f"{AT_ONCE} requests under way"
        print(
            f"{question}, {asked}: {len(found) / took:.0f} answers a second, median {middle:.0f} ms, 99% within "
            f"{late:.0f} ms; processor time of an answer {spent:.1f} ms, and {1_000 * own / len(found):.1f} ms of the "
            f"client; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rate", type=float, default=100.0, help="rows a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.xcid"
        rows = save_explainer(path)
        process, address = start(path, options.workers)
        try:
            print(f"{options.workers} workers, {os.cpu_count()} cores", flush=True)
            compare(process, address, rows, options.seconds, options.rate)
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
