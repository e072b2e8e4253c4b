"""Every case is a function without arguments that gives arrays by name: the same for the script and for the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import golden_subjects as subjects
import numpy as np
import polars as pl
from golden_record import Found, of_explanation, of_frame, under
from golden_subjects import MIXED, MIXED_ROWS, NAMES, NUMBERS, ROWS

import xcid
from xcid import calibration, densities
from xcid.cid.generators.conditional import Neighbours
from xcid.cid.per_feature import held_in_place
from xcid.generators import (
    Balanced,
    Conditional,
    Copula,
    Genetic,
    Growing,
    Marginal,
    Random,
)
from xcid.outcomes import Flip, Interval, Threshold, ToClass, Within
from xcid.scores import PerFeature, Resampled
from xcid_lab.generators import Complements, Given, Nearest

CASES: dict[str, Callable[[], Found]] = {}


def case(function: Callable[[], Found]) -> Callable[[], Found]:
    """Add a case under the name of its function."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


def explainer(model: Any = subjects.two_classes, make: Any = xcid.Explainer, **settings: Any) -> Any:
    """Of a table of numbers."""
    return make(model, NUMBERS, feature_names=NAMES, **settings)


def lender(make: Any = xcid.Explainer, **settings: Any) -> Any:
    """Of a mixed frame."""
    return make(subjects.lender, MIXED, **settings)


def numbers(*evidence: tuple[int, str], seed: int = 0, **settings: Any) -> Found:
    """Explain rows of numbers."""
    return of_explanation(explainer(**settings)(ROWS, seed=seed), *evidence)


def mixed(*evidence: tuple[int, str], seed: int = 0, **settings: Any) -> Found:
    """Explain rows of a mixed frame, also as a frame."""
    explanation = lender(**settings)(MIXED_ROWS, seed=seed)
    return of_explanation(explanation, *evidence) | of_frame(explanation.to_frame())


def both(name: str, **settings: Any) -> None:
    """Add a case for each of the two tables."""
    CASES[f"{name}, numbers"] = partial(numbers, (0, "age"), **settings)
    CASES[f"{name}, mixed"] = partial(mixed, (1, "size"), (1, "city"), **settings)


# The recommended setting and the paper's

both("recommended")
both("recommended with another seed", seed=7)
both("paper", make=xcid.Explainer.paper, m=20)
CASES["recommended, three classes"] = partial(numbers, (2, "score"), model=subjects.three_classes)
CASES["recommended, regression"] = partial(numbers, (2, "debt"), model=subjects.regression)
CASES["recommended, labels"] = partial(numbers, (2, "children"), model=subjects.labels)
CASES["paper, three classes"] = partial(numbers, model=subjects.three_classes, make=xcid.Explainer.paper, m=20)
CASES["paper, repeats"] = partial(numbers, make=xcid.Explainer.paper, m=20, repeats=3)
both("density", density=densities.Kernel("epanechnikov", "pooled-scott"))


@case
def a_row_alone() -> Found:
    return of_explanation(explainer()(ROWS[2]))


@case
def blocks_of_one_row() -> Found:
    return numbers(memory=2**17)


@case
def a_wide_table() -> Found:
    table = np.column_stack([subjects.make_numbers(seed=seed) for seed in range(5)])
    return of_explanation(xcid.Explainer(lambda x: subjects.two_classes(x[:, 3:21:4]), table)(table[:2]))


@case
def a_small_background() -> Found:
    return of_explanation(xcid.Explainer(subjects.two_classes, NUMBERS[:10], generator=Balanced(n=100))(ROWS))


@case
def a_kind_that_is_given() -> Found:
    return numbers((1, "children"), kinds={"children": "categorical"}, generator=Balanced(n=200))


@case
def other_tables() -> Found:
    frame = pl.DataFrame(NUMBERS, schema=NAMES)
    of_frame_ = xcid.Explainer(lambda frame: subjects.two_classes(frame.to_numpy()), frame, generator=Balanced(n=100))
    cells = [dict(zip(NAMES, row, strict=True)) for row in NUMBERS.tolist()]
    of_dicts = xcid.Explainer(lambda rows: subjects.two_classes(_array(rows)), cells, generator=Balanced(n=100))
    found = under("polars", of_explanation(of_frame_(frame[:2]))) | under("dicts", of_explanation(of_dicts(cells[:2])))
    made = {backend: of_frame_(frame[:2]).to_frame(backend) for backend in ("polars", "pyarrow")}
    return found | {f"{name} columns": getattr(one, "column_names", None) or one.columns for name, one in made.items()}


def _array(rows: list[dict[str, float]]) -> np.ndarray:
    return np.array([[row[name] for name in NAMES] for row in rows])


# Generators

