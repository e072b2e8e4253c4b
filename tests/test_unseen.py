"""Rows with levels or missing cells that the background lacks: the model decides, and no other row hears of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid.errors import InvalidData, XcidWarning
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
