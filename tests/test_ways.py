"""Which way the output goes with a number, as a rule: no change goes against it unsaid."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid._faults import Deadline
from xcid.show import text
from xcid.whatif.evaluator import Evaluator, Found, goal_of
from xcid.whatif.search_space import SearchSpace
from xcid.whatif.undeclared import Cited, Ways, join_blocks

TRUE = {"saved": 1, "owed": -1, "years": 1}


def sample(seed, n=900):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"saved": rng.gamma(2, 10, n).round(1), "owed": rng.gamma(2, 10, n).round(1)})
    X["years"], X["far"] = rng.integers(0, 20, n), rng.normal(size=n).round(2)
    score = 0.1 * (X["saved"] - X["owed"]) + 0.1 * (X["years"] - 10) - X["far"] ** 2 + 1
    return X, (score + rng.logistic(size=n) > 0).astype(int)


X, Y = sample(0)
MODELS = {
    "boosting": HistGradientBoostingClassifier(random_state=0).fit(X, Y),
    "forest": RandomForestClassifier(40, random_state=0).fit(X, Y),
}
ROWS = sample(1)[0]


@pytest.fixture(scope="module", params=MODELS)
def asked(request):
    model = MODELS[request.param]
    rows = ROWS[model.predict(ROWS) == 0].iloc[:60].reset_index(drop=True)
    explainer = xcid.Explainer(model, X, class_names=["no", "yes"])
    return explainer, rows, explainer.counterfactuals(rows, "yes")


def go_wrong(found, rows):
    sign = np.array([TRUE.get(name, 0) for name in rows])
    return (found.table().to_numpy(float) - rows.to_numpy(float)[found.row]) * sign < 0


def test_ways_are_those_of_the_truth(asked):
    ways = Ways(SearchSpace.of(asked[0].subject)).of(np.arange(4))
    assert ways[:3].tolist() == [1, -1, 1]
    assert ways[3] == 0  # first up, then down


def test_no_change_goes_against_the_truth_unsaid(asked):
    _, rows, found = asked
    wrong = go_wrong(found, rows)
    assert wrong.any()
    assert np.array_equal(wrong[:, :3], found.contrary[:, :3])
    for line in np.flatnonzero(wrong.any(axis=1)):
        names = ", ".join(found.feature_names[at] for at in found.in_order(line) if wrong[line, at])
        assert f"usually hurts: {names}" in found.hurts(line).split("; ")
        assert names in found.to_frame()["contrary"][line]


def test_of_as_many_changes_those_come_first_that_do_not(asked):
    _, rows, found = asked
    wrong = go_wrong(found, rows).any(axis=1)
    sparsest = np.array(["sparsest" in kind for kind in found.kind])
    assert wrong[sparsest].mean() < 0.02
    assert wrong[~sparsest].mean() > wrong[sparsest].mean()


def test_a_line_is_as_sparse_as_without_ways(asked, monkeypatch):
    explainer, rows, found = asked
    monkeypatch.setattr(Ways, "of", lambda self, features: np.zeros(4))
    monkeypatch.setattr(Ways, "cite", lambda self, evaluator: Cited(*np.zeros((2, *evaluator.own.shape))))
    free = explainer.counterfactuals(rows, "yes")
    assert not free.contrary.any()
    sizes = [one.n_changes[["sparsest" in kind for kind in one.kind]] for one in (found, free)]
    assert np.array_equal(*sizes)


def test_the_nearest_goes_along_and_that_of_all_is_beside_it(asked, monkeypatch):
    explainer, rows, _ = asked
    found = explainer.counterfactuals(rows, "yes", k=6)
    monkeypatch.setattr(Ways, "of", lambda self, features: np.zeros(4))
    monkeypatch.setattr(Ways, "cite", lambda self, evaluator: Cited(*np.zeros((2, *evaluator.own.shape))))
    free = explainer.counterfactuals(rows, "yes", k=2)
    n_moved = 0
    for row in range(len(rows)):
        mine, theirs = (np.flatnonzero(one.row == row) for one in (found, free))
        (near,) = (line for line in mine if "nearest" in found.kind[line].split(" and "))
        (bare,) = (line for line in theirs if "nearest" in free.kind[line].split(" and "))
        of_all = [line for line in mine if "nearest of all" in found.kind[line]]
        assert np.isclose(found.distance[of_all[0] if of_all else near], free.distance[bare])
        if of_all:
            n_moved += 1
            assert not found.contrary[near][:3].any()
            assert found.contrary[of_all[0]][:3].any()
            assert found.distance[near] > found.distance[of_all[0]]
            assert found.proof[near] != "nearest"
            assert found.proof[of_all[0]] == "nearest"
            assert found.among[near] == "usual ways"
            assert found.bound[near] == 1 or found.bound[near] >= found.distance[near] / free.distance[bare] - 1e-9
            assert "nothing nearer in the usual directions" in found.proved(near)
            if found.proof[near] == "within":
                assert re.search(r"and at most [\d.]+ times as far as the nearest in any$", found.proved(near))
        else:
            assert found.among[near] in ("all", "")
    assert n_moved > 2


def test_nothing_that_goes_along_is_nearer_than_what_is_proved_to_be(asked):
    explainer, rows, found = asked
    rules = xcid.Constraints(monotone={"saved": "rises", "owed": "falls", "years": "rises"})
    ruled = xcid.Explainer(explainer.subject.model, X, class_names=["no", "yes"], constraints=rules)
    lines = ruled.counterfactuals(rows, "yes", k=2)
    for line in np.flatnonzero(found.among == "usual ways"):
        there = (lines.row == found.row[line]) & np.array(["nearest" in kind for kind in lines.kind])
        assert found.distance[line] <= lines.distance[there][0] + 1e-6


def test_numbers_without_a_way_are_named(asked):
    _, _, found = asked
    assert not (found.unknown & ~found.moved).any()
    assert not found.unknown[:, :3].any()
    far = found.moved[:, 3]
    assert np.array_equal(found.unknown[:, 3], far)
    assert far.any()
    for line in np.flatnonzero(far):
        said = "makes a reason worse: far" if found.contrary[line, 3] else "way not known: far"
        assert said in found.hurts(line)
        assert found.to_frame()["way_unknown"][line] == "far"


def test_a_reason_is_not_made_worse_unsaid(asked):
    explainer, rows, found = asked
    cited = explainer.contributions(rows).values[found.row, 3] < 0
    own, new = (table["far"].to_numpy() for table in (rows.iloc[found.row], found.table()))
    worse = cited & (np.abs(new) > np.abs(own)) & (np.sign(new) == np.sign(own)) & (np.abs(own) > 0.5)
    assert found.contrary[worse, 3].all()


def levels(is_coded):
    """A table whose level "q" is refused, "p" more often, and "r" hardly ever; as levels, or as one-hot codes."""
    rng = np.random.default_rng(4)
    kind, size = rng.choice(["p", "q", "r"], 400), rng.normal(size=400).round(2)
    score = 1.5 * size + np.select([kind == "p", kind == "q"], [-2.0, -1.0], 2.0)
    names = sorted({*kind})
    coded = pd.get_dummies(pd.Series(kind), prefix="kind").astype(int)
    table = coded if is_coded else pd.DataFrame({"kind": pd.Categorical(kind, names)})
    model = LogisticRegression() if is_coded else make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough"), LogisticRegression()
    )  # fmt: skip
    table.insert(0, "size", size)
    return model.fit(table, score + rng.logistic(size=400) > 0), table, kind


@pytest.mark.parametrize("is_coded", [False, True])
def test_a_level_that_becomes_a_worse_reason_is_named(is_coded):
    model, table, kind = levels(is_coded)
    is_refused = ~model.predict(table)
    rows = table[is_refused & (kind == "q")].iloc[:3]
    subject = join_blocks(xcid.Explainer(model, table).subject)
    assert subject.features.names == ("size", "kind")
    space, cells = SearchSpace.of(subject), subject.space.encode(rows)
    own, outputs = subject.features.fold(cells), subject.predict(cells)
    goal, counts = goal_of("True", subject, None), np.zeros(3, dtype=np.int64)
    evaluator = Evaluator(space, goal, own, cells, outputs, Deadline(None, 3), counts)
    cited = Ways(space).cite(evaluator)
    assert np.all(cited.against[:, 1] > 0)
    assert not cited.against[:, 0].any()
    assert np.any(cited.back[:, 0] != 0)
    others = table.iloc[[list(kind).index("p"), list(kind).index("r")]]
    changed = own[[0, 0]]
    changed[:, 1] = subject.features.fold(subject.space.encode(others))[:, 1]
    lines = Found(changed, np.zeros(2, dtype=np.int64), np.ones(2), np.ones(2))
    worse = Ways(space).find_worse(evaluator, lines, evaluator.complete_rows(changed, lines.owner), cited.against)
    assert worse.tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("k", [3, 4])
def test_a_row_gets_the_same_alone_and_among_others(asked, k):
    explainer, rows, _ = asked
    found = explainer.counterfactuals(rows, "yes", k=k).to_frame()
    for at in (0, 7, 20):
        alone = explainer.counterfactuals(rows.iloc[[at]], "yes", k=k).to_frame()
        among = found[found["row"] == at].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone.drop(columns="row"), among.drop(columns="row"))


def test_a_declared_direction_is_a_rule(asked):
    explainer, rows, _ = asked
    rules = xcid.Constraints(monotone={"saved": "rises", "owed": "falls", "years": "rises"})
    found = xcid.Explainer(explainer.subject.model, X, class_names=["no", "yes"], constraints=rules)
    lines = found.counterfactuals(rows, "yes")
    assert not lines.contrary[:, :3].any()  # the column besides has no direction, and may make a reason worse
    assert not go_wrong(lines, rows)[lines.reached].any()


def test_it_is_said_in_text_and_on_the_page(asked, tmp_path):
    explainer, rows, found = asked
    line = int(np.flatnonzero(found.contrary.any(axis=1))[0])
    assert f"({found.hurts(line)})" in text.change_cells(found, line)[2]
    explainer.contributions(rows).report(tmp_path / "page.html", counterfactuals=found)
    assert found.hurts(line) in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_regression_has_ways_both_up_and_down():
    rng = np.random.default_rng(2)
    y = X["saved"] - X["owed"] + rng.normal(size=len(X)) * 3
    explainer = xcid.Explainer(HistGradientBoostingRegressor(random_state=0).fit(X, y), X)
    for target, sign in (("raise", 1), ("lower", -1)):
        found = explainer.counterfactuals(ROWS[:20], target)
        moved = found.table().to_numpy(float) - ROWS[:20].to_numpy(float)[found.row]
        assert np.array_equal((moved * np.array([1, -1, 0, 0]) * sign < 0)[:, :2], found.contrary[:, :2])


def test_of_several_classes_nothing_is_said():
    model = RandomForestClassifier(20, random_state=0).fit(X, Y + (X["far"] > 1))
    assert not xcid.Explainer(model, X).counterfactuals(ROWS[:20]).contrary.any()
