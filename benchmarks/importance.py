"""What does the decision hang on? Importance and other numbers, held against interventions.

Truths of a row are found with the model alone, by redrawing, disturbing or moving values (``interventions``). A number
is judged by its rank correlation with a truth over the features of a row; a cell (table and model) is the mean of its
rows. Tables are files of the KEEL collection that no setting of xcid was chosen on; rows were held out. Two more sets
of tables are there to be named: ``--tables numbers`` has the regressions of ``unseen``, where "another class" is a move
by more than the distance that the question counts as half, and ``--tables several`` has tables of 3 to 11 classes, one
of ``unseen`` and three of the collection. In these sets one more truth is judged: the mean share of a feature in what
xcid's own counterfactuals of the row change the output by. It is no intervention of this script, but it is what a user
would be told.

What counts as failure, written before the first run:

- importance fails on a truth where its mean over cells lies below that of |contribution|, |SHAP|, LIME or the paper's
  50 + 50 by more than two standard errors of the paired difference;
- it fails as a whole if it leads |contribution| by more than two standard errors on fewer than half of the truths.

Mean |ICE| gets 40 evaluations a feature more than importance, and is there to show what these buy. ``moves`` is another
number from the same perturbations, for comparison: the mean size of what the feature moves when none, half and all of
the other features are replaced. It has no part in what counts as failure.

Run: python benchmarks/importance.py --folder TABLES
     python benchmarks/importance.py --tables numbers
     python benchmarks/importance.py --folder TABLES --tables several --rows 10
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cells import MODELS, Array, keep
from known import from_folder
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split
from unseen import REGRESSIONS
from unseen import TABLES as UNSEEN

import xcid
from xcid.cid.calibrated import _ends

TABLES = ("australian", "bands", "contraceptive", "ring", "saheart", "segment", "twonorm", "wisconsin")
DESIGN = ("bupa", "german", "ionosphere", "magic", "mammographic", "phoneme")
SETS = {
    "numbers": ("progression (regression)", "Friedman 2 (regression)"),
    "several": ("shells", "contraceptive", "vowel", "segment"),
}
PEERS = ("|contribution|", "|SHAP|", "LIME", "the paper's 50 + 50")
REDRAWS, ICE, NOISE = 120, 40, 0.2
MOST_ROWS = 1_000  # of the reference data
Ask = Callable[[Array], Array]


class Asked(NamedTuple):
    """A fitted model with reference rows and rows to explain, and when an output of it is another one."""

    model: Any
    ask: Ask  # rows to (n, k) probabilities or (n, 1) numbers
    train: Array
    rows: Array
    far: float | None  # a move that makes another answer of a number; None for classes

    def differs(self, after: Array, before: Array) -> Array:
        """Whether outputs of (..., k) are another answer."""
        if self.far is not None:
            return np.asarray(np.abs(after - before)[..., 0] > self.far)
        return np.asarray(after.argmax(axis=-1) != before.argmax(axis=-1))

    @property
    def other(self) -> str:
        """What another answer is."""
        return "another class" if self.far is None else "moved far"


def interventions(asked: Asked, row: Array, sd: Array, rng: np.random.Generator) -> dict[str, Array]:
    """(d,) truths of a row; where others are replaced, too, it is by values of other rows, each on its own."""
    ask, reference, d, n = asked.ask, asked.train, len(row), REDRAWS

    def donors() -> Array:
        return rng.permuted(reference[rng.integers(0, len(reference), n)], axis=0)

    own = np.repeat(row[None], n, axis=0)
    half, noisy = np.where(rng.random((n, d)) < 0.5, donors(), row), row + NOISE * sd * rng.normal(size=(n, d))
    bases = {"none": own, "half": half, "all": donors(), "noise": noisy}
    known = dict(zip(bases, ask(np.concatenate([*bases.values()])).reshape(len(bases), n, -1), strict=True))

    def changed(base: str, new: Array) -> Array:
        """(d, n, k) outputs where one feature of a base is new."""
        cells = np.repeat(bases[base][None], d, axis=0)
        cells[np.arange(d), :, np.arange(d)] = new.T
        return ask(cells.reshape(d * n, d)).reshape(d, n, -1)

    found = {}
    for base in ("none", "half", "all"):
        after, before = changed(base, donors()), known[base]
        found[f"Sobol index, {base} of the others replaced"] = np.sum((after - before) ** 2, axis=2).mean(axis=1)
        found[f"{asked.other}, {base} of the others replaced"] = asked.differs(after, before).mean(axis=1)
    for base, words in (("none", "it alone"), ("noise", "all values")):
        after = changed(base, row + NOISE * sd * rng.normal(size=(n, d)))
        found[f"{asked.other}, noise on {words}"] = asked.differs(after, known[base]).mean(axis=1)
    return found


def nearest_flip(asked: Asked, row: Array, sd: Array) -> Array:
    """(d,) one over the smallest change of a feature alone that flips the class, in standard deviations; 0 for none."""
    found, own = np.zeros(len(row)), asked.ask(row[None])
    for at in range(len(row)):
        values = np.unique(np.quantile(asked.train[:, at], np.linspace(0, 1, REDRAWS), method="nearest"))
        values = values[values != row[at]]
        changed = np.repeat(row[None], len(values), axis=0)
        changed[:, at] = values
        flips = values[asked.differs(asked.ask(changed), own)] if len(values) else values
        found[at] = sd[at] / np.abs(flips - row[at]).min() if len(flips) else 0.0
    return found


def ice(ask: Ask, row: Array, reference: Array, rng: np.random.Generator) -> Array:
    """(d,) the mean size of what the probability of the row's class, or the number, moves by; redraws of its own."""
    d, own = len(row), ask(row[None])[0]
    cells = np.repeat(row[None], d * ICE, axis=0).reshape(d, ICE, d)
    for at in range(d):
        cells[at, :, at] = rng.choice(reference[:, at], ICE)
    moved = ask(cells.reshape(-1, d))[:, own.argmax()] - own.max()
    result: Array = np.abs(moved).reshape(d, ICE).mean(axis=1)
    return result


