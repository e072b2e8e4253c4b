"""Tables with more columns than samples: nothing ends the process, and nothing but time and memory is saved."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import xcid
from xcid import app, frames
from xcid._kernels import arrays
from xcid.contributions import effects
from xcid.io import writers


@pytest.mark.parametrize("n_columns", [5, 12, 40])
def test_wide_columns_give_what_their_normal_matrix_would(n_columns):
    """Fewer pairs than columns are solved by the pairs' own products, and nothing else changes."""
    random = np.random.default_rng(n_columns)
    columns, penalty = random.normal(size=(12, n_columns)), 0.1 + random.random(n_columns)
    due = columns @ np.linalg.inv(columns.T.copy() @ columns + np.diag(penalty))
    np.testing.assert_allclose(effects.solution(columns, penalty), due, rtol=1e-8, atol=1e-10)


class TestProductsOfAMatrixWithItself:
    """OpenBLAS 0.3.31 ends the process where threads multiply some 16,000 rows by their own transposed view."""

    @pytest.mark.parametrize(("n_rows", "shared"), [(arrays.MOST_AT_ONCE, True), (arrays.MOST_AT_ONCE + 1, False)])
    def test_many_rows_are_multiplied_by_a_copy(self, n_rows, shared):
        seen = []

        class Spied(np.ndarray):
            def __matmul__(self, other):
                seen.append(np.shares_memory(self, other))
                return np.zeros(())

        arrays.products(np.ones((n_rows, 1)).view(Spied))
        assert seen == [shared]

    def test_nothing_else_multiplies_a_matrix_by_itself(self):
        for path in Path(xcid.__file__).parent.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                    sides = [ast.unparse(node.left), ast.unparse(node.right)]
                    bare = {re.sub(r"\.(T$|(transpose|swapaxes)\([^()]*\)$)", "", side) for side in sides}
                    is_one = len(bare) == 1 < len(set(sides)) and bare.pop().replace(".", "").isidentifier()
                    assert not is_one, f"{path.name}:{node.lineno}: use products"


def test_what_is_no_shapley_value_says_so():
    """Without samples in which one feature changes alone, effects are measured with half of the others kept."""
    table = np.random.default_rng(0).normal(size=(200, 150))

    def ask(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    wide = xcid.Explainer(ask, table)(table[:1])
    narrow = xcid.Explainer(lambda rows: rows[:, 0] * rows[:, 1], table[:, :5])(table[:1, :5])
    assert (wide.estimand, narrow.estimand) == ("Banzhaf", "Shapley")
    assert "Banzhaf values" in str(wide)
    assert "Banzhaf" not in str(narrow)
    assert (wide.unit, narrow.unit) == ("output, as Banzhaf values", "output")
    assert xcid.Explainer(ask, table, generator=xcid.generators.Balanced(20_000))(table[:1]).estimand == "Shapley"


@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
@pytest.mark.parametrize("n_features", [5, 150])
def test_every_form_of_a_number_names_what_it_is(n_features, tmp_path):
    table = np.random.default_rng(0).normal(size=(200, n_features))

    def ask(rows):
        return 1 / (1 + np.exp(-rows[:, 0] * rows[:, 1] - rows[:, 2]))

    found = xcid.Explainer(ask, table)(table[:2])
    found.report(tmp_path / "report.html")
    found.save(tmp_path / "found.json")
    writers.write(tmp_path / "found.csv", [frames.to_columns(found)])
    written = [(tmp_path / name).read_text() for name in ("report.html", "found.json", "found.csv")]
    axes = xcid.plots.bar(found[0])
    plotted = " ".join(text.get_text() for text in axes.figure.findobj(Text))
    session = app.Session(ask, table, table[:1])
    cells, (question, *_) = table[0].tolist(), session.describe()["questions"]
    asked = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], "target": 0, "feature": 0}
    shown = json.dumps(session.explain(json.dumps({**asked, "question": {"kind": question["kind"]}}).encode()))
    everywhere = [*written, plotted, shown, str(found), found.to_frame()["unit"][0], found.to_frame().attrs["estimand"]]
    assert [("Banzhaf" in form) for form in everywhere] == [n_features == 150] * len(everywhere)


@pytest.mark.parametrize(("n_features", "n_plans"), [(8, 8), (65, 4), (129, 2)])
def test_rows_of_wide_tables_follow_fewer_plans(n_features, n_plans):
    table = np.random.default_rng(0).normal(size=(150, n_features))
    explainer = xcid.Explainer(lambda rows: rows[:, 0] * rows[:, 1], table, generator=xcid.generators.Balanced(n=100))
    explained = explainer(table)
    assert len({id(plan) for plan in explained.cloud.plans}) == n_plans


def test_crowded_signs_say_what_the_whole_formula_says():
    wide = np.random.default_rng(4).normal(size=(60, 150))
    explainer = xcid.Explainer(lambda X: X[:, 0] > 0, wide, generator=xcid.generators.Balanced(150))
    (plan, *_) = explainer(wide[:1]).cloud.plans
    found = effects.prepare_effects(plan, np.zeros(150, dtype=bool))
    pairs, own = len(plan.masks), found.columns[:, : int(plan.free.sum())]
    assert found.columns.shape[1] > pairs
    left = own - found.solution @ (found.columns.T @ own)
    assert np.allclose(found.influence, -(found.solution[:, : own.shape[1]] + left / pairs), rtol=1e-10, atol=0)
