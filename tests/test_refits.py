"""Limits that allow for other reference rows and another training, held against what they are about."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, RidgeClassifier
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import xcid
from xcid.errors import InvalidData, InvalidParameter, ModelError, XcidError

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(240, 4)), columns=list("abcd"))
NUMBER = (X.a + X.b * X.c + RNG.normal(size=240)).to_numpy()
TWO, THREE = np.where(NUMBER > 0, "yes", "no"), np.digitize(NUMBER, [-0.7, 0.7])
MODELS = {
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression()), TWO),
    "forest": (RandomForestClassifier(12, random_state=0), TWO),
    "three classes": (RandomForestClassifier(12, random_state=0), THREE),
    "regression": (RandomForestRegressor(12, random_state=0), NUMBER),
    "ridge": (Ridge(), NUMBER),
}


class Remembers:
    """A model that is called, and remembers how many rows it was asked about; its refits learn in their own way."""

    def __init__(self, strength=1.0):
        self.strength, self.asked = strength, 0

    def get_params(self, deep=True):
        return {"strength": self.strength}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, table, target):
        self.coefficients = np.linalg.lstsq(np.asarray(table), target, rcond=None)[0]
        return self

    def predict(self, table):
        self.asked += len(table)
        return np.sin(np.asarray(table) @ self.coefficients)


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    model, target = MODELS[request.param]
    model.fit(X, target)
    return model, xcid.refits(model, X, target, n=5)


def test_the_spread_over_trainings_is_that_of_refits_explained_by_themselves(case):
    model, models = case
    found = xcid.Explainer(model, X, refits=models, limits="training").contributions(X[:7])
    for at, refit in enumerate(models):
        alone = xcid.Explainer(refit, X).contributions(X[:7])
        same = alone.about == found.about  # of several classes a refit may predict another one
        np.testing.assert_allclose(found.retrained[same, :, at], alone.values[same], atol=1e-9)
        assert same.sum() > 3
    about_shown = np.sqrt(np.mean((found.retrained - found.values[:, :, None]) ** 2, axis=2))
    assert (found.sd_training >= about_shown - 1e-12).all()
    assert (found.sd_training <= np.hypot(about_shown, found.retrained.std(axis=2, ddof=1)) + 1e-12).all()


def test_each_kind_of_limits_is_wider_than_the_one_before(case):
    model, models = case
    made = [
        xcid.Explainer(model, X, refits=models, limits=limits) for limits in ("computation", "reference", "training")
    ]
    own, reference, training = (explainer.contributions(X[:7]) for explainer in made)
    assert [each.limits for each in (own, reference, training)] == ["computation", "reference", "training"]
    widths = [each.upper - each.lower for each in (own, reference, training)]
    assert (widths[0] <= widths[1] + 1e-12).all()
    assert (widths[1] <= widths[2] + 1e-12).all()
    for each in (reference, training):
        np.testing.assert_array_equal(each.values, own.values)
        excludes = (each.lower > 0) | (each.upper < 0)
        np.testing.assert_array_equal(excludes, each.p_values < 0.05)


def test_the_spread_over_reference_rows_is_that_of_samples_of_them(case):
    model, models = case
    found = xcid.Explainer(model, X, refits=models).contributions(X[:7])
    draws = [X.sample(len(X), replace=True, random_state=seed) for seed in range(40)]
    seen = [xcid.Explainer(model, draw).contributions(X[:7]).values for draw in draws]
    due = np.std(seen, axis=0, ddof=1)
    ratio = np.sqrt((found.sd_reference**2).sum() / (due**2).sum())
    assert 0.7 < ratio < 1.4  # 20 groups tell it to 16%, 40 draws to 11%


def test_without_refits_the_model_is_asked_as_often_and_with_them_no_more():
    model = Remembers().fit(X, NUMBER)
    xcid.Explainer(model, X)(X[:3])
    plain, model.asked = model.asked, 0
    xcid.Explainer(model, X, refits=xcid.refits(model, X, NUMBER, n=3), limits="training")(X[:3])
    assert model.asked == plain


def test_refits_of_a_called_model_follow_the_same_plan():
    model = Remembers().fit(X, NUMBER)
    same = [Remembers().fit(X, NUMBER) for _ in range(3)]
    found = xcid.Explainer(model, X, refits=same, limits="training")(X[:3])
    np.testing.assert_allclose(found.sd_training, 0, atol=1e-12)
    assert found.sd_reference is None
    assert (found.sd_computation > 0).all()


def test_explanations_carry_refits_everywhere(case, tmp_path):
    model, models = case
    explainer = xcid.Explainer(model, X, refits=models, limits="training")
    found = explainer(X[:7])
    again = pickle.loads(pickle.dumps(explainer))(X[:7])
    np.testing.assert_allclose(again.lower, found.lower, atol=1e-9)
    for name in ("saved.npz", "saved.json", "saved.parquet"):
        found.save(tmp_path / name)
        loaded = xcid.load(tmp_path / name)
        assert loaded.limits == "training"
        np.testing.assert_array_equal(loaded.retrained, found.retrained)
        np.testing.assert_array_equal(loaded.sd_training, found.sd_training)
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["sd_training"], found.sd_training.ravel())
    assert found[2].retrained.shape == (1, 4, 5)
    assert xcid.Explainer(model, X)(X[:2]).sd_training is None


def test_the_other_class_has_the_other_signs():
    model = MODELS["logistic"][0].fit(X, TWO)
    found = xcid.Explainer(model, X, refits=xcid.refits(model, X, TWO, n=4), limits="training").contributions(X[:5])
    turned = found.towards("no")
    np.testing.assert_array_equal(turned.retrained, -found.retrained)
    np.testing.assert_array_equal(turned.lower, -found.upper)
    np.testing.assert_array_equal(turned.sd_training, found.sd_training)


class Samples(DecisionTreeClassifier):
    """A tree that remembers what it was trained on."""

    def fit(self, table, target, sample_weight=None):
        self.table_, self.target_, self.weight_ = table, target, sample_weight
        return super().fit(table, target, sample_weight)


def test_trees_get_halves_and_linear_models_bootstrap_samples():
    halves = xcid.refits(Samples(random_state=0).fit(X, TWO), X, TWO, n=4, weights=np.arange(240.0))
    for one in halves:
        assert isinstance(one.table_, pd.DataFrame)
        assert len(one.table_) == 120 == one.table_.index.nunique()
        np.testing.assert_array_equal(one.target_, TWO[one.table_.index])
        np.testing.assert_array_equal(one.weight_, one.table_.index)
    assert len({one.random_state for one in halves}) == 4
    from xcid.models.refits import _is_linear

    linear = [
        LogisticRegression(),
        make_pipeline(StandardScaler(), Ridge()),
        CalibratedClassifierCV(LogisticRegression()),
    ]
    assert all(map(_is_linear, linear))
    others = [
        LogisticRegressionCV(),
        HistGradientBoostingClassifier(),
        CalibratedClassifierCV(RandomForestClassifier()),
    ]
    assert not any(map(_is_linear, others))


def test_seeds_are_new_in_nested_parts_and_the_same_for_the_same_seed():
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(RandomForestClassifier(3, random_state=5)))
    first, again = (xcid.refits(model, X, TWO, n=2, seed=3) for _ in range(2))
    seeds = [one.steps[-1][1].estimator.random_state for one in first]
    assert 5 not in seeds
    assert seeds[0] != seeds[1]
    np.testing.assert_array_equal(first[1].predict_proba(X), again[1].predict_proba(X))


def test_groups_stay_together_and_a_split_is_obeyed():
    groups = np.repeat(np.arange(60), 4)
    for one in xcid.refits(Samples(random_state=0).fit(X, TWO), X, TWO, n=3, groups=groups):
        assert (np.bincount(groups[one.table_.index], minlength=60) % 4 == 0).all()
        assert len(one.table_) == 120
    chosen = xcid.refits(Samples(random_state=0).fit(X, TWO), X, TWO, n=3, split=lambda rng, y: np.arange(50))
    assert all(len(one.table_) == 50 for one in chosen)
    in_order = xcid.refits(Samples(random_state=0).fit(X, TWO), X, TWO, n=3, split=TimeSeriesSplit(3))
    assert [len(one.table_) for one in in_order] == [60, 120, 180]


def test_a_sample_without_a_class_is_drawn_again(approved):
    rare = np.where(np.arange(240) == 7, "rare", TWO)
    for one in xcid.refits(Samples(random_state=0).fit(X, rare), X, rare, n=3):
        assert "rare" in one.target_
    groups = np.where(rare == "rare", 0, 1)
    with approved.raises(InvalidData):
        xcid.refits(Samples(random_state=0).fit(X, rare), X, rare, n=3, groups=groups)


def test_what_cannot_be_trained_again_is_refused(approved):
    with approved.raises(InvalidParameter):
        xcid.refits(lambda table: table, X, TWO)
    with approved.raises(ModelError):
        xcid.refits(LogisticRegression(C=-1.0), X, TWO)
    with approved.raises(InvalidData):
        xcid.refits(Samples(random_state=0), X, TWO[:9])
    with approved.raises(InvalidParameter):
        xcid.refits(Renames(strength=2.0), X, TWO)


class Renames(Remembers):
    """What it was made of cannot be told from its parameters, so that nobody can make another one."""

    def get_params(self, deep=True):
        return {"force": self.strength}


def test_the_trees_of_a_forest_are_no_refits_of_it(approved):
    forest = RandomForestRegressor(4, random_state=0).fit(X.to_numpy(), NUMBER)
    assert len(list(forest)) == 4
    with approved.raises(InvalidParameter):
        xcid.Explainer(forest, X.to_numpy(), refits=forest, limits="training")
    with approved.raises(InvalidParameter):
        xcid.Explainer(forest, X.to_numpy(), refits=lambda table: table[:, 0])


def test_frames_and_settings_say_what_limits_allow_for_and_how_many_models_were_trained(case):
    model, models = case
    explainer = xcid.Explainer(model, X, refits=models, limits="training")
    frame = explainer.contributions(X[:2]).to_frame()
    assert frame.attrs["limits"] == "training"
    assert "importance_limits" not in frame
    assert frame.attrs["settings"]["refits"] == f"5 of {type(model).__name__}"
    alone = xcid.Explainer(model, X).contributions(X[:2]).to_frame()
    assert alone.attrs["limits"] == "computation"
    assert "refits" not in alone.attrs["settings"]


def test_frames_say_that_limits_of_importance_are_over_our_sampling_alone():
    model = LogisticRegression().fit(X, TWO)
    found = xcid.Explainer(model, X, refits=xcid.refits(model, X, TWO, n=3), limits="training")(X[:4])
    assert set(found.to_frame()["importance_limits"]) == {"computation"}
    assert "importance_limits" not in found.aggregate().to_frame()  # means of importance have no limits
    alone = xcid.Explainer(model, X)(X[:4])
    assert "importance_limits" not in alone.to_frame()
    assert (found.importance_lower == alone.importance_lower).all()


def test_refits_may_be_files(tmp_path, approved, monkeypatch):
    skops = pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    model = LogisticRegression().fit(X, TWO)
    models = xcid.refits(model, X, TWO, n=2)
    for at, one in enumerate(models):
        skops.dump(one, f"{at}.skops")
    due = xcid.Explainer(model, X, refits=models, limits="training").contributions(X[:3])
    found = xcid.Explainer(model, X, refits=["0.skops", tmp_path / "1.skops"], limits="training").contributions(X[:3])
    assert (found.retrained == due.retrained).all()
    mixed = xcid.Explainer(model, X, refits=[models[0], "1.skops"]).contributions(X[:3])
    assert (mixed.retrained == due.retrained).all()
    (tmp_path / "1.pkl").write_bytes(b"")
    for wrong in ("0.skops", ["0.skops", "1.pkl"]):
        with approved.raises(XcidError):
            xcid.Explainer(model, X, refits=wrong)


def test_settings_that_do_not_go_together_are_refused(approved):
    model = LogisticRegression().fit(X, TWO)
    with approved.raises(InvalidParameter):
        xcid.Explainer(model, X, limits="training")
    with approved.raises(InvalidParameter):
        xcid.Explainer(model, X, limits="all")
    with approved.raises(InvalidParameter):
        xcid.Explainer(model, X, refits=[model])
    with approved.raises(InvalidParameter):
        xcid.Explainer(model, X, refits=[model, LogisticRegression().fit(X, THREE)])
    with approved.raises(InvalidParameter):
        xcid.Explainer(lambda table: model.predict_proba(table), X, limits="reference")


def stretched_places(values, retrained, sign):
    """(n, d, b) the place of each feature among those that speak for a side, counted the long way."""
    worth = sign * (values[..., None] + 2 * (retrained - values[..., None]))
    return np.array([[[np.sum(row[:, b] > row[f, b]) for b in range(row.shape[1])] for f in range(len(row))]
                     for row in worth]), worth  # fmt: skip


@pytest.fixture(scope="module")
def lasting():
    model = MODELS["logistic"][0].fit(X, TWO)
    models = xcid.refits(model, X, TWO, n=10)
    return xcid.Explainer(model, X, refits=models).contributions(X[:30])


def test_a_reason_has_the_share_of_stretched_refits_that_have_it_too(lasting):
    place, worth = stretched_places(lasting.values, lasting.retrained, -1.0)
    due = np.mean((place < 2) & (worth > 0), axis=2)
    frame = lasting.reasons(2, against="yes")
    found = frame[frame["rank"] > 0]
    assert len(found) > 20
    for line in found.itertuples():
        assert line.share == pytest.approx(due[line.row, lasting.position(line.feature)])
    assert found.share.min() < 1.0
    kept = lasting.reasons(2, against="yes", min_share=0.8)
    assert kept[kept["rank"] > 0].share.min() >= 0.8
    assert "share" not in xcid.Explainer(MODELS["logistic"][0], X).contributions(X[:3]).reasons(2, against="yes")


def test_reasons_say_in_how_many_retrained_models_they_are(lasting, approved):
    approved("\n".join(xcid.Reasons(2, {"a": "a is low"}, "yes").sentences(lasting[:4])))
    approved("\n".join(xcid.Reasons(2, against="yes", min_share=1.0).sentences(lasting[:4])))
    with approved.raises(InvalidParameter):
        xcid.Explainer(MODELS["logistic"][0], X).contributions(X[:3]).reasons(2, against="yes", min_share=0.9)
    with approved.raises(InvalidParameter):
        xcid.Reasons(min_share=90)


def test_every_printed_limit_says_what_it_allows_for(approved):
    model = MODELS["logistic"][0].fit(X, TWO)
    models = xcid.refits(model, X, TWO, n=4)
    for limits in ("computation", "reference", "training"):
        approved(xcid.Explainer(model, X, refits=models, limits=limits).contributions(X[:1]))
    approved(xcid.Explainer(model, X, refits=models, limits="training").contributions(X[:9]).aggregate())
    called = [model.predict_proba] * 4  # with little to differ by
    strongest = X.iloc[[int(X.a.abs().argmax())]]
    found = xcid.Explainer(model.predict_proba, X, refits=called, limits="training").contributions(strongest)
    assert found.sd_reference is None
    assert found.details.settings["limits"] == "over trainings, not over reference rows"
    approved(found)


def test_another_question_keeps_reasons():
    model = MODELS["logistic"][0].fit(X, TWO)
    explainer = xcid.Explainer(model, X, refits=xcid.refits(model, X, TWO, n=4), limits="training")
    found = explainer(X[:6])
    again = explainer.answer(found, xcid.outcomes.ToClass("no"))
    np.testing.assert_array_equal(again.p_computation, found.towards("no").p_computation)
    assert again.reasons(3, against="yes").equals(found.reasons(3, against="yes"))


def test_a_mean_has_the_spread_of_the_means_of_refits(case):
    model, models = case
    found = xcid.Explainer(model, X, refits=models, limits="training").contributions(X[:40])
    mean = found.aggregate()
    if len(set(found.about)) > 1:
        return  # its rows are about several classes
    means = [xcid.Explainer(refit, X).contributions(X[:40]).values.mean(axis=0) for refit in models]
    least = np.sqrt(np.mean((means - found.values.mean(axis=0)) ** 2, axis=0))
    assert (mean.sd_training[0] >= least - 1e-9).all()
    assert (mean.sd_training[0] <= found.sd_training.mean(axis=0) + 1e-9).all()
    assert mean.limits == "training"


SEVERAL = {
    "probability": (RandomForestClassifier(12, random_state=0), "auto"),
    "margins": (HistGradientBoostingClassifier(max_iter=5, random_state=0), "margins"),
}


@pytest.mark.parametrize("scale", SEVERAL)
@pytest.mark.parametrize("limits", ["computation", "reference", "training"])
def test_another_class_of_several_keeps_what_refits_told_where_contributions_are_exact(scale, limits):
    model, scale = SEVERAL[scale]
    model.fit(X, THREE)
    settings = {"refits": xcid.refits(model, X, THREE, n=4), "limits": limits, "scale": scale}
    found = xcid.Explainer(model, X, **settings).contributions(X[:6]).towards("0")
    due = xcid.Explainer(model, X, outcome=xcid.outcomes.ToClass("0"), **settings).contributions(X[:6])
    assert found.limits == due.limits == limits
    assert found.exact.all()
    for name in ("values", "lower", "upper", "p_values", "p_computation", "retrained", "sd_reference", "sd_training"):
        np.testing.assert_allclose(getattr(found, name), getattr(due, name), atol=1e-12, err_msg=name)
    every, few = (found.reasons(4, against="0", min_share=share) for share in (0.0, 0.7))
    assert every[every["rank"] > 0].share.min() < 0.7 <= few[few["rank"] > 0].share.min()


def test_another_class_of_several_is_told_without_refits_where_contributions_are_sampled(approved):
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, THREE)
    found = xcid.Explainer(model, X, refits=[model, model], limits="training")(X[:6])
    with pytest.warns(xcid.XcidWarning, match="what refits"):
        turned = found.towards("0")
    assert turned.limits == "computation"
    assert turned.retrained is None
    with pytest.warns(xcid.XcidWarning, match="what refits"), approved.raises(InvalidParameter):
        found.reasons(2, against="0", min_share=0.8)


@pytest.mark.parametrize("kind", ["read", "called"])
def test_no_reason_vanishes_because_of_the_limits_that_are_shown(kind):
    model = RandomForestClassifier(12, random_state=0).fit(X, TWO)
    models = xcid.refits(model, X, TWO, n=5)
    if kind == "called":
        models, model = [one.predict_proba for one in models], model.predict_proba
    by = [
        xcid.Explainer(model, X, refits=models, limits=limits).contributions(X[:20])
        for limits in ("computation", "training")
    ]
    names = ["row", "rank", "feature", "p_value", "share"]
    shown, wide = (one.reasons(3, against=one.output_names[1])[names] for one in by)
    pd.testing.assert_frame_equal(shown, wide)
    assert by[1].significant.sum() < by[0].significant.sum()


def draw(n, rng):
    table = rng.normal(size=(n, 6))
    logit = 1.5 * np.sin(1.5 * table[:, 0]) + table[:, 1] * table[:, 2] + 0.8 * table[:, 3]
    return table, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), HistGradientBoostingClassifier(max_iter=30, random_state=0)],
    ids=["linear", "trees"],
)
def test_limits_over_trainings_hold_models_of_fresh_data(model):
    rng = np.random.default_rng(3)
    rows, reference = draw(30, rng)[0], draw(100, rng)[0]
    samples = [draw(500, rng) for _ in range(13)]
    fitted = [clone(model).fit(*sample) for sample in samples]
    inside = {"computation": [], "training": []}
    for at in range(3):
        models = xcid.refits(fitted[at], *samples[at], seed=at)
        fresh = xcid.Explainer(fitted[at], reference, refits=fitted[3:]).contributions(rows).retrained
        for limits, shares in inside.items():
            own = xcid.Explainer(fitted[at], reference, refits=models, limits=limits).contributions(rows)
            shares.append(np.mean((own.lower[:, :, None] <= fresh) & (fresh <= own.upper[:, :, None])))
    assert np.mean(inside["computation"]) < 0.3
    assert 0.9 < np.mean(inside["training"]) < 0.99


def test_rows_with_unseen_levels_have_limits_over_reference_rows():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=200), "c": random.choice(list("xyz"), 200)})
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["c"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(table, table["a"] > 0)
    explainer = xcid.Explainer(model, table, limits="reference")
    known = explainer(table[:2])
    with pytest.warns(xcid.XcidWarning, match="lack"):
        unseen = explainer(pd.DataFrame({"a": [0.1], "c": ["q"]}))
    assert (known.limits, unseen.limits) == ("reference", "reference")
    assert unseen.exact.all()
    assert (unseen.lower < unseen.values).all()
    with pytest.raises(InvalidParameter, match="different sources"):
        xcid.Explanation.concatenate([xcid.Explainer(model, table)(table[:2]), unseen])
    assert len(xcid.Explanation.concatenate([known, unseen])) == 3


def test_a_class_is_not_lost_where_a_classifier_has_no_probabilities():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.array([0] * 29 + [1] * 29 + [2] * 2)
    assert all(len(one.classes_) == 3 for one in xcid.refits(RidgeClassifier(), X, y, n=6))


def test_catboost_with_either_name_of_its_seed():
    catboost = pytest.importorskip("catboost")
    X = np.random.default_rng(0).normal(size=(80, 3))
    settings = {"iterations": 5, "verbose": 0, "allow_writing_files": False}
    for seed in ({}, {"random_state": 0}, {"random_seed": 0}):
        model = catboost.CatBoostClassifier(**settings, **seed).fit(X, X[:, 0] > 0)
        assert len(xcid.refits(model, X, X[:, 0] > 0, n=2)) == 2
