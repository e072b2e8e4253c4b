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
    at = lines.index(read_language("en")["supports"])
    assert [line.partition(":")[0] for line in lines[at + 1 : at + 3]] == [worst, second] == ["debt", "income"]
    assert lines[at + 2] == "income: -400 (cannot be changed)"
    change = changes.changes(0)[0]
    (said,) = [line for line in lines if line.startswith("With ")][:1]
    assert said.startswith(f"With {change.after} instead of 1.25 for “debt”, the probability of “accepted” would be ")


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
    assert "debt: 100.000,50" in said
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


def test_a_language_that_there_is_not_is_refused(explainer, tmp_path):
    with pytest.raises(InvalidParameter):
        explainer(TABLE.iloc[:1]).letter(tmp_path / "letter.html", language="fr")


def test_a_language_that_is_none(approved):
    with approved.raises(InvalidParameter):
        read_words("fr")


def approve(X):
    z = (X["income"] - 20_000) / 8_000 - (X["loans"] - 2) + (X["place"] == "Berlin")
    z = z.to_numpy() + (pd.Timestamp("2015-01-01") - X["since"]).dt.days.to_numpy() / 1000
    p = 1 / (1 + np.exp(-z))
    return np.column_stack([1 - p, p])


CASES = pd.DataFrame(
    {
        "income": RANDOM.integers(10_000, 40_000, 200).astype(float),
        "loans": RANDOM.integers(0, 5, 200),
        "place": RANDOM.choice(["Berlin", "Bonn", None], 200),
        "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(RANDOM.integers(-2000, 2000, 200), "D"),
    }
)
ONE = pd.DataFrame({"income": [11_250.0], "loans": [4], "place": ["Bonn"], "since": [pd.Timestamp("2019-03-01")]})


@pytest.fixture(scope="module")
def approver():
    return xcid.Explainer(approve, CASES, class_names=["refused", "approved"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_has_one_writing_of_numbers_and_dates_and_of_lines_with_several_changes(
    language, approver, approved, tmp_path
):
    path, rows = tmp_path / "letter.html", pd.concat([ONE, ONE.assign(place=None, income=21_500.0)], ignore_index=True)
    counterfactuals = approver.counterfactuals(rows, "approved")
    approver(rows).letter(path, language=language, counterfactuals=counterfactuals)
    for at in range(len(rows)):
        approved("\n".join(read(path, at)[:-1]))  # the last has the version


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_wanted_already_has_a_heading_of_its_own(language, approver, tmp_path):
    row = ONE.assign(income=39_000.0, loans=0, since=pd.Timestamp("2010-03-01"))
    path, words = tmp_path / "letter.html", read_words(language).texts
    approver(row).letter(path, language=language, counterfactuals=approver.counterfactuals(row, "approved"))
    lines = read(path)
    assert words["changes"] not in lines
    assert lines[lines.index(words["wanted"]) + 1] == words["wanted_already"]


@pytest.mark.parametrize(("against", "told"), [(None, "refused"), ("approved", "refused"), ("refused", "approved")])
def test_a_text_is_used_where_a_value_worked_the_way_that_it_is_written_for(against, told, approver, tmp_path):
    rows = pd.concat([ONE, ONE.assign(income=39_000.0)], ignore_index=True)
    found = approver(rows)
    texts = {name: f"TEXT {name}" for name in CASES.columns}
    found.letter(tmp_path / "letter.html", reasons=xcid.Reasons(4, texts, against))
    any_text = False
    for at in range(len(rows)):
        value = dict(zip(found.feature_names, found.towards(told).values[at], strict=True))
        said = {line.removeprefix("TEXT ") for line in read(tmp_path / "letter.html", at) if line.startswith("TEXT ")}
        plain = {line.partition(": ")[0] for line in read(tmp_path / "letter.html", at) if ": " in line}
        predicted = found.output_names[found.outputs[at].argmax()]
        sign = 1 if against is not None or predicted == told else -1
        assert all(sign * value[name] > 0 for name in said)
        assert all(sign * value[name] < 0 for name in plain & {*texts})
        any_text |= bool(said)
    assert any_text


def test_texts_about_a_number_need_their_side(approved, tmp_path):
    found = xcid.Explainer(estimate, TABLE)(TABLE.iloc[:1].assign(debt=2.0))
    with approved.raises(InvalidParameter):
        found.letter(tmp_path / "letter.html", reasons=xcid.Reasons(2, {"debt": "much debt"}))
    found.letter(tmp_path / "letter.html", reasons=xcid.Reasons(2, {"debt": "much debt"}, "lower"))
    assert "much debt" in read(tmp_path / "letter.html")
    found.letter(tmp_path / "letter.html", reasons=xcid.Reasons(2, {"debt": "little debt"}, "higher"))
    assert "debt: 2" in read(tmp_path / "letter.html")
