"""Sampled Shapley values of xcid in shapiq's own games of local explanations, at equal numbers of evaluations.

A game of shapiq's benchmark (``shapiq_benchmark``, which comes with shapiq 1.8 for Python 3.12) has a table, a model
and a row to explain; the value of some features is the mean output (the probability of class 1, or the number) where
the others take the values of each of 100 background rows in turn. xcid gets the same model as a function that it cannot
read, these 100 rows as its reference data, and as many evaluations of the model a row as the estimators of shapiq. They
ask the game itself, where every coalition takes 100 evaluations.

The truth is shapiq's sum over all coalitions, or where features are many SHAP's exact values of a forest. The error of
a row is the root mean square of its differences, as a share of that of the true values.

A loss, fixed before the first run: the error of xcid, averaged over games, is above that of an estimator by more than
two standard errors of the difference over games, at any of the budgets.

    python benchmarks/games.py                 # nine games, five rows each
    python benchmarks/games.py --rows 1 --games 2 --budgets 1000
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from cells import Array

import xcid
from xcid._require import quiet_and_seeded
from xcid.generators import Balanced
from xcid_lab.baselines.shapiq import ESTIMATORS, Name
from xcid_lab.metrics import Interval, paired

GAMES = (
    ("condind", "random_forest"), ("disjunct", "mlp"), ("chess", "mlp"), ("sphere", "mlp"), ("condind", "mlp"),
    ("disjunct", "random_forest"), ("breast_cancer", "random_forest"), ("corrgroups60", "random_forest"),
    ("independentlinear60", "random_forest"),
)  # fmt: skip
MOST_ENUMERATED = 12
BUDGETS = (1_000, 3_000, 10_000)
DONORS = 100
Estimate: TypeAlias = Callable[["Case", int, int], Array]
"""``estimate(case, budget, seed) -> (d,)``."""


class Case(NamedTuple):
    """A game, its model as a function, its background rows and what is true of the row."""

    name: str
    game: Any
    output: Callable[[Array], Array]
    donors: Array
    row: Array
    truth: Array


def cases(games: Sequence[tuple[str, str]], n_rows: int) -> Iterator[Case]:
    """Games as shapiq's benchmark sets them up, for the first test rows."""
    from shapiq_benchmark.setups import TabularLocalExplanationSetup

    for dataset, model in games:
        for x in range(n_rows):
            setup = TabularLocalExplanationSetup(dataset=dataset, model=model, x=x, n_background=DONORS)
            game = setup.build()
            donors, row = np.asarray(game.imputer.data, dtype=float), np.asarray(game.x, dtype=float)
            true = by_coalitions(game) if len(row) <= MOST_ENUMERATED else by_trees(setup, donors, row)
            assert np.isclose(true.sum(), game(np.ones((1, len(row)), dtype=bool))[0])
            yield Case(f"{dataset}, {model}", game, game.imputer.predict, donors, row, true)


def by_coalitions(game: Any) -> Array:
    """(d,) Shapley values as shapiq sums them over all coalitions."""
    import shapiq

    found = shapiq.ExactComputer(game)("SV", 1)
    return np.array([found[(feature,)] for feature in range(game.n_players)])


def by_trees(setup: Any, donors: Array, row: Array) -> Array:
    """(d,) SHAP's exact values of the forest of a game, which is trained once more: a game keeps its function alone."""
    import shap

    split = setup.load_split()
    model = setup.estimator(split.task).fit(split.x_train, split.y_train)
    values = np.asarray(shap.TreeExplainer(model, donors, feature_perturbation="interventional").shap_values(row[None]))
    return values[0, :, 1] if values.ndim == 3 else values[0]


def of_xcid(case: Case, budget: int, seed: int) -> Array:
    """Contributions to what the function gives; that of classes is a probability, whose log odds xcid would take."""
    scale = "auto" if case.game.class_index is None else "probability"
    explainer = xcid.Explainer(case.output, case.donors, scale=scale, generator=Balanced(budget - 1))
    return np.asarray(explainer(case.row[None], seed=seed).values[0])


def in_the_game(name: Name, case: Case, budget: int, seed: int) -> Array:
    """An estimator of shapiq that asks the game itself."""
    import shapiq

    how, d = ESTIMATORS[name], len(case.row)
    with quiet_and_seeded(seed):
        made = getattr(shapiq.approximator, name)(n=d, random_state=seed, **how.settings)
        found = made.approximate(budget // DONORS, case.game)
    return np.array([found[(feature,)] for feature in range(d)])


METHODS: dict[str, Estimate] = {
    "xcid": of_xcid,
    **{name: partial(in_the_game, name) for name in ESTIMATORS},
}


def error(estimate: Estimate, case: Case, budget: int, seed: int) -> float:
    """Root mean square error as a share; NaN where an estimator cannot do with so little, or fails."""
    try:
        off = estimate(case, budget, seed) - case.truth
    except Exception:  # every estimator fails in its own way
        return np.nan
    return float(np.sqrt(np.mean(off**2) / np.mean(case.truth**2)))


def measure(chosen: Sequence[Case], budget: int) -> dict[str, dict[str, float]]:
    """Mean errors by method and game."""
    names = dict.fromkeys(case.name for case in chosen)
    return {
        method: {
            name: float(np.mean([error(how, one, budget, at) for at, one in enumerate(chosen) if one.name == name]))
            for name in names
        }
        for method, how in METHODS.items()
    }


def shown(found: dict[str, dict[str, float]], budget: int) -> str:
    """Errors, and how far xcid's are below each peer's; a loss is marked."""
    ours = np.array(list(found["xcid"].values()))
    lines = [f"| {budget:,} evaluations | error | xcid's, less this | xcid closer in |", "|---|---|---|---|"]
    for method, by_game in found.items():
        theirs = np.array(list(by_game.values()))
        known = np.isfinite(theirs)
        if not known.any():
            lines.append(f"| {method} | fails in every game | | |")
            continue
        mean = f"{theirs[known].mean():.3f}" + ("" if known.all() else f" ({known.sum()} games)")
        gap = paired(ours[known], theirs[known])
        ahead = f"{np.sum(ours[known] < theirs[known])} of {known.sum()}"
        rest = "| |" if method == "xcid" else f"{_signed(gap)} | {ahead} |"
        lines.append(f"| {method} | {mean} | {rest}")
    return "\n".join(lines)


def _signed(gap: Interval) -> str:
    return f"{gap.mean:+.3f} ± {gap.margin:.3f}" + (" **loss**" if gap.mean > gap.margin else "")


def by_game(found: dict[str, dict[str, float]], budget: int) -> str:
    """xcid's error in each game, and the smallest of the others."""
    lines = [f"| {budget:,} evaluations | xcid | the best of the others |", "|---|---|---|"]
    for game, ours in found["xcid"].items():
        others = {name: one[game] for name, one in found.items() if name != "xcid" and np.isfinite(one[game])}
        best = min(others, key=lambda name: others[name])
        lines.append(f"| {game} | {ours:.3f} | {others[best]:.3f} ({best}) |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--games", type=int, default=len(GAMES))
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    chosen = list(cases(GAMES[: options.games], options.rows))
    for budget in options.budgets:
        found = measure(chosen, budget)
        print(shown(found, budget) + "\n\n" + by_game(found, budget) + "\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
