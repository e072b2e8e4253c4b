"""Are the scores right? Ten things that a hostile reviewer tries, on models whose answers are known.

Each line is a law with what was measured. The models are formulas, so that the truth needs no other method:

- linear log odds: the log odds ratio s is the weight times the distance from the mean, at any scale;
- ignored columns: significant in 5% of the runs, whatever they depend on and however many evaluations there are;
- their importance: next to nothing;
- conjunctions: all members before a feature that matters less;
- parity: every member is found;
- rare flips: the pair that flips one perturbation in 300 comes first;
- many rows: an ignored column is not significant in most rows of a run;
- constraints: limits hold contributions, which they do not change;
- regressions: importance by degrees tells more than by what flips or not, where nearly everything flips;
- interactions: none where log odds add up, and the planted pair first where they do not.

Beside each stands what the first edition of the score gave, by this script or by the reviewer who found it.

Run: python benchmarks/truth.py [--quick]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

import xcid
from xcid.generators import Balanced

Array = npt.NDArray[np.float64]
RNG = np.random.default_rng(11)
TABLE: Array = RNG.normal(size=(800, 8))

FIRST_EDITION = {
    "linear log odds, largest weight 1": (
        "0.964 of the truth, off by 7.4% of the largest at most, limits hold it in 48.0%"
    ),
    "linear log odds, largest weight 2": (
        "0.879 of the truth, off by 26.7% of the largest at most, limits hold it in 43.4%"
    ),
    "linear log odds, largest weight 4": (
        "0.638 of the truth, off by 56.9% of the largest at most, limits hold it in 39.8%"
    ),
    "linear log odds, largest weight 8": (
        "0.369 of the truth, off by 77.5% of the largest at most, limits hold it in 36.6%"
    ),
    "linear log odds, largest weight 16": (
        "0.198 of the truth, off by 86.0% of the largest at most, limits hold it in 36.0%"
    ),
    "ignored x1^2 + noise beside 4 (x1^2 - 1), n = 1,000": "significant 37.1% (single columns 7.3% to 66.9%), d1 0.235",
    "ignored x1^2 + noise beside 4 (x1^2 - 1), n = 10,000": (
        "significant 51.8% (single columns 3.5% to 100.0%), d1 0.239"
    ),
    "four ignored derived columns, linear, n = 1,000": "significant 7.0% (single columns 3.5% to 13.1%), d1 0.057",
    "four ignored derived columns, curved, n = 1,000": "significant 5.4% (single columns 1.7% to 10.6%), d1 0.114",
    "four ignored derived columns, linear, n = 10,000": "significant 16.8% (single columns 4.0% to 53.8%), d1 0.044",
    "four ignored derived columns, curved, n = 10,000": "significant 17.6% (single columns 4.8% to 53.8%), d1 0.106",
    "d1 of ignored .95 copies": "used 0.681 and 0.261, copies 0.260",
    "conjunction of 2": "all members first in 100% of the seeds, one of them in 100%",
    "conjunction of 4": "all members first in 100% of the seeds, one of them in 100%",
    "conjunction of 8": "all members first in 0% of the seeds, one of them in 10%",
    "parity of 2": "all significant in 100% of the seeds, all first in 100%",
    "parity of 3": "all significant in 100% of the seeds, all first in 100%",
    "parity of 4": "all significant in 10% of the seeds, all first in 40%",
    "rare flips": "the pair is first in 20%; status no_flips, ok, 1,001 evaluations at most",
    "rare flips, background on one side": "the pair is first in 0%; status an error",
    "an ignored column in 200 rows": "mean 3.5%, most in one run 45.0%, 95% of the runs below 22.2%",
    "constraints: ranges": "limits hold the truth in 50.1% (single columns 0.0% to 97.1%)",
    "constraints: monotone": "limits hold the truth in 48.1% (single columns 0.0% to 97.5%)",
    "regression, nearly everything flips": "the question with a yes or no was the default",
    "interactions of log odds that add up": "significant 19 to 22% (a reviewer's figure)",
    "interaction of XOR": "significant in 100% (a reviewer's figure)",
    "interaction of 3 x0 x1": "significant in 100% (a reviewer's figure)",
    "interaction of x0 x1": "significant in 93% (a reviewer's figure)",
    "interaction of x0 x1, correlation .7": "significant in 73% (a reviewer's figure)",
}


def probabilities(logit: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A model of two classes from its log odds."""

    def model(X: Array) -> Array:
        chance = special.expit(logit(X))
        return np.column_stack([1 - chance, chance])

    return model