def moves(explanation: Any) -> Array:
    """(n, d) the mean size of moves of the membership: alone, at one half (from d1), and with all others replaced."""
    found = np.empty(np.shape(explanation.importance))
    for at in range(len(found)):
        cloud = explanation.cloud[at : at + 1]
        own, alone, rest, taken = _ends(cloud, cloud.plan)
        mean, d1 = cloud.positive[0, : 2 * len(cloud.plan.masks)].mean(), explanation.importance[at]
        half = 4 * mean * (1 - mean) * d1 / (2 - d1)
        found[at] = (np.abs(alone - own).mean(axis=1)[0] + half + np.abs(rest - taken).mean(axis=1)[0]) / 3
    return found


def peers(asked: Asked) -> dict[str, Array]:
    """SHAP's permutations with 40 reference rows and LIME with 1,000 samples, about the predicted class."""
    ask, rows, train = asked.ask, asked.rows, asked.train
    found, own, d = {}, ask(rows).argmax(axis=1), rows.shape[1]
    if find_spec("shap"):
        import shap

        explainer = shap.explainers.Permutation(ask, shap.maskers.Independent(train[:40], 40), seed=0)
        values = explainer(rows, max_evals=6 * (2 * d + 1), silent=True).values.reshape(*rows.shape, -1)
        found["|SHAP|"] = np.abs(values[np.arange(len(rows)), :, own])
    if find_spec("lime"):
        tabular, is_number = importlib.import_module("lime.lime_tabular"), asked.far is not None
        mode = "regression" if is_number else "classification"
        explainer, found["LIME"] = tabular.LimeTabularExplainer(train, mode=mode, random_state=0), np.zeros(rows.shape)
        predict: Callable[[Array], Any] = (lambda X: ask(X)[:, 0]) if is_number else ask
        for at, (row, label) in enumerate(zip(rows, own, strict=True)):
            answer = explainer.explain_instance(row, predict, labels=(label,), num_features=d, num_samples=1_000)
            for feature, weight in answer.as_map()[1 if is_number else label]:
                found["LIME"][at, feature] = abs(weight)
    return found


def rank_correlation(a: Array, b: Array) -> float:
    """Mean of the rows in which both vary."""
    used = (np.ptp(a, axis=1) > 0) & (np.ptp(b, axis=1) > 0)
    if not used.any():
        return np.nan
    pairs = zip(rankdata(a[used], axis=1), rankdata(b[used], axis=1), strict=True)
    return float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs]))


