"""Clouds of perturbations to score: hard and soft, with empty places, with groups, and of one plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import xcid
from xcid import Perturbations
from xcid.generators import Balanced

DECIDES, HELPS, WHOLE, HOLES, LEVELS, FIXED = range(6)
N_ROWS, N_SAMPLES = 5, 160


def make_cloud(seed=0, soft=False, features=(), n_samples=N_SAMPLES):
    """A column that decides, one that helps, whole numbers, holes, levels, and one that never differs."""
    rng = np.random.default_rng(seed)
    origin = rng.normal(size=(N_ROWS, 6))
    origin[:, WHOLE], origin[:, LEVELS] = rng.integers(0, 6, N_ROWS), rng.integers(0, 4, N_ROWS)
    origin[1, HOLES] = np.nan
    new = rng.normal(size=(N_ROWS, n_samples, 6))
    new[:, :, WHOLE], new[:, :, LEVELS] = rng.integers(0, 6, new.shape[:2]), rng.integers(0, 4, new.shape[:2])
    new[:, :, HOLES][rng.random(new.shape[:2]) < 0.15] = np.nan
    changed = rng.random(new.shape) < 0.5
    changed[:, :, FIXED] = False
    samples = np.where(changed, new, origin[:, None])
    away = 3.0 * changed[:, :, DECIDES] + changed[:, :, HELPS] * (1 + 0.3 * samples[:, :, HELPS]) - 2.0
    odds = 1 / (1 + np.exp(-away))
    positive = odds if soft else (rng.random(odds.shape) < odds).astype(float)
    return Perturbations(
        origin,
        samples,
        positive,
        1 - positive,
        np.full(N_ROWS, n_samples),
        np.full(N_ROWS, "ok"),
        np.arange(6) == LEVELS,
        features,
    )


def with_empty_places(cloud, count):
    """The same with places at the end that belong to neither set."""
    wrong = np.full((len(cloud), count, cloud.samples.shape[2]), 3.0)
    nothing = np.zeros((len(cloud), count))
    return replace(
        cloud,
        given=np.concatenate([cloud.samples, wrong], axis=1),
        positive=np.concatenate([cloud.positive, nothing], axis=1),
        negative=np.concatenate([cloud.negative, nothing], axis=1),
    )


def planned():
    """A cloud of the recommended generator: all rows have the same masks and donors."""
    cloud = make_cloud(3)
    background = np.column_stack([cloud.samples[0, :, :FIXED], np.full(N_SAMPLES, 0.5)])
    explainer = xcid.Explainer(
        lambda x: 1 / (1 + np.exp(-2 * x[:, DECIDES] - 0.5 * x[:, HELPS])),
        background,
        generator=Balanced(n=200),
        kinds={"x4": "categorical"},
    )
    return explainer(background[:N_ROWS]).cloud


GIVEN = {
    "hard": make_cloud(),
    "soft": make_cloud(1, soft=True),
    "empty places": with_empty_places(make_cloud(2), 40),
    "groups": make_cloud(4, features=((DECIDES,), (HELPS, WHOLE), (HOLES,), (LEVELS,), (FIXED,)), n_samples=60),
}
CLOUDS = {**GIVEN, "planned": planned()}
