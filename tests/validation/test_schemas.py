"""What is published is what is written: the schemas, and what holds documents against them."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
import schemas

from xcid import cli
from xcid.cli import schema

RNG = np.random.default_rng(0)
LINES = [
    "a,b,kind,y",
    *(f"{a:.3f},{b:.3f},{'y' if b > 0 else 'x'},{int(a + b > 0)}" for a, b in RNG.normal(size=(80, 2))),
]
TRAINED = ["--train", "forest", "--refits", "3", "--limits", "training"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["y", "b"])
@pytest.mark.parametrize("more", [[], ["--reasons", "2"], ["--only", "contributions"], TRAINED])
def test_json_of_explain_is_what_its_schema_says(target, more, tmp_path, capsys):
    if target == "b" and "--reasons" in more:
        more = [*more, "--against", "higher"]
    (tmp_path / "t.csv").write_text("\n".join(LINES) + "\n", "utf-8")
    given = ["--reference", str(tmp_path / "t.csv"), "--target", target, "--rows", "0:3", "--json", "--quiet"]
    assert cli.main(["explain", *given, *more]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert len(lines) == 9
    schemas.check("explain-1", lines)


def test_every_name_of_a_line_is_published(tmp_path, capsys):
    known = set(schemas.read("explain-1")["items"]["properties"])
    (tmp_path / "t.csv").write_text("\n".join(LINES) + "\n", "utf-8")
    given = ["--reference", str(tmp_path / "t.csv"), "--target", "y", "--rows", "0:1", "--json", "--quiet"]
    assert cli.main(["explain", *given, "--reasons", "1", *TRAINED]) == 0
    assert set(json.loads(capsys.readouterr().out)[0]) == known


@pytest.mark.parametrize("document", schema.SCHEMAS)
def test_the_newest_version_is_printed(document, capsys):
    assert cli.main(["schema", document]) == 0
    printed = json.loads(capsys.readouterr().out)
    name = schema.SCHEMAS[document]
    assert printed == schemas.read(name)
    assert printed["$id"] == max(path.name for path in schemas.FOLDER.glob(f"{name.rpartition('-')[0]}-*.json"))


@pytest.mark.parametrize("more", [["--method", "cid", "--m", "5"], TRAINED])
def test_the_first_object_says_where_all_come_from(more, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("\n".join(LINES) + "\n", "utf-8")
    given = ["--reference", str(tmp_path / "t.csv"), "--target", "y", "--rows", "0:70", "--json", "--quiet"]
    assert cli.main(["explain", *given, "--train", "logistic", *more[-4:]]) == 0
    first, *others = json.loads(capsys.readouterr().out)
    schemas.check("explain-1", [first])
    settings = first["settings"]
    assert all("sha256" in settings[name] for name in ("model", "reference"))
    assert ("refits" in settings) == (more is TRAINED)
    assert len(others) == 3 * 70 - 1  # of more than one piece
    assert not any("settings" in line for line in others)


@pytest.mark.parametrize("name", ["explain-1", "validation-1"])
def test_a_schema_is_a_schema(name):
    if importlib.util.find_spec("jsonschema") is None:
        pytest.skip("not installed: jsonschema")
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schemas.read(name))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        [{"row": 0}],
        [{"value": "high"}],
        [{"exact": 1}],
        [{"feature_status": "melted"}],
        [{"n_evaluations": -1}],
        [{"n_evaluations": True}],
    ],
)
def test_a_document_that_is_wrong_is_refused(wrong):
    line = dict.fromkeys(("data", "value", "importance", "output"))
    line |= {"row": 0, "feature": "a", "shown": "1", "status": "ok", "feature_status": "ok", "unit": "output"}
    line |= {"n_evaluations": 1}
    schemas.check("explain-1", [line])
    if isinstance(wrong, list) and wrong[0] != {"row": 0}:
        wrong = [line | wrong[0]]
    with pytest.raises(AssertionError):
        schemas.check("explain-1", wrong)
