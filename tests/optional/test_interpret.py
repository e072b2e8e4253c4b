"""Explanations in InterpretML's own ``show``.

Dash brings a plugin that stops pytest where warnings are errors, so it is not installed for the tests. InterpretML asks
of one of its classes only whether a picture is an instance of it: an empty class stands in.
"""

from __future__ import annotations

import json
import re
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid_lab.adapters import Interpret

pytest.importorskip("IPython", reason="needs the extra interpret")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    interpret = pytest.importorskip("interpret", reason="needs the extra interpret")
    from interpret.provider import InlineProvider
    from interpret.visual._inline import _build_viz_obj

pytestmark = pytest.mark.filterwarnings("ignore")
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=["a", "b", "c"]).round(2)


def local(names=("a", "b", "c"), actual=("0", "1")):
    frame = TABLE.set_axis(list(names), axis=1)
    explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-3 * X.iloc[:, 0])), frame)
    return Interpret(explainer).explain_local(frame.iloc[:2], y=list(actual), name="mine")


@pytest.fixture(autouse=True)
def without_dash(monkeypatch):
    monkeypatch.setitem(sys.modules, "dash_cytoscape", types.SimpleNamespace(Cytoscape=type("Cytoscape", (), {})))


@pytest.fixture
def shown(monkeypatch):
    """What ``show`` hands to the notebook."""
    pages = []
    monkeypatch.setattr("IPython.display.display", lambda *parts, **_: pages.extend(part.data for part in parts))
    before = interpret.get_visualize_provider()
    interpret.set_visualize_provider(InlineProvider())
    yield pages
    interpret.set_visualize_provider(before)


@pytest.mark.parametrize("settings", [{}, {"key": 1}])
def test_show(shown, settings):
    interpret.show(local(), **settings)
    (page,) = shown
    assert "not yet supported" not in page
    assert all(f'"{name} = ' in page for name in "abc")
    assert "row 1" in page


def test_every_row_is_a_figure_of_plotly():
    explained = local()
    found = json.loads(json.dumps(_build_viz_obj(explained, [])))
    assert [part["type"] for part in found["specific"]] == ["plotly", "plotly"]
    assert found["overall"]["type"] == "none"
    assert [line["Actual"] for line in found["selector"]["data"]] == ["0", "1"]
    bars = found["specific"][1]["figure"]["data"][0]
    assert len(bars["y"]) == 3


def test_two_explanations_side_by_side(shown):
    interpret.show([local(), local()])
    assert len(shown) == 1


def test_hostile_names_do_not_end_the_script(shown):
    interpret.show(local())
    interpret.show(local(["</script><script>alert(1)</script>", "b", "c"], ["</script>", "1"]))
    usual, hostile = (len(re.findall("</script", page, re.IGNORECASE)) for page in shown)
    assert usual == hostile


def test_data_is_what_interpret_expects():
    row = local().data(0)
    assert {"type", "names", "scores", "values", "perf"} <= set(row)
    assert row["type"] == "univariate"
