"""Perturbations by dice-ml, as it is but for its traps."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from xcid._check import as_int
from xcid._kernels.random import DICE
from xcid._require import quiet_and_seeded, require
from xcid.cid.generators.objectives import MARGINS, Margin, take_named
from xcid.cid.generators.reach import Reach
from xcid.cid.generators.search import Member, Search, check_search
from xcid.errors import InvalidParameter
from xcid.models.libraries import evaluating, home_of
from xcid.records import Array, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace

Method: TypeAlias = Literal["random", "genetic", "kdtree", "gradient"]
DIGITS = 6  # of a number that has no lattice
MISSING = "missing"  # the name of a missing level
OUTCOME = "outcome"


@dataclass(frozen=True, slots=True, eq=False)
class Dice:
    """Counterfactuals of dice-ml, row by row: slow, and here to compare with.

    To dice-ml flipping is class 1 and staying class 0, and it searches for either. It gets the features that may
    change, with only values that the constraints allow; the others are kept out of its sight. Its results are put on
    the lattice and into the range, and the model is called for each once more. A probability of 1/2 is enough for
    either to it: what the question puts on both sides alike, as :class:`xcid.CID` does ties, it may give for both.

    It is used without post-hoc sparsity, which only slows it down, and without its seed, which makes all features move
    together: the global random states are seeded from the row's key for the time of a call, and restored. Nothing is
    printed. All its calls count; where that exceeds half of the budget for one kind, dice-ml is stopped and
    gives nothing of that kind (its genetic method would search for ever where nothing flips).

    A number that is missing in the row stays so and none goes missing; a missing level is a level.

    Parameters
    ----------
    method : "random", "genetic", "kdtree" or "gradient"
        The last one moves numbers only, and takes minutes a row for more than some ten samples.
    m, max_evaluations : int
        As for :class:`Random`; at least 4 * (m + 1) evaluations.
    module, outputs, steps
        For the gradient method, as for :class:`Gradient`.
    """

    method: Method = "random"
    m: int = 50
    max_evaluations: int = 40_000
    module: Any = field(default=None, repr=False)
    outputs: str | Margin = "logits"
    steps: int = 100

    def __post_init__(self) -> None:
        check_search(self, "steps")
        as_int(self.max_evaluations, "max_evaluations", at_least=4 * (self.m + 1))
        if self.method not in get_args(Method):
            raise InvalidParameter(f"method must be one of {list(get_args(Method))}, not {self.method!r}")
        if (self.method == "gradient") != (self.module is not None):
            raise InvalidParameter('method="gradient" needs a module, and the other methods take none')
        object.__setattr__(self, "outputs", take_named(self.outputs, MARGINS, "outputs"))

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search, reach = Search(rows, space, member, self.m, self.max_evaluations), Reach.of(rows, space)
        for row in range(len(rows)):
            at = np.array([row])
            table = DiceTable.of(reach[at], self.method)
            if not table.features.size:
                continue
            for wanted in (1, 0):
                left = self.max_evaluations // 2 - self.m - 1  # the model is called for what is found once more
                model_of_row = _CountedModel(search, row, table, left)
                found = self._find_by_dice(model_of_row, wanted, int(DICE[wanted].of(keys[row])[0] >> np.uint64(32)))
                candidates = found[None, : self.m + 1]
                search.offer(at, candidates, search.fresh(at, candidates))
        return search.result()

    def _find_by_dice(self, model_of_row: _CountedModel, wanted: int, seed: int) -> Array:
        """(c, f) results of dice-ml for one row and class."""
        table, tensors = model_of_row.table, contextlib.nullcontext()
        if self.method == "gradient":  # torch has a random state, too, that is to be put back
            tensors = require("torch", extra="torch").random.fork_rng(devices=[])
        with quiet_and_seeded(seed), tensors:
            dice_ml = require("dice_ml", extra="dice")
            nothing = require("raiutils.exceptions", extra="dice").UserConfigValidationException
            data = dice_ml.Data(
                dataframe=table.frame.assign(**{OUTCOME: np.arange(len(table.frame)) % 2}),
                continuous_features=table.numbers,
                continuous_features_precision=table.decimals,
                outcome_name=OUTCOME,
            )
            try:
                model, settings = self._model(dice_ml, model_of_row)
                dice = dice_ml.Dice(data, model, method=self.method)
                answer = dice.generate_counterfactuals(table.query, self.m + 1, desired_class=wanted, **settings)
            except (_Spent, nothing):
                return np.empty((0, len(table.own)))
        return table.decode(answer.cf_examples_list[0].final_cfs_df)

    def _model(self, dice_ml: Any, model_of_row: _CountedModel) -> tuple[Any, dict[str, Any]]:
        """The model in dice-ml's terms, and the settings of the search."""
        settings: dict[str, Any] = {"posthoc_sparsity_param": None}
        if self.method != "gradient":
            return dice_ml.Model(model=model_of_row, backend="sklearn"), settings
        flips = _flipping(self.module, self.outputs, model_of_row)  # type: ignore[arg-type]
        weights = dict.fromkeys(model_of_row.table.numbers, 1.0)  # its own ones are logged where they are 0
        settings |= {"min_iter": self.steps, "max_iter": self.steps, "feature_weights": weights}
        return dice_ml.Model(model=flips, backend="PYT", func="ohe-min-max"), settings


class _Spent(Exception):
    """dice-ml has called the model more often than it may."""


