"""Constraints: every perturbation of every generator obeys them, and bad ones are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid import Constraints
from xcid.errors import InvalidParameter
from xcid.generators import Marginal, Random

N = 300
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "age": RNG.integers(18, 90, N),
    "bmi": RNG.normal(25, 5, N),
    "price": RNG.uniform(0, 10, N).round(1),
    "city": np.array(["Bern", "Lyon", "Oslo", "Porto"])[RNG.integers(0, 4, N)],
    "grade": pd.Categorical.from_codes(RNG.integers(0, 3, N), ["low", "middle", "high"], ordered=True),
    "sex": RNG.random(N) < 0.5,
    "gap": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(size=N)),
})  # fmt: skip
GENERATORS = [Random(m=30), Marginal(m=30)]


def model(table):
    """Something to flip, whatever is frozen."""
    codes = table["age"] * 7 + (table["bmi"] * 100).astype(int) + table["city"].str.len() + (table["price"] * 10)
    return codes.astype(int) % 2 == 0


def samples(generator, constraints, rows=FRAME[:40]):
    explanation = xcid.Explainer(model, FRAME, generator=generator, constraints=constraints)(rows)
    assert np.all(explanation.status == "ok")
    names = explanation.feature_names
    changed = explanation.cloud.samples
    return {name: (explanation.data[:, i, None], changed[:, :, i]) for i, name in enumerate(names)}, explanation


@pytest.fixture(params=GENERATORS, ids=lambda generator: type(generator).__name__)
def generator(request):
    return request.param


def moved(pair):
    before, after = pair
    is_moved = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    return np.broadcast_to(before, after.shape)[is_moved], after[is_moved]


def test_frozen_features_never_change_and_nothing_hangs_on_them(generator):
    by_name, explanation = samples(generator, Constraints(frozen=["sex", "city", "gap"]))
    for name in ("sex", "city", "gap"):
        assert moved(by_name[name])[1].size == 0
        assert not explanation.importance[:, explanation.position(name)].any()
    assert moved(by_name["age"])[1].size > 0


def test_ranges(generator):
    by_name, _ = samples(generator, Constraints(ranges={"bmi": (20, 22), "price": (2.5, 4), "age": (30.5, 1e9)}))
    for name, low, high in (("bmi", 20, 22), ("price", 2.5, 4), ("age", 31, 89)):
        after = moved(by_name[name])[1]
        assert after.size > 0
        assert after.min() >= low
        assert after.max() <= high
    assert np.array_equal(moved(by_name["price"])[1], np.round(moved(by_name["price"])[1], 1))


def test_levels(generator):
    by_name, explanation = samples(generator, Constraints(levels={"city": ["Porto", "Bern"], "grade": ["high"]}))
    assert set(moved(by_name["city"])[1]) == {0.0, 3.0}
    assert set(moved(by_name["grade"])[1]) == {2.0}
    assert explanation.details.levels[3] == ("Bern", "Lyon", "Oslo", "Porto")


def test_monotone(generator):
    by_name, _ = samples(
        generator, Constraints(monotone={"age": "rises", "bmi": "falls", "grade": "rises", "gap": "falls"})
    )
    for name, sign in (("age", 1), ("bmi", -1), ("grade", 1)):
        before, after = moved(by_name[name])
        assert after.size > 0
        assert np.all(sign * (after - before) > 0)
    before, after = moved(by_name["gap"])
    assert np.all((after < before) | np.isnan(before))
    assert not np.isnan(after).any()


def test_a_value_at_the_end_of_its_way_stays(generator):
    oldest = FRAME[FRAME.age == FRAME.age.max()][:1]
    by_name, _ = samples(generator, Constraints(monotone={"age": "rises"}), oldest)
    assert moved(by_name["age"])[1].size == 0


def test_no_constraints_change_nothing(generator):
    free, _ = samples(generator, None)
    empty, _ = samples(generator, Constraints())
    for name in free:
        assert np.array_equal(free[name][1], empty[name][1], equal_nan=True)


def test_constraints_together_and_per_row(generator):
    """A row gets the same alone and in a batch, under constraints too."""
    constraints = Constraints(frozen=["sex"], ranges={"bmi": (15, 40)}, monotone={"age": "rises"})
    together, _ = samples(generator, constraints)
    alone, _ = samples(generator, constraints, FRAME[7:8])
    for name in together:
        assert np.array_equal(together[name][1][7], alone[name][1][0], equal_nan=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Constraints(frozen=["sexx"]),
            r"frozen names \['sexx'\] \(did you mean 'sex'\?\), which the table does not have",
        ),
        (lambda: Constraints(frozen="sex"), "frozen must be a list of names, not 'sex'"),
        (lambda: Constraints(frozen=list(FRAME)), "all features are frozen"),
        (lambda: Constraints(frozen=["Sex"]), r"frozen names \['Sex'\] \(did you mean 'sex'\?\)"),
        (lambda: Constraints(ranges={"weight": (1, 2)}), r"ranges names \['weight'\], which"),
        (lambda: Constraints(ranges={"bmi": (30, 20)}), "the range of 'bmi' is empty: 30 does not lie below 20"),
        (lambda: Constraints(ranges={"bmi": (500, 600)}), "no value of 'bmi' in the reference data is allowed"),
        (lambda: Constraints(ranges={"bmi": 3}), r"the range of 'bmi' must be \(low, high\), not 3"),
        (lambda: Constraints(ranges={"bmi": ("a", 3)}), "low must be a number, not 'a'"),
        (lambda: Constraints(ranges={"city": (0, 1)}), "'city' is made of levels: limit them with levels"),
        (lambda: Constraints(levels={"city": ["Rome"]}), r"'city' has no levels \['Rome'\]: it has \['Bern'"),
        (lambda: Constraints(levels={"bmi": [20]}), r"'bmi' has no levels \[20\]"),
        (lambda: Constraints(levels={"city": []}), "no value of 'city' in the reference data is allowed"),
        (lambda: Constraints(monotone={"age": "on"}), r"monotone\['age'\] must be 'rises' or 'falls', not 'on'"),
        (lambda: Constraints(monotone={"city": "rises"}), "'city' is categorical: its levels have no order"),
    ],
)
def test_bad_constraints_are_refused(make, message):
    with pytest.raises(InvalidParameter, match=message):
        xcid.Explainer(model, FRAME, constraints=make())


def test_settings_and_files_say_what_was_given(tmp_path):
    first = FRAME.columns[0]
    found = xcid.Explainer(model, FRAME, constraints=Constraints(frozen=[first]))(FRAME[:2])
    found.save(tmp_path / "found.npz")
    assert xcid.load(tmp_path / "found.npz").details.settings["constraints"] == f"frozen=({first!r},)"
    assert "constraints" not in xcid.Explainer(model, FRAME)(FRAME[:2]).details.settings
