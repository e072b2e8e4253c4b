"""Explanations in the activation space of a layer."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import xcid
import xcid_torch
from xcid.errors import InvalidData, InvalidParameter, MissingDependency, ModelError, NotEnoughFlips
from xcid.generators import Marginal
from xcid_torch import AblateLayer, Cells, Channels, LayerExplainer, PerturbLayer, WatchLayer, Zero

torch = pytest.importorskip("torch", reason="needs the extra torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def quiet_torch():
    """One thread, a state of its own, and no test that changes it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
    torch.set_num_threads(threads)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def deciding(units=(2, 5)):
    """A network whose decision goes by two of eight hidden units: one for the second class, one against it."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    with torch.no_grad():
        net[2].weight.zero_()
        net[2].bias.zero_()
        net[2].weight[1, units[0]], net[2].weight[1, units[1]] = 4.0, -2.0
    return net


class Convolution(nn.Module):
    """The third of four channels decides, by its mean."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(1, 4, 3)
        self.level = nn.Parameter(torch.tensor(0.0))

    def forward(self, images):
        maps = self.conv(images)
        score = 20 * (maps[:, 2].mean((1, 2)) - self.level)
        return torch.stack([-score, score], dim=1)


class Skipping(nn.Module):
    """What goes round the layer decides together with it."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3, bias=False)
        with torch.no_grad():
            self.layer.weight.copy_(torch.eye(3))

    def forward(self, rows):
        score = 3 * self.layer(rows)[:, 0] * rows[:, 1]
        return torch.stack([-score, score], dim=1)


class TestPerturbLayer:
    def test_ranks_the_units_that_decide(self):
        explanation = LayerExplainer(deciding(), "1", numbers(120, 6))(numbers(12, 6, seed=1))
        assert explanation.feature_names == tuple(f"1[{unit}]" for unit in range(8))
        top = np.argsort(-np.abs(explanation.values), axis=1)[:, :2]
        assert np.mean([set(pair) == {2, 5} for pair in top.tolist()]) > 0.9
        idle = np.delete(explanation.p_values, [2, 5], axis=1)
        assert np.mean(idle < 0.05) < 0.1
        assert (explanation.p_values[:, 2] < 0.05).mean() > 0.7
        assert np.all((explanation.lower <= explanation.values) & (explanation.values <= explanation.upper))

    def test_data_are_the_activations_and_outputs_those_of_the_network(self):
        net, rows = deciding(), numbers(3, 6, seed=1)
        explanation = LayerExplainer(net, net[1], numbers(60, 6))(rows)
        with torch.no_grad():
            assert np.allclose(explanation.data, net[:2](rows).numpy(), atol=1e-6)
            assert np.allclose(explanation.outputs, net(rows).softmax(1).numpy(), atol=1e-6)
        assert explanation.evidence(0, "1[2]").weights.size

    def test_a_channel_is_one_unit(self):
        net, images = Convolution(), numbers(60, 1, 8, 8)
        with torch.no_grad():
            net.level.copy_(net.conv(images)[:, 2].mean((1, 2)).median())
        explanation = LayerExplainer(net, "conv", images)(numbers(6, 1, 8, 8, seed=2))
        assert explanation.values.shape == (6, 4)
        assert np.all(np.argmax(np.abs(explanation.values), axis=1) == 2)
        assert np.mean(explanation.p_values[:, [0, 1, 3]] < 0.05) < 0.15

    def test_the_whole_map_is_replaced(self):
        """A network that looks at the spread of a map within one image: means of maps would have none."""

        class Spread(Convolution):
            def forward(self, images):
                maps = self.conv(images)
                score = 20 * (maps[:, 1].std((1, 2)) - self.level)
                return torch.stack([-score, score], dim=1)

        net, images = Spread(), numbers(60, 1, 8, 8) * torch.linspace(0.5, 2, 60)[:, None, None, None]
        with torch.no_grad():
            net.level.copy_(net.conv(images)[:, 1].std((1, 2)).median())
        explanation = LayerExplainer(net, "conv", images, per=Channels(summary=np.std))(images[::15])
        assert np.all(np.argmax(np.abs(explanation.values), axis=1) == 1)

    def test_maps_are_the_rows_own_or_a_background_rows(self):
        seen = []

        class Seeing(nn.Module):
            def __init__(self, conv):
                super().__init__()
                self.conv = conv

            def forward(self, images):
                maps = self.conv(images)
                seen.append(maps.detach().clone())
                score = 5 * maps[:, 0].mean((1, 2))
                return torch.stack([-score, score], dim=1)

        conv, background, image = Convolution().conv, numbers(30, 1, 6, 6), numbers(1, 1, 6, 6, seed=9)
        explainer = LayerExplainer(Seeing(conv), "conv", background)
        seen.clear()
        explainer(image)
        asked = torch.cat(seen)
        with torch.no_grad():
            own, lent = conv(image)[0], conv(background)
        is_own = torch.isclose(asked, own, atol=1e-5).flatten(2).all(2)
        is_lent = torch.stack([torch.isclose(asked, one, atol=1e-5).flatten(2).all(2) for one in lent]).any(0)
        assert bool((is_own | is_lent).all())
        assert 0.4 < float(is_own.float().mean()) < 0.6

    def test_cells_are_units_of_their_own(self):
        explanation = LayerExplainer(Convolution(), "conv", numbers(80, 1, 4, 4), per=Cells())(numbers(1, 1, 4, 4))
        assert explanation.feature_names[0] == "conv[0, 0, 0]"
        assert explanation.feature_names[-1] == "conv[3, 1, 1]"
        assert set(np.argsort(-np.abs(explanation.values[0]))[:4].tolist()) == {8, 9, 10, 11}

    def test_connections_that_skip_the_layer_keep_the_rows_own_input(self):
        """The sign of the input beside the layer turns the layer's meaning round."""
        rows = torch.tensor([[0.5, 1.5, 0.0], [0.5, -1.5, 0.0]])
        explanation = LayerExplainer(Skipping(), "layer", numbers(100, 3))(rows)
        assert explanation.outputs.argmax(axis=1).tolist() == [1, 0]
        assert np.all(explanation.values[:, 0] * [1, -1] > 0.2)
        assert np.all(explanation.p_values[:, 1:] > 0.01)

    def test_layers_that_give_several_things(self):
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.lstm, self.head = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 2)
                with torch.no_grad():
                    self.head.weight.zero_()
                    self.head.bias.zero_()
                    self.head.weight[1, 3] = 8

            def forward(self, rows):
                return self.head(self.lstm(rows)[0].mean(1))

        net = Recurrent()
        explanation = LayerExplainer(net, "lstm", numbers(60, 5, 2), per=Channels(axis=-1))(numbers(4, 5, 2, seed=1))
        assert np.all(np.argmax(np.abs(explanation.values), axis=1) == 3)

    def test_tokens(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(12, 2))
        tokens = torch.randint(20, (80, 3))
        explanation = LayerExplainer(net, "0", tokens)(tokens[:2])
        assert explanation.feature_names == ("0[0]", "0[1]", "0[2]")  # places of tokens

    def test_other_settings_reach_the_explainer(self):
        explainer = LayerExplainer(
            deciding(), "1", numbers(60, 6), outcome=xcid.outcomes.Flip(), generator=Marginal(m=30), repeats=2
        )
        explanation = explainer(numbers(2, 6, seed=1))
        assert "Marginal" in explanation.details.settings["generator"]
        assert "Flip(" in explanation.details.settings["outcome"]
        assert explanation.spread is not None

    def test_blind_summaries_are_spoken_of(self):
        net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.InstanceNorm2d(3), nn.Flatten(), nn.Linear(108, 2))
        flat = lambda maps, axis: np.zeros(maps.shape[:2])  # noqa: E731
        with pytest.warns(xcid.XcidWarning, match="3 of 3 units of '1' have maps that differ and the same summary"):
            LayerExplainer(net, "1", numbers(30, 1, 8, 8), per=Channels(summary=flat))


