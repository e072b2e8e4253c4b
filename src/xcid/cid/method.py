"""CID as the paper has it: which parts stand for which of its choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xcid._check import as_int, given_or
from xcid._require import require
from xcid.cid.densities.bandwidths import Bandwidth
from xcid.cid.densities.kernel import Kernel
from xcid.cid.distances import Overlap
from xcid.cid.generators.random import Random
from xcid.cid.generators.search import Generator, Member
from xcid.cid.per_feature import PerFeature, unsigned
from xcid.errors import InvalidParameter
from xcid.models.libraries import evaluating, home_of
from xcid.outcomes import Interval, Question
from xcid.outcomes.classes import FlipOrTie
from xcid.records import Array, Density, Perturbations, Unsigned
from xcid.table import FeatureSpace

M, KERNEL, BANDWIDTH = 50, "gaussian", "silverman"


def paper_parts(
    model: Any,
    *,
    m: int = M,
    kernel: str = KERNEL,
    bandwidth: str | float | Bandwidth = BANDWIDTH,
    generator: str | Generator = "random",
    k: float = 1.0,
    density: Density | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Settings of an explainer that make it the paper's; see :class:`xcid.CID`. A part is never changed by another."""
    if "score" in settings:
        raise InvalidParameter("the score of CID is d_k itself: use xcid.Explainer for another one")
    if density is not None and (kernel, bandwidth) != (KERNEL, BANDWIDTH):
        raise InvalidParameter("give kernel and bandwidth, or a density, which has its own; not both")
    chosen = given_or(density, partial(Kernel, kernel, bandwidth=bandwidth), "density", "xcid.densities.Kernel()")
    if isinstance(generator, str):
        if generator not in GENERATORS:
            raise InvalidParameter(f"unknown generator {generator!r}: use one of {list(GENERATORS)}, or an object")
        generator = GENERATORS[generator](model, as_int(m, "m (samples of each kind)", at_least=2))
    elif m != M:
        raise InvalidParameter(f"m={m} does not reach a generator that is made already: give it its own m")
    outcome = settings.pop("outcome", None)
    made = {"generator": generator, "score": PerFeature(chosen, Overlap(k), unsigned)}
    return made | {"outcome": Crossing() if outcome is None else outcome} | settings


@dataclass(frozen=True, slots=True)
class Crossing(Question):
    """Whether the output crosses to the other side: of two or more classes, or of an interval around a number."""

    def bind(self, names: Sequence[str], outputs: Array) -> Any:
        """The question that fits the model."""
        question = FlipOrTie() if outputs.shape[1] > 1 else Interval()
        return question.bind(names, outputs)


def _random(model: Any, m: int) -> Generator:
    return Random(m=m)


def _genetic(model: Any, m: int) -> Generator:
    """With the population and the budget that m = 50 has by default, in proportion."""
    from xcid.cid.generators.genetic import Genetic

    return Genetic(m=m, population=max(75, 3 * m // 2), max_evaluations=max(4_000, 80 * m))


def _gradient(model: Any, m: int) -> Generator:
    if not any((base.__module__.partition(".")[0], base.__name__) == ("torch", "Module") for base in type(model).mro()):
        raise InvalidParameter(
            f'generator="gradient" needs a PyTorch module, and this is a {type(model).__name__}: use "random" or '
            '"genetic", or xcid.generators.Gradient(module) with a module that stands for it'
        )
    return OwnGradient(model, m)


@dataclass(frozen=True, slots=True, eq=False)
class OwnGradient:
    """A gradient search in the model itself, which is looked at when it is known what it is given."""

    module: Any
    m: int

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        return self.bind(space, np.empty((0, 2)))(rows, keys, space, member)

    def bind(self, space: FeatureSpace, outputs: Array) -> Generator:
        """Find out whether the module gives probabilities."""
        from xcid.cid.generators.gradient import Gradient

        if outputs.shape[1] == 1:
            raise InvalidParameter("a gradient search for another number needs Gradient(module, outputs=margin)")
        torch, (device, dtype) = require("torch", extra="torch"), home_of(self.module)
        with evaluating(self.module), torch.no_grad():
            raw = np.asarray(self.module(torch.as_tensor(space.rows).to(dtype).to(device)).cpu())
        given = "probabilities" if raw.min() >= 0 and raw.max() <= 1 else "logits"
        return Gradient(self.module, m=self.m, outputs=given, max_evaluations=max(20_000, 400 * self.m))


GENERATORS: dict[str, Callable[[Any, int], Generator]] = {"random": _random, "genetic": _genetic, "gradient": _gradient}
