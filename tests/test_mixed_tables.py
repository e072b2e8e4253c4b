"""Mixed tables as people have them: text, categories, booleans, missing cells, and what the model makes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid.errors import InvalidData, InvalidParameter, ModelError
from xcid.generators import Marginal
from xcid.table import FeatureSpace

N = 400
CITIES = np.array(["Bern", "Lyon", "Oslo", "Porto"])


def columns():
    """The city alone decides the label; the rest is idle."""
    rng = np.random.default_rng(0)
    income = rng.lognormal(8, 1, N).round(2)
    income[rng.random(N) < 0.1] = np.nan
    return {
        "age": rng.integers(18, 90, N),
        "income": income,
        "city": CITIES[rng.integers(0, 4, N)],
        "member": rng.random(N) < 0.3,
        "grade": np.array(["low", "middle", "high"])[rng.integers(0, 3, N)],
    }


COLUMNS = columns()
TARGET = np.isin(COLUMNS["city"], ["Bern", "Oslo"])


def pandas_frame():
    frame = pd.DataFrame(COLUMNS)
    return frame.assign(grade=pd.Categorical(frame.grade, ["low", "middle", "high"], ordered=True))


def polars_frame():
    grade = pl.Series(COLUMNS["grade"]).cast(pl.Enum(["low", "middle", "high"]))
    income = pl.Series(COLUMNS["income"]).fill_nan(None)
    return pl.DataFrame({**COLUMNS, "income": income, "grade": grade})


def pipeline():
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["city", "grade"]), (SimpleImputer(), ["age", "income"]), remainder="passthrough"
        ),
        LogisticRegression(max_iter=5000),
    )


@pytest.fixture(scope="module")
def fitted():
    return pipeline().fit(pandas_frame(), TARGET)


EXPLAINERS = [xcid.Explainer, xcid.Explainer.paper]


@pytest.mark.parametrize("make", EXPLAINERS, ids=["recommended", "paper"])
def test_a_pipeline_on_a_mixed_frame_works_the_first_time(make, fitted):
    frame = pandas_frame()
    explanation = make(fitted, frame)(frame.iloc[:20])
    assert np.all(explanation.status == "ok")
    city = list(frame.columns).index("city")
    assert np.all(explanation.importance.argmax(axis=1) == city)
    assert np.all(explanation.importance[:, city] > 0.9)
    if explanation.base_values is not None:
        assert np.array_equal(np.sign(explanation.values[:, city]), np.where(explanation.outputs[:, 1] > 0.5, 1, -1))


def test_kinds_are_detected():
    expected = ["integer", "continuous", "categorical", "boolean", "ordinal"]
    for frame in (pandas_frame(), polars_frame()):
        space = FeatureSpace.of(frame)
        assert [column.kind for column in space.columns] == expected
        assert space.columns[2].levels == tuple(CITIES)
        assert space.columns[4].levels == ("low", "middle", "high")
        assert space.missing[1] == pytest.approx(np.isnan(COLUMNS["income"]).mean())
        assert space.discrete.tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("odd", ["many", True])
def test_a_column_of_two_types_is_refused(odd):
    frame = pd.DataFrame({"a": [2.5, 3.5, odd] * 7, "b": range(21)})
    with pytest.raises(InvalidData, match=rf"'a' of the reference table holds {odd!r} in row 2 among other things"):
        FeatureSpace.of(frame)


def test_the_model_gets_the_very_type_it_was_trained_on():
    frame = pandas_frame().astype({"age": "Int64", "member": "boolean"})
    seen = []

    def model(table):
        seen.append(table)
        return table["city"] == "Bern"

    xcid.Explainer(model, frame)(frame.iloc[:3])
    for table in seen:
        assert list(table.columns) == list(frame.columns)
        assert (table.dtypes == frame.dtypes).all()
        assert table["grade"].cat.categories.equals(frame["grade"].cat.categories)
        assert set(table["city"]) <= set(CITIES)
        assert set(table["age"].dropna()) <= set(range(18, 90))
    assert any(table["income"].isna().any() for table in seen)
    assert not any(table["age"].isna().any() for table in seen)


def test_round_trips_of_every_make():
    tables = [pandas_frame(), polars_frame(), pa.table({k: pa.array(v.tolist()) for k, v in COLUMNS.items()})]
    for table in tables:
        space = FeatureSpace.of(table)
        back = space.decode(space.background)
        assert type(back) is type(table)
        assert back.equals(table) or str(back) == str(table)


def test_the_type_of_the_table_changes_no_score():
    def decide(table):
        if isinstance(table, list):
            return [row["city"] in ("Bern", "Oslo") for row in table]
        city = table[:, 2] if isinstance(table, np.ndarray) else table["city"]
        return np.isin(np.asarray(city).astype(str), ["Bern", "Oslo"])

    frame = pandas_frame()
    plain = frame.astype({"grade": str}).astype(object)
    tables = {
        "pandas": frame.astype({"grade": str}),
        "polars": polars_frame().with_columns(pl.col("grade").cast(pl.String)),
        "pyarrow": pa.table({k: pa.array(v.tolist()) for k, v in COLUMNS.items()}),
        "objects": plain.to_numpy(),
        "dicts": plain.to_dict(orient="records"),
    }
    values = {name: xcid.Explainer(decide, table)(table[:10]).values for name, table in tables.items()}
    for name in tables:
        assert np.allclose(values[name], values["pandas"], atol=1e-9), name


@pytest.mark.parametrize("make", EXPLAINERS, ids=["recommended", "paper"])
def test_the_order_and_the_names_of_columns_change_no_score(make):
    frame = pandas_frame()
    model = lambda table: table["city"].isin(["Bern", "Oslo"]) & (table["age"] > 30)  # noqa: E731
    straight = make(model, frame)(frame.iloc[:10])
    turned = frame[frame.columns[::-1]]
    assert np.allclose(make(model, turned)(turned.iloc[:10]).values[:, ::-1], straight.values, atol=1e-9)
    renamed = frame.rename(columns={"income": "zzz", "member": "aaa"})
    assert np.allclose(make(model, renamed)(renamed.iloc[:10]).values, straight.values, atol=1e-9)


def test_missing_cells_are_values_of_their_own():
    frame = pandas_frame()
    model = lambda table: table["income"].isna()  # noqa: E731
    explanation = xcid.Explainer(model, frame)(frame[frame.income.isna()].iloc[:5])
    assert np.all(explanation.importance.argmax(axis=1) == 1)
    assert np.all(explanation.values[:, 1] > 0.9)
    assert explanation.shown(0, "income") == "missing"
    pair = explanation.evidence(0, "income")
    assert np.isnan(pair.points[-1])
    assert pair.atoms[-1]
    assert pair.q[-1] == pytest.approx(1)
    assert pair.p[-1] == 0
    assert pair.weights @ pair.p == pytest.approx(1)


def test_a_value_goes_missing_only_where_the_background_has_missing_ones():
    frame = pandas_frame()
    for explainer in (make(lambda table: table["age"] > 50, frame) for make in EXPLAINERS):
        samples = explainer(frame.iloc[:20]).cloud.samples
        assert np.isnan(samples[..., 1]).any()
        assert not np.isnan(np.delete(samples, 1, axis=2)).any()


def test_a_model_that_takes_missing_cells_itself():
    frame = pandas_frame()[["age", "income"]]
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(frame, frame.income.isna())
    explanation = xcid.Explainer(model, frame, generator=Marginal(m=50))(frame.iloc[:10])
    assert np.all(explanation.importance.argmax(axis=1) == 1)


def test_dicts_with_their_vectoriser():
    rows = pandas_frame()[["age", "city"]].astype({"age": float}).to_dict(orient="records")
    model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=5000)).fit(rows, TARGET)
    explanation = xcid.Explainer(model, rows)(rows[:5])
    assert explanation.feature_names == ("age", "city")
    assert np.all(explanation.importance.argmax(axis=1) == 1)
    assert np.allclose(xcid.Explainer(model, rows)(rows[2]).values, explanation[2].values, atol=1e-9)


def test_sparse_matrices():
    draws = np.random.default_rng(1).random((2, 200, 6))
    matrix = scipy.sparse.csr_array(np.where(draws[0] < 0.3, draws[1], 0.0))
    model = RandomForestClassifier(10, random_state=0).fit(matrix, matrix.toarray()[:, 2] > 0)
    seen = []
    ask = lambda table: seen.append(table) or model.predict_proba(table)  # noqa: E731
    explanation = xcid.Explainer(ask, matrix)(matrix[:10])
    assert all(scipy.sparse.issparse(table) for table in seen)
    assert np.mean(explanation.importance.argmax(axis=1) == 2) > 0.8


def test_kinds_can_be_given():
    codes = np.column_stack([np.arange(N) % 5, np.random.default_rng(0).normal(size=N)]).astype(float)
    explainer = xcid.Explainer(lambda X: X[:, 0] == 3, codes, kinds={"x0": "categorical"})
    explanation = explainer(codes[3:4])
    assert explainer.space.columns[0].levels == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert explanation.evidence(0, 0).atoms.all()
    assert explanation.shown(0, 0) == "3.0"


@pytest.mark.parametrize(
    ("kinds", "error", "message"),
    [
        ({"town": "categorical"}, InvalidParameter, r"kinds names \['town'\].*it has"),
        ({"citty": "categorical"}, InvalidParameter, r"kinds names \['citty'\] \(did you mean 'city'\?\)"),
        ({"city": "colour"}, InvalidParameter, "the kind of 'city' must be one of"),
        ({"city": "continuous"}, InvalidParameter, "column 'city' holds '.*': it cannot be continuous"),
    ],
)
def test_bad_kinds(kinds, error, message):
    with pytest.raises(error, match=message):
        xcid.Explainer(lambda table: table["age"] > 50, pandas_frame(), kinds=kinds)


def test_a_misspelt_column_is_told(fitted):
    explainer = xcid.Explainer(fitted, pandas_frame())
    with pytest.raises(InvalidData, match=r"missing \['city'\], unknown \['City'\] \(did you mean 'city'\?\)$"):
        explainer(pandas_frame().iloc[:3].rename(columns={"city": "City"}))


def test_unknown_levels_are_named(fitted):
    frame = pandas_frame()
    explainer = xcid.Explainer(fitted, frame)
    with pytest.raises(InvalidData, match=r"column 'city' .* holds 'Rome' in row 1, .* levels are \['Bern'"):
        explainer.space.encode(frame.iloc[:3].assign(city=["Bern", "Rome", "Oslo"]))


def test_a_model_that_cannot_take_missing_cells_says_which_there_are():
    frame = pandas_frame()[["age", "income"]].assign(income=[1.0] * N)
    model = LogisticRegression().fit(frame, frame.age > 50)
    with pytest.raises(ModelError, match=r"(?s)NaN.*missing cells in \['income'\]"):
        xcid.Explainer(model, pandas_frame()[["age", "income"]])


def test_text_files_and_frames_show_levels(fitted, tmp_path):
    frame = pandas_frame()
    explanation = xcid.Explainer(fitted, frame)(frame.iloc[:2])
    assert frame.city[0] in str(explanation)
    explanation.save(tmp_path / "e.npz")
    loaded = xcid.load(tmp_path / "e.npz")
    assert loaded.details.levels == explanation.details.levels
    assert loaded.shown(0, "city") == frame.city[0]
    assert loaded.evidence(0, "city").points.tolist() == explanation.evidence(0, "city").points.tolist()
    table = explanation.to_frame()
    assert table[(table.row == 0) & (table.feature == "city")].shown.tolist() == [frame.city[0]]


def test_frames_hold_levels_and_numbers_as_the_table_does(fitted):
    frame = pandas_frame()
    explanation = xcid.Explainer(fitted, frame).contributions(frame.iloc[:4])
    cells = explanation.to_frame().pivot(index="row", columns="feature", values="data")
    assert cells["city"].tolist() == frame["city"][:4].tolist()
    first, second = frame.columns[:2]
    for name in (first, second):
        due = frame[name][:4].astype(float)
        assert np.array_equal(cells[name].astype(float), due, equal_nan=True)
    codes = explanation.to_frame("polars").filter(pl.col("feature") == "city")["data"]  # its columns have one type
    assert codes.to_list() == explanation.data[:, 2].tolist()
    numbers = xcid.Explainer(lambda X: X[:, 0] > 0, np.random.default_rng(0).normal(size=(50, 2)))
    assert numbers.contributions([[0.1, 0.2]]).to_frame()["data"].dtype == float


def dates(library):
    days = np.datetime64("2020-01-01") + (np.arange(N) % 365).astype("timedelta64[D]")
    moments = days + np.arange(N).astype("timedelta64[m]")
    moments = np.where(np.arange(N) % 10 == 3, np.datetime64("NaT", "us"), moments.astype("datetime64[us]"))
    if library == "pandas":
        frame = pd.DataFrame({"day": days.astype("datetime64[s]"), "moment": moments, "x": np.arange(N) % 7})
        return frame.assign(zoned=frame.moment.dt.tz_localize("Europe/Paris"))
    frame = pl.DataFrame({"day": days, "moment": moments, "x": np.arange(N) % 7})
    frame = frame.with_columns(zoned=pl.col("moment").dt.replace_time_zone("Europe/Paris"))
    return frame if library == "polars" else frame.to_arrow()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_go_and_come_back(library):
    frame = dates(library)
    space = FeatureSpace.of(frame)
    assert [column.unit for column in space.columns if column.name != "x"] == ["D", "s", "s"]
    assert space.decode(space.background).equals(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_date_that_decides(library, tmp_path):
    frame = dates(library)
    model = lambda table: np.asarray(table["day"]) > np.datetime64("2020-07-01")  # noqa: E731
    explanation = xcid.Explainer(model, frame)(frame[:5])
    assert np.all(explanation.importance.argmax(axis=1) == 0)
    assert explanation.shown(0, "day") == "2020-01-01"
    assert explanation.shown(1, "moment") == "2020-01-02T00:01:00"
    assert explanation.shown(3, "moment") == "missing"
    explanation.save(tmp_path / "e.npz")
    assert xcid.load(tmp_path / "e.npz").shown(0, "day") == "2020-01-01"
    with pytest.raises(InvalidData, match=r"column 'day' .* holds 1\.0 in row 0, which is not a date"):
        xcid.Explainer(model, frame)([1.0] * len(explanation.feature_names))


def test_dates_among_objects_are_dates():
    frame = dates("pandas")
    space, start = FeatureSpace.of(frame), frame.iloc[:5]
    wanted = space.encode(start)
    dicts = start.to_dict("records")  # pandas' own times, and NaT
    python = [
        {name: cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else None if pd.isna(cell) else cell
         for name, cell in row.items()} for row in dicts
    ]  # fmt: skip
    plain = [{**row, "day": row["day"].date(), "moment": np.datetime64(row["moment"], "us")} for row in python]
    for rows in (dicts, python, plain, start.to_numpy(), start.astype(object)):
        np.testing.assert_array_equal(space.encode(rows), wanted)
    np.testing.assert_array_equal(space.encode(dicts[1]), wanted[1:2])
    model = lambda table: np.asarray(table["day"]) > np.datetime64("2020-07-01")  # noqa: E731
    assert xcid.Explainer(model, frame)(dicts[0]).shown(0, "day") == "2020-01-01"


def test_an_array_of_dates_alone():
    days = dates("pandas")[["day"]].assign(later=lambda frame: frame["day"] + pd.Timedelta(days=3))
    space = FeatureSpace.of(days)
    nanoseconds = days.iloc[:4].to_numpy().astype("datetime64[ns]")
    np.testing.assert_array_equal(space.encode(nanoseconds), space.background[:4])


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("day", "2020-01-01", "holds '2020-01-01' in row 0, which is not a date"),
        ("day", pd.Timestamp("2020-01-01", tz="UTC"), "have a time zone, and those of the reference data have none"),
        ("zoned", pd.Timestamp("2020-01-01"), "have no time zone, and those of the reference data have one"),
    ],
)
def test_objects_that_are_not_the_dates_of_the_reference(name, cell, message):
    frame = dates("pandas")
    with pytest.raises(InvalidData, match=message):
        FeatureSpace.of(frame).encode({**frame.iloc[0].to_dict(), name: cell})
