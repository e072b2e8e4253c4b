"""Other methods at a number of evaluations for each row, each as well set as that number allows.

A method is ``make(model, train, budget, seed) -> explain``, and ``explain(rows) -> (n, d)``. Methods of Shapley values
are asked about the output that the judges look at: the probability of the predicted class, or minus the distance from
the row's own output in standard deviations. They see coalitions, each averaged over some rows of the background. How
many rows, and so how many coalitions the evaluations last for, was chosen for each method on tables of
``faithfulness.py`` (``python benchmarks/blind.py --tune``), and the rows are drawn by the seed, as a user would. Some
come twice more: with the mean in place of rows, and with other rows for every coalition.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from cells import Array

import xcid
from xcid._require import quiet_and_seeded
from xcid.directions import supporting
from xcid.generators import Balanced
from xcid.metrics import JointRows
from xcid_lab.baselines import Lime, Occlusion

MOST_DONORS = 100  # background rows that a coalition is averaged over
CONVERGED_DONORS, CONVERGED_PAIRS = 100, 8  # rows, and permutations with their reverse, of the reference

Explain: TypeAlias = Callable[[Array], Array]
Make: TypeAlias = Callable[[Any, Array, int, int], Explain]
Output: TypeAlias = Callable[[Array], Array]
Estimate: TypeAlias = Callable[[Any, int, int], Array]  # of a game, its coalitions and a seed


class Counted:
    """A model that counts the rows that it is asked about."""

    def __init__(self, model: Any) -> None:
        self.n_rows = 0
        name = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        setattr(self, name, self._counted(getattr(model, name)))
        self.is_regression = name == "predict"

    def _counted(self, predict: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def asked(X: Array) -> Array:
            self.n_rows += len(X)
            return predict(X)

        return asked


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """What coalitions of a row's features are worth, averaged over background rows that fill in for the others."""

    output: Output
    row: Array
    donors: Array

    def __call__(self, coalitions: Array) -> Array:
        kept = np.atleast_2d(np.asarray(coalitions, dtype=bool))[:, None, :]
        filled = np.where(kept, self.row, self.donors)
        return self.output(filled.reshape(-1, len(self.row))).reshape(len(kept), -1).mean(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Renewed:
    """A game in which every coalition is averaged over background rows of its own: chance does not add up."""

    output: Output
    row: Array
    train: Array
    count: int
    rng: np.random.Generator

    def __call__(self, coalitions: Array) -> Array:
        kept = np.atleast_2d(np.asarray(coalitions, dtype=bool))[:, None, :]
        donors = self.train[self.rng.integers(len(self.train), size=(len(kept), self.count))]
        filled = np.where(kept, self.row, donors)
        return self.output(filled.reshape(-1, len(self.row))).reshape(len(kept), -1).mean(axis=1)


def outputs(model: Any, train: Array) -> Callable[[Array], Output]:
    """From a row to the output that is explained: higher where the row's own answer stands firmer."""
    if not model.is_regression:

        def chosen(row: Array) -> Output:
            own = int(np.argmax(model.predict_proba(row[None])[0]))
            return lambda X: model.predict_proba(X)[:, own]

        return chosen
    spread = float(np.std(model.predict(train)))

    def close(row: Array) -> Output:
        own = model.predict(row[None])[0]
        return lambda X: -np.abs(model.predict(X) - own) / spread

    return close


@dataclass(frozen=True, slots=True)
class Kind:
    """A method of Shapley values: its coalitions come in batches of ``each(d)`` behind the first ``fixed(d)``."""

    estimate: Estimate
    needs: tuple[str, ...]
    fixed: Callable[[int], int] = lambda d: 0
    each: Callable[[int], int] = lambda d: 1

    def divided(self, budget: int, d: int, share: float) -> tuple[int, int]:
        """How many coalitions, and background rows that each is averaged over, the evaluations last for.

        Chance comes from both, and least of it where both grow like the root of the budget: ``share`` is how many times
        the root of budget times features there are coalitions, at least two a feature and at most all.
        """
        wanted = max(2 * d + 2, min(round(share * np.sqrt(d * budget)), 2**d))
        first = min(max(1, budget // max(1, self._used(wanted, d))), MOST_DONORS)
        near = [
            donors for donors in range(first, min(4 * first // 3 + 1, MOST_DONORS) + 1) if self._fits(budget, donors, d)
        ]
        donors = max(near, key=lambda some: some * self._used(budget // some, d), default=first)
        return max(budget // donors, self.fixed(d) + self.each(d)), donors

    def _used(self, coalitions: int, d: int) -> int:
        """As many of these coalitions as make whole batches."""
        fixed, each = self.fixed(d), self.each(d)
        return min(fixed + each * max(1, (coalitions - fixed) // each), 2**d)

    def _fits(self, budget: int, donors: int, d: int) -> bool:
        return donors * self._used(budget // donors, d) <= budget


def by_coalitions(kind: Kind, share: float) -> Make:
    """A method of Shapley values whose coalitions are averaged over rows of the background."""

    def make(model: Any, train: Array, budget: int, seed: int) -> Explain:
        of = outputs(model, train)
        coalitions, n_donors = kind.divided(budget - 1, train.shape[1], share)

        def one(row: Array, at: int) -> Array:
            rng = np.random.default_rng([seed, at])
            donors = train[rng.choice(len(train), min(n_donors, len(train)), replace=False)]
            with quiet_and_seeded(int(rng.integers(2**31))):
                return kind.estimate(Game(of(row), row, donors), coalitions, int(rng.integers(2**31)))

        return lambda rows: np.array([one(row, at) for at, row in enumerate(rows)])

    return make


def at_the_mean(estimate: Estimate) -> Make:
    """A method of Shapley values with the mean in place of what is masked: one evaluation a coalition."""

    def make(model: Any, train: Array, budget: int, seed: int) -> Explain:
        of, mean = outputs(model, train), train.mean(axis=0, keepdims=True)
        most = min(budget - 1, 2 ** train.shape[1])

        def one(row: Array, at: int) -> Array:
            with quiet_and_seeded(seed):
                return estimate(Game(of(row), row, mean), most, 1_000 * seed + at)

        return lambda rows: np.array([one(row, at) for at, row in enumerate(rows)])

    return make


def renewed(estimate: Estimate) -> Make:
    """A method of Shapley values with other background rows for every coalition: one, where that uses the budget up."""

    def make(model: Any, train: Array, budget: int, seed: int) -> Explain:
        of = outputs(model, train)
        count = max(1, round((budget - 1) / 2 ** train.shape[1]))
        coalitions = min((budget - 1) // count, 2 ** train.shape[1])

        def one(row: Array, at: int) -> Array:
            rng = np.random.default_rng([seed, at])
            with quiet_and_seeded(int(rng.integers(2**31))):
                return estimate(Renewed(of(row), row, train, count, rng), coalitions, int(rng.integers(2**31)))

        return lambda rows: np.array([one(row, at) for at, row in enumerate(rows)])

    return make


def shapiq_estimate(name: str, **settings: Any) -> Estimate:
    """One of shapiq's estimators of Shapley values."""

    def estimate(game: Game | Renewed, coalitions: int, seed: int) -> Array:
        import shapiq

        kind = getattr(shapiq.approximator, name)
        found = kind(n=len(game.row), random_state=seed, **settings).approximate(budget=coalitions, game=game)
        return np.array([found[(feature,)] for feature in range(len(game.row))])

    return estimate


def shap_kernel(game: Game, coalitions: int, seed: int) -> Array:
    """SHAP's KernelExplainer, without its selection of features."""
    import shap

    explainer = shap.KernelExplainer(game.output, game.donors)
    return explainer.shap_values(game.row, nsamples=max(1, coalitions - 2), l1_reg=0, silent=True).ravel()


def shap_permutation(game: Game, coalitions: int, seed: int) -> Array:
    """SHAP's PermutationExplainer."""
    import shap

    masker = shap.maskers.Independent(game.donors, max_samples=len(game.donors))
    explainer = shap.PermutationExplainer(game.output, masker, seed=seed)
    most = max(coalitions, 2 * len(game.row) + 1)
    return explainer(game.row[None], max_evals=most, silent=True).values.ravel()


def shap_sampling(model: Any, train: Array, budget: int, seed: int) -> Explain:
    """SHAP's SamplingExplainer: a background row of its own for every permutation.

    It asks about its background first, for every row anew, so that it gets no more of it than a tenth of the budget; a
    sample takes two evaluations.
    """
    import shap

    of, n_donors = outputs(model, train), min(MOST_DONORS, budget // 10)

    def one(row: Array, at: int) -> Array:
        donors = train[np.random.default_rng([seed, at]).choice(len(train), n_donors, replace=False)]
        with quiet_and_seeded(1_000 * seed + at):
            explainer = shap.SamplingExplainer(of(row), donors)
            return explainer.shap_values(row, nsamples=(budget - n_donors - 3) // 2, silent=True).ravel()

    return lambda rows: np.array([one(row, at) for at, row in enumerate(rows)])


def lightshap_estimate(game: Game, coalitions: int, seed: int) -> Array:
    """LightSHAP: exact where there are enough coalitions, else its hybrid KernelSHAP for as long as they last."""
    from lightshap import explain_any

    d = len(game.row)
    if coalitions >= 2**d:
        how: dict[str, Any] = {"how": "exact"}
    else:
        how = {"how": "h1", "max_iter": max(1, (coalitions - 2 * d - 2) // max(1, 2 * (d - 3)))}
    found = explain_any(
        game.output, game.row[None], bg_X=game.donors, method="kernel", tol=0.0, random_state=seed, verbose=False, **how
    )
    return np.ravel(found.shap_values)


def of_xcid(model: Any, train: Array, budget: int, seed: int) -> Explain:
    explainer = xcid.Explainer(model, train, generator=Balanced(budget - 1))
    return lambda rows: supporting(explainer(rows, seed=seed))


def of_lime(model: Any, train: Array, budget: int, seed: int) -> Explain:
    """Contributions of LIME's linear model; their size for a regression, where any move counts."""
    explainer = Lime(model, train, samples=budget - 1)

    def explain(rows: Array) -> Array:
        values = explainer(rows, seed=seed).values
        return np.abs(values) if model.is_regression else values

    return explain


def of_occlusion(model: Any, train: Array, budget: int, seed: int) -> Explain:
    """Each feature masked by as many background rows as there are evaluations for."""
    d = train.shape[1]
    explainer = Occlusion(model, train, masking=JointRows(min(max(1, (budget - 1) // d), len(train))))

    def explain(rows: Array) -> Array:
        values = explainer(rows, seed=seed).values
        return np.abs(values) if model.is_regression else values

    return explain


def converged(model: Any, train: Array, budget: int, seed: int) -> Explain:
    """SHAP values from many permutations by many rows of the background, whatever they cost."""
    of, d = outputs(model, train), train.shape[1]

    def one(row: Array, at: int) -> Array:
        output, rng, total = of(row), np.random.default_rng([seed, at]), np.zeros(d)
        chosen = train[rng.choice(len(train), min(CONVERGED_DONORS, len(train)), replace=False)]
        for donor in chosen:
            forward = np.array([rng.permutation(d) for _ in range(CONVERGED_PAIRS)])
            orders = np.concatenate([forward, forward[:, ::-1]])
            place = np.argsort(orders, axis=1)
            kept = place[:, None, :] < np.arange(d + 1)[:, None]  # (p, d + 1, d)
            values = output(np.where(kept, row, donor).reshape(-1, d)).reshape(len(orders), d + 1)
            np.add.at(total, orders, np.diff(values, axis=1))
        return total / (len(chosen) * 2 * CONVERGED_PAIRS)

    return lambda rows: np.array([one(row, at) for at, row in enumerate(rows)])


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make an explainer, and the packages that it needs."""

    make: Make
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


KINDS: dict[str, Kind] = {
    "shapiq KernelSHAP": Kind(shapiq_estimate("KernelSHAP", pairing_trick=True), ("shapiq",)),
    "shapiq permutation": Kind(
        shapiq_estimate("PermutationSamplingSV"), ("shapiq",), fixed=lambda d: 2, each=lambda d: d - 1
    ),
    "shapiq LeverageSHAP": Kind(shapiq_estimate("LeverageSHAP"), ("shapiq",)),
    "shapiq RegressionMSR": Kind(shapiq_estimate("RegressionMSR", index="SV"), ("shapiq", "xgboost")),
    "shapiq ProxySHAP": Kind(
        shapiq_estimate("ProxySHAP", index="SV", max_order=1, adjustment=True), ("shapiq", "xgboost")
    ),
    "shapiq OddSHAP": Kind(shapiq_estimate("OddSHAP"), ("shapiq", "lightgbm")),
    "SHAP kernel": Kind(shap_kernel, ("shap",)),
    "SHAP permutation": Kind(shap_permutation, ("shap",), each=lambda d: 2 * d + 1),
    "LightSHAP kernel": Kind(
        lightshap_estimate, ("lightshap",), fixed=lambda d: 2 * d + 2, each=lambda d: max(1, 2 * (d - 3))
    ),
}
SHARES: dict[str, float] = dict.fromkeys(KINDS, 1.0) | {  # of Kind.divided, by --tune
    "SHAP permutation": 0.25,
    "LightSHAP kernel": 0.25,
}

METHODS: dict[str, Method] = {
    "xcid": Method(of_xcid),
    **{name: Method(by_coalitions(kind, SHARES[name]), kind.needs) for name, kind in KINDS.items()},
    "SHAP sampling": Method(shap_sampling, ("shap",)),
    "shapiq KernelSHAP, mean": Method(at_the_mean(KINDS["shapiq KernelSHAP"].estimate), ("shapiq",)),
    **{
        f"{name}, rows renewed": Method(renewed(KINDS[name].estimate), KINDS[name].needs)
        for name in ("shapiq KernelSHAP", "shapiq LeverageSHAP", "shapiq RegressionMSR")
    },
    "LIME": Method(of_lime, ("lime",)),
    "occlusion": Method(of_occlusion),
}
REFERENCE = "SHAP, converged"
