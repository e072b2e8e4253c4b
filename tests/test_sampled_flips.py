"""Flips among the samples of an explanation: in words, nearest first, the diverse ones apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid.errors import EvidenceNotKept, InvalidParameter, NotEnoughFlips
from xcid.generators import Marginal
from xcid_lab.generators import Given

RNG = np.random.default_rng(8)
N = 300
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "city": np.array(["Bern", "Lyon", "Oslo"])[RNG.integers(0, 3, N)],
        "pay": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(3, 1, N).round(2)),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "size": RNG.normal(10, 3, N).round(1),
    }
)
ROW = pd.DataFrame({"age": [30], "city": ["Lyon"], "pay": [3.0], "since": [pd.Timestamp("2020-03-01")], "size": [10.0]})
MISSING = ROW.assign(pay=[np.nan])


def decide(frame):
    late = frame["since"] > pd.Timestamp("2021-06-01")
    return (frame["age"] > 50).astype(int) + (frame["city"] == "Oslo") + frame["pay"].isna() + late >= 1


@pytest.fixture(scope="module")
def explainer():
    return xcid.Explainer(decide, PEOPLE)


def given(frames, background=PEOPLE, row=ROW, **settings):
    """An explainer whose only counterfactuals are some known rows."""
    explainer = xcid.Explainer(decide, background, generator=Given(pd.concat(frames), m=1), **settings)
    return explainer(row)


def rows(frame):
    return list(zip(frame["kind"], frame["changes"], frame["n_changes"], frame["distance"], strict=True))


@pytest.mark.filterwarnings("ignore::xcid.XcidWarning")
def test_changes_are_told_in_words_with_levels_missing_cells_and_dates():
    flips = [
        ROW.assign(city=["Oslo"]),
        ROW.assign(pay=[np.nan]),
        ROW.assign(since=[pd.Timestamp("2022-02-03")]),
        ROW.assign(age=[52], size=[9.5]),
    ]
    found = given([*flips, ROW.assign(age=[31])]).sampled_flips(nearest=9, diverse=0)
    assert set(found["changes"]) == {
        "city Lyon -> Oslo",
        "pay 3 -> missing",
        "since 2020-03-01 -> 2022-02-03",
        "age 30 -> 52, size 10 -> 9.5",
    }
    assert found["n_changes"].tolist() == [2 if "," in words else 1 for words in found["changes"]]


@pytest.mark.filterwarnings("ignore::xcid.XcidWarning")
def test_a_missing_cell_of_the_row_is_shown():
    found = given([MISSING.assign(pay=[2.5])], row=MISSING).sampled_flips()
    assert rows(found) == [("nearest", "pay missing -> 2.5", 1, 1.0)]


@pytest.mark.filterwarnings("ignore::xcid.XcidWarning")
def test_distances_are_in_mean_absolute_deviations_and_1_for_a_level():
    found = given([ROW.assign(city=["Oslo"]), ROW.assign(age=[52], size=[9.5])]).sampled_flips(diverse=0)
    age, size = (np.abs(PEOPLE[name] - PEOPLE[name].median()).mean() for name in ("age", "size"))
    assert found["distance"].tolist() == pytest.approx(sorted([1.0, 22 / age + 0.5 / size]))


def test_all_that_is_found_flips(explainer):
    explanation = explainer(ROW)
    found = explanation.sampled_flips(nearest=20, diverse=20)
    for changes in found["changes"]:
        after = ROW.copy()
        for change in changes.split(", "):
            name, _, rest = change.partition(" ")
            value = rest.split(" -> ")[1]
            after[name] = [np.nan if value == "missing" else value]
        after = after.astype({"age": float, "pay": float, "since": "datetime64[ns]", "size": float})
        assert decide(after).item() != decide(ROW).item(), changes


def test_nearest_are_sorted_and_none_is_nearer(explainer):
    explanation = explainer(ROW)
    some, all_of_them = (explanation.sampled_flips(nearest=n, diverse=0) for n in (5, 10_000))
    assert some["distance"].is_monotonic_increasing
    assert all_of_them["distance"].is_monotonic_increasing
    assert rows(some) == rows(all_of_them)[:5]
    assert all_of_them["changes"].is_unique


def test_diverse_ones_differ_from_the_nearest_and_from_each_other(explainer):
    found = explainer(ROW).sampled_flips(nearest=3, diverse=6)
    assert found["kind"].tolist() == ["nearest"] * 3 + ["diverse"] * 6
    assert found["changes"].is_unique
    near, diverse = (part["distance"] for _, part in found.groupby("kind", sort=False))
    assert diverse.mean() > near.mean()
    assert len(set.union(*(set(_changed(words)) for words in found["changes"][3:]))) == 5


def _changed(words):
    return [change.split(" ")[0] for change in words.split(", ")]


def test_fewer_flips_than_asked_for_are_all_told():
    with pytest.warns(xcid.XcidWarning):
        explanation = xcid.Explainer(
            decide, PEOPLE, generator=Given(pd.concat([ROW.assign(city=["Oslo"])] * 3 + [ROW.assign(age=[31])]), m=2)
        )(ROW)
    found = explanation.sampled_flips(nearest=1, diverse=5)  # three times the same is one
    assert rows(found) == [("nearest", "city Lyon -> Oslo", 1, 1.0)]


def test_the_columns_of_a_group_are_told_one_by_one():
    together = xcid.Constraints(groups={"person": ["age", "city"]})
    explainer = xcid.Explainer(decide, PEOPLE, constraints=together)
    row = PEOPLE[~decide(PEOPLE) & (PEOPLE["city"] == "Lyon")].iloc[:1]
    known = {(f"{age}", city) for age, city in PEOPLE[["age", "city"]].itertuples(index=False)}
    found = explainer(row).sampled_flips(nearest=10, diverse=10)
    assert found["changes"].str.contains("age .* -> ").any()
    for words in found["changes"]:
        after = {"age": f"{row['age'].item()}", "city": "Lyon"}
        for change in words.split(", "):
            name, _, rest = change.partition(" ")
            after[name] = rest.split(" -> ")[1]
        assert (after["age"], after["city"]) in known


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_other_libraries(explainer, backend):
    explanation = explainer(ROW)
    found = explanation.sampled_flips(backend=backend)
    assert type(found).__module__.startswith(backend)
    frame = found if backend == "polars" else pl.from_arrow(found)
    assert frame.columns == ["kind", "changes", "n_changes", "distance"]
    assert frame.rows() == rows(explanation.sampled_flips())


def test_rows_are_chosen_by_position(explainer):
    explanation = explainer(PEOPLE.iloc[:3])
    assert rows(explanation.sampled_flips(2)) == rows(explanation[2].sampled_flips())
    with pytest.raises(InvalidParameter, match="there is no row 3"):
        explanation.sampled_flips(3)


def test_nothing_asked_for_is_an_empty_frame(explainer):
    found = explainer(ROW).sampled_flips(nearest=0, diverse=0)
    assert found.shape == (0, 4)


def test_diverse_ones_alone(explainer):
    found = explainer(ROW).sampled_flips(nearest=0, diverse=4)
    assert found["kind"].tolist() == ["diverse"] * 4
    assert found["changes"].is_unique


@pytest.mark.parametrize("settings", [{"nearest": -1}, {"diverse": 1.5}, {"backend": "csv"}])
def test_bad_settings_are_refused(explainer, settings):
    with pytest.raises(InvalidParameter, match=next(iter(settings))):
        explainer(ROW).sampled_flips(**settings)


@pytest.mark.filterwarnings("ignore::xcid.XcidWarning")
def test_without_flips_it_says_so(approved):
    frozen = xcid.Constraints(frozen=["age"])
    explainer = xcid.Explainer(lambda frame: frame["age"] > 50, PEOPLE, constraints=frozen)
    with approved.raises(NotEnoughFlips):
        explainer(ROW).sampled_flips()


def test_without_evidence_it_says_so():
    explanation = xcid.Explainer(decide, PEOPLE, max_evidence_bytes=0)(ROW)
    with pytest.raises(EvidenceNotKept, match="explain this row by itself"):
        explanation.sampled_flips()


def test_soft_members_count_with_more_than_half():
    """With probabilities every sample belongs to C+ in part; what is found changes the class."""

    def probability(X):
        share = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - share, share])

    background = np.random.default_rng(0).normal(size=(200, 2))
    explainer = xcid.Explainer(probability, background, generator=Marginal(m=50), feature_names=["a", "b"])
    found = explainer([-1.0, 0.0]).sampled_flips(nearest=100, diverse=0)
    assert all(float(words.split(" -> ")[1].split(",")[0]) > 0 for words in found["changes"])
