"""Perturbations of a PyTorch module by gradient descent, many candidates of many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcid._check import as_float
from xcid._kernels.arrays import blocks
from xcid._kernels.random import GRADIENT, below, uniform
from xcid._require import require
from xcid.cid.generators.objectives import MARGINS, OBJECTIVES, Diverse, Margin, Objective, take_named
from xcid.cid.generators.reach import Metric, Reach
from xcid.cid.generators.search import Member, Search, check_search, counters
from xcid.errors import InvalidParameter
from xcid.models.libraries import evaluating, home_of
from xcid.records import Array, Flags, Perturbations, Unsigned
from xcid.table import FeatureSpace
from xcid.table.features import ROUNDING

DECAY = (0.9, 0.999)  # of Adam's two means
_MASK, _PICK, _VALUE, _SHARE = GRADIENT


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """Perturbations that follow the gradient of a PyTorch module.

    A candidate may move one random feature and each of the others with probability 1/2. It starts from reference values
    in these; numbers then follow the gradient of the objective within their range, while levels keep the value they
    have started with. Of all places where the module's output flips the nearest to the row is taken, numbers are
    rounded away from the row to their lattice, and evaluated. For each of them a point is evaluated, too, that lies a
    random share of the way from the row to there: it mostly does not flip. Samples are distinct.

    The module sees the matrix of features that the library works with: levels by their position, no groups. A missing
    number of the row stays missing unless a candidate moves it; no value goes missing.

    Every forward pass counts as an evaluation: (steps + 2) * m + 1 of them make a round of a row, and rounds follow
    while samples are lacking.

    Parameters
    ----------
    module : torch.nn.Module
        From (N, f) to (N, k); called in evaluation mode, on its own device and in its own precision.
    m, max_evaluations : int
        As for :class:`Random`; a round has m candidates, and evaluations of the module count, too.
    objective : Objective or "diverse"
    outputs : Margin or "logits" or "probabilities"
        What the module gives, or a function that tells how far outputs are from flipping: for other questions than a
        change of the class.
    steps : int
        Steps of each descent.
    rate : float
        Length of the first step, in mean absolute deviations; the later ones shrink to 0.
    rows_at_once : int
        Rows of one forward pass. Fewer are filled up: what a module computes for a row may depend on how many there
        are in the last digit, and a row is to get the same alone and in a batch.
    """

    module: Any = field(repr=False)
    m: int = 50
    max_evaluations: int = 20_000
    objective: str | Objective = Diverse()  # noqa: RUF009 (frozen)
    outputs: str | Margin = "logits"
    steps: int = 40
    rate: float = 0.2
    rows_at_once: int = 32

    def __post_init__(self) -> None:
        check_search(self, "steps", "rows_at_once")
        if not 0 < as_float(self.rate, "rate") < np.inf:
            raise InvalidParameter(f"rate must be a number above 0, not {self.rate}")
        if self.max_evaluations < self.one_round:
            raise InvalidParameter(
                f"max_evaluations must be at least m * (steps + 2) + 1 = {self.one_round}, not {self.max_evaluations}"
            )
        object.__setattr__(self, "objective", take_named(self.objective, OBJECTIVES, "objective"))
        object.__setattr__(self, "outputs", take_named(self.outputs, MARGINS, "outputs"))

    @property
    def one_round(self) -> int:
        """Evaluations of a round of a row: the row itself, all steps of all candidates, and two samples for each."""
        return self.m * (self.steps + 2) + 1

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        reach, scale, round_ = Reach.of(rows, space), Metric.of(space).scale, 0
        with evaluating(self.module):
            while (at := search.affording(self.one_round)).size:
                start, moved = _starts(reach[at], keys[at], round_ * self.m, self.m)
                parts = blocks(len(at), self.rows_at_once)
                found = np.concatenate([self._descend(reach[at[p]], start[p], moved[p], scale) for p in parts])
                search.n_evaluations[at] += self.m * self.steps + 1  # and the row itself
                number = np.arange(round_ * self.m, (round_ + 1) * self.m, dtype=np.uint64)
                share = uniform(_SHARE.bits(keys[at], number))[..., None]
                for candidates in (_outward(reach[at], found, moved), _on_the_way(reach[at], found, moved, share)):
                    search.offer(at, candidates, search.fresh(at, candidates))
                round_ += 1
        return search.result()

    def _descend(self, reach: Reach, start: Array, moved: Flags, scale: Array) -> Array:
        """(b, c, f) nearest places that flip, or the last ones; of at most ``rows_at_once`` rows."""
        torch, (device, dtype) = require("torch", extra="torch"), home_of(self.module)

        def evaluate(samples: Any) -> Any:
            outputs = self.module(samples.reshape(-1, samples.shape[-1]).to(dtype))
            return outputs.reshape(len(outputs), -1).double()

        filled = np.minimum(np.arange(self.rows_at_once), len(start) - 1)
        descent = _Descent(reach[filled], start[filled], moved[filled], scale, device)
        with torch.no_grad():
            own = torch.as_tensor(reach.rows[filled], device=device)
            own_outputs = evaluate(own).repeat_interleave(start.shape[1], dim=0)
        for step in range(self.steps):
            move = descent.move.requires_grad_()
            place = descent.place(move)
            margins = self.outputs(evaluate(place), own_outputs).reshape(place.shape[:2])  # type: ignore[operator]
            (slope,) = torch.autograd.grad(self.objective(margins, move), move)  # type: ignore[operator]
            with torch.no_grad():
                descent.note(place, margins)
                descent.go(slope, step + 1, self.rate * (1 - step / self.steps))
        return np.asarray(descent.best[: len(start)].cpu().numpy(), dtype=np.float64)


class _Descent:
    """Candidates (b, c, f) on their way, by Adam; ``move`` is how far they are, in units of the scale."""

    def __init__(self, reach: Reach, start: Array, moved: Flags, scale: Array, device: Any) -> None:
        self.torch = require("torch", extra="torch")
        follows = moved & ~reach.space.discrete
        base = np.where(np.isnan(reach.rows)[:, None], start, reach.rows[:, None])
        limits = ((limit[:, None, :] - base) / scale for limit in (reach.low, reach.high))
        begin = np.where(follows, (start - base) / scale, 0.0)
        self.start, self.base, self.follows, self.scale, self.low, self.high, self.move = (
            self.torch.as_tensor(part, device=device) for part in (start, base, follows, scale, *limits, begin)
        )
        self.slope, self.square = self.torch.zeros_like(self.move), self.torch.zeros_like(self.move)
        self.best, self.length = self.start, self.torch.full_like(self.move[..., 0], self.torch.inf)

    def place(self, move: Any) -> Any:
        """Where candidates are."""
        return self.torch.where(self.follows, self.base + move * self.scale, self.start)

    def note(self, place: Any, margins: Any) -> None:
        """Keep the nearest places that flip, and the last ones until there are such."""
        length = self.torch.where(margins < 0, self.move.abs().sum(dim=2), self.torch.inf)
        better = (length < self.length) | self.torch.isinf(self.length)
        self.best = self.torch.where(better[..., None], place, self.best)
        self.length = self.torch.minimum(length, self.length)

    def go(self, slope: Any, step: int, rate: float) -> None:
        """Take a step; what passes the row's own value stops there."""
        slope = self.torch.where(self.follows, slope, 0.0).nan_to_num()
        self.slope = DECAY[0] * self.slope + (1 - DECAY[0]) * slope
        self.square = DECAY[1] * self.square + (1 - DECAY[1]) * slope**2
        along, size = self.slope / (1 - DECAY[0] ** step), self.square / (1 - DECAY[1] ** step)
        ahead = self.move - rate * along / (size.sqrt() + 1e-12)
        ahead = self.torch.where(ahead * self.move < 0, 0.0, ahead)
        self.move = self.torch.where(self.follows, ahead.clamp(self.low, self.high), 0.0).detach()


