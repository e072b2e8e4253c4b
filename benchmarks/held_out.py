"""Does the coverage of actions hold for rows that they were not chosen on?

Actions are chosen on some refused rows of a known population and then made on 300 fresh ones.

Run: python benchmarks/held_out.py [--draws 12]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import xcid
from xcid.whatif.actions import Actions
from xcid.whatif.parts import apply_part
from xcid.whatif.search_space import SearchSpace

WANTED = 0.7


def population(n: int, seed: int) -> tuple[Any, Any]:
    """Nine columns of which some work together."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 8)).round(2), columns=[f"x{at}" for at in range(8)])
    X["level"] = random.integers(0, 4, n)
    score = X["x0"] + X["x1"] * X["x2"] + X["x4"] * X["x5"] + np.abs(X["x3"]) + 0.5 * X["level"] - 2.6
    return X, (score + random.logistic(size=n) / 2 > 0).astype(int)


def share_flipped(found: Actions, explainer: Any, rows: Any) -> float:
    """The share of rows that some action gives the wanted probability."""
    space, table = SearchSpace.of(explainer.subject), explainer.space.encode(rows)
    own, flipped = explainer.subject.features.fold(table), np.zeros(len(table), dtype=bool)
    for action in found.actions:
        new = own.copy()
        for part in action:
            new[:, part.at] = apply_part(space, part, own)
        new = np.where(np.isnan(new).any(axis=1)[:, None], own, new)
        changed = explainer.subject.features.unfold(new, table, np.arange(len(table)))
        flipped |= explainer.subject.predict(changed)[:, 1] >= WANTED
    return float(flipped.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=12)
    draws = parser.parse_args().draws
    X, y = population(1000, 1)
    print("| model | rows | actions | of these rows | covered | of fresh rows |\n|---|---|---|---|---|---|")
    for name, model in (
        ("forest", RandomForestClassifier(50, min_samples_leaf=3, random_state=0)),
        ("boosting", HistGradientBoostingClassifier(max_iter=60, random_state=0)),
    ):
        rules = xcid.Constraints(frozen=["x0"])
        explainer = xcid.Explainer(model.fit(X, y), X, class_names=["no", "yes"], constraints=rules)
        others = population(3000, 2)[0]
        refused = others[model.predict(others) == 0]
        fresh, goal = refused.iloc[600:900], xcid.outcomes.Within(WANTED, target="yes")
        for n, k in ((15, 1), (30, 1), (60, 1), (15, 3), (30, 3), (60, 3)):
            shares = []
            for seed in range(draws):
                found = explainer.actions(refused.iloc[:600].sample(n, random_state=seed), goal, k)
                if len(found.actions):
                    seen = found.flips.any(axis=0).mean()
                    shares.append((seen, found.covered[-1], share_flipped(found, explainer, fresh)))
            print(f"| {name} | {n} | {k} | " + " | ".join(f"{share:.2f}" for share in np.mean(shares, axis=0)) + " |")


if __name__ == "__main__":
    main()
