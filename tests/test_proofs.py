"""What counterfactuals claim to be proved, against all values that a row may take, one by one."""

import importlib.util
import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import xcid
from xcid.native.library import whole
from xcid.outcomes import Lower, Raise, Within
from xcid.whatif import engine, search
from xcid.whatif.evaluator import goal_of
from xcid.whatif.search_space import SearchSpace
from xcid.whatif.undeclared import Ways, find_contrary

pytestmark = pytest.mark.skipif(whole() is None, reason="trees are searched by the compiled library")
N_ROWS = 160


class Missing(BaseEstimator):
    """In place of a model of a library that is not installed: to fit it skips the test."""

    def __init__(self, library=""):
        self.library = library

    def fit(self, *_):
        pytest.skip(f"needs {self.library}")


def made(library, name, **settings):
    """A model of a library, where it is installed."""
    if importlib.util.find_spec(library) is None:
        return Missing(library)
    return getattr(importlib.import_module(library), name)(**settings)


def table(seed, levels=False, missing=False, wide=5):
    """Whole numbers from 0 to ``wide``, so that all rows there can be are few."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, wide + 1, N_ROWS).astype(float) for name in "abc"})
    if levels:
        X["kind"] = rng.choice(["p", "q", "r", "s"], N_ROWS)
    score = X.a + X.b * (X.c > 2) + (3 * (X.kind == "q") if levels else 0) + rng.normal(size=N_ROWS)
    if missing:
        X.loc[rng.random(N_ROWS) < 0.2, "b"] = np.nan
    return X, score


def encoded(model):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"), model
    )


def every_row(space, row):
    """All rows that a row may become, as (N, f) codes, with what they cost, from the definition of the distance."""
    names, parts, prices = space.subject.features.names, [], []
    table = space.subject.features.space
    for at in range(len(names)):
        own, weight = row[at], space.weights[at]
        pool = table.distinct.values[: table.distinct.sizes[at], at]
        if not table.discrete[at]:
            pool = np.arange(space.lower[at], space.upper[at] + 1)
        if space.fixed[at]:
            pool = pool[:0]
        low, high = (end[0] for end in space.limits(row[None], at))
        pool = pool[(pool >= low) & (pool <= high)]
        if table.discrete[at]:
            pool = pool[space.may_become(np.array([own]), pool, at)]
            price = np.where(pool == own, 0.0, 1.0)
        elif np.isnan(own):
            price = 1 + np.abs(pool - space.usual[at]) / space.metric.scale[at]
        else:
            price = np.abs(pool - own) / space.metric.scale[at]
        other = pool != own
        parts.append(np.append(own, pool[other]))
        prices.append(np.append(0.0, price[other] * weight))
    rows = np.array(list(itertools.product(*parts)))
    return rows, np.array([sum(price) for price in itertools.product(*prices)])


def check_against_all_rows(explainer, X, target=None):
    """Every claim of every line, against all rows there can be."""
    found, frame = (made := explainer.counterfactuals(X, target=target)), made.to_frame()
    space = SearchSpace.of(explainer.subject)
    goal = goal_for(explainer, target)
    counts = {"nearest": 0, "sparsest": 0, "none exists": 0}
    folded = space.subject.features.fold(found.data)
    asked = SimpleNamespace(goal=goal, outputs=space.subject.predict(found.data), own=folded, table=found.data)
    ways = Ways(space)
    usual = ways.find_wanted(asked, np.arange(folded.shape[1]))
    wanted = np.where(usual != 0, usual, ways.cite(asked).back)
    for at in range(len(found.data)):
        own = found.data[at : at + 1]
        rows, cost = every_row(space, folded[at])
        whole_rows = space.subject.features.unfold(rows, own, np.zeros(len(rows), dtype=int))
        own_output = np.repeat(space.subject.predict(own), len(rows), axis=0)
        there = goal.gain(space.subject.predict(whole_rows), own_output) > 0
        there &= space.subject.rules.allows(
            whole_rows, np.repeat(own, len(rows), axis=0), space.subject.space.lower, space.subject.space.upper,
            space.subject.space.direction,
        )  # fmt: skip
        size = (~((rows == rows[0]) | (np.isnan(rows) & np.isnan(rows[0])))).sum(axis=1)[there]
        for line in np.flatnonzero(found.row == at):
            said, kind = frame.proof[line], frame.kind[line]
            if kind == "already there":
                continue
            if said == "none exists":
                assert not there.any()
            if kind == "not reached":
                assert said in ("none exists", "")
                counts["none exists"] += said == "none exists"
                continue
            assert said in ("nearest", "sparsest", "within", "found")
            least = cost[there].min()
            if said == "nearest":
                assert frame.distance[line] == pytest.approx(least, abs=1e-7)
                assert frame.bound[line] == 1
            if said == "sparsest":
                assert frame.n_changes[line] == size.min()
                as_many = np.flatnonzero(there)[size == size.min()]
                best = as_many[np.argmin(cost[as_many])]  # not shown where it goes the way that usually hurts
                passed_over = find_contrary(rows[best], rows[0], wanted[at]).any() and not frame.contrary[line]
                assert passed_over or frame.distance[line] == pytest.approx(cost[best], abs=1e-7)
            if said == "within":
                assert frame.distance[line] <= frame.bound[line] * least * (1 + 1e-7)
                assert frame.bound[line] <= (3 if frame.among[line] == "usual ways" else 1.3)
            if frame.among[line] == "usual ways":
                along = there & ~find_contrary(rows, rows[0], usual[at]).any(axis=1)
                assert frame.distance[line] == pytest.approx(cost[along].min(), abs=1e-7)
            counts[said] = counts.get(said, 0) + 1
    return counts, frame


def is_proved(frame):
    """Whether all lines that are called nearest are proved to be, of all changes or of those that go the usual way."""
    nearest = frame[frame.kind.str.contains("nearest")]
    return bool(((nearest.proof == "nearest") | (nearest.among == "usual ways")).all()) and len(nearest) > 0


def goal_for(explainer, target):
    return goal_of(target, explainer.subject, explainer.setup.outcome)


NUMBERS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(12, random_state=0),
    "shallow forest": RandomForestClassifier(15, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(10, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0),
    "xgboost": made("xgboost", "XGBClassifier", n_estimators=15, max_depth=3, n_jobs=1),
    "lightgbm": made("lightgbm", "LGBMClassifier", n_estimators=15, min_child_samples=5, n_jobs=1, verbose=-1),
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "splines": make_pipeline(SplineTransformer(), LogisticRegression()),
    "scaled forest": make_pipeline(StandardScaler(), RandomForestClassifier(8, random_state=0)),
    "bins": make_pipeline(KBinsDiscretizer(4, encode="onehot-dense"), RandomForestClassifier(8, random_state=0)),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("ignore")
def test_two_classes(name):
    X, score = table(1)
    model = NUMBERS[name].fit(X, (score > score.median()).astype(int))
    counts, frame = check_against_all_rows(xcid.Explainer(model, X), X[:14])
    assert is_proved(frame)
    assert counts["nearest"] >= 8


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("ignore")
def test_a_probability_that_few_reach_or_none(name):
    X, score = table(2)
    model = NUMBERS[name].fit(X, (score > score.median()).astype(int))
    limits = xcid.Constraints(frozen=["a"], monotone={"b": "rises"}, ranges={"c": (0, 3)})
    explainer = xcid.Explainer(model, X, constraints=limits)
    counts, frame = check_against_all_rows(explainer, X[:14], Within(0.9, target="1"))
    assert not (frame.proof[frame.kind == "not reached"] == "").any()
    assert counts["none exists"] > 0


SEVERAL = {
    "forest": RandomForestClassifier(12, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
    "xgboost": made("xgboost", "XGBClassifier", n_estimators=8, max_depth=3, n_jobs=1),
    "lightgbm": made("lightgbm", "LGBMClassifier", n_estimators=8, min_child_samples=5, n_jobs=1, verbose=-1),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("target", [None, "mid"])
@pytest.mark.filterwarnings("ignore")
def test_several_classes(name, target):
    X, score = table(3)
    y = np.array([0, 1, 2])[np.searchsorted(np.quantile(score, [0.3, 0.7]), score)]
    model = SEVERAL[name].fit(X, y)
    explainer = xcid.Explainer(model, X, class_names=["low", "mid", "high"])
    counts, frame = check_against_all_rows(explainer, X[:10], target)
    assert counts["nearest"] >= 4
    assert is_proved(frame)


REGRESSIONS = {
    "forest": RandomForestRegressor(12, max_depth=5, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=15, random_state=0),
    "histograms": HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5, random_state=0),
    "xgboost": made("xgboost", "XGBRegressor", n_estimators=15, max_depth=3, n_jobs=1),
    "lightgbm": made("lightgbm", "LGBMRegressor", n_estimators=15, min_child_samples=5, n_jobs=1, verbose=-1),
    "linear": LinearRegression(),
    "poisson": PoissonRegressor(),
}


@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize("target", [None, Raise(0.2), Lower(0.2), Within(6.0, 6.5), Within(high=4.0)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_regressions(name, target):
    X, score = table(4)
    model = REGRESSIONS[name].fit(X, score + 10 - score.min())
    explainer = xcid.Explainer(model, X)
    _, frame = check_against_all_rows(explainer, X[:6], target)
    claims = frame[frame.kind.str.contains("nearest") | (frame.kind == "not reached")]
    assert set(claims.proof[claims.among != "usual ways"]) <= {"nearest", "none exists"}


@pytest.mark.parametrize("name", ["histograms", "xgboost", "lightgbm"])
@pytest.mark.filterwarnings("ignore")
def test_missing_cells(name):
    X, score = table(5, missing=True)
    model = NUMBERS[name].fit(X, (score > score.median()).astype(int))
    rows = pd.concat([X[X.b.isna()][:8], X[X.b.notna()][:10]])
    _, frame = check_against_all_rows(xcid.Explainer(model, X), rows)
    assert is_proved(frame)
    assert frame.changes.str.contains("missing|nan|->").any()


@pytest.mark.filterwarnings("ignore")
def test_missing_cells_that_are_filled_before_the_model_and_flagged():
    X, score = table(5, missing=True)
    model = make_pipeline(SimpleImputer(add_indicator=True), RandomForestClassifier(10, random_state=0))
    model.fit(X, (score > score.median()).astype(int))
    rows = pd.concat([X[X.b.isna()][:8], X[X.b.notna()][:10]])
    _, frame = check_against_all_rows(xcid.Explainer(model, X), rows)
    assert is_proved(frame)


LEVELS = {
    "one-hot forest": encoded(RandomForestClassifier(10, random_state=0)),
    "one-hot boosting": encoded(made("xgboost", "XGBClassifier", n_estimators=12, max_depth=3, n_jobs=1)),
    "one-hot logistic": encoded(LogisticRegression()),
    "ordinal": make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["kind"]), remainder="passthrough"),
        RandomForestClassifier(10, random_state=0),
    ),
    "native histograms": HistGradientBoostingClassifier(
        max_iter=15, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
    ),
    "native lightgbm": made("lightgbm", "LGBMClassifier", n_estimators=15, min_child_samples=5, n_jobs=1, verbose=-1),
    "native xgboost": made("xgboost", "XGBClassifier", n_estimators=12, max_depth=3, enable_categorical=True, n_jobs=1),
}
RULES = {
    "free": xcid.Constraints(),
    "rules": xcid.Constraints(
        transitions={"kind": ["p", "q", "r", "s"]}, costs={"a": 2.0, "kind": 0.5}, ranges={"b": (1, 4)}
    ),
    "group": xcid.Constraints(groups={"both": ["kind", "c"]}),
    "relation": xcid.Constraints(relations=["a <= b + 2"]),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.filterwarnings("ignore")
def test_levels_and_rules(name, rule):
    X, score = table(6, levels=True)
    if name.startswith("native"):
        X["kind"] = X.kind.astype("category")
    model = LEVELS[name].fit(X, (score > score.median()).astype(int))
    counts, frame = check_against_all_rows(xcid.Explainer(model, X, constraints=RULES[rule]), X[:10])
    lines = frame[frame.kind.str.contains("nearest") | (frame.kind == "not reached")]
    claims = set(lines.proof[lines.among != "usual ways"])
    assert rule == "relation" or claims <= {"nearest", "none exists"}
    assert counts["nearest"] > 2


WIDE = {
    "forest": RandomForestClassifier(40, max_depth=8, random_state=0),
    "xgboost": made("xgboost", "XGBClassifier", n_estimators=60, max_depth=4, n_jobs=1),
    "histograms": HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=5, random_state=0),
    "logistic": LogisticRegression(),
    "three classes": made("lightgbm", "LGBMClassifier", n_estimators=20, min_child_samples=5, n_jobs=1, verbose=-1),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_without_the_help_of_the_search(name, seed, monkeypatch):
    """What is proved must not hang on an answer that is known before: the search gives none here."""
    finish = search.finish
    for module in (search, engine):
        monkeypatch.setattr(module, "finish", lambda *given: tuple(part[:0] for part in finish(*given)))
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, 9, 400).astype(float) for name in "abcd"})
    score = X.a * (X.b > 3) + X.c * (X.d < 6) + np.abs(X.a - X.d) + rng.normal(size=400)
    y = np.searchsorted(np.quantile(score, [0.4, 0.8]), score) if name == "three classes" else score > score.median()
    explainer = xcid.Explainer(WIDE[name].fit(X, y.astype(int)), X)
    _, frame = check_against_all_rows(explainer, X[:15])
    assert set(frame.proof[frame.kind.str.contains("sparsest")]) <= {"nearest", "sparsest"}
    assert is_proved(frame)


def test_a_range_that_holds_at_one_end_is_reached_at_the_other():
    """Leaving the end that holds already is no way, and may not be asked for."""
    X = np.array(list(itertools.product(range(3), repeat=5)), dtype=float)
    hit = (X == 2).all(axis=1)
    model = DecisionTreeRegressor(random_state=0).fit(X, np.where(hit, 5.0, np.where(X[:, 0] == 1, 12.0, 10.0)))
    found = xcid.Explainer(model, X[~hit]).counterfactuals(np.zeros((1, 5)), target=Within(4.0, 6.0))
    assert found.reached.all()
    assert found.n_changes[0] == 5
    assert found.proof[0] == "nearest"


def test_a_range_of_probability_is_about_its_own_class():
    table = np.random.default_rng(0).normal(size=(150, 3))
    model = LogisticRegression().fit(table, np.digitize(table.sum(axis=1), [-1, 1]))
    found = xcid.Explainer(model, table).counterfactuals(table[:6], target=Within(0.4, 0.7, target=0))
    chances = model.predict_proba(found.rows[found.reached])[:, 0]
    assert found.reached.any()
    assert np.all((chances >= 0.4) & (chances <= 0.7))
