"""Perturb the input and watch a layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from xcid._faults import Failed, Piece
from xcid._require import require
from xcid.cid.per_feature import Score, unsigned
from xcid.densities import Mixed
from xcid.errors import InvalidParameter
from xcid.records import Array, Perturbations
from xcid.scores import PerFeature, Resampled
from xcid_torch._layer import Explain, Layer
from xcid_torch._network import Tensor, as_array, in_blocks
from xcid_torch._rows import explained, setup_of
from xcid_torch.images import ImageExplainer
from xcid_torch.segments import Background, Fill, Segments

MOST_CELLS = 4_096  # of an input that are perturbed one by one

# From a (1, ...) input and a seed to its explanation, and the inputs behind (s, d) samples of it.
Perturb: TypeAlias = Callable[[Tensor, int], tuple[Piece, Callable[[Array], Tensor]]]


@dataclass(frozen=True, slots=True)
class WatchLayer:
    """Inputs are perturbed as usual, and a unit matters when its activations differ between C+ and C-.

    This is the paper's d1 with activations in the place of features. It says which units differ between flips and
    stays, not which units cause them: that is what :class:`PerturbLayer` asks. The values are unsigned.

    Parameters
    ----------
    score : Score
        Of single units; by default d1 with a null and limits by permuting and resampling the cloud.
    segments : Segments, optional
        For images: these are kept or filled. By default every cell of an input is perturbed by itself, which large
        images are too large for.
    fill : Fill
        What segments are filled with.
    """

    score: Score = field(default_factory=lambda: Resampled(PerFeature(Mixed(), direction=unsigned)))
    segments: Segments | None = None
    fill: Fill = field(default_factory=Background)

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Make an Explainer of the inputs' cells, or of segments."""
        chosen = {**settings, "score": PerFeature(Mixed(), direction=unsigned)}  # cheap, as its values are not used
        perturb = (_cells if self.segments is None else self._segments)(layer, background, chosen)
        return _Watched(layer, background, self.score, perturb)

    def _segments(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Perturb:
        """Segments of an image are kept or filled."""
        network = layer.network
        own = {"segments": self.segments, "fill": self.fill, "answer": network.answer, "at_once": network.at_once}
        images = ImageExplainer(network.model, background, **(settings | own))

        def perturb(row: Tensor, seed: int) -> tuple[Piece, Callable[[Array], Tensor]]:
            piece, mix = images.explained(row[0], seed)
            return piece, lambda samples: mix(samples.astype(np.int64))

        return perturb


class _Watched:
    def __init__(self, layer: Layer, background: Tensor, score: Score, perturb: Perturb) -> None:
        self.layer, self.score, self.perturb = layer, score, perturb
        found = layer.activations(background)
        table = layer.units.values(layer.units.maps(found))
        self.names = tuple(layer.units.names(layer.name, tuple(found.shape[1:])))
        self.scales = tuple(np.mean(np.abs(table - table.mean(axis=0)), axis=0).tolist())

    def __call__(self, row: Tensor, seed: int) -> Piece:
        """Explain one input, and score the units of the layer over the same samples."""
        piece, inputs_of = self.perturb(row, seed)
        if isinstance(piece, Failed):
            return Failed(np.empty((1, 0)), piece.error)  # its features are those of the input, not of the layer
        cloud, layer = piece.cloud, self.layer
        assert cloud is not None
        plan, n_samples = cloud.plan, cloud.positive.shape[1]
        if plan is not None:
            n_samples = 2 * len(
                plan.masks
            )  # the others change one feature or spare one: there, units go with each other
        origin, n_units = layer.values(row), len(self.names)
        samples = in_blocks(
            lambda part: layer.values(inputs_of(part)), cloud.samples[0, :n_samples], layer.network.at_once
        )
        numbers = np.zeros(n_units, dtype=bool)  # none is made of levels
        asked = cloud.positive[:, :n_samples], cloud.negative[:, :n_samples], cloud.n_evaluations, cloud.status
        watched = Perturbations(origin, samples[None], *asked, numbers)
        return replace(
            piece,
            **self.score(watched)._asdict(),
            feature_status=np.where(np.all(samples == origin, axis=0), "constant", "ok")[None],
            n_evaluations=piece.n_evaluations + 1 + n_samples,
            feature_names=self.names,
            data=origin,
            cloud=watched,
            details=replace(
                piece.details,
                column_names=self.names,
                features=watched.features,
                levels=((),) * n_units,
                units=("",) * n_units,
                scales=self.scales,
                density=self.score.density,
                settings={**(piece.details.settings or {}), "score": repr(self.score), "watched": layer.name},
            ),
        )


def _cells(layer: Layer, background: Tensor, settings: dict[str, Any]) -> Perturb:
    """Every cell of an input is a feature."""
    torch = require("torch", extra="torch")
    shape = tuple(background.shape[1:])
    n_cells = math.prod(shape)
    if n_cells > MOST_CELLS:
        raise InvalidParameter(
            f"an input has {n_cells:,} cells, and at most {MOST_CELLS:,} are perturbed one by one: perturb "
            "segments of an image by how=xcid_torch.WatchLayer(segments=xcid_torch.Patches(16))"
        )

    def inputs_of(rows: Array) -> Tensor:
        return torch.as_tensor(rows).reshape(len(rows), *shape).to(background.dtype)

    def ask(rows: Any) -> Array:
        return layer.network(inputs_of(np.asarray(rows, dtype=np.float64)))

    def flat(inputs: Tensor) -> Array:
        return as_array(inputs.reshape(len(inputs), -1))

    kind = "continuous" if background.is_floating_point() else "integer"
    setup = setup_of(ask, flat(background), [f"input[{at}]" for at in range(n_cells)], kind, settings)
    return lambda row, seed: (explained(setup, flat(row), ask, seed), inputs_of)
