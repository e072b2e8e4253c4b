"""Rows with levels or missing cells that the background lacks: the model decides, and no other row hears of it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid.errors import InvalidData, XcidWarning
from xcid.native.seen import Tabulated
from xcid.records import STATUSES

N = 200
TOOK = "levels or missing cells that the reference data lack; the model accepted them"


def people():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(20, 80, N),
            "debt": random.gamma(2, 5, N).round(1),
            "job": random.choice(["clerk", "driver", "nurse"], N),
        }
    )


TABLE = people()
ANSWERS = (TABLE["age"] - 2 * TABLE["debt"] + np.where(TABLE["job"] == "driver", -15, 5) > 20).to_numpy()


def fitted(unknown, table=TABLE):
    coded = ColumnTransformer([("job", OneHotEncoder(handle_unknown=unknown), ["job"])], remainder="passthrough")
    return make_pipeline(coded, LogisticRegression(max_iter=5_000)).fit(table, ANSWERS)


def with_new_jobs(table=TABLE):
    return table.head(6).assign(job=["clerk", "pilot", "nurse", "driver", "astronaut", "clerk"])


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_a_model_that_takes_them(make):
    explainer = xcid.Explainer(fitted("ignore", make(TABLE)), make(TABLE))
    with pytest.warns(XcidWarning, match=f"2 of 6 rows: {TOOK}"):
        found = explainer(make(with_new_jobs()))
    assert set(found.status) == {"ok"}
    assert [found.shown(row, "job") for row in range(6)] == with_new_jobs()["job"].tolist()
    due = explainer.subject.model.predict_proba(make(with_new_jobs()))
    assert np.allclose(found.outputs, due)
    assert found.evidence(1, "job").p.sum() == pytest.approx(1)


def test_a_model_that_does_not():
    explainer = xcid.Explainer(fitted("error"), TABLE)
    with pytest.warns(XcidWarning, match="2 of 6 rows could not be explained.*unknown categories"):
        found = explainer(with_new_jobs())
    assert found.status.tolist() == ["ok", "unseen_value", "ok", "ok", "unseen_value", "ok"]
    assert not found.values[[1, 4]].any()
    assert np.isnan(found.outputs[[1, 4]]).all()
    known = explainer(with_new_jobs().iloc[[0, 2, 3, 5]])
    assert np.allclose(found.values[[0, 2, 3, 5]], known.values)
    assert "reference data do not have" in STATUSES["unseen_value"].meaning


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_alone_and_in_a_batch():
    explainer = xcid.Explainer(fitted("ignore"), TABLE)
    rows = with_new_jobs()
    whole = explainer(rows)
    assert all(np.allclose(explainer(rows.iloc[[at]]).values, whole.values[at]) for at in range(6))
    assert np.allclose(explainer(rows.iloc[::-1]).values[::-1], whole.values)


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_pieces_that_met_different_levels_are_joined():
    explainer = xcid.Explainer(fitted("ignore"), TABLE)
    rows = with_new_jobs()
    pieces = [explainer(rows.iloc[at : at + 2]) for at in (0, 2, 4)]
    joined = xcid.Explanation.concatenate(pieces)
    assert [joined.shown(row, "job") for row in range(6)] == rows["job"].tolist()
    assert np.allclose(joined.values, explainer(rows).values)


@pytest.mark.parametrize("column", ["age", "debt"])
def test_a_cell_that_is_newly_missing(column):
    rows = TABLE.head(4).astype({column: float})
    rows.loc[2, column] = np.nan
    takes = xcid.Explainer(
        HistGradientBoostingClassifier(random_state=0).fit(TABLE[["age", "debt"]], ANSWERS), TABLE[["age", "debt"]]
    )
    with pytest.warns(XcidWarning, match=f"1 of 4 rows: {TOOK}"):
        found = takes(rows[["age", "debt"]])
    assert found.shown(2, column) == "missing"
    assert np.allclose(found.outputs, takes.subject.model.predict_proba(rows[["age", "debt"]]))
    refuses = xcid.Explainer(fitted("ignore"), TABLE)
    with pytest.warns(XcidWarning, match="contains NaN"):
        assert refuses(rows).status.tolist() == ["ok", "ok", "unseen_value", "ok"]


def test_arrays_of_objects():
    table = TABLE.to_numpy()
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=5_000)).fit(
        table, ANSWERS
    )
    explainer = xcid.Explainer(model, table, feature_names=["age", "debt", "job"])
    with pytest.warns(XcidWarning, match=f"2 of 6 rows: {TOOK}"):
        found = explainer(with_new_jobs().to_numpy())
    assert np.allclose(found.outputs, model.predict_proba(with_new_jobs().to_numpy()))


def test_types_without_room_for_them():
    """An Enum of polars has its levels by type."""
    table = pl.from_pandas(TABLE).cast({"job": pl.Enum(["clerk", "driver", "nurse"])})
    explainer = xcid.Explainer(fitted("ignore", table), table)
    with pytest.warns(XcidWarning, match="no room for what columns .'job'. hold"):
        found = explainer(pl.from_pandas(with_new_jobs()))
    assert found.status.tolist() == ["ok", "unseen_value", "ok", "ok", "unseen_value", "ok"]


def test_categories_of_pandas_get_room():
    table = TABLE.astype({"job": "category"})
    explainer = xcid.Explainer(fitted("ignore", table), table)
    with pytest.warns(XcidWarning, match=f"2 of 6 rows: {TOOK}"):
        found = explainer(with_new_jobs())
    assert found.shown(1, "job") == "pilot"


def test_other_things_are_still_refused():
    explainer = xcid.Explainer(fitted("ignore"), TABLE)
    with pytest.raises(InvalidData, match="'many' in row 1"):
        explainer(with_new_jobs().astype(object).assign(age=[30, "many", 40, 50, 60, 70]))
    with pytest.raises(InvalidData, match="holds 3 in row 1"):
        explainer(with_new_jobs().assign(job=["clerk", 3, "nurse", "clerk", "clerk", "clerk"]))


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_threads():
    explainer = xcid.Explainer(fitted("error"), TABLE)
    found = xcid.engines.Threads(2)(explainer, with_new_jobs())
    assert found.status.tolist() == explainer(with_new_jobs()).status.tolist()


def mixed_rows(table):
    """Rows of which some hold a new level, a newly missing cell or both."""
    rows = table.head(7).astype({"age": float, "job": object})
    rows.loc[1, "job"], rows.loc[3, "age"] = "pilot", np.nan
    rows.loc[5, ["job", "age"]] = ["astronaut", np.nan]
    return rows


def coded(last, **options):
    code = ColumnTransformer([("job", OneHotEncoder(handle_unknown="ignore"), ["job"])], remainder="passthrough")
    return make_pipeline(code, last, **options)


CODED = TABLE.astype({"job": "category"})
READ = {
    "histograms": lambda: HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0).fit(
        CODED, ANSWERS
    ),
    "trees after steps": lambda: coded(HistGradientBoostingClassifier(random_state=0)).fit(CODED, ANSWERS),
    "forest after steps": lambda: make_pipeline(
        coded(SimpleImputer()), RandomForestClassifier(10, max_depth=4, random_state=0)
    ).fit(CODED, ANSWERS),
    "linear after steps": lambda: make_pipeline(coded(SimpleImputer()), LogisticRegression(max_iter=5_000)).fit(
        CODED, ANSWERS
    ),
}


REFUSING = {  # a frame that has a category which the model was not trained with, or takes for a missing cell
    "xgboost": {"n_estimators": 20, "enable_categorical": True},
    "lightgbm": {"n_estimators": 20, "verbose": -1},
}


def assert_equal_rows(found, whole, places):
    for name in ("values", "lower", "upper", "p_values", "exact", "importance", "base_values", "outputs", "n_flips"):
        part, due = getattr(found, name), getattr(whole, name)[places]
        assert np.allclose(part, due, rtol=0, atol=1e-9, equal_nan=True), name
    assert found.limits == whole.limits
    assert np.array_equal(found.status, whole.status[places])


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
@pytest.mark.parametrize("limits", ["computation", "reference"])
@pytest.mark.parametrize("kind", READ)
def test_a_row_takes_the_same_road_beside_rows_with_unseen_cells(kind, limits):
    explainer, rows = xcid.Explainer(READ[kind](), CODED, limits=limits), mixed_rows(CODED)
    whole = explainer(rows)
    assert whole.exact.all()
    assert whole.limits == limits
    for at in range(len(rows)):
        assert_equal_rows(explainer(rows.iloc[[at]]), whole, [at])
    order = [5, 2, 6, 1, 0, 4, 3]
    assert_equal_rows(explainer(rows.iloc[order]), whole, order)
    for start in (0, 3):
        assert_equal_rows(explainer(rows.iloc[start : start + 3]), whole, list(range(start, start + 3)))
    alone = explainer.contributions(rows)
    assert np.allclose(alone.values, whole.values, atol=1e-9)


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
@pytest.mark.parametrize("kind", READ)
def test_unseen_cells_have_exact_contributions(kind):
    """All subsets of three columns by all reference rows, by calls of the model."""
    model, rows, reference = READ[kind](), mixed_rows(CODED).iloc[[1, 3, 5]], CODED.head(60).astype({"age": float})
    explainer = xcid.Explainer(model, reference)
    found = explainer.contributions(rows)
    assert found.exact.all()
    levels = [*reference["job"].cat.categories, "pilot", "astronaut"]

    def number(kept, row):
        mixed = reference.assign(job=reference["job"].cat.set_categories(levels))
        for name in kept:
            cells = [row[name]] * len(mixed)
            mixed[name] = pd.Categorical(cells, levels) if name == "job" else np.array(cells, dtype=float)
        chances = model.predict_proba(mixed)
        return np.mean(chances[:, 1] if found.scale == "probability" else np.log(chances[:, 1] / chances[:, 0]))

    names = list(reference.columns)
    for at, (_, row) in enumerate(rows.iterrows()):
        due = np.zeros(3)
        for order in itertools.permutations(range(3)):
            for place, feature in enumerate(order):
                before = [names[one] for one in order[:place]]
                due[feature] += (number([*before, names[feature]], row) - number(before, row)) / 6
        assert np.allclose(found.values[at], due, atol=1e-9)


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
@pytest.mark.parametrize("limits", ["computation", "reference"])
def test_what_is_not_read_as_it_predicts_is_sampled_alone(limits, monkeypatch):
    """A reading that is wrong about new levels, such as one that takes them for the first, serves the others."""
    explainer, rows = xcid.Explainer(READ["histograms"](), CODED, limits=limits), mixed_rows(CODED)
    usual = Tabulated.of

    def wrong(order, levels, cells):
        found = usual(order, levels, cells)
        for table in found.tables.values():
            table[3:-1] = table[0]
        return found

    monkeypatch.setattr(Tabulated, "of", staticmethod(wrong))
    whole = explainer(rows)
    assert whole.exact.tolist() == [True, False, True, True, True, False, True]
    assert set(whole.status) == {"ok"}
    is_told = np.isfinite(whole.lower).all(axis=1) & np.isfinite(whole.upper).all(axis=1)
    assert np.array_equal(is_told, whole.exact | (limits == "computation"))
    for at in range(len(rows)):
        assert_equal_rows(explainer(rows.iloc[[at]]), whole, [at])


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_the_digest_of_the_reference_data_is_theirs():
    first, second = (xcid.Explainer(READ["histograms"](), CODED) for _ in range(2))
    met = first.contributions(mixed_rows(CODED)).details.settings["reference"]
    assert met == second.contributions(CODED.head(2)).details.settings["reference"]


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
@pytest.mark.parametrize("package", REFUSING)
def test_models_of_categories(package):
    library = pytest.importorskip(package)
    make = library.XGBClassifier if package == "xgboost" else library.LGBMClassifier
    explainer, rows = xcid.Explainer(make(**REFUSING[package]).fit(CODED, ANSWERS), CODED), mixed_rows(CODED)
    whole = explainer(rows)
    takes_new = package == "lightgbm"
    assert whole.exact.tolist() == [True, takes_new, True, True, True, takes_new, True]
    assert whole.status[1] == ("ok" if takes_new else "unseen_value")
    for at in range(len(rows)):
        assert_equal_rows(explainer(rows.iloc[[at]]), whole, [at])
