"""Whatever is wrong, an error of the one family says what, where and what to do; nothing else escapes."""

from __future__ import annotations

import datetime
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.cid.distances import Overlap
from xcid.densities import Kernel, Mixed
from xcid.errors import InvalidData, InvalidParameter, ModelError, NotEnoughFlips, XcidWarning
from xcid.generators import Marginal, Random

NAMES = ["a", "b", "c"]
TABLE = np.random.default_rng(5).normal(size=(40, 3))
FRAME = pd.DataFrame(TABLE, columns=NAMES)
DATE = datetime.date(2020, 1, 1)


def first_above_zero(X):
    return np.asarray(X)[:, 0] > 0


def cell(value, dtype=float):
    """The table with one other cell, in row 3 of the second column."""
    table = TABLE.astype(dtype)
    table[3, 1] = value
    return table


def pandas_column(values):
    return FRAME.assign(b=values)


def polars_column(values):
    return pl.DataFrame({"a": TABLE[:, 0], "b": values, "c": TABLE[:, 2]}, strict=False)


def arrow_column(values):
    return pa.table({"a": TABLE[:, 0], "b": values, "c": TABLE[:, 2]})


LAST = [1.0] * 39  # before a bad cell in row 39

BAD_CELLS = {
    "array-nan": (cell(np.nan), "missing value in row 3, column 'b'.*1 such cells"),
    "array-inf": (cell(np.inf), "infinite value in row 3, column 'b'"),
    "array-minus-inf": (cell(-np.inf), "infinite value in row 3, column 'b'"),
    "array-masked": (np.ma.masked_array(TABLE, mask=np.isin(TABLE, TABLE[3, 1])), "missing value in row 3, column 'b'"),
    "array-complex": (TABLE * 1j, "column 'a' .* in row 0, which is not a number"),
    "array-dates": (np.full((40, 3), np.datetime64("2020-01-01")), "'a' .*2020.* in row 0"),
    "array-timedeltas": (np.full((40, 3), np.timedelta64(1, "D")), "'a' .*timedelta.* in row 0"),
    "array-text": (TABLE.astype(str), "column 'a' .* in row 0, which is not a number: encode or drop it"),
    "array-structured": (np.zeros((2, 3), dtype=[("u", float), ("v", float)]), r"holds \(0.0, 0.0\) in row 0"),
    "objects-text": (cell("x", object), "column 'b' .* holds 'x' in row 3"),
    "objects-none": (cell(None, object), "missing value in row 3, column 'b'"),
    "objects-date": (cell(DATE, object), "column 'b' .*2020.* in row 3"),
    "objects-huge": (cell(10**400, object), "column 'b' .* in row 3, which is not a number"),
    "list-text": ([["u", 1.0, 2.0], ["v", 1.0, 2.0]], "column 'a' .* holds 'u' in row 0"),
    "list-none": ([[1.0, 2.0, 3.0], [None, 1.0, 2.0]], "missing value in row 1, column 'a'"),
    "list-huge": ([[1, 2, 10**400], [1, 2, 3]], "column 'c' .* in row 0"),
    "pandas-nan": (pandas_column([*LAST, np.nan]), "missing value in row 39, column 'b'"),
    "pandas-inf": (pandas_column([*LAST, np.inf]), "infinite value in row 39, column 'b'"),
    "pandas-none": (pandas_column(None), r"missing value in row 0, column 'b' \(40 such cells"),
    "pandas-na": (pandas_column(pd.array([1] * 39 + [None], dtype="Int64")), "missing value in row 39, column 'b'"),
    "pandas-object-na": (pandas_column(pd.Series([*LAST, pd.NA], dtype=object)), "missing value in row 39, column 'b'"),
    "pandas-text": (pandas_column("x"), "column 'b' .* holds 'x' in row 0"),
    "pandas-categories": (pandas_column(pd.Categorical(["u", "v"] * 20)), "column 'b' .* holds 'u' in row 0"),
    "pandas-dates": (pandas_column(pd.Timestamp("2020-01-01")), "column 'b' .*2020.* in row 0"),
    "pandas-timedeltas": (pandas_column(pd.Timedelta("1s")), "column 'b' .*imedelta.* in row 0"),
    "pandas-complex": (pandas_column(1j), "column 'b' .* holds 1j in row 0"),
    "pandas-lists": (pandas_column(pd.Series([[1, 2]] * 40)), r"column 'b' .* holds \[1, 2\] in row 0"),
    "pandas-decimals": (pandas_column(pd.Series([decimal.Decimal(1)] * 40)), "column 'b' .*Decimal.* in row 0"),
    "polars-nan": (polars_column([*LAST, np.nan]), "missing value in row 39, column 'b'"),
    "polars-null": (polars_column([1] * 39 + [None]), "missing value in row 39, column 'b'"),
    "polars-all-null": (polars_column([None] * 40), "missing value in row 0, column 'b'"),
    "polars-text": (polars_column(["x"] * 40), "column 'b' .* holds 'x' in row 0"),
    "polars-dates": (polars_column([DATE] * 40), "column 'b' .*2020.* in row 0"),
    "polars-structs": (polars_column([{"u": 1}] * 40), "column 'b' "),
    "polars-lists": (polars_column([[1]] * 40), "column 'b' .* in row 0"),
    "arrow-null": (arrow_column([1.0] * 39 + [None]), "missing value in row 39, column 'b'"),
    "arrow-all-null": (arrow_column([None] * 40), "missing value in row 0, column 'b'"),
    "arrow-text": (arrow_column(["x"] * 40), "column 'b' .* holds 'x' in row 0"),
    "arrow-dates": (arrow_column([DATE] * 40), "column 'b' .*2020.* in row 0"),
}

