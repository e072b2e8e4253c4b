"""A model is tried before it is explained: the same answer twice, and for a row whatever rows stand beside it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import xcid
from xcid.errors import XcidWarning
from xcid.generators import Marginal
from xcid.models.predictor import FEW

TABLE = np.random.default_rng(3).normal(size=(100, 3))


def planted(X):
    return 1 / (1 + np.exp(-X[:, 0]))


class TestNotDeterministic:
    def test_numbers(self):
        rng = np.random.default_rng(0)
        with pytest.warns(XcidWarning, match=r"not deterministic: 22 of 22 reference rows .*by up to 0\.\d+") as seen:
            xcid.Explainer(lambda X: rng.random(len(X)), TABLE)
        assert len(seen) == 1  # what changes from call to call says nothing of batches
        assert seen[0].filename == __file__

    def test_labels(self):
        rng = np.random.default_rng(0)
        model = lambda X: np.where(rng.random(len(X)) < 0.3, "no", "yes")  # noqa: E731
        with pytest.warns(XcidWarning, match=r"not deterministic: \d+ of 22 .*by up to 1\)"):
            xcid.Explainer(model, TABLE)

    def test_rounding_is_no_randomness(self):
        rng = np.random.default_rng(0)
        xcid.Explainer(lambda X: planted(X) * (1 - 1e-9 * rng.random(len(X))), TABLE)

    def test_a_forest_of_many_threads(self):
        forest = RandomForestClassifier(50, n_jobs=4, random_state=0).fit(TABLE, TABLE[:, 0] > 0)
        xcid.Explainer(forest, TABLE)


class TestBatch:
    @pytest.mark.parametrize(
        "model",
        [
            lambda X: planted(X - X.mean(axis=0)),
            lambda X: planted((X - X.mean(axis=0)) / X.std(axis=0)),  # no number for a row alone
            lambda X: np.argsort(np.argsort(X[:, 0])) / len(X),
            lambda X: np.arange(len(X)) % 2,
        ],
        ids=["centred", "standardised", "ranked", "position"],
    )
    def test_is_noticed(self, model):
        message = r"depends on the other rows of the call: \d+ of 22 reference rows .*by up to \d"
        with pytest.warns(XcidWarning, match=message) as seen:
            xcid.Explainer(model, TABLE)
        assert len(seen) == 1

    def test_the_limit_is_relative(self):
        for scale in (1e-100, 1.0, 1e100):
            xcid.Explainer(lambda X, scale=scale: scale * (X[:, 0] + 1e-8 * X[:, 0].mean()), TABLE)
            with pytest.warns(XcidWarning, match="depends on the other rows"):
                xcid.Explainer(lambda X, scale=scale: scale * (X[:, 0] + 1e-4 * X[:, 0].mean()), TABLE)

    def test_single_precision_may_round(self):
        model = lambda X: (X[:, 0] * (1 + 1e-6 * len(X) / 22)).astype(np.float32)  # noqa: E731
        xcid.Explainer(model, TABLE)

    def test_a_model_that_fails_on_a_single_row(self):
        def model(X):
            if len(X) == 1:
                raise ValueError("more than one value expected")
            return planted(X)

        explanation = xcid.Explainer(model, TABLE, generator=Marginal(m=20))(TABLE[:3])
        assert (np.abs(explanation.values).argmax(axis=1) == 0).all()
        with pytest.warns(xcid.XcidWarning, match="failed on 1 row: ValueError: more than one"):
            alone = xcid.Explainer(model, TABLE)(TABLE[0])
        assert alone.status.tolist() == ["model_failed"]  # it does not fail for the background


def test_few_rows_more_are_asked():
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X[:, 0] > 0

    xcid.Explainer(model, TABLE)
    assert sum(sizes) <= len(TABLE) + 66 + FEW
    assert sizes[1:] == [22, 22, 1, 11, 10, FEW]


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_short_backgrounds(n_rows):
    xcid.Explainer(planted, TABLE[:n_rows])
    with pytest.warns(XcidWarning, match=f"of {n_rows} reference rows"):
        xcid.Explainer(lambda X: planted(X - X.mean(axis=0)), TABLE[:n_rows])


def test_what_the_model_says_of_the_trial_is_not_shown():
    def model(X):
        if len(X) < len(TABLE):
            warnings.warn("few rows", UserWarning, stacklevel=1)
        return planted(X)

    xcid.Explainer(model, TABLE)
