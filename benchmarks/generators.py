"""How good are the counterfactuals of each generator, and what do they cost, beside those of dice-ml?

Over two tables and four models each, for rows that the models were not trained on: whether the model confirms what a
generator found, how near, sparse and diverse its positives are, how many it found, and what that took. The gradient
generators have a section of their own, with a PyTorch net and fewer samples, since dice-ml's takes minutes for more.

    python benchmarks/generators.py                            # 20 rows a cell, about half an hour on two cores
    python benchmarks/generators.py --rows 6 --out docs/generators.md
    python benchmarks/generators.py --quick                    # one table, one model, 2 rows, m = 10
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from cells import MODELS, Array, paper_tables
from sklearn.model_selection import train_test_split

import xcid
from xcid._faults import Deadline
from xcid.cid.generators.conditional import Neighbours
from xcid.cid.generators.search import Generator
from xcid.generators import Conditional, Copula, Dice, Genetic, Gradient, Growing, Marginal, Random
from xcid.setup import Membership
from xcid_lab.generators import Nearest

M, M_GRADIENT, M_QUICK = 50, 10, 10
INNER = 300  # evaluations after which Growing goes on by itself
N_ALONE = 3  # rows that are also asked about one at a time
N_RUNS = 3  # ours are short enough to be disturbed: the median time of so many

GENERATORS: dict[str, Callable[[int], Generator]] = {
    "Random": lambda m: Random(m=m),
    "Marginal": lambda m: Marginal(m=m),
    "Conditional, Neighbours": lambda m: Conditional(m=m, method=Neighbours()),
    "Conditional, Copula": lambda m: Conditional(m=m, method=Copula()),
    "Nearest": lambda m: Nearest(m=m),
    "Genetic": lambda m: Genetic(m=m),
    "Genetic, diversity 4": lambda m: Genetic(m=m, diversity=4),
    "Growing": lambda m: Growing(Marginal(m=m, max_evaluations=INNER)),
    "dice-ml random": lambda m: Dice("random", m=m),
    "dice-ml genetic": lambda m: Dice("genetic", m=m),
    "dice-ml kdtree": lambda m: Dice("kdtree", m=m),
}
GRADIENTS: dict[str, Callable[[Any, int], Generator]] = {
    "Gradient": lambda net, m: Gradient(net, m=m),
    "dice-ml gradient": lambda net, m: Dice("gradient", m=m, module=net),
}
COUNTERPARTS = (
    ("Random", "dice-ml random"),
    ("Genetic", "dice-ml genetic"),
    ("Genetic, diversity 4", "dice-ml genetic"),
    ("Nearest", "dice-ml kdtree"),
    ("Conditional, Neighbours", "dice-ml kdtree"),
    ("Genetic, diversity 4", "dice-ml kdtree"),
    ("Gradient", "dice-ml gradient"),
)
HEADS = (
    "generator", "valid C+", "valid C−", "found C+", "found C−", "distance", "changes", "diversity", "spread",
    "evaluations", "ms", "ms alone",
)  # fmt: skip


class Figures(NamedTuple):
    """Of one generator in one cell: (n,) for each row, NaN where nothing was found."""

    valid: Array
    valid_negative: Array
    found: Array
    found_negative: Array
    distance: Array
    changes: Array
    diversity: Array
    spread: Array
    evaluations: Array
    milliseconds: Array
    alone: Array


Cells = dict[str, dict[str, Figures]]


class Net(torch.nn.Module):
    """A small net that standardises by itself, from rows to two logits."""

    def __init__(self, X: Array, y: Any, steps: int = 300) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.mean, self.scale = torch.tensor(X.mean(axis=0)), torch.tensor(X.std(axis=0))
        layers = torch.nn.Linear(X.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
        self.layers = torch.nn.Sequential(*layers).double()
        descent = torch.optim.Adam(self.parameters(), lr=0.01)
        for _ in range(steps):
            descent.zero_grad()
            loss: Any = torch.nn.functional.cross_entropy(self(torch.tensor(X)), torch.tensor(y))
            loss.backward()
            descent.step()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layers((x - self.mean) / self.scale)
        return logits

    def predict(self, X: Array) -> Any:
        with torch.no_grad():
            return self(torch.tensor(X)).argmax(dim=1).numpy()

    def predict_proba(self, X: Array) -> Any:
        with torch.no_grad():
            return self(torch.tensor(X)).softmax(dim=1).numpy()


def measure(generator: Generator, explainer: xcid.Explainer, model: Any, rows: Array, m: int) -> Figures:
    """Run one generator on some rows, and ask the model itself about all that it found."""
    search(generator, explainer, rows[:1])  # warm up
    cloud, milliseconds = search(generator, explainer, rows)
    alone = milliseconds
    if not isinstance(generator, Dice):  # which takes row by row anyway, and its time
        times = [milliseconds, *(search(generator, explainer, rows)[1] for _ in range(N_RUNS - 1))]
        milliseconds = float(np.median(times))
        alone = float(np.median([search(generator, explainer, row[None])[1] for row in rows[:N_ALONE]]))
    figures = [
        quality(
            row,
            cloud.samples[at][cloud.positive[at] > 0],
            cloud.samples[at][cloud.negative[at] > 0],
            model,
            explainer.space.scales,
        )
        for at, row in enumerate(rows)
    ]
    valid, valid_negative, n_positive, n_negative, distance, changes, diversity = np.array(figures).T
    return Figures(
        valid,
        valid_negative,
        n_positive / m,
        n_negative / m,
        distance,
        changes,
        diversity,
        diversity / distance,
        cloud.n_evaluations.astype(float),
        np.full(len(rows), milliseconds),
        np.full(len(rows), alone),
    )


def search(generator: Generator, explainer: xcid.Explainer, rows: Array) -> tuple[Any, float]:
    """The cloud, and the milliseconds a row that it took."""
    subject, outcome = explainer.subject, explainer.setup.outcome
    member = Membership(subject, outcome, rows, subject.predict(rows), Deadline(None, len(rows)))
    keys = explainer.space.keys(rows, seed=0)
    start = time.perf_counter()
    cloud = generator(rows, keys, explainer.space, member)
    return cloud, 1e3 * (time.perf_counter() - start) / len(rows)


def quality(row: Array, positives: Array, negatives: Array, model: Any, scales: Array) -> tuple[float, ...]:
    """Validity and number of positives and negatives; distance, changes and diversity of positives."""
    own = model.predict(row[None])[0]
    valid = float(np.mean(model.predict(positives) != own)) if len(positives) else np.nan
    valid_negative = float(np.mean(model.predict(negatives) == own)) if len(negatives) else np.nan
    n_found = float(len(positives)), float(len(negatives))
    if not len(positives):
        return valid, valid_negative, *n_found, np.nan, np.nan, np.nan
    distance = (np.abs(positives - row) / scales).sum(axis=1).mean()
    changes = (positives != row).sum(axis=1).mean()
    return valid, valid_negative, *n_found, float(distance), float(changes), diversity(positives, scales)


def diversity(positives: Array, scales: Array) -> float:
    """Mean distance of two different positives."""
    if len(positives) < 2:
        return float("nan")
    apart = (np.abs(positives[:, None] - positives) / scales).sum(axis=2)
    return float(apart.sum() / (len(positives) * (len(positives) - 1)))


def run(n_rows: int, n_tables: int, n_models: int, m: int) -> Cells:
    """Figures of every cell and generator."""
    cells: Cells = {}
    for table, X, y in list(paper_tables())[:n_tables]:
        train, test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
        for name, make_model in list(MODELS.items())[:n_models]:
            model = make_model().fit(train, y_train)
            explainer = xcid.Explainer(model, train, outcome=xcid.outcomes.Flip())
            makers = {key: make(m) for key, make in GENERATORS.items()}
            cells[f"{table}, {name}"] = _cell(f"{table}, {name}", makers, explainer, model, test[:n_rows], m)
    return cells


def run_gradients(n_rows: int, n_tables: int, m: int) -> Cells:
    """The same for the gradient generators and a net."""
    cells: Cells = {}
    for table, X, y in list(paper_tables())[:n_tables]:
        train, test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
        net = Net(train, y_train)
        explainer = xcid.Explainer(net.predict_proba, train, outcome=xcid.outcomes.Flip())
        makers = {key: make(net, m) for key, make in GRADIENTS.items()}
        cells[f"{table}, net"] = _cell(f"{table}, net", makers, explainer, net, test[:n_rows], m)
    return cells


def _cell(
    name: str, generators: Mapping[str, Generator], explainer: xcid.Explainer, model: Any, rows: Array, m: int
) -> dict[str, Figures]:
    print(f"{name} ...", file=sys.stderr, flush=True)
    return {key: measure(generator, explainer, model, rows, m) for key, generator in generators.items()}


def cell_table(cell: Mapping[str, Figures]) -> list[str]:
    """One line for each generator: means over rows."""
    lines = [f"| {' | '.join(HEADS)} |", "|---" + "|--:" * (len(HEADS) - 1) + "|"]
    for name, figures in cell.items():
        *shares, distance, changes, diverse, spread, evaluations, ms, alone = (mean(part) for part in figures)
        shown = [f"{share:.2f}" for share in shares]
        shown += [f"{distance:.2f}", f"{changes:.1f}", f"{diverse:.2f}", f"{spread:.2f}"]
        shown += [f"{evaluations:,.0f}", f"{ms:,.1f}", f"{alone:,.1f}"]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return lines


def mean(values: Array) -> float:
    """Over the rows in which something was found."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def pooled(cells: Cells) -> dict[str, Figures]:
    """All rows of all cells."""
    names = next(iter(cells.values()))
    return {name: Figures(*map(np.concatenate, zip(*(c[name] for c in cells.values()), strict=True))) for name in names}


