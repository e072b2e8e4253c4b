"""Does ``survival`` promise what holds? Changes of real rows, in models that fresh rows of the same table train.

Of each table some rows train the model that is asked, 24 others are asked about, and all that is left is cut into
disjoint samples of the same size, each of which trains one model that judges. So no model shares a row with another.
The line of a table of the page is a kind of change or a bin of what was promised: what was promised in the mean, and
what held, with a standard error that counts rows and judges (both vary). Written down before the run: a failure is a
bin or kind whose held share is less than what was promised by two standard errors, above all promises of .9 and more.

``--design`` takes other tables, on which a mend is chosen: promises by as many other refits, which the search did not
know; with a number taken off their t (of Student's distribution), which lowers all of them; or with t multiplied by a
number below 1, which draws them towards one half. The one that was chosen takes .5 off (``FLATTERED``).

    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES            # see review_tables.py for how to get TABLES
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --design
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --write    # and puts the table into docs/whatif.md
"""

from __future__ import annotations

import argparse
import itertools
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from proofs import insert, read, table_of
from review_tables import SCALED, fitter
from scipy import special
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import xcid
from xcid._require import silence
from xcid.whatif.steady import FLATTERED

PAGE = Path(__file__).parents[1] / "docs" / "whatif.md"
REPORTED, DESIGN = ("phoneme", "magic", "twonorm", "satimage"), ("ring", "banana", "penbased", "spambase")
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "forest": lambda: RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
    "XGBoost": lambda: XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1, random_state=0),
}
KINDS = "sparsest", "nearest", "likeliest", "steady"
N_TRAIN, N_ROWS, N_JUDGES, N_REFITS = 500, 24, 7, 8
BINS = 0.0, 0.3, 0.5, 0.7, 0.9, 1.0
MENDS = (
    *((1.0, shift) for shift in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)),
    (0.8, 0.0),
    (0.6, 0.0),
    (0.8, 0.4),
)  # t times, less


