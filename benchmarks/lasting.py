"""Do changes still work in a model that is trained on fresh data? Four answers for refused rows of a known population.

A fresh sample of the same population trains each of the models that judge. The nearest row of the other class, and the
same with as many of its values taken back as can be (greedily, the least useful first: much as NICE does), are peers.

Standard errors are those of rows and of the models that judge, together. What is promised of real tables is held
against what holds in ``promised.py``.

    OMP_NUM_THREADS=1 python benchmarks/lasting.py [--rows 40] [--fresh 20]
    OMP_NUM_THREADS=1 python benchmarks/lasting.py --write    # and puts the table into docs/whatif.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from proofs import insert, table_of
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import xcid

PAGE = Path(__file__).parents[1] / "docs" / "whatif.md"
D, N = 8, 800


def sample(seed: int, n: int = N) -> tuple[Any, Any]:
    """Eight columns, two of which work together and one does nothing."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D))
    X[:, 1] += 0.6 * X[:, 0]
    score = X[:, 0] + 0.7 * X[:, 2] - 0.8 * np.maximum(X[:, 3], 0) + X[:, 4] * X[:, 5] + 0.4 * X[:, 6] - 0.3
    frame = pd.DataFrame(X.round(2), columns=list("abcdefgh"))
    return frame, (score + random.logistic(size=n) / 2 > 0).astype(int)


def models() -> Any:
    """Makers of models."""
    yield "logistic", lambda seed: LogisticRegression()
    yield "forest", lambda seed: RandomForestClassifier(60, min_samples_leaf=3, random_state=seed)
    yield "XGBoost", lambda seed: XGBClassifier(n_estimators=60, max_depth=4, random_state=seed)


def peers(model: Any, X: Any, rows: Any) -> dict[str, Any]:
    """The nearest reference row of the other class, and what is left of it where changes are taken back."""
    table, predicted, spread = X.to_numpy(), model.predict(X), X.std().to_numpy()
    whole, less = [], []
    for own in rows.to_numpy():
        here = model.predict(pd.DataFrame([own], columns=X.columns))[0]
        others = table[predicted != here]
        near = others[np.argmin((np.abs(others - own) / spread).sum(axis=1))]
        whole.append(near)
        row = near.copy()
        while True:
            moved = np.flatnonzero(row != own)
            tried = np.repeat(row[None], len(moved), axis=0)
            tried[np.arange(len(moved)), moved] = own[moved]
            chance = model.predict_proba(pd.DataFrame(tried, columns=X.columns))[:, 1 - here]
            if len(moved) < 2 or chance.max() <= 0.5:
                break
            row = tried[int(np.argmax(chance))]
        less.append(row)
    return {"nearest row of the other class": np.array(whole), "the same, changes taken back": np.array(less)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--fresh", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the table into docs/whatif.md")
    options = parser.parse_args()
    lines = [["model", "answer", "rows", "changes", "holds in fresh models", "promised"], ["---"] * 6]
    for name, make in models():
        X, y = sample(0)
        model = make(0).fit(X, y)
        rows = sample(1, options.rows)[0]
        judges = [make(seed).fit(*sample(seed)) for seed in range(100, 100 + options.fresh)]
        wanted = 1 - model.predict(rows)

        def tell(what: str, table: Any, owner: Any, promised: float | None) -> None:
            frame = pd.DataFrame(np.asarray(table), columns=list("abcdefgh"))
            holds = np.array([judge.predict(frame) == wanted[owner] for judge in judges], dtype=float)  # noqa: B023
            size = (frame.to_numpy() != rows.to_numpy()[owner]).sum(axis=1).mean()  # noqa: B023
            error = np.sqrt(sum(holds.mean(axis=at).var(ddof=1) / holds.shape[1 - at] for at in (0, 1)))
            said = "" if promised is None else f"{promised:.2f}"
            lines.append([name, what, str(len(owner)), f"{size:.2f}", f"{holds.mean():.2f} ± {error:.2f}", said])  # noqa: B023
            print(lines[-1], flush=True)

        refits = xcid.refits(model, X, y, n=20)
        for suffix, given in (("", refits), (", by a margin", None)):
            found = xcid.Explainer(model, X, refits=given).counterfactuals(rows, k=4)
            for kind in ("sparsest", "nearest", "likeliest", "steady") if given else ("steady",):
                there = found.reached & np.array([kind in one.split(" and ") for one in found.kind])
                promise = float(found.survival[there].mean()) if given else None
                tell(f"xcid, {kind}{suffix}", found.table()[there], found.row[there], promise)
        for what, table in peers(model, X, rows).items():
            tell(what, table, np.arange(len(rows)), None)
    made = table_of(lines)
    print(made)
    if options.write:
        PAGE.write_text(insert(PAGE.read_text(encoding="utf-8"), "lasting", made), encoding="utf-8")


if __name__ == "__main__":
    main()
