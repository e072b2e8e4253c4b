"""Explanations of images by their segments."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import xcid
import xcid_torch.plots
from xcid.errors import InvalidData, InvalidParameter, MissingDependency
from xcid_torch import Background, Blur, ImageExplainer, Mean, Noise, Patches, Superpixels, Zero

torch = pytest.importorskip("torch", reason="needs the extra torch")
nn = torch.nn

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "digits.py"


@pytest.fixture(autouse=True)
def quiet_torch():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_num_threads(threads)


class Looking(nn.Module):
    """Looks at two of nine patches, which work together, and at the texture of a third."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, images):
        first, second = images[:, :, :4, :4].mean((1, 2, 3)), images[:, :, 4:8, 8:].mean((1, 2, 3))
        texture = images[:, :, :4, 8:].std((1, 2, 3))
        score = self.scale * (6 * first + 6 * first * second + 3 * texture - 4.5)
        return torch.stack([-score, score], dim=1)


SEEN = [0, 2, 5]  # patches of 4 x 4


def pictures(n, seed=0, channels=1):
    random = torch.Generator().manual_seed(seed)
    light = torch.rand(n, channels, 3, 3, generator=random).repeat_interleave(4, 2).repeat_interleave(4, 3)
    return 2 * light * torch.rand(n, channels, 12, 12, generator=random)


@pytest.fixture(scope="module")
def explainer():
    return ImageExplainer(Looking(), pictures(60))


class TestScores:
    def test_ignored_patches_are_noise(self, explainer):
        """False positives are near 5% at most, and patches that are looked at are found."""
        found = [explainer(pictures(20, seed=1), seed=seed) for seed in range(3)]
        p_values = np.concatenate([explanation.p_values for explanation in found])
        assert np.mean(np.delete(p_values, SEEN, axis=1) < 0.05) < 0.06
        assert np.mean(p_values[:, SEEN] < 0.05) > 0.6

    @pytest.mark.filterwarnings("ignore:.*too few perturbations that flip:xcid.XcidWarning")
    @pytest.mark.parametrize("fill", [Mean(), Blur(), Noise(), Zero(), Background(most=5)], ids=repr)
    def test_every_fill(self, fill):
        explanation = ImageExplainer(Looking(), pictures(40), segments=Patches(2), fill=fill, n=1_500)(pictures(8, 1))
        seen = np.zeros((6, 6), dtype=bool)
        seen[:2, :2] = seen[2:4, 4:] = seen[:2, 4:] = True
        values = np.abs(explanation.values)
        assert values[:, seen.ravel()].mean() > 5 * values[:, ~seen.ravel()].mean()
        assert np.mean(explanation.p_values[:, ~seen.ravel()] < 0.05) < 0.09

    def test_signs(self, explainer):
        """In a bright image of the second class bright patches hold the class in place."""
        image = torch.full((1, 1, 12, 12), 0.9)
        explanation = explainer(image)
        assert explanation.outputs[0].argmax() == 1
        assert explanation.values[0, 0] > 0.1
        assert explanation.values[0, 0] > 0

    def test_other_generators(self):
        """Without a plan for all rows too, 1 stands for what was kept."""
        made = ImageExplainer(Looking(), pictures(60), generator=xcid.generators.Marginal(m=150))
        explanation = made(torch.full((1, 1, 12, 12), 0.9))
        assert np.argmax(explanation.values[0]) == 0
        assert np.all(explanation.cloud.samples[0].max(axis=0) == 1)
        kept = explanation.cloud.samples[0, :, 0] == 1
        assert explanation.cloud.negative[0, kept].mean() > explanation.cloud.negative[0, ~kept].mean()

    def test_an_image_alone_and_in_a_batch(self, explainer):
        images = pictures(3, seed=2)
        whole = explainer(images, seed=4)
        assert np.allclose(explainer(images[2], seed=4).values[0], whole.values[2], atol=1e-9)
        assert np.array_equal(explainer(images, seed=4).values, whole.values)
        assert not np.array_equal(explainer(images, seed=5).values, whole.values)

    def test_features_are_kept_or_filled(self, explainer):
        explanation = explainer(pictures(1, seed=1))
        assert explanation.feature_names[3] == "segment 3"
        assert explanation.shown(0, 3) == "kept"
        evidence = explanation.evidence(0, 0)
        assert sorted(evidence.points.tolist()) == [0.0, 1.0]
        assert evidence.p.sum() == pytest.approx(1)

    def test_equal_mixtures_are_asked_about_once(self):
        explanation = ImageExplainer(Looking(), pictures(30), segments=Patches(6), fill=Mean())(pictures(1, seed=1))
        assert explanation.n_evaluations[0] <= 2**4 + 2  # and all of it filled, for the base value

    def test_mixtures_are_made_of_the_image_and_one_fill(self):
        asked = []

        class Seeing(Looking):
            def forward(self, images):
                asked.append(images.clone())
                return super().forward(images)

        background, image = pictures(20), pictures(1, seed=1)
        made = ImageExplainer(Seeing(), background, n=64)
        asked.clear()
        made(image)
        seen = torch.cat(asked)
        own = (seen == image).all(dim=1)
        lent = torch.stack([(seen == one).all(dim=1) for one in background])
        assert bool((own | lent.any(dim=0)).all())
        per_image = lent.flatten(2).float().mean(2).max(dim=0).values + own.flatten(1).float().mean(1)
        assert bool((per_image > 0.999).all())

    def test_numbers(self):
        class Bright(Looking):
            def forward(self, images):
                return 5 * images[:, :, :4, :4].mean((1, 2, 3)) * self.scale - 8

        explanation = ImageExplainer(Bright(), pictures(40), fill=Mean())(torch.full((2, 1, 12, 12), 1.8))
        assert explanation.output_names == ("output",)
        assert np.all(np.argmax(np.abs(explanation.values), axis=1) == 0)


