"""Searches of the field for counterfactuals, for tables of numbers: what several benchmarks hold xcid's against.

NICE, growing spheres and the nearest unlike row are written here from their papers, since their packages are not
always at hand; dice-ml is itself. All see the same model through ``predict_proba`` and a table of numbers, get one row,
and give one row back, or none.

- nearest unlike row: the nearest reference row of the other class, in mean absolute deviations;
- NICE (Brughmans, Leyman, Martens 2023), optimised for sparsity: the nearest unlike row among those that the model
  classifies rightly, by HEOM; its values are taken over one by one, whichever moves the probability most, until the
  class changes;
- growing spheres (Laugel et al. 2018), in standard deviations: a ball around the row is halved until nothing in it
  flips, then shells grow until something does, whose smallest changes are undone as long as it still flips;
- dice-ml, random and genetic, with its defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from xcid._require import quiet_and_seeded

Array = npt.NDArray[np.float64]


class Task(NamedTuple):
    """A model of two classes, the table behind it with its target, and which columns are codes of levels."""

    model: Any
    train: pd.DataFrame
    target: npt.NDArray[np.int64]
    levels: tuple[str, ...] = ()

    def chance(self, rows: Array, wanted: int) -> Array:
        """(n,) probabilities of a class."""
        frame = pd.DataFrame(rows, columns=self.train.columns)
        return np.asarray(self.model.predict_proba(frame), dtype=float)[:, wanted]

    @property
    def is_level(self) -> npt.NDArray[np.bool_]:
        """(d,) which columns are codes."""
        return np.isin(list(self.train), self.levels)


Change: TypeAlias = Callable[[Array, int], Array | None]
"""From a row and the class that it has to the changed row, None where there is none."""


def gaps(rows: Array, own: Array, scale: Array, is_level: Any) -> Array:
    """(n, d) distances column by column: over a scale, or 1 for another level."""
    return np.where(is_level, rows != own, np.abs(rows - own) / scale)


def nearest_unlike(task: Task) -> Change:
    known = task.train.to_numpy(float)
    answers = np.asarray(task.model.predict(task.train))
    scale = np.abs(known - np.median(known, axis=0)).mean(axis=0) + 1e-12

    def change(row: Array, has: int) -> Array | None:
        others = known[answers != has]
        if not len(others):
            return None
        return others[np.argmin(gaps(others, row, scale, task.is_level).sum(axis=1))].copy()

    return change


def nice(task: Task) -> Change:
    known, answers = task.train.to_numpy(float), np.asarray(task.model.predict(task.train))
    known, answers = known[answers == task.target], answers[answers == task.target]
    span = np.ptp(known, axis=0) + 1e-12

    def change(row: Array, has: int) -> Array | None:
        others = known[answers != has]
        if not len(others):
            return None
        donor = others[np.argmin((gaps(others, row, span, task.is_level) ** 2).sum(axis=1))]
        made = row.copy()
        while task.chance(made[None], 1 - has)[0] <= 0.5:
            left = np.flatnonzero(made != donor)
            if not len(left):
                return None
            tried = np.repeat(made[None], len(left), axis=0)
            tried[np.arange(len(left)), left] = donor[left]
            made = tried[int(np.argmax(task.chance(tried, 1 - has)))]
        return made

    return change


def growing_spheres(task: Task, n: int = 500, step: float = 0.1) -> Change:
    known = task.train.to_numpy(float)
    sd = known.std(axis=0) + 1e-12

    def change(row: Array, has: int) -> Array | None:
        random = np.random.default_rng(0)

        def shell(low: float, high: float) -> Array:
            ways = random.normal(size=(n, len(row)))
            radius = random.uniform(low, high, n)
            made = row + ways / np.linalg.norm(ways, axis=1, keepdims=True) * radius[:, None] * sd
            return np.where(task.is_level, np.rint(made), made)

        size = 1.0
        while (task.chance(shell(0.0, size), 1 - has) > 0.5).any() and size > 1e-3:
            size /= 2
        low = size
        for _ in range(200):
            rows = shell(low, low + step)
            flips = rows[task.chance(rows, 1 - has) > 0.5]
            if len(flips):
                made = flips[np.argmin((((flips - row) / sd) ** 2).sum(axis=1))]
                for at in np.argsort(np.abs(made - row) / sd):
                    tried = made.copy()
                    tried[at] = row[at]
                    if task.chance(tried[None], 1 - has)[0] > 0.5:
                        made = tried
                return made
            low += step
        return None

    return change


def dice(method: str) -> Callable[[Task], Change]:
    def make(task: Task) -> Change:
        import dice_ml

        numbers = [name for name in task.train if name not in task.levels]
        typed = dict.fromkeys(task.levels, int)
        frame = task.train.astype(typed).astype(dict.fromkeys(task.levels, str))

        class Model:
            """Levels are text to dice-ml and codes to the model."""

            def predict_proba(self, rows: Any) -> Array:
                found: Array = task.model.predict_proba(rows[list(task.train)].astype(float))
                return found

            def predict(self, rows: Any) -> Any:
                return self.predict_proba(rows).argmax(axis=1)

        answers = np.asarray(task.model.predict(task.train)).astype(int)
        data = dice_ml.Data(
            dataframe=frame.assign(Outcome=answers), continuous_features=numbers, outcome_name="Outcome"
        )
        explainer = dice_ml.Dice(data, dice_ml.Model(model=Model(), backend="sklearn"), method=method)

        def change(row: Array, has: int) -> Array | None:
            asked = pd.DataFrame([row], columns=list(task.train)).astype(typed).astype(dict.fromkeys(task.levels, str))
            try:
                with quiet_and_seeded(0):
                    found = explainer.generate_counterfactuals(asked, total_CFs=1, desired_class="opposite")
                made = found.cf_examples_list[0].final_cfs_df
                return None if made is None or not len(made) else made.iloc[0][list(task.train)].to_numpy(float)
            except Exception:  # it raises where it finds nothing
                return None

        return change

    return make


CHANGERS: dict[str, tuple[str, Callable[[Task], Change]]] = {
    "nearest unlike row": ("", nearest_unlike),
    "NICE, sparsity": ("", nice),
    "growing spheres": ("", growing_spheres),
    "dice-ml, random": ("dice_ml", dice("random")),
    "dice-ml, genetic": ("dice_ml", dice("genetic")),
}
