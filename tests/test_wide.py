"""Tables with more columns than samples: nothing ends the process, and nothing but time and memory is saved."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import xcid
from xcid._kernels import arrays, logistic


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_samples", "n_features"), [(12, 5), (12, 7), (12, 40)])
def test_wide_columns_give_what_their_normal_matrix_would(n_samples, n_features, weighted):
    """Fewer samples than columns are solved by the samples' own products, and nothing else changes."""
    random = np.random.default_rng(n_features)
    feature = np.sort(np.r_[np.arange(n_features), random.integers(0, n_features, n_features)])
    columns = random.normal(size=(2, n_samples, len(feature)))
    weight = random.random((2, n_samples)) if weighted else None
    if weighted:
        weight[:, 0] = 0
    contrasts = np.where(feature[:, None] == np.arange(n_features), random.normal(size=(2, len(feature), 1)), 0.0)
    found = logistic.prepare(columns, weight)
    by = np.ones((2, n_samples)) if weight is None else weight
    normal = (found.centred * by[:, :, None]).transpose(0, 2, 1) @ found.centred
    inverse = np.linalg.inv(normal + found.penalty * np.eye(len(feature)))
    slope = random.normal(size=(2, len(feature)))
    assert found.is_wide == (len(feature) > n_samples)
    assert found.inverse.shape[1] == min(n_samples, len(feature))
    np.testing.assert_allclose(found.solve(slope), np.einsum("nc,ncd->nd", slope, inverse), rtol=1e-8, atol=1e-10)
    due = found.centred @ inverse @ contrasts
    np.testing.assert_allclose(found.influences(contrasts, feature), due, rtol=1e-8, atol=1e-10)
    freedom = 1 + np.einsum("ncd,ndc->n", normal, inverse)
    np.testing.assert_allclose(found.freedom, freedom, rtol=1e-9)


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
