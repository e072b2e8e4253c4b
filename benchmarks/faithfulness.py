"""How faithful are the scores, against SHAP, LIME and DiCE?

Over eight tables and four models each, for rows that the models were not trained on: comprehensiveness minus
sufficiency (normalised: means over the d + 1 stages; the higher the better), masked with the mean and with joint
background rows; paired differences to SHAP and LIME with 2σ/√n over all rows, and in how many of the cells (table x
model) the mean difference is above 0; evaluations and time for a row; share of the top 4 (of half of fewer features)
that two seeds have in common.

SHAP is exact or converged, LIME has 5,000 samples; both are signed. LIME is there twice: with the contributions of its
linear model, and with the quartiles that it cuts numbers at by default.

    python benchmarks/faithfulness.py              # 50 rows a cell, about an hour on two cores
    python benchmarks/faithfulness.py --rows 20
    python benchmarks/faithfulness.py --quick      # two tables, two models, 5 rows
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from cells import MODELS, Array, paper_tables
from sklearn import datasets
from sklearn.model_selection import train_test_split

import xcid
from xcid import metrics
from xcid.directions import supporting
from xcid.generators import Balanced
from xcid.metrics.maskings import Masking
from xcid_lab import metrics as lab_metrics
from xcid_lab.baselines import Chance, DiceImportance, Lime, Shap
from xcid_lab.generators import Complements

MASKINGS: dict[str, Masking] = {"mean": metrics.mean, "joint rows": metrics.JointRows(50)}
PEERS = ("SHAP", "LIME")

METHODS: dict[str, Callable[[Any, Array], Any]] = {
    "xcid": xcid.Explainer,
    "xcid, n = 3,000": lambda model, train: xcid.Explainer(model, train, generator=Balanced(3_000)),
    "xcid, independent masks, n = 3,000": lambda model, train: xcid.Explainer(
        model, train, generator=Complements(3_000)
    ),
    "the paper's, m = 50": xcid.Explainer.paper,
    "SHAP": Shap,
    "LIME": Lime,
    "LIME, quartiles": lambda model, train: Lime(model, train, discretizer="quartile"),
    "DiCE importance": DiceImportance,
    "chance": Chance,
}


class Figures(NamedTuple):
    """Of one method in one cell; all (n,) but the time."""

    comprehensiveness: dict[str, Array]
    sufficiency: dict[str, Array]
    agreement: Array
    evaluations: Array
    milliseconds: float

    @property
    def faithfulness(self) -> dict[str, Array]:
        """Comprehensiveness minus sufficiency."""
        return {name: part - self.sufficiency[name] for name, part in self.comprehensiveness.items()}


def tables() -> Iterator[tuple[str, Array, Any]]:
    yield from paper_tables()
    yield "breast cancer", *datasets.load_breast_cancer(return_X_y=True)
    yield "wine", *datasets.load_wine(return_X_y=True)
    yield "iris", *datasets.load_iris(return_X_y=True)
    yield "Hastie's", *datasets.make_hastie_10_2(800, random_state=5)
    for n_features in (12, 24):
        X, y = datasets.make_classification(
            800, n_features, n_informative=n_features // 2, n_redundant=2, n_clusters_per_class=2, random_state=5
        )
        yield f"synthetic, d = {n_features}", X, y


def measure(make: Callable[[Any, Array], Any], model: Any, train: Array, rows: Array) -> Figures:
    explain = make(model, train)
    explain(rows[:1])  # warm up
    start = time.perf_counter()
    explanation = explain(rows)
    milliseconds = 1e3 * (time.perf_counter() - start) / len(rows)
    again = explain(rows, seed=1)
    comprehensiveness, sufficiency = {}, {}
    for name, masking in MASKINGS.items():
        curves = metrics.masking_curves(model, rows, supporting(explanation), train, masking=masking)
        comprehensiveness[name] = (curves.full[:, None] - curves.masked).mean(axis=1)
        sufficiency[name] = (curves.full[:, None] - curves.kept).mean(axis=1)
    agreement = metrics.feature_agreement(supporting(explanation), supporting(again), k=min(4, rows.shape[1] // 2))
    return Figures(comprehensiveness, sufficiency, agreement, explanation.n_evaluations, milliseconds)


def run(n_rows: int, n_tables: int, models: list[str]) -> dict[str, dict[str, Figures]]:
    """Figures of every cell and method; a line for each cell as it is done."""
    print(f"| comp - suff: {' / '.join(MASKINGS)} | {' | '.join(METHODS)} |")
    print("|---" * (1 + len(METHODS)) + "|")
    cells: dict[str, dict[str, Figures]] = {}
    for table, X, y in list(tables())[:n_tables]:
        train, test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
        for name in models:
            model = MODELS[name]().fit(train, y_train)
            cell = {method: measure(make, model, train, test[:n_rows]) for method, make in METHODS.items()}
            cells[f"{table}, {name}"] = cell
            shown = [" / ".join(f"{part.mean():.3f}" for part in one.faithfulness.values()) for one in cell.values()]
            print(f"| {table}, {name} | {' | '.join(shown)} |", flush=True)
    return cells


def summary(cells: dict[str, dict[str, Figures]]) -> None:
    heads = [f"{what}, {masking}" for masking in MASKINGS for what in ("comp", "suff", "comp - suff")]
    print(f"\n| method | {' | '.join(heads)} | two seeds, top 4 | evaluations a row | ms a row |")
    print("|---" * (4 + len(heads)) + "|")
    for method in METHODS:
        figures = [cell[method] for cell in cells.values()]
        means = [
            f"{np.concatenate([getattr(one, what)[masking] for one in figures]).mean():.3f}"
            for masking in MASKINGS
            for what in ("comprehensiveness", "sufficiency", "faithfulness")
        ]
        agreement = np.concatenate([one.agreement for one in figures]).mean()
        evaluations = np.concatenate([one.evaluations for one in figures]).mean()
        milliseconds = np.mean([one.milliseconds for one in figures])
        print(f"| {method} | {' | '.join(means)} | {agreement:.3f} | {evaluations:,.0f} | {milliseconds:.1f} |")


def differences(cells: dict[str, dict[str, Figures]]) -> None:
    """Paired, over all rows; a row explained for several models counts as several."""
    peers = [peer for peer in PEERS if peer in METHODS]
    heads = [f"to {peer}, {masking} (cells won)" for peer in peers for masking in MASKINGS]
    print(f"\n| method | {' | '.join(heads)} |")
    print("|---" * (1 + len(heads)) + "|")
    for method in METHODS:
        shown = []
        for peer in peers:
            for masking in MASKINGS:
                apart = lab_metrics.paired(_all(cells, method, masking), _all(cells, peer, masking))
                won = sum(
                    cell[method].faithfulness[masking].mean() > cell[peer].faithfulness[masking].mean()
                    for cell in cells.values()
                )
                shown.append(f"{apart.mean:+.4f} ± {apart.margin:.4f} ({won}/{len(cells)})")
        print(f"| {method} | {' | '.join(shown)} |")


def _all(cells: dict[str, dict[str, Figures]], method: str, masking: str) -> Array:
    return np.concatenate([cell[method].faithfulness[masking] for cell in cells.values()])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50, help="rows of each cell")
    parser.add_argument("--quick", action="store_true", help="two tables, two models, 5 rows")
    parser.add_argument("--models", nargs="*", default=list(MODELS), help=f"some of: {', '.join(MODELS)}")
    parser.add_argument("--methods", nargs="*", help="some of the methods, by name")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", xcid.XcidWarning)  # rows with few flips are part of the comparison
    for name in [name for name in METHODS if name not in (arguments.methods or METHODS)]:
        del METHODS[name]
    cells = run(5, 2, list(MODELS)[:2]) if arguments.quick else run(arguments.rows, 8, arguments.models)
    summary(cells)
    differences(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
