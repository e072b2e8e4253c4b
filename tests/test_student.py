"""Student's distribution agrees with SciPy's, on arrays and on tensors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from xcid._kernels.arrays import student_quantile, student_tails

rng = np.random.default_rng(0)
FREEDOM = np.concatenate([1 + 3 * rng.random(500), 10 ** (4 * rng.random(2_000)), [1.0, 2.0, 1e6]])
SIZE = np.abs(rng.standard_t(2, size=FREEDOM.size)) * rng.choice([0.0, 0.1, 1.0, 20.0], size=FREEDOM.size)


@pytest.mark.parametrize("share", [0.9, 0.975, 0.995])
def test_quantiles(share):
    np.testing.assert_allclose(student_quantile(FREEDOM, share), special.stdtrit(FREEDOM, share), rtol=1e-9)


def test_quantiles_without_end():
    assert student_quantile(np.array([np.inf]), 0.975) == pytest.approx(special.ndtri(0.975), rel=1e-9)


class TestTensors:
    torch = pytest.importorskip("torch")

    def test_quantiles(self):
        found = student_quantile(self.torch.as_tensor(FREEDOM), 0.975)
        np.testing.assert_allclose(found.numpy(), special.stdtrit(FREEDOM, 0.975), rtol=1e-9)

    def test_tails(self):
        found = student_tails(*map(self.torch.as_tensor, (FREEDOM, SIZE)))
        np.testing.assert_allclose(found.numpy(), student_tails(FREEDOM, SIZE), rtol=2e-9, atol=1e-300)

    def test_nothing_is_likelier_than_nothing(self):
        found = student_tails(*map(self.torch.as_tensor, ([3.0, 50.0], [0.0, 0.0])))
        assert found.tolist() == [1.0, 1.0]