class TestSegments:
    def test_patches_at_the_edge(self):
        labels = Patches(3)(np.zeros((1, 4, 7)))
        assert labels[:3, :3].tolist() == [[0] * 3] * 3
        assert labels[3].tolist() == [3, 3, 3, 4, 4, 4, 5]

    def test_superpixels_follow_the_image(self):
        pytest.importorskip("skimage", reason="needs the extra image")
        image = np.zeros((3, 24, 24))
        image[0, :, 12:] = 1.0
        labels = Superpixels(n=8)(image)
        left, right = set(labels[:, :12].ravel().tolist()), set(labels[:, 12:].ravel().tolist())
        assert not left & right

    def test_images_with_other_numbers_of_superpixels(self):
        pytest.importorskip("skimage", reason="needs the extra image")
        made = ImageExplainer(Looking(), pictures(30), segments=Superpixels(n=12, compactness=20), fill=Mean())
        images = pictures(6, seed=1)
        counts = [int(made.labels(image).max()) + 1 for image in images]
        assert len(set(counts)) > 1
        explanation = made(images)
        assert explanation.values.shape == (6, max(counts))
        fewest = int(np.argmin(counts))
        assert np.all(explanation.feature_status[fewest, counts[fewest] :] == "constant")
        assert not explanation.values[fewest, counts[fewest] :].any()
        alone = made(images[fewest])
        assert np.allclose(alone.values[0], explanation.values[fewest, : counts[fewest]], atol=1e-9)
        assert made.map(explanation, images[fewest], fewest).shape == (12, 12)

    def test_scikit_image_is_missing(self, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
        with pytest.raises(MissingDependency, match=r'needs skimage, .* pip install -e "\.\[image\]"'):
            Superpixels()(np.zeros((1, 8, 8)))

    def test_a_function_will_do(self):
        halves = lambda image: np.repeat([[0] * 6 + [1] * 6], 12, axis=0)  # noqa: E731
        assert ImageExplainer(Looking(), pictures(30), segments=halves)(pictures(1, 1)).values.shape == (1, 2)


class TestWords:
    def test_shapes(self, explainer):
        with pytest.raises(InvalidData, match=r"images have the shape \(n, c, h, w\), not \(30, 144\)"):
            ImageExplainer(nn.Linear(144, 2), pictures(30).reshape(30, -1))
        with pytest.raises(InvalidData, match=r"shape \(1, 8, 8\), and those of the background \(1, 12, 12\)"):
            explainer(torch.zeros(1, 1, 8, 8))

    def test_one_segment(self):
        with pytest.raises(InvalidParameter, match="the image is one segment"):
            ImageExplainer(Looking(), pictures(30), segments=Patches(12))(pictures(1))

    def test_fills_of_another_shape(self):
        with pytest.raises(InvalidParameter, match=r"the fill has the shape \(1, 12, 12\)"):
            ImageExplainer(Looking(), pictures(30), fill=lambda image, background: image)(pictures(1))

    @pytest.mark.parametrize("settings", [{"kinds": {}}, {"weights": np.ones(30)}], ids=["kinds", "weights"])
    def test_what_cannot_be_said_of_parts(self, settings):
        message = f"the features are parts of an input: {next(iter(settings))} cannot be set"
        with pytest.raises(InvalidParameter, match=message):
            ImageExplainer(Looking(), pictures(30), **settings)(pictures(1))

    def test_the_image_of_another_row(self, explainer):
        finer = ImageExplainer(Looking(), pictures(30), segments=Patches(2))
        with pytest.raises(InvalidParameter, match="has 36 segments and the explanation 9"):
            finer.map(explainer(pictures(1)), pictures(1))


class TestPlots:
    def test_colours_are_scores(self, explainer):
        picture = pictures(1, seed=1)
        explanation = explainer(picture)
        ax = xcid_torch.plots.image(explanation, picture[0], explainer.map(explanation, picture))
        grey, colours = (image.get_array() for image in ax.images)
        assert np.allclose(grey, picture[0, 0].numpy())
        assert np.array_equal(np.unique(colours), np.unique(np.sign(explanation.values)))
        alpha = ax.images[1].get_alpha()
        noise, sizes = ~explanation.significant[0], np.abs(explanation.values[0])
        assert not alpha[np.isin(explainer.labels(picture), np.flatnonzero(noise))].any()
        assert alpha.max() == pytest.approx(0.8 * sizes[~noise].max() / sizes.max())
        assert "predicted" in ax.get_title()

    def test_a_map_of_another_shape(self, explainer):
        explanation = explainer(pictures(1))
        with pytest.raises(InvalidData, match=r"the map has the shape \(2, 2\), and the image \(12, 12\)"):
            xcid_torch.plots.image(explanation, np.zeros((3, 12, 12)), np.zeros((2, 2)))


def test_digits(monkeypatch):
    """A small case of benchmarks/digits.py: masking by xcid's order falls faster than by chance and by gradients."""
    spec = importlib.util.spec_from_file_location("digits_benchmark", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    subject = module.trained(epochs=12)
    assert subject.accuracy > 0.9
    chosen = ("occlusion", "gradient x input", "random")
    monkeypatch.setattr(module, "PEERS", {name: module.PEERS[name] for name in chosen})
    images = subject.images[:12]
    parts = module.maskings(module.patches(subject, images))["images"]
    lines = module.compared("patches", "images", parts, module.xcid_patches(subject, images, parts.known))
    low = {line.method: line.low for line in lines}
    assert low["random"] > 0.1
    assert low["gradient x input"] > 0.05
    assert low["occlusion"] > -0.01
