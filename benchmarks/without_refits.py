"""What does it cost to have refits and limits in the library where nobody asks for them?

Two commits, by default those before and after limits over reference rows and trainings came, explain the same rows of
the same models without refits, each in a process of its own, turn by turn. The ratio of processor times and the numbers
of evaluations are printed, with a 95% interval of the median over turns.

Run: python benchmarks/without_refits.py [BEFORE AFTER] [--turns 25]
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

ROOT = Path(__file__).parents[1]
WORKER = """
import sys, time, warnings
import numpy as np
from sklearn import ensemble, linear_model
import xcid
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 10))
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=600) > 0).astype(int)
models = {
    "logistic": linear_model.LogisticRegression().fit(X, y),
    "forest": ensemble.RandomForestClassifier(30, random_state=0).fit(X, y),
    "function": ensemble.RandomForestClassifier(10, random_state=0).fit(X, y).predict_proba,
}
explainers = {name: xcid.Explainer(model, X[:200]) for name, model in models.items()}
rows = {"logistic": X[200:400], "forest": X[200:260], "function": X[200:204]}
for name, explainer in explainers.items():
    explainer(rows[name])
for line in sys.stdin:
    name = line.strip()
    start = time.process_time()
    found = explainers[name](rows[name])
    print(time.process_time() - start, int(found.n_evaluations.sum()), flush=True)
"""


def start(commit: str, folder: Path) -> subprocess.Popen[str]:
    """A process that explains as a commit does, whenever it is told to."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    known = {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", WORKER], env=known, **pipes)  # type: ignore[call-overload]


def turn(worker: subprocess.Popen[str], name: str) -> tuple[float, int]:
    """Seconds of a processor, and evaluations."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    seconds, count = worker.stdout.readline().split()
    return float(seconds), int(count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", default=["f87d912^", "f87d912"], metavar="COMMIT")
    parser.add_argument("--turns", type=int, default=25)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workers = [start(commit, Path(folder) / str(at)) for at, commit in enumerate(args.commits)]
        print("| model | after / before | 95% interval | evaluations before, after |")
        print("|---|---|---|---|")
        for name in ("logistic", "forest", "function"):
            ratios, counts = list[float](), set[tuple[int, int]]()
            for at in range(args.turns):
                order = (0, 1) if at % 2 else (1, 0)
                made = {which: turn(workers[which], name) for which in order}
                ratios.append(made[1][0] / made[0][0])
                counts.add((made[0][1], made[1][1]))
            low, high = (int(stats.binom.ppf(share, args.turns, 0.5)) for share in (0.025, 0.975))
            found, median = np.sort(ratios), np.median(ratios)
            known = "; ".join(f"{before:,}, {after:,}" for before, after in counts)
            print(f"| {name} | {median:.3f} | {found[low]:.3f} to {found[high]:.3f} | {known} |", flush=True)
        for worker in workers:
            worker.terminate()


if __name__ == "__main__":
    main()
