"""Run the methods: scores of every run, and what masking by them does to the output."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from xcid import Explanation
from xcid.errors import XcidWarning
from xcid.lab.reproduction.methods import METHODS, Method
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.store import Arrays, Store
from xcid.lab.reproduction.subjects import MODEL_SEED, SPLIT_SEED, TEST_SHARE, Subject
from xcid.metrics import masking_curves

Array: TypeAlias = npt.NDArray[np.float64]
Say: TypeAlias = Callable[[str], None]
FORMAT = 1  # of a piece: raise it when what is stored changes
PACKAGES = ("xcid", "numpy", "scikit-learn", "dice-ml", "shap", "lime")
FIRST_ROW = ("cid", "dice")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One method on one subject.

    Attributes
    ----------
    runs : (r, n, d)
        Scores of each run.
    full : (n,)
        Probability of the predicted class.
    masked, kept : (n, d + 1)
        The same with the best 0, 1, ..., d features masked or kept, by magnitude of the mean score.
    masked_signed, kept_signed : (n, d + 1)
        By the signed mean score, highest first.
    predicted : (n,)
        The class.
    short : ()
        Rows, over all runs, that lacked counterfactuals of a kind.
    seconds : ()
        Of all runs.
    """

    runs: Array
    full: Array
    masked: Array
    kept: Array
    masked_signed: Array
    kept_signed: Array
    predicted: Array
    short: Array
    seconds: Array

    @property
    def scores(self) -> Array:
        """(n, d) means over the runs."""
        return self.runs.mean(axis=0)


Results: TypeAlias = Mapping[str, Measured]
"""By key of the method."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstRow:
    """(r, d) scores of the first test entry in many runs of one method."""

    runs: Array


def measure_all(subject: Subject, settings: Settings, store: Store, say: Say) -> Results:
    """Run every method on one subject, or read what is there."""
    wanted = [method for method in METHODS.values() if method.rows(settings) != 0]
    results = {}
    for place, method in enumerate(wanted, start=1):
        say(f"{subject.title}: {method.title} ({method.key}), {place} of {len(wanted)}")
        arrays = store.piece(
            f"{subject.key}-{method.key}",
            _key(subject, method, settings) | {"runs": method.runs(settings)},
            functools.partial(measure, subject, method, settings),
        )
        results[method.key] = Measured(**arrays)
    return results


def measure(subject: Subject, method: Method, settings: Settings) -> Arrays:
    """Run one method, and mask by its mean scores."""
    rows = subject.test.iloc[: method.rows(settings)]
    start = time.perf_counter()
    explained = _runs(subject, method, settings, rows, method.runs(settings))
    seconds = time.perf_counter() - start
    runs = np.stack([explanation.values for explanation in explained])
    scores = runs.mean(axis=0)
    by_size = masking_curves(subject.model, rows, np.abs(scores), subject.train)
    by_sign = masking_curves(subject.model, rows, scores, subject.train)
    return {
        "runs": runs,
        "full": by_size.full,
        "masked": by_size.masked,
        "kept": by_size.kept,
        "masked_signed": by_sign.masked,
        "kept_signed": by_sign.kept,
        "predicted": explained[0].outputs.argmax(axis=1).astype(np.float64),
        "short": np.array(sum(int(np.sum(explanation.status != "ok")) for explanation in explained), dtype=float),
        "seconds": np.array(seconds),
    }


def measure_first_row(subject: Subject, settings: Settings, store: Store, say: Say) -> Mapping[str, FirstRow]:
    """Explain the first test entry many times, by CID and by DiCE."""
    results = {}
    for method in (METHODS[key] for key in FIRST_ROW):
        say(f"{subject.title}: the first test entry, {settings.first_row_repeats} times by {method.title}")
        arrays = store.piece(
            f"{subject.key}-{method.key}-first-row",
            _key(subject, method, settings) | {"runs": settings.first_row_repeats, "rows": 1},
            functools.partial(first_row, subject, method, settings),
        )
        results[method.key] = FirstRow(**arrays)
    return results


def first_row(subject: Subject, method: Method, settings: Settings) -> Arrays:
    """(r, d) scores of the first test entry."""
    explained = _runs(subject, method, settings, subject.test.iloc[:1], settings.first_row_repeats)
    return {"runs": np.concatenate([explanation.values for explanation in explained])}


def versions() -> dict[str, str]:
    """The packages that figures depend on."""
    return {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _runs(subject: Subject, method: Method, settings: Settings, rows: Any, count: int) -> list[Explanation]:
    explain = method.make(subject, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are counted instead
        return [explain(rows, seed=method.first_seed + run) for run in range(count)]


def _key(subject: Subject, method: Method, settings: Settings) -> dict[str, object]:
    """All that a piece depends on."""
    return {
        "format": FORMAT,
        "versions": versions(),
        "subject": subject.key,
        "model": subject.model_words,
        "split": [SPLIT_SEED, TEST_SHARE, MODEL_SEED],
        "method": method.key,
        "first_seed": method.first_seed,
        "m": settings.m,
        "rows": method.rows(settings),
    }
