"""The explorer without a browser: what it tells a page, what it takes from one, and who may ask at all."""

from __future__ import annotations

import json
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import xcid
import xcid.show.report
from xcid import app
from xcid.app.description import RowIndex, describe
from xcid.app.requests import Ban, Pins
from xcid.errors import InvalidData, InvalidParameter, ModelError
from xcid.outcomes import Flip, Interval, Threshold, ToClass

starlette = pytest.importorskip("starlette", reason="needs the extra app")
anyio = pytest.importorskip("anyio")
httpx = pytest.importorskip("httpx")

TOKEN = "a-token"
HOSTS = ["127.0.0.1:8000", "localhost:8000"]


def make_table(n_rows=200):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(n_rows, 2)).round(2), columns=["first", "second"])
    table["count"] = random.integers(0, 30, n_rows)
    table["city"] = random.choice(["Zwolle", "Alkmaar", "Breda", None], n_rows)
    table["member"] = random.choice([True, False], n_rows)
    table["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n_rows), unit="D")
    table.loc[::9, "second"] = np.nan
    return table


NAMES = list(make_table(5))
PLAIN = {"frozen": [], "forbidden": [], "question": {"kind": "flip"}, "target": 0, "feature": 0}


def odds(X):
    score = 2 * X["first"] + X["second"].fillna(0.7) + (X["city"] == "Breda") - 0.05 * X["count"] + 0.5 * X["member"]
    return score.to_numpy(dtype=float)


class Two:
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        yes = 1 / (1 + np.exp(-odds(X)))
        return np.column_stack([1 - yes, yes])


class Three(Two):
    classes_ = np.array(["low", "middle", "high"])

    def predict_proba(self, X):
        at = np.exp(np.column_stack([-odds(X), np.full(len(X), 0.3), odds(X)]))
        return at / at.sum(axis=1, keepdims=True)


class Number:
    def predict(self, X):
        return 100 + 10 * odds(X)


class Labels:
    classes_ = np.array(["no", "yes"])

    def predict(self, X):
        return self.classes_[(odds(X) > 0).astype(int)]


@pytest.fixture(scope="module")
def table():
    return make_table()


def bench_of(model, table):
    return app.Session(model, table, table[:8], title="A title", notes=["A note."], words={"first": "what it is"})


@pytest.fixture(scope="module")
def two(table):
    return bench_of(Two(), table)


@pytest.fixture(scope="module")
def three(table):
    return bench_of(Three(), table)


@pytest.fixture(scope="module")
def number(table):
    return bench_of(Number(), table)


def request(session, row=0, **changes):
    own = session.describe()["rows"][row]["cells"]
    cells = list(own)
    for name, cell in changes.pop("edits", {}).items():
        cells[NAMES.index(name)] = cell
    kind = session.describe()["questions"][0]
    question = {name: kind[name] for name in ("kind", "half_width") if name in kind}
    given = {"own": own, "frozen": [], "forbidden": [], "question": question, "target": 0, "feature": 0}
    return {"cells": cells, **given} | changes


def answered(session, **changes):
    return session.explain(json.dumps(request(session, **changes)).encode())


def sought(session, **changes):
    return session.search(json.dumps(request(session, **changes)).encode())


def scores(record):
    return np.array(record["row"]["score"]) * record["unit"]


class TestDescription:
    def test_every_kind_of_feature(self, two, table):
        features = {feature["name"]: feature for feature in two.describe()["features"]}
        assert list(features) == NAMES
        first = features["first"]
        assert (first["kind"], first["low"], first["high"]) == ("number", table["first"].min(), table["first"].max())
        assert first["meaning"] == "what it is"
        assert (features["count"]["low"], features["count"]["high"], features["count"]["step"]) == (0, 29, 1)
        assert features["city"]["levels"] == ["Alkmaar", "Breda", "Zwolle"]
        assert features["member"]["levels"] == ["False", "True"]
        assert features["when"]["unit"] == "D"
        assert [name for name in NAMES if features[name]["missing"]] == ["second", "city"]

    def test_rows(self, two, table):
        rows = two.describe()["rows"]
        assert [row["name"] for row in rows] == [str(at) for at in range(8)]
        assert rows[0]["cells"][1] is None  # missing
        assert np.allclose([row["outputs"] for row in rows], Two().predict_proba(table[:8]), atol=1e-4)

    def test_a_slider_reaches_rows_beyond_the_background(self, table):
        far = table[:1].assign(first=50.0)
        explainer = xcid.Explainer(Two(), table)
        (feature, *_) = describe(explainer, RowIndex.of(explainer.space, far))["features"]
        assert feature["high"] == 50.0
        assert feature["usual"] == [table["first"].min(), table["first"].max()]

    def test_it_is_plain_json(self, two, three, number):
        for session in (two, three, number):
            json.dumps(session.describe(), allow_nan=False)

    def test_questions(self, two, three, number, table):
        benches = {"two": two, "three": three, "number": number, "labels": bench_of(Labels(), table)}
        kinds = {name: [one["kind"] for one in bench.describe()["questions"]] for name, bench in benches.items()}
        assert kinds["two"] == kinds["three"] == ["flip", "class", "threshold"]
        assert kinds["number"] == ["move", "interval", "threshold"]
        assert kinds["labels"] == ["flip", "class"]


class TestAnswers:
    def test_the_row_as_it_is(self, two, table):
        record = answered(two)
        due = xcid.Explainer(Two(), table)(table[:1])
        assert np.allclose(scores(record), due.values[0], atol=0.51 * record["unit"])
        assert record["row"]["sentences"] == list(xcid.show.report.summary(due))
        assert record["outputs"][0] == [1, pytest.approx(due.outputs[0].max(), abs=1e-3)]
        assert len(record["row"]["lower"]) == len(record["row"]["p"]) == len(NAMES)
        assert {picture["kind"] for picture in record["evidence"]} == {"number", "levels"}
        json.dumps(record, allow_nan=False)

    def test_an_edited_row(self, two, table):
        edits = {"first": -3.5, "second": 0.25, "count": 7, "city": 1, "member": 0, "when": 18_300}
        record = answered(two, edits=edits)
        row = table[:1].assign(first=-3.5, second=0.25, count=7, city="Breda", member=False)
        row["when"] = pd.Timestamp("1970-01-01") + pd.Timedelta(days=18_300)
        due = xcid.Explainer(Two(), table)(row)
        assert record["row"]["cells"] == [due.shown(0, name) for name in NAMES]
        assert np.allclose(scores(record), due.values[0], atol=0.51 * record["unit"])

    def test_missing_cells(self, two):
        record = answered(two, row=1, edits={"second": None, "city": None})
        assert record["row"]["cells"][1] == record["row"]["cells"][3] == "missing"

    @pytest.mark.parametrize(
        ("bench", "question", "outcome"),
        [
            ("two", {"kind": "flip"}, Flip(soft=True)),
            ("two", {"kind": "class", "target": 0}, ToClass("no", soft=True)),
            ("two", {"kind": "threshold", "target": 1, "level": 0.3}, Threshold(0.3, "yes")),
            ("three", {"kind": "flip"}, Flip(soft=True)),
            ("three", {"kind": "class", "target": 2}, ToClass("high", soft=True)),
            ("three", {"kind": "threshold", "target": 1, "level": 0.4}, Threshold(0.4, "middle")),
            ("number", {"kind": "move"}, Interval(soft=True)),
            ("number", {"kind": "interval", "half_width": 4}, Interval(4)),
            ("number", {"kind": "threshold", "target": 0, "level": 105.5}, Threshold(105.5)),
        ],
    )
    def test_every_question(self, bench, question, outcome, table, request):
        session = request.getfixturevalue(bench)
        record = answered(session, row=3, question=question)
        due = xcid.Explainer(session.model, table, outcome=outcome)(table[3:4])
        assert record["question"] == due.question
        assert np.allclose(scores(record), due.values[0], atol=0.51 * record["unit"])
        assert record["row"]["sentences"] == list(xcid.show.report.summary(due))

    @pytest.mark.parametrize("bench", ["two", "three", "number"])
    def test_the_page_opens_on_what_a_report_says(self, bench, table, request, tmp_path):
        """One row, one question: the words, the counts, d1 and what values are worth are those of a report."""
        session = request.getfixturevalue(bench)
        xcid.Explainer(session.model, table)(table[3:4]).report(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text("utf-8")
        found = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
        record = answered(session, row=3)
        for name in ("question", "phrases", "signed", "scale", "unit"):
            assert record[name] == found[name], name
        for name in ("sentences", "sum", "effects", "hangs", "flips", "tried", "d1", "alone", "score", "worth"):
            assert record["row"].get(name) == found["rows"][0].get(name), name
        assert session.describe()["what_would"] == found["what_would"]

    def test_labels_only(self, table):
        record = answered(bench_of(Labels(), table), question={"kind": "class", "target": 0})
        assert record["row"]["sentences"][0] in ("The model predicts no.", "The model predicts yes.")

    def test_frozen_features(self, two, table):
        record = answered(two, frozen=[0, 3])
        assert record["row"]["fixed"] == [[0, "frozen"], [3, "frozen"]]
        due = xcid.Explainer(Two(), table, constraints=xcid.Constraints(frozen=["first", "city"]))(table[:1])
        assert np.allclose(scores(record), due.values[0], atol=0.51 * record["unit"])
        touched = {name for found in sought(two, frozen=[0, 3])["counterfactuals"] for name, *_ in found["changes"]}
        assert touched
        assert not touched & {"first", "city"}

    def test_a_question_with_one_side(self, two):
        question = {"kind": "threshold", "target": 1, "level": 5}
        record = answered(two, question=question)
        assert "Nothing that was tried" in record["problem"]
        assert record["outputs"]
        assert "row" not in record
        (found,) = sought(two, question=question)["counterfactuals"]
        assert found["kind"] == "not reached"

    def test_the_same_request_has_the_same_answer(self, two):
        assert answered(two, row=2) == answered(two, row=2)

    def test_many_features_bring_few_pictures(self):
        table = np.random.default_rng(0).normal(size=(120, 44))
        session = app.Session(lambda X: X[:, 0] + X[:, 1] > 0, table, table[:1])
        cells = table[0].tolist()
        asked = {"cells": cells, **PLAIN, "own": cells}
        drawn = session.explain(json.dumps(asked).encode())["evidence"]
        without = [at for at, picture in enumerate(drawn) if picture is None]
        assert len(without) == 4
        again = session.explain(json.dumps(asked | {"feature": without[0]}).encode())["evidence"]
        assert again[without[0]] is not None

    def test_no_warning_gets_through(self, table):
        rare = app.Session(
            lambda X: (X[:, 0] > 2.3).astype(float), np.random.default_rng(0).normal(size=(300, 2)), [[0.0, 0.0]]
        )
        asked = {"cells": [0.0, 0.0], **PLAIN, "own": [0.0, 0.0], "frozen": [0]}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rare.explain(json.dumps(asked).encode())


def in_force(session, **changes):
    """What a search finds, its changed rows as requests have them, and the row that they start from."""
    asked = request(session, **changes)
    found = session.search(json.dumps(asked).encode())["counterfactuals"]
    return found, np.array([one["cells"] for one in found], dtype=float), np.array(asked["cells"], dtype=float)


class TestSearch:
    def test_it_is_the_search_of_the_explainer(self, two, table):
        found, due = sought(two, row=3)["counterfactuals"], xcid.Explainer(Two(), table).counterfactuals(table[3:4])
        assert [one["kind"] for one in found] == list(due.kind)
        assert np.allclose([one["output"] for one in found], due.output, rtol=1e-3)
        assert np.allclose([one["was"] for one in found], due.was, rtol=1e-3)
        for line, one in enumerate(found):
            assert [tuple(change[:3]) for change in one["changes"]] == [change[:3] for change in due.changes(line)]
            assert sum(change[3] for change in one["changes"]) == pytest.approx(one["output"] - one["was"], abs=1e-3)
            assert one["likeness"] == due.likeness[line]

    def test_refits_say_how_likely_changes_last(self, table):
        numbers = table[["first", "count"]]
        model = LogisticRegression().fit(numbers, odds(table) > 0)
        refits = xcid.refits(model, numbers, odds(table) > 0, n=4)
        session = app.Session(model, numbers, numbers[:8], refits=refits)
        body = {**PLAIN, "cells": session.describe()["rows"][3]["cells"]}
        body["own"] = body["cells"]
        body["question"] = {"kind": session.describe()["questions"][0]["kind"]}
        found = session.search(json.dumps(body).encode())["counterfactuals"]
        due = xcid.Explainer(model, numbers, refits=refits).counterfactuals(numbers[3:4])
        assert [one["kind"] for one in found] == list(due.kind)
        assert any("steady" in one["kind"] for one in found)
        assert [one["survival"] for one in found] == [f"{due.survives(at)} likely to last" for at in range(len(due))]
        assert "refits=refits" in session.code(json.dumps(body).encode())["code"]

    @pytest.mark.parametrize("bench", ["two", "three", "number"])
    def test_what_is_applied_has_the_output_that_was_promised(self, bench, request):
        session = request.getfixturevalue(bench)
        for one in sought(session, row=3)["counterfactuals"]:
            names = [session.describe()["features"][at]["name"] for at in one["columns"]]
            assert names == [change[0] for change in one["changes"]]
            there = answered(session, row=3, cells=one["cells"])
            outputs = {
                session.describe()["classes"][at] if one["about"] else "": value for at, value in there["outputs"]
            }
            assert outputs[one["about"]] == pytest.approx(one["output"], rel=2e-3)

    def test_what_is_forbidden_does_not_happen(self, two):
        """The first change of all is forbidden, again and again, until nothing is left."""
        bans, features = [], two.describe()["features"]
        while True:
            found, cells, own = in_force(two, row=3, forbidden=bans)
            for at, change in bans:
                moved = cells[:, at] - own[at]
                is_broken = {"rise": moved > 0, "fall": moved < 0}.get(change, (cells[:, at] == change) & (moved != 0))
                assert not is_broken.any()
            if not found[0]["columns"]:
                break
            at = found[0]["columns"][0]
            bans.append(
                [at, int(cells[0, at]) if "levels" in features[at] else "rise" if cells[0, at] > own[at] else "fall"]
            )
        assert found[0]["kind"] == "not reached"
        assert len(bans) >= 4

    def test_targets(self, two, three, number):
        assert two.describe()["targets"] == ["what the question asks"]
        assert three.describe()["targets"] == ["what the question asks", "low", "middle", "high"]
        for at, name in enumerate(["low", "middle", "high"], start=1):
            assert {one["about"] for one in sought(three, row=3, target=at)["counterfactuals"]} == {name}
        for at, sign in ((1, 1), (2, -1)):
            for one in sought(number, row=3, target=at)["counterfactuals"]:
                assert sign * (one["output"] - one["was"]) >= 0.1 * abs(one["was"]) * 0.99

    def test_what_people_cannot_change_is_said(self, table):
        aged = table.rename(columns={"first": "age"})

        class Aged(Two):
            def predict_proba(self, X):
                return super().predict_proba(X.rename(columns={"age": "first"}))

        hints = sought(app.Session(Aged(), aged, aged[:8]), row=3)["notes"]
        assert hints == ["If people cannot change age, pin it."]
        assert sought(app.Session(Aged(), aged, aged[:8]), row=3, frozen=[0])["notes"] == []


class TestPins:
    def test_as_constraints(self, two):
        columns = two.explainer().space.columns
        bans = [Ban(1, "rise"), Ban(2, "rise"), Ban(2, "fall"), Ban(3, 1), Ban(4, 0), Ban(4, 1)]
        limits = Pins((0,), tuple(bans)).constraints(columns)
        assert limits.frozen == ("first", "count", "member")
        assert limits.monotone == {"second": "falls"}
        assert limits.levels == {"city": ["Alkmaar", "Zwolle"]}

    def test_none(self, two):
        assert Pins().constraints(two.explainer().space.columns) == xcid.Constraints()


def coded(session, **changes):
    """Run the code of a request, with what the page was made of."""
    code = session.code(json.dumps(request(session, **changes)).encode())["code"]
    found = {"model": session.model, "reference": session.reference}
    exec(code, found)  # what a reader would do with it
    return found


class TestCode:
    @pytest.mark.parametrize(
        ("bench", "question", "target"),
        [
            ("two", {"kind": "flip"}, 0),
            ("two", {"kind": "class", "target": 0}, 0),
            ("two", {"kind": "threshold", "target": 1, "level": 0.3}, 0),
            ("three", {"kind": "flip"}, 2),
            ("number", {"kind": "move"}, 0),
            ("number", {"kind": "interval", "half_width": 4}, 0),
            ("number", {"kind": "threshold", "target": 0, "level": 105.5}, 1),
        ],
    )
    def test_it_repeats_what_the_page_shows(self, bench, question, target, request):
        session = request.getfixturevalue(bench)
        edits = {"first": 0.35, "second": None, "city": 0, "member": 0, "when": 18_300}
        asked = {"row": 3, "edits": edits, "question": question, "target": target, "frozen": [2]}
        asked["forbidden"] = [[0, "rise"], [3, 2]]
        found = coded(session, **asked)
        record = answered(session, **asked)
        assert np.allclose(scores(record), found["explanation"].values[0], atol=0.51 * record["unit"])
        due = sought(session, **asked)["counterfactuals"]
        assert [one["kind"] for one in due] == list(found["counterfactuals"].kind)
        assert np.allclose([one["output"] for one in due], found["counterfactuals"].output, rtol=1e-3)

    def test_the_changes_of_a_counterfactual(self, two):
        found = coded(two, row=3)
        for one in sought(two, row=3)["counterfactuals"]:
            made = {"row": found["row"].copy(), "pd": pd}
            exec("\n".join(one["code"]), made)
            (outputs,) = two.model.predict_proba(made["row"])
            assert dict(zip(two.model.classes_, outputs, strict=True))[one["about"]] == pytest.approx(
                one["output"], rel=1e-3
            )

    def test_only_what_was_asked_is_in_it(self, two):
        code = two.code(json.dumps(request(two, edits={"first": 1.25})).encode())["code"]
        assert code.count("row['") == 1
        assert "row['first'] = 1.25" in code
        assert "Constraints" not in code
        assert "outcome" not in code
        assert "explainer.counterfactuals(row)" in code

    def test_names_are_never_run(self, table):
        evil = "x'] = 1\nraise SystemExit  # \u2028"
        odd = table.rename(columns={"first": evil})
        session = app.Session(lambda X: (X[evil] > 0).to_numpy(), odd, odd[:3])
        body = {**PLAIN, "own": session.describe()["rows"][0]["cells"], "frozen": [1]}
        code = session.code(json.dumps({**body, "cells": [3.5, *body["own"][1:]]}).encode())["code"]
        found = {"model": session.model, "reference": odd}
        exec(code, found)
        assert found["row"][evil].tolist() == [3.5]


class TestExplainers:
    def test_they_are_remembered(self, two):
        assert two.explainer(Pins((1,))) is two.explainer(Pins((1,)))

    def test_but_not_all_of_them(self, table, monkeypatch):
        monkeypatch.setattr(app.session, "MOST_EXPLAINERS", 3)
        session = bench_of(Two(), table)
        first = session.explainer()
        for at in range(5):
            session.explainer(Pins((at,)))
        assert session.explainer.cache_info().currsize == 3
        assert session.explainer() is first

    def test_all_frozen(self, two):
        with pytest.raises(InvalidParameter, match="all features are frozen"):
            answered(two, frozen=list(range(6)))


class TestBadRequests:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"cells": [1, 2]}, "a list of 6 values"),
            ({"cells": "first"}, "a list of 6 values"),
            ({"frozen": [6]}, "from 0 to 5, not 6"),
            ({"frozen": [-1]}, "from 0 to 5"),
            ({"frozen": [True]}, "from 0 to 5"),
            ({"frozen": [1, 1]}, "twice"),
            ({"frozen": ["first"]}, "from 0 to 5"),
            ({"frozen": None}, "must be a list"),
            ({"own": [1, 2]}, "'own' of the request must be a list of 6 values"),
            ({"forbidden": None}, "must be a list"),
            ({"forbidden": [0]}, "a list of a feature and a change"),
            ({"forbidden": [[6, "rise"]]}, "from 0 to 5"),
            ({"forbidden": [[0, "sink"]]}, "must be one of"),
            ({"forbidden": [[0, []]]}, "must be one of"),
            ({"forbidden": [[3, "rise"]]}, "from 0 to 2"),
            ({"target": 1}, "from 0 to 0"),
            ({"target": None}, "whole number"),
            ({"feature": 1.0}, "whole number"),
            ({"question": None}, "must be an object"),
            ({"question": {}}, "has no 'kind'"),
            ({"question": {"kind": "__class__"}}, "must be one of"),
            ({"question": {"kind": ["flip"]}}, "must be one of"),
            ({"question": {"kind": "interval", "half_width": 1}}, "must be one of"),
            ({"question": {"kind": "flip", "target": 0}}, "must have"),
            ({"question": {"kind": "class"}}, "must have"),
            ({"question": {"kind": "class", "target": 2}}, "from 0 to 1"),
            ({"question": {"kind": "class", "target": "yes"}}, "from 0 to 1"),
            ({"question": {"kind": "threshold", "target": 0, "level": "half"}}, "finite number"),
            ({"question": {"kind": "threshold", "target": 0, "level": None}}, "not empty"),
            ({"question": {"kind": "threshold", "target": 0, "level": 10**400}}, "finite number"),
            ({"more": 1}, "must have"),
        ],
    )
    def test_wrong_fields(self, two, changes, words):
        with pytest.raises(InvalidParameter, match=words):
            answered(two, **changes)

    @pytest.mark.parametrize(
        ("edits", "words"),
        [
            ({"first": None}, "'first' cannot be missing"),
            ({"first": "1"}, "the value of 'first' must be a finite number"),
            ({"first": True}, "finite number"),
            ({"first": [1]}, "finite number"),
            ({"count": 2.5}, "'count' cannot be 2.5: its column holds whole numbers"),
            ({"count": 1e300}, "'count' cannot be 1e\\+300: its column holds smaller numbers"),
            ({"when": 1e18}, "cannot"),
            ({"city": "Breda"}, "the level of 'city'"),
            ({"city": 3}, "from 0 to 2"),
            ({"city": 0.5}, "from 0 to 2"),
        ],
    )
    def test_wrong_cells(self, two, edits, words):
        with pytest.raises((InvalidParameter, InvalidData), match=words):
            answered(two, edits=edits)

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"cells": NaN}', b"[-Infinity]", b"[" * 100_000])
    def test_no_json(self, two, body):
        with pytest.raises(InvalidParameter, match="the request is not JSON"):
            two.explain(body)

    @pytest.mark.parametrize("body", [b"[]", b"null", b'"cells"', b"1"])
    def test_no_object(self, two, body):
        with pytest.raises(InvalidParameter, match="the request must be an object"):
            two.explain(body)

    def test_a_half_width_of_nothing(self, number):
        with pytest.raises(InvalidParameter, match="half_width must be a finite number above 0"):
            answered(number, question={"kind": "interval", "half_width": 0})


