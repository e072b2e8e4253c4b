"""What a gradient search minimises: functions of tensors, so that PyTorch is needed only where one is called.

A margin tells how far an output is from flipping; an objective weighs margins against distances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from xcid._require import require
from xcid.cid.generators.search import check_weights
from xcid.errors import InvalidParameter

Margin: TypeAlias = Callable[[Any, Any], Any]
"""``margin(outputs (N, k), own (N, k)) -> (N,)`` tensor: above 0 where the output stays what it is for the own row."""

TINY = 1e-6  # added to the diagonal of a kernel matrix, and kept between probabilities and 0 and 1


class Objective(Protocol):
    """``objective(margins (n, c), moves (n, c, f)) -> ()`` of tensors; a plain function qualifies.

    ``margins`` are those of the c candidates of n rows, ``moves`` how far their features have moved, in mean absolute
    deviations. It must be a sum over rows, so that a row does not depend on the others.
    """

    def __call__(self, margins: Any, moves: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Diverse:
    """Hinge loss, the distance to the row, and the spread of the candidates of a row.

    The spread is the logarithm of the determinant of 1 / (1 + distance) between candidates: DiCE (Mothilal, Sharma
    and Tan, 2020) takes the determinant itself, which is 0 in floating point for more than some ten candidates.

    Parameters
    ----------
    proximity, diversity : float
        Weights of the distance and of the spread beside the hinge loss.
    hinge : float
        Margin, in logits, up to which a flip is pushed.
    """

    proximity: float = 0.5
    diversity: float = 0.1
    hinge: float = 0.2

    def __post_init__(self) -> None:
        check_weights(self, "proximity", "diversity", "hinge")

    def __call__(self, margins: Any, moves: Any) -> Any:
        torch = require("torch", extra="torch")
        kernel = 1 / (1 + torch.cdist(moves, moves, p=1.0))
        spread = torch.logdet(kernel + TINY * torch.eye(moves.shape[1], dtype=moves.dtype, device=moves.device))
        loss = (margins + self.hinge).relu().sum() + self.proximity * moves.abs().sum()
        return loss - self.diversity * spread.sum()


def of_logits(outputs: Any, own: Any) -> Any:
    """Margin of the own class before the next one; one column is that of the second class."""
    if outputs.shape[1] == 1:
        return outputs[:, 0] * (2 * (own[:, 0] > 0) - 1)
    chosen = own.argmax(dim=1, keepdim=True)
    others = outputs.scatter(1, chosen, -float("inf"))
    return outputs.gather(1, chosen)[:, 0] - others.amax(dim=1)


def of_probabilities(outputs: Any, own: Any) -> Any:
    """The same for probabilities: their logarithms differ as logits do."""
    outputs, own = (part.clamp(TINY, 1 - TINY) for part in (outputs, own))
    return of_logits(outputs.logit(), own.logit()) if outputs.shape[1] == 1 else of_logits(outputs.log(), own.log())


MARGINS: Mapping[str, Margin] = {"logits": of_logits, "probabilities": of_probabilities}
OBJECTIVES: Mapping[str, Objective] = {"diverse": Diverse()}


def take_named(given: Any, table: Mapping[str, Any], what: str) -> Any:
    """A function as it is, a name by the table."""
    if not callable(given) and given not in list(table):
        raise InvalidParameter(f"{what} must be a function or one of {list(table)}, not {given!r}")
    return given if callable(given) else table[given]
