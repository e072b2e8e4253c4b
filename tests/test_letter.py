"""The letter to the person whom a decision is about: every language says all of it, and it says what is known."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import InvalidFile, InvalidParameter
from xcid.show.report.letter import LANGUAGES, find_places, read_language, read_words

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(300, 3)).round(2) * [1, 1000, 1], columns=["debt", "income", "noise"])
REFUSED = "refused <b>"


def refuses(X):
    z = 2 * X["debt"] - X["income"] / 500
    p = 1 / (1 + np.exp(-z))
    return np.column_stack([1 - p, p])


refuses.__module__ = "models"
CLASSES = ["accepted", REFUSED]


def estimate(X):
    return 1234.5 + 100 * X["debt"].to_numpy()


def read(path, at=0):
    """The text of a letter, a line for each element."""
    page = path.read_text("utf-8").split("<body>")[1].split("</article>")[at]
    return [line for line in html.unescape(re.sub(r"<[^>]*>", "\n", page)).split("\n") if line.strip()]


@pytest.fixture(scope="module")
def explainer():
    frozen = xcid.Constraints(frozen=["income"])
    return xcid.Explainer(refuses, TABLE, class_names=CLASSES, constraints=frozen)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_is_complete(language):
    english, found = read_language("en"), read_language(language)
    assert found.keys() == english.keys()
    assert {name: find_places(text) for name, text in found.items()} == {
        name: find_places(text) for name, text in english.items()
    }
    same = [name for name, text in found.items() if text == english[name]]
    assert language == "en" or same == []
    assert read_words(language).texts == found


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_is_asked_is_answered(language, explainer, tmp_path):
    rows = TABLE.iloc[[0, 7]]
    path, words = tmp_path / "letter.html", read_words(language)
    explainer(rows).letter(path, language=language, counterfactuals=explainer.counterfactuals(rows))
    for at in (0, 1):
        lines = read(path, at)
        headings = [words.texts[name] for name in ("title", "result", "why", "changes", "sure")]
        assert [line for line in lines if line in headings] == headings
        assert words.texts["limits"] in lines
        assert words.texts["not_trained"] in lines
    assert f'<html lang="{language}">' in path.read_text("utf-8")


def test_it_says_what_the_explanation_says(explainer, tmp_path):
    row = pd.DataFrame({"debt": [1.25], "income": [-400.0], "noise": [0.1]})
    found, path = explainer(row), tmp_path / "letter.html"
    changes = explainer.counterfactuals(row)
    found.letter(path, counterfactuals=changes)
    lines = read(path)
    share = f"{100 * found.outputs[0, 1]:.0f}%"
    assert f"Its result is “{REFUSED}”, with a probability of {share}." in " ".join(lines)
    (worst, second) = found.reasons(2)["feature"]
    at = lines.index("These values spoke for this result, the strongest first:")
    assert [line.partition(":")[0] for line in lines[at + 1 : at + 3]] == [worst, second] == ["debt", "income"]
    assert lines[at + 2] == "income: -400 (cannot be changed)"
    change = changes.changes(0)[0]
    (said,) = [line for line in lines if line.startswith("If “debt” were")][:1]
    assert said.startswith(f"If “debt” were {change.after} and not 1.25, the probability of “accepted” would be ")


def test_names_and_classes_are_text_and_nothing_runs(explainer, tmp_path):
    explainer(TABLE.iloc[:1]).letter(tmp_path / "letter.html")
    page = (tmp_path / "letter.html").read_text("utf-8")
    assert "<b>" not in page
    assert "<script" not in page
    assert "default-src 'none'" in page


def test_numbers_are_written_as_in_the_language(tmp_path):
    explainer = xcid.Explainer(estimate, TABLE)
    row = pd.DataFrame({"debt": [100000.5], "income": [0.0], "noise": [0.25]})
    explainer(row).letter(tmp_path / "letter.html", language="de")
    said = " ".join(read(tmp_path / "letter.html"))
    assert "debt: 100000,5" in said
    assert re.search(r"Es schätzt den Wert auf 10\.001\.284,50\.", said)


def test_retrained_models_are_told_of(tmp_path):
    from sklearn.linear_model import LogisticRegression

    y = (TABLE["debt"] - TABLE["income"] / 1000 > 0).to_numpy()
    model = LogisticRegression(max_iter=500).fit(TABLE, y)
    explainer = xcid.Explainer(model, TABLE, refits=xcid.refits(model, TABLE, y, n=5))
    row = TABLE.iloc[:1]
    explainer(row).letter(tmp_path / "letter.html", counterfactuals=explainer.counterfactuals(row))
    said = " ".join(read(tmp_path / "letter.html"))
    assert "If the model were trained again with other data" in said
    assert "With a probability of about" in said
    assert read_language("en")["not_trained"] not in said
    assert read_language("en")["exact"] in said


def test_nothing_to_be_changed_is_said(tmp_path):
    frozen = xcid.Constraints(frozen=["debt", "income"])
    explainer = xcid.Explainer(refuses, TABLE, class_names=CLASSES, constraints=frozen)
    row = TABLE.iloc[:1]
    found = explainer(row)
    found.letter(tmp_path / "letter.html", counterfactuals=explainer.counterfactuals(row))
    said = read(tmp_path / "letter.html")
    assert {read_language("en")["impossible"], read_language("en")["not_found"]} & {*said}


def test_a_translation_of_ones_own(explainer, tmp_path):
    own = read_language("en") | {"language": "fr", "title": "Comment ce résultat a été obtenu"}
    (tmp_path / "fr.json").write_text(json.dumps(own), "utf-8")
    explainer(TABLE.iloc[:1]).letter(tmp_path / "letter.html", language=tmp_path / "fr.json")
    assert read(tmp_path / "letter.html")[0] == "Comment ce résultat a été obtenu"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda own: own.pop("sure"), "lacks 'sure'"),
        (lambda own: own.update(heading="x"), "heading"),
        (lambda own: own.update(case="Fall"), "{name}"),
        (lambda own: own.update(case="Fall {name} {more}"), "{name}"),
        (lambda own: own.update(title="{"), "no {places}"),
        (lambda own: own.update(title=1), "one text"),
    ],
)
def test_a_wrong_translation_is_refused(change, said, explainer, tmp_path):
    own = read_language("en")
    change(own)
    (tmp_path / "own.json").write_text(json.dumps(own), "utf-8")
    with pytest.raises(InvalidFile, match=re.escape(said)):
        explainer(TABLE.iloc[:1]).letter(tmp_path / "letter.html", language=tmp_path / "own.json")
    assert not (tmp_path / "letter.html").exists()


@pytest.mark.parametrize("settings", [{"language": "fr"}, {"reasons": xcid.Reasons(2, {}, "accepted")}])
def test_what_a_letter_cannot_do_is_refused(settings, explainer, tmp_path):
    with pytest.raises(InvalidParameter):
        explainer(TABLE.iloc[:1]).letter(tmp_path / "letter.html", **settings)


def test_a_language_that_is_none(approved):
    with approved.raises(InvalidParameter):
        read_words("fr")
