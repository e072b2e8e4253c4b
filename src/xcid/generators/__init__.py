"""Counterfactual generators: ``generator(rows, keys, space, member) -> Perturbations``.

``rows`` (n, d) are perturbed, ``keys`` (n,) seed each row's own random numbers, ``space`` tells what the features are,
and ``member(samples (N, d), owner (N,)) -> (N,)`` asks the model which samples flip the output of the row they come
from. Any function with that signature is a generator.
"""

from xcid.generators.balanced import Balanced, Complements
from xcid.generators.dice import Dice
from xcid.generators.genetic import Genetic
from xcid.generators.given import Given
from xcid.generators.gradient import Gradient
from xcid.generators.growing import Growing
from xcid.generators.masks import Conditional, Copula, Marginal, Neighbours
from xcid.generators.nearest import Nearest
from xcid.generators.objectives import Diverse, Wachter
from xcid.generators.random import Random
from xcid.generators.search import Generator, Member

__all__ = [
    "Balanced",
    "Complements",
    "Conditional",
    "Copula",
    "Dice",
    "Diverse",
    "Generator",
    "Genetic",
    "Given",
    "Gradient",
    "Growing",
    "Marginal",
    "Member",
    "Nearest",
    "Neighbours",
    "Random",
    "Wachter",
]