class Fragile(Two):
    """Fails above a value that the background does not have."""

    def predict_proba(self, X):
        if (X["first"] > 10).any():
            raise ZeroDivisionError("<b>too much</b>")
        return super().predict_proba(X)


def test_errors_of_the_model_are_words(table):
    session = bench_of(Fragile(), table)
    for found in (answered(session, edits={"first": 11}), sought(session, edits={"first": 11})):
        assert "ZeroDivisionError: <b>too much</b>" in found["problem"]
    assert "row" in answered(session)


def test_a_model_that_cannot_be_explained_says_so_at_once(table):
    class Broken:
        def predict(self, X):
            raise RuntimeError("no")

    with pytest.raises(ModelError):
        app.serve(bench_of(Broken(), table), ready=pytest.fail)


@pytest.fixture(scope="module")
def gate(two):
    from xcid.app.server import application

    return application(two, TOKEN, HOSTS)


class TestServer:
    @staticmethod
    def asked(gate, path, method="GET", host="127.0.0.1:8000", **settings):
        async def go():
            transport = httpx.ASGITransport(gate, raise_app_exceptions=False)
            headers = {"Host": host, **settings.pop("headers", {})}
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                return await client.request(method, path, headers=headers, **settings)

        return anyio.run(go)

    def test_the_page_and_its_parts(self, gate):
        page = self.asked(gate, f"/{TOKEN}/")
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        parts = [part.partition('"')[0] for part in page.text.replace('href="#', "").split('href="')[1:]]
        parts += [part.partition('"')[0] for part in page.text.split('src="')[1:]]
        assert len(parts) == 19
        for part in parts:
            assert self.asked(gate, f"/{TOKEN}/{part}").status_code == 200, part

    def test_nothing_is_inline(self, gate):
        text = self.asked(gate, f"/{TOKEN}/").text
        assert "<style" not in text
        assert " style=" not in text
        assert text.count("<script") == text.count("<script src=")
        assert "://" not in text

    @pytest.mark.parametrize("path", ["", "description", "answer", "nothing"])
    def test_headers(self, gate, path):
        headers = self.asked(gate, f"/{TOKEN}/{path}").headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not [name for name in headers if name.startswith("access-control")]

    @pytest.mark.parametrize(
        "path",
        ["/", "", "/description", "/a-toke/", "/a-tokens/", "/A-TOKEN/", f"//{TOKEN}/", f"/x/{TOKEN}/", "/%E2%82%AC/",
         f"/?token={TOKEN}", "/favicon.ico"],
    )  # fmt: skip
    def test_without_the_token(self, gate, path):
        refused = self.asked(gate, path)
        assert refused.status_code == 403
        assert refused.headers["content-type"].startswith("text/plain")
        assert refused.headers["cache-control"] == "no-store"
        assert TOKEN not in refused.text

    @pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000"])
    def test_this_host(self, gate, host):
        assert self.asked(gate, f"/{TOKEN}/", host=host).status_code == 200

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost", "[::1]:8000", ""]
    )
    def test_other_hosts(self, gate, host):
        assert self.asked(gate, f"/{TOKEN}/description", host=host).status_code == 403

    def test_other_origins(self, gate, two):
        body = json.dumps(request(two))
        for origin, status in (("http://127.0.0.1:8000", 200), ("http://evil.example", 403), ("null", 403)):
            headers = {"Origin": origin, "Content-Type": "application/json"}
            found = self.asked(gate, f"/{TOKEN}/answer", "POST", headers=headers, content=body)
            assert found.status_code == status, origin

    def test_answers(self, gate, two):
        code = two.code(json.dumps(request(two)).encode())
        for name, due in (("answer", answered(two)), ("search", sought(two)), ("code", code)):
            found = self.asked(gate, f"/{TOKEN}/{name}", "POST", json=request(two))
            assert (found.status_code, found.json()) == (200, due)

    def test_description(self, gate, two):
        assert self.asked(gate, f"/{TOKEN}/description").json() == two.describe()

    def test_refusals_are_words(self, gate, two):
        wrong = self.asked(gate, f"/{TOKEN}/answer", "POST", json=request(two) | {"cells": []})
        assert wrong.status_code == 400
        assert "a list of 6 values" in wrong.json()["error"]
        plain = self.asked(gate, f"/{TOKEN}/answer", "POST", headers={"Content-Type": "text/plain"}, content=b"{}")
        assert plain.status_code == 415
        long = self.asked(
            gate, f"/{TOKEN}/answer", "POST", headers={"Content-Type": "application/json"}, content=b" " * (2**20 + 1)
        )
        assert long.status_code == 413
        assert self.asked(gate, f"/{TOKEN}/answer").status_code == 405
        assert self.asked(gate, f"/{TOKEN}/none").status_code == 404
        assert self.asked(gate, f"/{TOKEN}/../cli/app.py").status_code in (403, 404)

    @pytest.mark.parametrize("name", ["rows", "comparison", "report", "table", "counterfactuals"])
    def test_what_an_auditor_asks(self, gate, two, name):
        case = {"row": 0, "asked": request(two)}
        body = {"rows": {"find": "", "from": 0}, "comparison": {"first": case, "second": case}}.get(name, case)
        assert self.asked(gate, f"/{TOKEN}/{name}", "POST", json=body).status_code == 200
        assert self.asked(gate, f"/{name}", "POST", json=body).status_code == 403
        assert self.asked(gate, f"/{TOKEN}/{name}").status_code == 405
        for wrong in ({}, [], body | {"more": 1}, {**case, "row": 10**9}, {"find": "<b>", "from": 10**9}):
            refused = self.asked(gate, f"/{TOKEN}/{name}", "POST", json=wrong)
            assert (refused.status_code, [*refused.json()]) == (400, ["error"]), wrong
        headers = {"Content-Type": "application/json"}
        assert self.asked(gate, f"/{TOKEN}/{name}", "POST", headers=headers, content=b"{").status_code == 400
        long = b'{"find": "' + b"x" * 2**20 + b'"}'
        assert self.asked(gate, f"/{TOKEN}/{name}", "POST", headers=headers, content=long).status_code == 413

    def test_a_mistake_of_ours_ends_nothing(self, table):
        from xcid.app.server import application

        class Odd(app.Session):
            def explain(self, body):
                raise LookupError("a mistake")

        gate = application(Odd(Two(), table, table[:2]), TOKEN, HOSTS)
        failed = self.asked(gate, f"/{TOKEN}/answer", "POST", json={})
        assert (failed.status_code, failed.json()) == (500, {"error": "LookupError: a mistake"})
        assert self.asked(gate, f"/{TOKEN}/description").status_code == 200

    def test_work_is_done_one_at_a_time_and_the_queue_is_short(self, table):
        from xcid.app import server

        queue, at_work, most, go = server.WorkQueue(), [], [], threading.Event()

        def work(body):
            at_work.append(body)
            most.append(len(at_work))
            go.wait(5)
            at_work.remove(body)
            return body

        async def crowd():
            found = []

            async def one():
                try:
                    found.append(await queue(work, SimpleNamespace(method="GET")))
                except server.HTTPException as error:
                    found.append(error.status_code)

            async with anyio.create_task_group() as group:
                for _ in range(12):
                    group.start_soon(one)
                with anyio.move_on_after(5):
                    while found.count(503) < 4:
                        await anyio.sleep(0.01)
                go.set()
            return found

        found = anyio.run(crowd)
        assert found.count(503) == 12 - server.MOST_WAITING
        assert max(most) == 1
        assert queue.waiting == 0

    def test_what_is_still_being_sent_is_in_the_queue(self, gate):
        """Half-sent requests hold places of the eight, and the next is told so before it is read."""
        from xcid.app import server

        statuses = []

        async def crowd():
            end = anyio.Event()

            async def slow():
                yield b"{"
                await end.wait()
                yield b"}"

            async def one(client):
                sent = client.post(f"/{TOKEN}/answer", content=slow(), headers={"content-type": "application/json"})
                statuses.append((await sent).status_code)

            transport = httpx.ASGITransport(gate)
            client = httpx.AsyncClient(transport=transport, base_url=f"http://{HOSTS[0]}")
            async with client, anyio.create_task_group() as group:
                for _ in range(12):
                    group.start_soon(one, client)
                with anyio.move_on_after(5):
                    while statuses.count(503) < 12 - server.MOST_WAITING:
                        await anyio.sleep(0.01)
                end.set()

        anyio.run(crowd)
        assert sorted(statuses) == [400] * server.MOST_WAITING + [503] * (12 - server.MOST_WAITING)

    def test_no_web_sockets(self, gate):
        sent = []

        async def send(message):
            sent.append(message)

        async def go():
            await gate({"type": "websocket", "path": f"/{TOKEN}/", "headers": []}, None, send)

        anyio.run(go)
        assert sent == [{"type": "websocket.close"}]


