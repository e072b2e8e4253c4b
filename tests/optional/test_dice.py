"""A small case of benchmarks/against_dice.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import xcid
from xcid._require import quiet_and_seeded
from xcid.table import FeatureSpace

pytest.importorskip("dice_ml", reason="needs the extra bench")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "against_dice.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("against_dice", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def untouched_global_state():
    """dice-ml draws from NumPy's global generator: not our doing."""


def test_d1_of_the_script_is_ours(script):
    rng = np.random.default_rng(0)
    for scale in (0.3, 1.0, 3.0):
        a, b = rng.normal(size=50), rng.normal(0.4, scale, 50)
        assert script.d1(a, b) == pytest.approx(xcid.d1(a, b), abs=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_mean_d1_agrees_with_dice(script):
    table = xcid.datasets.load_diabetes()
    train, test, y_train, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    model = LogisticRegression(max_iter=1000).fit(train, y_train)
    rows = test.iloc[:25]
    theirs = script.DicePath(model, train, y_train, 50)(rows)
    ours = xcid.Explainer.paper(model, train)(rows).importance
    errors = np.sqrt((theirs.var(axis=0, ddof=1) + ours.var(axis=0, ddof=1)) / len(rows))
    # chance alone takes one of eight past 3.5 standard errors once in about 300 runs: dice-ml cannot be seeded
    assert np.abs((theirs - ours).mean(axis=0) / errors).max() < 3.5


def decimals(rng, *counts):
    return {f"{count} decimals, {at}": rng.normal(size=300).round(count) for at, count in enumerate(counts)}


def frequent(rng, *counts):
    """Three decimals everywhere, and so many in the most frequent value, which alone decides."""
    cells = decimals(rng, *(3 for _ in counts))
    for column, count in zip(cells.values(), counts, strict=True):
        column[:20] = np.round(0.123, count)
    return cells


def whole_among_floats(rng):
    """Whole numbers as integers and as floats, 0 and 1 as floats, zeros among numbers with many decimals."""
    whole, two = rng.integers(0, 9, (2, 300)), rng.integers(0, 2, 300)
    zeros = np.where(rng.random(300) < 0.3, 0.0, rng.normal(size=300))
    return {"integer": whole[0], "float": whole[1].astype(float), "two": two.astype(float), "zeros": zeros}


def constants(rng):
    return {"fixed": np.full(300, 2.5), "whole": np.full(300, 3), **decimals(rng, 3, 1, 0)}


def ties(rng):
    """So few values that most candidates are duplicates."""
    levels = {f"{n} values": rng.integers(0, n, 300) for n in (2, 3, 4, 6)}
    return {**levels, "tenths": rng.random(300).round(1)}


FIRST = [30, 31, 32, 33]
TABLES = {
    "3, 3, 3, 1, 1": (lambda rng: decimals(rng, 3, 3, 3, 1, 1), 0.0, FIRST),
    "3, 3, 3, 1, 1 in the most frequent value": (lambda rng: frequent(rng, 3, 3, 3, 1, 1), 0.0, FIRST),
    "whole among floats": (whole_among_floats, 0.0, FIRST),
    "constants": (constants, 0.0, FIRST),
    "ties": (ties, 0.0, FIRST),
    "flips that need three changes": (lambda rng: decimals(rng, 3, 1, 2, 1, 0), -6.0, [17, 21, 26, 27]),
}
N_THEIRS, N_OURS = 6, 60


def z_scores(table, intercept, places, script):
    """(rows, features) differences of the mean d1 over runs in their standard errors; NaN where d1 never varies."""
    rng = np.random.default_rng(11)
    train = pd.DataFrame(table(rng))
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100))
    odds = StandardScaler().fit_transform(train) @ np.linspace(1, 2, train.shape[1]) + intercept
    target = (rng.random(len(train)) < 1 / (1 + np.exp(-odds))).astype(int)
    model.fit(train, target)
    rows = train.iloc[places]
    with quiet_and_seeded(5):
        dice = script.DicePath(model, train, target, 50)
        theirs = np.array([dice(rows) for _ in range(N_THEIRS)])
    assert dice.short == 0
    explainer = xcid.Explainer.paper(model, train)
    ours = np.array([explainer(rows, seed=seed).importance for seed in range(N_OURS)])
    parts = (ours, theirs)
    variance = sum((len(part) - 1) * part.var(axis=0, ddof=1) for part in parts) / (N_OURS + N_THEIRS - 2)
    apart, error = ours.mean(axis=0) - theirs.mean(axis=0), np.sqrt(variance * (1 / N_OURS + 1 / N_THEIRS))
    never = error < 1e-9
    assert np.all(np.abs(apart[never]) < 1e-3)
    return np.where(never, np.nan, apart / np.where(never, 1, error))


@pytest.mark.parametrize("table", [table for table, *_ in TABLES.values()], ids=TABLES)
def test_decimals_are_those_of_dice(table, script):
    train = pd.DataFrame(table(np.random.default_rng(11)))
    target = np.arange(len(train)) % 2
    dice = script.DicePath(LogisticRegression().fit(train, target), train, target, 50).dice
    theirs = dice.data_interface.get_decimal_precisions(output_type="dict")
    decimals = np.array([theirs[name] for name in train])
    expected = np.where((decimals > 0) & (decimals <= 6), 10.0**decimals, 0)  # more are not rounded, integers are whole
    assert FeatureSpace.of(train).rounding.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore")
def test_means_of_d1_agree_with_dice_on_any_table(script):
    found = {name: z_scores(*case, script) for name, case in TABLES.items()}
    squares = np.concatenate([z[~np.isnan(z)] ** 2 for z in found.values()])
    assert len(squares) > 100
    assert squares.mean() < 1.6
    assert max(np.nanmean(z**2) for z in found.values()) < 4  # d1 has long tails, and the features of a row are related