class TestAblateLayer:
    def test_ranks_the_units_that_decide(self):
        net, rows = deciding(), numbers(10, 6, seed=1)
        for fill in (Zero(), AblateLayer().fill):
            explanation = LayerExplainer(net, "1", numbers(60, 6), how=AblateLayer(fill))(rows)
            assert np.median(np.abs(explanation.values[:, [2, 5]])) > 0.1
            assert np.delete(np.abs(explanation.values), [2, 5], axis=1).max() < 1e-4
            assert explanation.shown(0, 0) == "kept"

    def test_equal_masks_are_asked_about_once(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
        explanation = LayerExplainer(net, "1", numbers(40, 3), how=AblateLayer(Zero()))(numbers(1, 3, seed=1))
        assert explanation.n_evaluations[0] <= 2**3 + 2  # and all of it filled, for the base value

    def test_several_fills(self):
        how = AblateLayer(xcid_torch.Background(most=30))
        explanation = LayerExplainer(deciding(), "1", numbers(60, 6), how=how)(numbers(6, 6, seed=1))
        assert np.mean(np.abs(explanation.values[:, [2, 5]])) > 5 * np.mean(np.abs(explanation.values[:, [0, 1, 3]]))


class TestWatchLayer:
    def test_units_of_deciding_inputs_stand_out(self):
        """Three units see the inputs that decide, and three see the others."""
        net = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2))
        with torch.no_grad():
            net[0].weight[:3, 3:], net[0].weight[3:, :3], net[2].weight[:, 3:] = 0, 0, 0
            net[2].weight[1] *= 6
        explanation = LayerExplainer(net, "1", numbers(150, 6), how=WatchLayer())(numbers(8, 6, seed=1))
        assert explanation.importance[:, :3].min(axis=1).mean() > 3 * explanation.importance[:, 3:].mean()
        assert np.mean(explanation.p_values[:, :3] < 0.05) > 0.9
        assert np.mean(explanation.p_values[:, 3:] < 0.05) < 0.15
        assert explanation.base_values is None
        with torch.no_grad():
            assert np.allclose(explanation.data, net[:2](numbers(8, 6, seed=1)).numpy(), atol=1e-6)

    def test_segments_of_images(self):
        net, images = Convolution(), numbers(40, 1, 8, 8)
        with torch.no_grad():
            net.level.copy_(net.conv(images)[:, 2].mean((1, 2)).median())
        how = WatchLayer(segments=xcid_torch.Patches(2))
        explanation = LayerExplainer(net, "conv", images, how=how)(images[:4])
        assert explanation.values.shape == (4, 4)
        assert np.all(np.argmax(explanation.values, axis=1) == 2)
        assert explanation.evidence(0, 2).weights.size

    def test_tokens_stay_tokens(self):
        class Checked(nn.Embedding):
            def forward(self, tokens):
                assert tokens.dtype == torch.int64
                assert int(tokens.min()) >= 0
                return super().forward(tokens)

        torch.manual_seed(0)
        net = nn.Sequential(Checked(20, 4), nn.Flatten(), nn.Linear(12, 2))
        tokens = torch.randint(20, (80, 3))
        explanation = LayerExplainer(net, "1", tokens, how=WatchLayer())(tokens[:2])
        assert explanation.values.shape == (2, 12)

    def test_large_inputs_need_segments(self):
        with pytest.raises(InvalidParameter, match=r"an input has 4,900 cells, .*WatchLayer\(segments="):
            LayerExplainer(Convolution(), "conv", numbers(3, 1, 70, 70), how=WatchLayer())


