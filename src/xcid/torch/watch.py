"""Perturb the input and watch a layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from xcid._faults import Failed
from xcid._require import require
from xcid.densities import Mixed
from xcid.errors import InvalidParameter
from xcid.generators import Balanced
from xcid.records import Array, Explanation, Perturbations
from xcid.scores import PerFeature, Resampled, Score, unsigned
from xcid.torch._mixtures import Mixtures
from xcid.torch._network import Tensor
from xcid.torch._rows import RowExplainer, gathered
from xcid.torch.fills import Background, Fill
from xcid.torch.segments import Segments

if TYPE_CHECKING:
    from xcid.torch.layers import Explaining, Task

MOST_CELLS = 4_096  # of an input that are perturbed one by one
MOST_BYTES = 2**28  # of evidence


def _by_unit() -> Score:
    return Resampled(PerFeature(Mixed(), direction=unsigned))


@dataclass(frozen=True, slots=True)
class WatchLayer:
    """Inputs are perturbed as usual, and a unit matters when its activations differ between C+ and C-.

    This is the paper's d1 with activations in the place of features. It says which units tell flips from stays, not
    which units cause them: that is what :class:`PerturbLayer` asks. The values are unsigned.

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

    score: Score = field(default_factory=_by_unit)
    segments: Segments | None = None
    fill: Fill = field(default_factory=Background)

    def ready(self, task: Task) -> Explaining:
        """Make an Explainer of the inputs' cells, or of segments."""
        inputs = _Cells(task) if self.segments is None else _Segments(task, self.segments, self.fill)
        return _Watched(task, self.score, inputs)


class _Perturbing(Protocol):
    """Perturbs an input: its explanation, and the inputs behind (s, d) samples."""

    def __call__(self, row: Tensor, seed: int) -> tuple[Explanation | Failed, Callable[[Array], Tensor]]: ...


class _Watched:
    def __init__(self, task: Task, score: Score, inputs: _Perturbing) -> None:
        self.task, self.score, self.inputs = task, score, inputs
        found = task.layer.activations(task.network, task.background)
        self.table = task.units.values(task.units.maps(found))
        self.names = tuple(task.units.names(task.layer.name, tuple(found.shape[1:])))

    def __call__(self, inputs: Tensor, seed: int) -> Explanation:
        """Explain each input."""
        torch = require("torch", extra="torch")
        pieces = []
        for row in torch.split(inputs, 1):
            piece, made = self.inputs(row, seed)
            pieces.append(piece if isinstance(piece, Failed) else self._of_units(piece, row, made))
        return gathered(pieces, self.task.settings.get("max_evidence_bytes", MOST_BYTES))

    def _of_units(self, piece: Explanation, row: Tensor, made: Callable[[Array], Tensor]) -> Explanation:
        """Score the units of the layer over the same samples."""
        cloud = piece.cloud
        if cloud is None:
            raise InvalidParameter("the samples of a row do not fit into max_evidence_bytes: raise it")
        size, samples = self.task.network.at_once, cloud.samples[0]
        parts = [self._activations(made(samples[at : at + size])) for at in range(0, len(samples), size)]
        origin, n_units = self._activations(row), len(self.names)
        watched = Perturbations(
            origin,
            np.concatenate(parts)[None],
            cloud.positive,
            cloud.negative,
            cloud.n_evaluations,
            cloud.status,
            np.zeros(n_units, dtype=bool),
        )
        constant = np.all(watched.samples[0] == origin, axis=0)
        return replace(
            piece,
            **self.score(watched)._asdict(),
            feature_status=np.where(constant, "constant", "ok")[None],
            n_evaluations=piece.n_evaluations + 1 + len(samples),
            feature_names=self.names,
            column_names=self.names,
            data=origin,
            features=watched.features,
            levels=((),) * n_units,
            units=("",) * n_units,
            scales=tuple(np.mean(np.abs(self.table - self.table.mean(axis=0)), axis=0).tolist()),
            cloud=watched,
            density=self.score.density,
            settings={**(piece.settings or {}), "score": repr(self.score), "watched": self.task.layer.name},
        )

    def _activations(self, inputs: Tensor) -> Array:
        task = self.task
        return task.units.values(task.units.maps(task.layer.activations(task.network, inputs)))


class _Cells:
    """Every cell of an input is a feature."""

    def __init__(self, task: Task) -> None:
        self.task, self.inner = task, tuple(task.background.shape[1:])
        n_cells = math.prod(self.inner)
        if n_cells > MOST_CELLS:
            raise InvalidParameter(
                f"an input has {n_cells:,} cells, and at most {MOST_CELLS:,} are perturbed one by one: perturb "
                "segments of an image by how=xcid.torch.WatchLayer(segments=xcid.torch.Patches(16))"
            )
        is_tokens = not task.background.is_floating_point()
        names = [f"input[{at}]" for at in range(n_cells)]
        kinds: dict[str, Any] = dict.fromkeys(names, "integer" if is_tokens else "continuous")
        chosen = {"generator": Balanced(centroid_share=0.0 if is_tokens else 0.1), **task.settings, "score": _plain()}
        self.explainer = RowExplainer(
            self._ask, _flat(task.background), feature_names=names, kinds=kinds, **chosen
        )  # the mean of tokens is none

    def __call__(self, row: Tensor, seed: int) -> tuple[Explanation | Failed, Callable[[Array], Tensor]]:
        return self.explainer.explained(_flat(row), self._ask, seed), self._inputs

    def _ask(self, rows: Any) -> Array:
        return self.task.network(self._inputs(np.asarray(rows, dtype=np.float64)))

    def _inputs(self, rows: Array) -> Tensor:
        torch = require("torch", extra="torch")
        return torch.as_tensor(rows).reshape(len(rows), *self.inner).to(self.task.background.dtype)


class _Segments:
    """Segments of an image are kept or filled."""

    def __init__(self, task: Task, cut: Segments, fill: Fill) -> None:
        self.task = task
        settings = {**task.settings, "score": _plain()}
        self.images = Mixtures(task.network, task.background, cut, fill, settings)

    def __call__(self, row: Tensor, seed: int) -> tuple[Explanation | Failed, Callable[[Array], Tensor]]:
        piece, mix = self.images(row[0], seed)
        return piece, lambda samples: mix(samples.astype(np.int64))


def _plain() -> Score:
    """A cheap score, whose values are not used."""
    return PerFeature(Mixed(), direction=unsigned)


def _flat(inputs: Tensor) -> Array:
    flat: Array = inputs.reshape(len(inputs), -1).double().cpu().numpy()
    return flat