# Missing cells and text in the table to explain are bad where the background has none; a background may have them.
FINE_IN_BACKGROUND = {
    *("array-nan", "array-masked", "array-text", "objects-none", "list-text", "list-none", "pandas-nan", "pandas-na"),
    *("pandas-object-na", "pandas-text", "pandas-categories", "polars-nan", "polars-null", "polars-text"),
    *(
        "pandas-dates",
        "polars-dates",
        "arrow-dates",
        "arrow-null",
        "arrow-text",
        "pandas-none",
        "polars-all-null",
        "arrow-all-null",
    ),
}
BAD_IN_BACKGROUND = {name: case for name, case in BAD_CELLS.items() if name not in FINE_IN_BACKGROUND}

BAD_SHAPES = {
    "empty-array": (np.empty((0, 3)), "0 rows and 3 columns"),
    "no-columns": (np.empty((40, 0)), "40 rows and 0 columns"),
    "empty-list": ([], "0 rows and 0 columns"),
    "list-of-empty-lists": ([[], []], "2 rows and 0 columns"),
    "empty-pandas": (FRAME[:0], "0 rows and 3 columns"),
    "empty-polars": (pl.from_pandas(FRAME)[:0], "0 rows and 3 columns"),
    "empty-arrow": (pa.table(dict.fromkeys(NAMES, pa.array([], pa.float64()))), "0 rows and 3 columns"),
    "ragged": ([[1, 2, 3], [1, 2]], "rows have different lengths"),
    "3-d": (np.zeros((2, 2, 3)), re.escape("(2, 2, 3)")),
    "number": (3.0, re.escape("float has the shape ()")),
    "none": (None, "NoneType has the shape"),
    "text": ("abc", "str has the shape"),
    "set": ({1.0, 2.0}, "set has the shape"),
    "lazy": (pl.LazyFrame({"a": [1.0]}), "LazyFrame has the shape"),
    "repeated-pandas": (pd.DataFrame(TABLE, columns=["a", "b", "b"]), "more than once.*'b'.*rename"),
    "repeated-arrow": (pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"]), "more than once.*'a'.*rename"),
    "repeated-as-text": (pd.DataFrame(TABLE, columns=["1", 1, "c"]), r"\['1'\] appear more than once"),
}

WRONG_COLUMNS = {
    "too-few": (TABLE[:, :2], r"2 columns and 3 are expected: \['a', 'b', 'c'\]"),
    "too-many": (np.zeros((2, 4)), "4 columns and 3 are expected"),
    "short-row": ([1.0, 2.0], "2 columns and 3 are expected"),
    "missing-pandas": (FRAME[["a", "c"]], r"2 columns and 3 are expected: missing \['b'\]$"),
    "unknown-pandas": (FRAME.assign(z=1.0), r"4 columns and 3 are expected: unknown \['z'\]$"),
    "renamed-polars": (pl.from_pandas(FRAME).rename({"c": "z"}), r"missing \['c'\], unknown \['z'\]"),
    "missing-arrow": (pa.table({"a": [1.0], "b": [2.0]}), r"missing \['c'\]"),
    "series-of-a-column": (FRAME["a"], "40 columns and 3 are expected"),
    "no-columns-pandas": (pd.DataFrame(), "is empty: it has 0 rows and 0 columns"),
    "dicts": ([{"a": 1.0, "b": 2.0}], r"missing \['c'\]"),
}


def cases(table):
    return [pytest.param(*case, id=name) for name, case in table.items()]


@pytest.fixture(scope="module")
def explainer():
    return xcid.Explainer(first_above_zero, FRAME, generator=Marginal(m=10))


@pytest.fixture(scope="module")
def explanation(explainer):
    return explainer(TABLE[:3])


class TestTables:
    @pytest.mark.parametrize(("table", "message"), cases(BAD_CELLS | BAD_SHAPES | WRONG_COLUMNS))
    def test_to_explain(self, explainer, table, message):
        with pytest.raises(InvalidData, match=message):
            explainer.space.encode(table)
        if "missing value" not in message:
            with pytest.raises(InvalidData, match=message):
                explainer(table)

    @pytest.mark.parametrize(
        "table", [pytest.param(table, id=name) for name, (table, said) in BAD_CELLS.items() if "missing value" in said]
    )
    def test_the_model_decides_about_missing_cells(self, explainer, table):
        """This one is a function of another column, and takes all of them."""
        with pytest.warns(XcidWarning, match=r"\d+ of \d+ rows: levels or missing cells .* the model accepted them"):
            found = explainer(table)
        assert not np.isin(found.status, ["unseen_value", "model_failed"]).any()
        assert "missing" in [found.shown(row, name) for row in range(len(found)) for name in NAMES]

    @pytest.mark.parametrize(("table", "message"), cases(BAD_IN_BACKGROUND | BAD_SHAPES))
    def test_as_background(self, table, message):
        message = re.sub("'([abc])'", r"'(\1|x[012])'", message)  # an array has names of its own
        with pytest.raises(InvalidData, match=message):
            xcid.Explainer(first_above_zero, table)

    @pytest.mark.parametrize(
        "table", [TABLE[:1], TABLE[0], FRAME[:1], pl.from_pandas(FRAME)[:1], FRAME["a"]], ids=lambda t: type(t).__name__
    )
    def test_background_of_one_row(self, table, approved):
        with approved.raises(InvalidData):
            xcid.Explainer(first_above_zero, table)

    @pytest.mark.parametrize("name", ["pandas-none", "polars-all-null", "arrow-all-null"])
    def test_background_column_that_is_all_missing(self, name, approved):
        with approved.raises(InvalidData):
            xcid.Explainer(first_above_zero, BAD_CELLS[name][0])

    def test_message_names_the_table(self, explainer, approved):
        with approved.raises(InvalidData):
            explainer.space.encode(cell(np.nan))
        with approved.raises(InvalidData):
            xcid.Explainer(first_above_zero, cell(np.inf))

    def test_family_is_also_valueerror(self, explainer):
        with pytest.raises(ValueError, match="row 3"):
            explainer(cell(np.inf))


class Proba:
    """A model with predict_proba alone."""

    def __init__(self, answer):
        self.predict_proba = answer


class Labels:
    """A model with predict alone."""

    def __init__(self, answer):
        self.predict = answer


def later(first, then):
    """A model that answers differently from its second call on."""
    calls = []

    def model(X):
        calls.append(len(X))
        return (first if len(calls) == 1 else then)(X)

    return model


def probability(X):
    return first_above_zero(X).astype(float)


def failing(X):
    raise KeyError("no such pipeline step")


BAD_MODELS = {
    "too-many-rows": (lambda X: np.zeros(len(X) + 1), r"shape \(41,\) for 40 rows"),
    "too-few-rows": (lambda X: np.zeros((len(X) - 1, 2)), r"shape \(39, 2\) for 40 rows"),
    "3-d": (lambda X: np.zeros((len(X), 2, 2)), r"shape \(40, 2, 2\) for 40 rows"),
    "0-d": (lambda X: 0.5, r"shape \(\) for 40 rows"),
    "none": (lambda X: None, r"shape \(\) for 40 rows"),
    "empty": (lambda X: [], r"shape \(0,\) for 40 rows"),
    "no-columns": (lambda X: np.zeros((len(X), 0)), r"shape \(40, 0\)"),
    "ragged": (lambda X: [[1, 2]] * (len(X) - 1) + [[1]], "the model failed on 40 rows: ValueError"),
    "text-probabilities": (Proba(lambda X: np.full((len(X), 2), "x")), "not numbers but <U1"),
    "complex": (lambda X: np.full((len(X), 2), 1j), "not real numbers but complex128"),
    "nan": (lambda X: np.full((len(X), 2), np.nan), r"gave \[nan, nan\] for row 0 of"),
    "nan-probability": (lambda X: np.full(len(X), np.nan), r"gave \[nan, nan\] for row 0 of"),
    "inf": (Proba(lambda X: np.full((len(X), 2), np.inf)), r"gave \[inf, inf\] for row"),
    "one-class": (Proba(lambda X: np.ones((len(X), 1))), r"shape \(40, 1\).*at least two classes"),
    "flat-probabilities": (Proba(probability), r"shape \(40,\).*at least two classes"),
    "mixed-labels": (lambda X: np.array(["u", 1] * len(X), dtype=object)[: len(X)], "labels of different kinds"),
    "none-labels": (Labels(lambda X: np.array([None] * len(X))), "labels of different kinds"),
    "raises": (failing, "failed on 40 rows: KeyError: 'no such pipeline step'"),
    "not-fitted": (LogisticRegression(), "failed on 40 rows: NotFittedError"),
    "no-model": (object(), "needs predict_proba, predict or a call; object has none"),
    "nothing": (None, "NoneType has none"),
    "later-more-columns": (
        later(lambda X: np.full((len(X), 2), 0.5), lambda X: np.full((len(X), 3), 0.5)),
        r"shape \(1, 3\); 2 columns came before",
    ),
    "later-flat": (later(lambda X: np.full((len(X), 2), 0.5), probability), r"shape \(1,\); 2 columns came before"),
    "later-columns": (later(probability, lambda X: np.full((len(X), 2), 0.5)), r"shape \(1, 2\); one number or label"),
    "later-label-columns": (
        later(first_above_zero, lambda X: np.zeros((len(X), 2), dtype=int)),
        r"shape \(1, 2\); one number or label",
    ),
    "later-text": (later(probability, lambda X: np.full(len(X), "u")), "not numbers but <U1"),
    "later-raises": (later(probability, failing), "failed on 1 row: KeyError"),
}


class TestModels:
    @pytest.mark.parametrize(("model", "message"), cases(BAD_MODELS))
    def test_refused(self, model, message):
        with pytest.raises(ModelError, match=message):
            xcid.Explainer(model, TABLE)(TABLE[:2])

    def test_cause_is_kept(self):
        with pytest.raises(ModelError) as caught:
            xcid.Explainer(failing, TABLE)
        assert isinstance(caught.value.__cause__, KeyError)

    def test_bad_row_is_named(self):
        def model(X):
            return np.where(np.asarray(X)[:, :1] == TABLE[1, 0], np.nan, [[0.4, 0.6]])

        with pytest.raises(ModelError, match="for row 1 of 40"):
            xcid.Explainer(model, TABLE)(TABLE[:3])

    @pytest.mark.parametrize("build", [xcid.Explainer, xcid.Explainer.paper])
    def test_always_the_same_class(self, build):
        model = DummyClassifier(strategy="most_frequent").fit(TABLE, TABLE[:, 0] > 0)
        with pytest.raises(
            NotEnoughFlips, match=r"all 40 reference rows.*one class only.*row 0 has 0 flips and \d+ others"
        ):
            build(model, TABLE)(TABLE[:2])


NOT_WHOLE = [2.5, 50.0, "50", None, True, np.nan, [3]]


class TestParameters:
    @pytest.mark.parametrize("generator", [Marginal, Random])
    @pytest.mark.parametrize("m", [1, 0, -3])
    def test_too_small_m(self, approved, generator, m):
        with approved.raises(InvalidParameter):
            generator(m=m)

    @pytest.mark.parametrize("generator", [Marginal, Random])
    @pytest.mark.parametrize("name", ["m", "max_evaluations"])
    @pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
    def test_not_a_whole_number(self, approved, generator, name, value):
        with approved.raises(InvalidParameter):
            generator(**{name: value})

    def test_m_of_the_paper(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer.paper(first_above_zero, TABLE, m=1)

    @pytest.mark.parametrize("generator", [Marginal, Random])
    def test_too_few_evaluations(self, approved, generator):
        with approved.raises(InvalidParameter):
            generator(m=20, max_evaluations=39)
        assert generator(m=np.int64(20), max_evaluations=40).m == 20

    @pytest.mark.parametrize("pool", [0, -1, *NOT_WHOLE], ids=repr)
    def test_pool(self, approved, pool):
        with approved.raises(InvalidParameter):
            Random(pool=pool)

    @pytest.mark.parametrize("kernel", ["box", None, 3, ["gaussian"]], ids=repr)
    def test_kernel(self, approved, kernel):
        with approved.raises(InvalidParameter):
            Kernel(kernel)

    @pytest.mark.parametrize("bandwidth", ["wide", 0, -1.0, np.nan, np.inf, None, [1.0]], ids=repr)
    def test_bandwidth(self, approved, bandwidth):
        with approved.raises(InvalidParameter):
            Kernel(bandwidth=bandwidth)

    @pytest.mark.parametrize("tolerance", [0, 1, 1e-9, np.nan, "fine", None], ids=repr)
    def test_tolerance(self, approved, tolerance):
        with approved.raises(InvalidParameter):
            Kernel(tolerance=tolerance)

    @pytest.mark.parametrize(
        "settings",
        [
            {"share": 0},
            {"share": 1.5},
            {"share": "x"},
            {"repeats": 1},
            {"repeats": 2.5},
            {"kernel": "gaussian"},
        ],
        ids=str,
    )
    def test_mixed(self, approved, settings):
        with approved.raises(InvalidParameter):
            Mixed(**settings)

    @pytest.mark.parametrize("k", [0, 0.99, -1, np.nan, np.inf, "1", None, [1, 2]], ids=repr)
    def test_k(self, approved, k):
        with approved.raises(InvalidParameter):
            Overlap(k)
        with approved.raises(InvalidParameter):
            xcid.distances.d_k([1.0], [1.0], [1.0], k=k)

    def test_score_and_density(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer(first_above_zero, TABLE, score=xcid.scores.PerFeature(), density=Kernel())

    @pytest.mark.parametrize("part", ["generator", "score", "density", "outcome"])
    @pytest.mark.parametrize("value", ["random", 3])
    def test_parts_that_cannot_be_called(self, approved, part, value):
        with approved.raises(InvalidParameter):
            xcid.Explainer(first_above_zero, TABLE, **{part: value})

    @pytest.mark.parametrize(
        "outcome",
        [
            lambda outputs, reference: None,
            lambda outputs, reference: np.zeros(3),
            lambda outputs, reference: outputs,
            lambda outputs, reference: np.full(len(outputs), np.nan),
            lambda outputs, reference: np.full(len(outputs), "yes"),
            lambda outputs, reference: np.full(len(outputs), 2.0),
        ],
        ids=["none", "three", "columns", "nan", "text", "above 1"],
    )
    def test_outcome_of_the_wrong_shape(self, approved, outcome):
        explainer = xcid.Explainer(first_above_zero, TABLE, outcome=outcome, generator=Marginal(m=10))
        with approved.raises(InvalidParameter):
            explainer(TABLE[:1])

    @pytest.mark.parametrize("seed", [1.5, "0", None, True, [1], np.nan], ids=repr)
    def test_seed(self, approved, explainer, seed):
        with approved.raises(InvalidParameter):
            explainer(TABLE[:1], seed=seed)

    def test_seeds_of_any_size_and_library(self, explainer):
        assert np.array_equal(explainer(TABLE[:1], seed=np.int64(3)).values, explainer(TABLE[:1], seed=3).values)
        for seed in (-1, 2**70):
            assert explainer(TABLE[:1], seed=seed).status[0] == "ok"

    @pytest.mark.parametrize(
        "settings",
        [
            {"memory": 0},
            {"memory": "1 GB"},
            {"max_evidence_bytes": -1},
            {"max_evidence_bytes": 1.5},
            {"feature_names": ["a", "b"]},
            {"feature_names": "abc"},
            {"feature_names": 3},
        ],
        ids=str,
    )
    def test_settings_of_the_explainer(self, approved, settings):
        with approved.raises(InvalidParameter):
            xcid.Explainer(first_above_zero, TABLE, **settings)

    def test_repeated_feature_names(self, approved):
        with approved.raises(InvalidData):
            xcid.Explainer(first_above_zero, TABLE, feature_names=["a", "b", "b"])

    def test_names_that_differ_from_the_frame(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer(first_above_zero, FRAME, feature_names=["u", "v", "w"])


class TestSelections:
    @pytest.mark.parametrize(
        ("row", "feature"),
        [
            (3, 0),
            (-4, 0),
            ("x", 0),
            (1.0, 0),
            (None, 0),
            (0, 3),
            (0, "z"),
            (0, "A"),
            (0, 1.5),
            (0, [1]),
        ],
    )
    def test_evidence(self, approved, explanation, row, feature):
        with approved.raises(InvalidParameter):
            explanation.evidence(row, feature)

    @pytest.mark.parametrize("rows", [3, -4, "x", None, 1.5, [5], [True], (0, 1), True, [[0]], slice("x")], ids=repr)
    def test_rows(self, approved, explanation, rows):
        with approved.raises(InvalidParameter):
            explanation[rows]

    @pytest.mark.parametrize("backend", ["dask", "numpy", None, 3], ids=repr)
    def test_backend(self, approved, explanation, backend):
        with approved.raises(InvalidParameter):
            explanation.to_frame(backend)
        with approved.raises(InvalidParameter):
            xcid.datasets.load_diabetes(backend)


class TestOneFeature:
    @pytest.mark.parametrize("name", ["positive", "negative"])
    @pytest.mark.parametrize(
        "sample",
        [
            [],
            3.0,
            [[1.0, 2.0]],
            [1.0, np.nan],
            [1.0, 2.0, -np.inf],
            [1.0, None],
            ["1", "2"],
            "abc",
            [[1], [1, 2]],
            [1j],
            pytest.param([10**400], id="huge"),
            np.array(["2020"], dtype="datetime64[Y]"),
            None,
        ],
        ids=str,
    )
    def test_bad_sample(self, approved, name, sample):
        samples = {"positive": [1.0, 2.0], "negative": [2.0, 3.0], name: sample}
        with approved.raises(InvalidData):
            xcid.d1(**samples)

    def test_bad_density(self, approved):
        with approved.raises(InvalidParameter):
            xcid.d1([1.0, 2.0], [2.0, 3.0], density="gaussian")


@pytest.mark.parametrize("function", [xcid.distances.overlap, xcid.distances.d_k])
@pytest.mark.parametrize("name", ["p", "q", "weights"])
@pytest.mark.parametrize(
    "value",
    [
        1.0,
        None,
        [1.0, np.nan],
        [np.inf, 1.0],
        [[1.0, 1.0], [1.0, -1.0]],
        ["u", "v"],
        [[1.0], [1.0, 2.0]],
        [1j, 1.0],
        [1.0, 1.0, 1.0],
    ],
    ids=str,
)
def test_arrays_of_distances(approved, function, name, value):
    arrays = {"p": [1.0, 1.0], "q": [1.0, 1.0], "weights": [0.5, 0.5], name: value}
    with approved.raises(InvalidData):
        function(**arrays)