@pytest.mark.parametrize("how", [PerturbLayer(), AblateLayer(), WatchLayer()], ids=lambda how: type(how).__name__)
class TestEveryWay:
    def test_a_row_alone_and_in_a_batch(self, how):
        explainer, rows = LayerExplainer(deciding(), "1", numbers(50, 6), how=how), numbers(4, 6, seed=1)
        whole = explainer(rows, seed=3)
        for row in (3, 0):
            alone = explainer(rows[row], seed=3)
            assert np.allclose(alone.values[0], whole.values[row], atol=1e-9)
            assert np.allclose(alone.p_values[0], whole.p_values[row], atol=1e-9)

    def test_a_seed_makes_the_same_twice(self, how):
        made = [LayerExplainer(deciding(), "1", numbers(50, 6), how=how) for _ in range(2)]
        first, second = (explainer(numbers(2, 6, seed=1), seed=5).values for explainer in made)
        assert np.array_equal(first, second)

    def test_the_network_is_given_back_as_it_was(self, how):
        class Drawing(nn.Linear):
            def forward(self, rows):
                torch.rand(1)  # in evaluation mode too
                return super().forward(rows)

        net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), Drawing(8, 2))
        net.train()
        net[2].eval()  # a part in another mode
        before = {name: part.clone() for name, part in net.state_dict().items()}
        state = torch.get_rng_state()
        LayerExplainer(net, "1", numbers(50, 6), how=how)(numbers(2, 6, seed=1))
        assert [part.training for part in net] == [True, True, False, True]
        assert all(torch.equal(part, before[name]) for name, part in net.state_dict().items())
        assert all(weight.grad is None and weight.requires_grad for weight in net.parameters())
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
        assert torch.equal(state, torch.get_rng_state())

    def test_so_it_is_when_the_model_raises(self, how):
        class Failing(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.head, self.left = nn.Linear(6, 4), nn.Linear(4, 2), 0

            def forward(self, rows):
                made = self.head(self.layer(rows))
                self.left -= 1
                if self.left < 0:
                    raise ValueError("enough")
                return made

        net = Failing()
        net.left = 40
        explainer = LayerExplainer(net, "layer", numbers(50, 6), how=how, at_once=64)
        net.left = 1
        state = torch.get_rng_state()
        with pytest.raises(ModelError, match="ValueError: enough"):
            explainer(numbers(1, 6, seed=1))
        assert net.training
        assert not any(part._forward_hooks for part in net.modules())
        assert torch.equal(state, torch.get_rng_state())

    def test_the_record_is_saved_and_shown(self, how, tmp_path):
        explanation = LayerExplainer(deciding(), "1", numbers(50, 6), how=how)(numbers(2, 6, seed=1))
        explanation.save(tmp_path / "made")
        again = xcid.load(tmp_path / "made")
        assert np.array_equal(again.values, explanation.values)
        assert again.feature_names == explanation.feature_names
        assert "1[2]" in str(explanation)
        assert len(explanation.to_frame()) == 16


class TestMemory:
    def test_a_block_is_halved_until_it_fits(self):
        class Small(nn.Module):
            def __init__(self, most):
                super().__init__()
                self.layer, self.most, self.sizes = nn.Linear(4, 4), most, []

            def forward(self, rows):
                if len(rows) > self.most:
                    raise torch.cuda.OutOfMemoryError("CUDA out of memory")
                self.sizes.append(len(rows))
                return self.layer(rows)

        torch.manual_seed(0)
        small, large = Small(10), Small(10**6)
        large.layer = small.layer
        rows = numbers(2, 4, seed=1)
        found, wanted = (LayerExplainer(net, "layer", numbers(40, 4))(rows) for net in (small, large))
        assert np.allclose(found.values, wanted.values, atol=1e-5)
        assert max(small.sizes) <= 10
        assert max(large.sizes) == 256

    def test_a_single_row_that_does_not_fit(self):
        from xcid_torch._network import halved

        def never(rows):
            raise torch.cuda.OutOfMemoryError("out of it")

        with pytest.raises(ModelError, match="does not suffice for a single row: out of it"):
            list(halved(never, np.zeros(9)))

    def test_blocks_come_in_order_and_stay_small(self):
        from xcid_torch._network import halved

        asked = []

        def some(rows):
            asked.append(len(rows))
            if len(rows) > 3:
                raise MemoryError
            return rows

        assert np.concatenate(list(halved(some, np.arange(10)))).tolist() == list(range(10))
        assert asked == [10, 5, 3, 3, 3, 1]

    def test_other_errors_pass(self):
        from xcid_torch._network import halved

        with pytest.raises(ZeroDivisionError):
            list(halved(lambda rows: 1 / 0, [1, 2]))


class TestWords:
    def test_torch_is_missing(self, monkeypatch):
        for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingDependency, match=r'needs torch, .*: pip install -e "\.\[torch\]"'):
            LayerExplainer(None, "1", None)

    def test_no_such_layer(self):
        with pytest.raises(InvalidParameter, match=r"no layer 'conf': the nearest are \['conv'\] \(1 in all\)"):
            LayerExplainer(Convolution(), "conf", numbers(20, 1, 8, 8))
        with pytest.raises(InvalidParameter, match="a Linear of another model"):
            LayerExplainer(Convolution(), nn.Linear(2, 2), numbers(20, 1, 8, 8))

    def test_a_layer_that_is_not_run_or_run_twice(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.idle, self.twice = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, rows):
                return self.twice(self.twice(rows))

        for layer, times in (("idle", 0), ("twice", 2)):
            with pytest.raises(InvalidParameter, match=f"'{layer}' is run {times} times"):
                LayerExplainer(Odd(), layer, numbers(20, 4))

    def test_weights_on_several_devices(self):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2, device="meta"))
        with pytest.raises(InvalidParameter, match=r"several devices \(cpu, meta\).*model.to\(device\)"):
            LayerExplainer(net, "0", numbers(20, 4))

    def test_data_without_values(self):
        with pytest.raises(InvalidData, match="'meta', which has no values"):
            LayerExplainer(deciding(), "1", numbers(20, 6).to("meta"))

    def test_data_are_brought_to_the_model(self):
        """Arrays and other precisions are taken, as tensors elsewhere would be."""
        net, background, rows = deciding(), numbers(50, 6), numbers(2, 6, seed=1)
        one = LayerExplainer(net, "1", background)(rows)
        other = LayerExplainer(net, "1", background.double().numpy())(rows.numpy())
        assert np.allclose(one.values, other.values)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision(self, dtype):
        half = LayerExplainer(deciding().to(dtype), "1", numbers(60, 6))(numbers(4, 6, seed=1))
        full = LayerExplainer(deciding(), "1", numbers(60, 6))(numbers(4, 6, seed=1))
        assert np.abs(half.values - full.values).max() < 0.05

    def test_a_model_that_fails(self):
        with pytest.raises(ModelError, match=r"the model failed: RuntimeError: .* on cpu, weights float32\)"):
            LayerExplainer(deciding(), "1", numbers(20, 5))

    def test_other_shapes(self):
        explainer = LayerExplainer(deciding(), "1", numbers(20, 6))
        with pytest.raises(InvalidData, match=r"shape \(5,\), and those of the background \(6,\)"):
            explainer(numbers(2, 5))
        with pytest.raises(InvalidData, match="not finite"):
            explainer(torch.full((1, 6), float("nan")))

    def test_ways_are_objects(self):
        with pytest.raises(InvalidParameter, match=r"how must be an object like xcid_torch.PerturbLayer\(\)"):
            LayerExplainer(deciding(), "1", numbers(20, 6), how="perturb")
        with pytest.raises(InvalidParameter, match="axis 0 is that of the inputs"):
            Channels(axis=0)

    def test_nothing_flips(self):
        net = deciding()
        with torch.no_grad():
            net[2].bias[0] = 100
        with pytest.raises(NotEnoughFlips, match="no perturbation of any of 2 rows changes the output"):
            LayerExplainer(net, "1", numbers(50, 6))(numbers(2, 6, seed=1))


def test_numbers_are_explained_by_moves():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    with torch.no_grad():
        net[2].weight.zero_()
        net[2].weight[0, 3] = 5
    for how in (PerturbLayer(), AblateLayer(), WatchLayer()):
        explanation = LayerExplainer(net, "1", numbers(60, 4), how=how)(numbers(3, 4, seed=1) * 2)
        assert explanation.output_names == ("output",)
        assert np.mean(np.argmax(np.abs(explanation.values), axis=1) == 3) > 0.6


def test_importing_the_room_loads_no_torch():
    import subprocess

    code = "import sys, xcid_torch; xcid_torch.__all__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