def holds(found: xcid.Explanation, truth: Array) -> Any:
    """Which limits hold a true score, but for rounding."""
    assert found.lower is not None
    assert found.upper is not None
    return (found.lower <= truth + 1e-4) & (truth - 1e-4 <= found.upper)


def significant(found: xcid.Explanation) -> Any:
    """Which scores have p-values below 5%."""
    assert found.p_values is not None
    return found.p_values < 0.05


def linear(scale: float, seeds: int) -> str:
    """How much of the truth the scores have, and how often the limits hold it."""
    weights = scale * np.array([1.0, -0.5, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0])
    explainer, rows = xcid.Explainer(probabilities(lambda X: X @ weights), TABLE), TABLE[:20]
    truth = weights * (rows - TABLE.mean(axis=0))
    runs = [explainer(rows, seed=seed) for seed in range(seeds)]
    found = np.array([run.values for run in runs])
    large = np.abs(truth) > 0.2
    share = np.nanmedian((found / np.where(large, truth, np.nan))[:, large])
    worst = np.nanmax(np.abs(found - truth)) / np.nanmax(np.abs(truth))
    held = np.mean([holds(run, truth) for run in runs])
    return f"{share:.3f} of the truth, off by {worst:.1%} of the largest at most, limits hold it in {held:.1%}"


def ignored(logit: Callable[[Array], Array], table: Array, columns: list[int], n: int, seeds: int) -> str:
    """How often ignored columns are significant, and their importance."""
    explainer = xcid.Explainer(probabilities(logit), table, generator=Balanced(n))
    runs = [explainer(table[:8], seed=seed) for seed in range(seeds)]
    false = np.mean([significant(run)[:, columns] for run in runs], axis=(0, 1))
    importance = np.mean([run.importance[:, columns] for run in runs])
    return (
        f"significant {false.mean():.1%} (single columns {false.min():.1%} to {false.max():.1%}), d1 {importance:.3f}"
    )


def copies(seeds: int) -> str:
    """d1 of ignored copies of a used column beside that of a weak used one."""
    near = 0.95 * TABLE[:, :1] + np.sqrt(1 - 0.95**2) * RNG.normal(size=(800, 3))
    table = np.column_stack([TABLE[:, :2], near])
    explainer = xcid.Explainer(probabilities(lambda X: 3 * X[:, 0] + X[:, 1]), table)
    runs = np.mean([explainer(table[:20], seed=seed).importance for seed in range(seeds)], axis=(0, 1))
    return f"used {runs[0]:.3f} and {runs[1]:.3f}, copies {runs[2:].mean():.3f}"


def conjunction(members: int, seeds: int) -> str:
    """How often all members come before a feature that costs less."""
    level = 0.55 if members > 4 else 0.0

    def model(X: Array) -> Array:
        chance = 0.05 + 0.84 * np.all(X[:, :members] > level, axis=1) + 0.1 * (X[:, members] > 0)
        return np.column_stack([1 - chance, chance])

    table = RNG.normal(size=(800, members + 2))
    explainer, row = xcid.Explainer(model, table), np.full((1, members + 2), 1.5)
    found = np.array([explainer(row, seed=seed).values[0] for seed in range(seeds)])
    before = found[:, :members].min(axis=1) > found[:, members:].max(axis=1)
    one = np.mean(found.argmax(axis=1) < members)
    return f"all members first in {before.mean():.0%} of the seeds, one of them in {one:.0%}"


def parity(members: int, seeds: int) -> str:
    """How often every member is significant."""
    explainer = xcid.Explainer(probabilities(lambda X: 4 * np.prod(np.sign(X[:, :members]), axis=1)), TABLE)
    row = np.abs(TABLE[3:4]) + 0.5
    found = [explainer(row, seed=seed) for seed in range(seeds)]
    seen = np.mean([np.all(significant(run)[0, :members]) for run in found])
    first = np.mean([set(np.argsort(-run.values[0])[:members]) == set(range(members)) for run in found])
    return f"all significant in {seen:.0%} of the seeds, all first in {first:.0%}"


