"""Run the methods: scores of every run, and what masking by them does to the output."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid import Explanation
from xcid.directions import supporting
from xcid.errors import XcidWarning
from xcid.metrics import masking_curves
from xcid.records import Array
from xcid_lab.output import Arrays, Keep, versions
from xcid_lab.reproduction.methods import METHODS, MODEL_SEED, Method, Settings
from xcid_lab.subjects import SPLIT_SEED, TEST_SHARE, Subject

Say: TypeAlias = Callable[[str], None]
FORMAT = 1  # of a piece: raise it when what is stored changes
PACKAGES = ("xcid", "numpy", "scikit-learn", "dice-ml", "shap", "lime")  # that figures depend on
FIRST_ROW = ("cid", "dice")


class Measured(NamedTuple):
    """One method on the n rows of a subject."""

    runs: Array  # (r, n, d) scores of each run
    full: Array  # (n,) probability of the predicted class
    masked: Array  # (n, d + 1) the same with the best 0, 1, ..., d features masked, by magnitude of the mean score
    kept: Array  # (n, d + 1) with only these features kept
    masked_signed: Array  # by the signed mean score, highest first
    kept_signed: Array
    predicted: Array  # (n,) the class
    short: Array  # () rows, over all runs, that lacked counterfactuals of a kind
    seconds: Array  # () of all runs

    @property
    def scores(self) -> Array:
        """(n, d) means over the runs."""
        return self.runs.mean(axis=0)


Results: TypeAlias = Mapping[str, Measured]
"""By key of the method."""


def measure_all(subject: Subject, settings: Settings, folder: Path, say: Say, keep: Keep) -> Results:
    """Run every method on one subject, or read what is there."""
    wanted = [method for method in METHODS.values() if method.rows(settings) != 0]
    results = {}
    for place, method in enumerate(wanted, start=1):
        say(f"{subject.title}: {method.title} ({method.key}), {place} of {len(wanted)}")
        key = _key(subject, method, settings) | {"runs": method.runs(settings)}
        path = folder / f"{subject.table}-{method.key}"
        results[method.key] = Measured(**keep(path, key, partial(measure, subject, method, settings)))
    return results


def measure(subject: Subject, method: Method, settings: Settings) -> Arrays:
    """Run one method, and mask by its mean scores."""
    rows = subject.test.iloc[: method.rows(settings)]
    start = time.perf_counter()
    explained = _runs(subject, method, settings, rows, method.runs(settings))
    seconds = time.perf_counter() - start
    runs = np.stack([supporting(explanation) for explanation in explained])
    scores = runs.mean(axis=0)
    numbers, train = (table.astype(np.float64) for table in (rows, subject.train))  # so that no mean is rounded
    by_size = masking_curves(subject.model, numbers, np.abs(scores), train)
    by_sign = masking_curves(subject.model, numbers, scores, train)
    return Measured(
        runs=runs,
        full=by_size.full,
        masked=by_size.masked,
        kept=by_size.kept,
        masked_signed=by_sign.masked,
        kept_signed=by_sign.kept,
        predicted=explained[0].outputs.argmax(axis=1).astype(np.float64),
        short=np.array(sum(int(np.sum(explanation.status != "ok")) for explanation in explained), dtype=float),
        seconds=np.array(seconds),
    )._asdict()


def measure_first_row(subject: Subject, settings: Settings, folder: Path, say: Say, keep: Keep) -> Mapping[str, Array]:
    """(r, d) scores of the first test entry in many runs, by CID and by DiCE."""
    results = {}
    for method in (METHODS[key] for key in FIRST_ROW):
        say(f"{subject.title}: the first test entry, {settings.first_row_repeats} times by {method.title}")
        key = _key(subject, method, settings) | {"runs": settings.first_row_repeats, "rows": 1}
        path = folder / f"{subject.table}-{method.key}-first-row"
        results[method.key] = keep(path, key, partial(first_row, subject, method, settings))["runs"]
    return results


def first_row(subject: Subject, method: Method, settings: Settings) -> Arrays:
    """(r, d) scores of the first test entry."""
    explained = _runs(subject, method, settings, subject.test.iloc[:1], settings.first_row_repeats)
    return {"runs": np.concatenate([explanation.values for explanation in explained])}


def _runs(subject: Subject, method: Method, settings: Settings, rows: Any, count: int) -> list[Explanation]:
    explain = method.make(subject, settings.m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are counted instead
        return [explain(rows, seed=method.first_seed + run) for run in range(count)]


def _key(subject: Subject, method: Method, settings: Settings) -> dict[str, object]:
    """All that a piece depends on."""
    return {
        "format": FORMAT,
        "versions": versions(PACKAGES, "none"),
        "subject": subject.table,
        "model": repr(subject.model),
        "split": [SPLIT_SEED, TEST_SHARE, MODEL_SEED],
        "method": method.key,
        "first_seed": method.first_seed,
        "m": settings.m,
        "rows": method.rows(settings),
    }
