"""Explanations in notebooks: a table of HTML in which nothing from the data is code."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import xcid
import xcid.show.wording
from xcid.generators import Marginal

TABLE = np.random.default_rng(2).normal(size=(60, 3)).round(2)
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table>&amp;'"]
ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td", "span", "p"}


def explain(names=("a", "b", "c"), rows=1, **settings):
    explainer = xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, generator=Marginal(m=20), feature_names=names, **settings)
    return explainer(TABLE[:rows])


class Page(HTMLParser):
    """Tags, attributes and text; every tag is closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("rows", [1, 5])
def test_hostile_names_stay_text(rows):
    explanation = explain(HOSTILE, rows)
    explanation = replace(explanation, index=np.array(["<b>bold</b>"] * rows), output_names=("<i>no</i>", "<i>yes</i>"))
    page = Page(explanation._repr_html_())
    assert set(page.tags) <= ALLOWED
    assert {name for name, _ in page.attributes} <= {"style", "title"}
    assert set(HOSTILE) <= set(page.texts)
    assert "<script" not in explanation._repr_html_()


ODD = "\x1b[31mred\x07\u202ebackwards"


@pytest.mark.parametrize("rows", [1, 5])
def test_letters_that_act_on_others_are_written_out(rows):
    """A page may be shown as text, by tools that print it to a terminal, and U+202E turns names in a browser, too."""
    explainer = xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, generator=Marginal(m=20), feature_names=[ODD, "b", "c"])
    found = explainer(TABLE[:rows])
    found = replace(found, index=np.array([ODD] * rows, dtype=object))
    pages = [found._repr_html_(), explainer.counterfactuals(TABLE[:3])._repr_html_()]
    pages += [explainer(TABLE[:9]).compare(explainer(TABLE[9:20]))._repr_html_()]
    for page in pages:
        assert "⟨U+001B⟩[31mred⟨U+0007⟩⟨U+202E⟩" in page
    assert not any(letter in page for page in pages for letter in "\x1b\x07\u202e")


def test_hostile_levels():
    import pandas as pd

    table = pd.DataFrame({"kind": ["<b>x</b>", "<script>y</script>"] * 30, "x": TABLE[:, 0]})
    page = Page(xcid.Explainer(lambda X: X["kind"] == "<b>x</b>", table)(table[:1])._repr_html_())
    assert set(page.tags) <= ALLOWED
    assert "<b>x</b>" in page.texts


@pytest.mark.parametrize("kind", [xcid.Explainer, xcid.CID])
def test_an_explainer_opens_to_what_it_is_made_of(kind):
    import pandas as pd

    class Hostile:
        def __call__(self, X):
            return X.iloc[:, 1].to_numpy() > 0

        def __repr__(self):
            return HOSTILE[1]

    Hostile.__name__ = HOSTILE[0]
    table = pd.DataFrame({HOSTILE[2]: ["<b>x</b>", "<script>y</script>"] * 30, HOSTILE[0]: TABLE[:, 0]})
    frozen = xcid.Constraints(frozen=[HOSTILE[2]])
    explainer = kind(Hostile(), table, constraints=frozen, class_names=["<i>no</i>", "<i>yes</i>"])
    page = Page(explainer._repr_html_())
    assert set(page.tags) <= ALLOWED | {"div", "details", "summary"}
    assert {name for name, _ in page.attributes} <= {"style", "title"}
    assert page.texts[0] == f"{kind.__name__} of a {HOSTILE[0]}"
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[2], "frozen", "<b>x</b>, <script>y</script>"} <= set(page.texts)
    assert {"60 reference rows, 2 features", "<i>no</i>, <i>yes</i>, another label", "categorical"} <= set(page.texts)
    assert explainer(table[:1]).question in page.texts


def test_an_explainer_of_many_features_shows_the_first():
    page = Page(xcid.Explainer(lambda X: X[:, 0] > 0, np.random.default_rng(0).normal(size=(60, 20)))._repr_html_())
    assert "and 8 more features" in page.texts


def test_one_row():
    explanation = explain()
    page = Page(explanation._repr_html_())
    assert page.texts[0].startswith("row 0: predicted ")
    order = np.argsort(-np.abs(explanation.values[0]))
    assert [text for text in page.texts if text in "abc"] == ["abc"[i] for i in order]
    assert f"{explanation.values[0, 0]:+.3f}" in page.texts
    assert page.texts[1] == explanation.question
    assert xcid.show.wording.list_worths(explanation)[order[0]] in page.texts
    assert page.texts[2].startswith("contributions in probability of True: from ")


def test_what_is_not_significant_is_hollow_and_what_has_no_score_says_why():
    explanation = explain(constraints=xcid.Constraints(frozen=["b"]))
    page = explanation._repr_html_()
    faint = replace(explanation, p_values=np.ones((1, 3)))._repr_html_()
    sure = replace(explanation, p_values=np.zeros((1, 3)))._repr_html_()
    assert "(frozen)" in page
    assert faint.count("background:transparent") == 3
    assert "hollow: not significant (adjusted p &gt; 0.05)" in faint
    assert sure.count("background:transparent") == 0
    assert "not significant" not in sure


def test_many_rows_are_summed_up():
    explanation = explain(rows=7)
    texts = Page(explanation._repr_html_()).texts
    assert texts[0].startswith("7 rows, 3 features; status: 7 ok")
    assert f"{np.abs(explanation.values[:, 0]).mean():.3f}" in texts
    assert texts[1] == explanation.question
    assert f"{explanation.towards('True').values[:, 0].mean():+.3f}" in texts
    assert "contribution in probability of True" in texts[-1]


def test_many_features_and_no_rows():
    table = np.random.default_rng(0).normal(size=(60, 40))
    explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table, generator=Marginal(m=20))(table[:1])
    page = explanation._repr_html_()
    assert page.count("<tr>") == 13
    assert "28 more features have smaller scores" in page
    assert len(page) < 14_000
    assert "0 rows" in explanation[[]]._repr_html_()


def test_the_papers_setting():
    paper = xcid.Explainer.paper(lambda X: X[:, 0] > 0, TABLE)(TABLE[:1])
    assert "score: d1" in paper._repr_html_()
    assert "limits" not in paper._repr_html_()