def all_valid(cells: Cells) -> bool:
    """Whether the model confirms all positives and negatives of all generators."""
    shares = [part for cell in cells.values() for one in cell.values() for part in (one.valid, one.valid_negative)]
    return bool(np.nanmin(np.concatenate(shares)) == 1)


class Goal(NamedTuple):
    """One of our generators against its counterpart: (mean, margin) of log ratios over rows, and ratios of time."""

    distance: tuple[float, float]
    diversity: tuple[float, float]
    spread: tuple[float, float]
    faster: float
    least_faster: float
    faster_alone: float


def goal(cells: Cells, ours: str, theirs: str) -> Goal:
    """Compare two generators on the rows in which both have found something."""
    times = np.array([mean(c[theirs].milliseconds) / mean(c[ours].milliseconds) for c in cells.values()])
    alone = np.array([mean(c[theirs].alone) / mean(c[ours].alone) for c in cells.values()])
    middle, middle_alone = (float(np.exp(np.mean(np.log(part)))) for part in (times, alone))
    distance, diverse, spread = (log_ratio(cells, ours, theirs, name) for name in ("distance", "diversity", "spread"))
    return Goal(distance, diverse, spread, middle, float(times.min()), middle_alone)


def log_ratio(cells: Cells, ours: str, theirs: str, measure: str) -> tuple[float, float]:
    """Mean of log(ours / theirs) over rows, and twice its standard error.

    A row has the same random numbers for all models: its mean over them counts as one.
    """
    tables: dict[str, list[Array]] = {}
    for name, cell in cells.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(getattr(cell[ours], measure) / getattr(cell[theirs], measure))
        tables.setdefault(name.split(",")[0], []).append(np.where(np.isfinite(ratio), ratio, np.nan))
    rows = np.concatenate([np.array([mean(row) for row in np.transpose(parts)]) for parts in tables.values()])
    rows = rows[np.isfinite(rows)]
    return float(rows.mean()), float(2 * rows.std() / np.sqrt(max(1, len(rows) - 1)))