def rare(one_sided: bool, seeds: int) -> str:
    """How often a planted pair comes first, and what is said of the row."""
    cut = np.quantile(TABLE[:, :2], 0.94, axis=0)

    def model(X: Array) -> Array:
        chance = np.where((X[:, 0] > cut[0]) & (X[:, 1] > cut[1]), 0.99, 0.01)
        return np.column_stack([1 - chance, chance])

    table = TABLE[~np.all(TABLE[:, :2] > cut, axis=1)] if one_sided else TABLE
    explainer, said, spent = xcid.Explainer(model, table), set(), []
    first: dict[str, list[bool]] = {"importance": [], "contribution": []}
    for seed in range(seeds):
        try:
            found = explainer(np.zeros((1, 8)), seed=seed)
        except xcid.errors.NotEnoughFlips:
            said.add("an error")
            for seen in first.values():
                seen.append(False)
            continue
        said.add(str(found.status[0]))
        for seen, size in zip(first.values(), (found.importance, np.abs(found.values)), strict=True):
            seen.append(set(np.argsort(-size[0])[:2]) == {0, 1})
        spent.append(int(found.n_evaluations[0]))
    most = f", {max(spent):,} evaluations at most" if spent else ""
    share = ", ".join(f"in {np.mean(seen):.0%} by {name}" for name, seen in first.items())
    return f"the pair is first {share}; status {', '.join(sorted(said))}{most}"


def many_rows(seeds: int) -> str:
    """In how many rows of one run an ignored column may be significant."""
    explainer = xcid.Explainer(probabilities(lambda X: X[:, 0] * X[:, 1] + X[:, 2]), TABLE)
    shares = [np.mean(significant(explainer(TABLE[:200], seed=seed))[:, 3:], axis=0) for seed in range(seeds)]
    high = np.quantile(shares, 0.95)
    return f"mean {np.mean(shares):.1%}, most in one run {np.max(shares):.1%}, 95% of the runs below {high:.1%}"


def constrained(kind: str, seeds: int) -> str:
    """How often limits hold the truth of a linear model whose features may not take all values."""
    weights = np.array([1.5, -1.0, 0.8, 0.4, 0.0, 0.0, 0.0, 0.0])
    ranges = {"x0": (-0.5, 1.0), "x1": (0.0, 2.0)} if kind == "ranges" else {}
    monotone: dict[str, Any] = {"x0": "rises", "x2": "falls"} if kind == "monotone" else {}
    limits = xcid.Constraints(ranges=ranges, monotone=monotone)
    explainer, rows = xcid.Explainer(probabilities(lambda X: X @ weights), TABLE, constraints=limits), TABLE[:12]
    truth = weights * (rows - TABLE.mean(axis=0))  # which no limit changes
    runs = [explainer(rows, seed=seed) for seed in range(seeds)]
    held = np.mean([holds(run, truth) for run in runs], axis=(0, 1))
    return f"limits hold the truth in {held.mean():.1%} (single columns {held.min():.1%} to {held.max():.1%})"


def regression(seeds: int) -> str:
    """How far the output moves when the most important features are taken away rather than kept, by both questions."""
    table = RNG.normal(size=(800, 8))

    def model(X: Array) -> Array:
        return 10 * X[:, 0] * X[:, 1] + 5 * X[:, 2] + np.abs(X[:, 3])

    rows, found = table[:12], []
    for outcome in (xcid.outcomes.Interval(soft=True), xcid.outcomes.Interval(half_width=0.2)):
        explainer = xcid.Explainer(model, table, outcome=outcome)
        runs = [explainer(rows, seed=seed).importance for seed in range(seeds)]
        moved = [_moved(model, rows, importance, table) for importance in runs]
        top = np.mean(xcid.metrics.stability(runs, k=4))
        found.append(f"moves the output {np.mean(moved):.2f} standard deviations farther, two seeds {top:.2f}")
    return f"by degrees {found[0]}; yes or no at a half-width of 0.2 {found[1]}"


def _moved(model: Callable[[Array], Array], rows: Array, values: Array, table: Array) -> float:
    """Mean change of the output without the best features, less that with the best alone, in standard deviations."""
    rank = np.argsort(np.argsort(-values, axis=1), axis=1)
    donors, spread, apart = table[100:140], model(table).std(), []
    for stage in range(rows.shape[1] + 1):
        changes = []
        for taken in (rank < stage, rank >= stage):
            filled = np.where(taken[:, None], donors, rows[:, None])
            changes.append(
                np.abs(model(filled.reshape(-1, rows.shape[1])).reshape(len(rows), -1) - model(rows)[:, None])
            )
        apart.append(np.mean(changes[0] - changes[1]) / spread)
    return float(np.mean(apart))


