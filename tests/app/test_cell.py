"""The explorer in a notebook without a browser: every message has its answer, and the module is that of the page."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from xcid import app
from xcid.app.answers import answer_message
from xcid.app.cell import assemble_module
from xcid.errors import MissingDependency
from xcid.show.report.page import SHARED, read_asset

TABLE = np.random.default_rng(0).normal(size=(80, 2))
MANY = 2**53


def model(X):
    if (X[:, 0] > 900).any():
        raise ZeroDivisionError("too far")
    return X[:, 0] + X[:, 1] > 0


class Interrupted(app.Session):
    def search(self, body):
        raise KeyboardInterrupt

    def code(self, body):
        raise RuntimeError("<b>\ud800</b>")


@pytest.fixture(scope="module")
def session():
    return Interrupted(model, TABLE, TABLE[:4], title="A title")


def body(session, **changes):
    own = session.describe()["rows"][0]["cells"]
    asked = {"frozen": [], "forbidden": [], "question": {"kind": "flip"}, "target": 0, "feature": 0}
    return json.dumps({"cells": own, "own": own, **asked, **changes})


def answered(session, name, text=""):
    found = answer_message(session, {"id": 7, "name": name, "body": text})
    assert found["id"] == 7
    return json.loads(found["record"])


def test_answers_are_those_of_the_session(session):
    assert answered(session, "description") == json.loads(json.dumps(session.describe()))
    asked = body(session)
    assert answered(session, "answer", asked) == json.loads(json.dumps(session.explain(asked.encode())))


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "answer",
        [],
        {},
        {"name": "description", "body": ""},
        {"id": None, "name": "description", "body": ""},
        {"id": "<b>", "name": "description", "body": ""},
        {"id": True, "name": "description", "body": ""},
        {"id": -1, "name": "description", "body": ""},
        {"id": MANY, "name": "description", "body": ""},
        {"id": [1], "name": "description", "body": ""},
    ],
    ids=repr,
)
def test_a_message_without_a_number_gets_an_error_without_one(session, message):
    found = answer_message(session, message)
    assert found["id"] is None
    assert list(json.loads(found["record"])) == ["error"]


@pytest.mark.parametrize("number", [0, 1, MANY - 1])
@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"name": "description"},
        {"name": "description", "body": "", "more": 1},
        {"name": "explainer", "body": ""},
        {"name": "__class__", "body": ""},
        {"name": ["answer"], "body": ""},
        {"name": {}, "body": ""},
        {"name": "answer", "body": None},
        {"name": "answer", "body": {"cells": []}},
        {"name": "answer", "body": ""},
        {"name": "answer", "body": "{"},
        {"name": "answer", "body": "[" * 100_000},
        {"name": "answer", "body": "\ud800"},
        {"name": "answer", "body": '{"cells": NaN}'},
        {"name": "search", "body": ""},
        {"name": "code", "body": ""},
    ],
    ids=lambda rest: str(rest)[:40],
)
def test_what_is_wrong_is_said_under_the_number_of_the_message(session, rest, number, caplog):
    caplog.set_level("CRITICAL", "xcid.app")  # half of a letter in a log cannot be sent to the process that reports
    found = answer_message(session, {"id": number, **rest})
    assert found["id"] == number
    record = json.loads(found["record"])
    assert list(record) == ["error"]
    assert record["error"]
    found["record"].encode()  # it can be sent


def test_sentences(session, approved):
    approved(answered(session, "explainer")["error"])
    approved(json.loads(answer_message(session, 7)["record"])["error"])
    approved(json.loads(answer_message(session, {"id": 7, "name": "answer", "body": 7})["record"])["error"])
    approved(answered(session, "search")["error"])


def test_a_model_that_fails_is_said_in_words(session):
    found = answered(session, "answer", body(session, cells=[901.0, 0.0]))
    assert "too far" in found["problem"]


def test_no_name_can_leave_its_text():
    """What stands in the module as data holds no letter that could end an element or a line."""
    data = re.findall(r'^const (?:STYLE|FRAME) = (".*");$', assemble_module(), flags=re.MULTILINE)
    assert len(data) == 2
    assert not re.search("[<>&\u2028\u2029]", "".join(data))


def test_the_scripts_are_those_of_the_page():
    """One code: all that the page runs is in the module, but for what joins the page to its server."""
    page = re.findall(r'<script src="([^"]*)"', read_asset("app.html", "xcid.app"))
    module = assemble_module()
    scripts = {name: read_asset(name, "xcid.show.report" if name in SHARED else "xcid.app") for name in page}
    assert [name for name, text in scripts.items() if text not in module] == ["page.js"]
    places = [module.index(text) for name, text in scripts.items() if name != "page.js"]
    assert places == sorted(places)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(", module)
    assert set(re.findall(r"https?://[^\s\"'\\]+", module)) == {"http://www.w3.org/2000/svg"}


def test_the_styles_go_by_the_width_of_the_cell():
    style = json.loads(re.search(r'^const STYLE = (".*");$', assemble_module(), flags=re.MULTILINE)[1])
    assert not re.search(r"@media[^{]*width", style)
    conditions = re.findall(r"@container ([^{]*)\{", style)
    assert "(max-width: 560px) " in conditions
    assert not [condition for condition in conditions if "," in condition]  # which browsers do not know there


def test_without_anywidget(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependency, match=r'needs anywidget, .*: pip install -e "\.\[widget\]"'):
        app.widget(session)


class TestWidget:
    def test_it_answers_what_it_is_sent(self, session):
        pytest.importorskip("anywidget", reason="needs the extra widget")
        made, sent = app.widget(session), []
        made.send = sent.append
        for number, name in enumerate(["description", "answer", "nothing"]):
            made._handle_custom_msg({"id": number, "name": name, "body": body(session) if name == "answer" else ""}, [])
        made._handle_custom_msg("nothing", [])
        assert [one["id"] for one in sent] == [0, 1, 2, None]
        records = [json.loads(one["record"]) for one in sent]
        assert records[0]["title"] == "A title"
        assert records[1]["row"]
        assert list(records[2]) == list(records[3]) == ["error"]
        made.close()

    def test_what_cannot_work_says_so_at_once(self):
        pytest.importorskip("anywidget", reason="needs the extra widget")
        from xcid.errors import XcidError

        with pytest.raises(XcidError):
            app.widget(app.Session(model, TABLE, TABLE[:, :1]))
