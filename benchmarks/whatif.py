"""Compare the what-if search with other searches for counterfactuals: dice-ml, NICE and cfnow.

One counterfactual for each of 100 rows of three tables, to the other class, under the same constraints: some columns
are frozen. NICE and cfnow know no constraints, and see only the columns that may change. Each gets the same model, and
all are judged by the same metric, that of xcid: mean absolute deviations for numbers, 1 for another level. The three
lines of xcid are of one call with k = 3. Times are those of the processor: run it with
one thread for each library (OMP_NUM_THREADS=1). cfnow, which works on a row for more than a second, gets the first 30
rows. Peers that are not installed are skipped with a line.

    python benchmarks/whatif.py              # some ten minutes, most of them dice-ml's genetic method
    python benchmarks/whatif.py --write      # and puts the table into docs/whatif.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import xcid
from xcid._require import silence
from xcid.cid.generators.reach import Metric

Array = npt.NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "whatif.md"
LEVELS_OF_HEART = ["sex", "cp", "fbs", "restecg", "exang", "slope", "thal"]


class Subject(NamedTuple):
    """A model, the table behind it, the rows to change and the columns that stay."""

    name: str
    model: Any
    train: pd.DataFrame
    rows: pd.DataFrame
    frozen: list[str]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.train if pd.api.types.is_numeric_dtype(self.train[name])]

    @property
    def free(self) -> list[str]:
        return [name for name in self.train if name not in self.frozen]


def credit_table(n: int, seed: int) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """A table like German credit: 7 numbers and 13 columns of levels, made here."""
    rng = np.random.default_rng(seed)
    age = rng.gamma(6, 4, n).astype(int) + 19
    duration = rng.choice([6, 12, 18, 24, 36, 48, 60], n, p=[0.1, 0.25, 0.15, 0.25, 0.15, 0.07, 0.03])
    skill = rng.integers(0, 4, n)
    wealth = rng.normal(size=n) + 0.3 * skill

    def cut(values: Array, names: list[str], noise: float = 0.8) -> Any:
        ranks = pd.Series(values + rng.normal(scale=noise, size=n)).rank(pct=True)
        return np.array(names)[np.minimum((ranks * len(names)).astype(int), len(names) - 1)]

    amount = np.round(np.exp(rng.normal(7.2, 0.6, n) + duration / 60)).astype(int)
    table = pd.DataFrame(
        {
            "checking": cut(wealth, ["overdrawn", "low", "high", "none"]),
            "duration": duration,
            "history": cut(wealth, ["critical", "delayed", "paid", "all paid"], 1.5),
            "purpose": rng.choice(["car", "furniture", "radio", "business", "education", "repairs"], n),
            "amount": amount,
            "savings": cut(wealth, ["below 100", "below 500", "below 1000", "more"]),
            "employment": cut(age / 10.0, ["none", "1 year", "4 years", "7 years", "longer"], 1.0),
            "rate": rng.integers(1, 5, n),
            "sex": rng.choice(["female", "male"], n, p=[0.31, 0.69]),
            "guarantor": rng.choice(["none", "co-applicant", "guarantor"], n, p=[0.9, 0.04, 0.06]),
            "residence": rng.integers(1, 5, n),
            "property": cut(wealth, ["none", "car", "insurance", "house"]),
            "age": age,
            "plans": rng.choice(["none", "bank", "stores"], n, p=[0.81, 0.14, 0.05]),
            "housing": cut(wealth, ["rent", "free", "own"]),
            "credits": rng.choice([1, 2, 3, 4], n, p=[0.63, 0.33, 0.03, 0.01]),
            "job": np.array(["unskilled", "resident", "skilled", "managing"])[skill],
            "dependants": rng.choice([1, 2], n, p=[0.85, 0.15]),
            "telephone": rng.choice(["none", "yes"], n, p=[0.6, 0.4]),
            "foreign": rng.choice(["yes", "no"], n, p=[0.96, 0.04]),
        }
    )
    risk = 0.04 * (duration - 20) + amount / 4000 - wealth - 0.02 * (age - 35) + 0.4 * (table["plans"] != "none") - 0.4
    risk += 0.8 * (table["checking"] == "overdrawn") - 0.6 * (table["savings"] == "more")
    return table, (rng.random(n) > 1 / (1 + np.exp(-risk))).astype(int).to_numpy()


def mixed(model: Any, table: pd.DataFrame) -> Any:
    levels = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    others = [name for name in table if name not in levels]
    return make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), levels), (StandardScaler(), others)), model
    )


def subjects(n_rows: int) -> list[Subject]:
    diabetes = xcid.datasets.load_diabetes()
    heart = xcid.datasets.load_heart()
    known = heart.data.dropna()
    patients = known.astype(dict.fromkeys(LEVELS_OF_HEART, int)).astype(dict.fromkeys(LEVELS_OF_HEART, str))
    credit, good = credit_table(1_000, 0)
    made = [
        ("Diabetes, forest", RandomForestClassifier(100, random_state=0), diabetes.data, diabetes.target, ["Age"]),
        ("Heart, logistic", mixed(LogisticRegression(max_iter=1000), patients), patients,
         np.asarray(heart.target)[known.index], ["age", "sex"]),
        ("Credit, forest", mixed(RandomForestClassifier(100, random_state=0), credit), credit, good,
         ["age", "sex", "foreign"]),
    ]  # fmt: skip
    found = []
    for name, model, table, target, frozen in made:
        order = np.random.default_rng(1).permutation(len(table))
        test, train = order[:n_rows], order[n_rows:]
        target = np.asarray(target)
        model.fit(table.iloc[train], target[train])
        known, asked = (table.iloc[rows].reset_index(drop=True) for rows in (train, test))
        found.append(Subject(name, model, known, asked, frozen))
    return found


Changed = list[pd.DataFrame | None]
Method = Callable[[pd.DataFrame], tuple[dict[str, Changed], float]]
"""From rows to changed rows under the names of their kinds, None where there is none, and the seconds that it took."""


def ours(subject: Subject) -> Method:
    explainer = xcid.Explainer(subject.model, subject.train, constraints=xcid.Constraints(frozen=subject.frozen))

    def find(rows: pd.DataFrame) -> tuple[dict[str, Changed], float]:
        start = time.process_time()
        found = explainer.counterfactuals(rows, k=3)
        seconds = time.process_time() - start
        table, kinds = found.table(), {}
        for kind in ("sparsest", "nearest", "likeliest"):
            is_kind = found.reached & np.array([kind in one.split(" and ") for one in found.kind], dtype=bool)
            lines = [np.flatnonzero(is_kind & (found.row == at)) for at in range(len(rows))]
            kinds[f", {kind}"] = [table.iloc[line] if len(line) else None for line in lines]
        return kinds, seconds

    return find


def one_by_one(find: Callable[[pd.DataFrame], tuple[pd.DataFrame | None, float]]) -> Method:
    def method(rows: pd.DataFrame) -> tuple[dict[str, Changed], float]:
        found = [find(rows.iloc[[at]]) for at in range(len(rows))]
        return {"": [frame for frame, _ in found]}, sum(seconds for _, seconds in found)

    return method


def dice(method: str) -> Callable[[Subject], Method]:
    def make(subject: Subject) -> Method:
        import dice_ml

        target = subject.model.predict(subject.train)
        data = dice_ml.Data(
            dataframe=subject.train.assign(Outcome=target), continuous_features=subject.numbers, outcome_name="Outcome"
        )
        explainer = dice_ml.Dice(data, dice_ml.Model(model=subject.model, backend="sklearn"), method=method)

        def one(row: pd.DataFrame) -> tuple[pd.DataFrame | None, float]:
            start = time.process_time()
            try:
                found = explainer.generate_counterfactuals(
                    row, total_CFs=1, desired_class="opposite", features_to_vary=subject.free
                )
                frame = found.cf_examples_list[0].final_cfs_df
            except Exception:  # it raises where it finds nothing
                frame = None
            seconds = time.process_time() - start
            return (None if frame is None or not len(frame) else frame.iloc[:1][list(row)]), seconds

        return one_by_one(one)

    return make


def nice(subject: Subject) -> Method:
    """It knows no constraints: for each row it sees the columns that may change; making it anew is not timed."""
    from nice import NICE

    space = xcid.Explainer(subject.model, subject.train).space
    names = list(subject.train)
    free = [names.index(name) for name in subject.free]
    levels = [place for place, at in enumerate(free) if space.discrete[at]]
    known, target = space.rows, subject.model.predict(subject.train)

    def one(frame: pd.DataFrame) -> tuple[pd.DataFrame | None, float]:
        (row,), start = space.encode(frame), time.process_time()

        def predict(part: Array) -> Array:
            whole = np.tile(row, (len(part), 1))
            whole[:, free] = np.asarray(part, dtype=float)
            answers: Array = subject.model.predict_proba(space.decode(whole))
            return answers

        try:
            numbers = [place for place in range(len(free)) if place not in levels]
            explainer = NICE(predict, known[:, free], levels, numbers, target, optimization="sparsity")
            start = time.process_time()
            changed = np.asarray(explainer.explain(row[None, free]), dtype=float)
        except Exception:
            return None, time.process_time() - start
        seconds = time.process_time() - start
        whole = row.copy()
        whole[free] = changed.ravel()
        return space.decode(whole[None]), seconds

    return one_by_one(one)


def cfnow(subject: Subject) -> Method:
    """Levels as one-hot columns with a common prefix, as its documentation says; a second for each row.

    By default it improves what it has for two minutes.
    """
    from cfnow import find_tabular

    space = xcid.Explainer(subject.model, subject.train).space
    free = [at for at, name in enumerate(subject.train) if name not in subject.frozen]
    columns: list[tuple[int, int]] = []
    for at in free:
        columns += [(at, code) for code in range(len(space.columns[at].levels))] or [(at, -1)]
    names = [f"{space.names[at]}_{code}" if code >= 0 else space.names[at].replace("_", "") for at, code in columns]
    kinds = {name: "cat" if code >= 0 else "num" for name, (_, code) in zip(names, columns, strict=True)}

    def back(row: Array, cells: Array) -> Array:
        whole = np.tile(row, (len(cells), 1))
        for at in free:
            mine = [place for place, (column, _) in enumerate(columns) if column == at]
            whole[:, at] = cells[:, mine].argmax(axis=1) if space.discrete[at] else cells[:, mine[0]]
        return whole

    def one(frame: pd.DataFrame) -> tuple[pd.DataFrame | None, float]:
        (row,), start = space.encode(frame), time.process_time()
        cells = [float(row[at] == code) if code >= 0 else row[at] for at, code in columns]

        def predict(part: Any) -> Array:
            answers: Array = subject.model.predict_proba(space.decode(back(row, np.asarray(part, dtype=float))))
            own: Array = answers[:, 1 - present] - 1e-9  # a tie is no other class
            return own

        present = int(subject.model.predict(space.decode(row[None]))[0])
        try:
            found = find_tabular(
                pd.Series(cells, index=names), predict, feat_types=kinds, has_ohe=bool(space.discrete.any()),
                limit_seconds=1,
            )  # fmt: skip
            changed = space.decode(back(row, np.asarray(found.cfs[:1], dtype=float)))
        except Exception:
            changed = None
        return changed, time.process_time() - start

    return one_by_one(one)


METHODS: dict[str, tuple[str, Callable[[Subject], Method]]] = {
    "xcid": ("xcid", ours),
    "dice-ml, random": ("dice_ml", dice("random")),
    "dice-ml, kdtree": ("dice_ml", dice("kdtree")),
    "dice-ml, genetic": ("dice_ml", dice("genetic")),
    "NICE, sparsity": ("nice", nice),
    "cfnow, 30 rows": ("cfnow", cfnow),
}
MOST_ROWS = {"cfnow, 30 rows": 30}


class Judged(NamedTuple):
    valid: float
    changes: tuple[float, float]
    distance: float
    real: float


def judged(subject: Subject, rows: pd.DataFrame, found: Changed) -> Judged:
    space = xcid.Explainer(subject.model, subject.train).space
    metric, wanted = Metric.of(space), 1 - subject.model.predict(rows)
    answers = subject.model.predict(subject.train)
    own, measured = space.encode(rows), []
    for at, frame in enumerate(found):
        if frame is None:
            continue
        typed = pd.DataFrame(
            {
                name: [float(frame[name].iloc[0]) if name in subject.numbers else str(frame[name].iloc[0])]
                for name in rows
            }
        )
        if subject.model.predict(typed)[0] != wanted[at]:
            continue
        cells = [typed[column.name].iloc[0] for column in space.columns]
        codes = [column.levels.index(cell) if column.levels else cell
                 for column, cell in zip(space.columns, cells, strict=True)]  # fmt: skip
        new = np.array(codes, dtype=float)
        changes = np.sum(~np.isclose(new, own[at], rtol=1e-9))
        real = metric.between(space.rows[answers == wanted[at]], new).min()
        measured.append((changes, float(metric.between(new, own[at])), real))
    if not measured:
        return Judged(0.0, (np.nan, np.nan), np.nan, np.nan)
    changes, distance, real = np.array(measured, dtype=float).T
    most = float(np.median(changes)), float(np.quantile(changes, 0.9))
    return Judged(len(measured) / len(rows), most, float(distance.mean()), float(real.mean()))


def compared(subject: Subject, methods: dict[str, Callable[[Subject], Method]]) -> list[str]:
    """A line for each method and kind. Ours is timed before and after each other one: the median of all of these."""
    pace, found = [], []
    with silence():
        reference = ours(subject)
        reference(subject.rows)
        for name, make in methods.items():
            method = make(subject)
            method(subject.rows.iloc[:1])  # warm up
            pace.append(reference(subject.rows)[1])
            rows = subject.rows.iloc[: MOST_ROWS.get(name)]
            found.append((name, rows, *method(rows)))
            pace.append(reference(subject.rows)[1])
    lines, usual = [], float(np.median(pace)) / len(subject.rows)
    for name, rows, kinds, total in found:
        seconds = usual if name == "xcid" else total / len(rows)
        for kind, changed in kinds.items():
            line = judged(subject, rows, changed)
            middle, most = line.changes
            lines.append(
                f"| {subject.name} | {name}{kind} | {line.valid:.2f} | {middle:.0f}, {most:.0f} "
                f"| {line.distance:.2f} | {line.real:.2f} "
                f"| {1e3 * seconds:.1f} | {seconds / usual:.2g} |"
            )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--only", default="", help="methods whose names hold this")
    parser.add_argument("--write", action="store_true", help="put the table into docs/whatif.md")
    arguments = parser.parse_args()
    lines = [
        "| table, model | method | valid | changes: median, 90% | mean distance | to a real row | ms a row | times |",
        "|---|---|---|---|---|---|---|---|",
    ]
    missing = [name for name, (package, _) in METHODS.items() if find_spec(package) is None]
    names = [name for name in METHODS if name not in missing and (arguments.only in name or name == "xcid")]
    for subject in subjects(arguments.rows):
        for line in compared(subject, {name: METHODS[name][1] for name in names}):
            lines.append(line)
            print(line, flush=True)
    lines += ["", f"Not installed, and so not compared: {', '.join(missing)}."] if missing else []
    print("\n" + "\n".join(lines))
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        start, end = "<!-- peers -->\n", "<!-- end of peers -->"
        before, _, rest = text.partition(start)
        PAGE.write_text(before + start + "\n".join(lines) + "\n" + end + rest.partition(end)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