def additive(seeds: int) -> str:
    """In how many pairs log odds that add up are said to interact."""
    table = np.column_stack([TABLE[:, :2], 0.7 * TABLE[:, :1] + 0.7 * TABLE[:, 2:3], TABLE[:, 3]])
    explainer = xcid.Explainer(probabilities(lambda X: 2 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] ** 2), table)
    found = [explainer.interactions(table[:4], seed=seed).p_values for seed in range(seeds)]
    off = ~np.eye(4, dtype=bool)
    return f"significant {np.mean([p[:, off] < 0.05 for p in found]):.1%}"


def pair(logit: Callable[[Array], Array], correlation: float, seeds: int) -> str:
    """How often the pair that interacts comes first, and is significant."""
    table = np.column_stack([TABLE[:, 0], correlation * TABLE[:, 0] + np.sqrt(1 - correlation**2) * TABLE[:, 1]])
    table = np.column_stack([table, TABLE[:, 2:4]])
    explainer, first, sure = xcid.Explainer(probabilities(logit), table), [], []
    for seed in range(seeds):
        found = explainer.interactions(table[:4], seed=seed)
        size = np.abs(found.values)
        first.append((size[:, 0, 1] >= size.max(axis=(1, 2))).mean())
        sure.append((found.p_values[:, 0, 1] < 0.05).mean())
    return f"first in {np.mean(first):.0%}, significant in {np.mean(sure):.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    few, many = (4, 10) if options.quick else (20, 60)
    squares = np.column_stack([TABLE[:, :1], TABLE[:, :1] ** 2 + 0.3 * RNG.normal(size=(800, 1)), TABLE[:, 2:3]])
    derived = np.column_stack(
        [TABLE[:, :4], np.abs(TABLE[:, 0]), TABLE[:, 1] ** 2, TABLE[:, 0] * TABLE[:, 1], np.exp(TABLE[:, 2])]
    )
    weights = np.array([1.0, -2.0, 0.5, 1.0])
    logits: dict[str, Callable[[Array], Array]] = {
        "linear": lambda X: X[:, :4] @ weights,
        "curved": lambda X: 2 * X[:, 0] ** 2 - 2 * X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]),
    }
    lines: dict[str, Callable[[], str]] = {}
    for scale in (1, 2, 4, 8, 16):
        lines[f"linear log odds, largest weight {scale}"] = partial(linear, scale, few)
    for n in (1_000, 10_000):
        name = f"ignored x1^2 + noise beside 4 (x1^2 - 1), n = {n:,}"
        lines[name] = partial(ignored, lambda X: 4 * (X[:, 0] ** 2 - 1), squares, [1, 2], n, many)
        for kind, logit in logits.items():
            name = f"four ignored derived columns, {kind}, n = {n:,}"
            lines[name] = partial(ignored, logit, derived, [4, 5, 6, 7], n, many)
    lines["d1 of ignored .95 copies"] = partial(copies, few)
    lines |= {f"conjunction of {members}": partial(conjunction, members, few) for members in (2, 4, 8)}
    lines |= {f"parity of {members}": partial(parity, members, few) for members in (2, 3, 4)}
    lines["rare flips"] = partial(rare, False, few)
    lines["rare flips, background on one side"] = partial(rare, True, few)
    lines["an ignored column in 200 rows"] = partial(many_rows, few)
    lines |= {f"constraints: {kind}": partial(constrained, kind, few) for kind in ("ranges", "monotone")}
    lines["regression, nearly everything flips"] = partial(regression, few)
    lines["interactions of log odds that add up"] = partial(additive, few)
    interacting: dict[str, tuple[Callable[[Array], Array], float]] = {
        "XOR": (lambda X: 4 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2], 0.0),
        "3 x0 x1": (lambda X: 3 * X[:, 0] * X[:, 1] + X[:, 2], 0.0),
        "x0 x1": (lambda X: X[:, 0] * X[:, 1] + X[:, 2], 0.0),
        "x0 x1, correlation .7": (lambda X: X[:, 0] * X[:, 1] + X[:, 2], 0.7),
    }
    lines |= {f"interaction of {name}": partial(pair, *case, few) for name, case in interacting.items()}
    print("| law | first edition | measured |\n|---|---|---|")
    for name, measure in lines.items():
        print(f"| {name} | {FIRST_EDITION[name]} | {measure()} |", flush=True)


if __name__ == "__main__":
    main()