def goal_table(*groups: Cells) -> list[str]:
    """Ratios of ours to dice-ml's, and whether the goal holds."""
    heads = "ours / dice-ml", "distance", "diversity", "spread", "times faster", "in the worst cell", "alone"
    lines = [
        f"| {' | '.join(heads)} | near? | diverse? | a tenth of the time? |",
        "|---" + "|--:" * 6 + "|---" * 3 + "|",
    ]
    for cells in groups:
        for ours, theirs in COUNTERPARTS:
            if ours not in next(iter(cells.values())):
                continue
            one = goal(cells, ours, theirs)
            ratios = [f"{np.exp(middle):.2f} ± {np.exp(middle) * margin:.2f}" for middle, margin in one[:3]]
            verdicts = verdict(one.distance, sign=-1), verdict(one.diversity, sign=1), _tenth(one)
            times = f"{one.faster:,.0f}", f"{one.least_faster:,.0f}", f"{one.faster_alone:,.0f}"
            lines.append(f"| {ours} / {theirs.removeprefix('dice-ml ')} | {' | '.join((*ratios, *times, *verdicts))} |")
    return lines


def verdict(ratio: tuple[float, float], sign: int) -> str:
    """Better or worse by more than twice the standard error, or neither, which does not mean equal."""
    middle, margin = sign * ratio[0], ratio[1]
    return "unclear" if abs(middle) <= margin else "better" if middle > 0 else "worse"


def _tenth(one: Goal) -> str:
    if one.least_faster >= 10:
        return "yes"
    return "on average" if one.faster >= 10 else "no"


def page(cells: Cells, gradients: Cells, m: int, m_gradient: int) -> str:
    """The report in Markdown."""
    n_rows = len(next(iter(next(iter(cells.values())).values())).found)
    lines = [INTRODUCTION.format(rows=n_rows, m=m, m_gradient=m_gradient, runs=N_RUNS).strip(), "", "## Goals", ""]
    lines += goal_table(cells, gradients)
    lines += ["", READING.format(inner=INNER).strip(), "", "## Means over all cells", "", *cell_table(pooled(cells))]
    lines += [
        "",
        f"The gradient generators, m = {m_gradient}:",
        "",
        *cell_table(pooled(gradients)),
        "",
        "## Every cell",
    ]
    for name, cell in (cells | gradients).items():
        lines += ["", f"### {name}", "", *cell_table(cell)]
    return "\n".join(lines) + "\n"


