"""Parts of one input that are kept or filled: the table behind images and text.

To a generator a row of the table says where each part comes from: 0 is the input itself, and 1, 2, ... are fills. To
the score all fills are one: what was kept and what was filled. So fills differ like donors do, and chance among them is
in the limits, but no score depends on how they are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xcid.errors import InvalidParameter
from xcid.generators import Balanced
from xcid.outcomes import Interval, Outcome
from xcid.records import Array, Density, Explanation, Integers, Perturbations
from xcid.scores import Adjusted, Score, Scores
from xcid.torch._rows import RowExplainer

ENOUGH = 16  # rows of the table: with fewer than a dozen no score is told from noise
FILLED, KEPT = "filled", "kept"


@dataclass(frozen=True, slots=True)
class Kept:
    """Another score, told only what was kept and what was filled."""

    score: Score = field(default_factory=Adjusted)

    @property
    def density(self) -> Density:
        """Of the evidence."""
        return self.score.density

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every part."""
        return self.score(binary(cloud))


def binary(cloud: Perturbations) -> Perturbations:
    """The same cloud with 1 for what was kept and 0 for what was filled."""
    origin = np.ones(cloud.origin.shape)
    if cloud.plan is None or cloud.given is not None:
        return replace(cloud, origin=origin, given=(cloud.samples == 0).astype(np.float64))
    plan = cloud.plan.once(
        "kept or filled",
        lambda plan: replace(plan, values=0 * plan.values, background=0 * plan.background),
    )
    return replace(cloud, origin=origin, plan=plan)


def explainer_of(
    ask: Callable[[Integers], Any], names: Sequence[str], n_fills: int, n: int | None, settings: dict[str, Any]
) -> RowExplainer:
    """An Explainer of parts; ``ask`` answers for (s, f) sources of parts."""
    clash = sorted({"feature_names", "kinds", "density", "constraints"} & set(settings))
    if clash:
        raise InvalidParameter(f"the features are parts of an input: {', '.join(clash)} cannot be set")
    if n is not None and "generator" in settings:
        raise InvalidParameter("give n or a generator, not both: a generator has its own number of perturbations")
    n_rows = n_fills * -(-max(ENOUGH, len(names) // 2 + 1) // n_fills)
    table = np.repeat(1.0 + np.arange(n_rows)[:, None] % n_fills, len(names), axis=1)
    chosen = {
        "generator": Balanced(n, centroid_share=0.0),
        **settings,
        "score": Kept(settings.get("score", Adjusted())),
    }
    kinds: dict[str, Any] = dict.fromkeys(names, "integer")
    return RowExplainer(distinct(ask), table, feature_names=list(names), kinds=kinds, **chosen)


def question(outcome: Outcome | None, outputs: Array) -> Outcome | None:
    """The question that was asked; about numbers, told how far those of the background are spread.

    An Explainer of parts knows the outputs of filled inputs only, which may all be the same.
    """
    numbers = outputs.reshape(len(outputs), -1).astype(np.float64)
    if numbers.shape[1] > 1 or (outcome is None and numbers.min() >= 0 and numbers.max() <= 1):
        return outcome
    asked = Interval() if outcome is None else outcome
    return asked.bind(("output",), numbers) if isinstance(asked, Interval) else asked


def distinct(ask: Callable[[Integers], Any]) -> Callable[[Any], Array]:
    """Ask about equal rows once: with few parts there are few ways to keep and fill them."""

    def answer(rows: Any) -> Array:
        sources, place = np.unique(np.asarray(rows).astype(np.int64), axis=0, return_inverse=True)
        answers: Array = np.asarray(ask(sources))[place.reshape(-1)]
        return answers

    return answer


class Counting:
    """A function that knows how many rows it was asked about."""

    def __init__(self, ask: Callable[[Integers], Any]) -> None:
        self.ask, self.asked = ask, 0

    def __call__(self, sources: Integers) -> Any:
        """Ask, and count."""
        self.asked += len(sources)
        return self.ask(sources)


def told(piece: Explanation, levels: Sequence[tuple[str, ...]], codes: Array, n_evaluations: int) -> Explanation:
    """The record of an explanation by parts: level 0 of each is what it is filled with, ``codes`` (f,) what it is."""
    cloud = piece.cloud
    if cloud is not None:
        cloud = replace(_coded(binary(cloud), codes), discrete=np.ones(len(codes), dtype=bool))
    return replace(piece, data=codes[None], levels=tuple(levels), cloud=cloud, n_evaluations=np.array([n_evaluations]))


def _coded(cloud: Perturbations, codes: Array) -> Perturbations:
    given = None if cloud.given is None else cloud.given * codes
    return replace(cloud, origin=codes[None], given=given)