@pytest.mark.slow  # it measures time, which a busy machine has none of
@pytest.mark.parametrize("name", ["diabetes", "heart"])
@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_an_answer_within_a_second(name, kind):
    from xcid.io import training

    made = training.demo(name, kind, 0)
    session = app.Session(made.model, made.background, made.data)
    cells = session.describe()["rows"][0]["cells"]
    asked = {"cells": cells, **PLAIN, "own": cells}
    for work in (session.explain, session.search):
        for frozen in ([], [0]):  # the second needs an explainer of its own
            body, times = json.dumps(asked | {"frozen": frozen}).encode(), []
            for _ in range(3):  # and of the processor's time: other work on the machine is not ours
                if frozen:
                    session.explainer.cache_clear()
                    session.explainer()
                start = time.process_time()
                work(body)
                times.append(time.process_time() - start)
            assert min(times) < 1, (work.__name__, frozen)


def test_it_listens_on_this_machine_only():
    from xcid.app.server import _listen

    with _listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


class TestConnections:
    """Too many connections end the oldest that is not at work, and none that is."""

    class Transport:
        def __init__(self):
            self.aborted = False

        def abort(self):
            self.aborted = True

        def get_extra_info(self, name):
            return None

    def test_the_oldest_idle_one_gives_way(self, monkeypatch):
        uvicorn = pytest.importorskip("uvicorn")
        from uvicorn.server import ServerState

        from xcid.app import server

        monkeypatch.setattr(server, "MOST_OPEN", 3)

        async def crowd():
            config, state = uvicorn.Config(lambda: None), ServerState()
            opened = [server.Connection(config, state, {}) for _ in range(5)]
            opened[0].cycle = SimpleNamespace(response_complete=False, more_body=False)  # at work
            opened[1].cycle = SimpleNamespace(response_complete=False, more_body=True)  # still being sent
            for one in opened:
                one.connection_made(self.Transport())
                await anyio.sleep(0.002)
            return [one.transport.aborted for one in opened], len(state.connections)

        assert anyio.run(crowd) == ([False, True, True, False, False], 3)


def test_cid_in_the_app():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=["a", "b", "c"])
    session = app.Session(lambda X: X["b"].to_numpy() > 0, table, table[:3], cid={"m": 20, "repeats": 2})
    body = json.dumps(request(session)).encode()
    explanation = session.explainer()(table[:1])
    assert np.array_equal(explanation.values, explanation.importance)
    assert "xcid.CID(model, reference, m=20, repeats=2)" in session.code(body)["code"]
    found = session.explain(body)
    assert np.allclose(np.array(found["row"]["score"]) * found["unit"], explanation.values[0], atol=found["unit"])
