"""A blind comparison at equal budgets: xcid beside other methods, on tables that none of its settings was chosen on.

What is fixed before any run: tables, splits, models and rows (``unseen.py``), the methods and their settings
(``peers.py``; those of the peers were chosen on the tables of ``faithfulness.py``), and what counts as failure:

    xcid fails against a peer under a masking where, at its default budget (1,000 evaluations a row for up to 20
    features, 3,000 beyond), its mean comp - suff over the cells lies below the peer's by more than two standard errors
    of the paired difference.

Every method may ask the model about the same number of rows for each row that it explains; the model counts them. What
is asked once for all rows (the background) is counted by itself. comp - suff is comprehensiveness minus sufficiency of
the signed ranking, normalised by d + 1, the higher the better, with masked features taken from the mean, from
background values one by one (marginal), from joint background rows and from rows that are alike (conditional). The
second figure is the share of the top 4 (of half of fewer features) that two seeds have in common. The reference is
converged SHAP. Methods whose packages are not installed are left out, and a line says so.

    python benchmarks/blind.py                                              # all 36 cells, 20 rows, four budgets: hours
    python benchmarks/blind.py --cells 18 --rows 3 --budgets                # each cell at xcid's default: docs/blind.md
    python benchmarks/blind.py --tune                                       # how the settings of the peers were chosen
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from cells import MODELS, Array, paper_tables
from peers import KINDS, METHODS, REFERENCE, Counted, Make, Method, by_coalitions, converged
from sklearn import datasets
from sklearn.model_selection import train_test_split
from unseen import Cell, cells

from xcid import metrics
from xcid.metrics.maskings import MarginalRows, Masking

MASKINGS: dict[str, Masking] = {
    "mean": metrics.mean,
    "marginal": MarginalRows(50),
    "joint rows": metrics.JointRows(50),
    "conditional": metrics.SimilarRows(20),
}
BUDGETS = (300, 1_000, 3_000, 10_000)
FEW_FEATURES = 20  # up to which xcid takes 1,000 evaluations by itself
CHOICES = (0.25, 0.5, 1.0, 2.0, 4.0)  # coalitions for the root of budget times features, for --tune


class Figures(NamedTuple):
    """Of one method in one cell, at one budget: means over the rows."""

    faithfulness: dict[str, float]
    agreement: float
    evaluations: float  # a row
    once: int  # for all rows
    milliseconds: float  # a row, without what is done once


Results = dict[str, dict[int, dict[str, Figures]]]  # cell, budget, method


def measure(make: Make, cell: Cell, budget: int) -> Figures:
    """Explain the rows with two seeds, and judge the first."""
    model = Counted(cell.model)
    explain = make(model, cell.train, budget, 0)
    once, start = model.n_rows, time.perf_counter()
    values = explain(cell.rows)
    seconds, asked = time.perf_counter() - start, model.n_rows - once
    again = make(model, cell.train, budget, 1)(cell.rows)
    n, d = cell.rows.shape
    agreement = metrics.feature_agreement(values, again, k=min(4, d // 2))
    return Figures(judged(cell, values), float(agreement.mean()), asked / n, once, 1e3 * seconds / n)


def judged(cell: Cell, values: Array, maskings: Iterable[str] = MASKINGS) -> dict[str, float]:
    """Mean comp - suff under each masking."""
    found = {}
    for name in maskings:
        curves = metrics.masking_curves(cell.model, cell.rows, values, cell.train, masking=MASKINGS[name])
        found[name] = float((curves.kept - curves.masked).mean())
    return found


def usable(methods: dict[str, Method]) -> dict[str, Make]:
    """Methods whose packages are here; a line for each of the others."""
    for name, method in methods.items():
        if method.missing:
            print(f"left out: {name}, for want of {', '.join(method.missing)}\n")
    return {name: method.make for name, method in methods.items() if not method.missing}


def run(chosen: Iterable[Cell], budgets: Sequence[int], methods: dict[str, Make]) -> Results:
    """Figures of all cells, budgets and methods; the reference, which has no budget, stands under each.

    Without budgets each cell has the one that xcid takes by itself.
    """
    found: Results = {}
    for cell in chosen:
        start = time.perf_counter()
        reference = measure(converged, cell, 0)
        found[cell.name] = {
            budget: {name: measure(make, cell, budget) for name, make in methods.items()} | {REFERENCE: reference}
            for budget in budgets or default_budgets([cell]).values()
        }
        print(f"{cell.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def default_budgets(chosen: Iterable[Cell]) -> dict[str, int]:
    """What xcid takes by itself, for each cell."""
    return {cell.name: 1_000 if cell.rows.shape[1] <= FEW_FEATURES else 3_000 for cell in chosen}


def means(results: Results, budgets: dict[str, int], title: str) -> str:
    """A line for each method: its means over all cells, each at its own budget."""
    lines = [
        f"| {title} | {' | '.join(MASKINGS)} | two seeds, top 4 | asked a row: mean, most | once | ms a row |",
        "|---" * (len(MASKINGS) + 5) + "|",
    ]
    by_method = [results[name][budget] for name, budget in budgets.items()]
    for name in by_method[0]:
        figures = [cell[name] for cell in by_method]
        shown = [f"{np.mean([one.faithfulness[masking] for one in figures]):.4f}" for masking in MASKINGS]
        asked = [one.evaluations for one in figures]
        lines.append(
            f"| {name} | {' | '.join(shown)} | {np.mean([one.agreement for one in figures]):.3f} | "
            f"{np.mean(asked):,.0f}, {np.max(asked):,.0f} | {np.mean([one.once for one in figures]):,.0f} | "
            f"{np.mean([one.milliseconds for one in figures]):.1f} |"
        )
    return "\n".join(lines)


def differences(results: Results, budgets: dict[str, int], title: str) -> str:
    """xcid minus each other method, paired over cells, each at its own budget, with two standard errors."""
    lines = [f"| xcid minus, {title} | {' | '.join(MASKINGS)} | two seeds, top 4 |", "|---" * (len(MASKINGS) + 2) + "|"]
    pairs = [results[name][budget] for name, budget in budgets.items()]
    for peer in [name for name in pairs[0] if name != "xcid"]:
        shown = [
            apart(np.array([cell["xcid"].faithfulness[one] - cell[peer].faithfulness[one] for cell in pairs]))
            for one in MASKINGS
        ]
        agreement = apart(np.array([cell["xcid"].agreement - cell[peer].agreement for cell in pairs]))
        lines.append(f"| {peer} | {' | '.join(shown)} | {agreement} |")
    return "\n".join(lines)


def apart(difference: Array) -> str:
    """Mean and two standard errors of differences over cells, in how many they are above 0, and a word for a loss."""
    mean, margin = summed(difference)
    lost = " **loss**" if mean < -margin else ""
    return f"{mean:+.4f} ± {margin:.4f} ({int(np.sum(difference > 0))}/{len(difference)}){lost}"


def summed(difference: Array) -> tuple[float, float]:
    """Mean and two standard errors; a single cell has none."""
    margin = 2 * difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return float(difference.mean()), float(margin)


def by_cell(results: Results, budgets: dict[str, int], maskings: Sequence[str]) -> str:
    """All cells at xcid's default budget: xcid, the best peer of the cell and the reference."""
    heads = [f"{masking}: xcid / best peer / {REFERENCE}" for masking in maskings]
    lines = [f"| cell | evaluations | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    for name, budget in budgets.items():
        here = results[name][budget]
        shown = []
        for masking in maskings:
            peers = {peer: one.faithfulness[masking] for peer, one in here.items() if peer not in ("xcid", REFERENCE)}
            best = max(peers, key=peers.__getitem__)
            own, known = (here[which].faithfulness[masking] for which in ("xcid", REFERENCE))
            shown.append(f"{own:.3f} / {peers[best]:.3f} ({best}) / {known:.3f}")
        lines.append(f"| {name} | {budget:,} | {' | '.join(shown)} |")
    return "\n".join(lines)


def verdict(results: Results, budgets: dict[str, int]) -> str:
    """Where xcid fails by the rule at the top."""
    pairs = [results[name][budget] for name, budget in budgets.items()]
    lost = []
    for peer in [name for name in pairs[0] if name not in ("xcid", REFERENCE)]:
        for masking in MASKINGS:
            difference = np.array(
                [cell["xcid"].faithfulness[masking] - cell[peer].faithfulness[masking] for cell in pairs]
            )
            mean, margin = summed(difference)
            if mean < -margin:
                lost.append(f"{peer} under {masking}")
    return f"Failures by the rule fixed beforehand: {'; '.join(lost) or 'none'}."


def design_cells(n_rows: int) -> Iterable[Cell]:
    """Some cells of faithfulness.py, on which settings may be chosen."""
    tables = [*paper_tables(), ("breast cancer", *datasets.load_breast_cancer(return_X_y=True))]
    for (name, X, y), model in zip(
        tables * 2, ("forest", "mlp", "boosting", "logistic", "boosting", "mlp"), strict=True
    ):
        train, test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
        yield Cell(f"{name}, {model}", MODELS[model]().fit(train, y_train), train, test[:n_rows])


def tune(chosen: Sequence[Cell], budgets: Sequence[int]) -> str:
    """Mean comp - suff (mean and joint rows together) of each peer, by how its evaluations are divided."""
    lines = [f"| share of coalitions | {' | '.join(map(str, CHOICES))} | best |", "|---" * (len(CHOICES) + 2) + "|"]
    for name, kind in KINDS.items():
        if Method(converged, kind.needs).missing:
            continue
        scores = []
        for choice in CHOICES:
            make = by_coalitions(kind, choice)
            values = [
                np.mean(list(judged(cell, explained(make, cell, budget), ("mean", "joint rows")).values()))
                for cell in chosen
                for budget in budgets
            ]
            scores.append(float(np.mean(values)))
        shown = " | ".join(f"{score:.4f}" for score in scores)
        lines.append(f"| {name} | {shown} | {CHOICES[int(np.argmax(scores))]} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def explained(make: Make, cell: Cell, budget: int) -> Array:
    return make(Counted(cell.model), cell.train, budget, 0)(cell.rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--cells", type=int, default=36, help="how many of the planned cells")
    parser.add_argument("--rows", type=int, default=20, help="rows of each cell")
    parser.add_argument("--budgets", type=int, nargs="*", default=list(BUDGETS), help="evaluations a row; none: xcid's")
    parser.add_argument("--tune", action="store_true", help="choose the peers' settings on tables of faithfulness.py")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.tune:
        print(tune(list(design_cells(options.rows)), options.budgets))
        return 0
    chosen = list(cells(options.cells, options.rows))
    print(f"{len(chosen)} cells, {options.rows} rows each, {versions()}\n")
    results = run(chosen, options.budgets, usable(METHODS))
    print("\n\n".join(page(results, default_budgets(chosen), options.budgets)))
    return 0


def page(results: Results, defaults: dict[str, int], budgets: Sequence[int]) -> list[str]:
    """All tables."""
    parts = [means(results, dict.fromkeys(results, budget), f"{budget:,} evaluations a row") for budget in budgets]
    parts += [differences(results, dict.fromkeys(results, budget), f"{budget:,} evaluations") for budget in budgets]
    if not budgets:
        parts.append(means(results, defaults, "xcid's default budget"))
    if not budgets or set(defaults.values()) <= set(budgets):
        parts.append(differences(results, defaults, "xcid's default budget"))
        classes = {name: budget for name, budget in defaults.items() if "(regression)" not in name}
        if 1 < len(classes) < len(defaults):
            parts.append(differences(results, classes, f"{len(classes)} cells of classes"))
        parts.append(by_cell(results, defaults, ("mean", "joint rows")))
        parts.append(verdict(results, defaults))
    return parts


def versions() -> str:
    """What is installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: list[Any] = []
    for name in ("scikit-learn", "shapiq", "shap", "lightshap", "lime", "xgboost", "lightgbm"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


if __name__ == "__main__":
    sys.exit(main())
