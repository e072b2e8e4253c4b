"""Do the limits of sampled contributions hold the truth? For models that are called, where the truth is known.

- coverage: share of 95% limits that hold the true contribution of a column that the model is given;
- bias: what contributions lack or have too much in size, by regression on the truth;
- rmse: root mean square error, as a share of the root mean square of the truth;
- false positives: share of p < 0.05 on columns that the model provably ignores (nominal 5%);
- gap: how far base value and contributions are from the output, at most, on the scale of the contributions.

What counts as failure was written down before the rule of the limits that is in force was run on BUILT_IN or FRESH: a
mean coverage outside .93 to .97, or a cell below .90; false positives outside 4 to 6% in the mean, or a cell above 8%;
a cell with a bias above 2%.

Run: python benchmarks/calibration.py [--rows 20] [--seeds 10] [--fresh | --folder TABLES [--design]]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from known import IGNORED, Case, Wanted, cases

import xcid

ALL = 10**6
OTHER_SCALES = [
    *(Wanted(table, "forest", most, "log_odds") for table, most in (("diabetes", 600), ("heart", 240))),
    *(Wanted(table, "forest", ALL, "log_odds") for table in ("breast_cancer", "wine")),
    *(Wanted(table, "mlp", most, "probability") for table, most in (("diabetes", 600), ("heart", 240))),
    *(Wanted(table, "mlp", ALL, "probability") for table in ("breast_cancer", "wine", "drawn_60", "drawn_20000")),
]
BUILT_IN = [
    *(Wanted("diabetes", kind, 600) for kind in ("forest", "boosting", "mlp", "labels")),
    *(Wanted("heart", kind, 240) for kind in ("forest", "boosting", "mlp", "labels")),
    *(Wanted("wine", kind, ALL) for kind in ("forest", "boosting", "mlp")),
    Wanted("digits", "forest", ALL),
    *(Wanted("progression", kind, ALL) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("friedman", kind, ALL) for kind in ("boosting", "mlp")),
    *(Wanted("drawn_60", kind, ALL) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("drawn_20000", kind, ALL) for kind in ("boosting", "mlp")),
    *OTHER_SCALES,
    *(Wanted("loans", kind, ALL) for kind in ("boosting", "mlp")),
]
DESIGN = [
    Wanted(table, kind, most)
    for table, most in (("phoneme", 4_000), ("spambase", 3_000), ("ionosphere", ALL), ("bupa", ALL))
    for kind in ("forest", "boosting", "mlp", "labels")
]
UNSEEN = [
    *(Wanted("magic", kind, ALL) for kind in ("boosting", "mlp")),
    *(Wanted("ring", kind, ALL) for kind in ("boosting", "mlp")),
    *(Wanted("sonar", kind, ALL) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("vehicle", kind, ALL) for kind in ("forest", "mlp")),
    *(Wanted("satimage", kind, 3_000) for kind in ("forest",)),
    *(Wanted("saheart", kind, ALL) for kind in ("forest", "boosting", "mlp", "labels")),
]
FRESH = [
    *(Wanted(table, kind, ALL) for table in ("rings", "tails", "wide") for kind in ("boosting", "mlp")),
    *(Wanted("counts", kind, ALL) for kind in ("forest", "boosting")),
    *(Wanted("factors", kind, ALL) for kind in ("forest", "mlp")),
    *(Wanted("bent", kind, ALL) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("few", kind, ALL) for kind in ("mlp", "labels")),
]
NAMES = ("coverage", "bias", "rmse", "false positives", "gap")


def measure(case: Case, seeds: int) -> dict[str, float]:
    """Hold the contributions of some seeds against the truth."""
    explainer = xcid.Explainer(case.ask, case.train, scale=case.scale, **case.settings)
    runs = [explainer.contributions(case.rows, seed=seed) for seed in range(seeds)]
    found, lower, upper, p = (np.array([getattr(r, n) for r in runs]) for n in ("values", "lower", "upper", "p_values"))
    slack = 1e-7 * np.abs(case.truth).max()
    holds = (lower <= case.truth + slack) & (case.truth - slack <= upper)
    base = np.array([run.base_values for run in runs])
    return {
        "coverage": float(holds[:, :, :-IGNORED].mean()),
        "bias": float((found * case.truth).sum() / (seeds * np.sum(case.truth**2)) - 1),
        "rmse": float(np.sqrt(np.mean((found - case.truth) ** 2) / np.mean(case.truth**2))),
        "false positives": float(np.mean(p[:, :, -IGNORED:] < 0.05)),
        "gap": float(np.abs(base + found.sum(axis=2) - case.number(case.rows, case.about)).max()),
        "evaluations": float(np.mean(runs[0].n_evaluations)),
    }


def line(name: str, reference: str, truth: str, found: dict[str, float]) -> str:
    """One line of the table."""
    shares = f"{found['coverage']:.3f} | {found['bias']:+.1%} | {found['rmse']:.3f} | {found['false positives']:.1%}"
    return f"| {name} | {reference} | {truth} | {found['evaluations']:,.0f} | {shares} | {found['gap']:.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="of comma-separated files, last column the class")
    parser.add_argument("--design", action="store_true", help="the tables that settings were chosen on")
    parser.add_argument("--fresh", action="store_true", help="the tables of drawn.py")
    parser.add_argument("--tables", nargs="*", help="some of them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = (DESIGN if options.design else UNSEEN) if options.folder else FRESH if options.fresh else BUILT_IN
    wanted = [one for one in wanted if not options.tables or one.table in options.tables]
    print(f"| table | model | columns, reference rows | truth | evaluations | {' | '.join(NAMES)} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    every = []
    for one in cases(wanted, options.folder, options.rows):
        every.append(measure(one, options.seeds))
        size = f"{one.train.shape[1] - IGNORED}, {len(one.train):,}"
        truth = one.how + (f" ±{one.error:.3f}" if one.error else "")
        print(line(one.name, size, truth, every[-1]), flush=True)
    mean = {name: float(np.mean([found[name] for found in every])) for name in every[0]}
    print(line("mean |", f"{len(every)} cells", "", mean))


if __name__ == "__main__":
    main()
