"""Does ``survival`` promise what holds? Changes of real rows, in models that fresh rows of the same table train.

Of each table some rows train the model that is asked, 24 others are asked about, and all that is left is cut into
disjoint samples of the same size, each of which trains one model that judges. So no model shares a row with another.
The line of a table of the page is a kind of change or a bin of what was promised: what was promised in the mean, and
what held, with a standard error that counts rows and judges (both vary). Written down before the run: a failure is a
bin or kind whose held share is less than what was promised by two standard errors, above all promises of .9 and more.

Everything was chosen on other tables. ``--design`` takes these: with a number taken off the t of promises (of Student's
distribution), which lowers all of them, or with t multiplied by a number below 1, which draws them towards one half.
The one that was chosen takes .5 off (``FLATTERED``). ``--worth`` counts the changes of steady lines there, and how
often they hold, beside those of NICE, for what each change must be worth: the one that was chosen (``WORTH``) is the
least with which they are no more than those of NICE for any table and model.

    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES            # see review_tables.py for how to get TABLES
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --refits 8 --only XGBoost
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --design
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --worth --refits 8
    OMP_NUM_THREADS=1 python benchmarks/promised.py TABLES --write    # and puts the table into docs/whatif.md
"""

from __future__ import annotations

import argparse
import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from changers import Task, nice
from proofs import insert, read, table_of
from review_tables import SCALED, fitter
from scipy import special
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import xcid
from xcid._require import silence
from xcid.whatif import steady
from xcid.whatif.steady import FLATTERED, halve

PAGE = Path(__file__).parents[1] / "docs" / "whatif.md"
REPORTED, DESIGN = ("texture", "optdigits", "marketing", "letter"), ("ring", "banana", "penbased", "spambase")
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "forest": lambda: RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
    "XGBoost": lambda: XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1, random_state=0),
}
KINDS = "sparsest", "nearest", "likeliest", "steady"
N_TRAIN, N_ROWS, N_JUDGES, N_REFITS = 500, 24, 7, 20
WORTHS = 0.1, 0.15, 0.2, 0.25, 0.3
BINS = 0.0, 0.3, 0.5, 0.7, 0.9, 1.0
MENDS = (
    *((1.0, shift) for shift in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)),
    (0.8, 0.0),
    (0.6, 0.0),
    (0.8, 0.4),
)  # t times, less


class Asked(NamedTuple):
    """A model of a table with refits, rows that it does not know, and models of other rows that judge."""

    table: str
    model_name: str
    model: Any
    known: pd.DataFrame
    target: Any
    refits: tuple[Any, ...]
    rows: pd.DataFrame
    judges: list[Any]

    @property
    def wanted(self) -> Any:
        """(n,) the other class of each row."""
        return 1 - np.asarray(self.model.predict(self.rows)).astype(int)

    def held(self, table: pd.DataFrame, row: Any) -> Any:
        """(judges, m) whether changed rows have the other class."""
        return np.array([np.asarray(one.predict(table)).astype(int) == self.wanted[row] for one in self.judges])


