"""Models read from inside: the outputs of all samples of a plan, without making or predicting a single one.

``read(model, table)`` gives an object with ``planned(plan) -> (rows (n, d) -> outputs (n, s, k))``, or None where a
model is not known here. Models are known by their exact class: what a subclass changes cannot be read.

To add a library, write a module with three tables, by package and class, and add it to ``MODULES``: ``READINGS`` make
an :class:`~xcid.native.ensemble.Ensemble` or a :class:`~xcid.native.models.Linear` of a model's own columns; ``LOOKS``
give all that its outputs follow from, for :class:`Fingerprint`; and ``CELLS``, where the model sees other numbers than
those of its table, say which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xcid.native import boosters, models, nested, scikit
from xcid.native.ensemble import Ensemble
from xcid.native.fingerprint import LOOKS, PACKAGES, Fingerprint
from xcid.native.models import Alone, Native
from xcid.native.seen import Chain, Columns, Kind, Seen, as_numbers, name_of
from xcid.native.trees import Trees
from xcid.records import Array, Integers

MODULES = (scikit, boosters, models)
READINGS: dict[Kind, Callable[[Any], Any]] = {kind: one for module in MODULES for kind, one in module.READINGS.items()}
CELLS: dict[Kind, Callable[[Any, Seen], Seen]] = {kind: one for module in MODULES for kind, one in module.CELLS.items()}
for module in MODULES:
    LOOKS.update(module.LOOKS)
    PACKAGES.update(package for package, _ in module.READINGS)


def read(
    model: Any,
    names: Sequence[str],
    decode: Callable[[Array], Any] | None = None,
    coded: Mapping[str, int] | None = None,
) -> Native | None:
    """Read a model of a table whose columns have these names; None where there is no way to.

    ``decode`` makes the tables that the model is given from rows, which hold codes in the ``coded`` columns: so many
    levels each, or dates, of which there are 0.
    """
    order = _order(model, names)
    if len(order) != len(names):
        return None
    picked = Columns(order)
    if decode is None or not coded:
        return _read(model, Seen(order, decode or picked, picked))
    levels = {list(names).index(name): size for name, size in coded.items()} if all(coded.values()) else {}
    return _read(model, Seen(order, decode, Chain((decode, as_numbers)), levels))


def _read(model: Any, seen: Seen) -> Native | None:
    package, name = name_of(model)
    if {"predict", "predict_proba", "decision_function"} & vars(model).keys():
        return None
    if package == "sklearn" and name in nested.READINGS:
        return nested.READINGS[name](_read, model, seen)
    reading = READINGS.get((package, name))
    found = None if reading is None else reading(model)
    if found is None:
        return None
    see = CELLS.get((package, name))
    seen = see(model, seen) if see is not None else seen.by(as_numbers) if seen.levels else seen
    core = Trees.of(found, len(seen.source)) if isinstance(found, Ensemble) else found
    return None if core is None else Alone(seen, core)


def _order(model: Any, names: Sequence[str]) -> Integers:
    """The table's column of each of the model's."""
    known = getattr(model, "feature_names_in_", getattr(model, "feature_names_", None))
    if known is None:  # boosters have no such attribute
        known = getattr(model, "feature_names", None) or getattr(model, "feature_name", lambda: names)()
    own = [str(name) for name in known]
    places = {name: at for at, name in enumerate(names)}
    return np.array([places[name] for name in own] if set(own) == set(names) else range(len(own)), dtype=np.int64)
