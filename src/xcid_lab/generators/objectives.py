"""What a search by gradients minimises, beside ``Diverse``, which is that of ``xcid.generators.Gradient``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xcid.cid.generators.search import check_weights


@dataclass(frozen=True, slots=True)
class Wachter:
    """Squared distance of the probability from the wanted one, and the distance to the row.

    Wachter, Mittelstadt and Russell, "Counterfactual explanations without opening the black box" (2018).

    Parameters
    ----------
    distance : float
        Weight of the distance: the lambda of the paper.
    """

    distance: float = 0.05

    def __post_init__(self) -> None:
        check_weights(self, "distance")

    def __call__(self, margins: Any, moves: Any) -> Any:
        return (margins.sigmoid() ** 2).sum() + self.distance * moves.abs().sum()
