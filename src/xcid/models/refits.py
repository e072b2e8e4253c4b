"""The same kind of model, trained again on samples of its training data, to see what depends on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from xcid._check import Progress, as_int, choose_progress, describe_error, require_callable, telling
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter, ModelError
from xcid.records import Integers

Split: TypeAlias = Callable[[np.random.Generator, Any], Any]
"""``split(rng, y)``: the positions of the rows that a refit is trained on."""

TRIES = 100  # samples that lack a class are drawn again
SEEDS = ("random_state", "seed", "random_seed")
INNER = ("estimator", "regressor", "base_estimator", "classifier")  # what a wrapper trains
HOLDS_OUT = "CV"  # at the end of a name: such models hold out rows, of which copies must not be among the others
FROZEN = "FrozenEstimator"
TRAIN_YOURSELF = "train the models yourself, on halves of the rows, and give Explainer(..., refits=models)"
UNTRAINED = (
    "this {name} does not say how it was trained: give an estimator that can be cloned (XGBClassifier and not its "
    f"Booster), or {TRAIN_YOURSELF}"
)


def refits(
    model: Any,
    X: Any,
    y: Any,
    n: int = 20,
    *,
    seed: int = 0,
    groups: Any = None,
    split: Any = None,
    weights: Any = None,
    progress: Progress | None = None,
) -> list[Any]:
    """Train the same kind of model again, n times, each on a sample of the training data and with a new seed.

    Trees, networks and what else holds out rows get halves of the rows, without replacement: two copies of a row would
    lie on both sides of an early stopping. Linear models get bootstrap samples. Both vary about the model as it would
    vary about one of other data. A sample that has lost a class is drawn again.

    Parameters
    ----------
    model : estimator
        Fitted or not: scikit-learn's (pipelines, searches and calibration included), or with its interface.
    X, y : table and labels
        What the model was trained on.
    n : int
        Refits: 20 are enough, 5 make limits a third wider.
    seed : int
        Of the samples and of the models.
    groups : (N,) labels, optional
        Rows that belong together, such as those of one patient: a sample has all of them or none.
    split : callable or splitter, optional
        Another way to sample: a function ``(rng, y) -> positions of rows``, or a splitter of scikit-learn with as many
        splits, whose training rows are taken.
    weights : (N,) array, optional
        Passed on to the training as ``sample_weight``.
    progress : callable, optional
        Shows how far it has come, as for an explainer.

    Returns
    -------
    list of estimators

    Examples
    --------
    >>> import xcid
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = xcid.datasets.load_diabetes()
    >>> model = LogisticRegression(max_iter=1000).fit(table.data, table.target)
    >>> models = xcid.refits(model, table.data, table.target, n=3)
    >>> len(models), models[0].coef_.shape
    (3, (1, 8))
    """
    n, rng = as_int(n, "n (refits)", at_least=2), np.random.default_rng(as_int(seed, "seed", at_least=0))
    labels = np.asarray(y)
    for name, part in (("groups", groups), ("weights", weights), ("X", X)):
        if part is not None and _length(part) != len(labels):
            raise InvalidData(f"{name} has {_length(part)} rows, and y has {len(labels)}")
    _check_trains(model)
    samples = _samples(model, X, labels, n, rng, groups, split)
    steps = (choose_progress() if progress is None else progress)(samples, total=n)
    made = [_train(model, X, y, rows, weights, seed=int(rng.integers(2**31))) for rows in steps]
    if len(made) < n:
        raise InvalidParameter(f"split gives {len(made)} samples, and n={n} refits need as many")
    return made


def _samples(
    model: Any, X: Any, labels: Any, n: int, rng: np.random.Generator, groups: Any, split: Any
) -> Iterator[Integers]:
    """The rows of each refit."""
    if hasattr(split, "split"):
        for (rows, _), _ in zip(split.split(X, labels, groups), range(n), strict=False):
            yield np.asarray(rows)
        return
    if split is not None:
        require_callable(split, "split", "sklearn.model_selection.TimeSeriesSplit(20)")
    draw = split or (_bootstrap if _is_linear(model) else _half)
    is_classifier = any(hasattr(model, name) for name in ("classes_", "predict_proba", "decision_function"))
    need = len(np.unique(labels)) if is_classifier else 0
    names, at = np.unique(np.arange(len(labels)) if groups is None else np.asarray(groups), return_inverse=True)
    members = None if groups is None else [np.flatnonzero(at == group) for group in range(len(names))]
    for _ in range(n):
        for _ in range(TRIES):
            rows = np.asarray(draw(rng, labels if members is None or split is not None else names))
            if members is not None and split is None:
                rows = np.concatenate([members[group] for group in rows])
            if not need or len(np.unique(labels[rows])) == need:
                break
        else:
            counts = dict(zip(*(part.tolist() for part in np.unique(labels, return_counts=True)), strict=True))
            raise InvalidData(
                f"in {TRIES} samples some class was missing: a class is too rare for refits (rows by class: {counts}); "
                "join rare classes, or give split= a function that keeps each of them"
            )
        yield rows


def _half(rng: np.random.Generator, labels: Any) -> Integers:
    """Half of the rows, without replacement."""
    return np.asarray(rng.permutation(len(labels))[: (len(labels) + 1) // 2])


def _bootstrap(rng: np.random.Generator, labels: Any) -> Integers:
    """As many rows, with replacement."""
    return np.asarray(rng.integers(len(labels), size=len(labels)))


def _is_linear(model: Any) -> bool:
    """Whether what is trained in the end is a linear model that uses all of its rows alike."""
    kind = type(model)
    if hasattr(model, "steps"):
        return _is_linear(model.steps[-1][1])
    inner = next((getattr(model, name) for name in INNER if hasattr(getattr(model, name, None), "fit")), None)
    if kind.__name__.endswith(("SearchCV", HOLDS_OUT)) and kind.__name__ != "CalibratedClassifierCV":
        return False
    if inner is not None:
        return not kind.__module__.startswith("sklearn.ensemble") and _is_linear(inner)
    home = ".".join(kind.__module__.split(".")[:2])
    return home in ("sklearn.linear_model", "sklearn.discriminant_analysis") or kind.__name__.startswith("LinearSV")


def _check_trains(model: Any) -> None:
    """Refuse what cannot be trained again."""
    if not (callable(getattr(model, "fit", None)) and callable(getattr(model, "get_params", None))):
        raise InvalidParameter(UNTRAINED.format(name=type(model).__name__))
    parts = {"": model, **model.get_params(deep=True)}
    for name, part in parts.items():
        if type(part).__name__ == FROZEN or (isinstance(part, str) and part == "prefit"):
            raise InvalidParameter(
                f"{name or 'the model'} is fitted once and for all ({part!r:.40}), so training again would not "
                "change it: give the same estimator unfrozen, or train the models yourself"
            )


def _train(model: Any, X: Any, y: Any, rows: Integers, weights: Any, *, seed: int) -> Any:
    """One refit."""
    with telling(InvalidParameter, f"this {type(model).__name__} cannot be cloned; {TRAIN_YOURSELF}"):
        fresh = _clone(model)
    names = [name for name in _parameters(fresh) if name.rpartition("__")[2] in SEEDS]
    numbers = np.random.default_rng(seed).integers(2**31 - 1, size=len(names)).tolist()
    if names:
        fresh.set_params(**dict(zip(names, numbers, strict=True)))
    more = {} if weights is None else {_weight_name(model): take_rows(weights, rows)}
    try:
        return fresh.fit(take_rows(X, rows), take_rows(y, rows), **more)
    except Exception as error:
        raise ModelError(
            f"a refit on {len(rows)} rows failed: {' '.join(describe_error(error).split()):.200}; refits call "
            "fit(X, y) and nothing else: where the training needs more, train the models yourself and give them as "
            "refits="
        ) from error


def _parameters(model: Any) -> Iterable[str]:
    """The names of all parameters; CatBoost's only tell of those that were set."""
    known = set(model.get_params(deep=True))
    is_silent = type(model).__module__.startswith("catboost") and known.isdisjoint(SEEDS)
    return sorted(known | ({"random_seed"} if is_silent else set()))


def _clone(model: Any) -> Any:
    """The same estimator, not fitted."""
    if type(model).__module__.startswith("catboost"):
        return type(model)(**model.get_params())
    base = require("sklearn.base", extra="models")
    return base.clone(model)


def _weight_name(model: Any) -> str:
    """What weights are called by the training: in a pipeline, those of its last step."""
    name = "sample_weight"
    while hasattr(model, "steps"):
        step, model = model.steps[-1]
        name = f"{step}__{name}"
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        raise InvalidParameter(f"{type(model).__name__} takes no sample_weight: leave weights out")
    return name


def take_rows(table: Any, rows: Integers) -> Any:
    """Some rows of a table, a column or a sequence, as the same kind of table."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if isinstance(table, Sequence) and not isinstance(table, str):
        return [table[row] for row in rows.tolist()]
    return table[rows] if not hasattr(table, "take") or isinstance(table, np.ndarray) else table.take(rows)


def _length(table: Any) -> int:
    shape = getattr(table, "shape", None)
    return int(shape[0]) if shape else len(table)
