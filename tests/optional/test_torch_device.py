"""Everything on one device; here the device is the CPU, and the functions are those that a GPU runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.densities import Mixed
from xcid.errors import InvalidParameter, ModelError
from xcid.generators import Balanced, Marginal
from xcid.outcomes import Flip, Interval, Raise, Threshold, ToClass, Within
from xcid.scores import PerFeature

torch = pytest.importorskip("torch", reason="needs the extra torch")
from xcid_torch.device import Device  # noqa: E402

RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=(300, 6))
TABLE[:, 1] = np.round(TABLE[:, 1])  # values that pile up
TABLE[:, 2] = np.where(RNG.random(300) < 0.4, 0.0, TABLE[:, 2])
PARTS = ("values", "lower", "upper", "p_values", "base_values", "outputs", "n_positive")


def network(n_outputs, dtype=None):
    torch.manual_seed(1)
    last = [torch.nn.Softmax(1)] if n_outputs > 1 else []
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, n_outputs), *last)
    return net if dtype is None else net.to(dtype)


@pytest.mark.parametrize(
    ("n_outputs", "outcome"),
    [
        (2, None), (3, None), (1, None), (2, Flip()), (3, ToClass(1)), (3, ToClass(2, soft=True)), (2, Threshold(0.4)),
        (1, Interval(0.2)), (1, Within(-0.1, 0.3)), (1, Raise(0.05)),
    ],
)  # fmt: skip
def test_same_as_on_the_host(n_outputs, outcome):
    names = ["price"] if n_outputs == 1 else None
    check_on_both(xcid.Explainer(network(n_outputs), TABLE, outcome=outcome, class_names=names))


def test_a_logit_is_read_as_on_the_host():
    with pytest.warns(xcid.XcidWarning, match="taken for the logit"):
        explainer = xcid.Explainer(network(1), TABLE, class_names=["no", "yes"])
    check_on_both(explainer)


def check_on_both(explainer):
    rows = np.concatenate([TABLE[:20], RNG.normal(size=(5, 6))])
    host, there = explainer(rows, seed=2), Device(rows=7)(explainer, rows, seed=2)
    for part in PARTS:
        tolerance = 1e-4 if part == "p_values" else 1e-5  # of a module in single precision, in blocks of other sizes
        assert np.allclose(getattr(there, part), getattr(host, part), atol=tolerance), part
    plain = explainer.replace(score=PerFeature(Mixed()))(rows, seed=2).importance
    assert np.allclose(there.importance, plain, atol=1e-5)
    assert np.array_equal(there.status, host.status)
    assert np.array_equal(there.n_flips, host.n_flips)
    assert np.array_equal(there.n_evaluations, host.n_evaluations)
    assert there.feature_names == host.feature_names
    assert there.cloud is None
    assert (there.scale, there.unit) == (host.scale, host.unit)
    assert np.array_equal(there.about, host.about)


def test_frames_keep_their_index():
    frame = pd.DataFrame(TABLE, columns=list("abcdef"), index=[f"r{i}" for i in range(300)])
    explanation = Device()(xcid.Explainer(network(2), frame), frame[5:9])
    assert explanation.index.tolist() == ["r5", "r6", "r7", "r8"]
    assert explanation.feature_names == tuple("abcdef")


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_the_module_keeps_its_precision_and_mode(dtype):
    net = network(2, getattr(torch, dtype)).train()
    explainer = xcid.Explainer(net, TABLE)
    host, there = explainer(TABLE[:6]), Device()(explainer, TABLE[:6])
    assert np.allclose(host.values, there.values, atol=1e-5 if dtype == "float64" else 0.05)
    assert all(part.training for part in net.modules())
    assert all(weight.grad is None for weight in net.parameters())


def test_few_background_rows_tell_nothing_from_noise():
    explainer = xcid.Explainer(network(2), TABLE[:5], generator=Balanced(100))
    host, there = explainer(TABLE[:3]), Device()(explainer, TABLE[:3])
    assert np.all(there.p_values == 1)
    assert np.array_equal(there.p_values, host.p_values)


class Hungry(torch.nn.Module):
    """Has no room for many rows."""

    def __init__(self, most):
        super().__init__()
        self.net, self.most, self.sizes = network(2), most, []

    def forward(self, rows):
        self.sizes.append(len(rows))
        if len(rows) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.net(rows)


def test_blocks_are_halved_where_memory_does_not_suffice():
    explainer = xcid.Explainer(Hungry(3_500), TABLE)
    explanation = Device(rows=16)(explainer, TABLE[:16])
    assert np.allclose(explanation.values, xcid.Explainer(network(2), TABLE)(TABLE[:16]).values, atol=1e-6)
    sizes = explainer.subject.model.sizes  # of the rows of one plan
    assert max(sizes) > 3_500
    assert sizes[-1] <= 3_500


def test_a_row_that_is_too_much():
    with pytest.raises(ModelError, match="does not suffice for a single row"):
        Device()(xcid.Explainer(Hungry(500), TABLE), TABLE[:2])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"generator": Marginal(), "outcome": Flip()}, "draws for each row"),
        ({"score": xcid.scores.PerFeature()}, "score is not Adjusted"),
        ({"density": xcid.densities.Kernel()}, "depends on the labels"),
        ({"repeats": 3}, "more than one run"),
        ({"constraints": xcid.Constraints(groups={"g": ["x0", "x1"]})}, "there are groups"),
        ({"constraints": xcid.Constraints(ranges={"x0": (-1, 1)})}, "fit the new values"),
        ({"outcome": lambda outputs, reference: outputs[:, 1] > 0.6}, "the outcome takes no tensors"),
    ],
)
def test_what_cannot_run_on_a_device_says_so(settings, says):
    with pytest.raises(InvalidParameter, match=says):
        Device()(xcid.Explainer(network(2), TABLE, **settings), TABLE[:2])


def test_other_models_are_refused():
    with pytest.raises(InvalidParameter, match=r"no torch\.nn\.Module"):
        Device()(xcid.Explainer(lambda X: X[:, 0] > 0, TABLE), TABLE[:2])


def test_answers_that_are_not_finite():
    class Odd(torch.nn.Module):
        def forward(self, rows):
            answers = torch.softmax(rows[:, :2], 1)
            return answers if len(rows) <= 300 else answers * float("nan")

    with pytest.raises(ModelError, match="not finite"):
        Device()(xcid.Explainer(Odd(), TABLE), TABLE[:2])


def test_a_small_case_of_the_benchmark(capsys, monkeypatch):
    import importlib.util
    import json
    import sys
    from pathlib import Path

    path = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
    spec = importlib.util.spec_from_file_location("gpu_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--rows", "40", "--block", "20", "--device", "cpu"])
    assert module.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 40
    assert found["densities and d1"]["share of the limit"] > 0
