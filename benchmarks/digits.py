"""Do the patches and units that xcid ranks first decide what a network sees?

A small convolutional network is trained on scikit-learn's digits. For images that it was not trained on, the best
patches (or the channels of a layer) are masked one after the other; the figure is the mean fall of the probability of
the class that was predicted (the area over the masking curve: the higher the better). Masked parts are filled in three
ways, by zeros, by the mean and by other images, and every method is told which. Differences are paired over images,
with 95% limits.

Sampled Shapley values, and occlusion where there are several fills, spend as many evaluations as xcid; with one fill
occlusion needs one for each part, and more would not change it.

    python benchmarks/digits.py           # 200 images, a few minutes
    python benchmarks/digits.py --quick   # 20 images
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from xcid.directions import supporting
from xcid.generators import Balanced
from xcid_torch import AblateLayer, ImageExplainer, LayerExplainer, Patches, PerturbLayer

Array = npt.NDArray[np.float64]
N = 1_000  # evaluations of an image
PATCH = 2
LAYER = "2"  # the second convolution's outputs
DONORS = 20  # images of the masking by images; methods have all of the background


class Subject(NamedTuple):
    net: torch.nn.Sequential
    background: torch.Tensor
    choosing: torch.Tensor
    images: torch.Tensor
    accuracy: float


def trained(seed: int = 0, epochs: int = 25) -> Subject:
    """A network that was trained on half of the digits; the rest is for choosing and for the figures."""
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    train, rest = train_test_split(np.arange(len(images)), test_size=0.5, random_state=seed, stratify=labels)
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(16, 24, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(24 * 16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10),
    )  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(epochs):
        for part in np.array_split(torch.randperm(len(train)).numpy(), len(train) // 64):
            rows = torch.as_tensor(train[part])
            optimiser.zero_grad()
            torch.autograd.backward(torch.nn.functional.cross_entropy(net(images[rows]), labels[rows]))
            optimiser.step()
    net.eval()
    with torch.no_grad():
        accuracy = float((net(images[rest]).argmax(1) == labels[rest]).float().mean())
    half = len(rest) // 2
    return Subject(net, images[train][:200], images[rest[:half]], images[rest[half:]], accuracy)


class Parts(NamedTuple):
    """What is masked: patches of the image, or channels of a layer.

    ``values`` (n, ...) are the images or the layer's outputs, ``known`` (b, ...) what they are filled with, ``run``
    turns such into logits, and ``place`` gives each cell of one of them its part.
    """

    values: torch.Tensor
    known: torch.Tensor
    run: Callable[[torch.Tensor], torch.Tensor]
    place: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        return int(self.place.max()) + 1

    def probability(self, rows: torch.Tensor, own: int) -> Array:
        with torch.no_grad():
            answers: Array = self.run(rows).softmax(1)[:, own].double().numpy()
        return answers

    def masked(self, at: int, masks: npt.NDArray[np.bool_], fills: torch.Tensor) -> torch.Tensor:
        """Fill some parts of one image: (s, f) masks, (s, ...) fills."""
        return torch.where(torch.as_tensor(masks[:, self.place]), fills, self.values[at])

    def own(self) -> list[int]:
        with torch.no_grad():
            return [int(one) for one in self.run(self.values).argmax(1)]


def patches(subject: Subject, images: torch.Tensor) -> Parts:
    return Parts(images, subject.background, subject.net, Patches(PATCH)(np.zeros((1, 8, 8)))[None])


def channels(subject: Subject, images: torch.Tensor) -> Parts:
    cut = int(LAYER) + 1
    with torch.no_grad():
        values, known = subject.net[:cut](images), subject.net[:cut](subject.background)
    place = np.broadcast_to(np.arange(values.shape[1])[:, None, None], values.shape[1:])
    return Parts(values, known, subject.net[cut:], place)


def maskings(parts: Parts) -> dict[str, Parts]:
    """The same parts with other fills."""
    fills = {
        "mean": parts.known.mean(0, keepdim=True),
        "zero": torch.zeros_like(parts.known[:1]),
        "images": parts.known,
    }
    return {name: parts._replace(known=known) for name, known in fills.items()}


def fall(parts: Parts, scores: Array) -> Array:
    """(n,) mean fall of the predicted class's probability over 1, 2, ..., all parts masked."""
    fills = parts.known[:: max(1, len(parts.known) // DONORS)][:DONORS]
    stages = np.arange(1, parts.size + 1)[:, None]
    result = np.empty(len(scores))
    for at, own in enumerate(parts.own()):
        place = np.argsort(np.argsort(-scores[at], kind="stable"))
        masks = np.repeat(place < stages, len(fills), axis=0)
        rows = parts.masked(at, masks, fills.repeat(len(stages), *[1] * (fills.ndim - 1)))
        result[at] = parts.probability(parts.values[at : at + 1], own)[0] - parts.probability(rows, own).mean()
    return result


def summed(parts: Parts, cells: torch.Tensor) -> Array:
    """(n, f) sums over the cells of each part."""
    flat = cells.detach().double().numpy().reshape(len(cells), -1)
    belongs = np.eye(parts.size)[np.broadcast_to(parts.place, cells.shape[1:]).ravel()]
    found: Array = flat @ belongs
    return found


def gradient_times_input(parts: Parts) -> Array:
    values = parts.values.clone().requires_grad_()
    logits = parts.run(values)
    torch.autograd.backward(logits[torch.arange(len(values)), torch.tensor(parts.own())].sum())
    assert values.grad is not None
    return summed(parts, values.grad * values)


def integrated_gradients(parts: Parts, steps: int = 50) -> Array:
    start, own = parts.known.mean(0, keepdim=True), torch.tensor(parts.own())
    total = torch.zeros_like(parts.values)
    for share in (np.arange(steps) + 0.5) / steps:
        values = (start + float(share) * (parts.values - start)).requires_grad_()
        torch.autograd.backward(parts.run(values).softmax(1)[torch.arange(len(own)), own].sum())
        assert values.grad is not None
        total += values.grad / steps
    return summed(parts, total * (parts.values - start))


def occlusion(parts: Parts) -> Array:
    """Mean fall when one part is filled, by as many fills as there are and evaluations allow."""
    scores = np.empty((len(parts.values), parts.size))
    donors = min(len(parts.known), max(1, N // parts.size))
    fills = parts.known[np.linspace(0, len(parts.known) - 1, donors).astype(int)]
    masks = np.repeat(np.eye(parts.size, dtype=bool), donors, axis=0)
    for at, own in enumerate(parts.own()):
        rows = parts.masked(at, masks, fills.repeat(parts.size, *[1] * (fills.ndim - 1)))
        scores[at] = -parts.probability(rows, own).reshape(parts.size, donors).mean(1)
    return scores


def shapley(parts: Parts) -> Array:
    """Shapley values by random orders of the parts, each with a fill of its own."""
    random = np.random.default_rng(0)
    scores = np.zeros((len(parts.values), parts.size))
    for at, own in enumerate(parts.own()):
        orders = np.argsort(random.random((N // (parts.size + 1), parts.size)), axis=1)
        place = np.argsort(orders, axis=1)
        masks = (place[:, None, :] < np.arange(parts.size + 1)[:, None]).reshape(-1, parts.size)
        fills = parts.known[random.integers(len(parts.known), size=len(orders))]
        rows = parts.masked(at, masks, fills.repeat_interleave(parts.size + 1, dim=0))
        falls = -np.diff(parts.probability(rows, own).reshape(len(orders), -1), axis=1)
        np.add.at(scores[at], orders, falls / len(orders))
    return scores


def chance(parts: Parts) -> Array:
    return np.random.default_rng(1).random((len(parts.values), parts.size))


def xcid_patches(subject: Subject, images: torch.Tensor, known: torch.Tensor, **settings: Any) -> Array:
    fills = known.double().numpy()
    explainer = ImageExplainer(
        subject.net, subject.background, segments=Patches(PATCH), fill=lambda image, others: fills, n=N, **settings
    )
    return supporting(explainer(images))


def xcid_channels(subject: Subject, images: torch.Tensor, known: torch.Tensor, **settings: Any) -> Array:
    fills = known.double().numpy()
    how = PerturbLayer() if len(fills) > 1 else AblateLayer(fill=lambda own, others: fills)
    settings = {"generator": Balanced(n=N), **settings}
    return supporting(LayerExplainer(subject.net, LAYER, subject.background, how=how, **settings)(images))


PEERS = {
    "occlusion": occlusion,
    "Shapley, sampled": shapley,
    "integrated gradients": integrated_gradients,
    "gradient x input": gradient_times_input,
    "random": chance,
}


class Line(NamedTuple):
    what: str
    method: str
    masking: str
    mean: float
    gain: float  # of xcid over the method
    low: float
    high: float


def compared(what: str, masking: str, parts: Parts, ours: Array) -> list[Line]:
    scores = {"xcid": ours, **{name: method(parts) for name, method in PEERS.items()}}
    falls = {name: fall(parts, one) for name, one in scores.items()}
    lines = []
    for name, found in falls.items():
        difference = falls["xcid"] - found
        reach = stats.t.ppf(0.975, len(found) - 1) * difference.std(ddof=1) / np.sqrt(len(found))
        gain = float(difference.mean())
        lines.append(Line(what, name, masking, float(found.mean()), gain, gain - reach, gain + reach))
    return lines


KINDS = {"patches": (patches, xcid_patches), "channels": (channels, xcid_channels)}


def measured(subject: Subject, n_images: int) -> list[Line]:
    images, lines = subject.images[:n_images], []
    for what, (cut, explain) in KINDS.items():
        for masking, parts in maskings(cut(subject, images)).items():
            lines += compared(what, masking, parts, explain(subject, images, parts.known))
    return lines


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--quick", action="store_true")
    reader.add_argument("--images", type=int, default=200)
    options = reader.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    subject = trained()
    n_images = 20 if options.quick else options.images
    print(f"{subject.accuracy:.1%} of unseen digits are right; {n_images} images, {N:,} evaluations each")
    print(f"{'':10}{'masked by':10}{'method':22}{'fall':>6}   xcid's lead, 95%")
    for line in measured(subject, n_images):
        lead = "" if line.method == "xcid" else f"{line.gain:+.3f} ({line.low:+.3f} to {line.high:+.3f})"
        print(f"{line.what:10}{line.masking:10}{line.method:22}{line.mean:6.3f}   {lead}")


if __name__ == "__main__":
    main()