def load(name: str, kind: str, options: argparse.Namespace) -> tuple[Any, Ask, Array, Array]:
    """A model fitted to a table, how it is called, its reference rows and rows that were held out."""
    X, y = UNSEEN[name]() if name in UNSEEN else from_folder(options.folder, name)
    is_number = name in SETS["numbers"]
    train, rows, target, _ = train_test_split(X, y, test_size=0.2, random_state=5, stratify=None if is_number else y)
    makers = REGRESSIONS if is_number else MODELS
    model = makers[kind]().fit(train[: 4 * MOST_ROWS], target[: 4 * MOST_ROWS])
    ask = (lambda X: model.predict(X)[:, None]) if is_number else model.predict_proba
    return model, ask, train[:MOST_ROWS], rows[: options.rows]


def measure(name: str, kind: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Rank correlations of one cell, by truth and number."""
    model, ask, train, rows = load(name, kind, options)
    rng, sd = np.random.default_rng(0), train.std(axis=0)
    explainer = xcid.Explainer(model, train, max_evidence_bytes=2**31)
    explanation = explainer(rows)
    asked = Asked(model, ask, train, rows, getattr(explanation.details.outcome, "half_width", None))
    numbers = {
        "importance": np.asarray(explanation.importance),
        "|contribution|": np.abs(explanation.values),
        **peers(asked),
        "the paper's 50 + 50": np.asarray(xcid.CID(model, train)(rows).values),
        "flips_alone": np.asarray(explanation.flips_alone),
        "moves": moves(explanation),
        "mean ICE size": np.array([ice(ask, row, train, rng) for row in rows]),
    }
    truths = [interventions(asked, row, sd, rng) for row in rows]
    known = {truth: np.array([one[truth] for one in truths]) for truth in truths[0]}
    known["smallest change alone that flips"] = np.array([nearest_flip(asked, row, sd) for row in rows])
    if set(options.tables) <= set(SETS):
        known["share of what counterfactuals change"] = in_counterfactuals(explainer, rows)
    return {truth: {what: rank_correlation(one, b) for what, one in numbers.items()} for truth, b in known.items()}


def in_counterfactuals(explainer: xcid.Explainer, rows: Array) -> Array:
    """(n, d) the mean share that a feature has in what the changes of a row's counterfactuals move the output by."""
    found, shares = explainer.counterfactuals(rows), np.zeros(rows.shape)
    sizes = np.abs(found.shares)
    sizes /= np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    np.add.at(shares, found.row, np.nan_to_num(sizes))
    return shares


def report(cells: list[dict[str, dict[str, float]]]) -> None:
    """Means over cells, then how far importance is ahead of each other number, with two standard errors."""
    truths, names = list(cells[0]), list(cells[0][next(iter(cells[0]))])
    truths = [truth for truth in truths if np.isfinite([cell[truth]["importance"] for cell in cells]).any()]
    figures = np.array([[[cell[truth][name] for name in names] for truth in truths] for cell in cells])
    print(f"| truth | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|")
    means = [*np.nanmean(figures, axis=0), np.nanmean(figures, axis=(0, 1))]
    for truth, line in zip([*truths, "mean"], means, strict=True):
        print(f"| {truth} | {' | '.join(f'{mean:.2f}' for mean in line)} |")
    print(f"\n| importance less | {' | '.join(names[1:])} |")
    print("|---" * len(names) + "|")
    for at, truth in enumerate(truths):
        ahead = figures[:, at, :1] - figures[:, at, 1:]
        shown = []
        for one in ahead.T:
            one = one[np.isfinite(one)]
            margin = 2 * one.std(ddof=1) / np.sqrt(len(one))
            behind = " **behind**" if one.mean() < -margin else ""
            shown.append(f"{one.mean():+.2f} ± {margin:.2f} ({np.sum(one > 0)}/{len(one)}){behind}")
        print(f"| {truth} | {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of comma-separated files, last column the class")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--tables", nargs="*", default=TABLES, help=f"names, or one of {', '.join(SETS)}")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--keep", type=Path, help="a folder for finished cells, from which an interrupted run goes on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = []
    tables: Sequence[str] = [name for given in options.tables for name in SETS.get(given, (given,))]
    for name in tables:
        for kind in options.models:
            start = time.process_time()
            cells.append(keep(options.keep, f"{name}, {kind}", partial(measure, name, kind, options)))
            print(f"{name}, {kind}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    report(cells)


if __name__ == "__main__":
    main()
