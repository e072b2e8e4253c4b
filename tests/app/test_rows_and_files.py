"""What the explorer gives an auditor: any of many rows, files of one, and two side by side."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid import app
from xcid.app.description import MOST_FOUND, RowIndex, describe, find_rows
from xcid.app.files import KINDS, describe_file
from xcid.errors import InvalidParameter, XcidError
from xcid.frames import to_columns
from xcid.io.writers import write

from .test_app import NAMES, Number, Three, Two, make_table, request

HOSTILE = "<img src=x onerror=alert(1)>"
FORMULA = "=HYPERLINK(1)"


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def session(table):
    return app.Session(Two(), table, table[:8], title="A title", notes=["A note."])


@pytest.fixture(scope="module")
def many(table):
    rows = pd.concat([table] * 50, ignore_index=True)
    return app.Session(Two(), table, rows, names=[f"P-{at:05d}" for at in range(len(rows))])


def indexed(names):
    return RowIndex(tuple(names), tuple(name.casefold() for name in names), np.zeros((len(names), 1)))


def case(session, row=0, **changes):
    return {"row": row, "asked": request(session, row=row, **changes)}


def saved(session, kind, row=0, **changes):
    return session.save(kind, json.dumps(case(session, row, **changes)).encode())


def compared(session, first, second):
    return session.compare(json.dumps({"first": first, "second": second}).encode())


class TestFind:
    def test_nothing_typed_finds_all_in_order(self):
        assert list(find_rows(indexed("cab"), "  ")) == [0, 1, 2]

    def test_the_best_come_first(self):
        index = indexed(["112", "x12", "12", "129", "five", "six", "7", "8", "9", "10", "11", "P", "thirteenth"])
        assert find_rows(index, "12") == [2, 12, 3, 0, 1]  # the name, the number, a beginning, and within

    def test_a_row_comes_once(self):
        assert find_rows(indexed(["1", "0", "10"]), "1") == [0, 1, 2]

    def test_case_and_spaces_do_not_matter(self):
        assert find_rows(indexed(["Straße 7", "Weg"]), " STRASSE ") == [0]

    @pytest.mark.parametrize("text", [HOSTILE, ".*", "[", "\\", "\x00", "9" * 200, "-1", "1e3"])
    def test_no_text_is_more_than_text(self, text):
        assert find_rows(indexed(["one", "two"]), text) == []
        assert find_rows(indexed(["one", f"a{text}b"]), text) == [1]


class TestRows:
    @staticmethod
    def sought(session, text, first=0):
        return session.find(json.dumps({"find": text, "from": first}).encode())

    def test_a_row_is_told_as_the_page_needs_it(self, many, table):
        (row,) = self.sought(many, "p-00017")["rows"]
        assert (row["at"], row["name"]) == (17, "P-00017")
        assert np.allclose(row["outputs"], Two().predict_proba(table[17:18])[0], atol=1e-4)
        assert self.sought(many, "17")["rows"][0] == row

    def test_some_at_a_time(self, many):
        first = self.sought(many, "P-0")
        assert (len(first["rows"]), first["total"]) == (MOST_FOUND, 10_000)
        second = self.sought(many, "P-0", MOST_FOUND)["rows"]
        assert [row["at"] for row in second] == list(range(MOST_FOUND, 2 * MOST_FOUND))
        assert self.sought(many, "P-00017", 9_999) == {"rows": [], "total": 1}
        assert [row["at"] for row in self.sought(many, "", 9_999)["rows"]] == [9_999]

    def test_a_page_of_many_rows_opens_with_as_little_work_as_one_of_few(self, many, table):
        class Counting(Two):
            rows = 0

            def predict_proba(self, X):
                Counting.rows += len(X)
                return super().predict_proba(X)

        explainer, work = xcid.Explainer(Counting(), table), []
        for index in (RowIndex.of(explainer.space, table[:100]), many.index):
            before = Counting.rows
            found = describe(explainer, index)
            work.append((Counting.rows - before, len(found["rows"])))
            assert found["n_rows"] == len(index)
        assert work[0] == work[1] == (work[0][0], MOST_FOUND)
        assert work[0][0] < 1_000  # the model is called for those that are shown, and to see that it is the same

    def test_whole_numbers_are_known(self, session):
        whole = {one["name"] for one in session.describe()["features"] if one.get("whole")}
        assert whole == {"count"}

    @pytest.mark.parametrize(
        "body",
        [
            {"find": 1, "from": 0},
            {"find": "x" * 201, "from": 0},
            {"find": "", "from": 8},
            {"find": "", "from": -1},
            {"find": "", "from": "0"},
            {"find": ""},
            {"find": "", "from": 0, "more": 1},
            [],
        ],
    )
    def test_what_is_no_search(self, session, body):
        with pytest.raises(InvalidParameter, match=r"must|has no"):
            session.find(json.dumps(body).encode())


class TestFiles:
    def test_the_table_is_that_of_the_command(self, session, table, tmp_path):
        explanation = xcid.Explainer(Two(), table)(table[3:4])
        write(tmp_path / "due.csv", [to_columns(replace(explanation, index=np.array(["3"])))])
        text = saved(session, "table", 3)["text"]
        assert text == (tmp_path / "due.csv").read_text("utf-8")
        lines = list(csv.DictReader(io.StringIO(text)))
        assert [line["feature"] for line in lines] == NAMES
        assert {line["row"] for line in lines} == {"3"}
        assert [float(line["value"]) for line in lines] == pytest.approx(explanation.values[0].tolist())

    def test_the_counterfactuals_are_those_of_the_explainer(self, session, table):
        due = xcid.Explainer(Two(), table).counterfactuals(table[3:4])
        lines = list(csv.DictReader(io.StringIO(saved(session, "counterfactuals", 3)["text"])))
        assert [line["changes"] for line in lines] == due.to_frame()["changes"].tolist()

    def test_the_report_is_of_the_row_as_it_stands(self, session, table):
        file = saved(session, "report", 3, edits={"first": 2.5})
        assert file["name"] == "xcid-report-3-edited.html"
        data = json.loads(file["text"].partition('id="data">')[2].partition("</script>")[0])
        (row,) = data["rows"]
        edited = xcid.Explainer(Two(), table)(table[3:4].assign(first=2.5))
        assert row["sentences"] == list(xcid.show.report.summary(edited))
        assert row["counterfactuals"]
        assert (data["title"], data["notes"][0]) == ("A title", "A note.")
        assert data["notes"][1] == f"Row 3 was edited: first {table['first'][3]:g} → 2.5."

    def test_pins_hold_in_files(self, session):
        lines = list(csv.DictReader(io.StringIO(saved(session, "table", 3, frozen=[0])["text"])))
        assert lines[0]["feature_status"] == "frozen"

    def test_nothing_runs_in_a_spreadsheet(self, table):
        wild = table.rename(columns={"first": FORMULA})
        session = app.Session(lambda X: X[FORMULA].to_numpy(), wild, wild[:2], names=["@SUM(1)", "b"])
        for kind in ("table", "counterfactuals"):
            text = saved(session, kind)["text"]
            cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
            assert "'@SUM(1)" in cells
            assert any(FORMULA in cell for cell in cells)
            assert [cell for cell in cells if cell.startswith(("=", "@"))] == []

    def test_nothing_runs_in_a_report(self, table):
        text = saved(app.Session(Two(), table, table[:2], names=[HOSTILE, "b"]), "report")["text"]
        assert HOSTILE not in text

    @pytest.mark.parametrize("name", ["../../etc/passwd", HOSTILE, "a/b\\c:d", "…", "", "x" * 500, "\u202egnp.exe"])
    def test_names_of_files(self, name):
        for kind in KINDS:
            called = describe_file(kind, name, "")["name"]
            assert called.startswith(f"xcid-{kind}-")
            assert not set(called) & set('/\\:*?"<>|\u202e')
            assert len(called) < 100

    def test_a_row_beyond_the_end(self, session):
        for kind in KINDS:
            body = case(session) | {"row": 8}
            with pytest.raises(InvalidParameter, match="whole number from 0 to 7, not 8"):
                session.save(kind, json.dumps(body).encode())

    def test_a_question_with_one_side_is_an_error_of_the_family(self, session):
        with pytest.raises(XcidError):
            saved(session, "table", question={"kind": "threshold", "target": 1, "level": 7})


class TestSideBySide:
    @pytest.mark.parametrize("model", [Two(), Three(), Number()])
    def test_the_gaps_are_those_of_the_comparison(self, model, table):
        session = app.Session(model, table, table[:8])
        found = compared(session, case(session, 0), case(session, 3, edits={"first": 2.0}))
        explainer = xcid.Explainer(model, table)
        first, second = explainer(table[:1]), explainer(table[3:4].assign(first=2.0))
        due = first.compare(second, names=("A", "B"), **({"towards": second.about[0]} if found["about"] else {}))
        assert np.allclose(np.array(found["differences"]) * found["unit"], due.difference, atol=0.51 * found["unit"])
        scores = np.array([row["score"] for row in found["rows"]]) * found["unit"]
        assert np.allclose(scores[1] - scores[0], due.difference, atol=1.1 * found["unit"])
        assert found["significant"] == np.flatnonzero(due.significant).tolist()
        assert found["sentences"]
        json.dumps(found, allow_nan=False)

    def test_which_values_differ(self, session, table):
        found = compared(session, case(session, 3), case(session, 3, edits={"first": 9.0}))
        assert found["others"] == [0]

    def test_what_cannot_be_compared_is_said(self, table):
        session = app.Session(Two(), table, table[:8], cid={})
        assert "no sign" in compared(session, case(session, 0), case(session, 3))["problem"]

    def test_one_side(self, session):
        question = {"kind": "threshold", "target": 1, "level": 7}
        pair = [case(session, row, question=question) for row in (0, 3)]
        assert compared(session, *pair)["problem"].startswith("Nothing that was tried")

    @pytest.mark.parametrize("row", [8, -1, 0.5, True, None, "0"])
    def test_a_row_that_is_not_there(self, session, row):
        with pytest.raises(InvalidParameter, match="whole number from 0 to 7"):
            compared(session, case(session), case(session) | {"row": row})

    def test_wrong_fields(self, session):
        for first in (None, [], {}, {"row": 0}, case(session) | {"more": 1}):
            with pytest.raises(InvalidParameter, match="must"):
                compared(session, first, case(session))