def lines_of(folder: Path, name: str, n_rows: int) -> Iterator[dict[str, Any]]:
    """Every line of counterfactuals of a table, with what it promises and in which judges it holds."""
    X, y = read(folder / f"{name}.dat")
    order = np.random.default_rng(17).permutation(len(X))
    train, asked, left = np.split(order, [N_TRAIN, N_TRAIN + n_rows])
    known, rows = X.iloc[train].reset_index(drop=True), X.iloc[asked].reset_index(drop=True)
    fresh = [left[at * N_TRAIN : (at + 1) * N_TRAIN] for at in range(min(N_JUDGES, len(left) // N_TRAIN))]
    for model_name, make in MODELS.items():
        fit = fitter(make, model_name in SCALED)
        model = fit(known, y[train])
        judges = [fit(X.iloc[part].reset_index(drop=True), y[part]) for part in fresh]
        refits = xcid.refits(model, known, y[train], n=2 * N_REFITS)
        found = xcid.Explainer(model, known, refits=refits[:N_REFITS]).counterfactuals(rows, k=4)
        wanted = 1 - np.asarray(model.predict(rows)).astype(int)[found.row]
        holds = np.array([np.asarray(judge.predict(found.table())).astype(int) == wanted for judge in judges])
        others = promise([one.predict_proba(found.table()) for one in refits[N_REFITS:]], wanted)
        for line in np.flatnonzero(found.reached & (found.n_changes > 0)):
            cell = {"table": name, "model": model_name, "row": int(found.row[line]), "kinds": found.kind[line]}
            said = {"promised": float(found.survival[line]), "others": float(others[line])}
            said["own"] = float(mend(found.survival[line], 1.0, -FLATTERED))  # as before something was taken off
            yield cell | said | {"holds": holds[:, line].astype(float)}


def promise(chances: Sequence[Any], wanted: Any) -> Any:
    """(m,) what other refits promise of lines: as ``survival`` with nothing off, by models that no search knew."""
    own = np.array([np.asarray(one, dtype=float)[np.arange(len(wanted)), wanted] for one in chances])
    gains = np.clip(special.logit(own), -30, 30)
    error = np.maximum(2 * gains.std(axis=0, ddof=1), 1e-9)
    return special.stdtr(len(gains) - 1, gains.mean(axis=0) / error)


def tell(found: pd.DataFrame, what: list[str]) -> list[str]:
    """A line: what was promised, what held, with its error, and whether too much was promised."""
    promised, held = found.promised.mean(), np.mean([np.mean(one) for one in found.holds])
    error = error_of(found)
    verdict = "**too much**" if held < promised - 2 * error else ""
    return [*what, str(len(found)), f"{promised:.2f}", f"{held:.2f} ± {error:.2f}", verdict]


def error_of(found: pd.DataFrame) -> float:
    """The standard error of the share that held, from the means of rows and from those of judges.

    Lines of one row are one, whatever their kinds and models, and so are those that one judge judges.
    """
    rows, judges = list[float](), list[tuple[int, float]]()
    whole = np.mean([np.mean(one) for one in found.holds])
    for _, mine in found.groupby(["table", "row"]):
        rows.append(sum(float(np.mean(one)) - whole for one in mine.holds))
    for _, mine in found.groupby(["table", "model"]):
        own = np.array(list(mine.holds))
        judges += [(len(own), float(gap)) for gap in own.mean(axis=0) - own.mean()]
    of_rows = np.sum(np.square(rows)) / len(found) ** 2
    of_judges = sum((n * gap) ** 2 for n, gap in judges) / N_JUDGES / (N_JUDGES - 1) / len(found) ** 2
    return float(np.sqrt(of_rows + of_judges))


def mend(promised: Any, factor: float, shift: float) -> Any:
    """Promises with another t."""
    df = N_REFITS - 1
    return special.stdtr(df, factor * special.stdtrit(df, np.clip(promised, 1e-6, 1 - 1e-6)) - shift)


def tell_mends(found: pd.DataFrame) -> str:
    """A line for each way to mend promises: all lines, those of .9 and more, and the mean squared gap."""
    lines = [["refits, t times, less", "all: promised", "held", "", "lines with .9 and more", "promised", "held", "",
              "mean squared gap"], ["---"] * 9]  # fmt: skip
    for judges, (factor, shift) in itertools.product(("own", "others"), MENDS):
        said = found.assign(promised=mend(found[judges], factor, shift))
        sure = said[said.promised >= BINS[-2]]
        gap = np.mean([(one.promised - np.mean(one.holds)) ** 2 for one in said.itertuples()])
        of_sure = tell(sure, []) if len(sure) > 1 else [str(len(sure)), "", "", ""]
        lines.append([f"{judges}, {factor:.1f}, {shift:.1f}", *tell(said, [])[1:], *of_sure, f"{gap:.4f}"])
    return table_of(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="TABLES")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--design", action="store_true", help="other tables, on which a mend is chosen")
    parser.add_argument("--write", action="store_true", help="put the table into docs/whatif.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("xcid").setLevel(logging.ERROR)
    every = list[dict[str, Any]]()
    with silence():
        for name in DESIGN if options.design else REPORTED:
            every += lines_of(options.folder, name, options.rows)
    found = pd.DataFrame(every)
    heads = ["model", "kind", "lines", "promised", "held in fresh models", ""]
    lines = [heads, ["---"] * len(heads)]
    for model in MODELS:
        for kind in KINDS:
            mine = found[(found.model == model) & np.array([kind in one.split(" and ") for one in found.kinds])]
            lines += [tell(mine, [model, kind])] if len(mine) > 1 else []
    bins = [["model", "promised from, to", *heads[2:]]]
    bins.append(["---"] * len(bins[0]))
    for model in ("all", *MODELS):
        for low, high in itertools.pairwise(BINS):
            is_in = (found.promised >= low) & ((found.promised < high) | (high == 1))
            mine = found[is_in & ((found.model == model) | (model == "all"))]
            lines_in = [tell(mine, [model, f"{low:.1f}, {high:.1f}"])] if len(mine) > 1 else []
            bins += lines_in if model == "all" or low >= BINS[-2] else []
    made = table_of(lines) + "\n" + table_of(bins)
    print(made)
    print(tell_mends(found))
    if options.write:
        PAGE.write_text(insert(PAGE.read_text(encoding="utf-8"), "promised", made), encoding="utf-8")


if __name__ == "__main__":
    main()
