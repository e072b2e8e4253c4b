"""Counterfactual generators: ``generator(rows, keys, space, member) -> Perturbations``.

``rows`` (n, d) are perturbed, ``keys`` (n,) seed each row's own random numbers, ``space`` tells what the features are,
and ``member(samples (N, d), owner (N,)) -> (N,)`` calls the model and tells which samples flip the output of their row.
Any function with that signature is a generator.
"""

from xcid.cid.generators.balanced import Balanced
from xcid.cid.generators.conditional import Conditional, Copula
from xcid.cid.generators.dice import Dice
from xcid.cid.generators.genetic import Genetic
from xcid.cid.generators.gradient import Gradient
from xcid.cid.generators.growing import Growing, Marginal
from xcid.cid.generators.random import Random

__all__ = [
    "Balanced",
    "Conditional",
    "Copula",
    "Dice",
    "Genetic",
    "Gradient",
    "Growing",
    "Marginal",
    "Random",
]