class _CountedModel:
    """The model as dice-ml wants it: class 1 flips, class 0 stays. It counts its calls, and stops after too many."""

    def __init__(self, search: Search, row: int, table: DiceTable, left: int) -> None:
        self.search, self.row, self.table, self.left = search, row, table, left

    def predict_proba(self, frame: Any) -> Array:
        """(N, 2) weights of staying and flipping."""
        samples = self.table.decode(frame)
        self.count(len(samples))
        flips = self.search.member(samples, np.full(len(samples), self.row))
        return np.column_stack([1 - flips, flips])

    def predict(self, frame: Any) -> Integers:
        """(N,) classes."""
        return (self.predict_proba(frame)[:, 1] > 0.5).astype(np.int64)

    def count(self, size: int) -> None:
        """Note evaluations that are about to be made."""
        if size > self.left:
            raise _Spent
        self.left -= size
        self.search.n_evaluations[self.row] += size


def _flipping(module: Any, margin: Margin, model_of_row: _CountedModel) -> Any:
    """A module from normalised numbers, as dice-ml has them, to the probability of a flip."""
    torch = require("torch", extra="torch")
    table, (device, dtype) = model_of_row.table, home_of(module)
    own = torch.as_tensor(table.own, dtype=dtype, device=device)
    low, high = (torch.as_tensor(part.to_numpy(dtype=np.float32)) for part in (table.frame.min(), table.frame.max()))
    columns = torch.as_tensor(table.features)

    class Flipping(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, normalised: Any) -> Any:
            model_of_row.count(max(1, normalised.numel() // len(columns)))
            numbers = low + normalised.reshape(-1, len(columns)) * (high - low)
            samples = own.repeat(len(numbers), 1).index_copy(1, columns.to(own.device), numbers.to(own))
            with evaluating(module):
                outputs = module(samples)
            flips = (-margin(outputs, reference.expand(len(outputs), -1))).sigmoid().to("cpu")
            return flips.reshape(*normalised.shape[:-1], 1)

    model_of_row.count(1)
    with torch.no_grad(), evaluating(module):
        reference = module(own[None])
    return Flipping()


@dataclass(frozen=True, slots=True, eq=False)
class DiceTable:
    """What dice-ml sees of one row: a frame of the features that may change; levels are text."""

    reach: Reach  # of the one row
    features: Integers  # (k,) those of the frame
    frame: Any  # the reference data, with the row itself behind it
    query: Any  # the row

    @staticmethod
    def of(reach: Reach, method: Method) -> DiceTable:
        """Fill a frame with what the row may change to: its own value stands for what is not allowed."""
        pandas, space = require("pandas", extra="dice"), reach.space
        own = reach.rows[0]
        levels = np.where(reach.holds(space.rows[None])[0], space.rows, own)
        numbers = reach.fitted(np.where(np.isnan(space.rows), own, space.rows)[None])[0]
        cells = np.where(space.discrete, levels, numbers)
        clipped = np.where(space.discrete, own, reach.fitted(own[None, None])[0, 0])
        cells = np.concatenate([cells, clipped[None]])
        varies = np.array([len(np.unique(column)) > 1 for column in cells.T])
        hidden = np.where(space.discrete, method == "gradient", np.isnan(own))
        order = np.lexsort((space.rank, space.discrete))  # dice-ml mixes up decimals where levels come before numbers
        features = order[((reach.total[0] > 0) & varies & ~hidden)[order]]
        frame, query = (
            pandas.DataFrame({_name(at): _text(part[:, at]) if space.discrete[at] else part[:, at] for at in features})
            for part in (cells, own[None])
        )
        return DiceTable(reach, features, frame, query)

    @property
    def own(self) -> Array:
        """(f,) the row."""
        return self.reach.rows[0]

    @property
    def numbers(self) -> list[str]:
        """Names of the features that are numbers."""
        return [_name(at) for at in self.features if not self.reach.space.discrete[at]]

    @property
    def decimals(self) -> dict[str, int]:
        """Decimals of each number; without them dice-ml fails on some floats."""
        resolution, numbers = self.reach.space.resolution, self.frame[self.numbers]
        span = numbers.max() - numbers.min()
        steps = {_name(at): resolution[at] for at in self.features}
        return {
            name: round(np.log10(steps[name])) if steps[name] > 0 else max(1, round(DIGITS - np.log10(span[name])))
            for name in self.numbers
        }

    def decode(self, frame: Any) -> Array:
        """(c, f) samples: in range, on the lattice, and the row's own value where only single precision differs."""
        samples = np.repeat(self.own[None], len(frame), axis=0)
        for at in self.features:
            cells = frame[_name(at)].to_numpy()
            if self.reach.space.discrete[at]:
                samples[:, at] = [np.nan if cell == MISSING else float(cell) for cell in cells]
            else:
                samples[:, at] = cells.astype(np.float64)
        same = (samples.astype(np.float32) == self.own.astype(np.float32)) | np.isnan(self.own)
        moved = np.isin(np.arange(len(self.own)), self.features)
        kept = ~moved | (same & ~self.reach.space.discrete)
        return np.where(kept, self.own, self.reach.fitted(samples[None])[0])


def _name(feature: int) -> str:
    """A name that no other begins with: dice-ml finds the levels of a feature by the beginnings of names."""
    return f"<{feature}>"


def _text(codes: Array) -> list[str]:
    return [MISSING if np.isnan(code) else f"{code:.0f}" for code in codes]
