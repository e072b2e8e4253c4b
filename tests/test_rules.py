"""Rules of the world: every counterfactual obeys them, whatever they are; two that contradict each other are named."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import xcid
from xcid import Constraints
from xcid.errors import InvalidParameter
from xcid.table.rules import function_of

RNG = np.random.default_rng(5)
N = 200
DEGREES = ["none", "bachelor", "master", "doctor"]
AGE = RNG.integers(18, 70, N)
TABLE = pd.DataFrame(
    {
        "age": AGE,
        "months": (RNG.random(N) * 12 * (AGE - 16)).astype(int),
        "degree": np.array(DEGREES)[RNG.integers(0, 4, N)],
        "pay": (RNG.gamma(4, 700, N)).round(2),
        "grade": pd.Categorical.from_codes(RNG.integers(0, 3, N), ["low", "middle", "high"], ordered=True),
        "weight": RNG.normal(75, 12, N).round(1),
        "height": RNG.normal(1.7, 0.1, N).round(2),
    }
)
TABLE["bmi"] = TABLE["weight"] / TABLE["height"] ** 2
ROWS = TABLE.iloc[:12]


def score(table):
    codes = table["degree"].map({name: at for at, name in enumerate(DEGREES)}).astype(float)
    grade = table["grade"].map({"low": 0, "middle": 1, "high": 2}).astype(float)
    raw = table["age"] / 20 + table["months"] / 150 + codes + table["pay"] / 1500 + grade - (table["bmi"] - 25) / 4 - 8
    return 1 / (1 + np.exp(-raw.to_numpy()))


RELATIONS = {
    "months <= 12 * (age - 16)": lambda t: t["months"] <= 12 * (t["age"] - 16),
    "degree != 'doctor' or age >= 24": lambda t: (t["degree"] != "doctor") | (t["age"] >= 24),
    "grade in ['low', 'middle'] or pay > 500": lambda t: t["grade"].isin(["low", "middle"]) | (t["pay"] > 500),
    "18 <= age < 80": lambda t: (t["age"] >= 18) & (t["age"] < 80),
}


def by_row(row):
    """A relation that takes single rows only."""
    return row.pay >= 300 if row.degree == "master" else True


FUNCTIONS = {
    by_row: lambda t: (t["degree"] != "master") | (t["pay"] >= 300),
    (lambda row: row.months <= 12 * (row["age"] - 16)): RELATIONS["months <= 12 * (age - 16)"],
}


@st.composite
def rules(draw):
    """Constraints of all kinds, mixed as they come."""
    low = draw(st.integers(18, 40))
    known = {
        "frozen": draw(st.lists(st.sampled_from(["age", "degree", "height", "grade"]), unique=True, max_size=2)),
        "ranges": draw(
            st.sampled_from([{}, {"age": (low, low + 25)}, {"pay": (1_000, 4_000)}, {"months": (10.5, 300)}])
        ),
        "levels": draw(st.sampled_from([{}, {"degree": ["bachelor", "master"]}, {"grade": ["middle", "high"]}])),
        "monotone": draw(
            st.sampled_from([{}, {"age": "rises"}, {"grade": "rises", "pay": "falls"}, {"months": "rises"}])
        ),
        "transitions": draw(
            st.sampled_from([{}, {"degree": DEGREES}, {"degree": {"none": ["bachelor"], "doctor": []}}])
        ),
        "steps": draw(st.sampled_from([{}, {"pay": 50}, {"pay": 0.25, "months": 6}, {"weight": 0.5}])),
        "costs": draw(st.sampled_from([{}, {"age": 10, "pay": 0.5}, lambda old, new: (old.pay != new.pay) + 1.0])),
        "derived": draw(
            st.sampled_from([{}, {"bmi": "weight / height ** 2"}, {"bmi": lambda row: row.weight / row.height**2}])
        ),
    }
    relations = draw(st.lists(st.sampled_from([*RELATIONS, *FUNCTIONS]), unique=True, max_size=3))
    return known, relations


def check(before, after, known, relations):
    """Every rule, on frames of rows before and after."""
    moved = {name: (before[name] != after[name]).to_numpy() for name in TABLE}
    for name in known["frozen"]:
        assert not moved[name].any(), name
    for name, (low, high) in known["ranges"].items():
        assert after[name][moved[name]].between(low, high).all(), name
    for name, levels in known["levels"].items():
        assert after[name][moved[name]].isin(levels).all(), name
    order = {"grade": {"low": 0, "middle": 1, "high": 2}}
    for name, direction in known["monotone"].items():
        first, second = (
            frame[name].map(order[name]).astype(int) if name in order else frame[name] for frame in (before, after)
        )
        assert ((second >= first) if direction == "rises" else (second <= first)).all(), name
    for name, wanted in known["transitions"].items():
        for old, new in zip(before[name][moved[name]], after[name][moved[name]], strict=True):
            if isinstance(wanted, dict):
                assert new in wanted.get(old, DEGREES)
            else:
                assert wanted.index(new) > wanted.index(old)
    for name, step in known["steps"].items():
        multiples = after[name][moved[name]] / step
        assert np.allclose(multiples, multiples.round(), atol=1e-9), name
    if known["derived"]:
        assert np.allclose(after["bmi"], after["weight"] / after["height"] ** 2)
    for relation in relations:
        assert (RELATIONS | FUNCTIONS)[relation](after).all(), relation


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(rules())
def test_every_rule_holds_in_every_counterfactual(drawn):
    known, relations = drawn
    explainer = xcid.Explainer(score, TABLE, constraints=Constraints(**known, relations=relations))
    found = explainer.counterfactuals(ROWS)
    changed = found.n_changes > 0
    before, after = ROWS.iloc[found.row[changed]], found.table()[changed]
    check(before.reset_index(drop=True), after.reset_index(drop=True), known, relations)
    asked = score(found.table()) > 0.5
    assert np.all((asked != (score(ROWS.iloc[found.row]) > 0.5))[found.reached])
    assert found.reached.any()


def test_without_rules_they_would_be_broken():
    """What the test above asks for does not hold by itself."""
    found = xcid.Explainer(score, TABLE).counterfactuals(TABLE.iloc[:100])
    before, after = TABLE.iloc[found.row], found.table()
    assert np.any(after["months"].to_numpy() > 12 * (after["age"].to_numpy() - 16))
    assert not np.allclose(after["bmi"], after["weight"] / after["height"] ** 2)
    assert np.any(after["age"].to_numpy() < before["age"].to_numpy())


@pytest.mark.parametrize(
    ("known", "first", "second"),
    [
        ({"frozen": ["bmi"], "derived": {"bmi": "weight / height ** 2"}}, "frozen has 'bmi'", "derived['bmi']"),
        ({"steps": {"pay": 70}, "ranges": {"pay": (1000, 1040)}}, "steps['pay'] = 70", "ranges['pay'] = (1000, 1040)"),
        ({"steps": {"age": 0.5}}, "steps['age'] = 0.5", "the kind of 'age'"),
        ({"steps": {"age": 100}}, "steps['age'] = 100", "the values of 'age'"),
        (
            {"levels": {"degree": ["none"]}, "transitions": {"degree": DEGREES}},
            "transitions['degree']",
            "levels['degree']",
        ),
        (
            {"monotone": {"grade": "falls"}, "transitions": {"grade": ["low", "middle", "high"]}},
            "transitions['grade']",
            "monotone['grade'] = 'falls'",
        ),
        ({"relations": ["age > 50", "age < 30"]}, "the relation 'age > 50'", "the relation 'age < 30'"),
        (
            {"relations": [lambda row: row.age > 50], "ranges": {"age": (20, 40)}},
            "the relation relations[0]",
            "ranges['age'] = (20, 40)",
        ),
        (
            {"relations": ["degree == 'doctor'"], "levels": {"degree": ["none", "master"]}},
            "the relation \"degree == 'doctor'\"",
            "levels['degree']",
        ),
        (
            {"groups": {"body": ["weight", "height"]}, "steps": {"weight": 5}},
            "groups['body'] has 'weight'",
            "steps['weight']",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_rules_that_contradict_each_other_are_named(known, first, second):
    with pytest.raises(InvalidParameter, match="contradict each other") as caught:
        xcid.Explainer(score, TABLE, constraints=Constraints(**known))
    assert first in str(caught.value)
    assert second in str(caught.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(19, 60), st.integers(1, 9), st.sampled_from(["range", "relation"]))
def test_generated_contradictions_are_named(age, gap, kind):
    """A relation above a level, and a range or another relation below it."""
    below = {"ranges": {"age": (18, age)}} if kind == "range" else {"relations": [f"age <= {age}"]}
    relations = [f"age > {min(age + gap, 65)}", *below.pop("relations", [])]
    with pytest.raises(InvalidParameter, match="contradict each other") as caught:
        xcid.Explainer(score, TABLE, constraints=Constraints(relations=relations, **below))
    for name in (relations[0], f"age <= {age}" if kind == "relation" else f"(18, {age})"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"relations": "age > 3"}, "relations must be a list"),
        ({"relations": [3]}, "a rule must be a formula or a function"),
        ({"relations": ["age >"]}, "cannot be read"),
        ({"relations": ["__import__('os')"]}, r"no formula has \(Call\)"),
        ({"relations": ["age.real > 3"]}, r"no formula has \(Attribute\)"),
        ({"relations": ["age < 9 ** 9 ** 9 ** 9"]}, "cannot be computed: OverflowError"),
        ({"relations": ["age < 1" + " + 1" * 300]}, "longer than 1,000 letters"),
        ({"relations": ["wage > 3"]}, r"there is no column 'wage' \(did you mean 'age'\?\): the table has"),
        ({"relations": ["age > 500"]}, "holds in no row of the reference data"),
        ({"relations": [lambda row: row.degree]}, "must give True or False"),
        ({"relations": [lambda row: row.age + row.degree]}, "cannot be computed"),
        ({"transitions": {"age": [1]}}, "is a number"),
        ({"transitions": {"degree": ["none", "MBA"]}}, r"names the levels \['MBA'\]"),
        ({"transitions": {"degree": "none"}}, "must be a list of levels in order"),
        ({"steps": {"degree": 1}}, "is made of levels"),
        ({"steps": {"pay": 0}}, "must be a number above 0"),
        ({"costs": {"pay": -1}}, "must be a finite number above 0"),
        ({"costs": {"wage": 1}}, r"costs names \['wage'\]"),
        ({"costs": 3}, "costs must be a dict"),
        ({"derived": {"wage": "age"}}, r"derived names \['wage'\]"),
        ({"frozen": list(TABLE)[:-1], "derived": {"bmi": "age"}}, "nothing is left"),
    ],
)
def test_bad_rules_are_refused(known, words):
    with pytest.raises(InvalidParameter, match=words):
        xcid.Explainer(score, TABLE, constraints=Constraints(**known))


def test_a_cost_that_is_none_is_refused():
    explainer = xcid.Explainer(score, TABLE, constraints=Constraints(costs=lambda old, new: -1.0))
    with pytest.raises(InvalidParameter, match="costs gave shape"):
        explainer.counterfactuals(ROWS).to_frame()


def test_costs_decide_what_is_near():
    cheap, dear = (
        xcid.Explainer(score, TABLE, constraints=Constraints(costs={"pay": cost})).counterfactuals(ROWS, k=1)
        for cost in (0.01, 100)
    )
    pay = list(TABLE).index("pay")
    assert cheap.moved[:, pay].mean() > dear.moved[:, pay].mean()


def test_derived_columns_are_told_in_brackets_and_count_no_change():
    limits = Constraints(
        derived={"bmi": "weight / height ** 2"}, frozen=["age", "months", "degree", "pay", "grade", "height"]
    )
    found = xcid.Explainer(score, TABLE, constraints=limits).counterfactuals(TABLE.iloc[:40], k=1)
    words = [found.in_words(line) for line in np.flatnonzero(found.reached & (found.n_changes > 0))]
    assert words
    assert all(re.fullmatch(r"weight \S+ -> \S+ \(bmi \S+ -> \S+\)", text) for text in words)
    assert set(found.n_changes) <= {0, 1}


def test_missing_cells_break_no_relation():
    table = TABLE.assign(pay=TABLE["pay"].where(RNG.random(N) > 0.3))

    def rich(frame):
        return (frame["age"] > 40).to_numpy()

    explainer = xcid.Explainer(rich, table, constraints=Constraints(relations=["pay < 1e9"]))
    assert explainer.counterfactuals(table.iloc[:20]).reached.all()


def test_rows_that_break_a_relation_are_noted_and_mended():
    row = ROWS.iloc[[0]].assign(age=30, months=400)
    found = xcid.Explainer(
        score, TABLE, constraints=Constraints(relations=["months <= 12 * (age - 16)"])
    ).counterfactuals(row)
    assert any("1 of 1 rows break the relation" in note for note in found.notes)
    after = found.table()[found.reached]
    assert len(after)
    assert np.all(after["months"] <= 12 * (after["age"] - 16))


def test_changes_that_a_relation_forbids_alone_are_found_together():
    """Neither months nor age may move by itself at the edge of the relation, both may."""
    relation = Constraints(relations=["months <= 12 * (age - 16)", "age <= months / 12 + 17"], frozen=["degree", "pay"])
    table = TABLE.assign(months=12 * (TABLE["age"] - 16) - RNG.integers(0, 12, N))
    explainer = xcid.Explainer(lambda frame: frame["age"] + frame["months"] / 12 > 50, table, constraints=relation)
    found = explainer.counterfactuals(table.iloc[:30], k=1)
    assert found.reached.all()
    assert set(found.n_changes) == {2}


def test_scores_do_not_know_them():
    plain, ruled = (
        xcid.Explainer(score, TABLE, constraints=limits)(ROWS.iloc[:2])
        for limits in (None, Constraints(relations=["months <= 12 * (age - 16)"], steps={"pay": 100}))
    )
    assert np.array_equal(plain.values, ruled.values)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("a + 1 < b * 2", [True, True]),
        ("not a > 1", [True, False]),
        ("-a ** 2 <= -4 or b % 2 == 0", [False, True]),
        ("1 < a <= b", [False, True]),
        ("a in [1, 5] and b not in (7, 8)", [True, False]),
    ],
)
def test_formulas_hold_as_conditions_do(text, due):
    row = {"a": np.array([1, 2]), "b": np.array([3, 2])}
    assert function_of(text)(row).tolist() == due


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("age + 3", "is never true or false"),
        ("age = 3", r"cannot be read: did you mean age == 3\?"),
        ("job in 'nurse'", "in needs a list"),
        ("job in []", "no formula has"),
        ("~age > 3", "no formula has"),
        ("job and age > 3", "a column of text is neither true nor false"),
        ("since > 'May'", "'May' is no date"),
    ],
)
def test_rules_that_say_nothing(rule, said):
    table = pd.DataFrame({"age": [30, 40, 50], "job": ["a", "b", "a"], "since": pd.date_range("2020-01-01", periods=3)})
    with pytest.raises(InvalidParameter, match=said):
        xcid.Explainer(lambda X: X["age"] > 35, table, constraints=Constraints(relations=[rule])).counterfactuals(table)


def test_rules_know_dates_quotes_and_names_that_stand_for_others():
    since = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    assert function_of("since > '2020-06-01'")({"since": since}).tolist() == [False, True]
    assert function_of("since in ['2021-01-01']")({"since": since}).tolist() == [False, True]
    assert function_of("q == 'x`y`z'")({"q": np.array(["x`y`z", "y"])}).tolist() == [True, False]
    both = {"a b": np.array([6, 6]), "_0_": np.array([1, 3])}
    assert function_of("`a b` > 5 and _0_ > 2")(both).tolist() == [False, True]


def test_rules_in_words_travel_to_other_processes():
    words = "months <= 12 * (age - 16)"
    rule = pickle.loads(pickle.dumps(function_of(words)))
    assert rule({"age": np.array([20, 20]), "months": np.array([48, 49])}).tolist() == [True, False]
    numbers = TABLE[["age", "months", "pay"]]
    model = LogisticRegression(max_iter=2000).fit(numbers, score(TABLE) > 0.5)
    explainer = xcid.Explainer(model, numbers, constraints=Constraints(relations=[words], derived={"pay": "50 * age"}))
    again = pickle.loads(pickle.dumps(explainer))
    first, second = (one.counterfactuals(numbers.iloc[:2]).to_frame() for one in (explainer, again))
    assert second.equals(first)