def ask(folder: Path, name: str, n_rows: int, n_refits: int, only: str) -> Iterator[Asked]:
    """Train all models of a table."""
    X, y = read(folder / f"{name}.dat")
    order = np.random.default_rng(17).permutation(len(X))
    train, asked, left = np.split(order, [N_TRAIN, N_TRAIN + n_rows])
    known, rows = X.iloc[train].reset_index(drop=True), X.iloc[asked].reset_index(drop=True)
    fresh = [left[at * N_TRAIN : (at + 1) * N_TRAIN] for at in range(min(N_JUDGES, len(left) // N_TRAIN))]
    for model_name, make in MODELS.items():
        if only and model_name != only:
            continue
        fit = fitter(make, model_name in SCALED)
        model = fit(known, y[train])
        judges = [fit(X.iloc[part].reset_index(drop=True), y[part]) for part in fresh]
        refits = tuple(xcid.refits(model, known, y[train], n=n_refits))
        yield Asked(name, model_name, model, known, y[train], refits, rows, judges)


def lines_of(one: Asked) -> Iterator[dict[str, Any]]:
    """Every line of counterfactuals, with what it promises and in which judges it holds."""
    found = xcid.Explainer(one.model, one.known, refits=one.refits).counterfactuals(one.rows, k=4)
    holds, df = one.held(found.table(), found.row), len(halve(one.refits)[1]) - 1
    for line in np.flatnonzero(found.reached & (found.n_changes > 0)):
        cell = {"table": one.table, "model": one.model_name, "row": int(found.row[line]), "kinds": found.kind[line]}
        said = {"promised": float(found.survival[line]), "df": df}
        said["own"] = float(mend(found.survival[line], 1.0, -FLATTERED, df))  # as before something was taken off
        yield cell | said | {"holds": holds[:, line].astype(float)}


def steady_of(one: Asked) -> Iterator[list[str]]:
    """A line of Markdown: the changes of steady lines and how often they hold, by worth, and those of NICE."""
    told = []
    for worth in WORTHS:
        with mock.patch.object(steady, "WORTH", worth):
            found = xcid.Explainer(one.model, one.known, refits=one.refits).counterfactuals(one.rows, k=4)
        lines = np.flatnonzero([("steady" in kind.split(" and ")) for kind in found.kind])
        held = one.held(found.table().iloc[lines], found.row[lines]).mean()
        told.append(f"{found.n_changes[lines].mean():.2f}, {held:.2f}")
    change, rows = nice(Task(one.model, one.known, one.target)), one.rows.to_numpy(float)
    made = {at: new for at, row in enumerate(rows) if (new := change(row, 1 - one.wanted[at])) is not None}
    table, at = pd.DataFrame(np.array([*made.values()]), columns=list(one.rows)), np.array([*made])
    changes = (table.to_numpy() != rows[at]).sum(axis=1).mean()
    yield [one.table, one.model_name, *told, f"{changes:.2f}, {one.held(table, at).mean():.2f}"]


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


def mend(promised: Any, factor: float, shift: float, df: Any) -> Any:
    """Promises with another t."""
    return special.stdtr(df, factor * special.stdtrit(df, np.clip(promised, 1e-6, 1 - 1e-6)) - shift)


def tell_mends(found: pd.DataFrame) -> str:
    """A line for each way to mend promises: all lines, those of .9 and more, and the mean squared gap."""
    lines = [["t times, less", "all: promised", "held", "", "lines with .9 and more", "promised", "held", "",
              "mean squared gap"], ["---"] * 9]  # fmt: skip
    for factor, shift in MENDS:
        said = found.assign(promised=mend(found.own, factor, shift, found.df))
        sure = said[said.promised >= BINS[-2]]
        gap = np.mean([(one.promised - np.mean(one.holds)) ** 2 for one in said.itertuples()])
        of_sure = tell(sure, []) if len(sure) > 1 else [str(len(sure)), "", "", ""]
        lines.append([f"{factor:.1f}, {shift:.1f}", *tell(said, [])[1:], *of_sure, f"{gap:.4f}"])
    return table_of(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="TABLES")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--design", action="store_true", help="other tables, on which a mend is chosen")
    parser.add_argument("--worth", action="store_true", help="the same, on which the worth of a change is chosen")
    parser.add_argument("--refits", type=int, default=N_REFITS)
    parser.add_argument("--only", default="", choices=["", *MODELS], help="one of the models")
    parser.add_argument("--write", action="store_true", help="put the table into docs/whatif.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("xcid").setLevel(logging.ERROR)
    every, worths = list[dict[str, Any]](), list[list[str]]()
    for name in DESIGN if options.design or options.worth else REPORTED:
        for one in ask(options.folder, name, options.rows, options.refits, options.only):
            with silence():
                if options.worth:
                    worths.extend(steady_of(one))
                else:
                    every.extend(lines_of(one))
    if options.worth:
        heads = ["table", "model", *(f"{worth}: changes, held" for worth in WORTHS), "NICE"]
        print(table_of([heads, ["---"] * len(heads), *worths]))
        return
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
