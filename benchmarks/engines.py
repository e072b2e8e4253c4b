"""Processor time of a row on Dask's workers beside that of one process, for the page about clusters.

Workers explain partitions of a table of 20 columns, with 1,000 evaluations a row; what they spend is read from the
system before and after, so that a busy machine does not stretch it. A first partition for each worker, which loads the
explainer and prepares its plans, is not counted, as the first rows of the one process are not.

Run: OMP_NUM_THREADS=1 python benchmarks/engines.py [--rows 20000] [--workers 1 2]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import dask
import dask.dataframe
import distributed
import numpy as np
import pandas as pd
import psutil  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression

import xcid

N_COLUMNS, N_REFERENCE, ROWS_OF_A_PARTITION = 20, 500, 2_000
CLUSTER: Any = distributed.LocalCluster
CLIENT: Any = distributed.Client
FROM_PANDAS: Any = dask.dataframe.from_pandas
ALLOCATOR = "distributed.nanny.pre-spawn-environ.MALLOC_{}_THRESHOLD_"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    names = [f"x{at}" for at in range(N_COLUMNS)]
    table = pd.DataFrame(rng.normal(size=(arguments.rows, N_COLUMNS)), columns=names)
    model = LogisticRegression().fit(table[:N_REFERENCE], (table["x0"] > table["x1"])[:N_REFERENCE])
    explainer = xcid.Explainer(model, table[:N_REFERENCE])
    explainer(table[:ROWS_OF_A_PARTITION])
    start = time.process_time()
    explainer(table)
    print(f"one process: {1e3 * (time.process_time() - start) / len(table):.2f} ms a row")
    dask.config.set({ALLOCATOR.format("TRIM"): 2**30, ALLOCATOR.format("MMAP"): 2**25})
    for n_workers in arguments.workers:
        print(f"{n_workers} of Dask's workers: {1e3 * by_dask(explainer, table, n_workers) / len(table):.2f} ms a row")


def by_dask(explainer: Any, table: pd.DataFrame, n_workers: int) -> float:
    """Seconds that workers spend on a table."""
    with CLUSTER(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster, CLIENT(cluster):
        warm = FROM_PANDAS(table[: n_workers * ROWS_OF_A_PARTITION], npartitions=n_workers)
        xcid.engines.dask.explain(explainer, warm).compute()
        before = spent()
        frame = FROM_PANDAS(table, npartitions=max(1, len(table) // ROWS_OF_A_PARTITION))
        found = xcid.engines.dask.explain(explainer, frame)[["status", "value_x0"]].compute()
        assert len(found) == len(table)
        return spent() - before


def spent() -> float:
    """Seconds of the processor that all processes below this one have spent."""
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(part.user + part.system for part in times)


if __name__ == "__main__":
    main()
