"""Adapters keep the contracts of the toolkits that they speak to, none of which is needed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid._require import quiet_and_seeded
from xcid.errors import InvalidData
from xcid_lab.adapters import Interpret, explain_func

torch = pytest.importorskip("torch", reason="needs the extra torch")

TABLE = np.random.default_rng(3).normal(size=(120, 4))
FIVE = ("explanation_type", "name", "selector", "data", "visualize")


class Linear(torch.nn.Module):
    """Logits of three classes; of inputs of any shape, the first number decides for class 1 and against class 0."""

    def __init__(self, kind=torch.nn.Identity):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(3.0))
        self.last = kind()

    def forward(self, inputs):
        first = inputs.flatten(1)[:, 0] * self.scale
        return self.last(torch.stack([-first, first, torch.full_like(first, -9.0)], dim=1))


def softmax():
    return torch.nn.Softmax(dim=1)


class TestQuantus:
    @pytest.mark.parametrize("shape", [(4,), (1, 4), (1, 2, 2)])
    def test_shape_of_the_inputs(self, shape):
        inputs = TABLE.reshape(-1, *shape)
        scores = explain_func(model=Linear(), inputs=inputs[:5], targets=np.ones(5), background=inputs, device="cpu")
        assert scores.shape == (5, *shape)
        assert np.all(np.abs(scores.reshape(5, 4)).argmax(axis=1) == 0)

    def test_sign_is_that_of_the_target(self):
        inputs = TABLE[np.abs(TABLE[:, 0]) > 0.5]
        for_one = explain_func(Linear(), inputs, np.ones(len(inputs)))
        for_zero = explain_func(Linear(), inputs, np.zeros(len(inputs)))
        assert np.all(np.sign(for_one[:, 0]) == np.sign(inputs[:, 0]))
        assert np.all(np.sign(for_zero[:, 0]) == -np.sign(inputs[:, 0]))

    def test_targets_of_each_row(self):
        both = np.array([0, 1])
        scores = explain_func(Linear(), TABLE[:2], both, background=TABLE)
        alone = [explain_func(Linear(), TABLE[[i]], [i], background=TABLE)[0] for i in both]
        assert np.allclose(scores, alone)

    def test_logits_and_probabilities_are_the_same_model(self):
        logits, shares = (
            explain_func(Linear(kind), TABLE[:3], 1, background=TABLE) for kind in (torch.nn.Identity, softmax)
        )
        assert np.allclose(logits, shares, atol=1e-5)

    def test_one_logit(self):
        module = torch.nn.Linear(4, 1)
        scores = explain_func(module, TABLE[:3], [1, 1, 1], background=TABLE)
        assert scores.shape == (3, 4)

    def test_the_model_is_left_as_it_was(self):
        model = Linear()
        model.train()
        explain_func(model, TABLE[:2], [0, 1], background=TABLE)
        assert model.training
        assert all(parameter.grad is None for parameter in model.parameters())

    def test_functions_of_arrays(self):
        scores = explain_func(
            lambda X: (X[:, 0, 0] > 0).astype(int), TABLE[:4].reshape(4, 1, 4), None, background=TABLE.reshape(-1, 1, 4)
        )
        assert np.all(np.abs(scores).argmax(axis=2) == 0)

    def test_other_shape(self):
        with pytest.raises(InvalidData, match=r"shape \(n, 4\) are due"):
            explain_func(Linear(), TABLE[:2, :3], [0, 1], background=TABLE)

    def test_quantus_itself(self):
        """Where it is installed: it is under the GPL, and no dependency."""
        quantus = pytest.importorskip("quantus")
        metric = quantus.FaithfulnessEstimate(perturb_baseline=0.0, return_aggregate=False, disable_warnings=True)
        known = {"background": TABLE.astype(np.float32)[:, None]}  # it wants a channel
        inputs = known["background"][:6]
        labels = (inputs[:, 0, 0] > 0).astype(int)
        more = {"explain_func": explain_func, "explain_func_kwargs": known}
        with quiet_and_seeded(0):
            found = metric(Linear(softmax).eval(), inputs, labels, **more)
        assert len(found) == 6
        assert np.nanmean(found) > 0.5

    @pytest.mark.parametrize(
        ("inputs", "targets", "message"),
        [
            (TABLE[:1], [0], "need at least two inputs"),
            (TABLE[:3], [0, 1], "2 targets for 3 inputs"),
            (TABLE[:3], [7, 7, 7], "no class 7"),
        ],
    )
    def test_refused(self, inputs, targets, message):
        with pytest.raises(InvalidData, match=message):
            explain_func(Linear(), inputs, targets)


@pytest.fixture(scope="module")
def local():
    frame = pd.DataFrame(TABLE, columns=["a", "<b>", "c", "d"])
    explainer = xcid.Explainer(lambda X: np.asarray(X)[:, 1] > 0, frame)
    return Interpret(explainer).explain_local(frame.iloc[:3], y=[True, False, True], name="mine")


class TestInterpret:
    def test_five_names(self, local):
        assert all(hasattr(local, name) for name in FIVE)
        assert (local.explanation_type, local.name) == ("local", "mine")

    def test_selector_has_a_line_a_row(self, local):
        assert list(local.selector.columns) == ["Predicted", "PrScore", "Actual"]
        assert len(local.selector) == 3

    def test_data(self, local):
        assert local.data() is None
        row = local.data(1)
        assert row["names"] == ["a", "<b>", "c", "d"]
        assert row["scores"] == local.explanation.values[1].tolist()
        assert len(row["values"]) == 4
        assert len(local.data(-1)["specific"]) == 3
        assert json.loads(json.dumps(local.data(-1))) == local.data(-1)

    def test_picture(self, local):
        assert local.visualize() is None
        bars = local.visualize(0)["data"][0]
        assert len(bars["x"]) == 4
        assert bars["y"][-1].startswith("&lt;b> = ")

    def test_picture_without_plotly(self, local, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        figure = local.visualize(2)
        assert type(figure) is dict
        assert json.dumps(figure)

    def test_answers_of_other_rows(self, local):
        with pytest.raises(InvalidData, match="2 true answers for 1 rows"):
            Interpret(xcid.Explainer(lambda X: X[:, 0] > 0, TABLE)).explain_local(TABLE[:1], y=[1, 0])
