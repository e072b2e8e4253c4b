"""The recommended setting on one device: a million rows end to end, and how near its parts come to the device's limits.

    python benchmarks/gpu.py                         # 1,000,000 rows of 20 features, 512 perturbations, on the GPU
    python benchmarks/gpu.py --rows 2000 --device cpu

Printed as JSON: agreement with NumPy (importance on a device is the plain d1 of its samples), seconds end to end and of
their parts, and for densities and d1 the operations and bytes that they need at least, against the rates that a plain
matrix product and a plain copy reach in this run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import xcid
from xcid._kernels.random import run_key
from xcid.cid import planned
from xcid.cid.distances import Overlap
from xcid.cid.per_feature import PerFeature
from xcid.contributions import effects
from xcid.generators import Balanced
from xcid_torch.device import Device, _Task

FEATURES, PERTURBATIONS, WIDTH = 20, 512, 128
BACKGROUND = 2_000
RUNS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--block", type=int, default=131_072, help="rows at a time")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    background, X = rng.normal(size=(BACKGROUND, FEATURES)), rng.normal(size=(arguments.rows, FEATURES))
    net = network().to(arguments.device)
    explainer = xcid.Explainer(net, background, generator=Balanced(PERTURBATIONS))
    device = Device(arguments.block)
    device(explainer, X[: 2 * arguments.block])  # warm up
    found: dict[str, Any] = {"device": name(arguments.device), "rows": len(X), "evaluations a row": PERTURBATIONS}
    found["largest difference to NumPy"] = difference(explainer, device, X[:200])
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        explanation: Any = device(explainer, X)
        taken.append(time.perf_counter() - start)
    found["seconds end to end"] = taken
    found["rows with a significant score"] = float(np.mean((explanation.p_values < 0.05).any(axis=1)))
    found |= parts(explainer, X[: min(len(X), 4 * arguments.block)], arguments.block)
    if arguments.device != "cpu":
        found["peak device memory, GB"] = torch.cuda.max_memory_allocated() / 1e9
    print(json.dumps(found, indent=1))
    return 0 if found["largest difference to NumPy"] < 1e-5 else 1


def network() -> Any:
    layers = torch.nn
    return layers.Sequential(
        layers.Linear(FEATURES, WIDTH), layers.ReLU(), layers.Linear(WIDTH, WIDTH), layers.ReLU(),
        layers.Linear(WIDTH, 2), layers.Softmax(1),
    )  # fmt: skip


def name(device: str) -> str:
    return torch.cuda.get_device_name() if device != "cpu" else "cpu"


def difference(explainer: Any, device: Any, X: Any) -> float:
    """The largest difference of contributions with limits, and of importance from the plain d1 of the same samples."""
    host, there = explainer(X), device(explainer, X)
    plain = PerFeature(explainer.setup.score.density)(host.cloud).importance
    pairs = [(getattr(host, part), getattr(there, part)) for part in ("values", "lower", "upper", "p_values")]
    return max(float(np.abs(one - other).max()) for one, other in [*pairs, (plain, there.importance)])


def parts(explainer: Any, X: Any, block: int) -> dict[str, Any]:
    """Microseconds a row of each part, and what bounds densities and d1."""
    with torch.no_grad():
        plan = explainer.setup.generator.draw(explainer.space, run_key(0)).plan
        task: Any = _Task(explainer.setup, plan)
        rows: Any = torch.as_tensor(X[:block], device=task.device)
        n = len(rows)
        samples = torch.where(task.taken, task.new, rows.to(task.dtype)[:, None])
        positive: Any = 1 - task.ask(samples.reshape(-1, FEATURES))[:, 0].reshape(n, -1)

        def draw() -> Any:
            return torch.where(task.taken, task.new, rows.to(task.dtype)[:, None])

        def evidence() -> Any:
            return Overlap().of_variation(planned.variations(task.part, positive[:, : 2 * task.pairs], rows))

        seconds = {
            "all": timed(lambda: task(rows)),
            "drawing samples": timed(draw),
            "the module": timed(lambda: task.module(samples.reshape(-1, FEATURES))),
            "regression": timed(lambda: effects.measure_effects(task.shared, positive)),
            "densities and d1": timed(evidence),
        }
        cells, pairs = task.part.matrix.shape
        operations = 2 * n * pairs * cells
        size = 8 * n * (2 * pairs + FEATURES) + 8 * pairs * cells  # read once; results are small
        rates = limits(task.device)
        least = max(operations / rates["double precision operations"], size / rates["bytes"])
    return {
        "microseconds a row": {part: 1e6 * value / n for part, value in seconds.items()},
        "measured limits, a second": rates,
        "densities and d1": {
            "operations a row": operations / n,
            "bytes a row at least": size / n,
            "bound by": "arithmetic"
            if operations / rates["double precision operations"] > size / rates["bytes"]
            else "bytes",
            "share of the limit": least / seconds["densities and d1"],
        },
    }


def limits(device: Any) -> dict[str, float]:
    """Rates of a plain product of matrices and of a plain copy."""
    size = 8192 if device.type == "cuda" else 1024
    a, b = (torch.randn(size, size, dtype=torch.float64, device=device) for _ in range(2))
    long = torch.empty(2**28 if device.type == "cuda" else 2**22, dtype=torch.float64, device=device)
    other = torch.empty_like(long)
    return {
        "double precision operations": 2 * size**3 / timed(lambda: a @ b),
        "bytes": 16 * long.numel() / timed(lambda: other.copy_(long)),
    }


def timed(work: Callable[[], Any], repeats: int = 5) -> float:
    """Least seconds of a few tries."""
    work()
    found = []
    for _ in range(repeats):
        _wait()
        start = time.perf_counter()
        work()
        _wait()
        found.append(time.perf_counter() - start)
    return min(found)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    sys.exit(main())