INTRODUCTION = """
# Generators

`make generators` writes this page. Every generator looks for m = {m} positives (the output flips) and {m} negatives
for the same {rows} test rows of Diabetes and of Heart (missing cells filled by the median), for four models each:
logistic regression, a random forest of 100 trees, gradient boosting and a small net of scikit-learn. The generators
that follow gradients need PyTorch: they have a net of their own and m = {m_gradient}, since dice-ml's takes minutes a
row for more. dice-ml is called through `xcid.generators.Dice` in the same run, with its own settings but without
post-hoc sparsity, which only slows it down. It is told for each candidate whether it flips, not how probable that is:
on rows of the training set this made its genetic method quicker, more reliable and no worse.

## What is measured

- valid C+, valid C−: share of the positives for which the model itself gives another class than for the row, and of
  the negatives for which it gives the same. The model is asked again, past the library.
- found C+, found C−: how many of the m there are.
- distance: mean over the positives of the sum over features of |change| / mean absolute deviation of the background.
- changes: features that a positive changes, on average.
- diversity: mean distance, so measured, of two positives of one row.
- spread: diversity / distance. Positives that are farther away have more room to differ; this takes it out.
- evaluations: rows that the model is asked about, for each row explained.
- ms: milliseconds a row, all rows in one call (of ours the median of {runs} runs). ms alone: one row a call; dice-ml
  goes row by row anyway. Times are those of the machine that the page was made on: read their ratios.

All are means over rows; rows without any positive have no distance.
"""

READING = """
Ratios are ours / dice-ml's, geometric means over the rows in which both found something, ± twice their standard error
(a row has the same random numbers for all models, so its mean over models counts as one); below 1 is better for the
distance, above 1 for the diversity. "Unclear" is within that margin: with so few rows it does not show that both are
equal. Times are ratios of dice-ml's to ours, all rows in one call: on average, in the worst cell, and on average for
one row a call. "Yes" means a tenth of the time or less in every cell.

How to read it:

- What the generators call positive and negative is so by the model's own word, theirs and ours. dice-ml's gradient
  method does not always find m.
- Distance and diversity pull against each other: what is far away has room to differ, what is near has not. No
  generator is best in both, so compare those of like distance, or the spread.
- Random draws by the law of dice-ml's random method (under `xcid.CID` ties included: to dice-ml a probability of
  exactly 1/2 is enough for either class, while other questions go by the model's word), also where changes of one or
  two features flip too rarely, as long as dice-ml finds m at all.
- Genetic is several times nearer and sparser than dice-ml's genetic method, and by as much less diverse: dice-ml's
  results are no nearer than the rows of the background that its kdtree method gives. On diversity it loses. With
  `diversity=4` it goes about as far as dice-ml does, and its samples differ more. (The weight was chosen on training
  rows, so as to match dice-ml there.)
- Nearest is nearer than dice-ml's kdtree, which gives whole rows of the background, and less diverse: here, too, the
  goal is met for the distance and missed for the diversity. The other two comparisons with kdtree are not of
  counterparts. That with Conditional was added after a first run had shown it to be nearer.
- Gradient is nearer than dice-ml's gradient method, whose candidates end up close to each other and far from the row.
  Its diversity is the least certain figure of this page.
- The gain in time is the smallest where the model itself is slow, as the forest is, and for one row a call: then the
  model's own time for the rows that must be asked about is most of it.
- Marginal, Conditional and Growing have no counterpart. They draw from a law instead of looking for what is near, and
  are the cheapest. Growing has {inner} evaluations before it goes on by itself.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20, help="rows of each cell")
    parser.add_argument("--quick", action="store_true", help="one table, one model, 2 rows, m = 10")
    parser.add_argument("--out", type=Path, default=None, help="write the page to this file, too")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    n_rows, n_tables, n_models, m = (2, 1, 1, M_QUICK) if arguments.quick else (arguments.rows, 2, 4, M)
    m_gradient = min(m, M_GRADIENT)
    cells, gradients = run(n_rows, n_tables, n_models, m), run_gradients(n_rows, n_tables, m_gradient)
    text = page(cells, gradients, m, m_gradient)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text, encoding="utf-8")
    return 0 if all_valid(cells | gradients) else 1


if __name__ == "__main__":
    sys.exit(main())
