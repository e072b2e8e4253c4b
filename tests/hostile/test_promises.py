"""The promises that ``soak/sabotage.py`` breaks one at a time: each of these tests goes red for one of them."""

from __future__ import annotations

import html.parser
import json

import numpy as np
import pytest

import xcid
from xcid.generators import Marginal, Random
from xcid.report import report

TABLE = np.random.default_rng(0).normal(size=(150, 4)).round(2)


def model(table):
    return 1 / (1 + np.exp(-2 * table[:, 0] + 0.7 * table[:, 1]))


def test_distances_of_what_is_equal_and_of_what_shares_nothing():
    same = np.arange(9.0)
    assert xcid.d1(same, same) == 0
    assert xcid.d1(same, same + 1_000) > 0.999
    assert 0.01 < xcid.d1(same, same + 1) < 0.5


def test_another_seed_is_another_answer_and_the_same_seed_the_same():
    explainer = xcid.Explainer(model, TABLE)
    first, again, other = (explainer(TABLE[:3], seed=seed).values for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("generator", [Random(m=5, max_evaluations=60), Marginal(m=5, max_evaluations=60)])
def test_a_budget_is_never_exceeded_by_a_single_row(generator):
    """Flips are as rare as to use the whole budget up."""
    asked = []

    def counted(table):
        asked.append(len(table))
        return table[:, 0] >= TABLE[:, 0].max()

    explainer = xcid.Explainer(counted, TABLE, generator=generator)
    rows = TABLE[TABLE[:, 0] < 0][:4]
    asked.clear()
    with pytest.warns(xcid.errors.XcidWarning):
        explanation = explainer(rows)
    assert sum(asked) == explanation.n_evaluations.sum()
    assert explanation.n_evaluations.max() <= 60 + 1  # and the row itself


def test_limits_exclude_0_just_where_a_score_is_significant():
    explanation = xcid.Explainer(model, TABLE)(TABLE[:30])
    beyond = (explanation.lower > 0) | (explanation.upper < 0)
    assert 0 < beyond.mean() < 1
    assert np.array_equal(beyond, explanation.p_values < 0.05)


def test_the_feature_that_holds_the_answer_in_place_has_a_score_above_0():
    explanation = xcid.Explainer(model, TABLE)([[2.0, 0.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]])
    assert np.all(explanation.values[:, 0] > 0.2)


class Page(html.parser.HTMLParser):
    """The elements of a page, and what is in the one with the data."""

    def __init__(self, text):
        super().__init__()
        self.names, self.data, self.inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.inside = dict(attrs).get("id") == "data"

    def handle_data(self, data):
        self.data += data if self.inside else ""
        self.inside = False


def test_names_do_not_become_elements_of_a_report(tmp_path):
    evil = ["</script><img src=x onerror=alert(1)>", "<!--<script>", "a&lt;b", "\u2028"]
    plain = ["a", "b", "c", "d"]
    pages = []
    for names in (evil, plain):
        explanation = xcid.Explainer(model, TABLE, feature_names=names)(TABLE[:2])
        report(explanation, tmp_path / "page.html", title=names[0])
        pages.append(Page((tmp_path / "page.html").read_text("utf-8")))
    assert pages[0].names == pages[1].names
    assert json.loads(pages[0].data)["features"][0] == evil[0]
