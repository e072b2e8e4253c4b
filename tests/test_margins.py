"""Margins: log odds of a class against its strongest rival, in which models of several classes add up."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.test_native_exact import counted_out

import xcid
from xcid.contributions import scale as scales

X, Y = load_wine(return_X_y=True)
X = X[:, :6]
ROWS, REFERENCE = X[::45], X[::9]
BOOSTED = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, Y)
FOREST = RandomForestClassifier(9, random_state=0).fit(X, Y)


def own(found):
    """(n,) what the model says, on the scale of margins."""
    column = {name: at for at, name in enumerate(found.output_names)}
    about, against = (np.array([column[name] for name in part]) for part in (found.about, found.against))
    line = np.arange(len(found))
    return np.log(found.outputs[line, about] / found.outputs[line, against])


def margins_of(found):
    """(n, d) Shapley values by all coalitions."""
    column = {name: at for at, name in enumerate(found.output_names)}
    shares = np.full(len(REFERENCE), 1 / len(REFERENCE))
    every = counted_out(
        lambda rows: np.log(BOOSTED.predict_proba(rows)), ROWS, REFERENCE, shares, [(at,) for at in range(X.shape[1])]
    )
    pairs = zip(every, found.about, found.against, strict=True)
    return np.array([one[:, column[about]] - one[:, column[rival]] for one, about, rival in pairs])


@pytest.mark.parametrize("answer", [lambda e: e(ROWS), lambda e: e.contributions(ROWS)], ids=["all", "alone"])
def test_margins_are_exact_about_every_class(answer, tmp_path):
    found = answer(xcid.Explainer(BOOSTED, REFERENCE, scale="margins"))
    rivals = np.sort(found.outputs, axis=1)[:, -2]
    assert (found.outputs[np.arange(len(ROWS)), found.against.astype(int)] == rivals).all()
    found.save(tmp_path / "kept.npz")
    for one in (found, found.towards("1"), xcid.load(tmp_path / "kept.npz").towards("2")):
        assert one.exact.all()
        assert (one.about != one.against).all()
        assert np.abs(one.values - margins_of(one)).max() <= 1e-12
        assert np.abs(one.base_values + one.values.sum(axis=1) - own(one)).max() <= 1e-12
    assert found.towards("1").unit == "log odds of 1 against its strongest rival"
    assert found[:1].unit == "log odds of 0 against 1"
    assert np.allclose(found.odds, np.exp(found.values))


def test_margins_of_a_model_that_is_called_add_up():
    found = xcid.Explainer(lambda rows: BOOSTED.predict_proba(rows), REFERENCE, scale="margins")(ROWS)
    assert not found.exact.any()
    assert np.abs(found.base_values + found.values.sum(axis=1) - own(found)).max() <= 1e-9
    inside = (found.lower <= margins_of(found)) & (margins_of(found) <= found.upper)
    assert inside.mean() > 0.85
    again = found.on("log_odds").on("margins")
    assert np.allclose(again.values, found.values)
    assert found.on("log_odds").against is None


def test_exact_probabilities_of_a_forest_stay_exact_towards_another_class():
    found = xcid.Explainer(FOREST, REFERENCE).contributions(ROWS).towards("2")
    assert found.exact.all()
    shares = np.full(len(REFERENCE), 1 / len(REFERENCE))
    wanted = counted_out(FOREST.predict_proba, ROWS, REFERENCE, shares, [(at,) for at in range(X.shape[1])])
    assert np.abs(found.values - wanted[:, :, 2]).max() <= 1e-12


def test_margins_of_two_classes_are_log_odds():
    two = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X[Y < 2], Y[Y < 2])
    found = xcid.Explainer(two, X[Y < 2], scale="margins").contributions(ROWS)
    assert found.scale == "log_odds"
    assert found.exact.all()


def test_margins_against_several_rivals_are_not_compared():
    found = xcid.Explainer(BOOSTED, REFERENCE, scale="margins")(ROWS)
    with pytest.raises(xcid.errors.InvalidParameter, match="another class in each row"):
        found[:2].compare(found[2:], towards="1")


@pytest.mark.parametrize(("model", "scale"), [(BOOSTED, "log_odds"), (BOOSTED, "probability"), (FOREST, "log_odds")])
def test_what_is_exact_on_one_scale_helps_on_another(model, scale, monkeypatch):
    """Exact contributions as control variate: less error, by the same samples, and the same sum."""
    explainer = xcid.Explainer(model, REFERENCE, scale=scale)
    number = explainer.made.contributing.scale
    own = model.predict_proba(ROWS).argmax(axis=1)
    players, shares = [(at,) for at in range(X.shape[1])], np.full(len(REFERENCE), 1 / len(REFERENCE))
    truth = np.array([
        counted_out(
            lambda rows, at=at: number(model.predict_proba(rows), np.full(len(rows), at))[:, None],
            ROWS[row : row + 1], REFERENCE, shares, players,
        )[0, :, 0]
        for row, at in enumerate(own)
    ])  # fmt: skip

    def measure():
        runs = [explainer.contributions(ROWS, seed=seed) for seed in range(5)]
        inside = [(one.lower - 1e-9 <= truth) & (truth <= one.upper + 1e-9) for one in runs]
        sums = [one.base_values + one.values.sum(axis=1) - number(one.outputs, own) for one in runs]
        assert np.abs(sums).max() <= 1e-9
        return np.mean([(one.values - truth) ** 2 for one in runs]), np.mean(inside)

    helped, coverage = measure()
    monkeypatch.setattr(scales, "_know", lambda *parts: None)
    alone, _ = measure()
    assert helped < 0.95 * alone
    assert coverage > 0.9
    found = explainer(ROWS)
    other = found.on("margins" if model is BOOSTED else "probability")
    assert not other.exact.any()


@pytest.mark.parametrize("scale", ["probability", "log_odds"])
def test_what_is_exact_does_not_help_where_probabilities_have_no_digits_left(scale):
    """Log odds of 600 are probabilities of 0 and 1: what is known of the former says nothing of the latter."""
    random = np.random.default_rng(0)
    table = random.normal(size=(200, 3))
    sure = LogisticRegression(C=1e6, max_iter=1000).fit(table, table.sum(axis=1) > 0)
    called, read = (
        xcid.Explainer(model, table, scale="probability")(table[:30])
        for model in (lambda rows: sure.predict_proba(rows), sure)
    )
    assert np.abs(read.values - called.values).max() < 0.2
    several = LogisticRegression(C=1e6, max_iter=1000).fit(table, (table.sum(axis=1) > 0) + (table[:, 0] > 1) * 1)
    several.coef_ *= 60
    assert np.isfinite(xcid.Explainer(several, table, scale=scale)(table[:5]).values).all()
