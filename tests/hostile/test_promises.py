"""Promises of SECURITY.md, and of the method, that no other test holds; ``soak/promises.py`` has the whole table."""

from __future__ import annotations

import contextlib
import html.parser
import json
import os
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest

import xcid
from xcid.errors import InvalidData, InvalidFile
from xcid.generators import Marginal, Random
from xcid.io import readers
from xcid.io.tables import naming
from xcid.models.predictor import FEW
from xcid.scores import PerFeature
from xcid.show.report import report
from xcid.show.report.page import fingerprint

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

    explainer = xcid.Explainer(counted, TABLE, generator=generator, score=PerFeature())
    rows = TABLE[TABLE[:, 0] < 0][:4]
    asked.clear()
    with pytest.warns(xcid.errors.XcidWarning):
        explanation = explainer(rows)
    assert sum(asked) == explanation.n_evaluations.sum() + FEW  # whether the model is the same is no row's evaluation
    assert explanation.n_evaluations.max() <= 60 + 1  # and the row itself


def test_limits_exclude_0_just_where_a_score_is_significant():
    explanation = xcid.Explainer(model, TABLE)(TABLE[:30])
    beyond = (explanation.lower > 0) | (explanation.upper < 0)
    assert 0 < beyond.mean() < 1
    assert np.array_equal(beyond, explanation.p_values < 0.05)


def test_the_feature_that_holds_the_answer_in_place_has_a_score_above_0():
    explanation = xcid.Explainer(model, TABLE)([[2.0, 0.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]])
    assert np.all([1, -1] * explanation.values[:, 0] > 0.2)  # about the second class


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


def test_the_policy_of_a_report(tmp_path):
    report(xcid.Explainer(model, TABLE)(TABLE[:1]), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    policy = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert [f"'{fingerprint(script)}'" for script in scripts] == [policy["script-src"]]
    assert policy["default-src"] == "'none'"  # and so nothing may be connected to


class Touch:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("suffix", readers.OPENERS)
def test_nothing_in_a_table_is_run(tmp_path, suffix):
    """Neither a line of Python, nor a pickle, nor one that stands for a type of Arrow's own."""
    mark, path = tmp_path / "mark", tmp_path / f"t{suffix}"
    line = f'{{"a": __import__("os").mkdir({str(mark)!r})}}'
    kind = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickle.dumps(Touch(mark))}
    table = pa.table([pa.array([1, 2])], pa.schema([pa.field("a", pa.int64(), metadata=kind)]))
    with pa.OSFile(str(tmp_path / "arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    for content in (
        f"a\n{line}\n".encode(),
        line.encode(),
        pickle.dumps(Touch(mark)),
        (tmp_path / "arrow").read_bytes(),
    ):
        path.write_bytes(content)
        with contextlib.suppress(InvalidFile, InvalidData):
            readers.read(path)
        assert not mark.exists()


def test_eight_levels_are_listed():
    background = [[f"level {at}", at] for at in range(30)]
    explainer = xcid.Explainer(lambda rows: np.array([row[1] for row in rows], float) > 15, background)
    with pytest.raises(InvalidData, match="its levels are") as caught:
        explainer.interactions([["new", 1]])
    assert str(caught.value).count("level ") == 8


def test_what_libraries_say_is_cut():
    with pytest.raises(InvalidFile) as caught, naming("t.csv"):
        raise ValueError("secret" * 100)
    assert 0 < str(caught.value).count("secret") <= 200 // len("secret")