GENERATORS = {
    "Balanced": Balanced(n=200),
    "Complements": Complements(n=200),
    "Random": Random(m=20, max_evaluations=2_000, pool=200),
    "Marginal": Marginal(m=20, max_evaluations=2_000),
    "Conditional, Neighbours": Conditional(m=20, max_evaluations=2_000, method=Neighbours(k=5)),
    "Conditional, Copula": Conditional(m=20, max_evaluations=2_000, method=Copula()),
    "Nearest": Nearest(m=20, max_evaluations=2_000),
    "Nearest, many": Nearest(m=90, max_evaluations=2_000),
    "Genetic": Genetic(m=20, max_evaluations=2_000, population=30, generations=8),
    "Genetic, diverse": Genetic(m=20, max_evaluations=2_000, population=30, generations=8, diversity=2.0),
    "Growing": Growing(Marginal(m=20, max_evaluations=300), max_evaluations=1_500),
    "Growing, Balanced": Growing(Balanced(n=80), max_evaluations=1_500),
}
for _name, _generator in GENERATORS.items():
    both(_name, generator=_generator)
    both(f"{_name}, by single features", generator=_generator, score=PerFeature(direction=held_in_place))
CASES["Given, numbers"] = partial(numbers, (0, "age"), generator=Given(subjects.make_numbers(60, seed=9)))
CASES["Given, mixed"] = partial(mixed, (1, "city"), generator=Given(MIXED.iloc[40:]))
CASES["Given, by single features"] = partial(numbers, generator=Given(NUMBERS[40:]), score=PerFeature())
CASES["Given for each row"] = partial(
    numbers, generator=Given([subjects.make_numbers(40 + row, seed=row) for row in range(4)], rows=ROWS, m=3)
)


@case
def rare_flips() -> Found:
    generator = Growing(Marginal(m=20, max_evaluations=300), max_evaluations=4_000)
    return numbers(model=lambda x: (subjects.merit(x) > 4.5).astype(int), generator=generator)


@case
def no_flips() -> Found:
    def hardly(x: np.ndarray) -> np.ndarray:
        return np.where(np.all(x == NUMBERS[5], axis=1), 0.9, 0.2 + 0.25 * subjects.two_classes(x))

    return numbers(model=hardly, generator=Balanced(n=200))


@case
def insufficient_flips() -> Found:
    return numbers(model=lambda x: (subjects.merit(x) > 4.5).astype(int), generator=Marginal(20, 200))


# Outcomes

OUTCOMES = {
    "Flip": (Flip(), subjects.three_classes),
    "ToClass": (ToClass("low"), subjects.three_classes),
    "SoftFlip": (Flip(soft=True), subjects.three_classes),
    "SoftToClass": (ToClass("middle", soft=True), subjects.three_classes),
    "Threshold": (Threshold(0.7), subjects.two_classes),
    "Threshold of a class": (Threshold(0.3, target="high"), subjects.three_classes),
    "Threshold of a number": (Threshold(11.0), subjects.regression),
    "Interval": (Interval(2.5), subjects.regression),
    "Interval by share": (Interval(share=1.0), subjects.regression),
    "Within": (Within(8.0, 12.0), subjects.regression),
    "Within, open": (Within(low=12.0), subjects.regression),
    "a function": (lambda outputs, reference: outputs[:, 1] ** 2, subjects.two_classes),
}
for _name, (_outcome, _model) in OUTCOMES.items():
    CASES[f"outcome {_name}"] = partial(numbers, model=_model, outcome=_outcome, generator=Balanced(n=300))
    CASES[f"outcome {_name}, Marginal"] = partial(
        numbers, model=_model, outcome=_outcome, generator=Marginal(m=20, max_evaluations=2_000)
    )

# Constraints

LIMITS = {
    "frozen": {"frozen": ["count", "city"]},
    "ranges": {"ranges": {"size": (-1, 1), "count": (2, 6)}},
    "levels": {"levels": {"city": ["Bonn", "Oslo"], "grade": ["low", "high"]}},
    "monotone": {"monotone": {"count": "rises", "grade": "falls"}},
    "groups": {"groups": {"place": ["city", "since"], "body": ["size", "count"]}},
    "all": {
        "frozen": ["member"],
        "ranges": {"count": (1, 7)},
        "monotone": {"size": "falls"},
        "groups": {"place": ["city", "since"]},
    },
}
for _name, _limits in LIMITS.items():
    for _generator in (Balanced(n=300), Random(m=20), Marginal(m=20), Genetic(m=10, population=20, generations=5)):
        _evidence = [(1, "place")] if "groups" in _limits else [(1, "count")]
        CASES[f"constraints {_name}, {type(_generator).__name__}"] = partial(
            mixed, *_evidence, generator=_generator, constraints=xcid.Constraints(**_limits)
        )

# Calibration

both("repeats", repeats=3, generator=Balanced(n=200))
both("decided", stop=calibration.Decided(k=2, max_evaluations=1_000), generator=Balanced(n=150))
both("resampled", score=Resampled(permutations=50, resamples=50), generator=Marginal(m=30))
both("resampled, repeats", score=Resampled(permutations=50, resamples=50), generator=Marginal(m=30), repeats=2)


@case
def aggregate() -> Found:
    explanation = lender()(MIXED.iloc[:12])
    found = under("all", of_explanation(explanation.aggregate()))
    by_group = explanation.aggregate(by=["b", "a", None] * 4)
    return found | under("by", of_explanation(by_group)) | of_frame(by_group.to_frame())


@case
def trust() -> Found:
    explanation = explainer(generator=Balanced(n=200))(ROWS)
    return {
        "adjusted p-values": explanation.adjusted_p_values(),
        "in top": explanation.in_top(2),
        "stable": explanation.stable(2, confidence=0.9),
    }