def _starts(reach: Reach, keys: Unsigned, first: int, size: int) -> tuple[Array, Flags]:
    """(a, c, f) places where candidates start, and which of their features may move."""
    space, number = reach.space, np.arange(first, first + size, dtype=np.uint64)
    mask, value = (stream.bits(keys, counters(first, size, space)) for stream in (_MASK, _VALUE))
    pick = space.free[below(_PICK.bits(keys, number), len(space.free))]
    drawn = reach.drawn(value)
    moved = (mask >> np.uint64(63)).astype(bool) | (np.arange(len(space.rank)) == pick[..., None])
    moved &= (reach.total > 0)[:, None] & ~np.isnan(drawn)
    return np.where(moved, drawn, reach.rows[:, None]), moved


def _outward(reach: Reach, found: Array, moved: Flags) -> Array:
    """Round numbers to their lattice, away from the row; less than half a step from it is no move."""
    own, steps = reach.rows[:, None], reach.space.steps_per_unit
    away = np.where(found > own, np.ceil(found * steps - ROUNDING), np.floor(found * steps + ROUNDING)) / steps
    away = np.where(np.abs(found - own) * steps < 0.5, own, away)
    return np.where(moved, reach.fitted(np.where(reach.space.resolution > 0, away, found)), own)


def _on_the_way(reach: Reach, found: Array, moved: Flags, share: Array) -> Array:
    """Points between the row and what was found; levels and what was missing are as found."""
    own = reach.rows[:, None]
    between = np.where(reach.space.discrete | np.isnan(own), found, own + share * (found - own))
    return np.where(moved, reach.fitted(between), own)
