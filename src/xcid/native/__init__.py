"""Models read from inside: the outputs of all samples of a plan, without building and asking about a single one.

``read(model, names)`` gives an object with ``planned(plan) -> (rows (n, d) -> outputs (n, s, k))``, or None where a
model is not known here. Models are known by their exact class: what a subclass changes cannot be read. To add a
library, write a function from a model to an :class:`~xcid.native.ensemble.Ensemble` or a
:class:`~xcid.native.linear.Linear`, and add it to the readings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from xcid.native import boosters, scikit
from xcid.native.linear import Linear
from xcid.native.program import compiled
from xcid.native.trees import Trees
from xcid.records import Array, Integers, Plan

__all__ = ["Native", "read"]


class Native(Protocol):
    """A model that was read."""

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""

    def planned(self, plan: Plan) -> Callable[[Array], Array] | None:
        """From (n, d) rows to the (n, s, k) outputs of all samples; None where a plan is too large."""


READINGS: dict[tuple[str, str], scikit.Reading] = {
    **scikit.READINGS,
    ("xgboost", "XGBClassifier"): boosters.xgboost_model,
    ("xgboost", "XGBRegressor"): boosters.xgboost_model,
    ("xgboost", "Booster"): boosters.xgboost_booster,
    ("lightgbm", "LGBMClassifier"): boosters.lightgbm_model,
    ("lightgbm", "LGBMRegressor"): boosters.lightgbm_model,
    ("lightgbm", "Booster"): boosters.lightgbm_booster,
}


def read(model: Any, names: Sequence[str]) -> Native | None:
    """Read a model of a table whose columns have these names; None where there is no way to."""
    reading = READINGS.get(scikit.name_of(model))
    if reading is None or {"predict", "predict_proba"} & vars(model).keys():
        return None
    order = _order(model, names)
    if len(order) != len(names):
        return None
    found = reading(model, order)
    if found is None or isinstance(found, Linear):
        return found
    program = compiled(found)
    return None if program is None else Trees(found, program)


def _order(model: Any, names: Sequence[str]) -> Integers:
    """The table's column of each of the model's."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:  # boosters have no such attribute
        known = getattr(model, "feature_names", None) or getattr(model, "feature_name", lambda: names)()
    own = [str(name) for name in known]
    places = {name: at for at, name in enumerate(names)}
    return np.array([places[name] for name in own] if set(own) == set(names) else range(len(own)), dtype=np.int64)
