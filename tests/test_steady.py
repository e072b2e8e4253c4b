"""Changes that last: the chance is that of fresh models, and a line of it is chosen by that."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import xcid
from xcid.whatif.evaluator import Evaluator, Found, goal_of
from xcid.whatif.proof import Asked, prove
from xcid.whatif.search_space import SearchSpace
from xcid.whatif.steady import FLATTERED, HALVED, WORTH

D = 5


def sample(seed, n=400):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D)).round(2)
    chance = 1 / (1 + np.exp(-(X @ [1.0, -0.8, 0.5, 0.2, 0.0])))
    return pd.DataFrame(X, columns=list("abcde")), (random.random(n) < chance).astype(int)


X, Y = sample(0)
MODEL = LogisticRegression().fit(X, Y)
ROWS = sample(1, 40)[0]


@pytest.fixture(scope="module", params=[12, HALVED])
def refitted(request):
    models = xcid.refits(MODEL, X, Y, n=request.param)
    return models, xcid.Explainer(MODEL, X, refits=models).counterfactuals(ROWS)


def chances(models, found):
    """The tail of Student's t about the mean of models, with nothing taken off: t, and degrees of freedom."""
    side = np.where(MODEL.predict(ROWS)[found.row] == 1, -1, 1)
    scores = np.array([model.decision_function(found.table()) for model in models]) * side
    return scores.mean(axis=0) / (2 * scores.std(axis=0, ddof=1)), len(models) - 1


def test_survival_is_the_tail_of_refits(refitted):
    models, found = refitted
    t, df = chances(models if len(models) < HALVED else models[1::2], found)
    due = stats.t.cdf(t - FLATTERED, df)
    if len(models) < HALVED:  # they led the search themselves
        assert due.max() > 12 / 14
        due = np.minimum(due, 12 / 14)
    assert np.allclose(found.survival, due, atol=1e-6)
    assert np.allclose(found.to_frame()["survival"], due, atol=1e-6)


def test_what_is_promised_holds_in_fresh_models(refitted):
    found = refitted[1]
    fresh = [LogisticRegression().fit(*sample(seed)) for seed in range(100, 140)]
    wanted = 1 - MODEL.predict(ROWS)[found.row]
    held = np.mean([model.predict(found.table()) == wanted for model in fresh], axis=0)
    is_steady = np.array(["steady" in kind for kind in found.kind])
    assert held[is_steady].mean() > 0.9
    assert held[is_steady].mean() > held[~is_steady].mean() + 0.15
    assert held[is_steady].mean() >= found.survival[is_steady].mean() - 0.03


def test_every_row_has_a_steady_line_that_lasts_longest_for_its_changes(refitted):
    models, found = refitted
    chance = stats.t.cdf(*chances(models if len(models) < HALVED else models[::2], found))
    worth = chance - WORTH * found.n_changes
    for row in range(len(ROWS)):
        mine = found.row == row
        steady = mine & np.array(["steady" in kind for kind in found.kind])
        assert steady.sum() == 1
        assert worth[steady][0] >= worth[mine].max() - 1e-9


def test_without_refits_a_margin_is_kept():
    found = xcid.Explainer(MODEL, X).counterfactuals(ROWS, k=4)
    assert np.isnan(found.survival).all()
    assert found.survives(0) == "not measured"
    assert "not measured" in str(found)
    steady = np.array(["steady" in kind for kind in found.kind])
    assert np.mean(found.output[steady] >= 0.9 - 1e-9) > 0.7


@pytest.mark.parametrize("model", [MODEL, RandomForestClassifier(30, random_state=0).fit(X, Y)])
def test_the_likeliest_is_the_most_plausible_of_all_lines_that_go_along(model):
    found = xcid.Explainer(model, X).counterfactuals(ROWS, k=5)
    for row in range(len(ROWS)):
        mine = np.flatnonzero(found.row == row)
        likeliest = [line for line in mine if "likeliest" in found.kind[line]]
        assert len(likeliest) == 1
        along = mine[~found.contrary[mine].any(axis=1)]
        others = along if len(along) else mine
        assert likeliest[0] in others
        assert found.plausibility[likeliest[0]] <= found.plausibility[others].min() + 1e-9


def test_survival_of_a_number_does_not_depend_on_its_unit():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = X.sum(axis=1) + random.normal(size=300)
    chances = []
    for unit in (1.0, 1e6):
        shown, *refits = (LinearRegression().fit(X, y * (1 + more) * unit) for more in (0, -0.02, -0.03, -0.04))
        chances.append(xcid.Explainer(shown, X, refits=refits).counterfactuals(X[:2], k=2).survival)
    assert np.allclose(*chances, atol=0.01)
    assert np.all((chances[0] > 0.01) & (chances[0] < 0.99))


def boosted(seed):
    xgboost = pytest.importorskip("xgboost", reason="needs the extra xgboost")
    return xgboost.XGBClassifier(n_estimators=8, max_depth=2, random_state=seed, n_jobs=1)


SMALL = {
    "boosted": (2, boosted),
    "forest": (2, lambda seed: RandomForestClassifier(7, max_depth=3, random_state=seed)),
    "forest, three classes": (3, lambda seed: RandomForestClassifier(7, max_depth=4, random_state=seed)),
}


@pytest.mark.parametrize("margin", [0.0, float(np.log(7 / 3))])
@pytest.mark.parametrize(("n_classes", "make"), SMALL.values(), ids=SMALL)
def test_the_fewest_changes_with_which_all_refits_agree_are_those_of_an_enumeration(n_classes, make, margin):
    random = np.random.default_rng(3)
    table = pd.DataFrame(random.integers(0, 5, (150, 4)), columns=list("abcd"))
    score = table["a"] + table["b"] - table["c"] + random.normal(size=150)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    model = make(0).fit(table, y)
    subject, *others = (xcid.Explainer(one, table).subject for one in (model, *xcid.refits(model, table, y, n=4)))
    rows, search_space = table.to_numpy(float)[:25], SearchSpace.of(subject)
    outputs, goal = subject.predict(rows), replace(goal_of(str(n_classes - 1), subject, None), margin=margin)
    evaluator = Evaluator(search_space, goal, rows, rows, outputs, Endless(), np.zeros(25, dtype=np.int64))
    nothing = Found(rows[:0], np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    made = prove(evaluator, nothing, None, Asked((1,), 1e9, tuple(others))).better
    every = np.array(list(itertools.product(range(5), repeat=4)), dtype=float)
    own = np.repeat(outputs[:1], len(every), axis=0)
    agreed = every[np.all([goal.gain(one.predict(every), own) > 1e-9 for one in (subject, *others)], axis=0)]
    assert len(agreed)
    n_asked = 0
    for row in np.flatnonzero(goal.gain(outputs, outputs) <= -margin):  # not of the class themselves
        sizes = (agreed != rows[row]).sum(axis=1)
        best = agreed[sizes == sizes.min()]
        least = evaluator.distance(best, np.full(len(best), row)).min()
        mine = made[made.owner == row]
        assert evaluator.find_moved(mine).sum(axis=1).min() == sizes.min()
        assert np.isclose(mine.distance.min(), least)
        n_asked += 1
    assert n_asked > 5


class Endless:
    """No time limit."""

    def check(self):
        """Time is never over."""
