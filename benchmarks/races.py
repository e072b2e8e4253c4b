"""Exact contributions against other explainers of trees: processor time of one thread, side by side in one run.

Each explainer is made anew, with its default setting, and explains one row (set-up and first row), then 200 rows. What
the others give is another question where they go along the paths of trees, without reference rows. Peers that are not
installed (shapiq needs Python 3.12) have empty cells.

A second table has what set-up, the first row and 200 more take in all, as a multiple of xcid's time, and after how many
rows xcid has won back what its set-up takes longer: "at once" where it takes no longer, "never" where a row does.

Run: python benchmarks/races.py [--reference 1000]
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import math  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402
from importlib.util import find_spec  # noqa: E402
from typing import Any  # noqa: E402

import catboost  # noqa: E402
import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
import pandas as pd  # noqa: E402
import shap  # noqa: E402
import woodelf  # type: ignore[import-untyped]  # noqa: E402
import xgboost  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import xcid  # noqa: E402

Array = npt.NDArray[Any]
Explain = Callable[[Array], Any]
MODELS: dict[str, Callable[[], Any]] = {
    "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "XGBoost": lambda: xgboost.XGBClassifier(n_jobs=1, random_state=0),
    "XGBoost, 500 trees": lambda: xgboost.XGBClassifier(n_estimators=500, n_jobs=1, random_state=0),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=0),
    "CatBoost": lambda: catboost.CatBoostClassifier(
        iterations=200, thread_count=1, verbose=0, random_seed=0, allow_writing_files=False
    ),
    "forest": lambda: RandomForestClassifier(100, n_jobs=1, random_state=0),
    "forest of a number, leaves of five": lambda: RandomForestRegressor(
        100, min_samples_leaf=5, n_jobs=1, random_state=0
    ),
    "forest of a number": lambda: RandomForestRegressor(100, n_jobs=1, random_state=0),  # beyond the bound: sampled
}
N_TRAIN, N_ROWS, BEHIND = 2_500, 200, 100


def xcid_exact(model: Any, reference: Array) -> Explain:
    """Ours."""
    return xcid.Explainer(model, reference).contributions


def path(model: Any, reference: Array) -> Explain:
    """TreeSHAP along the paths."""
    return shap.TreeExplainer(model).shap_values


def interventional(model: Any, reference: Array) -> Explain:
    """TreeSHAP with 100 reference rows."""
    return shap.TreeExplainer(model, reference[:BEHIND], feature_perturbation="interventional").shap_values


def woodelf_exact(model: Any, reference: Array) -> Explain:
    """WOODELF with 100 reference rows."""
    explainer = woodelf.WoodelfExplainer(model, pd.DataFrame(reference[:BEHIND]))
    return lambda rows: explainer.shap_values(pd.DataFrame(rows), verbose=False)


def shapiq_path(model: Any, reference: Array) -> Explain | None:
    """shapiq's tree explainer along the paths, its default."""
    if find_spec("shapiq") is None:
        return None
    import shapiq

    return shapiq.TreeExplainer(model).explain_X


def shapiq_interventional(model: Any, reference: Array) -> Explain | None:
    """shapiq's with 100 reference rows."""
    if find_spec("shapiq") is None:
        return None
    import shapiq

    return shapiq.TreeExplainer(model, mode="interventional", reference_dataset=reference[:BEHIND]).explain_X


def own(model: Any, reference: Array) -> Explain | None:
    """What the library itself gives."""
    if isinstance(model, xgboost.XGBClassifier):
        booster = model.get_booster()
        return lambda rows: booster.predict(xgboost.DMatrix(rows, nthread=1), pred_contribs=True)
    if isinstance(model, lightgbm.LGBMClassifier):
        return lambda rows: model.predict(rows, pred_contrib=True)
    if isinstance(model, catboost.CatBoostClassifier):
        return lambda rows: model.get_feature_importance(catboost.Pool(rows), type="ShapValues", thread_count=1)
    return None


PEERS: dict[str, Callable[[Any, Array], Explain | None]] = {
    "xcid": xcid_exact,
    "path": path,
    "interventional": interventional,
    "woodelf": woodelf_exact,
    "shapiq": shapiq_path,
    "shapiq, interventional": shapiq_interventional,
    "own": own,
}


def race(make: Callable[[Any, Array], Explain | None], model: Any, reference: Array, rows: Array) -> tuple[float, ...]:
    """Milliseconds of set-up and first row, and of a row among many; the better of two."""
    found = []
    for _ in range(2):
        start = time.process_time()
        try:
            explain = make(model, reference)
            if explain is None:
                return ()
            explain(rows[:1])
        except (TypeError, ValueError, AttributeError, KeyError, NotImplementedError):  # a model that it does not take
            return ()
        first = time.process_time()
        explain(rows)
        found.append((1e3 * (first - start), 1e3 * (time.process_time() - first) / len(rows)))
    return tuple(np.min(found, axis=0))


def multiple(times: tuple[float, ...], own: tuple[float, ...]) -> str:
    """Time of set-up and all rows, as a multiple of our own."""
    if not times:
        return ""
    return f"{(times[0] + N_ROWS * times[1]) / (own[0] + N_ROWS * own[1]):.2f}"


def break_even(times: tuple[float, ...], own: tuple[float, ...]) -> str:
    """Rows after which what our set-up takes longer is won back."""
    if not times:
        return ""
    if own[0] <= times[0]:
        return "at once" if own[1] <= times[1] else "at once, then lost"
    return "never" if own[1] >= times[1] else f"{math.ceil((own[0] - times[0]) / (times[1] - own[1])) + 1:,}"


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=int, default=1_000, help="reference rows of xcid (default: 1000)")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help="some of: " + "; ".join(list(PEERS)[1:]))
    parser.add_argument("--models", nargs="*", help="some of: " + "; ".join(MODELS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = {name: peer for name, peer in PEERS.items() if name == "xcid" or name in options.peers}
    parts = (("first", name) for name in peers), (("a row", name) for name in peers)
    heads = [f"{what}: {name}" for part in parts for what, name in part]
    print("| model | columns |", " | ".join(heads), "|")
    print("|---" * (2 + len(heads)) + "|")
    totals = list[str]()
    for d in (8, 57):
        X, y = make_classification(
            N_TRAIN + N_ROWS, d, n_informative=min(d - 1, 10), n_redundant=0, flip_y=0.1, random_state=0
        )
        number = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + y + np.random.default_rng(0).normal(size=len(X))
        for name, make in MODELS.items():
            if options.models and name not in options.models:
                continue
            model = make()
            model.fit(X[:N_TRAIN], (number if isinstance(model, RandomForestRegressor) else y)[:N_TRAIN])
            times = [race(peer, model, X[: options.reference], X[N_TRAIN:]) for peer in peers.values()]
            cells = [f"{one[at]:,.{2 * at}f}" if one else "" for at in (0, 1) for one in times]
            print(f"| {name} | {d} |", " | ".join(cells), "|", flush=True)
            beside = [f"{multiple(one, times[0])} | {break_even(one, times[0])}" for one in times[1:]]
            totals.append(f"| {name} | {d} | {times[0][0] + N_ROWS * times[0][1]:.0f} | {' | '.join(beside)} |")
    heads = [f"{name} | rows" for name in list(peers)[1:]]
    print(f"\n| model | columns | xcid, ms | {' | '.join(heads)} |")
    print("|---" * (3 + 2 * len(heads)) + "|")
    print("\n".join(totals))


if __name__ == "__main__":
    main()
