"""Inputs that a network fails for have a status on every road; one that fails for the background too is an error."""

from __future__ import annotations

import numpy as np
import pytest

import xcid
import xcid_torch
from xcid.errors import ModelError, XcidWarning

torch = pytest.importorskip("torch", reason="is not installed")

BAD = 777.0


class Delicate(torch.nn.Module):
    """Fails for inputs with a marked cell; ``broken`` makes it fail for all."""

    def __init__(self, n_cells):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = torch.nn.Linear(n_cells, 5), torch.nn.Linear(5, 2)
        self.broken = False

    def forward(self, inputs):
        if self.broken or bool((inputs == BAD).any()):
            raise ValueError("not this one")
        return torch.softmax(4 * self.head(torch.tanh(self.layer(inputs.reshape(len(inputs), -1)))), 1)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def of_layer(how):
    def make(net):
        return xcid_torch.LayerExplainer(net, "layer", numbers(40, 6), how=how), numbers(3, 6, seed=1)

    return make, 6


def of_images(net):
    explainer = xcid_torch.ImageExplainer(net, numbers(20, 1, 4, 4), segments=xcid_torch.Patches(2))
    return explainer, numbers(3, 1, 4, 4, seed=1)


def of_device(net):
    explainer = xcid.Explainer(net, numbers(60, 6).double().numpy())
    rows = numbers(3, 6, seed=1).double()
    return lambda X, seed=0: xcid_torch.Device()(explainer, np.asarray(X), seed=seed), rows


ROADS = {
    "perturb": of_layer(xcid_torch.PerturbLayer()),
    "ablate": of_layer(xcid_torch.AblateLayer()),
    "watch": of_layer(xcid_torch.WatchLayer()),
    "images": (of_images, 16),
    "device": (of_device, 6),
}


def marked(inputs, which):
    """Inputs of which some have cells that the network fails for, all of them: no perturbation keeps none."""
    chosen = inputs.clone()
    chosen[which] = BAD
    return chosen


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("which", [[0], [1, 2], [0, 1, 2]])
def test_a_failing_row_is_a_status(road, which):
    make, n_cells = ROADS[road]
    explain, rows = make(Delicate(n_cells))
    whole = explain(rows)
    with pytest.warns(XcidWarning, match="not this one"):
        found = explain(marked(rows, which))
    fine = [row for row in range(3) if row not in which]
    assert np.all(found.status[which] == "model_failed")
    assert np.all(found.values[which] == 0)
    assert found.values.shape == whole.values.shape
    assert found.feature_names == whole.feature_names
    assert found.status[fine].tolist() == whole.status[fine].tolist()
    assert np.allclose(found.values[fine], whole.values[fine], atol=1e-9)


@pytest.mark.parametrize("road", ROADS)
def test_a_network_that_fails_for_the_background_too_is_an_error(road):
    make, n_cells = ROADS[road]
    net = Delicate(n_cells)
    explain, rows = make(net)
    net.broken = True
    with pytest.raises(ModelError, match="not this one"):
        explain(rows)


class TestTexts:
    background = ("a good film", "what a bad film it was")

    def model(self, texts):
        if self.broken or any("awful" in text for text in texts):
            raise ValueError("not this one")
        return np.array([0.9 if "good" in text else 0.2 for text in texts])

    broken = False

    @pytest.mark.parametrize("texts", [["an awful thing of a film"], ["awful stuff", "awful bad old stuff"]])
    def test_all_texts_fail(self, texts):
        explainer = xcid_torch.TextExplainer(self.model, background=self.background)
        with pytest.warns(XcidWarning, match="not this one"):
            found = explainer(texts)
        assert np.all(found.status == "model_failed")
        assert len(found.feature_names) == max(len(text.split()) for text in texts) == len(found.details.levels)

    def test_the_model_fails_for_the_background_too(self):
        explainer = xcid_torch.TextExplainer(self.model, background=self.background)
        self.broken = True
        with pytest.raises(ModelError, match="not this one"):
            explainer(["a good film"])
